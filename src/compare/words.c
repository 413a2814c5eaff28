/* Format the metrics and changes of a comparison as text, and describe what was compared. */
#include "words.h"

#include <math.h>
#include <string.h>

#include "rpistat/text.h"
#include "work.h"
#include "rpistat/plan.h"

#define MIN_PERCENT   .05  /* smaller changes are printed as 0 */
#define TIMES_MAX     1e6  /* largest factor that is printed in full */
#define CHANGED_MIN   .005 /* minimum change of the whole run, for rows to have a share of it */
#define FACT_MIN      .05  /* two single runs must differ by more than this (a logarithm) */
#define NOTABLE       .1 /* minimum difference of a named function, as a share of the row's time */
#define LONG_S        1000 /* a time of at least this many seconds has minutes and hours */
#define LONGEST_S     9e9  /* maximum number of seconds whose nanoseconds fit into an integer */
#define STORE_WIDTH   40   /* maximum characters of a store's path */
#define LABEL_WIDTH   32
#define NUMBERS_WIDTH 100 /* maximum characters of a list of runs */
#define COMMAND_WIDTH 160

/* --- values ----------------------------------------------------------------------------------- */

/* Format a number of any magnitude with three digits. */
static const char *number_text(struct rps_arena *arena, double value, int whole, const char *unit)
{
    double size = fabs(value);
    char text[RPS_TEXT_NUMBER_SIZE];

    if (whole || size >= 1e5 || size < 1e-4)
        return rps_arena_text(arena, rps_text_number_of(text, sizeof(text), value, unit));
    return size >= 99.95 ? rps_arena_text(arena, rps_text_figure(text, sizeof(text), 0, value))
                         : rps_arena_print(arena, "%#.3g", value);
}

const char *rps_comparison_value_text(struct rps_arena *arena,
                                      const struct rps_comparison_figure *figure, double value)
{
    const char *unit = figure->unit, *number;
    char text[RPS_TEXT_NUMBER_SIZE];

    if (!isfinite(value))
        return "-";
    if (strcmp(unit, "events") == 0 || strcmp(unit, "cycles") == 0)
        unit = "";
    if (strcmp(unit, "ns") == 0) {
        value /= 1e9;
        unit = "s";
    }
    if (strcmp(unit, "s") == 0 && value >= LONG_S && value < LONGEST_S)
        return rps_arena_text(arena, rps_text_duration(text, sizeof(text), (int64_t)(value * 1e9)));
    number =
        number_text(arena, value, figure->kind == RPS_FIGURE_TOTAL && strcmp(unit, "s") != 0, unit);
    return unit[0] ? rps_arena_print(arena, "%s %s", number, unit) : number;
}

/* --- changes ---------------------------------------------------------------------------------- */

static int has_interval(const struct rps_change *change)
{
    return isfinite(change->low) && isfinite(change->high);
}

/* Return 1 if the change is shown as a factor. Only positive values can have a factor. */
static int is_factor(const struct rps_change *change)
{
    return change->a > 0 && change->b > 0 &&
           (change->ratio >= RPS_COMPARISON_FACTOR_FROM ||
            change->ratio < RPS_COMPARISON_FACTOR_BELOW);
}

static const char *factor_text(struct rps_arena *arena, double times)
{
    char text[RPS_TEXT_NUMBER_SIZE];

    if (times <= 0)
        return rps_arena_text(arena, rps_text_number(text, sizeof(text), times));
    if (times > TIMES_MAX)
        return "over 1000000";
    if (times >= .095)
        return rps_arena_text(arena, rps_words_times(text, sizeof(text), times));
    return times < 1e-4
               ? "<1/10000"
               : rps_arena_print(arena, "1/%s", rps_words_times(text, sizeof(text), 1 / times));
}

/* Format a ratio as a change, without "%" or "x". A percentage has a decimal only if the interval
 * is narrower than 4 %. Without an interval, the percentage has at most two digits. */
static const char *ratio_text(struct rps_arena *arena, const struct rps_change *change,
                              double ratio)
{
    double percent = 100 * ratio;
    int decimals = has_interval(change) ? 50 * (change->high - change->low) < 2
                                        : fabs(100 * change->ratio) < 10;

    if (is_factor(change))
        return factor_text(arena, 1 + ratio);
    if (fabs(percent) < MIN_PERCENT || (decimals == 0 && fabs(percent) < .5))
        return "0";
    if (fabs(percent) >= 1e4)
        return percent > 0 ? "over 10000" : "under -10000";
    return rps_arena_print(arena, "%+.*f", decimals, percent);
}

static const char *change_text(struct rps_arena *arena, const struct rps_change *change)
{
    if (!isfinite(change->a) || !isfinite(change->b))
        return "-";
    if (change->a == change->b)
        return "0 %";
    if (!isfinite(change->ratio))
        return "from 0";
    return rps_arena_print(arena, "%s %c", ratio_text(arena, change, change->ratio),
                           is_factor(change) ? 'x' : '%');
}

double rps_comparison_low(const struct rps_change *change)
{
    double least = isfinite(change->ratio) ? -1 : 0; /* amounts are never below 0, so they
                                                        decrease by at most 100 % */

    return change->a >= 0 && change->b >= 0 && change->low < least ? least : change->low;
}

static const char *interval_text(struct rps_arena *arena,
                                 const struct rps_comparison_figure *figure,
                                 const struct rps_change *change)
{
    double low = rps_comparison_low(change);

    if (!has_interval(change) || (change->low == 0 && change->high == 0))
        return "";
    if (!isfinite(change->ratio))
        return rps_arena_print(arena, "%s to %s", rps_comparison_value_text(arena, figure, low),
                               rps_comparison_value_text(arena, figure, change->high));
    return rps_arena_print(arena, "%s to %s %c", ratio_text(arena, change, low),
                           ratio_text(arena, change, change->high), is_factor(change) ? 'x' : '%');
}

static const char *const verdict_text[] = {
    [RPS_VERDICT_NONE] = "-",
    [RPS_VERDICT_SAME] = "no significant change",
    [RPS_VERDICT_PERHAPS_LESS] = "possibly lower",
    [RPS_VERDICT_PERHAPS_MORE] = "possibly higher",
    [RPS_VERDICT_LESS] = "lower",
    [RPS_VERDICT_MORE] = "higher",
};

struct rps_comparison_words rps_comparison_words(struct rps_arena *arena,
                                                 const struct rps_comparison_figure *figure,
                                                 const struct rps_change *change)
{
    return (struct rps_comparison_words){
        .a = rps_comparison_value_text(arena, figure, change->a),
        .b = rps_comparison_value_text(arena, figure, change->b),
        .change = change_text(arena, change),
        .interval = interval_text(arena, figure, change),
        .verdict = verdict_text[rps_comparison_verdict(change)],
    };
}

double rps_comparison_limit_runs(const struct rps_comparison *comparison,
                                 const struct rps_comparison_limit *limit)
{
    const struct rps_change *change = &comparison->row[limit->row].change[limit->figure];
    size_t least =
        comparison->a_count > comparison->b_count ? comparison->a_count : comparison->b_count;
    double runs = rps_change_runs(change, limit->change);

    if (limit->answer != RPS_CHANGE_INCONCLUSIVE || isnan(runs))
        return NAN;
    return fmax(runs, (double)least + 1);
}

const char *rps_comparison_limit_text(const struct rps_comparison *comparison,
                                      const struct rps_comparison_limit *limit)
{
    const struct rps_change *change = &comparison->row[limit->row].change[limit->figure];
    struct rps_arena *arena = comparison->arena;
    struct rps_comparison_words words =
        rps_comparison_words(arena, &comparison->figure[limit->figure], change);
    double runs = rps_comparison_limit_runs(comparison, limit);
    const char *text = rps_arena_print(
        arena, "'%s' %s: %s%s%s%s", limit->text,
        limit->answer == RPS_CHANGE_INCONCLUSIVE ? "inconclusive"
                                                 : rps_change_answers[limit->answer],
        words.change, words.interval[0] ? " (" : "", words.interval, words.interval[0] ? ")" : "");

    if (limit->answer != RPS_CHANGE_INCONCLUSIVE ||
        (isnan(runs) && change->why != RPS_CHANGE_SINGLE))
        return text;
    if (isnan(runs))
        return rps_arena_print(arena,
                               "%s; one run per side does not show how much runs vary; record "
                               "several of each with `rpistat record --repeat 5`",
                               text);
    if (isinf(runs))
        return rps_arena_print(
            arena, "%s; the change equals the limit, so the runs to decide it are unknown", text);
    return rps_arena_print(arena, "%s; about %.0f runs per %s would decide it", text, runs,
                           comparison->run_count > 0 ? "side" : "level");
}

int rps_comparison_is_changed(const struct rps_change *change)
{
    return rps_comparison_verdict(change) >= RPS_VERDICT_LESS;
}

int rps_comparison_is_possible(const struct rps_change *change)
{
    return change->is_few && change->adjusted < RPS_CHANGE_ALPHA;
}

int rps_comparison_is_sayable(const struct rps_change *change)
{
    return rps_comparison_is_changed(change) || rps_comparison_is_possible(change) ||
           (change->why == RPS_CHANGE_SINGLE && !change->is_chance);
}

int rps_comparison_is_notable(const struct rps_comparison_row *row,
                              const struct rps_change *seconds)
{
    double sum = 0; /* for each function, the seconds of the side that spent more time in it */

    for (size_t i = 0; i < row->function_count; i++)
        sum += fmax(row->function[i].seconds.a, row->function[i].seconds.b);
    return rps_comparison_is_changed(seconds) ||
           (rps_comparison_is_sayable(seconds) && fabs(seconds->b - seconds->a) >= NOTABLE * sum);
}

/* --- what says most --------------------------------------------------------------------------- */

double rps_comparison_longer(const struct rps_comparison *comparison, size_t row)
{
    int elapsed = rps_comparison_figure(comparison, "elapsed");
    const struct rps_comparison_row *of = &comparison->row[row];
    const struct rps_change *change = elapsed >= 0 ? &of->change[elapsed] : NULL;

    if (!change)
        return NAN;
    return (of->b_times > 0 ? change->b : 0) - (of->a_times > 0 ? change->a : 0);
}

double rps_comparison_share_of_change(const struct rps_comparison *comparison, size_t row)
{
    int elapsed = rps_comparison_figure(comparison, "elapsed");
    const struct rps_change *whole = elapsed >= 0 ? &comparison->row[0].change[elapsed] : NULL;
    double share = rps_comparison_longer(comparison, row) / rps_comparison_longer(comparison, 0);

    return !whole || fabs(share) > 99 || (!isnan(whole->p) && !rps_comparison_is_sayable(whole)) ||
                   fabs(whole->ratio) < CHANGED_MIN
               ? NAN
               : share;
}

double rps_comparison_explains(const struct rps_comparison_figure *figure,
                               const struct rps_change *change)
{
    static const struct {
        const char *name;
        double sign;
    } factor[] = {{"instructions", 1}, {"cpi", 1}, {"cpu_use", -1}};

    for (size_t i = 0; i < RPS_COUNT(factor); i++) {
        if (strcmp(figure->name, factor[i].name) == 0)
            return factor[i].sign * log1p(change->ratio);
    }
    return NAN;
}

/* Return the rank of a metric. The factors of elapsed time rank first, CPU time ranks second, and
 * all other metrics rank below. */
static double rank(const struct rps_comparison_figure *figure)
{
    static const struct rps_change none = {0};

    return !isnan(rps_comparison_explains(figure, &none)) ? 20
           : figure->kind == RPS_FIGURE_CPU               ? 10
                                                          : 0;
}

/* Return 1 if the metric is a rate, and a listed total with the same label has the same change. */
static int is_said_by_total(const struct rps_comparison *comparison, size_t figure)
{
    const struct rps_comparison_figure *rate = &comparison->figure[figure];

    for (size_t f = 0; f < comparison->figure_count && strcmp(rate->unit, "/s") == 0; f++) {
        if (comparison->figure[f].kind == RPS_FIGURE_TOTAL &&
            strcmp(comparison->figure[f].label, rate->label) == 0)
            return 1;
    }
    return 0;
}

int rps_comparison_is_listed(const struct rps_comparison *comparison, size_t figure)
{
    const struct rps_change *whole = &comparison->row[0].change[figure];

    return (whole->a != 0 || whole->b != 0) && !is_said_by_total(comparison, figure);
}

/* Return the size of a change as a logarithm. The size is at most 7, a factor of a thousand. A
 * change from 0 or to 0 has the maximum size. */
static double magnitude(const struct rps_change *change)
{
    static const double most = 7;
    double found = fabs(log1p(change->ratio));

    if (change->a == change->b) /* both values are 0, so there is no ratio */
        return 0;
    return isfinite(found) ? fmin(found, most) : most;
}

/* Return 1 if the metric changed, or if two single runs differ by more than FACT_MIN. */
static int is_tellable(const struct rps_comparison_figure *figure, const struct rps_change *change)
{
    return rps_comparison_is_changed(change) || rps_comparison_is_possible(change) ||
           (rps_comparison_is_sayable(change) && magnitude(change) > FACT_MIN &&
            (figure->kind != RPS_FIGURE_TOTAL ||
             fmax(change->a, change->b) >= RPS_COMPARISON_COUNTED_MIN));
}

size_t rps_comparison_telling(const struct rps_comparison *comparison, size_t row,
                              const size_t *said, size_t count)
{
    size_t best = SIZE_MAX;
    double most = 0;

    for (size_t f = 0; f < comparison->figure_count; f++) {
        const struct rps_comparison_figure *figure = &comparison->figure[f];
        const struct rps_change *change = &comparison->row[row].change[f];
        int is_clock = figure->kind == RPS_FIGURE_TOTAL &&
                       (strcmp(figure->unit, "ns") == 0 || strcmp(figure->unit, "cycles") == 0);
        int again = figure->kind == RPS_FIGURE_TIME || figure->kind == RPS_FIGURE_SYSTEM ||
                    is_clock || !is_tellable(figure, change) || is_said_by_total(comparison, f);
        double found;

        for (size_t s = 0; s < count; s++)
            again |= said[s] == f;
        found = again ? 0 : magnitude(change) + rank(figure);
        if (found > most) {
            most = found;
            best = f;
        }
    }
    return best;
}

/* --- what was compared ------------------------------------------------------------------------ */

size_t rps_comparison_tests(const struct rps_comparison *comparison)
{
    size_t tests = 0;

    for (size_t r = 0; r < rps_comparison_shown_rows(comparison); r++) {
        for (size_t f = 0; f < comparison->figure_count; f++)
            tests += (size_t)rps_change_is_tested(&comparison->row[r].change[f]);
    }
    return tests;
}

/* Format the numbers of a side's runs: "1-3,7". */
static const char *numbers_of(const struct rps_comparison *comparison,
                              enum rps_comparison_side side)
{
    size_t count = side == RPS_SIDE_A ? comparison->a_count : comparison->b_count;
    const struct rps_comparison_run *run =
        &comparison->run[side == RPS_SIDE_A ? 0 : comparison->a_count];
    int64_t *number = rps_arena_get(comparison->arena, count, sizeof(*number));
    char text[NUMBERS_WIDTH];

    for (size_t i = 0; i < count; i++)
        number[i] = run[i].run_id;
    return rps_arena_text(comparison->arena, rps_text_numbers(text, sizeof(text), number, count));
}

static const char *cut(const struct rps_comparison *comparison, const char *text, int width)
{
    size_t size = 4 * strlen(text) + 4;

    return rps_words_cut(rps_arena_get(comparison->arena, size, 1), size, text, width);
}

static const char *store_of(const struct rps_comparison *comparison, enum rps_comparison_side side)
{
    const char *store = comparison->run[side == RPS_SIDE_A ? 0 : comparison->a_count].store;

    return cut(comparison, store, STORE_WIDTH);
}

/* Return the label that all runs of a side share, in printable form, or NULL. If a label looks like
 * a phase or like the number of a run, use the spelling for the command line. Put a label of
 * several words in quotes. */
static const char *label_of(const struct rps_comparison *comparison, enum rps_comparison_side side)
{
    const size_t rows = comparison->row_count;
    const char *label = NULL;
    int phase;

    for (size_t i = 0; i < comparison->run_count; i++) {
        const struct rps_comparison_run *run = &comparison->run[i];

        if (run->side == side && (!run->run.label[0] || (label && strcmp(label, run->run.label))))
            return NULL;
        label = run->side == side ? run->run.label : label;
    }
    phase = rps_phase_label_parse(label);
    if ((phase >= 0 && rows > 2 && (size_t)phase + 1 < rows) || !label[strspn(label, "0123456789")])
        label = rps_arena_print(comparison->arena, "label:%s", label);
    label = cut(comparison, label, LABEL_WIDTH);
    return strchr(label, ' ') ? rps_arena_print(comparison->arena, "\"%s\"", label) : label;
}

void rps_comparison_name_sides(struct rps_comparison *comparison)
{
    const size_t count[2] = {comparison->a_count, comparison->b_count};
    int one_store = rps_comparison_has_one_store(comparison);

    for (int side = 0; side < 2; side++)
        comparison->label[side] = label_of(comparison, (enum rps_comparison_side)side);
    if (comparison->label[0] && comparison->label[1] &&
        strcmp(comparison->label[0], comparison->label[1]) == 0)
        comparison->label[0] = comparison->label[1] = NULL;
    for (int side = 0; side < 2; side++) {
        enum rps_comparison_side of = (enum rps_comparison_side)side;

        comparison->name[side] =
            comparison->label[side]
                ? comparison->label[side]
                : rps_arena_print(comparison->arena, "run%s %s%s%s", count[side] > 1 ? "s" : "",
                                  numbers_of(comparison, of), one_store ? "" : " of ",
                                  one_store ? "" : store_of(comparison, of));
    }
}

/* Return the command of all runs of a side (-1: of both sides), or NULL if the commands differ. */
static const char *command_of(const struct rps_comparison *comparison, int side)
{
    char title[4096], other[4096];

    title[0] = '\0';
    for (size_t i = 0; i < comparison->run_count; i++) {
        const struct rps_comparison_run *run = &comparison->run[i];

        if (side >= 0 && (int)run->side != side)
            continue;
        rps_run_title(other, sizeof(other), &run->run);
        if (title[0] && strcmp(title, other) != 0)
            return NULL;
        strcpy(title, other);
    }
    return cut(comparison, title, COMMAND_WIDTH);
}

/* Append a part to the text, after a comma if the text is not empty. */
static void append(const struct rps_comparison *comparison, const char **text, const char *before,
                   const char *more)
{
    *text =
        rps_arena_print(comparison->arena, "%s%s%s%s", *text, (*text)[0] ? ", " : "", before, more);
}

const char *rps_comparison_side_text(const struct rps_comparison *comparison,
                                     enum rps_comparison_side side)
{
    const struct rps_comparison_run *first =
        &comparison->run[side == RPS_SIDE_A ? 0 : comparison->a_count];
    size_t count = side == RPS_SIDE_A ? comparison->a_count : comparison->b_count;
    const char *text = "", *numbers = numbers_of(comparison, side), *command;

    if (comparison->label[side])
        text = count > 1 ? rps_arena_print(comparison->arena, "%zu runs (%s)", count, numbers)
                         : rps_arena_print(comparison->arena, "run %s", numbers);
    if (comparison->label[side] && !rps_comparison_has_one_store(comparison))
        text = rps_arena_print(comparison->arena, "%s of %s", text, store_of(comparison, side));
    else if (!comparison->label[side] && first->run.label[0] && label_of(comparison, side))
        append(comparison, &text, "label ", label_of(comparison, side));
    if (command_of(comparison, -1))
        return text; /* the text for both sides shows a common command */
    command = command_of(comparison, (int)side);
    append(comparison, &text, "", command ? command : "several commands");
    return text;
}

const char *rps_comparison_command_text(const struct rps_comparison *comparison)
{
    const char *command = command_of(comparison, -1);

    return command ? command : "";
}

const char *rps_comparison_tested_text(const struct rps_comparison *comparison)
{
    size_t tests = rps_comparison_tests(comparison), a = comparison->a_count,
           b = comparison->b_count;
    const char *by = comparison->statistic == RPS_CHANGE_MEDIAN
                         ? "medians of the runs (order statistics, Price and Bonett)"
                         : "run by run (Welch's t test)";

    if (tests == 0)
        return ""; /* there is no test with one run per side; a remark says so */
    if (a == 1 || b == 1)
        by = rps_arena_print(comparison->arena,
                             "one run against the variation of %zu others (Student's t test)",
                             a > 1 ? a : b);
    return rps_arena_print(comparison->arena, "%s; corrected for %zu test%s (Holm)", by, tests,
                           tests == 1 ? "" : "s");
}
