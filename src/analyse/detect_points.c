/*
 * Points and their sums. A segment between any two of them is described in as many steps as there
 * are signals, whatever its length.
 *
 * The squares of the values themselves are the same for every segmentation, so that only what a
 * description takes off them is ever computed. Sums of time and of its square where values are
 * missing are exact integers modulo 2^64: prefix sums of doubles lose all digits of a short segment
 * late in a long run.
 */
#include "detect_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void rps_points_free(struct rps_points *points)
{
    free(points->mass);
    free(points->moment);
    free(points->sum);
    free(points->forced);
    free(points->at);
    memset(points, 0, sizeof(*points));
}

static int points_allocate(struct rps_points *points, struct rps_observed *observed, size_t count,
                           int lines, struct rps_error *err)
{
    size_t total = count * observed->width + 1;

    memset(points, 0, sizeof(*points));
    points->observed = observed;
    points->count = count;
    points->at = calloc(count + 1, sizeof(*points->at));
    points->forced = calloc(count + 1, 1);
    points->sum = calloc(total, sizeof(*points->sum));
    points->moment = lines ? calloc(total, sizeof(*points->moment)) : NULL;
    points->mass = observed->share ? calloc(3 * total, sizeof(*points->mass)) : NULL;
    if (points->at && points->forced && points->sum && (!lines || points->moment) &&
        (!observed->share || points->mass))
        return 0;
    rps_points_free(points);
    return rps_error_memory(err);
}

static void add_moments(struct rps_points *points)
{
    const struct rps_observed *observed = points->observed;
    size_t width = observed->width;
    double middle = (double)observed->count / 2;

    for (size_t p = 1; p < points->count; p++) {
        double *moment = points->moment + p * width;

        memcpy(moment, moment - width, width * sizeof(*moment));
        for (size_t i = points->at[p - 1]; i < points->at[p]; i++) {
            const double *value = observed->value + i * width;
            double time = (double)i - middle;

            for (size_t s = 0; s < width; s++) {
                double part = rps_observed_part(observed, i * width + s);

                moment[s] += part * time * value[s] * observed->gain[s];
            }
        }
    }
}

static void add_masses(struct rps_points *points)
{
    const struct rps_observed *observed = points->observed;
    size_t width = observed->width;

    for (size_t p = 1; p < points->count; p++) {
        uint64_t *mass = points->mass + 3 * p * width;

        memcpy(mass, mass - 3 * width, 3 * width * sizeof(*mass));
        for (size_t i = points->at[p - 1]; i < points->at[p]; i++) {
            for (size_t s = 0; s < width; s++) {
                uint64_t share = observed->share[i * width + s];

                mass[3 * s] += share;
                mass[3 * s + 1] += share * i;
                mass[3 * s + 2] += share * i * i;
            }
        }
    }
}

void rps_points_add_up(struct rps_points *points)
{
    const struct rps_observed *observed = points->observed;
    size_t width = observed->width;

    for (size_t p = 0; p < points->count; p++) {
        for (size_t s = 0; s < width; s++)
            points->sum[p * width + s] =
                observed->sum[points->at[p] * width + s] * observed->gain[s];
    }
    if (points->moment) {
        memset(points->moment, 0, width * sizeof(*points->moment));
        add_moments(points);
    }
    if (points->mass) {
        memset(points->mass, 0, 3 * width * sizeof(*points->mass));
        add_masses(points);
    }
}

int rps_points_make(struct rps_observed *observed, const uint8_t *keep, int lines,
                    struct rps_points *ret, struct rps_error *err)
{
    size_t count = 0, to = 0, block = 0;

    for (size_t i = 0; i <= observed->count; i++) {
        int end = i == observed->block[block];

        block += (size_t)(end && i < observed->count);
        count += !keep || keep[i] || end;
    }
    if (points_allocate(ret, observed, count, lines, err) < 0)
        return RPS_FAILED;
    block = 0;
    for (size_t i = 0; i <= observed->count; i++) {
        int end = i == observed->block[block];

        block += (size_t)(end && i < observed->count);
        if (keep && !keep[i] && !end)
            continue;
        ret->forced[to] = (uint8_t)end;
        ret->at[to++] = i;
    }
    rps_points_add_up(ret);
    return 0;
}

int rps_points_subset(const struct rps_points *points, const uint8_t *keep, struct rps_points *ret,
                      struct rps_error *err)
{
    size_t width = points->observed->width, count = 0, to = 0;

    for (size_t p = 0; p < points->count; p++)
        count += keep[p] != 0;
    if (points_allocate(ret, points->observed, count, points->moment != NULL, err) < 0)
        return RPS_FAILED;
    for (size_t p = 0; p < points->count; p++) {
        if (!keep[p])
            continue;
        ret->at[to] = points->at[p];
        ret->forced[to] = points->forced[p];
        memcpy(ret->sum + to * width, points->sum + p * width, width * sizeof(*ret->sum));
        if (ret->moment)
            memcpy(ret->moment + to * width, points->moment + p * width,
                   width * sizeof(*ret->moment));
        if (ret->mass)
            memcpy(ret->mass + 3 * to * width, points->mass + 3 * p * width,
                   3 * width * sizeof(*ret->mass));
        to++;
    }
    return 0;
}

/* With a constant for `masked` the compiler makes a quick function of it for what was seen whole. */
static inline struct rps_point_gain gain_of(const struct rps_points *points, size_t from, size_t to,
                                            int masked)
{
    size_t width = points->observed->width;
    const uint64_t *a = masked ? points->mass + 3 * from * width : NULL,
                   *b = masked ? points->mass + 3 * to * width : NULL;
    const double *low = points->sum + from * width, *high = points->sum + to * width;
    uint64_t start = points->at[from], length = points->at[to] - start;
    int lines = points->moment && length >= RPS_POINTS_LINE_MIN && length <= RPS_POINTS_LINE_MAX;
    double n = (double)length, per_n = 1 / n, time = (n - 1) / 2, square = n * (n * n - 1) / 12;
    struct rps_point_gain gain = {0, 0};

    for (size_t s = 0; s < width; s++) {
        double sum = high[s] - low[s], moment;

        if (masked) {
            uint64_t weight = b[3 * s] - a[3 * s], times = b[3 * s + 1] - a[3 * s + 1];

            if (weight == 0)
                continue;
            n = (double)weight / RPS_OBSERVED_WHOLE;
            per_n = 1 / n;
            time = (double)(times - start * weight) / RPS_OBSERVED_WHOLE / n;
            square =
                (double)(b[3 * s + 2] - a[3 * s + 2] - 2 * start * times + start * start * weight) /
                    RPS_OBSERVED_WHOLE -
                n * time * time;
        }
        gain.constant += sum * sum * per_n;
        if (!lines || n < 3 || !(square > 0.5))
            continue;
        moment = points->moment[to * width + s] - points->moment[from * width + s] -
                 (time + (double)start - (double)points->observed->count / 2) * sum;
        gain.line += moment * moment / square;
    }
    gain.line += gain.constant;
    return gain;
}

struct rps_point_gain rps_points_gain(const struct rps_points *points, size_t from, size_t to)
{
    return points->mass ? gain_of(points, from, to, 1) : gain_of(points, from, to, 0);
}

void rps_points_gains(const struct rps_points *points, const size_t *from, size_t count, size_t to,
                      struct rps_point_gain *ret)
{
    for (size_t k = 0; k < count; k++)
        ret[k] = rps_points_gain(points, from[k], to);
}
