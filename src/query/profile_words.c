/* Describes how a label differs: "3.1 x the rate of page faults of the whole run, CPI 2.4 (whole
 * run: 1.1)". A label is compared with the whole run. A label with more than half of the run is
 * tested against the remaining phases, since most of the run is the label itself.
 *
 * The difference is the logarithm of the ratio of both values. Before the ratio is computed, both
 * values are raised by the value from which the metric matters. The zero of a table's column is
 * arbitrary, so differences of columns are in standard deviations. A difference is reported only if
 * the two 95 % intervals do not overlap. Metrics that were counted all the time have no interval:
 * the spread of their observations shows their uncertainty. */
#include "rpistat/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile_parts.h"
#include "rpistat/collect.h"
#include "rpistat/plan.h"
#include "rpistat/run_system.h"
#include "rpistat/text.h"

#define NO_FIGURE         SIZE_MAX
#define DIFFERENCE_MIN    .14   /* Log of 1.15: smaller differences are not reported. */
#define LISTED_MIN        .0488 /* Log of 1.05: smaller differences of a window are not listed. */
#define MIN_SPREAD        .5    /* Minimum difference of table columns, in standard deviations. */
#define MIN_NOISE         .22 /* Log of 1.25: minimum difference of columns' standard deviations. */
#define MIN_CPU_USE       .22 /* Log of 1.25; others may cause smaller changes of CPU use. */
#define DIFFERENCE_MAX    7.  /* Maximum log ratio, also if one of the two values is 0. */
#define ERRORS            2.5 /* Standard errors on either side of an interval. */
#define FOLLOWS           1.5 /* Maximum ratio of a rate's change to the change of CPU use. */
#define HARDLY_RUNS       1.4 /* Log of 4; below a quarter of the CPU use, lower rates follow. */
#define TEXT_SIZE         320 /* Maximum bytes of a clause. */
#define ALIKE             "similar to "
#define MOST_CLASSES      "most other classes"
#define UNSURE            "no difference beyond chance"
#define WAITED_THRESHOLD  .1  /* Minimum of wait / (CPU + wait) and of wait / threads' time. */
#define OFF_CPU           .02 /* A label with a smaller share of time on a CPU was waiting. */
#define ASLEEP            .1  /* A label was asleep if its threads needed a CPU for less time. */
#define MIB_THRESHOLD     2.  /* In MiB or MiB/s: smaller differences are not reported. */
#define THREADS_THRESHOLD .3  /* In threads, or s of waiting per s. */
#define IO_APART          .7  /* Log of 2: smaller differences of MiB or MiB/s are not reported. */

#define OBSERVATIONS_MIN 4 /* Fewer observations do not show how much they vary. */

#define SYSTEM_CLAUSES                                                                             \
    14 /* Three more than I/O metrics: a clause is written before it is chosen. */
#define WINDOW_CLAUSES 5

/* Minimum share of the threads' time in threads that no reading found, for "at least". */
#define UNSEEN_MIN .02

/* A label, and the label that it is compared with. */
struct pair {
    const struct rps_profile *profile;
    size_t label;
    int other;    /* Label to compare with; -1: the whole run. */
    int is_io;    /* 1: compared with all other labels; 2: also, and a rate, which may be bursts. */
    int is_small; /* 1 if faults and switches matter even if they take little time. */
    double cpu;   /* Difference in CPU use; 0: none. */
    size_t idle;  /* CPU use of a window that hardly runs; NO_FIGURE: any other window or label */
    int compared; /* 1 if there were metrics to compare. */
    int is_unsure; /* 1 if a metric differs, but perhaps by chance. */
    int is_common; /* 1 if a metric differs from the whole run, but not from most labels. */
};

struct range {
    double low, high;
};

struct clause {
    char text[TEXT_SIZE];
    int is_ratio;
    int is_less;  /* 1 if something happens less often than elsewhere. */
    double apart; /* Difference of a window, for the order of clauses. */
};

static int by_difference(const void *one, const void *other)
{
    const double a = ((const struct clause *)one)->apart, b = ((const struct clause *)other)->apart;

    return (a < b) - (a > b);
}

static struct pair pair_of(const struct rps_profile *profile, int label)
{
    return (struct pair){.profile = profile,
                         .label = (size_t)label,
                         .other = profile->other ? 1 - label : -1,
                         .idle = NO_FIGURE};
}

static int is_table(const struct pair *pair)
{
    return pair->profile->length_ns <= 0;
}

static double mean_of(const struct rps_profile *profile, size_t label, size_t f)
{
    return profile->mean[label * profile->figure_count + f];
}

static double value_of(const struct pair *pair, size_t f)
{
    return mean_of(pair->profile, pair->label, f);
}

static double base_of(const struct pair *pair, size_t f)
{
    if (pair->is_io)
        return rps_profile_elsewhere(pair->profile, (int)pair->label, f);
    return pair->other >= 0 ? mean_of(pair->profile, (size_t)pair->other, f)
                            : pair->profile->figure[f].whole;
}

/* --- differences of metrics ------------------------------------------------------------------- */

/* Return the value from which a metric matters: 10 events per second, 1 %, or 1 event per 10,000
 * instructions. A minor fault or a context switch takes about a microsecond: 2,000 per second use
 * .2 % of a CPU. */
static double matters_from(const struct rps_figure *figure, int is_small)
{
    static const struct {
        const char *is; /* Name or unit of a metric. */
        double from;
    } known[] = {{"minor_fault_rate", 2000},
                 {"context_switch_rate", 2000},
                 {"/s", 10},
                 {"%", 1},
                 {"PTI", .1},
                 {"threads", .1},
                 {"s/s", .05},
                 {"MiB", 1},
                 {"MiB/s", .2}};

    for (size_t i = is_small ? 2 : 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(figure->name, known[i].is) == 0 || strcmp(figure->unit, known[i].is) == 0)
            return known[i].from;
    }
    return 0;
}

/* Return the difference of a metric; NaN: there is nothing to compare. */
static double difference(const struct pair *pair, size_t f)
{
    const struct rps_figure *figure = &pair->profile->figure[f];
    double value = value_of(pair, f), base = base_of(pair, f),
           more = matters_from(figure, pair->is_small);

    if (!isfinite(value) || !isfinite(base) || strcmp(figure->unit, "J") == 0)
        return NAN; /* Energy is not compared, because longer phases use more energy. */
    if (is_table(pair))
        return figure->spread > 0 ? (value - base) / figure->spread : 0;
    value = fmax(value, 0) + more;
    base = fmax(base, 0) + more;
    if (value == base)
        return 0;
    if (value <= 0 || base <= 0)
        return value <= 0 ? -DIFFERENCE_MAX : DIFFERENCE_MAX;
    return fmax(-DIFFERENCE_MAX, fmin(DIFFERENCE_MAX, log(value / base)));
}

/* Return the range of a metric; NaN: unknown. Without an interval, the range follows from the
 * standard error; for a rate, also from the standard error of the number of events. */
static struct range range_of(const struct rps_interval *interval, double value, double variance)
{
    if (rps_interval_has_ends(interval))
        return (struct range){interval->low, interval->high};
    if (interval->certainty > RPS_CERTAINTY_INTERVAL)
        return (struct range){NAN, NAN};
    return (struct range){value - ERRORS * sqrt(variance), value + ERRORS * sqrt(variance)};
}

static struct range label_range(const struct pair *pair, size_t f)
{
    const struct rps_profile *profile = pair->profile;
    const struct rps_profile_label *label = &profile->label[pair->label];
    size_t at = pair->label * profile->figure_count + f;
    /* A label without bursts does not show how much they vary. */
    const double spread = label->periods < OBSERVATIONS_MIN ||
                                  (pair->is_io == 2 && profile->mean[at] < base_of(pair, f))
                              ? fmax(profile->spread[at], profile->figure[f].inside)
                              : profile->spread[at];
    double variance = spread * spread / (double)label->periods * fmax(1, profile->figure[f].clumps);

    if (strcmp(profile->figure[f].unit, "/s") == 0 && label->length_ns > 0)
        variance += base_of(pair, f) / ((double)label->length_ns / 1e9);
    return range_of(&profile->mean_interval[at], profile->mean[at], variance);
}

/* Return the range of the mean over all other labels. Its noise is their spread only: one label
 * with bursts would hide its own difference. */
static struct range rest_range(const struct pair *pair, size_t f)
{
    const struct rps_profile *profile = pair->profile;
    double squares = 0, periods = 0;

    for (int l = 0; l < profile->label_count; l++) {
        const double spread = profile->spread[(size_t)l * profile->figure_count + f];

        if (l == (int)pair->label || !isfinite(spread))
            continue;
        squares += spread * spread * (double)profile->label[l].periods;
        periods += (double)profile->label[l].periods;
    }
    return range_of(&profile->figure[f].interval, base_of(pair, f),
                    squares / periods / periods * fmax(1, profile->figure[f].clumps));
}

/* The noise of the whole run's value is the spread inside labels. Differences between labels are
 * not noise. */
static struct range base_range(const struct pair *pair, size_t f)
{
    const struct rps_profile *profile = pair->profile;
    const struct rps_figure *figure = &profile->figure[f];
    const struct pair other = pair_of(profile, pair->other);
    int is_main = (int)pair->label == profile->main_label;
    uint64_t periods = profile->periods - (is_main ? profile->label[pair->label].periods : 0);

    if (pair->is_io)
        return rest_range(pair, f);
    if (pair->other >= 0)
        return label_range(&other, f);
    return range_of(is_main ? &figure->rest_interval : &figure->interval,
                    is_main ? figure->rest : figure->whole,
                    figure->inside * figure->inside / (double)periods * fmax(1, figure->clumps));
}

static struct rps_system_time time_of(const struct rps_profile *profile, int label)
{
    return rps_run_system_time(&profile->system[label], profile->label[label].cpu_s);
}

/* Return the sums over all labels with readings, except one (-1: none). */
static struct rps_system_time sum_times(const struct rps_profile *profile, int except)
{
    struct rps_system_time sum = {0};

    for (int l = 0; l < profile->label_count; l++) {
        const struct rps_system_time time = time_of(profile, l);

        if (l == except || !(time.elapsed_s > 0))
            continue;
        sum.elapsed_s += time.elapsed_s;
        sum.on_s += time.on_s;
        sum.wait_s += time.wait_s;
        sum.threads_s += time.threads_s;
        sum.unseen_s += time.unseen_s;
        sum.idle_s += fmax(0, time.idle_s);
        for (int s = 0; s < RPS_SLEEPS; s++)
            sum.asleep_in_s[s] += time.asleep_in_s[s];
    }
    return sum;
}

/* Return 1 if a difference in CPU use is too small, or due to other processes. Other processes are
 * the reason if the label needed a CPU as much as the compared label, but did not get a CPU. */
static int is_load_of_others(const struct pair *pair, size_t f, double found)
{
    const struct rps_profile *profile = pair->profile;
    struct rps_system_time own, all;

    if (is_table(pair) || strcmp(profile->figure[f].name, RPS_COLLECT_CPU_USE) != 0)
        return 0;
    if (fabs(found) < MIN_CPU_USE || !profile->system)
        return fabs(found) < MIN_CPU_USE;
    own = time_of(profile, (int)pair->label);
    all = pair->other >= 0 ? time_of(profile, pair->other) : sum_times(profile, -1);
    return own.elapsed_s > 0 && own.on_s + own.wait_s > 0 &&
           log((own.on_s + own.wait_s) / own.elapsed_s * all.elapsed_s / (all.on_s + all.wait_s)) *
                   found <
               DIFFERENCE_MIN * fabs(found);
}

/* Return 1 if the label also differs from most other labels, by at least half of the difference
 * `found`. Without this test, if one label has nearly all events, every other label would seem to
 * have few events. */
static int is_unlike_most(const struct pair *pair, size_t f, double found)
{
    const struct rps_profile *profile = pair->profile;
    double rest = 0, unlike = 0;

    for (int l = 0; l < profile->label_count; l++) {
        const struct pair with = {profile, pair->label, .other = l, .is_small = pair->is_small};
        const double apart = difference(&with, f), periods = (double)profile->label[l].periods;

        if (l == (int)pair->label || !isfinite(apart))
            continue;
        rest += periods;
        if (fabs(apart) >= fmax(fabs(found) / 2, is_table(pair) ? MIN_SPREAD : DIFFERENCE_MIN))
            unlike += periods;
    }
    return unlike > rest / 2 || rest == 0;
}

/* Return 1 if more than a tenth of the label's phases do not differ in the direction of `found`. */
static int is_mixed(const struct pair *pair, size_t f, double found)
{
    const struct rps_profile *profile = pair->profile;
    size_t other = 0;

    for (size_t i = 0; i < profile->phase_count && profile->length_ns > 0; i++) {
        const double value = profile->phase[i * profile->figure_count + f];

        other += profile->label_of[i] == (int)pair->label && isfinite(value) &&
                 (value - base_of(pair, f)) * found <= 0;
    }
    return 10 * other > profile->label[pair->label].occurrences;
}

double rps_profile_difference(const struct rps_profile *profile, size_t figure)
{
    const struct pair pair = pair_of(profile, 0);
    const double found = difference(&pair, figure), error = profile->figure[figure].error;
    const double value = value_of(&pair, figure), base = base_of(&pair, figure);

    if (!isfinite(found) || !(error < fmax(value, base)))
        return NAN;
    return fabs(found) >= LISTED_MIN && fabs(value - base) > error ? found : 0;
}

/* Return the difference if it is beyond chance, otherwise 0. A window has only one other label, and
 * an interval of the difference. */
static double sure_difference(struct pair *pair, size_t f)
{
    double found = difference(pair, f);
    struct range own, base;

    if (!isfinite(found))
        return 0;
    if (pair->profile->other) {
        found = rps_profile_difference(pair->profile, f);
        pair->compared |= !isnan(found);
        pair->is_unsure |= !(fabs(found) > 0) && fabs(difference(pair, f)) >= LISTED_MIN;
        return isnan(found) ? 0 : found;
    }
    pair->compared = 1;
    if (fabs(found) < (is_table(pair) ? MIN_SPREAD : DIFFERENCE_MIN) ||
        is_load_of_others(pair, f, found))
        return 0;
    own = label_range(pair, f);
    base = base_range(pair, f);
    if (!(own.low > base.high || own.high < base.low))
        pair->is_unsure = 1;
    else if (is_mixed(pair, f, found))
        return 0;
    else if (pair->other >= 0 || is_unlike_most(pair, f, found))
        return found;
    else
        pair->is_common = 1;
    return 0;
}

/* --- choice of metrics ------------------------------------------------------------------------ */

/* Return the length of the subject in a metric's label: "DC miss" in "DC miss rate"; 0: the whole
 * label. */
static size_t subject(const char *label)
{
    static const char *const measure[] = {" rate", " ratio", " percent"};
    size_t length = strlen(label);

    for (size_t i = 0; i < sizeof(measure) / sizeof(measure[0]); i++) {
        size_t end = strlen(measure[i]);

        if (length > end && strcmp(label + length - end, measure[i]) == 0)
            return length - end;
    }
    return 0;
}

/* Return 1 if two metrics are in one panel, or are ratio and rate of the same misses. */
static int says_the_same(const struct rps_figure *a, const struct rps_figure *b)
{
    size_t about = subject(a->label);

    if (a->panel[0] && strcmp(a->panel, b->panel) == 0)
        return 1;
    return about > 0 && about == subject(b->label) && strncmp(a->label, b->label, about) == 0;
}

/* Return 1 if a rate follows the CPU use: at half of the CPU time, all rates are half. */
static int follows_cpu_use(const struct pair *pair, size_t f, double found)
{
    if (strcmp(pair->profile->figure[f].unit, "/s") != 0 || found * pair->cpu <= 0)
        return 0;
    return fabs(found) <= FOLLOWS * fabs(pair->cpu) || pair->cpu < -HARDLY_RUNS;
}

/* Return the next metric to describe: the metric with the largest difference. Of equal differences,
 * choose the metric that separates all labels best. */
static size_t choose(struct pair *pair, const size_t *said, int count)
{
    const struct rps_profile *profile = pair->profile;
    size_t best = NO_FIGURE;
    double most = 0;

    for (size_t i = 0; i < profile->figure_count; i++) {
        size_t f = profile->order[i];
        double found = sure_difference(pair, f);
        int again = follows_cpu_use(pair, f, found);

        for (int s = 0; s < count; s++)
            again |= said[s] == f || says_the_same(&profile->figure[said[s]], &profile->figure[f]);
        if (!again && fabs(found) > most) {
            most = fabs(found);
            best = f;
        }
    }
    return best;
}

/* --- clauses ---------------------------------------------------------------------------------- */

/* Write a number with 2 + `extra` digits. Leave out decimals that are too small to matter. */
static void write_number(char *ret, size_t size, double value, double matters, int extra)
{
    double places = value == 0 ? 0 : 1 - floor(log10(fabs(value) * (1 + 1e-9))) + extra;

    if (matters > 0)
        places = fmin(places, 1 - log10(matters));
    if (places > 6 || places < -6)
        snprintf(ret, size, "%.*e", 1 + extra, value);
    else
        snprintf(ret, size, "%.*f", (int)fmax(0, places), value);
    if (strtod(ret, NULL) == 0)
        snprintf(ret, size, "0");
}

/* Write the value of a metric as "CPI 2.4 (whole run: 1.1)", with more digits if needed. */
static void write_values(char *ret, const struct pair *pair, size_t f, const char *name)
{
    const struct rps_figure *figure = &pair->profile->figure[f];
    const char *unit =
        subject(figure->label) > 0 && strstr(figure->label, " percent") ? "" : figure->unit;
    char value[48], base[48], letter[RPS_PHASE_LABEL_SIZE];
    const char *than = pair->profile->other ? pair->profile->other
                       : pair->other >= 0   ? rps_phase_label(pair->other, letter)
                       : is_table(pair)     ? "all"
                                            : "whole run";

    for (int extra = 0; extra < 4; extra++) {
        write_number(value, sizeof(value), value_of(pair, f), unit[0] ? matters_from(figure, 0) : 0,
                     extra);
        write_number(base, sizeof(base), base_of(pair, f), unit[0] ? matters_from(figure, 0) : 0,
                     extra);
        if (strcmp(value, base) != 0)
            break;
    }
    snprintf(ret, TEXT_SIZE, "%s %s%s%s (%s: %s%s%s)", name, value, unit[0] ? " " : "", unit, than,
             base, unit[0] ? " " : "", unit);
}

/* Write "3.1 x the rate of page faults", "1/12 of the miss rate", "no page faults". */
static void write_ratio(char *ret, const struct pair *pair, size_t f, const char *name)
{
    const struct rps_figure *figure = &pair->profile->figure[f];
    const char *rate = strcmp(figure->unit, "/s") || subject(figure->label) ? "" : "rate of ";
    double ratio = value_of(pair, f) / base_of(pair, f);
    char times[48];

    rps_words_times(times, sizeof(times), ratio >= .095 ? ratio : 1 / ratio);
    if (ratio == 0)
        snprintf(ret, TEXT_SIZE, "no %s", name);
    else if (ratio > 1000)
        snprintf(ret, TEXT_SIZE, "over 1000 x the %s%s", rate, name);
    else if (ratio >= .095)
        snprintf(ret, TEXT_SIZE, "%s x the %s%s", times, rate, name);
    else if (ratio < .001)
        snprintf(ret, TEXT_SIZE, "under 1/1000 of the %s%s", rate, name);
    else
        snprintf(ret, TEXT_SIZE, "1/%s of the %s%s", times, rate, name);
}

/* Write the table column whose standard deviation differs most between the label and all other
 * phases, if chance does not explain the difference. The error allows for heavy tails (kurtosis 5).
 * Return 1 if there is such a column. */
static int write_noise(char *ret, const struct pair *pair)
{
    const struct rps_profile *profile = pair->profile;
    const double own_rows = (double)profile->label[pair->label].periods;
    double most = MIN_NOISE;

    for (size_t f = 0; f < profile->figure_count; f++) {
        const double own = profile->spread[pair->label * profile->figure_count + f];
        double squares = 0, rows = 0, found, rest;
        char value[48], elsewhere[48], name[RPS_NAME_SIZE];

        for (size_t l = 0; l < (size_t)profile->label_count; l++) {
            const double spread = profile->spread[l * profile->figure_count + f];

            if (l == pair->label || !isfinite(spread))
                continue;
            squares += spread * spread * (double)profile->label[l].periods;
            rows += (double)profile->label[l].periods;
        }
        rest = sqrt(squares / rows);
        found = fabs(log(own / rest)) - ERRORS * sqrt(1 / own_rows + 1 / rows);
        if (!(found > most))
            continue;
        most = found;
        rps_words_name(name, profile->figure[f].label, profile->figure[f].name);
        write_number(value, sizeof(value), own, 0, 0);
        write_number(elsewhere, sizeof(elsewhere), rest, 0, 0);
        snprintf(ret, TEXT_SIZE, "standard deviation of %s %s (elsewhere: %s)", name, value,
                 elsewhere);
    }
    return most > MIN_NOISE;
}

/* Write rates as ratios, and other metrics as values because "no miss rate" has no meaning. Return
 * 1 if the clause is a ratio to the whole run. The caller then names the whole run. */
static int write_clause(char *ret, const struct pair *pair, size_t f)
{
    const struct rps_figure *figure = &pair->profile->figure[f];
    int events = strcmp(figure->unit, "/s") == 0 && subject(figure->label) == 0;
    int positive = value_of(pair, f) > 0 && base_of(pair, f) > 0;
    int is_share = strcmp(figure->unit, "%") == 0;
    char name[RPS_NAME_SIZE];

    rps_words_name(name, figure->label, figure->name);
    if (events || (matters_from(figure, 0) > 0 && !is_share && positive)) {
        write_ratio(ret, pair, f, name);
        return value_of(pair, f) > 0;
    }
    write_values(ret, pair, f, name);
    return 0;
}

/* --- system metrics --------------------------------------------------------------------------- */

static const char *most_words(const struct rps_system_time *time)
{
    return rps_system_time_waits_at_most(time) ? "at most " : "";
}

static int is_asleep(const struct rps_system_time *time)
{
    return !(time->on_s + time->wait_s > ASLEEP * time->elapsed_s);
}

/* Write the waiting for a CPU of a window, in the words of phases. If one side hardly needed a CPU,
 * its share is a ratio of two tiny times, so the text is not changed. Return 0 if the shares hardly
 * differ: only the numbers of threads differ. */
static int write_cpu_wait(char *ret, const struct rps_profile *profile)
{
    const struct rps_system_time own = time_of(profile, 0), rest = time_of(profile, 1);
    const double waited = rps_system_time_waited(&own), other = rps_system_time_waited(&rest);

    if (is_asleep(&own) || is_asleep(&rest))
        return 1;
    snprintf(ret, TEXT_SIZE,
             "waits for a CPU %s%.0f %% of the time that it could run (%s: %s%.0f %%)",
             most_words(&own), 100 * waited, profile->other, most_words(&rest), 100 * other);
    return fabs(waited - other) > WAITED_THRESHOLD;
}

/* Return the words before a mean of readings. Processes that ended between readings are not in
 * it. */
static const char *least_words(const struct rps_system_time time)
{
    return time.unseen_s > UNSEEN_MIN * time.threads_s ? "at least " : "";
}

/* Return 1 if threads are idle in a label or elsewhere. They also sleep in locks, but are not
 * counted as threads that wait for locks, so a difference of these has no meaning. */
static int has_pool(const struct pair *pair)
{
    const struct rps_system_time own = time_of(pair->profile, (int)pair->label);
    const struct rps_system_time rest = sum_times(pair->profile, (int)pair->label);

    return fmax(own.idle_s / own.elapsed_s, rest.idle_s / rest.elapsed_s) >= THREADS_THRESHOLD;
}

/* Return 1 if metric f does not describe how much a label or the rest reads or writes. Asynchronous
 * I/O and mapped files move bytes without system calls. So where disks moved far more bytes than
 * system calls (f, then f + RPS_IO_DISKS), the bytes of the disks are described, otherwise not. */
static int is_other_io(const struct pair *pair, size_t f, const char *unit)
{
    const int is_disk = f >= RPS_IO_DISKS && strstr(unit, " disks"); /* not of a machine */
    const size_t calls = is_disk ? f - RPS_IO_DISKS : f, disks = calls + RPS_IO_DISKS;

    if (!is_disk && strcmp(unit, "MiB/s") != 0)
        return 0;
    return (value_of(pair, disks) > fmax(MIB_THRESHOLD, 2 * value_of(pair, calls)) ||
            base_of(pair, disks) > fmax(MIB_THRESHOLD, 2 * base_of(pair, calls))) != is_disk;
}

/* Write the RSS of a label, and how much the label reads and writes: "reads 240 MiB/s
 * from disks (elsewhere 2 MiB/s)". A phase's waits have their own clauses. Its sleeps and low
 * rates are written only if nothing else differs (is_only). */
static int write_io(struct clause *ret, struct pair *of, int is_only)
{
    const struct rps_profile *io = of->profile->io;
    const int label = (int)of->label;
    const char *own_least = least_words(time_of(of->profile, label));
    const char *rest_least = least_words(sum_times(of->profile, label));
    char number[48], other[48];
    int count = 0;

    for (size_t f = 0; io && f < io->figure_count; f++) {
        struct pair pair = pair_of(io, label);
        const char *name = io->other ? io->figure[f].panel : io->figure[f].name;
        const char *unit = strchr(name, ' ') + 1;
        const int is_rate = strstr(unit, "MiB/s") != NULL, is_wait = strncmp(unit, "s/s", 3) == 0;
        const int is_reading = !is_rate && !is_wait;
        const double least = strstr(unit, "MiB") ? MIB_THRESHOLD : THREADS_THRESHOLD;
        const double limit = !is_wait && !io->other && strstr(unit, "MiB") ? IO_APART : 0;
        double value, rest;

        pair.is_io = io->other ? 0 : 1 + is_rate;
        value = value_of(&pair, f);
        rest = base_of(&pair, f);
        ret[count] = (struct clause){.apart = fabs(sure_difference(&pair, f))};
        if (fabs(value - rest) <= least || is_other_io(&pair, f, unit) ||
            (!io->other && is_wait) || /* see write_system */
            (strcmp(name, RPS_IO_LOCKS) == 0 && (!io->other || has_pool(of))) ||
            (is_reading && (value < rest ? own_least : rest_least)[0])) /* may be the larger one */
            continue;
        of->is_unsure |= pair.is_unsure && fabs(difference(&pair, f)) > limit;
        of->is_common |= pair.is_common && fabs(difference(&pair, f)) > limit;
        if (!(ret[count].apart > limit) ||
            (!io->other && !(is_only && count == 0) &&
             ((is_rate && value <= least) || strncmp(unit, "threads", 7) == 0)) ||
            (!io->other && value > rest && rest > least && strncmp(unit, "threads", 7) == 0))
            continue;
        write_number(number, sizeof(number), value, fmin(least, 1), value < 100 ? 0 : 1);
        if (strcmp(number, "0") == 0 && strncmp(unit, "threads", 7) == 0)
            strcpy(number, "no");
        write_number(other, sizeof(other), rest, fmin(least, 1), rest < 100 ? 0 : 1);
        snprintf(ret[count].text, TEXT_SIZE, "%.*s%s%s %s (%s%s %s%s %.*s)", (int)(unit - name),
                 name, is_reading ? own_least : "", number, unit,
                 io->other ? io->other : "elsewhere", io->other ? ":" : "",
                 is_reading ? rest_least : "", other, (int)strcspn(unit, " "), unit);
        ret[count].is_less = value < rest && strncmp(unit, "MiB ", 4) != 0;
        count += !is_wait || write_cpu_wait(ret[count].text, of->profile);
    }
    return count;
}

/* Return the label's sleep reason, as rps_system_time_sleep does. Return -1 also if the same number
 * of threads sleeps for that reason in the whole run, such as the idle threads of a runtime. */
static int sleep_of(const struct rps_profile *profile, int label,
                    const struct rps_system_time *time)
{
    const struct rps_system_time rest = sum_times(profile, label);
    const int sleep = rps_system_time_sleep(time);

    return sleep >= 0 && time->asleep_in_s[sleep] * rest.elapsed_s <
                             exp(DIFFERENCE_MIN) * rest.asleep_in_s[sleep] * time->elapsed_s
               ? -1
               : sleep;
}

/* Return 1 if a label waits for a CPU, and waits more or less than all other labels together. */
static int waits(const struct rps_profile *profile, int label, const struct rps_system_time *time)
{
    const struct rps_system_time rest = sum_times(profile, label);
    const double waited = rps_system_time_waited(time);

    return waited > WAITED_THRESHOLD && time->wait_s > WAITED_THRESHOLD * time->threads_s &&
           fabs(waited - rps_system_time_waited(&rest)) > WAITED_THRESHOLD;
}

/* Write the clauses about a label's system metrics. Threads that wait for locks elsewhere, too, are
 * not described: a runtime's pool waits for work. Effects of other processes come last. `count`
 * clauses are before them. Return the number of clauses. */
static int write_system(struct clause *ret, struct pair *pair, int count)
{
    const struct rps_profile *profile = pair->profile;
    const int label = (int)pair->label;
    struct rps_system_time time, rest;
    double locked;
    int sleep, is_waiting;

    if (!profile->system)
        return count;
    time = time_of(profile, label);
    if (profile->other) /* The I/O metrics of a window include its waits. */
        return count + write_io(ret + count, pair, 0);
    rest = sum_times(profile, label);
    sleep = sleep_of(profile, label, &time);
    is_waiting = sleep < 0 && waits(profile, label, &time);
    if (sleep == RPS_SLEEP_LOCK && rps_system_time_is_busy(&time)) {
        locked = (rest.asleep_in_s[sleep] + rest.idle_s) / rest.elapsed_s;
        if (locked < THREADS_THRESHOLD)
            snprintf(ret[count++].text, TEXT_SIZE,
                     "has %.1f threads asleep in %s (elsewhere %.1f threads)",
                     time.asleep_in_s[sleep] / time.elapsed_s, rps_sleep_words[sleep], locked);
    } else if (sleep >= 0)
        snprintf(ret[count++].text, TEXT_SIZE, "sleeps in %s", rps_sleep_words[sleep]);
    count += write_io(ret + count, pair, count == 0 && !is_waiting);
    if (!is_waiting)
        return count;
    snprintf(ret[count].text, TEXT_SIZE,
             "waits for a CPU %s%.0f %% of the time that it could run (elsewhere %s%.0f %%)",
             most_words(&time), 100 * rps_system_time_waited(&time), most_words(&rest),
             100 * rps_system_time_waited(&rest));
    ret[count].is_less = rps_system_time_waited(&time) < rps_system_time_waited(&rest);
    return count + 1;
}

/* Compare all metrics of a label. Return 0 if there is nothing to compare the label with. */
static int compare(struct pair *pair)
{
    const struct rps_profile *profile = pair->profile;

    if (profile->label_count < 2 || profile->label[pair->label].periods == 0)
        return 0;
    for (size_t f = 0; f < profile->figure_count; f++) {
        double found = sure_difference(pair, f);

        if (strcmp(profile->figure[f].name, RPS_COLLECT_CPU_USE) != 0)
            continue;
        pair->cpu = found;
        if (profile->other && value_of(pair, f) < 100 * OFF_CPU &&
            difference(pair, f) < -HARDLY_RUNS) {
            pair->cpu = difference(pair, f);
            pair->idle = f;
        }
    }
    return 1;
}

/* Choose the metrics by which a label differs from the whole run. That a window hardly runs is
 * reported even if the CPU use of the rest varies too much for a test: low rates follow. */
static int reported_of_whole(struct pair *pair, size_t ret[RPS_PROFILE_DIFFERENCES_MAX])
{
    int count = 0;

    if (pair->idle != NO_FIGURE)
        ret[count++] = pair->idle;
    while (count < RPS_PROFILE_DIFFERENCES_MAX &&
           (ret[count] = choose(pair, ret, count)) != NO_FIGURE)
        count++;
    return count;
}

int rps_profile_reported(const struct rps_profile *profile, int label,
                         size_t ret[RPS_PROFILE_DIFFERENCES_MAX])
{
    struct pair pair = pair_of(profile, label);

    return compare(&pair) ? reported_of_whole(&pair, ret) : 0;
}

/* Append how a label differs most, beyond chance, from the class before its first phase: ";
 * compared with C: 0.38 x the rate of minor faults". For the first phase, this is the next
 * class. */
static void append_neighbour(char own[RPS_PROFILE_WORDS_SIZE], const struct rps_profile *profile,
                             int label)
{
    struct pair pair = pair_of(profile, label);
    size_t at = 0, best;
    char letter[RPS_PHASE_LABEL_SIZE], clause[TEXT_SIZE];

    while (at < profile->phase_count && profile->label_of[at] != label)
        at++;
    at = at > 0 ? at - 1 : at + 1;
    if (at >= profile->phase_count)
        return;
    pair.other = profile->label_of[at];
    best = choose(&pair, NULL, 0);
    if (best == NO_FIGURE)
        return;
    write_clause(clause, &pair, best);
    snprintf(own + strlen(own), RPS_PROFILE_WORDS_SIZE - strlen(own), "; compared with %s: %s",
             rps_phase_label(pair.other, letter), clause);
}

/* Write the metrics and system metrics of a label, as far as they fit. What happens less often than
 * elsewhere is written only if nothing else is known about the label, or if is_full is 1. */
static char *write_own(char own[RPS_PROFILE_WORDS_SIZE], const struct rps_profile *profile,
                       int label, int room, int is_full)
{
    struct pair pair = pair_of(profile, label), small;
    const char *whole = profile->other    ? profile->other
                        : is_table(&pair) ? "whole table"
                                          : "whole run";
    size_t told[RPS_PROFILE_DIFFERENCES_MAX];
    struct clause clause[RPS_PROFILE_DIFFERENCES_MAX + SYSTEM_CLAUSES] = {{.text = ""}};
    int count = 0, is_named = 0, has_more = !is_full && profile->label[label].is_described;

    own[0] = '\0';
    if (compare(&pair)) {
        count = reported_of_whole(&pair, told);
        for (int i = 0; i < count; i++) {
            clause[i].is_ratio = write_clause(clause[i].text, &pair, told[i]);
            clause[i].apart =
                told[i] == pair.idle ? DIFFERENCE_MAX : fabs(sure_difference(&pair, told[i]));
            clause[i].is_less = strcmp(profile->figure[told[i]].unit, "/s") == 0 &&
                                value_of(&pair, told[i]) < base_of(&pair, told[i]);
        }
        count = write_system(clause, &pair, count);
    }
    if (profile->other) {
        qsort(clause, (size_t)count, sizeof(*clause), by_difference);
        count = count < WINDOW_CLAUSES ? count : WINDOW_CLAUSES;
    }
    for (int i = 0; i < count && !is_full && !profile->other && !is_table(&pair); i++)
        has_more |= !clause[i].is_less;
    for (int i = 0; i < count; i++) {
        char *text = clause[i].text;

        if (clause[i].is_less && has_more)
            continue;
        if (clause[i].is_ratio && !is_named) /* The first ratio names the whole run for all. */
            snprintf(text + strlen(text), TEXT_SIZE - strlen(text), " of the %s", whole);
        if (own[0] && room > 0 && rps_text_width(own) + 2 + rps_text_width(text) > room)
            continue;
        snprintf(own + strlen(own), RPS_PROFILE_WORDS_SIZE - strlen(own), "%s%s",
                 own[0] ? ", " : "", text);
        is_named |= clause[i].is_ratio;
    }
    small = pair;
    small.is_small = 1;
    if (count > 0 || !pair.compared)
        ;
    else if (is_table(&pair) && write_noise(clause->text, &pair))
        sprintf(own, "%s", clause->text);
    else if (pair.is_unsure)
        sprintf(own, "%s", profile->other ? RPS_PROFILE_NO_METRIC : UNSURE);
    else if (pair.is_common)
        sprintf(own, ALIKE MOST_CLASSES);
    else if (reported_of_whole(&small, told) > 0) {
        write_clause(clause->text, &small, told[0]);
        sprintf(own, ALIKE "the %s; small difference: %s", whole, clause->text);
    } else
        sprintf(own, ALIKE "the %s", whole);
    if (count == 0 && pair.compared && room == 0 && !profile->other && !is_table(&pair))
        append_neighbour(own, profile, label);
    if (count == 0 && profile->label[label].is_ramp)
        sprintf(own, "a ramp: its values change steadily");
    return own;
}

/* Return another label with an equal name and description, or label_count. */
static int find_twin(const struct rps_profile *profile, int label, int is_full)
{
    const struct rps_profile_label *a = &profile->label[label], *b = profile->label;
    char own[RPS_PROFILE_WORDS_SIZE], words[RPS_PROFILE_WORDS_SIZE];
    int other = 0;

    write_own(own, profile, label, 0, is_full);
    while (other < profile->label_count &&
           !(label != other && a->code[0] && strcmp(a->code, b[other].code) == 0 &&
             strcmp(a->place, b[other].place) == 0 &&
             strcmp(write_own(words, profile, other, 0, is_full), own) == 0))
        other++;
    return other;
}

/* Join the names from rps_share_group_text with the words of a label. The names are first, unless
 * they are the text for a label without distinctive names; this text is last. */
static void join(char ret[RPS_PROFILE_WORDS_SIZE], const char *names, const char *words)
{
    const int is_first = !rps_share_is_none(names);

    if (is_first && names[0] &&
        (strstr(words, ALIKE) || strncmp(words, UNSURE, strlen(UNSURE)) == 0))
        words = "";
    snprintf(ret, RPS_PROFILE_WORDS_SIZE, "%s%s", is_first ? names : words,
             names[0] && words[0] ? ", " : "");
    snprintf(ret + strlen(ret), RPS_PROFILE_WORDS_SIZE - strlen(ret), "%s",
             is_first ? words : names);
}

char *rps_profile_words(char ret[RPS_PROFILE_WORDS_SIZE], const struct rps_profile *profile,
                        int label, int room)
{
    const struct rps_profile_label *of = &profile->label[label];
    const char *place = of->code[0] && rps_share_is_none(of->place) ? "" : of->place;
    char own[RPS_PROFILE_WORDS_SIZE], letter[RPS_PHASE_LABEL_SIZE];
    const int is_full = find_twin(profile, label, 0) < profile->label_count;
    const int twin = is_full ? find_twin(profile, label, 1) : profile->label_count;

    if (room > 0 && place[0])
        room -= rps_text_width(place) + 2 < room ? rps_text_width(place) + 2 : room - 1;
    join(ret, place, write_own(own, profile, label, room, is_full));
    if (twin == profile->label_count)
        return ret;
    snprintf(own, sizeof(own), "no clear difference from %s", rps_phase_label(twin, letter));
    if (strstr(ret, ALIKE))
        ret[0] = '\0';
    snprintf(ret + strlen(ret), RPS_PROFILE_WORDS_SIZE - strlen(ret), "%s%s", ret[0] ? ", " : "",
             own);
    return ret;
}

void rps_profile_place(struct rps_profile *profile, const struct rps_part_shares *shares)
{
    for (int l = 0; l < profile->label_count && (size_t)l < shares->group_count; l++) {
        struct rps_share_group group = shares->group[l];

        group.top[0].name.line = group.function[0].name.line = 0;
        for (int k = 0; k < RPS_APART_KINDS; k++) {
            if (k != RPS_APART_PLACE)
                group.apart[k].name.line = 0;
        }
        rps_share_group_text(profile->label[l].place, sizeof(profile->label[l].place), &group);
    }
}

/* Write a name for a label that hardly needed a CPU. The name is the label's sleep: "asleep in
 * timers". The name of any other label is "". */
static void name_off_cpu(const struct rps_profile *profile, int label, char *ret, size_t size)
{
    const struct rps_profile_label *of = &profile->label[label];
    struct rps_system_time time;
    int sleep;

    ret[0] = '\0';
    if (profile->length_ns <= 0 || of->cpu_s >= ASLEEP * of->seconds)
        return;
    if (of->cpu_s < OFF_CPU * of->seconds)
        snprintf(ret, size, "mostly off-CPU");
    if (!profile->system)
        return;
    time = time_of(profile, label);
    sleep = rps_system_time_sleep(&time);
    if (!(time.elapsed_s > 0) || (!ret[0] && !is_asleep(&time)))
        return;
    if (time.threads_s + time.child_s + fmax(0, time.idle_s) < time.elapsed_s / 2)
        snprintf(ret, size, "mostly no process"); /* as in a control group */
    else if (sleep < 0 && ret[0] && time.wait_s > time.threads_s / 2)
        snprintf(ret, size, "waiting for a CPU");
    else if (sleep ==
             RPS_SLEEP_LOCK) /* The texts of these sleep reasons are too long for a name. */
        snprintf(ret, size, "waiting for locks, threads or timers");
    else if (sleep == RPS_SLEEP_MESSAGE)
        snprintf(ret, size, "waiting for data or timers");
    else if (sleep >= 0)
        snprintf(ret, size, "asleep in %s", rps_sleep_words[sleep]);
}

void rps_profile_code(struct rps_profile *profile, const struct rps_part_shares *shares)
{
    int differ = 0;

    for (int l = 0; l < profile->label_count; l++) {
        char *code = profile->label[l].code;

        name_off_cpu(profile, l, code, sizeof(profile->label[l].code));
        if (!code[0] && (size_t)l < shares->group_count)
            rps_share_group_name(code, sizeof(profile->label[l].code), &shares->group[l], 0);
        profile->label[l].is_described = code[0] || ((size_t)l < shares->group_count &&
                                                     rps_share_is_positive(&shares->group[l]));
        differ |= strcmp(code, profile->label[0].code) != 0;
    }
    for (int l = 0; l < profile->label_count && !differ; l++)
        profile->label[l].code[0] = '\0';
}

/* Text for segments of a run that are not phases. */

static void add_phase(struct rps_phases *to, uint64_t first, uint64_t last, int label)
{
    if (first <= last)
        to->phase[to->count++] = (struct rps_phase){.first = first, .last = last, .label = label};
}

struct rps_phases rps_part_words_phases(struct rps_arena *arena, const struct rps_run_part *part,
                                        uint64_t first, uint64_t last, int rest)
{
    struct rps_phases ret = {.phase =
                                 rps_arena_get(arena, 2 * part->count + 1, sizeof(*ret.phase))};
    uint64_t next = first;

    for (size_t i = 0; i < part->count; i++) {
        const struct rps_run_stretch *stretch = &part->stretch[i];
        const uint64_t from = stretch->first > next ? stretch->first : next;
        const uint64_t to = stretch->last < last ? stretch->last : last;

        if (from > to)
            continue;
        if (from > next)
            add_phase(&ret, next, from - 1, rest);
        add_phase(&ret, from, to, (int)stretch->group);
        next = to + 1;
    }
    add_phase(&ret, next, last, rest);
    return ret;
}

const char **rps_part_words(struct rps_profile *profile, const struct rps_part_shares *shares)
{
    struct rps_arena *arena = profile->arena;
    const char **ret = rps_arena_get(arena, (size_t)profile->label_count, sizeof(*ret));
    char words[RPS_PROFILE_WORDS_SIZE];

    rps_profile_place(profile, shares);
    for (int l = 0; l < profile->label_count; l++)
        ret[l] = rps_arena_text(arena, rps_profile_words(words, profile, l, 0));
    return ret;
}
