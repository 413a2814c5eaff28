/*
 * Seasons: a step inside a daily cycle is small compared with the cycle, so no boundary pays for
 * it. The classical decomposition removes the cycle first (Macaulay 1931; Cleveland et al. 1990,
 * STL). The level is the moving mean over one cycle. The profile is the median of the values at one
 * place of all cycles, relative to that level. A median ignores the one cycle that a step falls
 * into. The strength of the season decides whether there is one (Wang, Smith and Hyndman 2006).
 */
#include <math.h>
#include <string.h>

#include "adjust.h"
#include "detect_math.h"

/* A season leaves at most this share of the variance around the level. */
#define LEFT_MAX   .5
#define CYCLES_MIN 4
#define REACH_MAX  64 /* from the wave's length to those that are tried */

/* A season may be so many of the found cycles, as a week of days. It must leave at most this share
 * of the variance that the cycle leaves. */
#define MULTIPLE_MAX 7
#define LESS         .7

struct season {
    const double *value;
    size_t count;
    double *sum, *profile, *same; /* sum: of the values before each, using the last one where not
                                     seen; same: the values at one place of all cycles */
};

/* Find the profile of a cycle; return the share of the variance around the level that it leaves,
 * per value that is free to vary. */
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

/* Find the length near a wave's, or the multiple, that leaves the least; return that share. */
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
    return least;
}

struct rps_wave rps_season_remove(struct rps_arena *arena, const struct rps_signals *signals,
                                  struct rps_signals *ret)
{
    size_t count = signals->count, cycle;
    struct rps_wave wave = rps_wave_find(signals, 1), found = {0};
    struct season season = {.count = count};
    double *value, last = 0;

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
