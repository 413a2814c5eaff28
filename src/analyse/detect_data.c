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
#define SAMPLE_MAX 32768

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

/* Draw outliers in: from job->seen to job->clean. */
static void clip(struct preparation *job, size_t count)
{
    double limit = CLIP_DEVIATIONS * clip_deviation(job, count);

    for (size_t i = 0; i < count; i++) {
        double value = job->seen[i], median = running_median(job->seen, count, i);

        if (limit > 0 && fabs(value - median) > limit)
            value = value > median ? median + limit : median - limit;
        job->clean[i] = value;
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

/* The values of a signal that were seen, brought into (-1, 1), into job->seen; how many they are.
 */
static size_t gather(struct preparation *job, size_t signal, int exponent)
{
    size_t base = signal * job->signals->count, count = 0;

    for (size_t i = base; i < base + job->signals->count; i++) {
        if (share_of(job->signals, i) > 0)
            job->seen[count++] = ldexp(job->signals->value[i], -exponent);
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
