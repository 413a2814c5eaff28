/*
 * Rotations: the periods of one turn of the event sets added up, the smallest stretch in which
 * every metric has a value. Periods stream by; whoever adds them asks first whether the next one
 * begins another rotation, and takes what was added up:
 *
 *     if (rps_rotation_ends(&rotation, period)) {
 *         ... use rotation.tally ...
 *         rps_rotation_reset(&rotation);
 *     }
 *     rps_rotation_add(&rotation, period);
 *
 * A block of a coarser level (rpistat/period.h) is added up the same way, and is one rotation here.
 * So are successive rotations that are shorter than least_ns together: with record --fine-start, the
 * first periods are 10 ms, and a rate varies ten times as much there as in 100 ms.
 */
#ifndef RPISTAT_ROTATION_H
#define RPISTAT_ROTATION_H

#include <stdint.h>

#include "rpistat/period.h"
#include "rpistat/run.h"
#include "rpistat/tally.h"

struct rps_formula;
struct rps_plan;

/* Of one value of several rotations. */
struct rps_range {
    double least, most; /* NaN: there was none */
};

struct rps_rotation {
    struct rps_tally tally; /* its start_ns and end_ns are the rotation's; no periods: none added,
                               and what follows means nothing */
    int64_t least_ns; /* 0, or of what is merged, as rps_rotation_least_ns; stays at a reset */
    uint64_t number;  /* of the first rotation */
    uint64_t latest;  /* of the last one */
    int32_t cpu;
    int level;
    uint64_t merged;               /* 1, or the rotations of a block */
    uint64_t first, last;          /* numbers of its periods */
    uint64_t from_cycle, to_cycle; /* cycle timestamps */

    /* Of the rotations in a block: */
    int has_ranges;          /* 1: they are known */
    struct rps_range use;    /* CPU time per elapsed time */
    struct rps_range *range; /* events per second, of slot s of set n at n * RPS_SLOT_MAX + s */
};

/* A rotation of the plan's sets, nothing added. */
struct rps_rotation rps_rotation_new(struct rps_arena *arena, const struct rps_plan *plan);
void rps_rotation_reset(struct rps_rotation *rotation);

/* Return the least_ns that merges the short periods of a fine start (record --fine-start) to the length
 * of `periods` usual ones. Return 0 if there are none: for a single set, for periods of at most
 * RPS_FINE_START_NS, and for imports, whose rows have any length. */
int64_t rps_rotation_least_ns(const struct rps_run *run, int set_count, int periods);

/* 1: something was added, and the period belongs to another rotation, CPU or level. */
int rps_rotation_ends(const struct rps_rotation *rotation, const struct rps_period *period);

void rps_rotation_add(struct rps_rotation *rotation, const struct rps_period *period);

/*
 * The least and the most that a formula comes to in a rotation of those in it: 1 and *ret, or 0 when
 * that is not known. It is of a block where the formula is over one event and the elapsed time, or
 * over CPU time and elapsed time; of other ratios a block does not tell. `operand` is that of
 * rps_tally_operands, and is as it was afterwards.
 */
int rps_rotation_range(const struct rps_rotation *rotation, const struct rps_formula *formula,
                       double *operand, struct rps_range *ret);

#endif
