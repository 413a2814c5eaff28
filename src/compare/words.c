/* Figures and changes of a comparison in words, and what was compared. */
#include "words.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/text.h"
#include "work.h"
#include "rpistat/words.h"

#define LEAST_PERCENT .1
#define ALL_OF_IT     .01  /* a phase that lacks less of the time than this is the whole */
#define LONG_S        1000 /* seconds that are minutes and hours */
#define LONGEST_S     9e9  /* that fit into nanoseconds */
#define STORE_WIDTH   40   /* characters of a path */
#define COMMAND_WIDTH 160

/* --- values ----------------------------------------------------------------------------------- */

/* Three digits, whatever the size. */
static void write_value(char *ret, double value, int whole)
{
    double size = fabs(value);

    if (whole || size >= 1e5 || size < 1e-4)
        rps_text_number(ret, RPS_TEXT_NUMBER_SIZE, value);
    else
        snprintf(ret, RPS_TEXT_NUMBER_SIZE, "%.*f",
                 size >= 99.95    ? 0
                 : size >= 9.995  ? 1
                 : size >= .9995  ? 2
                 : size >= .09995 ? 3
                                  : 4,
                 value);
}

char *rps_comparison_value_text(char *ret, const struct rps_comparison_figure *figure, double value)
{
    char number[RPS_TEXT_NUMBER_SIZE];
    const char *unit = figure->unit;
    int counts = strcmp(unit, "events") == 0 || strcmp(unit, "cycles") == 0;

    if (!isfinite(value))
        return strcpy(ret, "-");
    if (strcmp(unit, "ns") == 0) {
        value /= 1e9;
        unit = "s";
    }
    if (strcmp(unit, "s") == 0 && value >= LONG_S && value < LONGEST_S)
        return rps_text_duration(ret, RPS_COMPARISON_TEXT_SIZE, (int64_t)(value * 1e9));
    write_value(number, value, figure->kind == RPS_FIGURE_TOTAL && strcmp(unit, "s") != 0);
    snprintf(ret, RPS_COMPARISON_TEXT_SIZE, "%s%s%s", number, unit[0] && !counts ? " " : "",
             counts ? "" : unit);
    return ret;
}

/* --- changes ---------------------------------------------------------------------------------- */

static int has_interval(const struct rps_change *change)
{
    return isfinite(change->low) && isfinite(change->high);
}

static int is_factor(const struct rps_change *change)
{
    return change->ratio >= RPS_COMPARISON_FACTOR_FROM ||
           (change->ratio < RPS_COMPARISON_FACTOR_BELOW && change->b != 0);
}

/* Of percent: none where they would be within the interval, or, without one, beyond two digits. */
static int decimals_of(const struct rps_change *change)
{
    if (has_interval(change))
        return 50 * (change->high - change->low) < 2 ? 1 : 0;
    return fabs(100 * change->ratio) < 10 ? 1 : 0;
}

static void write_percent(char *ret, double ratio, int decimals)
{
    double percent = 100 * ratio;

    if (fabs(percent) < LEAST_PERCENT || (decimals == 0 && fabs(percent) < .5))
        strcpy(ret, "0");
    else if (fabs(percent) >= 1e4)
        strcpy(ret, percent > 0 ? "over 10000" : "under -10000");
    else
        snprintf(ret, RPS_TEXT_NUMBER_SIZE, "%+.*f", decimals, percent);
}

/* "3.1", "1/300" */
static void write_factor(char *ret, double times)
{
    char number[RPS_TEXT_NUMBER_SIZE];

    if (fabs(times) >= 1e4 || times <= 0)
        rps_text_number(ret, RPS_TEXT_NUMBER_SIZE, times);
    else if (times >= .095)
        rps_words_times(ret, RPS_TEXT_NUMBER_SIZE, times);
    else if (times < 1e-4)
        strcpy(ret, "<1/10000");
    else
        snprintf(ret, RPS_TEXT_NUMBER_SIZE, "1/%.40s",
                 rps_words_times(number, sizeof(number), 1 / times));
}

char *rps_comparison_change_text(char *ret, const struct rps_change *change)
{
    char number[RPS_COMPARISON_TEXT_SIZE];

    if (!isfinite(change->a) || !isfinite(change->b))
        return strcpy(ret, "-");
    if (change->a == change->b)
        return strcpy(ret, "0 %");
    if (!isfinite(change->ratio))
        return strcpy(ret, "from 0");
    if (is_factor(change))
        write_factor(number, 1 + change->ratio);
    else
        write_percent(number, change->ratio, decimals_of(change));
    snprintf(ret, RPS_COMPARISON_TEXT_SIZE, "%.100s %c", number, is_factor(change) ? 'x' : '%');
    return ret;
}

char *rps_comparison_interval_text(char *ret, const struct rps_comparison_figure *figure,
                                   const struct rps_change *change)
{
    char low[RPS_COMPARISON_TEXT_SIZE], high[RPS_COMPARISON_TEXT_SIZE];

    double least = change->a >= 0 && change->b >= 0 ? -1 : -INFINITY; /* nothing is below 0 */

    if (!has_interval(change) || (change->low == 0 && change->high == 0))
        return strcpy(ret, "");
    if (!isfinite(change->ratio)) {
        rps_comparison_value_text(low, figure, least < 0 ? fmax(change->low, 0) : change->low);
        rps_comparison_value_text(high, figure, change->high);
        snprintf(ret, RPS_COMPARISON_TEXT_SIZE, "%.60s to %.60s", low, high);
        return ret;
    }
    if (is_factor(change)) {
        write_factor(low, 1 + fmax(change->low, least));
        write_factor(high, 1 + change->high);
    } else {
        write_percent(low, fmax(change->low, least), decimals_of(change));
        write_percent(high, change->high, decimals_of(change));
    }
    snprintf(ret, RPS_COMPARISON_TEXT_SIZE, "%.40s to %.40s %c", low, high,
             is_factor(change) ? 'x' : '%');
    return ret;
}

int rps_comparison_is_changed(const struct rps_change *change)
{
    enum rps_comparison_verdict verdict = rps_comparison_verdict(change);

    return verdict == RPS_VERDICT_LESS || verdict == RPS_VERDICT_MORE;
}

int rps_comparison_is_sayable(const struct rps_change *change)
{
    return rps_comparison_is_changed(change) || change->why == RPS_CHANGE_SINGLE;
}

const char *rps_comparison_verdict_text(const struct rps_change *change)
{
    switch (rps_comparison_verdict(change)) {
    case RPS_VERDICT_LESS:
        return "less";
    case RPS_VERDICT_MORE:
        return "more";
    case RPS_VERDICT_SAME:
        return "no difference shown";
    case RPS_VERDICT_NONE:
        break;
    }
    return change->why == RPS_CHANGE_SINGLE  ? "one run a side"
           : change->why == RPS_CHANGE_SHORT ? "too short to tell"
                                             : "-";
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

double rps_comparison_explains(const struct rps_comparison_figure *figure,
                               const struct rps_change *change)
{
    static const struct {
        const char *name;
        double sign;
    } factor[] = {{"instructions", 1}, {"cpi", 1}, {"cpu_use", -1}};

    for (size_t i = 0; i < sizeof(factor) / sizeof(factor[0]); i++) {
        if (strcmp(figure->name, factor[i].name) == 0)
            return factor[i].sign * log1p(change->ratio);
    }
    return NAN;
}

/* What time is made of is above all magnitudes, and then CPU time. */
static double rank(const struct rps_comparison_figure *figure)
{
    static const struct rps_change none = {0};

    return !isnan(rps_comparison_explains(figure, &none)) ? 20
           : figure->kind == RPS_FIGURE_CPU               ? 10
                                                          : 0;
}

/* CPU time in other words. */
static int is_clock(const struct rps_comparison_figure *figure)
{
    return figure->kind == RPS_FIGURE_TOTAL &&
           (strcmp(figure->unit, "ns") == 0 || strcmp(figure->unit, "cycles") == 0);
}

/* A rate of events of which the total changed. */
static int is_said_by_total(const struct rps_comparison *comparison, size_t row, size_t figure)
{
    const struct rps_comparison_figure *rate = &comparison->figure[figure];

    for (size_t f = 0; f < comparison->figure_count && strcmp(rate->unit, "/s") == 0; f++) {
        if (comparison->figure[f].kind == RPS_FIGURE_TOTAL &&
            strcmp(comparison->figure[f].label, rate->label) == 0 &&
            rps_comparison_is_changed(&comparison->row[row].change[f]))
            return 1;
    }
    return 0;
}

/* By how much it changed, as a logarithm; what came and went did by as much as a thousand times. */
static double magnitude(const struct rps_change *change)
{
    static const double most = 7;
    double found = fabs(log1p(change->ratio));

    return isfinite(found) ? fmin(found, most) : most;
}

size_t rps_comparison_telling(const struct rps_comparison *comparison, size_t row,
                              const size_t *said, size_t count)
{
    size_t best = SIZE_MAX;
    double most = 0;

    for (size_t f = 0; f < comparison->figure_count; f++) {
        const struct rps_comparison_figure *figure = &comparison->figure[f];
        const struct rps_change *change = &comparison->row[row].change[f];
        int again = figure->kind == RPS_FIGURE_TIME || is_clock(figure) ||
                    !rps_comparison_is_changed(change) || is_said_by_total(comparison, row, f);
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

size_t rps_comparison_shown_rows(const struct rps_comparison *comparison)
{
    const struct rps_comparison_row *row = comparison->row;
    int elapsed = rps_comparison_figure(comparison, "elapsed");

    if (comparison->row_count != 2 || elapsed < 0)
        return comparison->row_count;
    return fabs(row[1].change[elapsed].a / row[0].change[elapsed].a - 1) < ALL_OF_IT &&
                   fabs(row[1].change[elapsed].b / row[0].change[elapsed].b - 1) < ALL_OF_IT
               ? 1
               : 2;
}

/* --- what was compared ------------------------------------------------------------------------ */

static size_t count_tests(const struct rps_comparison *comparison, size_t from, size_t to)
{
    size_t tests = 0;

    for (size_t r = from; r < to; r++) {
        for (size_t f = 0; f < comparison->figure_count; f++)
            tests += (size_t)rps_comparison_is_tested(&comparison->row[r].change[f]);
    }
    return tests;
}

size_t rps_comparison_tests(const struct rps_comparison *comparison)
{
    size_t end = rps_comparison_family_end(comparison);
    size_t whole = count_tests(comparison, 0, end);
    size_t phase = count_tests(comparison, end, comparison->row_count);

    return whole > phase ? whole : phase;
}

/* "1-3,7": the numbers of a side's runs, where they are one behind the other as a range. */
static void write_numbers(char *ret, size_t size, const struct rps_comparison *comparison,
                          enum rps_comparison_side side)
{
    const struct rps_comparison_run *run = comparison->run;
    size_t used = 0;

    ret[0] = '\0';
    for (size_t i = 0, last; i < comparison->run_count && used < size; i = last + 1) {
        last = i;
        if (run[i].side != side)
            continue;
        while (last + 1 < comparison->run_count && run[last + 1].side == side &&
               (uint64_t)run[last + 1].run_id == (uint64_t)run[last].run_id + 1)
            last++;
        used += (size_t)snprintf(ret + used, size - used, "%s%" PRId64, used > 0 ? "," : "",
                                 run[i].run_id);
        if (last > i && used < size)
            used += (size_t)snprintf(ret + used, size - used, "-%" PRId64, run[last].run_id);
    }
    if (used >= size)
        memcpy(ret + size - 4, "...", 4);
}

/* The command of the runs of a side, or of both (side -1); "": they have several. */
static void write_command(char *ret, size_t size, const struct rps_comparison *comparison, int side)
{
    char title[4096], other[4096];

    ret[0] = title[0] = '\0';
    for (size_t i = 0; i < comparison->run_count; i++) {
        const struct rps_comparison_run *run = &comparison->run[i];

        if (side >= 0 && (int)run->side != side)
            continue;
        rps_run_title(other, sizeof(other), &run->run);
        if (title[0] && strcmp(title, other) != 0)
            return;
        strcpy(title, other);
    }
    rps_words_cut(ret, size, title, COMMAND_WIDTH);
}

/* 1: all runs lie in one store. */
static int has_one_store(const struct rps_comparison *comparison)
{
    for (size_t i = 1; i < comparison->run_count; i++) {
        if (strcmp(comparison->run[i].store, comparison->run[0].store) != 0)
            return 0;
    }
    return 1;
}

/* How many characters of the name are not " of STORE", which is said of the runs already. */
static int length_of_name(const char *name, const char *store)
{
    static const char of[] = " of ";
    size_t length = strlen(name), end = strlen(of) + strlen(store);

    if (length >= end && strncmp(name + length - end, of, strlen(of)) == 0 &&
        strcmp(name + length - strlen(store), store) == 0)
        length -= end;
    return (int)length;
}

char *rps_comparison_side_text(char *ret, const struct rps_comparison_output *output,
                               enum rps_comparison_side side)
{
    const struct rps_comparison *comparison = output->comparison;
    const char *name = side == RPS_SIDE_A ? output->a_name : output->b_name;
    size_t count = side == RPS_SIDE_A ? comparison->a_count : comparison->b_count;
    size_t at = side == RPS_SIDE_A ? 0 : comparison->a_count, used;
    char numbers[160], text[512], given[512] = "", command[512] = "";

    write_numbers(numbers, sizeof(numbers), comparison, side);
    if (name && at < comparison->run_count)
        snprintf(given, sizeof(given), "%.*s", length_of_name(name, comparison->run[at].store),
                 name);
    if (count == 1)
        used = (size_t)snprintf(ret, RPS_COMPARISON_LINE_SIZE, "run %s", numbers);
    else
        used = (size_t)snprintf(ret, RPS_COMPARISON_LINE_SIZE, "%zu runs (%s)", count, numbers);
    if (!has_one_store(comparison) && at < comparison->run_count)
        used += (size_t)snprintf(
            ret + used, RPS_COMPARISON_LINE_SIZE - used, " of %s",
            rps_words_cut(text, sizeof(text), comparison->run[at].store, STORE_WIDTH));
    if (given[0] && strcmp(given, numbers) != 0)
        used += (size_t)snprintf(ret + used, RPS_COMPARISON_LINE_SIZE - used, ", %s",
                                 rps_words_cut(text, sizeof(text), given, STORE_WIDTH));
    write_command(command, sizeof(command), comparison, -1);
    if (command[0])
        return ret; /* that of both is said once */
    write_command(command, sizeof(command), comparison, (int)side);
    snprintf(ret + used, RPS_COMPARISON_LINE_SIZE - used, ", %s",
             command[0] ? command : "several commands");
    return ret;
}

char *rps_comparison_command_text(char *ret, const struct rps_comparison *comparison)
{
    write_command(ret, RPS_COMPARISON_LINE_SIZE, comparison, -1);
    return ret;
}

char *rps_comparison_tested_text(char *ret, const struct rps_comparison *comparison)
{
    size_t tests = rps_comparison_tests(comparison), a = comparison->a_count,
           b = comparison->b_count;
    char by[160];

    if (tests == 0) {
        snprintf(ret, RPS_COMPARISON_LINE_SIZE, "nothing");
        return ret;
    }
    if (a > 1 && b > 1)
        snprintf(by, sizeof(by), "run by run (Welch's t test)");
    else if (a > 1 || b > 1)
        snprintf(by, sizeof(by), "one run by how the %zu others vary (Student's t test)",
                 a > 1 ? a : b);
    else
        snprintf(by, sizeof(by), "by what varies within the runs: that they differ, not why");
    snprintf(ret, RPS_COMPARISON_LINE_SIZE, "%s; corrected for %zu test%s (Holm)", by, tests,
             tests == 1 ? "" : "s");
    return ret;
}
