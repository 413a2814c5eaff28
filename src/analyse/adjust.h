/* Adjust signals: remove the season from signals, or add the noise of signals as further signals.
 * Private to analyse. Some arrays of *ret belong to `signals`, and the other arrays belong to the
 * arena. So *ret must not be freed. */
#pragma once

#include "rpistat/detect.h"
#include "rpistat/phases.h"

/* Remove the season of each seasonal signal. Returns the season of the seasonal signal with the
 * highest index. If no signal has a season, returns a struct of zeros. */
struct rps_wave rps_season_remove(struct rps_arena *arena, const struct rps_signals *signals,
                                  struct rps_signals *ret);

/* If the noise of the signals changes, return 1 and store in *ret one noise signal per signal,
 * followed by the signals. Otherwise return 0. */
int rps_spread_append(struct rps_arena *arena, const struct rps_signals *signals,
                      struct rps_signals *ret);

/* Boundaries between phases in which values rise or fall steadily. Private to the detector. */

/* Join neighbouring phases that are one rise: their slopes have the same sign and about the same
 * size, and the second line begins nearly where the first line ends. Phases with a step between
 * them are not joined. Gaps remain boundaries. Returns the number of removed boundaries. */
size_t rps_rise_join(const struct rps_signals *signals, struct rps_phases *phases);

/* Ramps: phases in which the values change steadily. Private to the detection of phases. */

/* A ramp in the observations first ... end - 1. */
struct rps_ramp {
    size_t first, end;
    double gain; /* decrease of the squared residuals, in noise units, minus the price of a ramp */
    int trend;   /* direction of the ramp, as in rpistat/phase.h */
};

/* A list of ramps, allocated in an arena. */
struct rps_ramps {
    size_t count;
    struct rps_ramp *ramp;
};

/* Drop each ramp in which a phase begins. Then add the ramps that describe neighbouring phases
 * better than constants do. If ramps overlap, only the ramp with the largest gain remains. The
 * caller sets is_linear to 1 if the phases were found as straight lines. */
void rps_ramps_find(struct rps_arena *arena, const struct rps_signals *signals,
                    const struct rps_phases *phases, int is_linear, struct rps_ramps *ramps);

/* Replace the phases that a ramp covers by this ramp, for each ramp in the list. */
void rps_ramps_put(struct rps_arena *arena, const struct rps_ramps *ramps,
                   struct rps_phases *phases);
