/* Boundaries in what rises or falls steadily; private to the finding of phases. */
#ifndef RPISTAT_ANALYSE_RISE_H
#define RPISTAT_ANALYSE_RISE_H

#include "rpistat/detect.h"

/*
 * Join neighbours that are one rise: both go the same way, about as steeply, and the one goes on
 * nearly where the other ends. Steps do not: what differs there differs at the boundary. Gaps stay
 * boundaries. Returns how many boundaries went.
 */
size_t rps_rise_join(const struct rps_signals *signals, struct rps_phases *phases);

#endif
