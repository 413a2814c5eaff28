/* A period: the raw numbers of one measurement period of one event set. The recorder makes periods,
 * and each row of the store's table has one. No number is scaled, estimated or rounded. */
#pragma once

#include <stdint.h>

/* Maximum number of slots of an event set: the columns c0 ... c7 of the store. */
#define RPS_SLOT_MAX 8

/* Sizes for texts of an event, a metric or an event set. */
#define RPS_NAME_SIZE    64
#define RPS_SPEC_SIZE    192
#define RPS_EXPLAIN_SIZE 1024

struct rps_scatter;

/* Value of `cpu` in a period whose counts cover the whole workload. */
#define RPS_CPU_ALL (-1)

/* Maximum of all times in a run, so that the sum of two times cannot overflow. */
#define RPS_PERIOD_TIME_MAX_NS (INT64_MAX / 4)

struct rps_period {
    int32_t cpu;         /* CPU of the counts, or RPS_CPU_ALL */
    uint32_t set_no;     /* Number of the counted event set, from 0 */
    uint64_t period;     /* Number of the period in the run (and CPU), from 0 */
    uint64_t rotation;   /* Number of the period's rotation, from 0 */
    uint64_t cycle;      /* Cycle timestamp: total of the clock event at the end of the period */
    uint64_t cycles;     /* Count of the clock event in this period */
    int64_t start_ns;    /* Start of the period since the start of the run */
    int64_t length_ns;   /* Actual length of the period */
    uint64_t enabled_ns; /* Time in which the workload's clock event was enabled, summed over
                            threads (0 if the workload slept for the whole period) */
    uint64_t running_ns; /* Part of enabled_ns in which the set had counters. The switch cost
                            shortens this time, and another user of the PMU shortens it greatly. */
    uint64_t clock_running_ns; /* Part of enabled_ns in which the clock event had a counter */
    int64_t idle_ns;           /* Part of enabled_ns in which the CPU was idle (-1: unknown). For a
                          workload: 0, because events are enabled only while it runs. */
    int64_t switch_ns;         /* Time to disable, read and enable sets at the period's end */
    uint32_t missed;           /* Number of timer expiries that the loop missed before it woke up */
    uint32_t counted; /* Bit s is set if count[s] was counted; if not, the store has NULL for it */
    uint64_t count[RPS_SLOT_MAX]; /* Raw count of each slot of the set in this period */

    /* Members for rows of a coarser level only. Read these members through the functions below. */
    int level;            /* 0: as measured; 1 ... RPS_LEVELS: sum of the periods of a block */
    uint64_t merged;      /* Rotations in the block; the set has as many periods */
    uint64_t last_period; /* Number of the last period in the block */
    int64_t end_ns;       /* End of the block's last period since the start of the run */
    const struct rps_scatter
        *scatter; /* Scatter of the periods in the block (rpistat/moments.h). Borrowed until the
                     next row is read; NULL: unknown */

    /* In a sum over CPUs: time of running_ns on those CPUs that could not read a slot that others
     * read. Otherwise 0. */
    uint64_t missing_ns[RPS_SLOT_MAX];
    int64_t cpus_length_ns; /* In a sum over CPUs: sum of their periods' lengths; otherwise 0 */
};

/* Levels of downsampling. A block of level k has up to RPS_LEVEL_ROTATIONS^k whole rotations
 * without a gap. For all of them, the rotation's number divided by RPS_LEVEL_ROTATIONS^k, rounded
 * down, is equal. The block has one row per event set. The row has the sums of the set's periods:
 * counts, cycles, times and `missed`. The members `period`, `rotation` and start_ns come from the
 * first summed period; `cycle`, last_period and end_ns come from the last. The time ranges of a
 * block's rows overlap. */
#define RPS_LEVELS          4
#define RPS_LEVEL_BITS      4
#define RPS_LEVEL_ROTATIONS (1 << RPS_LEVEL_BITS)

/* Return the number of periods whose sum is the row. */
static inline uint64_t rps_period_weight(const struct rps_period *period)
{
    return period->level > 0 ? period->merged : 1;
}

/* Return the end of the last period in the row. */
static inline int64_t rps_period_end_ns(const struct rps_period *period)
{
    return period->level > 0 ? period->end_ns : period->start_ns + period->length_ns;
}

/* Return the number of the last period in the row. */
static inline uint64_t rps_period_last(const struct rps_period *period)
{
    return period->level > 0 ? period->last_period : period->period;
}

/* Return the part of running_ns in which the slot was counted. Divide the slot's count by this
 * time. */
static inline uint64_t rps_period_counted_ns(const struct rps_period *period, int slot)
{
    return period->counted & (UINT32_C(1) << slot) ? period->running_ns - period->missing_ns[slot]
                                                   : 0;
}

/* Return a + b, or -1 (unknown) if a or b is -1. */
static inline int64_t rps_period_add_known(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? -1 : a + b;
}

/* A set represents a time range if it was counted in enough of the range. Enough is this share of
 * the time and of the clock ticks that the set would have if all sets were counted equally long.
 * Ticks are ignored if another program used the clock event's counter. This is assumed if the clock
 * event had no counter for longer than two clock readings may differ. */
#define RPS_PERIOD_MIN_SHARE  .1
#define RPS_PERIOD_CLOCK_LACK 1e-5

static inline int rps_period_is_hardly(uint64_t running_ns, uint64_t clock, int sets,
                                       uint64_t all_enabled_ns, uint64_t all_clock,
                                       uint64_t all_clock_running_ns)
{
    double least = RPS_PERIOD_MIN_SHARE / (sets > 1 ? sets : 1);

    return (double)running_ns < least * (double)all_enabled_ns ||
           ((double)all_clock_running_ns >= (1 - RPS_PERIOD_CLOCK_LACK) * (double)all_enabled_ns &&
            (double)clock < least * (double)all_clock);
}

/* A merged period is the sum of periods of one set, and has the number of the first of these
 * periods. In a run of n event sets, a merged period represents the numbers period, period + n,
 * period + 2 n, ... The counts, times and cycles of a merged period are sums. The time ranges of
 * the sets in a merged rotation come one after another. The length of each set is the sum of its
 * periods' lengths, so that the total length does not change. */
