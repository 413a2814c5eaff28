/* Ramps: phases in which the values change steadily. Private to the finding of phases. */
#ifndef RPISTAT_ANALYSE_RAMPS_H
#define RPISTAT_ANALYSE_RAMPS_H

#include "rpistat/arena.h"
#include "rpistat/detect.h"

/* Observations first ... end - 1. */
struct rps_ramp {
    size_t first, end;
    double gain; /* the decrease of the squares, in units of noise, less the price of a ramp */
    int trend;   /* as in rpistat/phase.h */
};

/* In an arena. */
struct rps_ramps {
    size_t count;
    struct rps_ramp *ramp;
};

/* Drop the ramps in which one of the phases begins. Then add the ramps that describe neighbouring
 * phases better than constants do. If ramps overlap, only the one with the largest gain remains.
 * Set is_linear to 1 if the phases were found as straight lines. */
void rps_ramps_find(struct rps_arena *arena, const struct rps_signals *signals,
                    const struct rps_phases *phases, int is_linear, struct rps_ramps *ramps);

/* Replace the phases in the range of each ramp by the ramp. */
void rps_ramps_put(const struct rps_ramps *ramps, struct rps_phases *phases);

#endif
