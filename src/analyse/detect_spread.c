/*
 * Changes of variance inside segments: seeded binary segmentation (Kovacs, Buehlmann, Li, Munk
 * 2023) by the likelihood of two variances against one. Plain binary segmentation was tried and is
 * blind to a variance that goes up and down again.
 *
 * Squares of long-tailed noise vary more than those of normal noise, and neighbouring squares of
 * autocorrelated noise vary together; the likelihood is divided by how much. Without that Student's
 * noise would be cut into pieces.
 */
#include <math.h>
#include <stdlib.h>

#include "detect_choose.h"
#include "detect_math.h"

/* Fewer observations do not tell a variance. */
#define LENGTH_MIN 8

/* Variances below this, in units of the noise, are rounding. */
#define VARIANCE_MIN 1e-6

/* The grid of places that are looked at first. */
#define GRID 64

struct interval {
    size_t from, at, to;
    double gain; /* of a change of variance at `at` */
};

struct splitting {
    struct rps_arena *arena; /* scratch */
    const struct rps_observed *observed;
    double penalty;
    size_t shortest;
    double *squares; /* of residuals before an observation: [i * width + signal] */
    uint32_t *seen;  /* values that were seen, the same way */
    double *trust;   /* of each signal, what its likelihoods are multiplied with */
    uint8_t *keep;   /* places of boundaries, old and new */
    struct rps_variance_change *found; /* at those places */
    size_t count;                      /* of new ones */
    struct interval *interval;
    size_t interval_count;
};

static void allocate(struct splitting *s)
{
    size_t width = s->observed->width, count = s->observed->count + 1;

    s->squares = rps_arena_get(s->arena, count * width, sizeof(*s->squares));
    s->seen = rps_arena_get(s->arena, count * width, sizeof(*s->seen));
    s->trust = rps_arena_get(s->arena, width, sizeof(*s->trust));
    s->keep = rps_arena_get(s->arena, count, 1);
    s->found = rps_arena_get(s->arena, count, sizeof(*s->found));
}

/* Residuals of a signal from the constants and lines: their sums of squares, and its trust. */
static void add_signal(struct splitting *s, const struct rps_segmentation *segmentation,
                       double autocorrelation, size_t signal)
{
    const struct rps_observed *observed = s->observed;
    size_t width = observed->width;
    double fourth = 0, second = 0, kurtosis, together;

    for (size_t k = 0; k < segmentation->count; k++) {
        struct rps_fit fit = rps_segmentation_fit(observed, segmentation, k, signal);
        double squares = 0, fourths = 0, own = 0;

        for (size_t i = segmentation->first[k]; i < segmentation->first[k + 1]; i++) {
            size_t at = i * width + signal;
            int seen = !observed->weight || observed->weight[at] > 0;
            double left =
                (observed->value[at] - fit.level - fit.slope * (double)i) * observed->gain[signal];
            double square = seen ? left * left : 0;

            s->squares[at + width] = s->squares[at] + square;
            s->seen[at + width] = s->seen[at] + (uint32_t)seen;
            squares += square;
            fourths += square * square;
            own += seen;
        }
        fourth += fourths;
        second += own > 0 ? squares * squares / own : 0;
    }
    /* Kurtosis around each segment's own variance: 3 for normal noise. */
    kurtosis = second > 0 ? fourth / second : 3;
    together = (1 + autocorrelation * autocorrelation) / (1 - autocorrelation * autocorrelation);
    s->trust[signal] = 2 / fmax(2, kurtosis - 1) / together;
}

/* n times the logarithm of the variance, of a signal. */
static double cost_of(const struct splitting *s, size_t from, size_t to, size_t signal)
{
    size_t a = from * s->observed->width + signal, b = to * s->observed->width + signal;
    double n = (double)(uint32_t)(s->seen[b] - s->seen[a]);

    return n > 0 ? n * log(fmax((s->squares[b] - s->squares[a]) / n, VARIANCE_MIN)) : 0;
}

static double gain_at(const struct splitting *s, size_t from, size_t at, size_t to)
{
    const struct rps_observed *observed = s->observed;
    double gain = 0;

    for (size_t v = 0; v < observed->width; v++)
        gain += s->trust[v] *
                (cost_of(s, from, to, v) - cost_of(s, from, at, v) - cost_of(s, at, to, v));
    return gain * observed->degrees_of_freedom / (double)observed->width;
}

/* The best place to split from..to; gains are first looked at on a grid. */
static struct interval find_split(const struct splitting *s, size_t from, size_t to)
{
    struct interval found = {.from = from, .to = to, .at = from + s->shortest};
    size_t low = from + s->shortest, high = to - s->shortest;

    for (size_t step = (high - low) / GRID + 1; step > 0; step /= 4) {
        for (size_t at = low; at <= high; at += step) {
            double gain = gain_at(s, from, at, to);

            if (gain > found.gain) {
                found.gain = gain;
                found.at = at;
            }
        }
        low = found.at > low + step ? found.at - step : low;
        high = found.at + step < high ? found.at + step : high;
    }
    return found;
}

/* Intervals of from..to, of half, a quarter ... of its length, each overlapping the next by half,
 * that hold a change: enough of them hold only one. */
static void seed(struct splitting *s, size_t from, size_t to)
{
    for (size_t length = to - from; length >= 2 * s->shortest; length /= 2) {
        for (size_t start = from; start + length <= to; start += length / 2) {
            struct interval found = find_split(s, start, start + length);

            if (found.gain <= s->penalty)
                continue;
            s->interval =
                rps_arena_grow(s->arena, s->interval, s->interval_count, sizeof(*s->interval));
            s->interval[s->interval_count++] = found;
        }
    }
}

static int compare_intervals(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;

    if (x->gain > y->gain || x->gain < y->gain)
        return x->gain > y->gain ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Take the changes in the order of their gain, none from an interval that another was taken
 * from. */
static void take(struct splitting *s)
{
    if (s->interval_count > 0)
        qsort(s->interval, s->interval_count, sizeof(*s->interval), compare_intervals);
    for (size_t k = 0; k < s->interval_count; k++) {
        const struct interval *one = &s->interval[k];
        int alone = 1;

        for (size_t at = one->from + 1; at < one->to && alone; at++)
            alone = !s->keep[at];
        if (alone)
            s->keep[one->at] = 1;
        s->count += (size_t)alone;
    }
}

static size_t neighbour(const struct splitting *s, size_t at, int step)
{
    do
        at = step > 0 ? at + 1 : at - 1;
    while (at > 0 && at < s->observed->count && !s->keep[at]);
    return at;
}

/* What is known of a change between its neighbours; 0: it is none. */
static int place(struct splitting *s, size_t at)
{
    size_t from = neighbour(s, at, -1), to = neighbour(s, at, 1);
    struct rps_variance_change *found = &s->found[at];

    *found = (struct rps_variance_change){gain_at(s, from, at, to), at, at};
    for (size_t p = from + s->shortest; p + s->shortest <= to; p++) {
        if (gain_at(s, from, p, to) < found->gain - RPS_PLACE_SLACK)
            continue;
        found->earliest = p < found->earliest ? p : found->earliest;
        found->latest = p > found->latest ? p : found->latest;
    }
    return found->gain > s->penalty;
}

static void place_all(struct splitting *s, const struct rps_segmentation *segmentation)
{
    size_t k = 0;

    for (size_t at = 0; at < s->observed->count; at++) {
        if (at == segmentation->first[k]) {
            k++;
        } else if (s->keep[at] && !place(s, at)) {
            s->keep[at] = 0;
            s->found[at] = (struct rps_variance_change){0};
            s->count--;
        }
    }
}

static void rebuild(struct rps_arena *arena, struct splitting *s,
                    struct rps_segmentation *segmentation)
{
    struct rps_segmentation out = rps_segmentation_at(arena, s->observed, s->keep);
    size_t old = 0;

    out.spread = rps_arena_get(arena, out.count, sizeof(*out.spread));
    for (size_t k = 0; k < out.count; k++) {
        while (segmentation->first[old + 1] <= out.first[k])
            old++;
        out.spread[k] = s->found[out.first[k]];
        out.sloped[k] = segmentation->sloped[old];
        out.sloped_count += segmentation->sloped[old];
    }
    *segmentation = out;
}

void rps_segmentation_split(struct rps_arena *arena, const struct rps_observed *observed,
                            const struct rps_noise *noise, double penalty, size_t min_length,
                            struct rps_segmentation *segmentation)
{
    struct splitting s = {.arena = rps_arena_new(), .observed = observed, .penalty = penalty};

    allocate(&s);
    s.shortest = min_length > LENGTH_MIN ? min_length : LENGTH_MIN;
    for (size_t v = 0; v < observed->width; v++)
        add_signal(&s, segmentation, noise[v].autocorrelation, v);
    for (size_t k = 0; k < segmentation->count; k++)
        s.keep[segmentation->first[k]] = 1;
    for (size_t k = 0; k < segmentation->count; k++)
        seed(&s, segmentation->first[k], segmentation->first[k + 1]);
    take(&s);
    place_all(&s, segmentation);
    if (s.count > 0)
        rebuild(arena, &s, segmentation);
    rps_arena_free(s.arena);
}
