/*
 * Sampling: a sampler takes the call stack of running code, some ninety times per second and CPU,
 * on the target of a PMU backend's counters. The loop drains it once per period.
 */
#ifndef RPISTAT_SAMPLER_H
#define RPISTAT_SAMPLER_H

#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/sample.h"

#define RPS_SAMPLE_FREQUENCY_DEFAULT 99 /* per second and CPU */
#define RPS_SAMPLE_FREQUENCY_MAX     5000
#define RPS_SAMPLE_BUDGET            500 /* per second, of all CPUs, if no frequency is given */

enum rps_stacks {
    RPS_STACKS_AUTO,  /* DWARF if available, otherwise FP */
    RPS_STACKS_FP,    /* by frame pointers, by the kernel */
    RPS_STACKS_DWARF, /* the same, with registers and a copy of the top of the stack, for unwinding
                         by the call frame information */
    RPS_STACKS_LBR,   /* by the processor's record of calls */
    RPS_STACKS_NONE,  /* only the innermost frame */
};

/* The scope of sampling for a workload or running processes. */
enum rps_sample_on {
    RPS_SAMPLE_ON_BEST,  /* CPUs if that is permitted and there are few, otherwise tasks */
    RPS_SAMPLE_ON_CPUS,  /* whole CPUs, keeping only the target's samples; error if impossible */
    RPS_SAMPLE_ON_TASKS, /* the target's threads, and what they start */
};

struct rps_sampling_options {
    const char *event;  /* named as everywhere; NULL: the backend's own */
    uint64_t frequency; /* per second and CPU; 0: the default, or less so that all sampled CPUs stay
                           within the budget, but at least 1. Limited to the kernel's maximum
                           (kernel.perf_event_max_sample_rate). */
    uint64_t threshold; /* > 0: one sample per so many events, instead of `frequency` */
    enum rps_stacks stacks;
    enum rps_sample_on on;
    int waits;      /* 1: also stacks of threads that leave their CPU; error if impossible */
    int hears_only; /* 1: only names, forks and ends of a workload or running processes, without
                       samples; all other options are ignored */
};

/* An open sampler on a target, stopped. */
struct rps_sampler {
    void *self;

    /* Start and stop sampling: begin and pause. If the backend starts at the exec, so does the
     * sampler, and start, which the loop still calls, has no effect. Maps and names are recorded at
     * all times. */
    int (*start)(void *self, struct rps_error *err);
    int (*stop)(void *self, struct rps_error *err);

    /* Pass on the records before until_ns (the event loop's clock), in order of time over all CPUs.
     * Later ones wait for the next call. INT64_MAX: the last call, which also passes on the CPU
     * time of the threads that were opened. */
    int (*drain)(void *self, int64_t until_ns, const struct rps_sample_sink *sink,
                 struct rps_error *err);

    /* Return the maximum time between drains, ns, each up to the time of the previous drain;
     * otherwise samples may be lost. NULL: no maximum. */
    int64_t (*drain_within_ns)(void *self);

    /* Return the sampled event, and the number of lost and throttled samples so far. The sampler
     * does not know samples, complete and unmapped: they are 0. */
    void (*status)(void *self, struct rps_sampling *ret);

    void (*close)(void *self); /* NULL is harmless */
};

#endif
