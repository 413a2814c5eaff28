/* Sums of the periods of a rotation. A rotation is the shortest time range in which every event set
 * is counted, so that every metric has a value. Periods are streamed. If the next period begins
 * another rotation, the caller uses the sum:
 *
 *     if (rps_rotation_ends(&rotation, period)) {
 *         ... use rotation.tally ...
 *         rps_rotation_reset(&rotation);
 *     }
 *     rps_rotation_add(&rotation, period);
 *
 * A block of a coarser level (rpistat/period.h) is added like a period, and is one rotation here.
 * Successive rotations are merged while their sum is shorter than least_ns. Merging is needed for
 * record --fine-start. The first periods are then 10 ms long, and a rate varies ten times as much
 * in 10 ms as in 100 ms. */
#pragma once

#include <stdint.h>

#include "rpistat/period.h"
#include "rpistat/run.h"
#include "rpistat/tally.h"

/* Range of a value over several rotations. */
struct rps_range {
    double least, most; /* smallest and largest value; NaN: no value */
};

struct rps_rotation {
    struct rps_tally tally; /* Sum of the rotation's periods, from start_ns to end_ns. If it has
                               no periods, the members below have no meaning. */
    int64_t least_ns;       /* minimum length of the sum, kept by a reset; 0: no merging */
    uint64_t number;        /* number of the first rotation in the sum */
    uint64_t latest;        /* number of the last rotation in the sum */
    int32_t cpu;
    int level;
    uint64_t merged;               /* number of rotations in a block; otherwise 1 */
    uint64_t first, last;          /* numbers of the first and last period */
    uint64_t from_cycle, to_cycle; /* cycle timestamps of the beginning and end */

    int has_ranges;          /* 1 if the ranges below are known (only for blocks) */
    struct rps_range use;    /* range of CPU time per elapsed time */
    struct rps_range *range; /* events per second; slot s of set n is at n * RPS_SLOT_MAX + s */
};

/* Return an empty rotation for the sets of the plan. */
struct rps_rotation rps_rotation_new(struct rps_arena *arena, const struct rps_plan *plan);
void rps_rotation_reset(struct rps_rotation *rotation);

/* Return the least_ns with which the short periods of record --fine-start are merged until they are
 * as long as `periods` usual periods. Return 0 for a run that has no short periods: it has a single
 * set, has periods of at most RPS_FINE_START_NS, or is an import. */
int64_t rps_rotation_least_ns(const struct rps_run *run, int set_count, int periods);

/* Return 1 if the rotation is not empty and the period has another rotation, CPU or level. */
int rps_rotation_ends(const struct rps_rotation *rotation, const struct rps_period *period);

void rps_rotation_add(struct rps_rotation *rotation, const struct rps_period *period);

/* Find the range of a formula's values over the rotations of a block. Return 1 and set *ret, or
 * return 0 if the range is unknown. Ranges are known for the ratio of a single event to elapsed
 * time, and of CPU time to elapsed time, but not for other ratios. `operand` comes from
 * rps_tally_operands. The function changes `operand`, and restores it before it returns. */
int rps_rotation_range(const struct rps_rotation *rotation, const struct rps_formula *formula,
                       double *operand, struct rps_range *ret);
