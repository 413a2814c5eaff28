/* Moments: sums from which the confidence intervals of an event set's estimates are computed
 * (rpistat/tally.h). Each reading is added to the sums. A reading is a period in which the set was
 * counted. In a reading, c is the count of a slot, and r is the time that the slot was counted. D
 * denotes the difference from the previous reading. A block of a coarser level has only the scatter
 * of its readings, not the readings. */
#pragma once

#include <stdint.h>

#include "rpistat/period.h"

/* Scatter: how much periods vary within the blocks of level 1 that are part of a block. Differences
 * between periods of two blocks of level 1 are not included. */
struct rps_scatter {
    uint64_t parts;                            /* Number of blocks of level 1 in the row */
    uint64_t readings[RPS_SLOT_MAX];           /* Periods in which each slot was counted */
    double squares[RPS_SLOT_MAX];              /* Sums of c^2 */
    double cc[RPS_SLOT_MAX][RPS_SLOT_MAX];     /* Sums of Dc_j Dc_k at [j][k], with j <= k */
    double cr[RPS_SLOT_MAX], rr[RPS_SLOT_MAX]; /* Sums of Dc Dr and Dr Dr */
    double own[RPS_SLOT_MAX],
        fourth[RPS_SLOT_MAX]; /* Sums of (Dd)^2 and (Dd)^4 with d = c - R r and each block's R
                                 (`fourth` NaN: unknown) */
    /* Extremes of the block's rotations, in events per s of elapsed time (NaN: no rotation). */
    double least[RPS_SLOT_MAX], most[RPS_SLOT_MAX];
    double least_use, most_use; /* Extremes of rotations' CPU use (1: one CPU), only for set 0 */
    double use_steps;           /* Sum of squared CPU use differences in level 1, for set 0 */
};

/* Count of a slot in a reading, and time in ns that the slot was counted. */
struct rps_slot_reading {
    double c, r;
};

/* Number of readings kept at the beginning and at the end. At the beginning of a run, every set has
 * a reading in the first rotation. At the end of a run, one set may have two readings and another
 * set none. */
#define RPS_MOMENTS_FIRST 2
#define RPS_MOMENTS_LAST  3

struct rps_slot_moments {
    uint64_t readings; /* Readings in which the slot was counted */
    uint64_t steps;    /* Number of differences that were added up */
    /* First readings from the first on, last readings from the last backwards (zeros: none). */
    struct rps_slot_reading first[RPS_MOMENTS_FIRST], last[RPS_MOMENTS_LAST];
    uint64_t first_merged; /* Readings whose mean is the first reading (above 1 for a block) */
    uint64_t last_merged;  /* Readings whose mean is the last reading (above 1 for a block) */
    double before_ns;      /* Enabled time from the segment's beginning to the first reading */
    double until_ns;       /* Enabled time from the segment's start to the last reading's end */
    double rotation_ns;    /* Enabled time up to the start of the last rotation or block */
    double squares;        /* Sum of c^2 */
    double cc, cr, rr;     /* Sums of Dc Dc, Dc Dr and Dr Dr */
    double cccc, cccr, ccrr, crrr, rrrr;
    double block_cc, block_cr, block_rr; /* Parts of cc, cr and rr that come from blocks */
    double block_own, block_fourth;      /* Sums of (Dd)^2, (Dd)^4 in blocks, with the block's R */
};

struct rps_moments {
    struct rps_slot_moments slot[RPS_SLOT_MAX];
    double cross[RPS_SLOT_MAX][RPS_SLOT_MAX]; /* Sums of Dc_j Dc_k at [j][k], j < k */
    int slots;                                /* Number of slots up to the last counted slot */
};

/* Add a reading or a whole block after the other readings. If the scatter of a block is unknown,
 * the block is treated as one reading. The sums of slots that were not counted are not changed. The
 * segment has before_ns of enabled time before the reading, and rotation_ns before the reading's
 * rotation or block. The rows of a rotation or block must be consecutive. */
void rps_moments_add(struct rps_moments *moments, const struct rps_period *period,
                     uint64_t before_ns, uint64_t rotation_ns);

/* Append the moments of the next segment, which begins after `before_ns` of enabled time. No
 * rotation may be in both segments. The result is equal to the moments of all readings, except for
 * two slots that were first counted in different readings of `next`. For such slots, the product of
 * the differences between the segments is added to `cross`, although the two differences belong to
 * different readings. */
void rps_moments_join(struct rps_moments *moments, const struct rps_moments *next,
                      uint64_t before_ns);

/* Return the sum of (Dd_j Dd_k), with d = c - R r and the slot's own R = sum c / sum r (`ratio`).
 * The sum shows how much two estimates vary together, or for j = k how much one estimate varies. */
double rps_moments_squares(const struct rps_moments *moments, int j, int k, const double *ratio);

/* Return the degrees of freedom of a slot's sum of squares, at least 1. The result is half of (sum
 * e)^2 / sum e^2 with e = (Dd)^2 (Satterthwaite 1946). Halving is needed because few readings show
 * only a part of a heavy tail. If tails are heavy or the workload sleeps, the intervals hold in 92
 * to 98 of 100 cases; without halving, in 87 to 97 (tests/bench/intervals). */
double rps_moments_freedom(const struct rps_moments *moments, int slot, double ratio);

/* Return the sum of Dd_j Dd_k in a block, with d = c - R r and R from the block's sums. */
double rps_scatter_steps(const struct rps_scatter *scatter, const struct rps_period *row, int j,
                         int k);

/* Reduce the moments of a block of level 1 to a scatter without extremes. *sum is the row with the
 * sums of the block. */
void rps_scatter_of(const struct rps_moments *moments, const struct rps_period *sum,
                    struct rps_scatter *ret);

/* Return an empty scatter, without blocks. */
struct rps_scatter rps_scatter_none(void);

/* Widen the extremes to include a value. NaN is ignored. */
void rps_scatter_widen(double *least, double *most, double value);

/* Add the scatter of the next block. If `sum` has 0 parts, it becomes a copy of `next`.
 * rps_scatter_add_beside adds a block of another CPU, as if the CPUs were independent. The extremes
 * then become NaN, because there is no common rotation that they belong to. */
void rps_scatter_add(struct rps_scatter *sum, const struct rps_scatter *next);
void rps_scatter_add_beside(struct rps_scatter *sum, const struct rps_scatter *other);
