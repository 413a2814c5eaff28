/*
 * Screening: the places where a boundary can be.
 *
 * At nine lengths, 4 to 1024 observations, the means of two neighbouring windows are compared, and
 * the local maxima kept of what is more than noise. For lines, four windows in a row are compared
 * with the straight line through them, which finds both jumps and bends. Dynamic programming over
 * what is left costs a thousandth of that over all places, and loses one or two of a hundred weak
 * changes at most.
 *
 * What is noise is read off each length's own statistics: their lower quartile, which changes
 * hardly touch, tells how much larger they are than white noise would make them. Under
 * autocorrelation the long windows would otherwise keep almost everything.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect_math.h"
#include "detect_points.h"

#define SCALE_MIN 4
#define SCALE_MAX 1024

/* The shortest windows that bends are looked for with; jumps are found without lines. */
#define LINES_SCALE_MIN 32

/* Series with so few places are searched at all of them. */
#define COUNT_SMALL 600

/* The quartile is taken of so many statistics. */
#define SAMPLE_MAX 4096

struct screen {
    const struct rps_observed *observed;
    uint8_t *keep;    /* owned; places to keep, count + 1 */
    float *statistic; /* owned; on the grid of the present scale */
    double *sample;   /* owned; SAMPLE_MAX */
    double ease;
};

/* Squared difference of the means of [low, middle) and [middle, high), in units of its variance. */
static double compare(const struct rps_observed *observed, size_t low, size_t middle, size_t high)
{
    size_t width = observed->width;
    const double *a = observed->sum + low * width, *b = observed->sum + middle * width,
                 *c = observed->sum + high * width;
    double total = 0;

    for (size_t s = 0; s < width; s++) {
        double left = (double)(middle - low), right = (double)(high - middle), difference;

        if (observed->mass) {
            const uint32_t *m = observed->mass + s;

            left = (double)(uint32_t)(m[middle * width] - m[low * width]) / RPS_OBSERVED_WHOLE;
            right = (double)(uint32_t)(m[high * width] - m[middle * width]) / RPS_OBSERVED_WHOLE;
            if (!(left > 0) || !(right > 0))
                continue;
        }
        difference = (c[s] - b[s]) / right - (b[s] - a[s]) / left;
        total += difference * difference * (left * right / (left + right));
    }
    return total;
}

/* The same where both windows are whole and everything was seen: the loop that takes the time. */
static double compare_whole(const struct rps_observed *observed, size_t middle, size_t scale)
{
    size_t width = observed->width;
    const double *b = observed->sum + middle * width, *a = b - scale * width,
                 *c = b + scale * width;
    double total = 0;

    for (size_t s = 0; s < width; s++) {
        double difference = c[s] - 2 * b[s] + a[s];

        total += difference * difference;
    }
    return total / (double)(2 * scale);
}

static double mean_of(const struct rps_observed *observed, size_t from, size_t to, size_t signal,
                      double *ret_length)
{
    size_t width = observed->width, i = from * width + signal, j = to * width + signal;
    double length = (double)(to - from);

    if (observed->mass)
        length = (double)(uint32_t)(observed->mass[j] - observed->mass[i]) / RPS_OBSERVED_WHOLE;
    *ret_length = fmin(*ret_length, length);
    return length > 0 ? (observed->sum[j] - observed->sum[i]) / length : 0;
}

/* How far the means of four windows around `middle` are from a line, in units of its variance. The
 * two ways to be, a bend and a jump, are the quadratic and the cubic contrast. */
static double contrasts(double a, double b, double c, double d)
{
    double bend = a - b - c + d, jump = 3 * b - a - 3 * c + d;

    return bend * bend / 4 + jump * jump / 20;
}

static double compare_lines(const struct rps_observed *observed, size_t middle, size_t scale)
{
    double total = 0;

    for (size_t s = 0; s < observed->width; s++) {
        double least = (double)scale, m[4];

        for (size_t k = 0; k < 4; k++)
            m[k] = mean_of(observed, middle + k * scale - 2 * scale, middle + k * scale - scale, s,
                           &least);
        total += least * contrasts(m[0], m[1], m[2], m[3]);
    }
    return total;
}

static double compare_lines_whole(const struct rps_observed *observed, size_t middle, size_t scale)
{
    size_t width = observed->width, apart = scale * width;
    const double *c = observed->sum + middle * width, *a = c - 2 * apart, *b = c - apart,
                 *d = c + apart, *e = d + apart;
    double total = 0;

    for (size_t s = 0; s < width; s++)
        total += contrasts(b[s] - a[s], c[s] - b[s], d[s] - c[s], e[s] - d[s]);
    return total / (double)scale;
}

static double statistic_at(const struct screen *screen, int lines, size_t scale, size_t first,
                           size_t end, size_t at)
{
    const struct rps_observed *observed = screen->observed;
    size_t left = at - first, right = end - at;

    if (lines && (left < 2 * scale || right < 2 * scale))
        return 0;
    if (lines)
        return observed->mass ? compare_lines(observed, at, scale)
                              : compare_lines_whole(observed, at, scale);
    if (left >= scale && right >= scale && !observed->mass)
        return compare_whole(observed, at, scale);
    if (left < 2 || right < 2)
        return 0;
    return compare(observed, left < scale ? first : at - scale, at,
                   right < scale ? end : at + scale);
}

/* How much larger than of white noise the statistics of the grid are, at least 1. */
static double find_excess(struct screen *screen, size_t count, double freedom)
{
    size_t step = count / SAMPLE_MAX + 1, taken = 0;
    double root = 1 - 2 / (9 * freedom) - 0.6745 * sqrt(2 / (9 * freedom));

    for (size_t k = 0; k < count; k += step) {
        if (screen->statistic[k] > 0)
            screen->sample[taken++] = (double)screen->statistic[k];
    }
    if (taken == 0)
        return 1;
    /* The quartile of a sum of squares: Wilson and Hilferty 1931. */
    return fmax(1, rps_select_rank(screen->sample, taken, taken / 4) /
                       (freedom * fmax(root * root * root, 0.01)));
}

/* The best place near a maximum of the grid. */
static size_t sharpen(const struct screen *screen, int lines, size_t scale, size_t step,
                      size_t first, size_t end, size_t at)
{
    size_t low = at - first > step ? at - step + 1 : first + 1;
    size_t high = end - at > step ? at + step - 1 : end - 1, best = at;
    double most = -1;

    for (size_t i = low; i <= high && step > 1; i++) {
        double statistic = statistic_at(screen, lines, scale, first, end, i);

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

/* One block at one scale. */
static void screen_block(struct screen *screen, int lines, size_t scale, size_t first, size_t end)
{
    size_t step = scale / 8 > 0 ? scale / 8 : 1, count = (end - first) / step;
    size_t reach = scale / 2 / step;
    double freedom = screen->observed->freedom * (lines ? 2 : 1), threshold;

    for (size_t k = 0; k < count; k++)
        screen->statistic[k] =
            (float)statistic_at(screen, lines, scale, first, end, first + k * step);
    threshold = screen->ease * rps_noise_bound(freedom, log((double)screen->observed->count) / 2) *
                find_excess(screen, count, freedom);
    for (size_t k = 1; k < count; k++) {
        if ((double)screen->statistic[k] > threshold &&
            is_maximum(screen->statistic, count, k, reach))
            screen->keep[sharpen(screen, lines, scale, step, first, end, first + k * step)] = 1;
    }
}

static void screen_all(struct screen *screen, int lines)
{
    const struct rps_observed *observed = screen->observed;

    for (size_t b = 0; b < observed->block_count; b++) {
        size_t first = observed->block[b], end = observed->block[b + 1];
        size_t scale = lines ? LINES_SCALE_MIN : SCALE_MIN;

        for (; scale <= SCALE_MAX && scale < end - first; scale *= 2)
            screen_block(screen, lines, scale, first, end);
    }
}

int rps_points_screen(struct rps_observed *observed, double ease,
                      const struct rps_points *constants, struct rps_points *ret,
                      struct rps_error *err)
{
    struct screen screen = {.observed = observed, .ease = ease};
    int lines = constants != NULL, result;

    if (observed->count <= COUNT_SMALL &&
        (double)observed->count * (double)observed->count * (double)observed->width <
            RPS_POINTS_WORK_MAX)
        return rps_points_make(observed, NULL, lines, ret, err);
    screen.keep = calloc(observed->count + 1, 1);
    screen.statistic = calloc(observed->count, sizeof(*screen.statistic));
    screen.sample = calloc(SAMPLE_MAX + 1, sizeof(*screen.sample));
    if (!screen.keep || !screen.statistic || !screen.sample) {
        result = rps_error_memory(err);
    } else {
        screen_all(&screen, lines);
        for (size_t p = 0; lines && p < constants->count; p++)
            screen.keep[constants->at[p]] = 1;
        result = rps_points_make(observed, screen.keep, lines, ret, err);
    }
    free(screen.sample);
    free(screen.statistic);
    free(screen.keep);
    return result;
}
