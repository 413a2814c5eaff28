/*
 * The noun left of the store, and of its rows: a period is what one measurement period of one event
 * set produced, as raw numbers. Nothing in it is scaled, estimated or rounded.
 */
#ifndef RPISTAT_PERIOD_H
#define RPISTAT_PERIOD_H

#include <stdint.h>

/* Slots of an event set: the columns c0 ... c7 of the store. */
#define RPS_SLOT_MAX 8

/* `cpu` of a period whose counts are those of the whole workload. */
#define RPS_CPU_ALL (-1)

struct rps_period {
    int32_t cpu;         /* CPU the counts belong to, or RPS_CPU_ALL */
    uint32_t set_no;     /* event set that was counted, 0-based */
    uint64_t period;     /* number of the period in the run (and CPU), from 0; set_no is
                            period % (number of sets) unless periods were merged */
    uint64_t cycle;      /* cycle timestamp: the clock event's total at the end of the period */
    uint64_t cycles;     /* the clock event's count in this period */
    int64_t start_ns;    /* since the start of the run */
    int64_t length_ns;   /* true length */
    uint64_t enabled_ns; /* time the workload could be counted (its clock event was enabled), summed
                            over its threads: 0 when it slept for the whole period */
    uint64_t running_ns; /* part of enabled_ns during which the set was on counters: less by the
                            switch cost, and by more when somebody else used the PMU */
    int64_t switch_ns;   /* time taken to disable, read and enable at the end of the period */
    uint32_t missed;     /* timer expiries that passed before the loop woke up */
    uint32_t counted;    /* bit s: count[s] was counted; clear: the store holds NULL */
    uint64_t count[RPS_SLOT_MAX]; /* raw count of each slot of the set in this period */
};

#endif
