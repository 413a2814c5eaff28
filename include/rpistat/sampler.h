/*
 * Sampling: a sampler takes the call stack of what runs, some ninety times a second and CPU, beside
 * the counters of a PMU backend, on the same target. The loop drains it once a period.
 */
#ifndef RPISTAT_SAMPLER_H
#define RPISTAT_SAMPLER_H

#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/sample.h"

#define RPS_SAMPLE_FREQUENCY_DEFAULT 99 /* a second and CPU */
#define RPS_SAMPLE_FREQUENCY_MAX     5000
#define RPS_SAMPLE_BUDGET            500 /* a second, of all CPUs, when no frequency is asked for */

enum rps_stacks {
    RPS_STACKS_AUTO,  /* DWARF, where that can be had; else FP */
    RPS_STACKS_FP,    /* by frame pointers, by the kernel */
    RPS_STACKS_DWARF, /* the same, with registers and a copy of the stack's top, for unwinding by the
                         call frame information */
    RPS_STACKS_LBR,   /* by the processor's record of calls */
    RPS_STACKS_NONE,  /* the innermost frame alone */
};

/* On what a workload, or running processes, are sampled. */
enum rps_sample_on {
    RPS_SAMPLE_ON_BEST,  /* CPUs where that is allowed and there are few, else tasks */
    RPS_SAMPLE_ON_CPUS,  /* whole CPUs, of whose samples the target's are kept; else an error */
    RPS_SAMPLE_ON_TASKS, /* the target's threads, and what they start */
};

struct rps_sampling_options {
    const char *event;  /* as events are named everywhere; NULL: the backend's own */
    uint64_t frequency; /* a second and CPU; 0: the default, or less, so that all CPUs that are
                           sampled stay within the budget, but not less than 1. More than the
                           kernel allows (kernel.perf_event_max_sample_rate) becomes that. */
    uint64_t threshold; /* > 0: a sample each so many events, for `frequency` */
    enum rps_stacks stacks;
    enum rps_sample_on on;
    int waits; /* 1: stacks of threads that leave their CPU, too; an error where that cannot be had */
    int hears_only; /* 1: of a workload or running processes names, forks and ends are heard, and
                       nothing is sampled; all else here does not matter */
};

/* A sampler that is open on a target, standing still. */
struct rps_sampler {
    void *self;

    /* Let it take samples, and stand still: begin and pause. Where the backend starts at the exec,
     * so does the sampler, and start, which the loop calls all the same, has nothing to do. Maps
     * and names are heard of at all times. */
    int (*start)(void *self, struct rps_error *err);
    int (*stop)(void *self, struct rps_error *err);

    /* Hand over what came before until_ns (the event loop's clock), in order of time over all CPUs.
     * What is younger waits for the next call. INT64_MAX: the last call, which hands over what CPU
     * time the threads had that were opened, too. */
    int (*drain)(void *self, int64_t until_ns, const struct rps_sample_sink *sink,
                 struct rps_error *err);

    /* Drain at least so often, ns, each time until the time of the drain before: else samples may
     * be lost. NULL: it does not matter. */
    int64_t (*drain_within_ns)(void *self);

    /* What is sampled, and lost and throttled so far; samples, complete and unmapped are not the
     * sampler's to know, and 0. */
    void (*status)(void *self, struct rps_sampling *ret);

    void (*close)(void *self); /* NULL is harmless */
};

#endif
