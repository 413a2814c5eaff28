/* Recurring bursts: outliers at regular intervals. A burst is too short to be a phase. Bursts recur
 * more regularly than outliers would by chance. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/phase.h"

/* Minimum number of bursts that can show regular intervals. */
#define RPS_BURSTS_MIN 6

struct rps_bursts {
    size_t count;           /* Number of bursts (0: no bursts recur) */
    uint64_t *first, *last; /* First and last outlier of each burst, inclusive, in the arena */
    double every;           /* Time between starts of bursts (unit: mean length of an
                               observation) */
    double length;          /* Length of a burst (unit: mean length of an observation) */
};

/* Find the bursts in the outliers of phases. Outliers with at most one observation between them
 * form one burst. An outlier that consists of only the first or only the last observation of the
 * run is not a burst. Bursts recur if at least 80 % of the intervals between their starts differ
 * from the median interval by at most 20 %. */
struct rps_bursts rps_bursts_find(struct rps_arena *arena, const struct rps_phases *phases);
