/*
 * Tallies: sums over a time range of a run. All estimates are made here.
 *
 * A range may be the whole run, a rotation, a bin of a plot or a phase. Raw counts, times and
 * periods are summed per event set. The scaled estimate of an event is
 *
 *     raw count x (enabled time of the range) / (time in it during which the event was counted)
 *
 * This is the count that counting all the time would give. For periods of equal length it is the
 * rule of 2013: raw x total periods / periods of the set. A failed reading is in neither sum.
 */
#ifndef RPISTAT_TALLY_H
#define RPISTAT_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/interval.h"
#include "rpistat/moments.h"
#include "rpistat/period.h"

struct rps_formula;
struct rps_plan;

struct rps_set_tally {
    uint64_t periods;    /* in which the set was on */
    uint64_t clock;      /* ticks of the clock event in those periods */
    uint64_t enabled_ns; /* of those periods */
    uint64_t running_ns;
    uint64_t count[RPS_SLOT_MAX];
    uint64_t counted[RPS_SLOT_MAX];    /* periods, whole blocks of them, in which the slot was
                                          counted */
    uint64_t counted_ns[RPS_SLOT_MAX]; /* running_ns while it was */
    struct rps_moments moments;
};

struct rps_tally {
    uint64_t periods;
    uint64_t clock; /* ticks of the clock event, while it was on a counter */
    uint64_t clock_running_ns;
    uint64_t enabled_ns;
    int64_t idle_ns; /* of whole CPUs, part of enabled_ns; 0 for a workload; -1: not known */
    int64_t length_ns;
    int64_t cpus_length_ns;   /* of whole CPUs: their lengths added up; 0: of a workload */
    int64_t start_ns, end_ns; /* of the first and the last period added */
    uint64_t missed;
    int64_t switch_ns;
    int from_start;             /* 1: the first period added is the run's first */
    int is_drawn;               /* 1: some rotation has the sets in another order than by number */
    int has_blocks;             /* 1: some rows are sums over blocks, whose spread is unknown */
    int is_plain;               /* 1, set by its owner: adds no moments, so has no intervals */
    uint64_t rotation, turn_ns; /* the last rotation, and the enabled time before it */
    int set_count;
    const struct rps_plan *plan; /* borrowed */
    double *scaled; /* NULL: none is. At n * RPS_SLOT_MAX + s for slot s of set n: share of the time
                       for which an import's recorder counted what it scaled; 1: all */
    struct rps_set_tally *set;
};

/* Return a zero tally over the sets of the plan, which must outlive it. */
struct rps_tally rps_tally_new(struct rps_arena *arena, const struct rps_plan *plan);
void rps_tally_reset(struct rps_tally *tally);

/* Add one period; periods of an unknown set are counted in the totals only. */
void rps_tally_add(struct rps_tally *tally, const struct rps_period *period);

/* Add `other`, a tally of the same plan over a range after or before this one. */
void rps_tally_merge(struct rps_tally *tally, const struct rps_tally *other);

/*
 * Return the scaled estimate of a slot. NaN: the slot was never counted. 0: the workload did not
 * run (enabled time 0), and the slot was counted.
 */
double rps_tally_estimate(const struct rps_tally *tally, int set, int slot);

/*
 * Return 1 and, in *ret, the same estimate, rounded down to a whole number in exact 128-bit
 * arithmetic. Return 0 if there is no estimate.
 */
int rps_tally_estimate_u64(const struct rps_tally *tally, int set, int slot, uint64_t *ret);

/*
 * Return the clock event's ticks while the workload ran. They are scaled for the time in which
 * another program had the clock event's counter. NaN, or 0 from the _u64 function: it never ran.
 */
double rps_tally_clock(const struct rps_tally *tally);
int rps_tally_clock_u64(const struct rps_tally *tally, uint64_t *ret);

/* Return 1 if the clock event lacked a counter for some time, so that its ticks are scaled. */
int rps_tally_clock_is_scaled(const struct rps_tally *tally);

/* Return 1 if Linux stopped counting a process in the range. Its estimates are not scaled for the
 * time without a clock event, because nothing is known about that time. */
int rps_tally_is_incomplete(const struct rps_tally *tally);

/* Return the share of the range's enabled time during which the set was counted, 0 ... 1. NaN: an
 * idle range. */
double rps_tally_duty(const struct rps_tally *tally, int set);

/* Return the share of its own periods' enabled time during which the set was on counters. The
 * switch cost makes it less than 1, a shared PMU much less. NaN: an idle range. */
double rps_tally_coverage(const struct rps_tally *tally, int set);

/*
 * Return 1 if the range can give a value of the formula. Return 0 if the workload hardly ran in it,
 * or ran outside the periods of a set that the formula needs: estimates would be noise. Also return
 * 0 if the formula uses counts and the range is incomplete.
 */
int rps_tally_carries(const struct rps_tally *tally, const struct rps_formula *formula);

/* Return 1 if the set was on for less than a tenth of its even share of the range. Its counts then
 * say nothing about the whole. */
int rps_tally_hardly(const struct rps_tally *tally, int set);

/*
 * Return the estimate of a slot or of the clock event, or the value of a formula, with its
 * interval. The interval comes from the differences of successive readings, in logarithms, with t
 * and Satterthwaite's degrees of freedom. (Systematic sampling: Wolter, Introduction to Variance
 * Estimation, 2nd ed. 2007, section 8.2, the estimator v2.) Readings omit the ends of the range,
 * and the start of the run before a set was on; this lengthens one end of the interval. A formula's
 * interval comes from its derivatives. The events of one set use their covariance; several sets
 * count as if each missed what the others see. `operand` is scratch for
 * rps_plan_operand_count(plan) values, filled by rps_tally_operands.
 */
struct rps_interval rps_tally_interval(const struct rps_tally *tally, int set, int slot);
struct rps_interval rps_tally_clock_interval(const struct rps_tally *tally);
struct rps_interval rps_tally_formula_interval(const struct rps_tally *tally,
                                               const struct rps_formula *formula, double *operand);

/*
 * Return the median size of the steps, in logarithms, between the values of a formula over
 * consecutive ranges (NaN: unknown). NaN: there are fewer than five. A phase that begins among them
 * does not affect the median. At most RPS_TALLY_NEIGHBOURS steps count.
 */
#define RPS_TALLY_NEIGHBOURS 16
double rps_tally_usual_step(const double *value, size_t count);

/* Return the interval of a short range: a bin or a rotation. Fewer than 16 readings of its own show
 * too little; the usual step around it shows how much such ranges differ. */
struct rps_interval rps_tally_short_interval(const struct rps_tally *tally,
                                             const struct rps_formula *formula, double *operand,
                                             double usual_step);

/* Fill the operands of the plan's formulas; `operand` has rps_plan_operand_count(plan) places. */
void rps_tally_operands(const struct rps_tally *tally, const struct rps_plan *plan,
                        double *operand);

/* Set `whole` of the plan's clock event, events and metrics to the values of the tally; `operand`
 * is scratch as above. */
void rps_tally_conclude(const struct rps_tally *tally, struct rps_plan *plan, double *operand);

#endif
