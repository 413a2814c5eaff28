/* Profiles of phases: the statistics that follow from spreads, and the profile of a table.
 * profile_run.c makes the profile of a run.
 *
 * Metrics are ordered by a product of three factors: the distance between the labels' means, the
 * share of variance that the means explain, and the part that earlier metrics do not show. With the
 * share alone, a metric with a noise of a thousandth and a difference of a hundredth would come
 * first. Without the last factor, the first metrics would all show one phase, for example a phase
 * that misses every cache. */
#include "rpistat/profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profile_parts.h"
#include "rpistat/tally.h"

/* The metric shown first, which all users read first. */
#define FIGURE_FIRST "cpi"

/* Observations per block, powers of two. The longer blocks are for values that stay similar for
 * seconds. */
static const uint64_t block_length[2] = {16, 4 * 16};

#define BLOCKS_CORRECTION                                                                          \
    1.5 /* A variance of B blocks is multiplied by (1 + BLOCKS_CORRECTION / (B - 1)) squared. */

/* Minimum weight of a value that counts as an observation. Values of shorter times vary more. */
#define OBSERVATION_WEIGHT_MIN .5

/* Number of shown metrics that should not repeat each other. */
#define FIGURES_MAX 8

/* Add a value with its weight. `all` is the sum of the weights, including this one. */
static void add_value(double all, double *mean, double *squares, double value, double weight)
{
    double difference = value - *mean;

    *mean += difference * weight / all;
    *squares += weight * difference * (value - *mean);
}

/* Add the step from the previous value of a label. The weight of a step follows from the number of
 * values on each side before the step, see walk_error. */
static void add_step(struct rps_spread *label, const struct rps_spread *whole, double value)
{
    const double step = value - label->step.last_value;
    const double own = (double)whole->sides[0], other = (double)whole->sides[1];
    const double weight[] = {own * own, own * other, other * other};
    const double of[] = {1, step, step * step, label->step.is_pair,
                         label->step.is_pair ? step * label->step.last : 0};

    label->step.count++;
    for (int i = 0; i < RPS_STEP_SUMS; i++)
        for (int w = 0; w < 3; w++)
            label->step.sum[i][w] += of[i] * weight[w];
    label->step.last = step;
    label->step.is_pair = 1;
}

static void add_to_spread(struct rps_spread *spread, double value, double weight)
{
    spread->weight += weight;
    add_value(spread->weight, &spread->mean, &spread->squares, value, weight);
    if (weight < OBSERVATION_WEIGHT_MIN)
        return;
    spread->count++;
    for (int i = 0; i < 2; i++) {
        spread->block[i].sum += value;
        if (spread->count & (block_length[i] - 1))
            continue;
        add_value((double)++spread->block[i].count, &spread->block[i].mean,
                  &spread->block[i].squares, spread->block[i].sum / (double)block_length[i], 1);
        spread->block[i].sum = 0;
    }
}

void rps_spread_add(const struct rps_spreads *spreads, size_t label, size_t figure_count,
                    size_t figure, double value, double weight)
{
    struct rps_spread *own = &spreads->label[label * figure_count + figure];
    struct rps_spread *whole = &spreads->whole[figure];

    if (!isfinite(value) || !(weight > 0))
        return;
    if (weight >= OBSERVATION_WEIGHT_MIN) {
        if (own->count > 0 && own->step.number == whole->count)
            add_step(own, whole, value);
        else
            own->step.is_pair = 0;
        whole->sides[label % 2]++;
        own->step.last_value = value;
        own->step.number = whole->count + 1;
    }
    add_to_spread(own, value, weight);
    add_to_spread(whole, value, weight);
}

static double deviation(const struct rps_spread *spread)
{
    return spread->count > 1 ? sqrt(spread->squares / spread->weight) : NAN;
}

/* --- arrays ----------------------------------------------------------------------------------- */

static double *not_known(struct rps_arena *arena, size_t count)
{
    double *value = rps_arena_get(arena, count + 1, sizeof(*value));

    for (size_t i = 0; i < count; i++)
        value[i] = NAN;
    return value;
}

static void count_labels(struct rps_profile *profile, const struct rps_phases *phases)
{
    for (size_t i = 0; i < phases->count; i++) {
        const struct rps_phase *phase = &phases->phase[i];
        struct rps_profile_label *label = &profile->label[phase->label];

        label->occurrences++;
        label->periods += phase->last - phase->first + 1;
        label->is_ramp |= phase->trend != 0;
        label->length_ns += phase->end_ns - phase->start_ns;
        profile->periods += phase->last - phase->first + 1;
        profile->length_ns += phase->end_ns - phase->start_ns;
    }
    for (int l = 0; l < profile->label_count && profile->periods > 0; l++) {
        if (rps_profile_share(profile, profile->label[l].length_ns, profile->label[l].periods) > .5)
            profile->main_label = l;
    }
}

double rps_profile_share(const struct rps_profile *profile, int64_t length_ns, uint64_t periods)
{
    return profile->length_ns > 0 ? (double)length_ns / (double)profile->length_ns
                                  : (double)periods / (double)profile->periods;
}

struct rps_spreads rps_profile_init(struct rps_arena *arena, struct rps_profile *profile,
                                    size_t figure_count, const struct rps_phases *phases)
{
    size_t labels = (size_t)phases->label_count;
    int *label_of = rps_arena_get(arena, phases->count + 1, sizeof(*label_of));

    for (size_t i = 0; i < phases->count; i++)
        label_of[i] = phases->phase[i].label;
    *profile = (struct rps_profile){.arena = arena,
                                    .figure_count = figure_count,
                                    .phase_count = phases->count,
                                    .label_of = label_of,
                                    .label_count = phases->label_count,
                                    .main_label = -1};
    profile->figure = rps_arena_get(arena, figure_count + 1, sizeof(*profile->figure));
    profile->order = rps_arena_get(arena, figure_count + 1, sizeof(*profile->order));
    profile->phase = not_known(arena, phases->count * figure_count);
    profile->label = rps_arena_get(arena, labels + 1, sizeof(*profile->label));
    profile->mean = not_known(arena, labels * figure_count);
    profile->phase_interval =
        rps_arena_get(arena, phases->count * figure_count + 1, sizeof(*profile->phase_interval));
    profile->mean_interval =
        rps_arena_get(arena, labels * figure_count + 1, sizeof(*profile->mean_interval));
    profile->spread = not_known(arena, labels * figure_count);
    profile->loops = rps_loops_of(arena, phases);
    count_labels(profile, phases);
    return (struct rps_spreads){
        .label = rps_arena_get(arena, labels * figure_count + 1, sizeof(struct rps_spread)),
        .whole = rps_arena_get(arena, figure_count + 1, sizeof(struct rps_spread)),
    };
}

/* --- derived statistics ----------------------------------------------------------------------- */

/* Return the variance of a mean as a multiple of the variance for independent observations. The
 * multiple follows from the sums of squares (`blocks`) and the degrees of freedom of both block
 * lengths. A block of length L with many clumps shows only the part 1 - c / L of the multiple. The
 * constant c does not depend on L. */
static double clumps_of(const double blocks[2], const double freedom[2], double variance)
{
    double of[2] = {1, 1};

    for (int i = 0; i < 2 && freedom[i] > 0; i++)
        of[i] = (double)block_length[i] * blocks[i] / freedom[i] / variance;
    if (freedom[1] > 0)
        of[1] = pow(1 + BLOCKS_CORRECTION / freedom[1], 2) * fmax(of[1], (4 * of[1] - of[0]) / 3);
    return fmax(of[0], of[1]);
}

static void finish_figure(struct rps_profile *profile, const struct rps_spreads *spreads, size_t f)
{
    struct rps_figure *figure = &profile->figure[f];
    const struct rps_spread *whole = &spreads->whole[f];
    double inside = 0, between = 0, count = 0, blocks[2] = {0}, freedom[2] = {0};

    /* A package's metric is not a mean, so it has no spread. */
    figure->spread = figure->is_of_package ? 0 : deviation(whole);
    for (int l = 0; l < profile->label_count; l++) {
        size_t at = (size_t)l * profile->figure_count + f;
        const struct rps_spread *label = &spreads->label[at];
        double n = label->weight;

        profile->spread[at] = figure->is_of_package ? 0 : deviation(label);
        if (label->count == 0)
            continue;
        count += n;
        inside += label->squares;
        for (int i = 0; i < 2; i++) {
            blocks[i] += label->block[i].squares;
            freedom[i] += fmax(0, (double)label->block[i].count - 1);
        }
        between += n * (label->mean - whole->mean) * (label->mean - whole->mean);
    }
    figure->inside = count > 0 ? sqrt(inside / count) : NAN;
    figure->clumps = inside > 0 ? clumps_of(blocks, freedom, inside / count) : 1;
    figure->explained = between + inside > 0 ? between / (between + inside) : NAN;
    figure->apart = 0;
    if (between > 0 && count > 0)
        figure->apart =
            sqrt(between / count) / fmax(fabs(whole->mean), figure->spread) * figure->explained;
}

/* Return how much of the differences between labels in one metric is also visible in another
 * metric. This is the squared correlation of the two metrics' means on a logarithmic scale,
 * weighted by the labels' lengths. */
static double overlap(const struct rps_profile *profile, size_t f, size_t g)
{
    double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;

    for (int l = 0; l < profile->label_count; l++) {
        double a = profile->mean[(size_t)l * profile->figure_count + f];
        double b = profile->mean[(size_t)l * profile->figure_count + g];
        double weight = (double)profile->label[l].periods;

        if (!isfinite(a) || !isfinite(b))
            continue;
        a = asinh(a);
        b = asinh(b);
        n += weight;
        x += weight * a;
        y += weight * b;
        xx += weight * a * a;
        yy += weight * b * b;
        xy += weight * a * b;
    }
    xx -= x * x / n;
    yy -= y * y / n;
    xy -= x * y / n;
    return xx > 0 && yy > 0 ? fmin(xy * xy / (xx * yy), 1) : 0;
}

/* Return the next metric to show, which separates labels in another way than earlier metrics. */
static size_t next_figure(const struct rps_profile *profile, const double *told)
{
    size_t best = 0;
    double most = -1;

    for (size_t f = 0; f < profile->figure_count; f++) {
        double gain = fmin(profile->figure[f].apart, 1) * (1 - told[f]);

        if (told[f] >= 0 && gain > most) {
            most = gain;
            best = f;
        }
    }
    return best;
}

/* told[f] is the largest overlap with earlier metrics, or -1 if f is an earlier metric. */
static void put_in_order(struct rps_profile *profile, double *told)
{
    for (size_t i = 0; i < profile->figure_count; i++) {
        size_t next = next_figure(profile, told);

        for (size_t f = 0; i == 0 && f < profile->figure_count; f++) {
            if (strcmp(profile->figure[f].name, FIGURE_FIRST) == 0)
                next = f;
        }
        profile->order[i] = next;
        told[next] = -1;
        for (size_t f = 0; i < FIGURES_MAX && f < profile->figure_count; f++) {
            if (told[f] >= 0)
                told[f] = fmax(told[f], overlap(profile, f, next));
        }
    }
}

void rps_profile_finish(struct rps_profile *profile, const struct rps_spreads *spreads)
{
    double *told = rps_arena_get(profile->arena, profile->figure_count + 1, sizeof(*told));

    for (size_t f = 0; f < profile->figure_count; f++)
        finish_figure(profile, spreads, f);
    put_in_order(profile, told);
}

/* --- windows ---------------------------------------------------------------------------------- */

#define OBSERVATIONS_MIN 4   /* Sides with fewer observations are not compared. */
#define CHANCE           .01 /* Probability that any of the intervals is wrong. */

static double variance_of(double squares, double count, double groups)
{
    return count > groups ? squares / (count - groups) : 0;
}

/* Return half the width of the interval for a random walk. A step moves all later values, so its
 * weight in the difference of the means is the share of one side's values before the step, minus
 * that of the other side. Jumps at the start and at the end of a run thus hardly count. A steady
 * rise has equal steps, so its start and its end differ. */
static double walk_error(const struct rps_profile *profile, const struct rps_spreads *spreads,
                         size_t f, double probability)
{
    const double own = (double)spreads->whole[f].sides[0],
                 other = (double)spreads->whole[f].sides[1];
    double squares = 0, products = 0, freedom = 0, alike;

    for (size_t l = 0; l < (size_t)profile->label_count; l++) {
        const struct rps_spread *label = &spreads->label[l * profile->figure_count + f];
        double sum[RPS_STEP_SUMS], mean;

        for (int i = 0; i < RPS_STEP_SUMS; i++) {
            const double *of = label->step.sum[i];

            sum[i] = of[0] / (own * own) - 2 * of[1] / (own * other) + of[2] / (other * other);
        }
        mean = sum[0] > 0 ? sum[1] / sum[0] : 0;
        squares += fmax(0, sum[2] - mean * sum[1]);
        products += sum[4] - mean * mean * sum[3];
        freedom += fmax(0, (double)label->step.count - 1);
    }
    if (freedom == 0)
        return INFINITY;
    alike = squares > 0 ? fmin(fmax(0, products / squares), .99) : 0;
    return sqrt(squares * (own + other) / freedom * (1 + alike) / (1 - alike)) *
           rps_student_limit(probability, freedom);
}

/* Return half the width of the interval. The mean of n observations has the variance
 * v min(1, clumps / n). v is the mean variance within the phase classes of a side. In each class,
 * the larger variance is used: that of the side, or that of both sides together. */
static double error_of(const struct rps_profile *profile, const struct rps_spreads *spreads,
                       size_t f, double probability)
{
    const struct rps_figure *figure = &profile->figure[f];
    double sum[2] = {0}, count[2] = {0}, groups = 0, clumps = fmax(1, figure->clumps), error = 0;

    for (size_t l = 0; l < (size_t)profile->label_count; l++) {
        const struct rps_spread *own = &spreads->label[l * profile->figure_count + f];
        const struct rps_spread *other = &spreads->label[(l ^ 1) * profile->figure_count + f];
        const double rows = own->weight, more = other->weight;

        groups += rows > 0;
        count[l % 2] += rows;
        sum[l % 2] +=
            rows * fmax(variance_of(own->squares, rows, 1),
                        variance_of(own->squares + other->squares, rows + more, 1 + (more > 0)));
    }
    for (int side = 0; side < 2; side++)
        error += count[side] < OBSERVATIONS_MIN
                     ? NAN
                     : sum[side] / count[side] * fmin(1, clumps / count[side]);
    return sqrt(error) *
           rps_student_limit(probability, fmax(1, (count[0] + count[1] - groups) / clumps));
}

void rps_profile_compare_sides(struct rps_profile *profile, const struct rps_spreads *spreads,
                               const char *other, size_t tests, int is_whole)
{
    const double probability = CHANCE / (double)tests;

    for (size_t f = 0; f < profile->figure_count; f++) {
        double *error = &profile->figure[f].error;

        *error = error_of(profile, spreads, f, probability);
        if (is_whole && isfinite(*error))
            *error = fmin(*error, walk_error(profile, spreads, f, probability));
    }
    profile->label_count = 2;
    profile->other = other;
}

/* --- tables ----------------------------------------------------------------------------------- */

static double mean_of(const struct rps_spread *spread)
{
    return spread->count > 0 ? spread->mean : NAN;
}

double rps_profile_elsewhere(const struct rps_profile *profile, int label, size_t f)
{
    double sum = 0, weight = 0;

    for (int l = 0; l < profile->label_count; l++) {
        const struct rps_profile_label *of = &profile->label[l];
        const double own = of->seconds > 0 ? of->seconds : (double)of->periods;

        if (l != label && of->periods > 0) {
            sum += own * profile->mean[(size_t)l * profile->figure_count + f];
            weight += own;
        }
    }
    return sum / weight;
}

void rps_profile_means(struct rps_profile *profile, const struct rps_spreads *spreads)
{
    for (size_t f = 0; f < profile->figure_count; f++) {
        struct rps_spread rest = {0};

        profile->figure[f].whole = mean_of(&spreads->whole[f]);
        for (int l = 0; l < profile->label_count; l++) {
            size_t at = (size_t)l * profile->figure_count + f;
            const struct rps_spread *own = &spreads->label[at];

            profile->mean[at] = mean_of(own);
            if (l != profile->main_label && own->count > 0) {
                rest.count += own->count;
                rest.mean += (own->mean - rest.mean) * (double)own->count / (double)rest.count;
            }
        }
        profile->figure[f].rest = profile->main_label >= 0 ? mean_of(&rest) : NAN;
    }
}

static void profile_column(struct rps_profile *profile, const struct rps_spreads *spreads,
                           const struct rps_phases *phases, const double *value, size_t rows_per,
                           size_t f)
{
    for (size_t i = 0; i < phases->count; i++) {
        const struct rps_phase *phase = &phases->phase[i];
        struct rps_spread own = {0};

        for (uint64_t row = phase->first / rows_per; row <= phase->last / rows_per; row++) {
            if (isfinite(value[row]))
                add_to_spread(&own, value[row], 1);
            rps_spread_add(spreads, (size_t)phase->label, profile->figure_count, f, value[row], 1);
        }
        profile->phase[i * profile->figure_count + f] = mean_of(&own);
    }
}

struct rps_profile rps_profile_signals(struct rps_arena *arena, const struct rps_signals *signals,
                                       const char *const *name, size_t rows_per,
                                       const struct rps_phases *phases)
{
    struct rps_profile profile;
    struct rps_spreads spreads = rps_profile_init(arena, &profile, signals->signal_count, phases);

    for (size_t s = 0; s < signals->signal_count; s++) {
        struct rps_figure *figure = &profile.figure[s];

        snprintf(figure->name, sizeof(figure->name), "%s", name[s]);
        snprintf(figure->label, sizeof(figure->label), "%s", name[s]);
        profile_column(&profile, &spreads, phases, signals->value + s * signals->count, rows_per,
                       s);
    }
    rps_profile_means(&profile, &spreads);
    rps_profile_finish(&profile, &spreads);
    return profile;
}
