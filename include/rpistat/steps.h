/* Steps: the runs at which the level of a value changes. Each value comes from a separate run, so
 * the values may be few. Pure functions. */
#pragma once

#include <stddef.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"

#define RPS_STEPS_MIN  6 /* minimum number of values in which a step can be found */
#define RPS_STEPS_LAST 5 /* number of values with a step, for rps_steps_find */

/* The value of a run. */
struct rps_step {
    double value, floor; /* value (NaN: none), and its minimum variance by chance (0: none) */
    int may_begin;       /* 1: a level may begin with the run; 0: it repeats the previous run */
    int is_outlier;      /* set: 1 if the run has no influence on the levels */
    int begins;          /* set: 1 if a new level begins with the run */
    double p;            /* set: p value of this step at its place */
    double corrected;    /* set: p value of this step, corrected for the number of places */
};

/* Find the steps of values in order of time. A value that is far from the median of seven is an
 * outlier. If at least three last values, or at least three repeats of a run, are all that far
 * from the median, they are not outliers. The detector of phases proposes steps. Within its
 * segments, the place with the largest t statistic is a step if the corrected p is below alpha.
 * The correction is the smaller of Bonferroni's and that of James, James and Siegmund, "Tests
 * for a change-point" (Biometrika 74, 1987). If successive residuals are correlated, the
 * variance of the test is increased. A level has at least three values; fewer than five must all
 * be above or below the other side. *ret_found is the least step, as a share of the value, that
 * is found in 95 of 100 cases if the last five values have it. NaN: the last level has fewer
 * than eight values. *ret_trend is the change, as a share, along a line through the last level.
 * 0: its p is not below alpha / 10. Errors are those of rps_detect. */
int rps_steps_find(struct rps_arena *arena, struct rps_step *step, size_t count, double alpha,
                   double *ret_found, double *ret_trend, struct rps_error *err);
