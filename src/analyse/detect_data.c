/*
 * Preparing: from the caller's signals to rows of noise units.
 *
 * Outliers are drawn in, not left out: a value left out would be a missing one, and a real change
 * may begin with it. Levels of a step survive a running median, so changes are not blurred. Near
 * the ends the window shrinks on both sides, or a ramp would look like an outlier there.
 *
 * Noise is estimated from differences of neighbours. That is only to start with: autocorrelation
 * makes it too small, which the choice of the penalty finds out.
 */
#include "detect_data.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect_math.h"

#define CLIP_DEVIATIONS 4
#define MEDIAN_REACH    3

/* Estimates of deviations take at most so many values. */
#define SAMPLE_MAX 8192

/* Ranges below this, relative to the largest value, are rounding. */
#define RANGE_MIN 2e-15

/* Least noise of a signal, relative to its range. */
#define NOISE_MIN 1e-6

struct preparation {
    const struct rps_signals *signals;
    struct rps_observed *out;
    size_t *used;     /* owned; signals that vary */
    double *seen;     /* owned; the values of a signal that were seen, in order */
    double *clean;    /* owned; the same, outliers drawn in */
    double *sample;   /* owned; SAMPLE_MAX */
    uint8_t *clipped; /* owned; an observation each */
};

void rps_observed_free(struct rps_observed *observed)
{
    free(observed->outlier);
    free(observed->block);
    free(observed->gain);
    free(observed->mass);
    free(observed->sum);
    free(observed->share);
    free(observed->value);
    memset(observed, 0, sizeof(*observed));
}

/* Parts of RPS_OBSERVED_WHOLE that a value counts; 0: not seen. */
static unsigned share_of(const struct rps_signals *signals, size_t at)
{
    double weight = signals->weight ? (double)signals->weight[at] : 1;

    if (!isfinite(signals->value[at]) || !(weight > 0))
        return 0;
    if (weight >= 1)
        return RPS_OBSERVED_WHOLE;
    return (unsigned)fmax(1, floor(weight * RPS_OBSERVED_WHOLE + 0.5));
}

/* The power of two that brings the largest value of a signal to [0.5, 1), and whether it varies. */
static int find_scale(const struct rps_signals *signals, size_t signal, int *ret_exponent)
{
    size_t base = signal * signals->count;
    double low = 0, high = 0, largest;
    int any = 0;

    for (size_t i = base; i < base + signals->count; i++) {
        double value = signals->value[i];

        if (share_of(signals, i) == 0)
            continue;
        low = !any || value < low ? value : low;
        high = !any || value > high ? value : high;
        any = 1;
    }
    largest = fmax(fabs(low), fabs(high));
    frexp(largest, ret_exponent);
    return any && high > low && high / 2 - low / 2 > RANGE_MIN * largest;
}

static void order(double *a, double *b)
{
    double low = *b < *a ? *b : *a, high = *b < *a ? *a : *b;

    *a = low;
    *b = high;
}

/* Median of seven; a network of comparisons that needs no branches. */
static double median_of_seven(const double *value)
{
    double v[7];

    memcpy(v, value, sizeof(v));
    order(&v[0], &v[5]);
    order(&v[0], &v[3]);
    order(&v[1], &v[6]);
    order(&v[2], &v[4]);
    order(&v[0], &v[1]);
    order(&v[3], &v[5]);
    order(&v[2], &v[6]);
    order(&v[2], &v[3]);
    order(&v[3], &v[6]);
    order(&v[4], &v[5]);
    order(&v[1], &v[4]);
    order(&v[1], &v[3]);
    order(&v[3], &v[4]);
    return v[3];
}

static double running_median(const double *value, size_t count, size_t at)
{
    size_t reach = at < count - 1 - at ? at : count - 1 - at;
    double few[2 * MEDIAN_REACH];

    if (reach >= MEDIAN_REACH)
        return median_of_seven(value + at - MEDIAN_REACH);
    memcpy(few, value + at - reach, (2 * reach + 1) * sizeof(*few));
    return rps_select_rank(few, 2 * reach + 1, reach);
}

/* Deviation of the values from their running median. */
static double clip_deviation(struct preparation *job, size_t count)
{
    size_t step = count / SAMPLE_MAX + 1, taken = 0;

    for (size_t i = 0; i < count; i += step)
        job->sample[taken++] = job->seen[i] - running_median(job->seen, count, i);
    return rps_robust_deviation(job->sample, taken);
}

/* Are so many values around so near that their median must be, too? Spares most medians. */
static int has_company(const double *value, size_t count, size_t at, double limit)
{
    const double *v = value + at;

    if (at < MEDIAN_REACH || count - at <= MEDIAN_REACH)
        return 0;
    return (fabs(v[-1] - v[0]) <= limit) + (fabs(v[1] - v[0]) <= limit) +
               (fabs(v[-2] - v[0]) <= limit) + (fabs(v[2] - v[0]) <= limit) +
               (fabs(v[-3] - v[0]) <= limit) + (fabs(v[3] - v[0]) <= limit) >=
           MEDIAN_REACH;
}

static double median_of_three(const double *value)
{
    double v[3] = {value[0], value[1], value[2]};

    order(&v[0], &v[1]);
    order(&v[1], &v[2]);
    order(&v[0], &v[1]);
    return v[1];
}

/*
 * A value far from what comes before and from what comes behind, and between the two, saw a bit of
 * both: a change in the middle of a period. It becomes like the nearer side, or it would be a phase
 * of its own. Returns whether it is such a value.
 */
static int is_between(const double *value, size_t step, size_t at, double limit, double *ret_before,
                      double *ret_behind)
{
    double here = value[at * step], few[MEDIAN_REACH];

    if (fabs(here - value[(at - 1) * step]) <= limit ||
        fabs(here - value[(at + 1) * step]) <= limit)
        return 0;
    for (size_t k = 0; k < MEDIAN_REACH; k++)
        few[k] = value[(at - 1 - k) * step];
    *ret_before = median_of_three(few);
    for (size_t k = 0; k < MEDIAN_REACH; k++)
        few[k] = value[(at + 1 + k) * step];
    *ret_behind = median_of_three(few);
    return (here - *ret_before) * (*ret_behind - here) > 0 && fabs(here - *ret_before) > limit &&
           fabs(here - *ret_behind) > limit;
}

static double settle_between(const double *value, size_t count, size_t at, double limit)
{
    double before, behind, here = value[at];

    if (at < MEDIAN_REACH || at + MEDIAN_REACH >= count ||
        !is_between(value, 1, at, limit, &before, &behind))
        return here;
    return fabs(here - before) < fabs(here - behind) ? before : behind;
}

/* Was the signal seen in all observations that is_between looks at? */
static int is_seen_around(const struct rps_observed *out, size_t at, size_t signal)
{
    int seen = 1;

    for (size_t i = at - MEDIAN_REACH; out->share && i <= at + MEDIAN_REACH; i++)
        seen &= out->share[i * out->width + signal] > 0;
    return seen;
}

/* The same for signals that are seen together: they all take the same side. */
static void settle_rows(struct preparation *job)
{
    struct rps_observed *out = job->out;
    size_t width = out->width;

    for (size_t i = MEDIAN_REACH; i + MEDIAN_REACH < out->count; i++) {
        double balance = 0, before, behind, *row = out->value + i * width;
        int between = 0;

        for (size_t s = 0; s < width; s++) {
            if (!is_between(out->value + s, width, i, CLIP_DEVIATIONS, &before, &behind) ||
                !is_seen_around(out, i, s))
                continue;
            balance += (fabs(row[s] - before) - fabs(row[s] - behind)) / fabs(behind - before);
            between = 1;
        }
        for (size_t s = 0; s < width && between; s++)
            if (is_seen_around(out, i, s))
                row[s] = *(balance < 0 ? row + s - width : row + s + width);
        job->clipped[i] |= (uint8_t)between;
    }
}

/* Draw outliers in: from job->seen to job->clean. */
static void clip(struct preparation *job, size_t count)
{
    double limit = CLIP_DEVIATIONS * clip_deviation(job, count);

    memcpy(job->clean, job->seen, count * sizeof(*job->clean));
    for (size_t i = 0; i < count && limit > 0; i++) {
        double value = job->seen[i], median;

        if (has_company(job->seen, count, i, limit))
            continue;
        median = running_median(job->seen, count, i);
        if (fabs(value - median) > limit)
            job->clean[i] = value > median ? median + limit : median - limit;
        else if (count < job->out->count)
            job->clean[i] = settle_between(job->seen, count, i, limit);
    }
}

/*
 * Deviation of the noise, from differences of neighbours; where most do not differ, from those that
 * do: counts of rare things. Never less than a millionth of the range: squares of more would be
 * rounding.
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

/* A value in the middle of those of job->clean. */
static double find_centre(struct preparation *job, size_t count)
{
    size_t step = count / SAMPLE_MAX + 1, taken = 0;

    for (size_t i = 0; i < count; i += step)
        job->sample[taken++] = job->clean[i];
    return rps_select_rank(job->sample, taken, taken / 2);
}

/*
 * Noise for value `i` of a signal: nearly normal, deviation 1, the same everywhere (splitmix64).
 * Noise of the size of a signal's resolution hides what is finer: no later step need know of it.
 */
static double blur(size_t signal, size_t i)
{
    uint64_t z = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15) +
                 ((uint64_t)signal + 1) * UINT64_C(0xd1b54a32d192ed03);
    double sum = 0;

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    for (int part = 0; part < 4; part++) /* of four even numbers, variance 1/3 */
        sum += (double)((z >> (16 * part)) & 0xffff) / 65536 - 0.5;
    return sum * sqrt(3);
}

/* The values of a signal that were seen, brought into (-1, 1), into job->seen; how many they are.
 */
static size_t gather(struct preparation *job, size_t signal, int exponent)
{
    size_t base = signal * job->signals->count, count = 0;
    /* Two factors: one could be too large for a double. */
    double half = ldexp(1, -exponent / 2), rest = ldexp(1, -exponent - -exponent / 2);
    double resolution = job->signals->resolution ? job->signals->resolution[signal] : 0;

    for (size_t i = base; i < base + job->signals->count; i++) {
        double value = job->signals->value[i];

        if (share_of(job->signals, i) == 0)
            continue;
        if (resolution > 0)
            value += resolution * blur(signal, i - base);
        job->seen[count++] = value * half * rest;
    }
    return count;
}

/* Fill column `to` of the rows with a signal. */
static void prepare_signal(struct preparation *job, size_t signal, size_t to)
{
    struct rps_observed *out = job->out;
    double centre, deviation;
    size_t count, next = 0;
    int exponent = 0;

    find_scale(job->signals, signal, &exponent);
    count = gather(job, signal, exponent);
    clip(job, count);
    centre = find_centre(job, count);
    deviation = noise_deviation(job, count);
    deviation = deviation > DBL_MIN ? deviation : 1; /* all that varied were outliers */
    for (size_t i = 0; i < out->count; i++) {
        unsigned share = share_of(job->signals, signal * out->count + i);

        if (out->share)
            out->share[i * out->width + to] = (uint8_t)share;
        if (share == 0)
            continue;
        job->clipped[i] |= job->clean[next] != job->seen[next];
        out->value[i * out->width + to] = (job->clean[next++] - centre) / deviation;
    }
}

static int find_used(struct preparation *job)
{
    const struct rps_signals *signals = job->signals;
    size_t total = signals->count * signals->signal_count;
    int whole = 1, exponent;

    for (size_t s = 0; s < signals->signal_count; s++) {
        if (find_scale(signals, s, &exponent))
            job->used[job->out->width++] = s;
    }
    for (size_t i = 0; i < total && whole; i++)
        whole = share_of(signals, i) == RPS_OBSERVED_WHOLE;
    return whole;
}

static int prepare_values(struct preparation *job, struct rps_error *err)
{
    struct rps_observed *out = job->out;
    int whole = find_used(job);
    size_t total = out->count * out->width;

    total = total > 0 ? total : 1;
    out->value = calloc(total, sizeof(*out->value));
    out->gain = calloc(out->width + 1, sizeof(*out->gain));
    if (!whole)
        out->share = calloc(total, sizeof(*out->share));
    if (!out->value || !out->gain || (!whole && !out->share))
        return rps_error_memory(err);
    for (size_t v = 0; v < out->width; v++) {
        out->gain[v] = 1;
        prepare_signal(job, job->used[v], v);
    }
    settle_rows(job);
    return 0;
}

static int find_blocks(const struct rps_signals *signals, struct rps_observed *out,
                       struct rps_error *err)
{
    size_t count = 1;

    for (size_t i = 1; signals->broken && i < signals->count; i++)
        count += signals->broken[i] != 0;
    out->block = calloc(count + 1, sizeof(*out->block));
    if (!out->block)
        return rps_error_memory(err);
    out->block_count = 1;
    for (size_t i = 1; signals->broken && i < signals->count; i++) {
        if (signals->broken[i])
            out->block[out->block_count++] = i;
    }
    out->block[out->block_count] = signals->count;
    return 0;
}

static int find_outliers(struct preparation *job, struct rps_error *err)
{
    struct rps_observed *out = job->out;
    size_t count = 0;

    for (size_t i = 0; i < out->count; i++)
        count += job->clipped[i];
    out->outlier = calloc(count + 1, sizeof(*out->outlier));
    if (!out->outlier)
        return rps_error_memory(err);
    for (size_t i = 0; i < out->count; i++) {
        if (job->clipped[i])
            out->outlier[out->outlier_count++] = i;
    }
    return 0;
}

static int add_up(struct rps_observed *out, struct rps_error *err)
{
    size_t width = out->width, total = (out->count + 1) * width;

    out->sum = calloc(total + 1, sizeof(*out->sum));
    if (out->share)
        out->mass = calloc(total + 1, sizeof(*out->mass));
    if (!out->sum || (out->share && !out->mass))
        return rps_error_memory(err);
    for (size_t i = 0; i < out->count * width; i++) {
        double part = out->share ? out->share[i] * (1.0 / RPS_OBSERVED_WHOLE) : 1;

        out->sum[i + width] = out->sum[i] + part * out->value[i];
        if (out->share)
            out->mass[i + width] = out->mass[i] + out->share[i];
    }
    return 0;
}

static int prepare(struct preparation *job, struct rps_error *err)
{
    const struct rps_signals *signals = job->signals;

    job->used = calloc(signals->signal_count, sizeof(*job->used));
    job->seen = calloc(signals->count, sizeof(*job->seen));
    job->clean = calloc(signals->count, sizeof(*job->clean));
    job->sample = calloc(SAMPLE_MAX + 1, sizeof(*job->sample));
    job->clipped = calloc(signals->count, sizeof(*job->clipped));
    if (!job->used || !job->seen || !job->clean || !job->sample || !job->clipped)
        return rps_error_memory(err);
    if (prepare_values(job, err) < 0 || find_outliers(job, err) < 0 ||
        find_blocks(signals, job->out, err) < 0 || rps_observed_decorrelate(job->out, err) < 0)
        return RPS_FAILED;
    return add_up(job->out, err);
}

int rps_observed_make(const struct rps_signals *signals, struct rps_observed *ret,
                      struct rps_error *err)
{
    struct rps_observed out = {.count = signals->count};
    struct preparation job = {.signals = signals, .out = &out};
    int result;

    if (signals->count == 0 || signals->signal_count == 0)
        return rps_error_set(err, RPS_FAILED, "there are no %s to find phases in",
                             signals->count == 0 ? "observations" : "signals");
    result = prepare(&job, err);
    free(job.clipped);
    free(job.sample);
    free(job.clean);
    free(job.seen);
    free(job.used);
    if (result < 0)
        rps_observed_free(&out);
    else
        *ret = out;
    return result;
}
