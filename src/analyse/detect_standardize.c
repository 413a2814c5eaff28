/* Prepare the signals: convert the caller's signals to rows in noise units.
 *
 * Noise is estimated from differences of neighbours. This is only a first estimate. Autocorrelation
 * makes the estimate too small, which the choice of the penalty corrects. */
#include "detect_standardize.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "detect_math.h"

/* Maximum number of values from which a deviation is estimated. */
#define SAMPLE_MAX 8192

/* Minimum share of values unlike the running median that are events and not outliers. With a lower
 * share, phases are found in tables of independent rare events. */
#define SPARSE_SHARE .05

/* Minimum range of a signal, relative to its largest value. Smaller ranges are rounding errors. */
#define RANGE_MIN 2e-15

/* Minimum noise of a signal, relative to its range. */
#define NOISE_MIN 1e-6

/* Lower quartile of |x| for a normal variable x of deviation 1. */
#define NORMAL_QUARTILE 0.3186

/* Differences of neighbours beyond STEP_LEVEL deviations are changes, not noise. */
#define STEP_LEVEL 5

/* A signal of a recording is used only if at least this share of the observations that may have the
 * signal has a value. Fewer values do not show the noise, and they increase the cost of every
 * boundary: a signal with 2 values in 643 observations hid seven clear changes of CPU use. */
#define SEEN_MIN .02

/* Maximum autocorrelation. At this value the signal is a random walk. */
#define CORRELATION_MAX 0.99

/* Minimum number of observations for the detection of outliers. Fewer observations do not show
 * which values are usual. */
#define OUTLIERS_FROM 20

/* Number of consecutive similar values that are a level. */
#define LEVEL 3

/* An observation at which a signal steps from one level to another. The observation is the last one
 * at the first level, the first one at the second level, or between both levels. The levels are in
 * noise units. */
struct edge {
    size_t at, signal;
    double before, behind;
};

/* Sums over the signals that step at an observation: squared distances of the values from the level
 * before and behind. `mixed` is 1 if the value of any signal is at neither level. */
struct step {
    double before, behind;
    int mixed;
};

struct preparation {
    const struct rps_signals *signals;
    struct rps_observed *out;
    struct rps_arena *scratch;
    size_t *used;      /* numbers of the signals that vary */
    double *seen;      /* seen values of one signal, in order */
    double *clean;     /* values of `seen` with outliers clipped */
    double *sample;    /* scratch of SAMPLE_MAX values */
    uint8_t *wild;     /* wild[k]: 1 if seen[k] is an outlier */
    uint8_t *clipped;  /* one per observation: 1 if any signal has an outlier */
    struct step *step; /* step[observation]: steps of signals at the observation */
    struct edge *edge;
    size_t edge_count;
};

/* The unit and the centre by which the values of a signal are standardised. */
struct unit {
    size_t count;             /* number of seen values */
    double limit;             /* two values are near each other if their distance is at most this */
    double centre, deviation; /* centre of the values, deviation of the noise */
};

/* Return a value's weight in units of 1 / RPS_OBSERVED_WHOLE, or 0 if the value was not seen. */
static unsigned weight_of(const struct rps_signals *signals, size_t at)
{
    double weight = signals->weight ? (double)signals->weight[at] : 1;

    if (!isfinite(signals->value[at]) || !(weight > 0))
        return 0;
    if (weight >= 1)
        return RPS_OBSERVED_WHOLE;
    return (unsigned)fmax(1, floor(weight * RPS_OBSERVED_WHOLE + 0.5));
}

/* Find the power of two that scales the largest value of a signal to [0.5, 1). Return 1 if the
 * signal varies. */
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

/* Return the deviation of the values from their running median. If most values of a table's column
 * are equal to it, and the others are not rare, as in counts of sparse events, return the deviation
 * of the others. A smaller limit clips single events, but not events that are close by chance. */
static double clip_deviation(struct preparation *job, size_t count)
{
    size_t step = count / SAMPLE_MAX + 1, taken = 0, off = 0;

    for (size_t i = 0; i < count; i += step, taken++) {
        job->sample[off] = job->seen[i] - rps_clip_median(job->seen, count, i);
        off += fabs(job->sample[off]) > 0;
    }
    if (!job->signals->resolution && 2 * off < taken && (double)off > SPARSE_SHARE * (double)taken)
        return rps_robust_deviation(job->sample, off);
    while (off < taken)
        job->sample[off++] = 0;
    return rps_robust_deviation(job->sample, taken);
}

/* Return the deviation of the noise of blocks. The lower quartile of the differences is used. The
 * reason is that even in a loop of a few blocks, a quarter of the blocks differs from the previous
 * block only by noise. */
static double block_deviation(struct preparation *job, size_t count)
{
    size_t step = count / SAMPLE_MAX + 1, taken = 0;

    for (size_t i = 1; i < count; i += step)
        job->sample[taken++] = fabs(job->seen[i] - job->seen[i - 1]);
    if (taken == 0)
        return 0;
    return rps_select_rank(job->sample, taken, taken / 4) / NORMAL_QUARTILE / sqrt(2);
}

/* Clip outliers while copying job->seen to job->clean. Set job->wild for each value that is so far
 * from the median that noise is unlikely to reach it in all values of all signals. */
static void clip(struct preparation *job, size_t count, double deviation)
{
    double limit = RPS_CLIP_DEVIATIONS * deviation;
    double values = (double)job->out->count * (double)job->out->width;
    double wild = fmax(limit, (sqrt(2 * log(values)) + 0.5) * deviation);

    if (job->signals->in_blocks)
        limit = 0;
    rps_clip(job->seen, count, limit, wild, job->clean, job->wild);
}

/* Return the deviation of the noise, from differences of neighbours. If most differences are 0, as
 * for rare events, use the mean absolute difference. The deviation is at least a millionth of the
 * range. A smaller unit would make values so large that their squares are rounding errors. */
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

/* Return the median of the values in job->clean, or of a sample. */
static double find_centre(struct preparation *job, size_t count)
{
    size_t step = count / SAMPLE_MAX + 1, taken = 0;

    for (size_t i = 0; i < count; i += step)
        job->sample[taken++] = job->clean[i];
    return rps_select_rank(job->sample, taken, taken / 2);
}

/* Store the seen values of a signal in job->seen, scaled to (-1, 1), and return their number. */
static size_t gather(struct preparation *job, size_t signal, int exponent)
{
    size_t base = signal * job->signals->count, count = 0;
    /* Two factors are used, because a single factor could overflow a double. */
    double half = ldexp(1, -exponent / 2), rest = ldexp(1, -exponent - -exponent / 2);

    for (size_t i = base; i < base + job->signals->count; i++) {
        if (weight_of(job->signals, i) > 0)
            job->seen[count++] = job->signals->value[i] * half * rest;
    }
    return count;
}

/* Return 1 if the values of a level are similar, and store their median in *ret. For blocks,
 * value[next] alone is the level, because there are few blocks between two changes. */
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

/* If observation `at` is at a step between two levels, store it as an edge. Its value is
 * job->clean[k]. The two levels must differ by more than twice the limit. */
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

/* If a change lies inside an observation, the observation is a mixture of both levels. A running
 * median does not detect such an observation as an outlier. The search would make a separate
 * segment around it, because it is far from both levels. So set its values to the level that is
 * nearer. All signals that step at the observation are set to the same side. */
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

/* Fill the column of a signal from job->clean, in noise units. */
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
        unit.deviation = 1; /* the signal is constant apart from outliers */
    job->out->variance_floor[to] = least / unit.deviation * (least / unit.deviation);
    job->out->tolerance[to] = alike / unit.deviation * (alike / unit.deviation);
    fill_column(job, signal, to, &unit);
}

static int is_rarely_seen(const struct rps_signals *signals, size_t signal)
{
    const double rotation = fmax((double)signals->in_rotation, 1);
    size_t seen = 0;

    for (size_t i = 0; i < signals->count; i++)
        seen += weight_of(signals, signal * signals->count + i) > 0;
    return signals->resolution && (double)seen * rotation < SEEN_MIN * (double)signals->count;
}

/* List the signals that vary and have enough values (SEEN_MIN). Return 1 if these signals have a
 * value in every observation. */
static int find_used(struct preparation *job)
{
    const struct rps_signals *signals = job->signals;
    int whole = 1, exponent;

    for (size_t s = 0; s < signals->signal_count; s++) {
        if (!find_scale(signals, s, &exponent) || is_rarely_seen(signals, s))
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

/* Return the standard deviation of the differences of a signal's neighbouring values. No floor
 * applies, because even small steps are changes if the noise is far below its floor. */
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

/* Find the autocorrelation of every signal from differences of neighbours. In a first-order
 * autoregression, neighbouring differences have the correlation (phi - 1) / 2. Changes and the
 * values next to them are left out. If some values were not seen, neighbours are consecutive seen
 * values. */
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

/* Clip outliers.
 *
 * Outliers are moved towards the median and not removed. If an outlier was removed, a real change
 * that begins with the outlier would be lost. A running median does not change the two levels of a
 * step, so changes are not blurred. */

#define WINDOW (2 * RPS_CLIP_REACH + 1) /* window of the running median */

/* Outliers are treated as rare if their share of the values is below RARE_SHARE. */
#define RARE_SHARE 0.02

static void order(double *a, double *b)
{
    double low = *b < *a ? *b : *a, high = *b < *a ? *a : *b;

    *a = low;
    *b = high;
}

/* Return the median of seven values, by a sorting network without branches. */
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

double rps_clip_median(const double *value, size_t count, size_t at)
{
    size_t reach = at < count - 1 - at ? at : count - 1 - at;
    double few[2 * RPS_CLIP_REACH];

    if (reach >= RPS_CLIP_REACH)
        return median_of_seven(value + at - RPS_CLIP_REACH);
    memcpy(few, value + at - reach, (2 * reach + 1) * sizeof(*few));
    return rps_select_rank(few, 2 * reach + 1, reach);
}

/* Return the value with which an outlier is compared: the running median of seven values. Near an
 * end of the run, there are two references: the median of the seven values at the end, and an
 * extrapolation of their steps. The reference that is nearer to the value is used. Extrapolation is
 * needed because a ramp may continue to the end. The first and last period of a run are the most
 * frequent outliers. */
static double reference(const double *value, size_t count, size_t at)
{
    size_t first = at < RPS_CLIP_REACH ? 0 : count - WINDOW;
    double step[WINDOW - 1], level, led;

    if (count < WINDOW || (at >= RPS_CLIP_REACH && at + RPS_CLIP_REACH < count))
        return rps_clip_median(value, count, at);
    for (size_t k = 0; k + 1 < WINDOW; k++)
        step[k] = value[first + k + 1] - value[first + k];
    level = median_of_seven(value + first);
    led = level + (rps_select_rank(step, WINDOW - 1, 2) + rps_select_rank(step, WINDOW - 1, 3)) /
                      2 * ((double)at - (double)(first + RPS_CLIP_REACH));
    return fabs(value[at] - led) < fabs(value[at] - level) ? led : level;
}

/* Return 1 if at least three of the six neighbouring values are near the value. In this case the
 * median is near the value too, and need not be computed. */
static int has_company(const double *value, size_t count, size_t at, double limit)
{
    const double *v = value + at;

    if (at < RPS_CLIP_REACH || count - at <= RPS_CLIP_REACH)
        return 0;
    return (fabs(v[-1] - v[0]) <= limit) + (fabs(v[1] - v[0]) <= limit) +
               (fabs(v[-2] - v[0]) <= limit) + (fabs(v[2] - v[0]) <= limit) +
               (fabs(v[-3] - v[0]) <= limit) + (fabs(v[3] - v[0]) <= limit) >=
           RPS_CLIP_REACH;
}

void rps_clip(const double *value, size_t count, double limit, double wild, double *clean,
              uint8_t *is_wild)
{
    size_t far = 0;

    memset(is_wild, 0, count);
    memcpy(clean, value, count * sizeof(*clean));
    for (size_t i = 0; i < count && limit > 0; i++) {
        if (has_company(value, count, i, limit))
            continue;
        clean[i] = reference(value, count, i);
        is_wild[i] = fabs(value[i] - clean[i]) > wild;
        if (fabs(value[i] - clean[i]) > limit)
            far++;
        else
            clean[i] = value[i];
    }
    for (size_t i = 0; i < count && (double)far > RARE_SHARE * (double)count; i++) {
        if (clean[i] < value[i] || clean[i] > value[i])
            clean[i] += value[i] > clean[i] ? limit : -limit;
    }
}
