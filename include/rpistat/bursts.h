/*
 * Recurring bursts: outliers at regular intervals. A burst is too short to be a phase, and its
 * recurrence is not due to chance.
 */
#ifndef RPISTAT_BURSTS_H
#define RPISTAT_BURSTS_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/phase.h"

/* Fewer groups of outliers do not show a rhythm. */
#define RPS_BURSTS_MIN 6

struct rps_bursts {
    size_t count;           /* 0: none recur */
    uint64_t *first, *last; /* of each, both inclusive, numbered like the outliers; the arena's */
    double every;           /* from the start of one to that of the next, in mean observations */
    double length;          /* of one, in mean observations */
};

/*
 * Find the bursts in the outliers of phases. Outliers with at most one observation between them are
 * one burst. Those of only the first or the last observation are the start and the end, not bursts.
 * They recur if four of five steps from burst to burst are within a fifth of the median step.
 */
struct rps_bursts rps_bursts_find(struct rps_arena *arena, const struct rps_phases *phases);

#endif
