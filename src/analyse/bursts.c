/* Find bursts, which are groups of outliers. Test whether the bursts are evenly spaced. */
#include "rpistat/bursts.h"

#include <math.h>

#include "detect_math.h"

#define EVEN       .2 /* maximum deviation of a regular step from the median step, as a share */
#define EVEN_SHARE .8 /* minimum share of regular steps in evenly spaced bursts */

/* Return 1 if an outlier follows the previous outlier without a gap in time. If several short
 * periods form one observation, consecutive outliers may have numbers that are not consecutive. */
static int touches(const struct rps_phases *phases, size_t i)
{
    return phases->outlier_ns[2 * i] <= phases->outlier_ns[2 * i - 1];
}

/* Find the groups of outliers. Skip groups that cover only the first or only the last observation,
 * because every program has a start and an end. */
static void find_stretches(struct rps_arena *arena, const struct rps_phases *phases,
                           struct rps_bursts *ret)
{
    const uint64_t wide = phases->wide, start = phases->phase[0].first,
                   end = phases->phase[phases->count - 1].last;
    const uint64_t *outlier = phases->outlier;

    ret->first = rps_arena_get(arena, phases->outlier_count + 1, sizeof(*ret->first));
    ret->last = rps_arena_get(arena, phases->outlier_count + 1, sizeof(*ret->last));
    for (size_t i = 0; i < phases->outlier_count; i++) {
        if (ret->count == 0 || (outlier[i] > ret->last[ret->count - 1] + wide + 2 &&
                                !(phases->outlier_ns && touches(phases, i))))
            ret->first[ret->count++] = outlier[i];
        ret->last[ret->count - 1] = outlier[i] + wide;
    }
    if (ret->count > 0 && ret->last[ret->count - 1] > end)
        ret->last[ret->count - 1] = end;
    if (ret->count > 0 && ret->first[ret->count - 1] + wide >= end)
        ret->count--;
    if (ret->count > 0 && ret->last[0] <= start + wide) {
        ret->count--;
        ret->first++;
        ret->last++;
    }
}

/* Convert an observation number to a position on the time axis. The unit is the mean length of an
 * observation. The conversion is needed because with --fine-start the first observations are
 * shorter than the mean. */
static double place(const struct rps_phases *phases, uint64_t number)
{
    const struct rps_phase *first = &phases->phase[0], *last = &phases->phase[phases->count - 1];
    double all_ns = (double)(last->end_ns - first->start_ns);

    return all_ns > 0 ? (double)(rps_phases_time(phases, number) - first->start_ns) / all_ns *
                            (double)(last->last - first->first + 1)
                      : (double)number;
}

struct rps_bursts rps_bursts_find(struct rps_arena *arena, const struct rps_phases *phases)
{
    struct rps_bursts bursts = {0};
    size_t even = 0;
    double *value;

    find_stretches(arena, phases, &bursts);
    if (bursts.count < RPS_BURSTS_MIN)
        return (struct rps_bursts){0};
    value = rps_arena_get(arena, bursts.count, sizeof(*value));
    for (size_t i = 0; i < bursts.count; i++)
        value[i] = place(phases, bursts.last[i] + 1) - place(phases, bursts.first[i]);
    bursts.length = rps_select_median(value, bursts.count);
    for (size_t i = 0; i + 1 < bursts.count; i++)
        value[i] = place(phases, bursts.first[i + 1]) - place(phases, bursts.first[i]);
    bursts.every = rps_select_median(value, bursts.count - 1);
    for (size_t i = 0; i + 1 < bursts.count; i++)
        even += fabs(value[i] - bursts.every) <= EVEN * bursts.every;
    return (double)even >= EVEN_SHARE * (double)(bursts.count - 1) ? bursts
                                                                   : (struct rps_bursts){0};
}
