/*
 * Describe how a label differs: "3.1 x the page faults of the whole run, CPI 2.4 (whole run: 1.1)".
 * A label is compared with the whole. A label with more than half of the whole is tested against
 * the rest, since the whole is mostly itself.
 *
 * The difference is the logarithm of the ratio, after the value from which a metric of that unit
 * matters is added to both. Columns of a table may have any zero and differ in standard deviations.
 * A difference counts if the two 95 % intervals do not overlap. Metrics that were counted all the
 * time have no interval: the spread of their observations shows their uncertainty.
 */
#include "rpistat/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/collect.h"
#include "rpistat/run_system.h"
#include "rpistat/text.h"
#include "rpistat/words.h"

#define NO_FIGURE     SIZE_MAX
#define LEAST         .14 /* log of 1.15: less is alike */
#define LEAST_SPREAD  .5  /* of columns, in standard deviations */
#define LEAST_NOISE   .22 /* log of 1.25: standard deviations of columns */
#define LEAST_CPU_USE .22 /* log of 1.25: other processes take a part of the CPU use */
#define MOST          7.  /* one of the two is 0 */
#define ERRORS        2.5 /* standard errors that an interval reaches to either side */
#define FOLLOWS       1.5 /* a rate that changes by so much of the CPU use's change follows it */
#define HARDLY_RUNS   1.4 /* log of 4: with a quarter of the CPU use all lower rates follow it */
#define TEXT_SIZE     320 /* of a clause */
#define ALIKE         " sets it apart"
#define WAITED_TOLD   .1  /* of the time that a label needed a CPU, and of all time */
#define OFF_CPU       .02 /* of its time on a CPU: with less, a label waited */
#define MIB_TOLD      2.  /* MiB, or MiB/s: smaller differences are not reported */
#define RATE_APART    .7  /* log of 2: the same of MiB/s */

#define SYSTEM_CLAUSES 5

/* A label, and the label that it is compared with. */
struct pair {
    const struct rps_profile *profile;
    size_t label;
    int other;    /* label that it is compared with; -1: the whole */
    int is_small; /* 1: rates of faults and switches matter even if they take little time */
    double cpu;   /* difference in CPU use; 0: none */
    int compared; /* 1: there were metrics to compare */
};

struct range {
    double low, high;
};

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
    return pair->other >= 0 ? mean_of(pair->profile, (size_t)pair->other, f)
                            : pair->profile->figure[f].whole;
}

/* --- differences of metrics ------------------------------------------------------------------- */

/* A metric matters from this value on: ten events per second, one in a hundred, one in ten thousand
 * instructions. A minor fault or a context switch takes about a microsecond: 2,000 per second use
 * .2 % of a CPU. */
static double matters_from(const struct rps_figure *figure, int is_small)
{
    static const struct {
        const char *is; /* its name, or its unit */
        double from;
    } known[] = {{"minor_fault_rate", 2000},
                 {"context_switch_rate", 2000},
                 {"/s", 10},
                 {"%", 1},
                 {"PTI", .1}};

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
        return NAN; /* longer phases have more energy, too */
    if (is_table(pair))
        return figure->spread > 0 ? (value - base) / figure->spread : 0;
    value = fmax(value, 0) + more;
    base = fmax(base, 0) + more;
    if (value == base)
        return 0;
    return value <= 0 ? -MOST : base <= 0 ? MOST : log(value / base);
}

/* Return the range of a metric; NaN: unknown. Without an interval it follows from the standard
 * error, and for rates from that of a number of events. */
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
    double variance = profile->spread[at] * profile->spread[at] / (double)label->periods *
                      fmax(1, profile->figure[f].clumps);

    if (strcmp(profile->figure[f].unit, "/s") == 0 && label->length_ns > 0)
        variance += base_of(pair, f) / ((double)label->length_ns / 1e9);
    return range_of(&profile->mean_interval[at], profile->mean[at], variance);
}

static struct range base_range(const struct pair *pair, size_t f)
{
    const struct rps_profile *profile = pair->profile;
    const struct rps_figure *figure = &profile->figure[f];
    int is_main = (int)pair->label == profile->main_label;
    uint64_t periods = profile->periods - (is_main ? profile->label[pair->label].periods : 0);

    return range_of(is_main ? &figure->rest_interval : &figure->interval,
                    is_main ? figure->rest : figure->whole,
                    figure->spread * figure->spread / (double)periods * fmax(1, figure->clumps));
}

static struct rps_system_time time_of(const struct rps_profile *profile, int label)
{
    return rps_run_system_time(&profile->system[label], profile->label[label].cpu_s);
}

/* Return the share of time in which the threads of a label needed a CPU, running or waiting for
 * one. Label -1: all labels; NaN: unknown. */
static double wanted_share(const struct rps_profile *profile, int label)
{
    double wanted_s = 0, elapsed_s = 0;

    for (int l = 0; l < profile->label_count && profile->system; l++) {
        const struct rps_system_time time = time_of(profile, l);

        if ((label >= 0 && l != label) || !(time.elapsed_s > 0))
            continue;
        wanted_s += time.on_s + time.wait_s;
        elapsed_s += time.elapsed_s;
    }
    return elapsed_s > 0 ? wanted_s / elapsed_s : NAN;
}

/* Return 1 if a difference in CPU use is too small, or the work of other processes. CPU use does
 * not describe a label that needed a CPU as much as the other label, and did not get it. */
static int is_load_of_others(const struct pair *pair, size_t f, double found)
{
    double own, base;

    if (is_table(pair) || strcmp(pair->profile->figure[f].name, RPS_COLLECT_CPU_USE) != 0)
        return 0;
    if (fabs(found) < LEAST_CPU_USE)
        return 1;
    own = wanted_share(pair->profile, (int)pair->label);
    base = wanted_share(pair->profile, -1);
    return own > 0 && base > 0 && log(own / base) * found < LEAST * fabs(found);
}

/* Return 1 if the label also differs from most of the rest, by at least half as much. Otherwise, if
 * one label has nearly all events, every other label would have notably few. */
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
        if (fabs(apart) >= fmax(fabs(found) / 2, is_table(pair) ? LEAST_SPREAD : LEAST))
            unlike += periods;
    }
    return unlike > rest / 2 || rest == 0;
}

/* Return the difference if it is beyond chance, otherwise 0. */
static double sure_difference(struct pair *pair, size_t f)
{
    double found = difference(pair, f);
    struct range own = label_range(pair, f), base = base_range(pair, f);

    if (!isfinite(found))
        return 0;
    pair->compared = 1;
    if (fabs(found) < (is_table(pair) ? LEAST_SPREAD : LEAST) || is_load_of_others(pair, f, found))
        return 0;
    if ((own.low > base.high || own.high < base.low) && is_unlike_most(pair, f, found))
        return found;
    return 0;
}

/* --- choice of metrics ------------------------------------------------------------------------ */

/* Return the length of the subject in a label: "DC miss" in "DC miss rate"; 0: all of it. */
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

/* Return 1 for metrics of one panel, which are parts of one thing, and for the ratio and the rate
 * of the same misses. */
static int says_the_same(const struct rps_figure *a, const struct rps_figure *b)
{
    size_t about = subject(a->label);

    if (a->panel[0] && strcmp(a->panel, b->panel) == 0)
        return 1;
    return about > 0 && about == subject(b->label) && strncmp(a->label, b->label, about) == 0;
}

/* Return 1 if a rate follows the CPU use: with half of the time, all rates are half. */
static int follows_cpu_use(const struct pair *pair, size_t f, double found)
{
    if (strcmp(pair->profile->figure[f].unit, "/s") != 0 || found * pair->cpu <= 0)
        return 0;
    return fabs(found) <= FOLLOWS * fabs(pair->cpu) || pair->cpu < -HARDLY_RUNS;
}

/* Return the next metric to describe: the largest difference, and among equals the metric that
 * separates all labels best. */
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

/* Write two digits before `extra` ones, and none that do not matter. */
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

/* Write "CPI 2.4 (whole run: 1.1)", with more digits if they are needed. */
static void write_values(char *ret, const struct pair *pair, size_t f, const char *name)
{
    const struct rps_figure *figure = &pair->profile->figure[f];
    const char *unit =
        subject(figure->label) > 0 && strstr(figure->label, " percent") ? "" : figure->unit;
    char value[48], base[48];
    const char *than = is_table(pair) ? "all" : "whole run";

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

/* Write "3.1 x the page faults", "1/12 of the page faults", "no page faults". */
static void write_ratio(char *ret, const struct pair *pair, size_t f, const char *name)
{
    double ratio = value_of(pair, f) / base_of(pair, f);
    char times[48];

    rps_words_times(times, sizeof(times), ratio >= .095 ? ratio : 1 / ratio);
    if (ratio == 0)
        snprintf(ret, TEXT_SIZE, "no %s", name);
    else if (ratio > 1000)
        snprintf(ret, TEXT_SIZE, "over 1000 x the %s", name);
    else if (ratio >= .095)
        snprintf(ret, TEXT_SIZE, "%s x the %s", times, name);
    else if (ratio < .001)
        snprintf(ret, TEXT_SIZE, "under 1/1000 of the %s", name);
    else
        snprintf(ret, TEXT_SIZE, "1/%s of the %s", times, name);
}

/* Write the column of a table whose standard deviation differs most from that in the other phases,
 * if beyond chance: the error allows for heavy tails (kurtosis 5). Return 1 if there is one. */
static int write_noise(char *ret, const struct pair *pair)
{
    const struct rps_profile *profile = pair->profile;
    const double own_rows = (double)profile->label[pair->label].periods;
    double most = LEAST_NOISE;

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
        snprintf(ret, TEXT_SIZE, "standard deviation of %s %s (elsewhere: %s)", name, value, elsewhere);
    }
    return most > LEAST_NOISE;
}

/* Write rates as ratios, and other metrics as values: "no miss rate" has no meaning. Return 1 for a
 * ratio to the whole run, for the caller to name. */
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

/* Write how much memory a label uses, and how much it reads and writes: "reads 240 MiB/s from disks
 * (elsewhere 2 MiB/s)". */
static int write_io(char ret[][TEXT_SIZE], const struct rps_profile *profile, int label)
{
    const struct rps_profile *io = profile->io;
    struct pair pair = {.profile = io, .label = (size_t)label, .other = -1};
    char number[48], other[48];
    int count = 0;

    for (size_t f = 0; io && f < io->figure_count; f++) {
        const char *name = io->figure[f].name, *unit = strchr(name, ' ') + 1;
        const int is_rate = strstr(unit, "/s") != NULL;
        const double all = (double)io->periods, own = (double)io->label[label].periods;
        const double value = value_of(&pair, f);
        const double rest = fmax(0, (io->figure[f].whole * all - value * own) / (all - own));

        if (!(fabs(sure_difference(&pair, f)) > (is_rate ? RATE_APART : 0)) ||
            fabs(value - rest) <= MIB_TOLD || (is_rate && value <= MIB_TOLD))
            continue;
        write_number(number, sizeof(number), value, 1, value < 100 ? 0 : 1);
        write_number(other, sizeof(other), rest, 1, rest < 100 ? 0 : 1);
        snprintf(ret[count++], TEXT_SIZE, "%.*s%s %s (elsewhere %s %.*s)", (int)(unit - name), name,
                 number, unit, other, (int)strcspn(unit, " "), unit);
    }
    return count;
}

/* Return the label's sleep reason, as rps_system_time_sleep does. Return -1 also if as many threads
 * sleep in it throughout, as a runtime's idle ones do. */
static int sleep_of(const struct rps_profile *profile, int label,
                    const struct rps_system_time *time)
{
    int sleep = rps_system_time_sleep(time);
    double rest_s = 0, length_s = 0;

    for (int l = 0; l < profile->label_count && sleep >= 0; l++) {
        const struct rps_system_time other = time_of(profile, l);

        if (l != label && isfinite(other.asleep_in_s[sleep])) {
            rest_s += other.asleep_in_s[sleep];
            length_s += other.elapsed_s;
        }
    }
    if (sleep >= 0 && time->asleep_in_s[sleep] * length_s < exp(LEAST) * rest_s * time->elapsed_s)
        return -1;
    return sleep;
}

/* Return 1 if it waits for a CPU, and more or less than all labels together do. */
static int waits(const struct rps_profile *profile, const struct rps_system_time *time)
{
    double waited = rps_system_time_waited(time), wait_s = 0, wanted_s = 0;

    for (int l = 0; l < profile->label_count; l++) {
        const struct rps_system_time other = time_of(profile, l);

        if (isfinite(other.on_s + other.wait_s)) {
            wait_s += other.wait_s;
            wanted_s += other.on_s + other.wait_s;
        }
    }
    return waited > WAITED_TOLD && time->wait_s > WAITED_TOLD * time->threads_s &&
           fabs(waited - wait_s / wanted_s) > WAITED_TOLD;
}

/* Write the clauses of a label, effects of other processes last. Return their number. */
static int write_system(char ret[SYSTEM_CLAUSES][TEXT_SIZE], const struct rps_profile *profile,
                        int label)
{
    struct rps_system_time time;
    int count = 0, sleep;

    if (!profile->system)
        return 0;
    time = time_of(profile, label);
    sleep = sleep_of(profile, label, &time);
    if (sleep >= 0)
        snprintf(ret[count++], TEXT_SIZE, "sleeps in %s", rps_sleep_words[sleep]);
    count += write_io(ret + count, profile, label);
    if (sleep < 0 && waits(profile, &time))
        snprintf(ret[count++], TEXT_SIZE, "waits for a CPU in %.0f %% of its runnable time",
                 100 * rps_system_time_waited(&time));
    return count;
}

/* Compare all metrics. Return 0 if there is nothing to compare with. */
static int compare(struct pair *pair)
{
    const struct rps_profile *profile = pair->profile;

    if (profile->label_count < 2 || profile->label[pair->label].periods == 0)
        return 0;
    for (size_t f = 0; f < profile->figure_count; f++) {
        double found = sure_difference(pair, f);

        if (strcmp(profile->figure[f].name, RPS_COLLECT_CPU_USE) == 0)
            pair->cpu = found;
    }
    return 1;
}

/* Choose the metrics by which a label differs from the whole. */
static int told_of_whole(struct pair *pair, size_t ret[RPS_PROFILE_TOLD])
{
    int count = 0;

    while (count < RPS_PROFILE_TOLD && (ret[count] = choose(pair, ret, count)) != NO_FIGURE)
        count++;
    return count;
}

int rps_profile_told(const struct rps_profile *profile, int label, size_t ret[RPS_PROFILE_TOLD])
{
    struct pair pair = {.profile = profile, .label = (size_t)label, .other = -1};

    return compare(&pair) ? told_of_whole(&pair, ret) : 0;
}

/* Write the metrics and system metrics of a label, as far as they fit. */
static char *write_own(char own[RPS_PROFILE_WORDS_SIZE], const struct rps_profile *profile,
                       int label, int room)
{
    struct pair pair = {.profile = profile, .label = (size_t)label, .other = -1};
    size_t told[RPS_PROFILE_TOLD];
    char clause[TEXT_SIZE], system[SYSTEM_CLAUSES][TEXT_SIZE];
    int count = 0, more = 0, is_ratio, is_named = 0;

    own[0] = '\0';
    if (compare(&pair)) {
        count = told_of_whole(&pair, told);
        more = write_system(system, profile, label);
    }
    for (int i = 0; i < count + more; i++) {
        is_ratio = i < count && write_clause(clause, &pair, told[i]);
        if (i >= count)
            memcpy(clause, system[i - count], sizeof(clause));
        if (is_ratio && !is_named) /* the first ratio names the whole run for all */
            strcat(clause, " of the whole run");
        if (i > 0 && room > 0 && rps_text_width(own) + 2 + rps_text_width(clause) > room)
            continue;
        snprintf(own + strlen(own), RPS_PROFILE_WORDS_SIZE - strlen(own), "%s%s", i > 0 ? ", " : "",
                 clause);
        is_named |= is_ratio;
    }
    pair.is_small = 1;
    if (count + more == 0 && compare(&pair) && told_of_whole(&pair, told) > 0) {
        is_ratio = write_clause(clause, &pair, told[0]);
        sprintf(own, "little" ALIKE ": %s%s", clause, is_ratio ? " of the whole run" : "");
    } else if (count + more == 0 && is_table(&pair) && write_noise(clause, &pair)) {
        sprintf(own, "%s", clause);
    } else if (count + more == 0 && pair.compared) {
        sprintf(own, is_table(&pair) ? "no column" ALIKE : "nothing counted" ALIKE);
    }
    if (count + more == 0 && profile->label[label].is_ramp)
        sprintf(own, "a ramp: its values change steadily");
    return own;
}

/* Return 1 if another label has the same name and description. */
static int is_twin(const struct rps_profile *profile, int label, int other, const char *own)
{
    const struct rps_profile_label *a = &profile->label[label], *b = &profile->label[other];
    char words[RPS_PROFILE_WORDS_SIZE];

    return label != other && a->code[0] && strcmp(a->code, b->code) == 0 &&
           strcmp(a->place, b->place) == 0 && strcmp(write_own(words, profile, other, 0), own) == 0;
}

char *rps_profile_words(char ret[RPS_PROFILE_WORDS_SIZE], const struct rps_profile *profile,
                        int label, int room)
{
    const char *place = profile->label[label].place;
    char own[RPS_PROFILE_WORDS_SIZE], letter[RPS_PHASE_LABEL_SIZE];
    int twin = 0;

    write_own(own, profile, label, 0);
    while (twin < profile->label_count && !is_twin(profile, label, twin, own))
        twin++;
    if (room > 0 && place[0])
        room -= rps_text_width(place) + 2 < room ? rps_text_width(place) + 2 : room - 1;
    rps_profile_join(ret, RPS_PROFILE_WORDS_SIZE, place, write_own(own, profile, label, room));
    if (twin == profile->label_count)
        return ret;
    snprintf(own, sizeof(own), "no difference from %s is large enough to name",
             rps_phase_label(twin, letter));
    if (strstr(ret, ALIKE))
        ret[0] = '\0';
    snprintf(ret + strlen(ret), RPS_PROFILE_WORDS_SIZE - strlen(ret), "%s%s", ret[0] ? ", " : "",
             own);
    return ret;
}

char *rps_profile_join(char *ret, size_t size, const char *names, const char *words)
{
    const int is_first = strncmp(names, "no ", 3) != 0; /* "no function stands out" comes last */

    if (is_first && names[0] && strstr(words, ALIKE))
        words = "";
    snprintf(ret, size, "%s%s%s", is_first ? names : words, names[0] && words[0] ? ", " : "",
             is_first ? words : names);
    return ret;
}

void rps_profile_place(struct rps_profile *profile, const struct rps_part_shares *shares)
{
    for (int l = 0; l < profile->label_count && (size_t)l < shares->group_count; l++) {
        struct rps_share_group group = shares->group[l];

        group.top[0].name.line = group.function[0].name.line = 0;
        for (int k = 0; k < RPS_APART_KINDS; k++)
            group.apart[k].name.line = 0;
        rps_share_group_text(profile->label[l].place, sizeof(profile->label[l].place), &group);
    }
}

/* Name a label that was hardly on a CPU by its sleep: "asleep in timers"; "" for other labels. */
static void name_off_cpu(const struct rps_profile *profile, int label, char *ret, size_t size)
{
    const struct rps_profile_label *of = &profile->label[label];
    struct rps_system_time time;
    int sleep, length;

    ret[0] = '\0';
    if (profile->length_ns <= 0 || of->cpu_s >= OFF_CPU * of->seconds)
        return;
    snprintf(ret, size, "hardly on a CPU");
    if (!profile->system)
        return;
    time = time_of(profile, label);
    sleep = rps_system_time_sleep(&time);
    if (!(time.elapsed_s > 0) || (sleep < 0 && time.wait_s < time.threads_s / 2))
        return;
    length = sleep < 0 ? 0 : (int)strcspn(rps_sleep_words[sleep], "("); /* up to the explanation */
    length -= length > 0 && rps_sleep_words[sleep][length - 1] == ' ';
    if (sleep < 0)
        snprintf(ret, size, "waiting for a CPU");
    else if (sleep == RPS_SLEEP_LOCK) /* its text is too long for a name */
        snprintf(ret, size, "waiting for locks or threads");
    else
        snprintf(ret, size, "asleep in %.*s", length, rps_sleep_words[sleep]);
}

void rps_profile_code(struct rps_profile *profile, const struct rps_part_shares *shares)
{
    int differ = 0;

    for (int l = 0; l < profile->label_count; l++) {
        char *code = profile->label[l].code;

        name_off_cpu(profile, l, code, sizeof(profile->label[l].code));
        if (!code[0] && (size_t)l < shares->group_count)
            rps_share_group_name(code, sizeof(profile->label[l].code), &shares->group[l]);
        differ |= strcmp(code, profile->label[0].code) != 0;
    }
    for (int l = 0; l < profile->label_count && !differ; l++)
        profile->label[l].code[0] = '\0';
}
