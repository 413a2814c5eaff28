/*
 * Recurring bursts: outliers that come again in even steps. A burst is too short to be a phase, and
 * what comes again is no chance.
 */
#ifndef RPISTAT_BURSTS_H
#define RPISTAT_BURSTS_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/phase.h"

/* Stretches of outliers that are fewer have no rhythm. */
#define RPS_BURSTS_MIN 6

struct rps_bursts {
    size_t count;           /* 0: none recur */
    uint64_t *first, *last; /* of each, both inclusive, as the outliers are numbered; the arena's */
    double every;           /* from the start of one to that of the next, in mean observations */
    double length;          /* of one, likewise */
};

/*
 * The bursts in the outliers of phases. Outliers with no more than one observation between them are
 * one burst; those of the first or the last observation alone are the start and the end, and none.
 * They recur where of the steps from burst to burst four of five are the median step, by a fifth
 * more or less.
 */
struct rps_bursts rps_bursts_find(struct rps_arena *arena, const struct rps_phases *phases);

#endif
