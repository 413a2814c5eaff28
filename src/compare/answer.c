/* The answer of a comparison in one sentence: how much more or less time side B takes, in which
 * phase, and why.
 *
 * Elapsed time is instructions x CPI / clock rate / CPU use. As the cause, the sentence names a
 * factor that explains half of the time's change, an event that changed more than time, or CPU
 * time. If each side has one run, the sentence is only about these two runs. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "rpistat/apart.h"
#include "rpistat/text.h"
#include "words.h"
#include "rpistat/plan.h"

#define NEARLY_ALL       .8   /* minimum share of the change for which one phase is named */
#define EXPLAINING_SHARE .5   /* minimum share of a change that a named cause must explain */
#define ALIKE            .003 /* two single runs that differ by less are reported as equal */
#define CPU_MIN          .1   /* minimum change of CPU time, as a share of that of elapsed time */
#define MORE_THAN_TIME   1.5  /* minimum ratio of an event's change to the change of time */
#define VARIES           100  /* percent: do not print an interval with a larger end */
#define NAME_WIDTH       60   /* maximum characters of a function name */
#define SAID_SIZE        1024 /* maximum bytes of a part of the sentence */
#define NO_FIGURE        SIZE_MAX

struct answer {
    const struct rps_comparison *comparison;
    int elapsed;                    /* index of the elapsed time */
    const struct rps_change *whole; /* change of the elapsed time */
    int pair;                       /* 1: one run per side, or one with a known elapsed time */
    int is_possible;                /* 1: the sentence is about a possible change */
    const char *text;
};

__attribute__((format(printf, 2, 3))) static void say(struct answer *answer, const char *format,
                                                      ...)
{
    char part[SAID_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(part, sizeof(part), format, arguments);
    va_end(arguments);
    answer->text = rps_arena_print(answer->comparison->arena, "%s%s", answer->text, part);
}

/* --- the sides -------------------------------------------------------------------------------- */

static const char *name_of(const struct answer *answer, enum rps_comparison_side side)
{
    return answer->comparison->name[side];
}

/* Begin a sentence or clause with side B and its verb: "main takes", "Runs 4-6 take". */
static void report_subject(struct answer *answer, const char *one, const char *several)
{
    const struct rps_comparison *comparison = answer->comparison;
    int is_label = comparison->label[RPS_SIDE_B] != NULL;
    const char *name = name_of(answer, RPS_SIDE_B);

    if (is_label || answer->text[0])
        say(answer, "%s", name);
    else
        say(answer, "R%s", name + 1); /* capitalise the word "run" or "runs" */
    say(answer, " %s%s ", answer->is_possible ? "possibly " : "",
        is_label || comparison->b_count == 1 ? one : several);
}

/* Append "takes", or "took" if there is only one run. */
static void report_taking(struct answer *answer)
{
    int is_one = answer->comparison->b_count == 1;

    report_subject(answer, is_one ? "took" : "takes", "take");
}

/* --- how much --------------------------------------------------------------------------------- */

/* Return the number of decimals with which a change has two digits. Return one more if the ends of
 * the interval would otherwise look equal. */
static int decimals_for(const struct rps_change *change)
{
    double half = 50 * (change->high - change->low);

    return fabs(100 * change->ratio) < 9.95 || half < .5 ? 1 : 0;
}

/* Append "31 % less time than main" or "3.1 x the time of main". beside NULL: omit the name. */
static void print_more(struct answer *answer, const struct rps_change *change, int decimals,
                       const char *less, const char *more, const char *what, const char *beside)
{
    char times[RPS_TEXT_NUMBER_SIZE];
    double ratio = change->ratio;
    const char *of = " of ";

    if (change->b <= 0)
        say(answer, "no %s", what);
    else if (!isfinite(ratio))
        say(answer, "%s where there were none", what);
    else if (ratio > 1e4)
        say(answer, "over 10000 x the %s", what);
    else if (ratio >= RPS_COMPARISON_FACTOR_FROM)
        say(answer, "%s x the %s", rps_words_times(times, sizeof(times), 1 + ratio), what);
    else if (ratio < -.9999)
        say(answer, "under 1/10000 of the %s", what);
    else if (ratio < RPS_COMPARISON_FACTOR_BELOW)
        say(answer, "1/%s of the %s", rps_words_times(times, sizeof(times), 1 / (1 + ratio)), what);
    else {
        say(answer, "%.*f %% %s %s", decimals, fabs(100 * ratio), ratio < 0 ? less : more, what);
        of = " than ";
    }
    if (beside && change->b > 0 && isfinite(ratio))
        say(answer, "%s%s", of, beside);
}

/* Append " (29 to 33 %)", in the form of print_more. */
static void report_interval(struct answer *answer, const struct rps_change *change)
{
    double low = fmin(fabs(change->low), fabs(change->high)),
           high = fmax(fabs(change->low), fabs(change->high));
    char from[RPS_TEXT_NUMBER_SIZE], to[RPS_TEXT_NUMBER_SIZE];

    if (!isfinite(low) || !isfinite(high) || change->ratio < RPS_COMPARISON_FACTOR_BELOW ||
        !(change->ratio <= 1e4) || change->low * change->high < 0)
        return;
    if (change->ratio >= RPS_COMPARISON_FACTOR_FROM)
        say(answer, " (%s to %s x)", rps_words_times(from, sizeof(from), 1 + low),
            rps_words_times(to, sizeof(to), 1 + high));
    else
        say(answer, " (%.*f to %.*f %%)", decimals_for(change), 100 * low, decimals_for(change),
            100 * high);
}

static const char *seconds_text(const struct answer *answer, double seconds)
{
    static const struct rps_comparison_figure figure = {.kind = RPS_FIGURE_TIME, .unit = "s"};

    return rps_comparison_value_text(answer->comparison->arena, &figure, seconds);
}

static void report_time(struct answer *answer)
{
    const struct rps_change *whole = answer->whole;

    report_taking(answer);
    if (answer->pair && fabs(whole->ratio) < ALIKE) {
        say(answer, "as long as %s (%s)", name_of(answer, RPS_SIDE_A),
            seconds_text(answer, whole->b));
        return;
    }
    print_more(answer, whole, decimals_for(whole), "less", "more", "time",
               name_of(answer, RPS_SIDE_A));
    if (answer->pair)
        say(answer, " (%s instead of %s)", seconds_text(answer, whole->b),
            seconds_text(answer, whole->a));
    else
        report_interval(answer, whole);
}

/* --- where ------------------------------------------------------------------------------------ */

static int has_both(const struct rps_comparison_row *row)
{
    return row->a_times > 0 && row->b_times > 0;
}

/* Return the phase class with most of the change. If there is at most one class, return 0. */
static size_t main_row(const struct answer *answer)
{
    const struct rps_comparison *comparison = answer->comparison;
    double all = rps_comparison_longer(comparison, 0), most = EXPLAINING_SHARE;
    size_t best = 0;

    for (size_t r = 1; r < comparison->row_count && comparison->row_count > 2; r++) {
        const struct rps_comparison_row *row = &comparison->row[r];
        double share = rps_comparison_longer(comparison, r) / all;

        if (share >= most &&
            (!has_both(row) || rps_comparison_is_sayable(&row->change[answer->elapsed]))) {
            most = share;
            best = r;
        }
    }
    return best;
}

static void report_row(struct answer *answer, size_t r)
{
    const struct rps_comparison_row *row = &answer->comparison->row[r];
    double longer = rps_comparison_longer(answer->comparison, r);
    char label[RPS_PHASE_LABEL_SIZE];
    const char *time = fabs(longer) < 99.5
                           ? rps_arena_print(answer->comparison->arena, "%.2g s", fabs(longer))
                           : seconds_text(answer, fabs(longer));

    say(answer, "phase %s ", rps_phase_label(row->label, label));
    if (!has_both(row) && !rps_comparison_is_new(answer->comparison, r))
        say(answer, "(%s) of %s is not matched", time,
            name_of(answer, row->a_times > 0 ? RPS_SIDE_A : RPS_SIDE_B));
    else if (!has_both(row))
        say(answer, "(%s) is %s", time, row->a_times > 0 ? "gone" : "new");
    else
        say(answer, "%s %s %s", answer->comparison->b_count == 1 ? "was" : "is", time,
            longer < 0 ? "shorter" : "longer");
}

/* Return 1 if all phase classes changed in the same direction, each by at least half of the change
 * of the whole run. */
static int is_everywhere(const struct answer *answer)
{
    const struct rps_comparison *comparison = answer->comparison;
    double all = log1p(answer->whole->ratio);

    for (size_t r = 1; r < comparison->row_count; r++) {
        const struct rps_change *change = &comparison->row[r].change[answer->elapsed];

        if (!has_both(&comparison->row[r]) || !rps_comparison_is_sayable(change) ||
            !(log1p(change->ratio) / all >= EXPLAINING_SHARE))
            return 0;
    }
    return comparison->row_count > 2;
}

/* --- with what -------------------------------------------------------------------------------- */

/* Return the change of an event's count as a logarithm, or NaN for clocks and rare events. */
static double goes_along(const struct rps_comparison_figure *figure,
                         const struct rps_change *change)
{
    if (figure->kind != RPS_FIGURE_TOTAL || strcmp(figure->unit, "ns") == 0 ||
        strcmp(figure->unit, "cycles") == 0 ||
        fmax(change->a, change->b) < RPS_COMPARISON_COUNTED_MIN)
        return NAN;
    return log1p(change->ratio);
}

/* Return the metric that explains a row's time, or NO_FIGURE if there is none. */
static size_t main_figure(const struct answer *answer, size_t r)
{
    const struct rps_comparison *comparison = answer->comparison;
    const struct rps_comparison_row *row = &comparison->row[r];
    const struct rps_change *elapsed = &row->change[answer->elapsed];
    double time = log1p(elapsed->ratio);
    size_t best = NO_FIGURE;

    for (int way = 0; way < 3 && best == NO_FIGURE; way++) {
        double most = way == 1 ? MORE_THAN_TIME : EXPLAINING_SHARE;

        for (size_t f = 0; f < comparison->figure_count; f++) {
            const struct rps_change *change = &row->change[f];
            int is_cpu = comparison->figure[f].kind == RPS_FIGURE_CPU &&
                         fabs(change->b - change->a) >= CPU_MIN * fabs(elapsed->b - elapsed->a);
            double part = way == 0   ? rps_comparison_explains(&comparison->figure[f], change)
                          : way == 1 ? goes_along(&comparison->figure[f], change)
                          : is_cpu   ? log1p(change->ratio)
                                     : NAN;

            if (part / time >= most && isfinite(part) && rps_comparison_is_sayable(change)) {
                most = part / time;
                best = f;
            }
        }
    }
    return best;
}

/* Append a metric's change: "48 % fewer instructions", "CPI 1.20 instead of 2.41". */
static void report_figure(struct answer *answer, size_t r, size_t f)
{
    const struct rps_comparison_figure *figure = &answer->comparison->figure[f];
    const struct rps_change *change = &answer->comparison->row[r].change[f];
    char name[RPS_NAME_SIZE], printable[4 * RPS_NAME_SIZE];

    rps_words_cut(printable, sizeof(printable), rps_words_name(name, figure->label, figure->name),
                  NAME_WIDTH / 2);
    if (figure->kind != RPS_FIGURE_METRIC) {
        print_more(answer, change, fabs(100 * change->ratio) < 9.95 ? 1 : 0,
                   figure->kind == RPS_FIGURE_CPU ? "less" : "fewer", "more", printable, NULL);
        return;
    }
    say(answer, "%s %s instead of %s", printable,
        rps_comparison_value_text(answer->comparison->arena, figure, change->b),
        rps_comparison_value_text(answer->comparison->arena, figure, change->a));
}

/* Append " (9 % of samples, 2 % in main)" if the shares differ enough to distinguish phases. */
static void report_shares(struct answer *answer, const struct rps_comparison_function *function)
{
    const double a = function->a_share, b = function->b_share;
    char own[16], other[16];

    if (fabs(b - a) >= RPS_APART_SHARE_MIN && fmax(a, b) >= RPS_APART_FACTOR_MIN * fmin(a, b))
        say(answer, " (%s of %s, %s in %s)", rps_shares_percent_text(own, sizeof(own), b),
            answer->comparison->is_latency ? "latency" : "samples",
            rps_shares_percent_text(other, sizeof(other), a), name_of(answer, RPS_SIDE_A));
}

static void report_name(struct answer *answer, const char *before,
                        const struct rps_comparison_function *function)
{
    char name[8 * NAME_WIDTH], cut[4 * NAME_WIDTH + 4];

    rps_share_name_text(name, sizeof(name), &function->name);
    say(answer, "; %s%s ", before, rps_words_cut(cut, sizeof(cut), name, NAME_WIDTH));
}

/* Append the function with the largest change in the run, if it is at least a factor of
 * RPS_APART_FACTOR_MIN and chance does not explain it: "; f
 * has 4.7 x the CPU time (1.13 s instead of 0.242 s)". Return 1 if there is one. */
static int report_strongest(struct answer *answer, const char *before)
{
    const struct rps_comparison_row *row = &answer->comparison->row[0];
    const char *time = answer->comparison->is_latency ? "latency" : "CPU time";

    for (size_t i = 0; i < row->function_count; i++) {
        const struct rps_change *change = &row->function[i].seconds;

        if (fmin(change->a, change->b) * RPS_APART_FACTOR_MIN > fmax(change->a, change->b) ||
            rps_comparison_is_possible(change) || !rps_comparison_is_notable(row, change))
            continue;
        report_name(answer, before, &row->function[i]);
        if (!(change->a > 0 && change->b > 0)) {
            say(answer, "is %s (%s of %s)", change->b > 0 ? "new" : "gone",
                seconds_text(answer, fmax(change->a, change->b)), time);
            return 1;
        }
        say(answer, "has ");
        print_more(answer, change, decimals_for(change), "less", "more", time, NULL);
        say(answer, " (%s instead of %s)", seconds_text(answer, change->b),
            seconds_text(answer, change->a));
        return 1;
    }
    return 0;
}

/* Append the main function of a row: "; solve (three.c:40) has most of it". `longer` is the number
 * of additional seconds. */
static void report_function(struct answer *answer, size_t r, double longer)
{
    const struct rps_comparison_row *row = &answer->comparison->row[r];

    for (size_t i = 0; i < row->function_count; i++) {
        const struct rps_comparison_function *function = &row->function[i];

        if ((function->seconds.b - function->seconds.a) / longer < EXPLAINING_SHARE ||
            !rps_comparison_is_sayable(&function->seconds))
            continue;
        report_name(answer, "", function);
        say(answer, "has most of it");
        report_shares(answer, function);
        return;
    }
    report_strongest(answer, "");
}

/* Return the additional seconds of a row. If CPU time also changed, return the additional CPU time,
 * because the time in functions is measured as CPU time, except with latency. */
static double work_of(const struct answer *answer, size_t r)
{
    int cpu = rps_comparison_figure(answer->comparison, "cpu_time");
    const struct rps_change *change = answer->comparison->row[r].change;

    if (cpu >= 0 && !answer->comparison->is_latency &&
        log1p(change[cpu].ratio) / log1p(change[answer->elapsed].ratio) >= EXPLAINING_SHARE)
        return change[cpu].b - change[cpu].a;
    return rps_comparison_longer(answer->comparison, r);
}

/* Append the phase in which time was added or saved, and the cause of the change. */
static void report_why(struct answer *answer)
{
    size_t row = main_row(answer), figure;
    double share;

    if (answer->pair && fabs(answer->whole->ratio) < ALIKE)
        return;
    share = rps_comparison_longer(answer->comparison, row) /
            rps_comparison_longer(answer->comparison, 0);
    if (is_everywhere(answer) && !(row > 0 && share >= NEARLY_ALL)) {
        say(answer, ", in every phase");
        row = 0;
    } else if (row > 0) {
        say(answer, ": ");
        report_row(answer, row);
    }
    figure = main_figure(answer, row);
    if (figure != NO_FIGURE && has_both(&answer->comparison->row[row])) {
        say(answer, ", with ");
        report_figure(answer, row, figure);
    }
    report_function(answer, row, work_of(answer, row));
}

/* --- the sentence ----------------------------------------------------------------------------- */

/* If a metric changed in only one phase class, return this class. Otherwise return 0. */
static size_t only_row(const struct rps_comparison *comparison, size_t figure)
{
    size_t only = 0;

    for (size_t r = 1; r < comparison->row_count; r++) {
        if (!rps_comparison_is_changed(&comparison->row[r].change[figure]))
            continue;
        if (only > 0)
            return 0;
        only = r;
    }
    return only;
}

/* If the elapsed time did not change, append a change of a function or a metric. The change is in
 * the only phase that changed, in the whole run, or in the first phase that changed. */
static void report_other(struct answer *answer)
{
    const struct rps_comparison *comparison = answer->comparison;
    char label[RPS_PHASE_LABEL_SIZE];

    if (report_strongest(answer, "but "))
        return;
    for (size_t r = 0; r < comparison->row_count; r++) {
        size_t figure = rps_comparison_telling(comparison, r, NULL, 0);

        if (r > 0 && rps_comparison_is_changed(&comparison->row[r].change[answer->elapsed])) {
            say(answer, "; but ");
            report_row(answer, r);
            return;
        }
        if (figure != NO_FIGURE) {
            r = r > 0 ? r : only_row(comparison, figure);
            say(answer, "; but ");
            answer->is_possible = rps_comparison_is_possible(&comparison->row[r].change[figure]);
            report_subject(answer, "has", "have");
            report_figure(answer, r, figure);
            if (r > 0)
                say(answer, " in phase %s", rps_phase_label(comparison->row[r].label, label));
            return;
        }
    }
}

/* If the elapsed time has no verdict, append the change of CPU time, which varies less. */
static int report_cpu_time(struct answer *answer)
{
    int cpu = rps_comparison_figure(answer->comparison, "cpu_time");
    const struct rps_change *change = cpu >= 0 ? &answer->comparison->row[0].change[cpu] : NULL;

    if (!change || !rps_comparison_is_changed(change))
        return 0;
    report_taking(answer);
    print_more(answer, change, decimals_for(change), "less", "more", "CPU time",
               name_of(answer, RPS_SIDE_A));
    report_interval(answer, change);
    if (!answer->comparison->is_latency)
        report_function(answer, 0, change->b - change->a);
    say(answer, change->ratio > answer->whole->low && change->ratio < answer->whole->high
                    ? "; the elapsed time varies too much for a verdict"
                    : "; the elapsed time has no significant change");
    return 1;
}

/* Append that no change is significant. If the interval excludes zero, the verdict is missing
 * because of the correction for several tests, or because there are too few runs. */
static void report_same(struct answer *answer)
{
    const struct rps_change *whole = answer->whole;
    double most = 100 * fmax(fabs(whole->low), fabs(whole->high));

    if (report_cpu_time(answer))
        return;
    if (whole->low * whole->high > 0) {
        answer->is_possible = 1;
        report_time(answer);
        if (rps_comparison_is_possible(whole)) {
            report_why(answer);
            say(answer, "; a verdict needs more runs per side");
            return;
        }
        say(answer, "; one of %zu tests may differ that much by chance",
            rps_comparison_tests(answer->comparison));
        answer->is_possible = 0;
    } else {
        say(answer, "No significant change of the elapsed time");
        if (most < VARIES)
            say(answer, " (any change is below %.*f %%)", most < 9.95 ? 1 : 0, fmax(most, .1));
        else
            say(answer, ", which varies too much for a verdict");
    }
    report_other(answer);
    if (answer->is_possible)
        say(answer, "; a verdict needs more runs per side");
}

/* Append the metric to compare if other programs may explain the change of the elapsed time. */
static void report_load(struct answer *answer)
{
    const struct rps_comparison *comparison = answer->comparison;
    const struct rps_change *change = comparison->row[0].change;
    const int cpu = rps_comparison_figure(comparison, "cpu_time");
    const int ready = rps_comparison_figure(comparison, "elapsed_not_waiting");
    const char *metric = "CPU time";

    if (ready >= 0 && rps_comparison_is_changed(&change[ready]) &&
        (cpu < 0 || !rps_comparison_is_changed(&change[cpu])))
        metric = "'Elapsed without waiting'";
    say(answer,
        "; other programs took at least %.0f %% of the CPU time that one side could have used: "
        "compare %s, "
        "not elapsed time",
        100 * comparison->taken, metric);
}

const char *rps_comparison_answer(const struct rps_comparison *comparison)
{
    struct answer answer = {.comparison = comparison,
                            .elapsed = rps_comparison_figure(comparison, "elapsed"),
                            .text = ""};

    if (answer.elapsed >= 0 && comparison->row_count > 0)
        answer.whole = &comparison->row[0].change[answer.elapsed];
    answer.pair = (comparison->a_count == 1 && comparison->b_count == 1) ||
                  (answer.whole && answer.whole->why == RPS_CHANGE_SINGLE);
    if (!answer.whole || !isfinite(answer.whole->ratio)) {
        say(&answer, "The elapsed time of one side is unknown");
    } else if (answer.pair) {
        report_time(&answer);
        report_why(&answer);
        if (fabs(answer.whole->ratio) < ALIKE)
            report_other(&answer);
        say(&answer, "; one run per side does not show how much runs vary");
    } else if (rps_comparison_is_changed(answer.whole)) {
        report_time(&answer);
        report_why(&answer);
    } else {
        report_same(&answer);
    }
    if (comparison->taken > 0 && answer.whole &&
        comparison->taken / (1 - comparison->taken) > fabs(answer.whole->ratio))
        report_load(&answer);
    return answer.text;
}
