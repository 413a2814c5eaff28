/* Rotations of the event sets, added up period by period. */
#include "rpistat/rotation.h"

int rps_rotation_init(struct rps_rotation *rotation, const struct rps_plan *plan,
                      struct rps_error *err)
{
    *rotation = (struct rps_rotation){.number = 0};
    return rps_tally_init(&rotation->tally, plan, err);
}

void rps_rotation_free(struct rps_rotation *rotation)
{
    rps_tally_free(&rotation->tally);
}

void rps_rotation_reset(struct rps_rotation *rotation)
{
    rps_tally_reset(&rotation->tally);
}

int rps_rotation_ends(const struct rps_rotation *rotation, const struct rps_period *period)
{
    return rotation->tally.periods > 0 &&
           (period->rotation != rotation->number || period->cpu != rotation->cpu ||
            period->level != rotation->level);
}

void rps_rotation_add(struct rps_rotation *rotation, const struct rps_period *period)
{
    uint64_t last = rps_period_last(period);

    if (rotation->tally.periods == 0) {
        rotation->number = period->rotation;
        rotation->cpu = period->cpu;
        rotation->level = period->level;
        rotation->merged = rps_period_weight(period);
        rotation->first = period->period;
        rotation->last = last;
        rotation->from_cycle = period->cycle - period->cycles;
        rotation->to_cycle = period->cycle;
    }
    rps_tally_add(&rotation->tally, period);
    if (period->period < rotation->first)
        rotation->first = period->period;
    if (last > rotation->last)
        rotation->last = last;
    if (period->cycle > rotation->to_cycle)
        rotation->to_cycle = period->cycle;
    if (period->level > 0) /* a row's cycles are not those before its end: there is no gap in it */
        rotation->from_cycle = rotation->to_cycle - rotation->tally.clock;
}
