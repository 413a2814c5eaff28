/*
 * Moments: sums that give the intervals of an event set's estimates (rpistat/tally.h), kept while
 * readings stream in. A reading is a period in which the set was on. In it, c is a slot's count, r
 * the time that the slot was counted, and D the difference to the reading before. A block of a
 * coarser level keeps only the scatter of its readings.
 */
#ifndef RPISTAT_MOMENTS_H
#define RPISTAT_MOMENTS_H

#include <stdint.h>

#include "rpistat/period.h"

/* How the periods of a block's row differ, within its blocks of level 1. Differences across these
 * are not kept. */
struct rps_scatter {
    uint64_t parts;                            /* blocks of level 1 in it */
    uint64_t readings[RPS_SLOT_MAX];           /* periods in which the slot was counted */
    double squares[RPS_SLOT_MAX];              /* sum of c^2 */
    double cc[RPS_SLOT_MAX][RPS_SLOT_MAX];     /* [j][k], j <= k: sum of Dc_j Dc_k */
    double cr[RPS_SLOT_MAX], rr[RPS_SLOT_MAX]; /* sums of Dc Dr, Dr Dr */
    double own[RPS_SLOT_MAX],
        fourth[RPS_SLOT_MAX]; /* sums of (Dd)^2, (Dd)^4, d = c - R r with the R
                                                       of each block; fourth NaN: not known */
    /* extremes of the rotations in the block, NaN: none has it; events per s of elapsed time */
    double least[RPS_SLOT_MAX], most[RPS_SLOT_MAX];
    double least_use, most_use; /* CPU time per elapsed time, 1: all of a CPU; in the row of */
    double use_steps;           /* set 0; sum of (D of it)^2 within blocks of level 1 */
};

struct rps_slot_moments {
    uint64_t readings;       /* in which the slot was counted */
    uint64_t steps;          /* differences that were added up */
    double first_c, first_r; /* of the first reading */
    double second_c, second_r;
    double prior_c, prior_r; /* of the last reading but one */
    double last_c, last_r;   /* of the last reading; counts in events, times in ns */
    uint64_t first_merged; /* number of readings that the first is the mean of: 1, or of a block, */
    uint64_t last_merged;  /* and the last */
    double before_ns;      /* enabled time of the segment before the first reading, */
    double until_ns;       /* until the end of the last reading, */
    double turn_ns;        /* and until its rotation, or block, began */
    double squares;        /* sum of c^2 */
    double cc, cr, rr;     /* sums of Dc Dc, Dc Dr, Dr Dr */
    double cccc, cccr, ccrr, crrr, rrrr;
    double block_cc, block_cr, block_rr; /* the blocks' part of these, */
    double block_own, block_fourth;      /* and sums of (Dd)^2, (Dd)^4 in them, with their own R */
};

struct rps_moments {
    struct rps_slot_moments slot[RPS_SLOT_MAX];
    double cross[RPS_SLOT_MAX][RPS_SLOT_MAX]; /* [j][k], j < k: sum of Dc_j Dc_k */
    int slots;                                /* slots from this one on were never counted */
};

/* Add a reading after the others, or a whole block; a block of unknown scatter counts as one
 * reading. Slots that it did not count stay the same. The segment has before_ns of enabled time
 * before the reading, and turn_ns before its rotation or block, whose rows are consecutive. */
void rps_moments_add(struct rps_moments *moments, const struct rps_period *period,
                     uint64_t before_ns, uint64_t turn_ns);

/* Set the first readings of a slot whose moments begin with a block. */
void rps_moments_set_start(struct rps_slot_moments *slot, const double count[2],
                           const double counted_ns[2], double before_ns);

/*
 * Add the moments of the readings that follow, from a segment with `before_ns` of enabled time
 * before it and a rotation of its own. The result is that of one pass over all readings, with one
 * exception. If two slots were first counted in different readings of `next`, the product of their
 * differences across the seam is added to `cross`, though they belong to two readings.
 */
void rps_moments_join(struct rps_moments *moments, const struct rps_moments *next,
                      uint64_t before_ns);

/*
 * Return the sum of (Dd_j Dd_k), d = c - R r with the slot's own R = sum c / sum r (`ratio`). It
 * shows how much two estimates vary together, or one of them (j = k).
 */
double rps_moments_squares(const struct rps_moments *moments, int j, int k, const double *ratio);

/*
 * Return the degrees of freedom of a slot's sum of squares, at least 1. They are half of (sum e)^2
 * / sum e^2 with e = (Dd)^2 (Satterthwaite 1946). It is half, since a few readings show less of a
 * heavy tail than there is. If tails are heavy or the workload sleeps, the intervals hold in 92 to
 * 98 of 100 cases; without halving, in 87 to 97 (tests/bench/intervals).
 */
double rps_moments_freedom(const struct rps_moments *moments, int slot, double ratio);

/* Return the sum of Dd_j Dd_k in the block, d = c - R r with the ratios of its row. */
double rps_scatter_steps(const struct rps_scatter *scatter, const struct rps_period *row, int j,
                         int k);

/* Reduce the moments of a block of level 1, a row with the sums *sum, to a scatter without
 * extremes. */
void rps_scatter_of(const struct rps_moments *moments, const struct rps_period *sum,
                    struct rps_scatter *ret);

/* Return the scatter of no block. */
struct rps_scatter rps_scatter_none(void);

/* Widen the extremes by one value; NaN is ignored. */
void rps_scatter_widen(double *least, double *most, double value);

/* Add the scatter of the next block; a sum with 0 parts begins with it. rps_scatter_add_beside adds
 * a block of another CPU. It adds the steps as if CPUs were independent, and sets the extremes to
 * NaN, since they belong to no rotation. */
void rps_scatter_add(struct rps_scatter *sum, const struct rps_scatter *next);
void rps_scatter_add_beside(struct rps_scatter *sum, const struct rps_scatter *other);

#endif
