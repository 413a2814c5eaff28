/* Bursts: groups of outliers, and whether they are evenly spaced. */
#include "rpistat/bursts.h"

#include <math.h>

#include "detect_math.h"

#define EVEN       .2 /* of the median step: how much another one may differ */
#define EVEN_SHARE .8 /* of the steps, which must be even */

/* Return 1 if an outlier follows the one before without a gap. Their numbers have a gap if several short
 * periods are one observation. */
static int touches(const struct rps_phases *phases, size_t i)
{
    return phases->outlier_ns[2 * i] <= phases->outlier_ns[2 * i - 1];
}

/* Skip those of only the first or the last observation: programs have a start and an end. */
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

/* Where a number lies in time, in mean observations: with record --fine-start the first ones are short. */
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
