/*
 * Moments: what the intervals of one event set's estimates follow from (rpistat/tally.h), kept
 * while its readings stream by. A reading is a period in which the set was on, or the sum of a
 * block of them; c is a slot's count in it, r the time that the slot was counted, and D the
 * difference to the reading before.
 */
#ifndef RPISTAT_MOMENTS_H
#define RPISTAT_MOMENTS_H

#include <stdint.h>

#include "rpistat/period.h"

struct rps_slot_moments {
    uint64_t readings;       /* in which the slot was counted */
    double first_c, first_r; /* of the first of them */
    double second_c, second_r;
    double last_c, last_r; /* of the last one; counts in events, times in ns */
    double before_ns;      /* enabled time of the stretch before the first of them, */
    double until_ns;       /* until the end of the last, */
    double turn_ns;        /* and until the rotation of the last began */
    double squares;        /* sum of c^2 */
    double cc, cr, rr;     /* sums of Dc Dc, Dc Dr, Dr Dr */
    double cccc, cccr, ccrr, crrr, rrrr;
};

struct rps_moments {
    struct rps_slot_moments slot[RPS_SLOT_MAX];
    double cross[RPS_SLOT_MAX][RPS_SLOT_MAX]; /* [j][k], j < k: sum of Dc_j Dc_k */
    int slots;                                /* those from this one on were never counted */
};

/* Add a reading behind the others. A slot that was not counted in it has no part in it. The
 * stretch's enabled time before the reading and before its rotation. */
void rps_moments_add(struct rps_moments *moments, const struct rps_period *period,
                     uint64_t before_ns, uint64_t turn_ns);

/*
 * Add the moments of the readings that follow, of a stretch with `before_ns` of enabled time before
 * it and a rotation of its own: what one would have that saw them all. In one case it is not quite
 * that: where two slots were first counted in different readings of `next`, the
 * product of their differences across the seam is added to `cross`, though they belong to two
 * readings.
 */
void rps_moments_join(struct rps_moments *moments, const struct rps_moments *next,
                      uint64_t before_ns);

/*
 * Sum of (Dd_j Dd_k), d = c - R r with the slot's own R = sum c / sum r (`ratio`): what two
 * estimates vary by together, or one of them (j = k).
 */
double rps_moments_squares(const struct rps_moments *moments, int j, int k, const double *ratio);

/*
 * Degrees of freedom of a slot's sum of squares, at least 1: half of (sum e)^2 / sum e^2 with e =
 * (Dd)^2 (Satterthwaite 1946). Half, since a few readings show less of a heavy tail than there is:
 * with all of it the intervals hold in 87 to 97 cases of 100 where tails are heavy or the workload
 * sleeps, with half of it in 92 to 98 (tests/bench/intervals).
 */
double rps_moments_freedom(const struct rps_slot_moments *slot, double ratio);

#endif
