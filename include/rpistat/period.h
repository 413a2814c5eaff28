/*
 * The noun left of the store, and of its rows: a period is what one measurement period of one event
 * set produced, as raw numbers. Nothing in it is scaled, estimated or rounded.
 */
#ifndef RPISTAT_PERIOD_H
#define RPISTAT_PERIOD_H

#include <stdint.h>

/* Slots of an event set: the columns c0 ... c7 of the store. */
#define RPS_SLOT_MAX 8

/* Room for texts of an event, metric or event set. */
#define RPS_NAME_SIZE    64
#define RPS_SPEC_SIZE    192
#define RPS_EXPLAIN_SIZE 1024

struct rps_scatter;

/* `cpu` of a period whose counts are those of the whole workload. */
#define RPS_CPU_ALL (-1)

/* Times of a run are below: beyond it nothing was measured, and sums of two would overflow. */
#define RPS_PERIOD_TIME_MAX_NS (INT64_MAX / 4)

struct rps_period {
    int32_t cpu;         /* CPU the counts belong to, or RPS_CPU_ALL */
    uint32_t set_no;     /* event set that was counted, 0-based */
    uint64_t period;     /* number of the period in the run (and CPU), from 0 */
    uint64_t rotation;   /* number of the rotation it belongs to, from 0 */
    uint64_t cycle;      /* cycle timestamp: the clock event's total at the end of the period */
    uint64_t cycles;     /* the clock event's count in this period */
    int64_t start_ns;    /* since the start of the run */
    int64_t length_ns;   /* true length */
    uint64_t enabled_ns; /* time the workload could be counted (its clock event was enabled), summed
                            over its threads: 0 when it slept for the whole period */
    uint64_t running_ns; /* part of enabled_ns during which the set was on counters: less by the
                            switch cost, and by more when somebody else used the PMU */
    uint64_t clock_running_ns; /* part of enabled_ns during which the clock event was on one */
    int64_t idle_ns;   /* part of enabled_ns during which the CPU was idle; 0 for a workload,
                                  which is enabled only while it runs; -1: not known */
    int64_t switch_ns; /* time taken to disable, read and enable at the end of the period */
    uint32_t missed;   /* timer expiries that passed before the loop woke up */
    uint32_t counted;  /* bit s: count[s] was counted; clear: the store holds NULL */
    uint64_t count[RPS_SLOT_MAX]; /* raw count of each slot of the set in this period */

    /* Of a row of a coarser level alone; read them through the functions below. */
    int level;            /* 0: as measured; 1 ... RPS_LEVELS: the sum of a block's periods */
    uint64_t merged;      /* rotations in the block, and so periods of the set */
    uint64_t last_period; /* number of the last of them */
    int64_t end_ns;       /* and its end, since the start of the run */
    const struct rps_scatter
        *scatter; /* how its periods differ (rpistat/moments.h), of whoever gave
                                        the row, until the next; NULL: not known */

    /* Of a sum over CPUs, and of the slots in `counted`: part of running_ns in which the slot was
       not counted, since some CPU could not read it. 0 of all other rows. */
    uint64_t missing_ns[RPS_SLOT_MAX];
    int64_t cpus_length_ns; /* of a sum over CPUs: their lengths added up; 0 of all other rows */
};

/*
 * Levels. A block of level k is a stretch of up to RPS_LEVEL_ROTATIONS^k whole rotations in one
 * cell of the grid rotation / RPS_LEVEL_ROTATIONS^k, without a gap in it. It is as many rows as
 * there are event sets, each the sum of the set's periods: counts, cycles, times and `missed`.
 * `period`, `rotation` and start_ns are those of the first period summed, `cycle`, last_period and
 * end_ns those of the last. The rows of a block overlap in time.
 */
#define RPS_LEVELS          4
#define RPS_LEVEL_BITS      4
#define RPS_LEVEL_ROTATIONS (1 << RPS_LEVEL_BITS)

/* How many periods the row stands for. */
static inline uint64_t rps_period_weight(const struct rps_period *period)
{
    return period->level > 0 ? period->merged : 1;
}

/* When the last of them ended. */
static inline int64_t rps_period_end_ns(const struct rps_period *period)
{
    return period->level > 0 ? period->end_ns : period->start_ns + period->length_ns;
}

/* The number of the last of them. */
static inline uint64_t rps_period_last(const struct rps_period *period)
{
    return period->level > 0 ? period->last_period : period->period;
}

/* The part of running_ns in which the slot was counted: what its count is to be divided by. */
static inline uint64_t rps_period_counted_ns(const struct rps_period *period, int slot)
{
    return period->counted & (UINT32_C(1) << slot) ? period->running_ns - period->missing_ns[slot]
                                                   : 0;
}

/* The sum of two numbers, -1 not known: not known where one of them is not. */
static inline int64_t rps_period_add_known(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? -1 : a + b;
}

/* A set that was on for less than this part of its even share of a stretch's time, or clock ticks,
 * says nothing about the whole. Where the clock event lacks more of its time than two readings of a
 * clock may be apart, it was another program's now and then, and its ticks say nothing about
 * shares. */
#define RPS_PERIOD_LEAST_SHARE .1
#define RPS_PERIOD_CLOCK_LACK  1e-5

static inline int rps_period_is_hardly(uint64_t running_ns, uint64_t clock, int sets,
                                       uint64_t all_enabled_ns, uint64_t all_clock,
                                       uint64_t all_clock_running_ns)
{
    double least = RPS_PERIOD_LEAST_SHARE / (sets > 1 ? sets : 1);

    return (double)running_ns < least * (double)all_enabled_ns ||
           ((double)all_clock_running_ns >= (1 - RPS_PERIOD_CLOCK_LACK) * (double)all_enabled_ns &&
            (double)clock < least * (double)all_clock);
}

/*
 * A merged period has the number of the first of its periods, and in a run of n event sets it
 * stands for the numbers period, period + n, period + 2 n, ... All counts, times and cycles are the
 * sums. The sets of a merged rotation follow one another in time, each for as long as its periods
 * took together, and the whole is as long as it was.
 */

#endif
