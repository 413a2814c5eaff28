/* Changes: whether a metric differs between two sides of runs, by how much, and how certainly. Each
 * run is one observation, because runs of one program differ (layout, temperature, neighbours) more
 * than periods within a run suggest. Therefore, there is no test for one run per side. If a test
 * used the variation within runs, every second pair of equal runs that are 1 % apart would seem to
 * differ. Pure functions. */
#pragma once

#include <stddef.h>

#include "rpistat/apart.h"
#include "rpistat/arena.h"

#define RPS_CHANGE_ALPHA    .05 /* Differences with a p value below this level are significant. */
#define RPS_CHANGE_RUNS_MIN 5   /* With fewer runs per side than this, a rank test is needed. */

enum rps_change_basis {
    RPS_CHANGE_NONE,     /* There is no test; `why` has the reason. */
    RPS_CHANGE_GROUPS,   /* Two or more runs per side: Welch's t test */
    RPS_CHANGE_BASELINE, /* One run against several runs: t test with the several runs' variance */
};

enum rps_change_why {
    RPS_CHANGE_TESTED,
    RPS_CHANGE_ABSENT, /* One side has no value. */
    RPS_CHANGE_SINGLE, /* One run per side does not show how values vary between runs. For
                          medians, one side has only one run. */
    RPS_CHANGE_WILD,   /* The interval of the change has no finite ends. */
};

/* Statistic that represents the runs of a side. */
enum rps_change_statistic { RPS_CHANGE_MEAN, RPS_CHANGE_MEDIAN };

/* Value of a metric in one run. */
struct rps_change_value {
    double value; /* Value of the metric (NaN: none) */
    double floor; /* Minimum variance of the value (0: none). For a count, the minimum follows
                     from chance. For a time, the minimum follows from the measurement period. */
};

/* Change from side A, the earlier state, to side B, the later state. */
struct rps_change {
    double a, b;      /* Medians of the sides, or means (geometric if all values are above 0) */
    double ratio;     /* (b - a) / |a|: .03 is 3 % more (NaN: a is 0, or a side has no value) */
    double low, high; /* 95 % interval of ratio, or of b - a if a is 0 (NaN: none) */
    double p;         /* Two-sided p value for the hypothesis of no difference (NaN: no test) */
    double adjusted;  /* p corrected for all compared changes (rps_change_correct) */
    enum rps_change_basis basis;
    enum rps_change_why why;
    double spread; /* Standard deviation of the difference between a run of A and a run of B by
                      chance (NaN: unknown, for example with one run per side). If is_log is 1,
                      the deviation is that of the logarithm of the two runs' ratio. Otherwise it
                      is the deviation of `ratio`, or of b - a if a is 0. */
    int is_log;    /* 1 if the values are compared as logarithms, 0 if not */
    int is_few;    /* 1 if p is below RPS_CHANGE_ALPHA but a side has too few runs */
    int is_chance; /* 1 if there is one run per side, and the floors alone explain the difference:
                      it is within RPS_CHANCE_Z standard deviations */
};

/* Return the probability that chance alone puts all of `a` runs above or below all of `b` runs. */
double rps_change_rank_chance(size_t a, size_t b);

/* Find the change from the runs of side A to the runs of side B. Runs without a value are left out.
 * Two or more runs per side are compared by Welch's t test (1947). One run is compared with n runs
 * by Student's t test, with n - 1 degrees of freedom and a variance of s^2 (1 + 1 / n). Tests use
 * logarithms, or values if any value is 0 or below. A side's variance is at least the mean of its
 * floors, and at least the variance of rounding (1e-12 of the values). `adjusted` is set to p.
 *
 * With fewer than RPS_CHANGE_RUNS_MIN values on a side, p is not enough, because a single run that
 * another program slowed down may cause the whole change. is_few is then set unless all values of
 * one side are above all values of the other. In addition, the probability that chance alone
 * separates the sides so clearly must be less than RPS_CHANGE_ALPHA (Mann and Whitney, 1947).
 *
 * Medians need two or more runs per side. The interval of the medians' ratio follows from order
 * statistics and the binomial distribution (Price and Bonett, "Distribution-free confidence
 * intervals for difference and ratio of medians", 2002). With two or three runs on a side,
 * Student's quantile replaces the normal quantile, because the spread of so few runs is usually too
 * small. */
struct rps_change rps_change_find(const struct rps_change_value *a, size_t a_count,
                                  const struct rps_change_value *b, size_t b_count,
                                  enum rps_change_statistic statistic);

/* Return 1 if a run differs from the other runs of its side by more than their variation explains.
 * The test is Student's t test of one run against several. The level is 5 % for all runs of the
 * side together (Grubbs, 1969). With fewer than four runs, no run is an outlier. The function
 * changes the order of the array, and restores the order before it returns. */
int rps_change_is_outlier(struct rps_change_value *value, size_t count, size_t run);

/* Return 1 if the change has a test. There is no test if both sides are 0. */
int rps_change_is_tested(const struct rps_change *change);

/* Apply Holm's correction (1979) to all tested changes. Set `adjusted` from p, so that the
 * probability of even one false alarm among the tested changes is limited. */
void rps_change_correct(struct rps_arena *arena, struct rps_change *const *change, size_t count);

/* Answer to the question whether a change is within a limit. */
enum rps_change_answer {
    RPS_CHANGE_HOLDS,        /* The whole interval is within the limit. */
    RPS_CHANGE_FAILS,        /* The whole interval is beyond the limit. */
    RPS_CHANGE_INCONCLUSIVE, /* The limit is within the interval, or there is one run per side,
                                which does not show how runs vary. */
};

/* Names of the answers: "holds", "fails", "undecided". */
extern const char *const rps_change_answers[];

/* Return whether a change is within a limit of its ratio. With is_above 1 the change must not be
 * above the limit; with 0 it must not be below. The limit of b - a is limit * |a|. If a is 0, any
 * rise exceeds the limit. */
enum rps_change_answer rps_change_judge(const struct rps_change *change, double limit,
                                        int is_above);

/* Maximum number of runs per side. If more are needed, change and limit differ only by rounding. */
#define RPS_CHANGE_RUNS_MAX 1e12

/* Return how many runs per side would give an answer other than inconclusive in 8 of 10 cases, if
 * change and spread remain equal. The result is the smallest n with
 *
 *     n >= (t(.975, 2 n - 2) + z(.8))^2 spread^2 / d^2
 *
 * d is the distance of the change from the limit. t is a quantile of Student's distribution, for
 * the interval; z is a quantile of the normal distribution (NIST/SEMATECH e-Handbook of Statistical
 * Methods, 7.2.2.2, two samples). The result is INFINITY if n is above RPS_CHANGE_RUNS_MAX, and NaN
 * if the spread is unknown. */
double rps_change_runs(const struct rps_change *change, double limit);
