/*
 * Rotations: sums of the periods of one rotation of the event sets, the smallest range in which
 * every metric has a value. Periods are streamed. The caller checks whether the next period begins
 * another rotation, and then uses the sum so far:
 *
 *     if (rps_rotation_ends(&rotation, period)) {
 *         ... use rotation.tally ...
 *         rps_rotation_reset(&rotation);
 *     }
 *     rps_rotation_add(&rotation, period);
 *
 * A block of a coarser level (rpistat/period.h) is added up the same way, and is one rotation here.
 * Successive rotations that together are shorter than least_ns are one rotation, too. With record
 * --fine-start the first periods are 10 ms, and a rate varies ten times as much there as in 100 ms.
 */
#ifndef RPISTAT_ROTATION_H
#define RPISTAT_ROTATION_H

#include <stdint.h>

#include "rpistat/period.h"
#include "rpistat/run.h"
#include "rpistat/tally.h"

struct rps_formula;
struct rps_plan;

/* Range of a value over several rotations. */
struct rps_range {
    double least, most; /* NaN: there was none */
};

struct rps_rotation {
    struct rps_tally tally; /* its start_ns and end_ns are the rotation's; without periods, the
                               members below have no meaning */
    int64_t least_ns;       /* 0, or from rps_rotation_least_ns for merging; a reset keeps it */
    uint64_t number;        /* of the first rotation */
    uint64_t latest;        /* of the last one */
    int32_t cpu;
    int level;
    uint64_t merged;               /* 1, or the rotations of a block */
    uint64_t first, last;          /* numbers of its periods */
    uint64_t from_cycle, to_cycle; /* cycle timestamps */

    /* For the rotations in a block: */
    int has_ranges;          /* 1: they are known */
    struct rps_range use;    /* CPU time per elapsed time */
    struct rps_range *range; /* events per second, of slot s of set n at n * RPS_SLOT_MAX + s */
};

/* Return an empty rotation of the plan's sets. */
struct rps_rotation rps_rotation_new(struct rps_arena *arena, const struct rps_plan *plan);
void rps_rotation_reset(struct rps_rotation *rotation);

/* Return the least_ns that merges the short periods of a fine start (record --fine-start) to the
 * length of `periods` usual ones. Return 0 if there are none: for a single set, for periods of at
 * most RPS_FINE_START_NS, and for imports, whose rows have any length. */
int64_t rps_rotation_least_ns(const struct rps_run *run, int set_count, int periods);

/* Return 1 if something was added, and the period belongs to another rotation, CPU or level. */
int rps_rotation_ends(const struct rps_rotation *rotation, const struct rps_period *period);

void rps_rotation_add(struct rps_rotation *rotation, const struct rps_period *period);

/*
 * Put the least and the most of a formula's values in the rotations of a block into *ret and return
 * 1; return 0 if they are unknown. A block has them for one event and the elapsed time, or CPU time
 * and elapsed time, but not for other ratios. `operand` is that of rps_tally_operands, and is
 * restored.
 */
int rps_rotation_range(const struct rps_rotation *rotation, const struct rps_formula *formula,
                       double *operand, struct rps_range *ret);

#endif
