/* A sampler takes the call stack of running code, about ninety times per second and CPU. The
 * sampler samples the target of a PMU backend's counters. The measurement loop drains it once per
 * period. */
#pragma once

#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/sample.h"

#define RPS_SAMPLE_FREQUENCY_DEFAULT 99 /* default of samples per second and CPU */
#define RPS_SAMPLE_FREQUENCY_MAX     5000
#define RPS_SAMPLE_BUDGET            500 /* default maximum of samples per second on all CPUs */

enum rps_stacks {
    RPS_STACKS_AUTO,  /* use RPS_STACKS_DWARF if available, otherwise RPS_STACKS_FP */
    RPS_STACKS_FP,    /* The kernel follows frame pointers. */
    RPS_STACKS_DWARF, /* Frame pointers, plus registers and a copy of the top of the stack, for
                         unwinding by the call frame information. */
    RPS_STACKS_LBR,   /* the processor's record of calls */
    RPS_STACKS_NONE,  /* only the innermost frame */
};

/* The scope of sampling for a workload or running processes. */
enum rps_sample_on {
    RPS_SAMPLE_ON_BEST,  /* CPUs if permitted and few, otherwise tasks */
    RPS_SAMPLE_ON_CPUS,  /* Sample whole CPUs, and keep only samples of the target. It is an
                            error if this is impossible. */
    RPS_SAMPLE_ON_TASKS, /* threads of the target, and the threads that they start */
};

struct rps_sampling_options {
    const char *event;  /* name of the sampled event, as for counters; NULL: the backend's choice */
    uint64_t frequency; /* Samples per second and CPU. 0: the default, or less (at least 1) if
                           all CPUs together would exceed RPS_SAMPLE_BUDGET. The kernel's maximum
                           (kernel.perf_event_max_sample_rate) applies. */
    uint64_t threshold; /* number of events per sample, instead of `frequency`; 0: not used */
    enum rps_stacks stacks;
    enum rps_sample_on on;
    int waits;      /* 1 to also take the stacks of threads that leave their CPU; it is an error
                       if this is impossible */
    int hears_only; /* 1 to receive only names, forks and ends of threads, without samples. All
                       other options are then ignored. */
};

/* An open sampler on a target, not yet started. */
struct rps_sampler {
    void *self;

    /* Start or stop sampling, at the beginning and for pauses. If the backend starts at the exec,
     * the sampler also starts at the exec, and the loop's call of `start` has no effect. Maps and
     * names are recorded at all times. */
    int (*start)(void *self, struct rps_error *err);
    int (*stop)(void *self, struct rps_error *err);

    /* Pass on the records before until_ns (by the event loop's clock) in order of time over all
     * CPUs. Records after until_ns are passed on by the next call. The last call has until_ns
     * INT64_MAX, and also passes on the CPU time of the opened threads. */
    int (*drain)(void *self, int64_t until_ns, const struct rps_sample_sink *sink,
                 struct rps_error *err);

    /* Return the maximum time in ns between calls of drain. If more time passes between calls,
     * samples may be lost. until_ns of each call must be at least the time of the previous call.
     * The pointer is NULL if there is no maximum. */
    int64_t (*drain_within_ns)(void *self);

    /* Return the sampled event, and the number of lost and throttled samples so far. The sampler
     * sets `samples`, `complete` and `unmapped` to 0. */
    void (*status)(void *self, struct rps_sampling *ret);

    void (*close)(void *self); /* accepts NULL */
};
