/* Tallies: sums over a time range of a run. All estimates are computed from tallies.
 *
 * A range is the whole run, a rotation, a bin of a plot or a phase. Raw counts, times and periods
 * are summed per event set. The scaled estimate of an event is
 *
 *     raw count x (enabled time of the range) / (time of the range in which the event was counted)
 *
 * The estimate is the expected count for an event that is counted all the time. If periods
 * have equal lengths, the estimate is raw count x number of periods / number of the set's periods,
 * as in the program of 2013. A failed reading adds nothing, neither to the count nor to the time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/interval.h"
#include "rpistat/moments.h"
#include "rpistat/period.h"

struct rps_formula;
struct rps_plan;

struct rps_set_tally {
    uint64_t periods;    /* number of periods in which the event set was active */
    uint64_t clock;      /* ticks of the clock event in the set's periods */
    uint64_t enabled_ns; /* enabled time of the set's periods */
    uint64_t running_ns;
    uint64_t lost_ns; /* enabled time of periods with counters for less than a tenth of it */
    uint64_t count[RPS_SLOT_MAX];
    uint64_t counted[RPS_SLOT_MAX];    /* Number of periods in which the slot was counted. All
                                          periods of a block are included. */
    uint64_t counted_ns[RPS_SLOT_MAX]; /* sum of running_ns over the slot's counted periods */
    struct rps_moments moments;
};

struct rps_tally {
    uint64_t periods;
    uint64_t clock; /* ticks of the clock event in the time in which it had a counter */
    uint64_t clock_running_ns;
    uint64_t enabled_ns;
    int64_t idle_ns; /* Idle part of enabled_ns for whole CPUs. 0 for a workload; -1: not known. */
    int64_t length_ns;
    int64_t cpus_length_ns;   /* sum of the lengths of all CPUs; 0 for a workload */
    int64_t start_ns, end_ns; /* start of the first added period, and end of the last */
    uint64_t missed;
    int64_t switch_ns;
    int from_start; /* 1 if the first added period is the first period of the run */
    int is_drawn;   /* 1 if, in any rotation, the sets are not in the order of their numbers */
    int has_blocks; /* 1 if some of the added rows are blocks whose spread is unknown */
    int is_plain;   /* Set by the owner: 1 to add no moments, so that there are no intervals. */
    uint64_t rotation, rotation_ns; /* number of the last rotation, and enabled time before */
    int set_count;
    const struct rps_plan *plan; /* plan of the counts (borrowed) */
    double *scaled; /* For imports with scaled counts: share of the time (0 to 1) in which slot s
                       of set n was counted, at n * RPS_SLOT_MAX + s. NULL: no count is scaled. */
    struct rps_set_tally *set;
};

/* Return an empty tally for the sets of the plan. The plan must outlive the tally. */
struct rps_tally rps_tally_new(struct rps_arena *arena, const struct rps_plan *plan);
void rps_tally_reset(struct rps_tally *tally);

/* Add a period. A period of an unknown set is added only to the totals of all sets. */
void rps_tally_add(struct rps_tally *tally, const struct rps_period *period);

/* Add another tally of the same plan. Its range may be before or after the range of `tally`. */
void rps_tally_merge(struct rps_tally *tally, const struct rps_tally *other);

/* Return the scaled estimate of a slot. Return NaN if the slot was never counted. Return 0 if the
 * slot was counted but the workload did not run (enabled time 0). */
double rps_tally_estimate(const struct rps_tally *tally, int set, int slot);

/* Put the estimate of rps_tally_estimate into *ret, rounded down to a whole number in exact 128-bit
 * arithmetic. Return 1, or 0 if there is no estimate. */
int rps_tally_estimate_u64(const struct rps_tally *tally, int set, int slot, uint64_t *ret);

/* Return the clock event's ticks while the workload ran, scaled for the time in which another
 * program used the clock event's counter. If the clock event was never counted, return NaN; the
 * function whose name ends with _u64 returns 0. */
double rps_tally_clock(const struct rps_tally *tally);
int rps_tally_clock_u64(const struct rps_tally *tally, uint64_t *ret);

/* Return 1 if the clock event lacked a counter for some time, so that its ticks are scaled. */
int rps_tally_clock_is_scaled(const struct rps_tally *tally);

/* Return 1 if Linux stopped counting a process in the range. The estimates of the range are then
 * not scaled for the time without a clock event, because nothing is known about this time. */
int rps_tally_is_incomplete(const struct rps_tally *tally);

/* Return the share (0 to 1) of the range's enabled time in which the set was counted. Return NaN if
 * the workload was idle. */
double rps_tally_counted(const struct rps_tally *tally, int set);

/* Return the share (0 to 1) of the enabled time of the set's own periods in which the set had
 * counters. The share is a little below 1 because of switching, and much lower if another program
 * uses the PMU. Return NaN if the workload was idle. */
double rps_tally_coverage(const struct rps_tally *tally, int set);

/* Return 1 if a value of the formula can be computed for the range. Return 0 if estimates would
 * mean nothing, because the workload hardly ran, or ran only outside the periods of a set that the
 * formula needs. Return 0 also if the formula uses counts and the range is incomplete. */
int rps_tally_carries(const struct rps_tally *tally, const struct rps_formula *formula);

/* Return 1 if the set was active for less than a tenth of the time that it would have if all sets
 * were active equally long. The set's counts are then not representative of the range. */
int rps_tally_hardly(const struct rps_tally *tally, int set);

/* Return the estimate of a slot or of the clock event, or the value of a formula, each with its
 * interval. The interval comes from the differences of successive readings, in logarithms, with t
 * and Satterthwaite's degrees of freedom. Source for systematic sampling: Wolter, Introduction to
 * Variance Estimation (2nd edition, 2007, section 8.2, estimator v2). Counts at the ends of the
 * range, or before a set's first period in the run, may be missing; therefore, one end of the
 * interval is farther from the estimate. A formula's interval comes from its derivatives. For
 * events of one set, the covariance of the events is used. If events are in several sets, the
 * calculation assumes that each set missed the counts in the periods of the other sets. `operand`
 * is scratch for rps_plan_operand_count(plan) values, filled by rps_tally_operands. */
struct rps_interval rps_tally_interval(const struct rps_tally *tally, int set, int slot);
struct rps_interval rps_tally_clock_interval(const struct rps_tally *tally);
struct rps_interval rps_tally_formula_interval(const struct rps_tally *tally,
                                               const struct rps_formula *formula, double *operand);

/* Return the median size of the steps between the values of a formula over consecutive ranges, in
 * logarithms. A step is the difference of two neighbouring values. Values may be NaN (unknown).
 * Return NaN for fewer than five steps. The beginning of a phase within the ranges hardly changes
 * the median. At most RPS_TALLY_NEIGHBOURS steps are used. */
#define RPS_TALLY_NEIGHBOURS 16
double rps_tally_usual_step(const double *value, size_t count);

/* Return the interval of a short range: a bin or a rotation. If the range has fewer than 16
 * readings, the interval also depends on the usual step between neighbouring ranges. */
struct rps_interval rps_tally_short_interval(const struct rps_tally *tally,
                                             const struct rps_formula *formula, double *operand,
                                             double usual_step);

/* Fill the operands of the plan's formulas; `operand` has rps_plan_operand_count(plan) elements. */
void rps_tally_operands(const struct rps_tally *tally, const struct rps_plan *plan,
                        double *operand);

/* Set `whole` of the plan's clock event, events and metrics to the values of the tally. `operand`
 * is scratch for rps_plan_operand_count(plan) values. */
void rps_tally_conclude(const struct rps_tally *tally, struct rps_plan *plan, double *operand);

/* Student's t distribution. The degrees of freedom need not be a whole number. */

/* Return the probability that a value of at least |t| occurs by chance. freedom > 0; INFINITY gives
 * the normal distribution. Return NaN if an argument is NaN. */
double rps_student_p(double t, double freedom);

/* Return the z that a standard normal variable exceeds with this probability, at most .5. */
double rps_normal_above(double probability);

/* Return the limit that |t| exceeds with a probability of .05, or p; freedom >= 1. */
double rps_student_95(double freedom);
double rps_student_limit(double p, double freedom);
