/* Boundaries in values that rise or fall steadily; private to the finding of phases. */
#ifndef RPISTAT_ANALYSE_RISE_H
#define RPISTAT_ANALYSE_RISE_H

#include "rpistat/detect.h"

/*
 * Join neighbours that are one rise: both have the same direction and about the same slope, and one
 * begins nearly where the other ends. Steps are not joined, because they differ at the boundary.
 * Gaps remain boundaries. Returns the number of removed boundaries.
 */
size_t rps_rise_join(const struct rps_signals *signals, struct rps_phases *phases);

#endif
