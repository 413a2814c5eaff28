/* Screening: find possible boundaries by moving sums (MOSUM, Eichinger and Kirch 2018).
 *
 * The means of two neighbouring windows are compared at eleven window lengths, 1 to 1024
 * observations. Local maxima beyond noise are kept. For lines, the means of four windows in a row
 * are compared with a straight line. This comparison finds both jumps and bends. Dynamic
 * programming over the places that screening keeps costs a thousandth of a search over all places.
 * This screening loses at most one or two of a hundred weak changes.
 *
 * The noise limit depends on the length of the windows, because wide windows cannot distinguish
 * places that are close together. Noise exceeds the limit in one of exp(1.5) series.
 *
 * With autocorrelation, the means of windows vary more than with white noise. This variance
 * inflation is estimated for each window length in ascending order, from the lower quartile of the
 * statistics. Windows in which a narrower window found a change are not used. If changes are dense,
 * nearly every wide window contains a change. If too few windows can be used, the inflation is
 * assumed to grow as in a first-order autoregression. In the narrowest windows this growth is also
 * the upper limit, because short phases put undetected changes into most of these windows. */
#include <math.h>

#include "detect_math.h"
#include "detect_standardize.h"

#define SCALE_MAX 1024

/* Length of the shortest windows. MASKED_SCALE_MIN is used if signals are seen in rotation, because
 * one observation then has values of too few signals. */
#define SCALE_MIN        1
#define MASKED_SCALE_MIN 4
#define SEEN_WELL        .9 /* signals with a smaller share of seen values are seen in rotation */

/* Length of the shortest windows in which bends are searched. Jumps are also found in shorter
 * windows, by the search without lines. */
#define LINES_SCALE_MIN 32

/* Maximum length of a narrow window. In wider windows, slow waves have a larger effect than an
 * autoregression. */
#define SCALE_NEAR 4

/* If a series has at most this many places, all places are kept. */
#define COUNT_SMALL 60

/* Noise exceeds the threshold once in exp(THRESHOLD_LEVEL) series. */
#define THRESHOLD_LEVEL 1.5

/* The quartile is computed from at most SAMPLE_MAX statistics. At least SAMPLE_MIN statistics, and
 * a share of UNMARKED_SHARE, must be from windows in which no change was found. */
#define SAMPLE_MAX     4096
#define SAMPLE_MIN     20
#define UNMARKED_SHARE 0.5

/* -log 0.75: three quarters of the statistics exceed the lower quartile. */
#define QUARTILE_LEVEL 0.28768207245178096

struct screen {
    const struct rps_observed *observed;
    int lines;
    uint8_t *keep;    /* keep[place]: 1 if the place is kept; count + 1 entries */
    uint8_t *mark;    /* mark[place]: 1 if any scale exceeded the noise; count + 1 entries */
    uint32_t *marked; /* marked[place]: number of marks at lower places; count + 2 entries */
    float *statistic; /* statistics of the current scale; the grid of each block begins at the
                         block's first place */
    double *sample;   /* scratch, SAMPLE_MAX + 1 values */
    double inflation; /* inflation at the current scale */
};

/* Return the squared difference of the means of [low, middle) and [middle, high), in units of its
 * variance. `masked` is 0 if no values are missing. Because `masked` is a compile-time constant,
 * the compiler generates a faster function for this case. */
static inline double compare(const struct rps_observed *observed, size_t low, size_t middle,
                             size_t high, int masked)
{
    size_t width = observed->width;
    const double *a = observed->sum + low * width, *b = observed->sum + middle * width,
                 *c = observed->sum + high * width;
    double left = (double)(middle - low), right = (double)(high - middle), total = 0;
    double per_left = 1 / left, per_right = 1 / right, precision = left * right / (left + right);

    for (size_t s = 0; s < width; s++) {
        double difference;

        if (masked) {
            left = rps_observed_weight(observed, low, middle, s);
            right = rps_observed_weight(observed, middle, high, s);
            if (!(left > 0) || !(right > 0))
                continue;
            per_left = 1 / left;
            per_right = 1 / right;
            precision = left * right / (left + right);
        }
        difference = (c[s] - b[s]) * per_right - (b[s] - a[s]) * per_left;
        total += difference * difference * precision;
    }
    return total;
}

/* Return how far the means of four windows around `middle` are from a line, in units of the
 * variance. A quadratic contrast detects a bend, and a cubic contrast detects a jump. */
static inline double compare_lines(const struct rps_observed *observed, size_t middle, size_t scale,
                                   int masked)
{
    size_t width = observed->width;
    double total = 0, per_scale = 1 / (double)scale;

    for (size_t s = 0; s < width; s++) {
        double least = (double)scale, m[4], bend, jump;

        for (size_t k = 0; k < 4; k++) {
            size_t from = middle + k * scale - 2 * scale, to = from + scale;
            double sum = observed->sum[to * width + s] - observed->sum[from * width + s];
            double weight = masked ? rps_observed_weight(observed, from, to, s) : (double)scale;

            least = weight < least ? weight : least;
            m[k] = masked ? (weight > 0 ? sum / weight : 0) : sum * per_scale;
        }
        bend = m[0] - m[1] - m[2] + m[3];
        jump = 3 * m[1] - m[0] - 3 * m[2] + m[3];
        total += least * (bend * bend / 4 + jump * jump / 20);
    }
    return total;
}

static double statistic_at(const struct screen *screen, size_t scale, size_t first, size_t end,
                           size_t at)
{
    const struct rps_observed *observed = screen->observed;
    size_t left = at - first, right = end - at, low, high;

    if (screen->lines) {
        if (left < 2 * scale || right < 2 * scale)
            return 0;
        return observed->weight_sum ? compare_lines(observed, at, scale, 1)
                                    : compare_lines(observed, at, scale, 0);
    }
    if ((left < 2 && scale > left) || (right < 2 && scale > right))
        return 0;
    low = left < scale ? first : at - scale;
    high = right < scale ? end : at + scale;
    return observed->weight_sum ? compare(observed, low, at, high, 1)
                                : compare(observed, low, at, high, 0);
}

/* --- noise ------------------------------------------------------------------------------------ */

/* Return the variance of the difference of two neighbouring means of `scale` values. The variance
 * is for a first-order autoregression, relative to white noise. */
static double growth(double phi, double scale)
{
    double power = pow(phi, scale), rest = 1 - phi, sum = (1 - power) / rest;

    /* h + 2 sum over k < h of (h - k) phi^k, minus the covariance of the two means */
    return (scale + 2 * phi / rest * (scale - sum) - phi * sum * sum) / scale;
}

static double growth_between(const struct screen *screen, size_t from, size_t to)
{
    size_t width = screen->observed->width;
    double sum = 0;

    for (size_t s = 0; s < width; s++)
        sum += growth(screen->observed->correlation[s], (double)to) /
               growth(screen->observed->correlation[s], (double)from);
    return fmax(1, sum / (double)width);
}

static size_t step_of(size_t scale)
{
    return scale / 8 > 0 ? scale / 8 : 1;
}

/* Sample the statistics on the grid whose windows contain no mark. Return the number of samples.
 * Set *ret_all to the number of samples including windows with marks. */
static size_t sample(struct screen *screen, size_t scale, size_t *ret_all)
{
    const struct rps_observed *observed = screen->observed;
    size_t step = step_of(scale), every = observed->count / step / SAMPLE_MAX + 1, taken = 0;
    size_t reach = screen->lines ? 2 * scale : scale, left = 0;

    *ret_all = 0;
    for (size_t b = 0; b < observed->block_count; b++) {
        size_t first = observed->block[b], end = observed->block[b + 1];
        size_t count = (end - first) / step, k = left;

        for (; k < count; k += every) {
            size_t at = first + k * step, low = at - first < reach ? first : at - reach;
            size_t high = end - at < reach ? end : at + reach;

            if (!(screen->statistic[first + k] > 0))
                continue;
            ++*ret_all;
            if (screen->marked[high + 1] == screen->marked[low])
                screen->sample[taken++] = (double)screen->statistic[first + k];
        }
        left = k - count;
    }
    return taken;
}

/* --- places ----------------------------------------------------------------------------------- */

/* Search near a maximum of the grid. Return the place with the largest statistic. */
static size_t sharpen(const struct screen *screen, size_t scale, size_t first, size_t end,
                      size_t at)
{
    size_t step = step_of(scale);
    size_t low = at - first > step ? at - step + 1 : first + 1;
    size_t high = end - at > step ? at + step - 1 : end - 1, best = at;
    double most = -1;

    for (size_t i = low; i <= high && step > 1; i++) {
        double statistic = statistic_at(screen, scale, first, end, i);

        if (statistic > most) {
            most = statistic;
            best = i;
        }
    }
    return best;
}

static int is_maximum(const float *statistic, size_t count, size_t k, size_t reach)
{
    for (size_t m = 1; m <= reach; m++) {
        if (k >= m && statistic[k - m] >= statistic[k])
            return 0;
        if (k + m < count && statistic[k + m] > statistic[k])
            return 0;
    }
    return 1;
}

/* Keep the maxima of a block. Mark all places whose statistic exceeds the threshold. */
static void take(struct screen *screen, size_t scale, size_t first, size_t end, double threshold)
{
    size_t step = step_of(scale), count = (end - first) / step, reach = scale / 2 / step;
    const float *statistic = screen->statistic + first;

    for (size_t k = 1; k < count; k++) {
        size_t at = first + k * step;

        if ((double)statistic[k] > threshold)
            screen->mark[at] = 1;
        if ((double)statistic[k] > threshold && is_maximum(statistic, count, k, reach))
            screen->keep[sharpen(screen, scale, first, end, at)] = 1;
    }
}

static void screen_scale(struct screen *screen, size_t scale, size_t before)
{
    const struct rps_observed *observed = screen->observed;
    double dof = observed->degrees_of_freedom * (screen->lines ? 2 : 1), threshold;
    double level = log((double)observed->count / (double)scale) + THRESHOLD_LEVEL;

    for (size_t b = 0; b < observed->block_count; b++) {
        size_t first = observed->block[b], end = observed->block[b + 1], step = step_of(scale);

        for (size_t k = 0; k < (end - first) / step; k++)
            screen->statistic[first + k] =
                (float)statistic_at(screen, scale, first, end, first + k * step);
    }
    for (size_t i = 0; i <= observed->count; i++)
        screen->marked[i + 1] = screen->marked[i] + screen->mark[i];
    /* Find the ratio of the statistics at a scale to the statistics of white noise. */
    if (before > 0 || screen->lines) {
        size_t all, count = sample(screen, scale, &all);
        double grown = screen->inflation * growth_between(screen, before > 0 ? before : 1, scale),
               seen = INFINITY;

        if (count >= SAMPLE_MIN && (double)count >= UNMARKED_SHARE * (double)all)
            seen = fmax(1, rps_select_rank(screen->sample, count, count / 4) /
                               rps_chi_square(dof, QUARTILE_LEVEL));
        screen->inflation = scale <= SCALE_NEAR ? fmin(grown, seen) : isfinite(seen) ? seen : grown;
    }
    threshold = screen->inflation * rps_chi_square(dof, fmax(level, THRESHOLD_LEVEL));
    for (size_t b = 0; b < observed->block_count; b++)
        take(screen, scale, observed->block[b], observed->block[b + 1], threshold);
}

/* Return 1 if so few values are seen that one observation has values of too few signals. */
static int is_masked(const struct rps_observed *observed)
{
    double seen = 0;

    for (size_t s = 0; observed->weight && s < observed->width; s++)
        seen += rps_observed_weight(observed, 0, observed->count, s);
    return observed->weight && seen < SEEN_WELL * (double)observed->count * (double)observed->width;
}

static void screen_all(struct screen *screen)
{
    size_t scale = screen->lines                 ? LINES_SCALE_MIN
                   : is_masked(screen->observed) ? MASKED_SCALE_MIN
                                                 : SCALE_MIN;

    for (size_t before = 0; scale <= SCALE_MAX && scale < screen->observed->count; scale *= 2) {
        screen_scale(screen, scale, before);
        before = scale;
    }
}

struct rps_candidates rps_candidates_screen(struct rps_arena *arena, struct rps_observed *observed,
                                            const struct rps_candidates *constants)
{
    struct screen screen = {.observed = observed, .lines = constants != NULL, .inflation = 1};
    struct rps_arena *scratch;
    struct rps_candidates ret;
    size_t count = observed->count;

    if (count <= COUNT_SMALL &&
        (double)count * (double)count * (double)observed->width < RPS_CANDIDATES_WORK_MAX)
        return rps_candidates_make(arena, observed, NULL, screen.lines);
    scratch = rps_arena_new();
    screen.keep = rps_arena_get(scratch, count + 1, 1);
    screen.mark = rps_arena_get(scratch, count + 1, 1);
    screen.marked = rps_arena_get(scratch, count + 2, sizeof(*screen.marked));
    screen.statistic = rps_arena_get(scratch, count, sizeof(*screen.statistic));
    screen.sample = rps_arena_get(scratch, SAMPLE_MAX + 2, sizeof(*screen.sample));
    screen_all(&screen);
    for (size_t p = 0; screen.lines && p < constants->count; p++)
        screen.keep[constants->at[p]] = 1;
    ret = rps_candidates_make(arena, observed, screen.keep, screen.lines);
    rps_arena_free(scratch);
    return ret;
}
