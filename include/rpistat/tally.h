/*
 * Tallies: what a stretch of a run adds up to, and the one place where estimates are made.
 *
 * A stretch may be the whole run, a rotation, a bin of a plot or a phase. Raw counts, times and
 * periods are summed per event set; the scaled estimate of an event is
 *
 *     raw count x (enabled time of the stretch) / (time in it during which the event was counted)
 *
 * which is what counting it all the time would have seen, and which for periods of equal length is
 * the rule of 2013: raw x total periods / periods of the set. A reading that failed is in neither
 * sum.
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
    int is_drawn;               /* 1: some rotation does not take the sets by their numbers */
    int has_blocks;             /* 1: of some rows, sums over blocks, the spread is not known */
    int is_plain;               /* 1, set by its owner: no moments are added, for no intervals */
    uint64_t rotation, turn_ns; /* the last rotation, and the enabled time before it */
    int set_count;
    const struct rps_plan *plan; /* borrowed */
    double *scaled; /* NULL: none is. Of slot s of set n, at n * RPS_SLOT_MAX + s: the share of
                       the time in which an import's recorder counted what it scaled; 1: all */
    struct rps_set_tally *set;
};

/* A tally over the sets of the plan, which must outlive it, all zero. */
struct rps_tally rps_tally_new(struct rps_arena *arena, const struct rps_plan *plan);
void rps_tally_reset(struct rps_tally *tally);

/* Add one period; periods of an unknown set are counted in the totals only. */
void rps_tally_add(struct rps_tally *tally, const struct rps_period *period);

/* Add all of other, a tally of the same plan and of a stretch behind or before this one. */
void rps_tally_merge(struct rps_tally *tally, const struct rps_tally *other);

/*
 * The scaled estimate of a slot: NaN when it was never counted; 0 when the workload did not run
 * (enabled time 0) and it was counted.
 */
double rps_tally_estimate(const struct rps_tally *tally, int set, int slot);

/*
 * The same rounded down to a whole number in exact 128-bit arithmetic. Returns 1 and *ret, or 0
 * when there is no estimate.
 */
int rps_tally_estimate_u64(const struct rps_tally *tally, int set, int slot, uint64_t *ret);

/*
 * The clock event's ticks while the workload ran. They are scaled for the time that another program
 * had the clock event's counter; NaN, or 0 for the whole number, when it never ran.
 */
double rps_tally_clock(const struct rps_tally *tally);
int rps_tally_clock_u64(const struct rps_tally *tally, uint64_t *ret);

/* 1 when the clock event lacked a counter for some of the time, so that its ticks are scaled. */
int rps_tally_clock_is_scaled(const struct rps_tally *tally);

/* Return 1 if Linux stopped counting a process in the stretch. Its estimates are not scaled for the
 * time without a clock event, because nothing is known about that time. */
int rps_tally_is_incomplete(const struct rps_tally *tally);

/* Share of the stretch's enabled time during which the set was counted, 0 ... 1; NaN for an idle
 * stretch. */
double rps_tally_duty(const struct rps_tally *tally, int set);

/* Share of its own periods' enabled time during which the set was on counters: below 1 by the
 * switch cost, well below 1 when the PMU was shared. NaN for an idle stretch. */
double rps_tally_coverage(const struct rps_tally *tally, int set);

/*
 * Can the stretch carry a value of the formula? 0 when the workload hardly ran in it, or ran beside
 * the periods of a set that the formula needs: estimates would be noise. 0, too, when the formula
 * uses counts and the stretch is incomplete.
 */
int rps_tally_carries(const struct rps_tally *tally, const struct rps_formula *formula);

/* 1 when the set was on for so little of the stretch, less than a tenth of its even share, that
 * what it counted says nothing about the whole. */
int rps_tally_hardly(const struct rps_tally *tally, int set);

/*
 * The estimate of a slot, of the clock event, or the value of a formula, and how sure it is. The
 * interval comes from the differences of successive readings (systematic sampling: Wolter,
 * Introduction to Variance Estimation, 2nd ed. 2007, section 8.2, the estimator v2), with t and
 * Satterthwaite's degrees of freedom, in logarithms, and is longer at one end by what readings leave
 * out at the ends of the stretch, and by what a set was not on for when the run began; that of a
 * formula by its derivatives, the events of one set together with their covariance, those of several
 * as if they missed what the others see. `operand` is scratch for rps_plan_operand_count(plan) values, filled by
 * rps_tally_operands.
 */
struct rps_interval rps_tally_interval(const struct rps_tally *tally, int set, int slot);
struct rps_interval rps_tally_clock_interval(const struct rps_tally *tally);
struct rps_interval rps_tally_formula_interval(const struct rps_tally *tally,
                                               const struct rps_formula *formula, double *operand);

/*
 * The median size of the steps, in logarithms, between the values of a formula over stretches that
 * follow one another (NaN: not known); NaN when there are fewer than five. The median does not mind
 * a phase that begins among them. At most RPS_TALLY_NEIGHBOURS steps are looked at.
 */
#define RPS_TALLY_NEIGHBOURS 16
double rps_tally_usual_step(const double *value, size_t count);

/* The interval of a short stretch, a bin or a rotation: with fewer than 16 readings its own tell
 * too little, and the usual step around it says how much such stretches differ. */
struct rps_interval rps_tally_short_interval(const struct rps_tally *tally,
                                             const struct rps_formula *formula, double *operand,
                                             double usual_step);

/* Fill the operands of the plan's formulas; `operand` has rps_plan_operand_count(plan) places. */
void rps_tally_operands(const struct rps_tally *tally, const struct rps_plan *plan,
                        double *operand);

/* Set `whole` of the plan's clock event, events and metrics to what the tally comes to; `operand`
 * is scratch as above. */
void rps_tally_conclude(const struct rps_tally *tally, struct rps_plan *plan, double *operand);

#endif
