/*
 * Preparing: from the caller's signals to rows of noise units.
 *
 * Noise is estimated from differences of neighbours. This is only a first estimate: autocorrelation
 * makes it too small, which the choice of the penalty corrects.
 */
#include "detect_observed.h"

#include <float.h>
#include <math.h>

#include "detect_clip.h"
#include "detect_math.h"

/* Estimates of deviations use at most this many values. */
#define SAMPLE_MAX 8192

/* Ranges below this, relative to the largest value, are rounding errors. */
#define RANGE_MIN 2e-15

/* Least noise of a signal, relative to its range. */
#define NOISE_MIN 1e-6

/* Lower quartile of the size of a normal variable of deviation 1. */
#define NORMAL_QUARTILE 0.3186

/* Differences of neighbours beyond this level are changes, not noise. */
#define STEP_LEVEL 5

/* A higher correlation is limited to this: a random walk. */
#define CORRELATION_MAX 0.99

/* With fewer observations none is an outlier, because the usual values are unknown. */
#define OUTLIERS_FROM 20

/* This many similar values make a level. */
#define LEVEL 3

/* An observation at which a signal steps from one level to another. It is the last of the first
 * level, the first of the second, or between them. The levels are in noise units. */
struct edge {
    size_t at, signal;
    double before, behind;
};

/* Signals that step at an observation: squares of their distances from the levels, and whether one
 * of them is at neither level. */
struct step {
    double before, behind;
    int mixed;
};

struct preparation {
    const struct rps_signals *signals;
    struct rps_observed *out;
    struct rps_arena *scratch;
    size_t *used;      /* signals that vary */
    double *seen;      /* the values of a signal that were seen, in order */
    double *clean;     /* the same, with outliers clipped */
    double *sample;    /* SAMPLE_MAX */
    uint8_t *wild;     /* of those in `seen`, 1: an outlier */
    uint8_t *clipped;  /* one per observation: an outlier in some signal */
    struct step *step; /* one per observation */
    struct edge *edge;
    size_t edge_count;
};

/* Unit of a signal. */
struct unit {
    size_t count;             /* values that were seen */
    double limit;             /* for values that are near */
    double centre, deviation; /* of noise units */
};

/* Return the weight of a value in parts of RPS_OBSERVED_WHOLE; 0: not seen. */
static unsigned weight_of(const struct rps_signals *signals, size_t at)
{
    double weight = signals->weight ? (double)signals->weight[at] : 1;

    if (!isfinite(signals->value[at]) || !(weight > 0))
        return 0;
    if (weight >= 1)
        return RPS_OBSERVED_WHOLE;
    return (unsigned)fmax(1, floor(weight * RPS_OBSERVED_WHOLE + 0.5));
}

/* Find the power of two that brings the largest value of a signal to [0.5, 1). Return 1 if it
 * varies. */
static int find_scale(const struct rps_signals *signals, size_t signal, int *ret_exponent)
{
    size_t base = signal * signals->count;
    double low = 0, high = 0, largest;
    int any = 0;

    for (size_t i = base; i < base + signals->count; i++) {
        double value = signals->value[i];

        if (weight_of(signals, i) == 0)
            continue;
        low = !any || value < low ? value : low;
        high = !any || value > high ? value : high;
        any = 1;
    }
    largest = fmax(fabs(low), fabs(high));
    frexp(largest, ret_exponent);
    return any && high > low && high / 2 - low / 2 > RANGE_MIN * largest;
}

/* Return the deviation of the values from their running median. */
static double clip_deviation(struct preparation *job, size_t count)
{
    size_t step = count / SAMPLE_MAX + 1, taken = 0;

    for (size_t i = 0; i < count; i += step)
        job->sample[taken++] = job->seen[i] - rps_clip_median(job->seen, count, i);
    return rps_robust_deviation(job->sample, taken);
}

/* Return the deviation of the noise of blocks. A quarter of them differ from the one before by
 * noise alone, even in a loop of a few blocks. */
static double block_deviation(struct preparation *job, size_t count)
{
    size_t step = count / SAMPLE_MAX + 1, taken = 0;

    for (size_t i = 1; i < count; i += step)
        job->sample[taken++] = fabs(job->seen[i] - job->seen[i - 1]);
    if (taken == 0)
        return 0;
    return rps_select_rank(job->sample, taken, taken / 4) / NORMAL_QUARTILE / sqrt(2);
}

/* Clip outliers from job->seen to job->clean. Mark those in job->wild that are unlikely in so many
 * values of noise. */
static void clip(struct preparation *job, size_t count, double deviation)
{
    double limit = RPS_CLIP_DEVIATIONS * deviation;
    double values = (double)job->out->count * (double)job->out->width;
    double wild = fmax(limit, (sqrt(2 * log(values)) + 0.5) * deviation);

    if (job->signals->in_blocks)
        limit = 0;
    rps_clip(job->seen, count, limit, wild, job->clean, job->wild);
}

/*
 * Return the deviation of the noise, from differences of neighbours. If most do not differ, use
 * those that do: counts of rare events. The deviation is at least a millionth of the range, because
 * squares of larger numbers would be rounding errors.
 */
static double noise_deviation(struct preparation *job, size_t count)
{
    size_t step = count / SAMPLE_MAX + 1, taken = 0;
    double deviation, low = job->clean[0], high = job->clean[0], sum = 0;

    for (size_t i = 1; i < count; i++) {
        low = job->clean[i] < low ? job->clean[i] : low;
        high = job->clean[i] > high ? job->clean[i] : high;
        sum += fabs(job->clean[i] - job->clean[i - 1]);
    }
    for (size_t i = 1; i < count; i += step)
        job->sample[taken++] = job->clean[i] - job->clean[i - 1];
    deviation = rps_robust_deviation(job->sample, taken) / sqrt(2);
    deviation = deviation > 0 ? deviation : sum / (double)count;
    return fmax(deviation, NOISE_MIN * (high - low));
}

/* Return a middle value of job->clean. */
static double find_centre(struct preparation *job, size_t count)
{
    size_t step = count / SAMPLE_MAX + 1, taken = 0;

    for (size_t i = 0; i < count; i += step)
        job->sample[taken++] = job->clean[i];
    return rps_select_rank(job->sample, taken, taken / 2);
}

/* Scale the seen values of a signal to (-1, 1), into job->seen; return their number. */
static size_t gather(struct preparation *job, size_t signal, int exponent)
{
    size_t base = signal * job->signals->count, count = 0;
    /* Two factors: one could be too large for a double. */
    double half = ldexp(1, -exponent / 2), rest = ldexp(1, -exponent - -exponent / 2);

    for (size_t i = base; i < base + job->signals->count; i++) {
        if (weight_of(job->signals, i) > 0)
            job->seen[count++] = job->signals->value[i] * half * rest;
    }
    return count;
}

/* Return 1 if the values of a level are alike; put their median into *ret. There are few blocks
 * between two changes: the level is the one that ends, or begins, `next` places on. */
static int are_alike(const struct preparation *job, const double *value, size_t next, double limit,
                     double *ret)
{
    double low = fmin(value[0], fmin(value[1], value[2]));
    double high = fmax(value[0], fmax(value[1], value[2]));

    *ret = value[0] + value[1] + value[2] - low - high;
    if (job->signals->in_blocks)
        *ret = value[next];
    return job->signals->in_blocks || high - low <= 2 * limit;
}

/* Note observation `at` if value k of job->clean, its own, is at a step between levels that are
 * more than twice the limit apart. */
static void note_edge(struct preparation *job, size_t k, const struct unit *unit, size_t at,
                      size_t signal)
{
    const double *value = job->clean + k;
    double before, behind, limit = unit->limit, own;
    struct step *step = &job->step[at];

    if (k < LEVEL || k + LEVEL >= unit->count || fabs(value[1] - value[-1]) <= 2 * limit ||
        !are_alike(job, value - LEVEL, LEVEL - 1, limit, &before) ||
        !are_alike(job, value + 1, 0, limit, &behind) || fabs(before - behind) <= 2 * limit)
        return;
    job->edge = rps_arena_grow(job->scratch, job->edge, job->edge_count, sizeof(*job->edge));
    step->mixed |= fabs(*value - before) > limit && fabs(*value - behind) > limit &&
                   (*value > before) == (*value < behind);
    own = (*value - unit->centre) / unit->deviation;
    before = (before - unit->centre) / unit->deviation;
    behind = (behind - unit->centre) / unit->deviation;
    step->before += (own - before) * (own - before);
    step->behind += (own - behind) * (own - behind);
    job->edge[job->edge_count++] = (struct edge){at, signal, before, behind};
}

/*
 * An observation with a change inside is a mixture of both sides, which no running median detects
 * as an outlier. It is so far from either level that the search would cut out a segment of the
 * shortest length around it. One signal may also look like one side and another like the other. So
 * all signals that step there are moved together to the side that they are nearer to.
 */
static void settle_edges(struct preparation *job)
{
    for (size_t e = 0; e < job->edge_count; e++) {
        const struct edge *edge = &job->edge[e];
        const struct step *step = &job->step[edge->at];

        if (step->mixed)
            job->out->value[edge->at * job->out->width + edge->signal] =
                step->before < step->behind ? edge->before : edge->behind;
    }
}

/* Fill a signal's column from job->clean, in noise units. */
static void fill_column(struct preparation *job, size_t signal, size_t to, const struct unit *unit)
{
    struct rps_observed *out = job->out;
    size_t next = 0;

    for (size_t i = 0; i < out->count; i++) {
        unsigned weight = weight_of(job->signals, signal * out->count + i);

        if (out->weight)
            out->weight[i * out->width + to] = (uint8_t)weight;
        if (weight == 0)
            continue;
        note_edge(job, next, unit, i, to);
        job->clipped[i] |= job->wild[next];
        out->value[i * out->width + to] = (job->clean[next++] - unit->centre) / unit->deviation;
    }
}

static void prepare_signal(struct preparation *job, size_t signal, size_t to)
{
    double deviation, alike = 0, least;
    struct unit unit;
    int exponent = 0;

    find_scale(job->signals, signal, &exponent);
    if (job->signals->resolution)
        alike = ldexp(job->signals->resolution[signal], -exponent);
    least = alike;
    if (job->signals->noise_floor)
        least = fmax(least, ldexp(job->signals->noise_floor[signal], -exponent));
    unit.count = gather(job, signal, exponent);
    deviation = job->signals->in_blocks ? block_deviation(job, unit.count)
                                        : clip_deviation(job, unit.count);
    deviation = fmax(deviation, least);
    unit.limit = RPS_CLIP_DEVIATIONS * deviation;
    clip(job, unit.count, deviation);
    unit.centre = find_centre(job, unit.count);
    unit.deviation = fmax(noise_deviation(job, unit.count), least);
    if (job->signals->in_blocks)
        unit.deviation = fmax(deviation, NOISE_MIN * unit.deviation);
    if (!(unit.deviation > DBL_MIN))
        unit.deviation = 1; /* all that varied were outliers */
    job->out->variance_floor[to] = least / unit.deviation * (least / unit.deviation);
    job->out->tolerance[to] = alike / unit.deviation * (alike / unit.deviation);
    fill_column(job, signal, to, &unit);
}

/* List the signals that vary; note whether they were seen completely. */
static int find_used(struct preparation *job)
{
    const struct rps_signals *signals = job->signals;
    int whole = 1, exponent;

    for (size_t s = 0; s < signals->signal_count; s++) {
        if (!find_scale(signals, s, &exponent))
            continue;
        job->used[job->out->width++] = s;
        for (size_t i = 0; i < signals->count && whole; i++)
            whole = weight_of(signals, s * signals->count + i) == RPS_OBSERVED_WHOLE;
    }
    return whole;
}

static void prepare_values(struct rps_arena *arena, struct preparation *job)
{
    struct rps_observed *out = job->out;
    int whole = find_used(job);
    size_t total = out->count * out->width;

    out->value = rps_arena_get(arena, total, sizeof(*out->value));
    out->gain = rps_arena_get(arena, out->width, sizeof(*out->gain));
    out->variance_floor = rps_arena_get(arena, out->width, sizeof(*out->variance_floor));
    out->correlation = rps_arena_get(arena, out->width, sizeof(*out->correlation));
    out->tolerance = rps_arena_get(arena, out->width, sizeof(*out->tolerance));
    if (!whole)
        out->weight = rps_arena_get(arena, total, sizeof(*out->weight));
    for (size_t v = 0; v < out->width; v++) {
        out->gain[v] = 1;
        prepare_signal(job, job->used[v], v);
    }
    settle_edges(job);
}

static void find_blocks(struct rps_arena *arena, const struct rps_signals *signals,
                        struct rps_observed *out)
{
    size_t count = 1;

    for (size_t i = 1; signals->broken && i < signals->count; i++)
        count += signals->broken[i] != 0;
    out->block = rps_arena_get(arena, count + 1, sizeof(*out->block));
    out->block_count = 1;
    for (size_t i = 1; signals->broken && i < signals->count; i++) {
        if (signals->broken[i])
            out->block[out->block_count++] = i;
    }
    out->block[out->block_count] = signals->count;
}

static void find_outliers(struct rps_arena *arena, struct preparation *job)
{
    struct rps_observed *out = job->out;

    for (size_t i = 0; out->count >= OUTLIERS_FROM && i < out->count; i++) {
        if (!job->clipped[i])
            continue;
        out->outlier =
            rps_arena_grow(arena, out->outlier, out->outlier_count, sizeof(*out->outlier));
        out->outlier[out->outlier_count++] = i;
    }
}

/* Return the deviation of a signal's differences of neighbours, without a floor. Its noise may be
 * far below its floor, and then even small steps are changes. */
static double step_deviation(struct preparation *job, size_t signal)
{
    const struct rps_observed *observed = job->out;
    size_t width = observed->width, every = observed->count / SAMPLE_MAX + 1, taken = 0, seen = 0;
    double before = NAN;

    for (size_t i = signal; i < observed->count * width; i += width) {
        if (observed->weight && observed->weight[i] == 0)
            continue;
        if (isfinite(before) && seen++ % every == 0)
            job->sample[taken++] = observed->value[i] - before;
        before = observed->value[i];
    }
    return rps_robust_deviation(job->sample, taken);
}

/*
 * Find the autocorrelation of every signal from differences of neighbours: in a first-order
 * autoregression they have the correlation (phi - 1) / 2. Changes and the values next to them are
 * left out. If some values were not seen, a signal's neighbours are the seen ones.
 */
static void correlate(struct preparation *job)
{
    struct rps_observed *observed = job->out;
    size_t width = observed->width;

    for (size_t s = 0; s < width; s++) {
        double deviation = step_deviation(job, s);
        double limit = deviation * deviation * rps_chi_square(1, STEP_LEVEL);
        double before = NAN, step = NAN, products = 0, squares = 0;

        for (size_t i = s; i < observed->count * width; i += width) {
            double now;

            if (observed->weight && observed->weight[i] == 0)
                continue;
            now = observed->value[i] - before;
            if (now * now > limit)
                now = NAN;
            if (now * step <= INFINITY) {
                products += now * step;
                squares += (now * now + step * step) / 2;
            }
            step = now;
            before = observed->value[i];
        }
        observed->correlation[s] =
            squares > 0 ? fmin(fmax(1 + 2 * products / squares, 0), CORRELATION_MAX) : 0;
    }
}

static void add_up(struct rps_arena *arena, struct rps_observed *out)
{
    size_t width = out->width, total = (out->count + 1) * width;

    out->sum = rps_arena_get(arena, total, sizeof(*out->sum));
    if (out->weight)
        out->weight_sum = rps_arena_get(arena, total, sizeof(*out->weight_sum));
    for (size_t i = 0; i < out->count * width; i++) {
        double part = out->weight ? out->weight[i] * (1.0 / RPS_OBSERVED_WHOLE) : 1;

        out->sum[i + width] = out->sum[i] + part * out->value[i];
        if (out->weight)
            out->weight_sum[i + width] = out->weight_sum[i] + out->weight[i];
    }
}

struct rps_observed rps_observed_make(struct rps_arena *arena, const struct rps_signals *signals)
{
    struct rps_observed out = {.count = signals->count};
    struct preparation job = {.signals = signals, .out = &out, .scratch = rps_arena_new()};

    job.used = rps_arena_get(job.scratch, signals->signal_count, sizeof(*job.used));
    job.seen = rps_arena_get(job.scratch, signals->count, sizeof(*job.seen));
    job.clean = rps_arena_get(job.scratch, signals->count, sizeof(*job.clean));
    job.sample = rps_arena_get(job.scratch, SAMPLE_MAX + 1, sizeof(*job.sample));
    job.wild = rps_arena_get(job.scratch, signals->count, sizeof(*job.wild));
    job.clipped = rps_arena_get(job.scratch, signals->count, sizeof(*job.clipped));
    job.step = rps_arena_get(job.scratch, signals->count, sizeof(*job.step));
    prepare_values(arena, &job);
    find_outliers(arena, &job);
    find_blocks(arena, signals, &out);
    rps_observed_decorrelate(&out);
    correlate(&job);
    rps_arena_free(job.scratch);
    add_up(arena, &out);
    return out;
}
