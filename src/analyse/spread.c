/*
 * Changes of noise. Segments with a mean and a variance of their own find them in normal noise
 * (Killick and Eckley 2014). But they break up heavy-tailed noise and random walks. So the noise
 * becomes a signal: the logarithm of the distance of a value from the mean of its neighbours. The
 * detector finds changes of its mean, and the criterion allows for autocorrelation and for white
 * noise. The logarithm makes heavy tails light, and neighbours make a random walk white.
 */
#include <math.h>
#include <string.h>

#include "adjust.h"
#include "detect_math.h"

/* Distances are limited to so many times their median: an outlier is in three of them, and values
 * are rounded. */
#define FAR_MAX  5
#define NEAR_MIN .3

#define RESOLUTION .1 /* means of the logarithm that differ by so much are alike */

/* How far the values of a signal are from the mean of their neighbours, as logarithms; NaN if
 * those were not seen. */
static void find_noise(struct rps_arena *arena, const struct rps_signals *signals, size_t s,
                       double *ret)
{
    const double *value = signals->value + s * signals->count;
    double *seen = rps_arena_get(arena, signals->count, sizeof(*seen)), middle;
    size_t count = 0;

    for (size_t i = 0; i < signals->count; i++) {
        ret[i] = NAN;
        if (i > 0 && i + 1 < signals->count)
            ret[i] = fabs(value[i] - value[i - 1] / 2 - value[i + 1] / 2);
        seen[count] = ret[i];
        count += isfinite(ret[i]) != 0;
    }
    middle = count > 0 ? rps_select_rank(seen, count, count / 2) : 0;
    for (size_t i = 0; i < signals->count; i++)
        ret[i] = middle > 0 && !isnan(ret[i]) ? log(fmin(ret[i] / middle, FAR_MAX) + NEAR_MIN) : NAN;
}

int rps_spread_append(struct rps_arena *arena, const struct rps_signals *signals,
                      struct rps_signals *ret)
{
    size_t width = signals->signal_count, cells = width * signals->count;
    const struct rps_detect_options options = {0};
    struct rps_signals noise = {.count = signals->count, .signal_count = width};
    struct rps_phases found = {0};
    struct rps_error err;
    int is_changed;

    if (width > signals->count) /* neighbours share values, which so many signals show */
        return 0;
    noise.value = rps_arena_get(arena, 2 * cells, sizeof(*noise.value));
    noise.resolution = rps_arena_get(arena, width, sizeof(*noise.resolution));
    for (size_t s = 0; s < width; s++) {
        find_noise(arena, signals, s, noise.value + s * signals->count);
        noise.resolution[s] = RESOLUTION;
    }
    is_changed = rps_detect(&noise, &options, &found, NULL, &err) == 0 && found.count > 1;
    rps_phases_free(&found);
    if (!is_changed)
        return 0;
    memcpy(noise.value + cells, signals->value, cells * sizeof(*noise.value));
    *ret = *signals;
    ret->signal_count = 2 * width;
    ret->value = noise.value;
    ret->noise_floor = rps_arena_get(arena, 2 * width, sizeof(*ret->noise_floor));
    if (signals->noise_floor)
        memcpy(ret->noise_floor + width, signals->noise_floor, width * sizeof(double));
    return 1;
}
