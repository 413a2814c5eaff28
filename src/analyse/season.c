/* Find and remove seasons, such as a daily cycle. A step is small compared with the values' daily
 * cycle, so that a boundary at the step costs more than it gains. Therefore the cycle is removed
 * first, by classical decomposition (Macaulay 1931; Cleveland et al. 1990, STL). The level is the
 * moving mean over one cycle. The profile has one value per place in the cycle: the median of the
 * values at this place in all cycles, relative to the level. A step in one cycle does not change
 * the median. If the season is strong enough, it is removed (Wang, Smith and Hyndman 2006). */
#include <math.h>
#include <string.h>

#include "adjust.h"
#include "detect_math.h"
#include "rpistat/arena.h"

/* maximum share of the variance that remains when a season is removed */
#define LEFT_MAX   .5
#define CYCLES_MIN 4
#define REACH_MAX  64 /* lengths are tried up to this distance from the wave's length */

/* Maximum number of cycles in a season, chosen because a week has seven days. A season of several
 * cycles must leave at most LESS times the variance that a season of one cycle leaves. */
#define MULTIPLE_MAX 7
#define LESS         .7

/* A part of a season is a season if it leaves at most SAME times the variance. */
#define SAME 1.2

struct season {
    const double *value;
    size_t count;
    double *sum, *profile, *same; /* sum[i]: sum of the first i values (a missing value equals
                                     the previous value); same: scratch for the values at one
                                     place of all cycles */
};

/* Find the profile of a cycle. Return which share of the variance around the level remains without
 * the profile, per degree of freedom. */
static double find_profile(struct season *season, size_t cycle)
{
    double all = 0, left = 0, seen = 0;

    for (size_t k = 0; k < cycle; k++) {
        size_t count = 0;

        for (size_t i = k; i < season->count; i += cycle) {
            size_t begin = i > cycle / 2 ? i - cycle / 2 : 0;
            double off;

            begin = begin + cycle > season->count ? season->count - cycle : begin;
            off = season->value[i] -
                  (season->sum[begin + cycle] - season->sum[begin]) / (double)cycle;
            season->same[count] = off;
            count += isfinite(off) != 0;
            all += isfinite(off) ? off * off : 0;
        }
        season->profile[k] = count > 0 ? rps_select_middle(season->same, count) : 0;
        for (size_t i = 0; i < count; i++)
            left += season->same[i] * season->same[i];
        seen += (double)count;
    }
    return all > 0 && seen > (double)cycle ? left / all * seen / (seen - (double)cycle) : 1;
}

/* Replace a cycle by its smallest part that leaves about the same variance. The wave's length is a
 * multiple of the cycle if the cycle has few points at the resolution at which the wave is
 * found. */
static void divide_cycle(struct season *season, double least, size_t *cycle)
{
    for (size_t parts = MULTIPLE_MAX; parts > 1; parts--) {
        size_t part = (*cycle + parts / 2) / parts;

        if (part < 2 || find_profile(season, part) > SAME * least)
            continue;
        *cycle = part;
        parts = MULTIPLE_MAX + 1; /* a part may have parts */
    }
}

/* Find the length that leaves the least variance: a length near that of the wave, a multiple of
 * this length, or a part of it. Return the share of the variance that remains. */
static double find_cycle(struct season *season, double length, size_t *ret_cycle)
{
    size_t near = (size_t)(length + .5), reach = near < 8 * REACH_MAX ? near / 8 + 1 : REACH_MAX;
    double least = 1;

    *ret_cycle = near;
    for (size_t k = 0; k < 2 * reach + MULTIPLE_MAX; k++) {
        int is_near = k <= 2 * reach;
        size_t cycle = is_near ? near - reach + k : *ret_cycle * (k - 2 * reach + 1);
        double left = CYCLES_MIN * cycle > season->count ? 1 : find_profile(season, cycle);

        if (left < (is_near ? 1 : LESS) * least) {
            *ret_cycle = cycle;
            least = left;
        }
    }
    divide_cycle(season, least, ret_cycle);
    return least;
}

struct rps_wave rps_season_remove(struct rps_arena *arena, const struct rps_signals *signals,
                                  struct rps_signals *ret)
{
    size_t count = signals->count, cycle;
    struct rps_wave wave = rps_wave_find(signals, 1), found = {0};
    struct season season = {.count = count};
    double *value, last;

    if (wave.turns == 0)
        return found;
    season.sum = rps_arena_get(arena, count + 1, sizeof(double));
    season.profile = rps_arena_get(arena, count, sizeof(double));
    season.same = rps_arena_get(arena, count, sizeof(double));
    value = rps_arena_get(arena, count * signals->signal_count, sizeof(*value));
    memcpy(value, signals->value, count * signals->signal_count * sizeof(*value));
    *ret = *signals;
    ret->value = value;
    for (size_t s = 0; s < signals->signal_count; s++) {
        season.value = signals->value + s * count;
        last = 0; /* missing values at the start are replaced by the first value */
        for (size_t i = count; i-- > 0;)
            last = isfinite(season.value[i]) ? season.value[i] : last;
        for (size_t i = 0; i < count; i++) {
            last = isfinite(season.value[i]) ? season.value[i] : last;
            season.sum[i + 1] = season.sum[i] + last;
        }
        if (find_cycle(&season, wave.length, &cycle) > LEFT_MAX)
            continue;
        find_profile(&season, cycle);
        for (size_t i = 0; i < count; i++)
            value[s * count + i] -= season.profile[i % cycle];
        found = (struct rps_wave){(double)count / (double)cycle, (double)cycle};
    }
    return found;
}

/* Find changes of noise. Segments with separate means and variances find such changes in normal
 * noise (Killick and Eckley 2014). But with such segments, heavy-tailed noise and random walks are
 * cut into many segments. So the noise becomes a signal: the logarithm of the distance of a value
 * from the mean of its neighbours. The detector finds changes of its mean, and the criterion allows
 * for autocorrelation and for white noise. The logarithm makes heavy tails light. The difference
 * from the neighbours turns a random walk into white noise. */

/* Distances are limited to FAR_MAX median distances, because an outlier affects three distances.
 * NEAR_MIN is added to each distance, because values are rounded. */
#define FAR_MAX  5
#define NEAR_MIN .3

#define CONSTANT 3 /* minimum number of equal values next to the end of a constant segment */

/* In normal noise, the deviation of the logarithms is .64. In a constant segment, the deviation is
 * 0, so that the estimate for a whole series may be too small. A floor of .5 hides constant
 * segments of 25 values between two kinds of noise. */
#define NOISE_FLOOR .3

#define RESOLUTION .1 /* logarithms whose means differ by less are treated as equal */

/* Return 1 if the value is equal to the previous, or to the next, CONSTANT values. */
static int ends_constant(const double *value, size_t count, size_t at)
{
    int before = at >= CONSTANT, after = at + CONSTANT < count;

    for (size_t k = 1; k <= CONSTANT && (before || after); k++) {
        before = before && value[at] == value[at - k];
        after = after && value[at] == value[at + k];
    }
    return before || after;
}

/* Compute the logarithm of the distance of each value from the mean of its neighbours. The distance
 * at the end of a constant segment is 0, because the neighbour in the next segment does not show
 * the noise of this one. The median is that of the unchanged distances; otherwise it would be 0 for
 * a series that is constant for half of the time. The result is NaN if a neighbour was not seen. */
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
        if (isfinite(ret[i]) && ends_constant(value, signals->count, i))
            ret[i] = 0;
    }
    middle = count > 0 ? rps_select_rank(seen, count, count / 2) : 0;
    for (size_t i = 0; i < signals->count; i++)
        ret[i] =
            middle > 0 && !isnan(ret[i]) ? log(fmin(ret[i] / middle, FAR_MAX) + NEAR_MIN) : NAN;
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

    if (width > signals->count) /* noise values of neighbours depend on the same values; with so
                                   many signals this causes false changes */
        return 0;
    noise.value = rps_arena_get(arena, 2 * cells, sizeof(*noise.value));
    noise.resolution = rps_arena_get(arena, width, sizeof(*noise.resolution));
    for (size_t s = 0; s < width; s++) {
        find_noise(arena, signals, s, noise.value + s * signals->count);
        noise.resolution[s] = RESOLUTION;
    }
    is_changed = rps_detect(arena, &noise, &options, &found, NULL, &err) == 0 && found.count > 1;
    if (!is_changed)
        return 0;
    memcpy(noise.value + cells, signals->value, cells * sizeof(*noise.value));
    *ret = *signals;
    ret->signal_count = 2 * width;
    ret->value = noise.value;
    ret->noise_floor = rps_arena_get(arena, 2 * width, sizeof(*ret->noise_floor));
    for (size_t s = 0; s < width; s++)
        ret->noise_floor[s] = NOISE_FLOOR;
    if (signals->noise_floor)
        memcpy(ret->noise_floor + width, signals->noise_floor, width * sizeof(double));
    return 1;
}
