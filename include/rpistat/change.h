/*
 * Changes: does a figure differ between two sides of runs, by how much, and how sure is that. The
 * run is the unit: runs of one program differ (layout, temperature, neighbours) by more than the
 * periods within a run tell. So one run a side has no test; by what varies within two runs that
 * differ by 1 % every second pair of the same would be told to differ. Pure functions.
 */
#ifndef RPISTAT_CHANGE_H
#define RPISTAT_CHANGE_H

#include <stddef.h>

#include "rpistat/arena.h"

#define RPS_CHANGE_ALPHA    .05 /* a difference is significant below this p */
#define RPS_CHANGE_RUNS_MIN 5   /* with fewer runs on a side, a verdict also needs ranks */

enum rps_change_basis {
    RPS_CHANGE_NONE,     /* there is no test; `why` says why */
    RPS_CHANGE_GROUPS,   /* two or more runs a side: Welch's t test */
    RPS_CHANGE_BASELINE, /* one run against several: t with the variance of these */
};

enum rps_change_why {
    RPS_CHANGE_TESTED,
    RPS_CHANGE_ABSENT, /* a side has no value */
    RPS_CHANGE_SINGLE, /* one run a side does not tell how much it varies from run to run */
    RPS_CHANGE_WILD,   /* an uncertainty that has no bounds */
};

/* A figure in one run. */
struct rps_change_value {
    double value; /* NaN: none */
    double floor; /* the least variance that such a value has, as that of a count by chance or a
                     length by the measurement period; 0: none */
};

/* Side A is what was, side B what is. */
struct rps_change {
    double a, b;      /* means of the sides: geometric where no value is 0 or below */
    double ratio;     /* (b - a) / |a|: .03 is 3 % more; NaN when a is 0 or a side has no value */
    double low, high; /* 95 % interval of ratio; NaN: none. Where a is 0, of b - a */
    double p;         /* two-sided, of no difference; NaN without a test */
    double adjusted;  /* the same corrected for all that was compared (rps_change_correct) */
    enum rps_change_basis basis;
    enum rps_change_why why;
    double spread; /* how far a run of A and one of B are apart by chance: the standard deviation
                         of the logarithm of their ratio, or, on values, of `ratio` (where a is 0 of
                         b - a); NaN: not known, as from one run a side */
    int is_log;    /* 1: compared as logarithms */
    int is_few;    /* 1: p is below RPS_CHANGE_ALPHA, but a side has too few runs */
};

/*
 * The change from the runs of side A to those of side B; runs without a value are left out. With
 * two or more a side Welch's t test (1947), with one against several Student's with n - 1 degrees
 * and a variance of s^2 (1 + 1 / n): on logarithms, or where a value is 0 or below on the values. A
 * side's variance is at least the mean of its floors, and what rounding makes (1e-12 of the values).
 * adjusted is p.
 *
 * With fewer than RPS_CHANGE_RUNS_MIN values on a side, p is not enough: one run that a neighbour slowed
 * down may be the whole change. Unless all values of one side are above all of the other, which chance
 * must do in fewer than RPS_CHANGE_ALPHA of the cases (Mann and Whitney, 1947), is_few is set.
 */
struct rps_change rps_change_find(const struct rps_change_value *a, size_t a_count,
                                  const struct rps_change_value *b, size_t b_count);

/* 1 when the change has a test; where nothing happened on either side there was nothing to test. */
int rps_change_is_tested(const struct rps_change *change);

/* Holm's correction (1979) of all these that are tested: adjusted of p, for the chance of any false
 * alarm among them. */
void rps_change_correct(struct rps_arena *arena, struct rps_change *const *change, size_t count);

/* Is a change within a limit? */
enum rps_change_answer {
    RPS_CHANGE_HOLDS,     /* its whole interval is */
    RPS_CHANGE_FAILS,     /* its whole interval is beyond */
    RPS_CHANGE_UNDECIDED, /* the limit lies in the interval; or there is one run a side, which does
                             not tell how runs vary */
};

/* Their names: "holds", "fails", "undecided". */
extern const char *const rps_change_answers[];

/* The answer for a limit of ratio: is_above 1: it may not be more, 0: not less. A limit on a ratio
 * is one on the difference b - a, of limit * |a|; so from 0 any rise is beyond. */
enum rps_change_answer rps_change_judge(const struct rps_change *change, double limit,
                                        int is_above);

/* More runs per side are not counted: the change is the limit, but for rounding. */
#define RPS_CHANGE_RUNS_MAX 1e12

/*
 * How many runs a side would decide what is undecided, in 8 of 10 cases, if the change and the
 * spread are as they were found: the least n with
 *
 *     n >= (t(.975, 2 n - 2) + z(.8))^2 spread^2 / d^2
 *
 * where d is how far the change is from the limit, t the quantile of Student's distribution of the
 * interval and z that of the normal one (NIST/SEMATECH e-Handbook of Statistical Methods, 7.2.2.2,
 * of two samples). INFINITY: more than RPS_CHANGE_RUNS_MAX. NaN: the spread is not known.
 */
double rps_change_runs(const struct rps_change *change, double limit);

#endif
