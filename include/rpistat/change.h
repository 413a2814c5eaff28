/*
 * Changes: whether a metric differs between two sides of runs, by how much, and how certain that
 * is. The run is the unit: runs of one program differ (layout, temperature, neighbours) by more
 * than periods within a run suggest. So one run per side has no test. By the variation within two
 * runs that differ by 1 %, every second pair of equal runs would differ. Pure functions.
 */
#ifndef RPISTAT_CHANGE_H
#define RPISTAT_CHANGE_H

#include <stddef.h>

#include "rpistat/arena.h"

#define RPS_CHANGE_ALPHA    .05 /* a difference is significant below this p */
#define RPS_CHANGE_RUNS_MIN 5   /* with fewer runs on a side, a verdict also needs ranks */

enum rps_change_basis {
    RPS_CHANGE_NONE,     /* no test; `why` is the reason */
    RPS_CHANGE_GROUPS,   /* two or more runs per side: Welch's t test */
    RPS_CHANGE_BASELINE, /* one run against several: t with their variance */
};

enum rps_change_why {
    RPS_CHANGE_TESTED,
    RPS_CHANGE_ABSENT, /* a side has no value */
    RPS_CHANGE_SINGLE, /* one run per side does not show how values vary between runs */
    RPS_CHANGE_WILD,   /* an uncertainty without bounds */
};

/* A metric in one run. */
struct rps_change_value {
    double value; /* NaN: none */
    double floor; /* minimum variance of such a value, as that of a count by chance or of a length
                     by the measurement period; 0: none */
};

/* Side A is the earlier state, side B the later one. */
struct rps_change {
    double a, b;      /* means of the sides: geometric if all values are above 0 */
    double ratio;     /* (b - a) / |a|: .03 is 3 % more; NaN: a is 0 or a side has no value */
    double low, high; /* 95 % interval of ratio; NaN: none. If a is 0, of b - a */
    double p;         /* two-sided, of no difference; NaN: no test */
    double adjusted;  /* p corrected for all that was compared (rps_change_correct) */
    enum rps_change_basis basis;
    enum rps_change_why why;
    double spread; /* how far a run of A and one of B are apart by chance: standard deviation of the
                      logarithm of their ratio; for values, of `ratio` (if a is 0, of b - a). NaN:
                      not known, as for one run per side */
    int is_log;    /* 1: compared as logarithms */
    int is_few;    /* 1: p is below RPS_CHANGE_ALPHA, but a side has too few runs */
};

/*
 * Find the change from the runs of side A to those of side B; runs without a value are left out.
 * Two or more per side have Welch's t test (1947). One against several has Student's, with n - 1
 * degrees and a variance of s^2 (1 + 1 / n). Tests use logarithms, or values if one is 0 or below.
 * A side's variance is at least the mean of its floors, and rounding's (1e-12 of the values).
 * adjusted is p.
 *
 * With fewer than RPS_CHANGE_RUNS_MIN values on a side, p is not enough: one run that a neighbour
 * slowed down may be the whole change. is_few is set unless all values of one side are above all of
 * the other. Chance must do that in fewer than RPS_CHANGE_ALPHA of cases (Mann and Whitney, 1947).
 */
struct rps_change rps_change_find(const struct rps_change_value *a, size_t a_count,
                                  const struct rps_change_value *b, size_t b_count);

/* Return 1 if the change has a test. There is none if both sides are 0. */
int rps_change_is_tested(const struct rps_change *change);

/* Apply Holm's correction (1979) to all of these that are tested: set `adjusted` from p, for the
 * chance of any false alarm among them. */
void rps_change_correct(struct rps_arena *arena, struct rps_change *const *change, size_t count);

/* The answer to: is a change within a limit? */
enum rps_change_answer {
    RPS_CHANGE_HOLDS,     /* its whole interval is within */
    RPS_CHANGE_FAILS,     /* its whole interval is beyond */
    RPS_CHANGE_UNDECIDED, /* the limit is within the interval, or there is one run per side, which
                             does not show how runs vary */
};

/* Their names: "holds", "fails", "undecided". */
extern const char *const rps_change_answers[];

/* Return the answer for a limit of ratio. is_above 1: it must not be more; 0: not less. A limit on
 * a ratio is one on the difference b - a, of limit * |a|; so from 0 any rise exceeds it. */
enum rps_change_answer rps_change_judge(const struct rps_change *change, double limit,
                                        int is_above);

/* Maximum number of runs per side: beyond it, the change equals the limit except for rounding. */
#define RPS_CHANGE_RUNS_MAX 1e12

/*
 * Return how many runs per side would decide an inconclusive answer in 8 of 10 cases, with the same
 * change and spread. This is the least n with
 *
 *     n >= (t(.975, 2 n - 2) + z(.8))^2 spread^2 / d^2
 *
 * d: distance of the change from the limit. t: quantile of Student's distribution for the interval.
 * z: that of the normal one (NIST/SEMATECH e-Handbook of Statistical Methods, 7.2.2.2, two
 * samples). INFINITY: more than RPS_CHANGE_RUNS_MAX. NaN: the spread is not known.
 */
double rps_change_runs(const struct rps_change *change, double limit);

#endif
