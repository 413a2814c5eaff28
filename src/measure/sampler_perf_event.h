/* The event that perf_event samples, and its frequency. */
#pragma once

#include "pmu_perf.h"
#include "rpistat/sampler.h"

struct rps_perf_sampled {
    struct rps_perf *perf;
    struct rps_sampling_options options; /* options with a chosen value for each open option */
    struct rps_event event;
    uint64_t registers; /* registers that are copied with the top of the stack; 0: none */
    size_t depth_limit; /* maximum depth of the kernel's call stacks */
    int is_wide;        /* 1 if CPUs are sampled, and other programs' samples dropped */
};

/* Choose the event and the frequency, by trying. Returns RPS_USAGE for invalid options, or
 * RPS_FAILED with the reason if the event cannot be sampled here. */
int rps_perf_choose_sampled(struct rps_perf *perf, const struct rps_sampling_options *options,
                            const struct rps_target *target, struct rps_perf_sampled *ret,
                            struct rps_error *err);

/* Replace AUTO by stacks from frame pointers only. */
void rps_perf_leave_out_registers(struct rps_perf_sampled *sampled);

/* Fill the argument of perf_event_open to sample the target, for any kind of core. */
void rps_perf_fill_sampling(const struct rps_perf_sampled *sampled, const struct rps_target *target,
                            struct perf_event_attr *attr);

/* Set the error of a system call that failed with errno `number`. Returns RPS_FAILED. */
int rps_perf_cannot_sample(const struct rps_event *event, int number, struct rps_error *err);
