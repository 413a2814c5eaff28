/*
 * The simulated processor's sampler. pmu_sim.c passes it each time interval; samples wait for the
 * drain.
 */
#ifndef RPISTAT_SAMPLER_SIM_H
#define RPISTAT_SAMPLER_SIM_H

#include "rpistat/sampler.h"
#include "sim_script.h"

#define SIM_TIME (-1) /* besides the numbers of events: time, in ns */

struct sim_sampler {
    const struct sim_script *script; /* borrowed */
    struct rps_sampling status;
    int event;     /* being sampled, or SIM_TIME */
    int innermost; /* 1: only the innermost frame */
    int runs;
    int told; /* names were passed on */
    int64_t now_ns;
    const struct sim_phase *sleep; /* in which threads wait; NULL: none do */
    const struct sim_phase *ran;   /* the latest phase with code that ran; NULL: none */

    uint64_t passed;        /* events while it ran */
    uint64_t taken;         /* samples that were due, whether kept or not */
    size_t throttle;        /* next item of script->throttle */
    uint32_t *mix_drawn;    /* owned; per mix, the number of draws, modulo SIM_SHARE_ALL */
    uint32_t *stack_drawn;  /* owned; per stack, how often it was drawn */
    int *stack_line;        /* owned; per stack, the next line */
    struct sim_taken *wait; /* owned: pending samples, in order of time */
    size_t wait_count;
};

/* Open the sampler of the script's code; close it through *ret. RPS_USAGE for an invalid event,
 * RPS_FAILED without memory, or for an event that cannot be sampled. */
int rps_sampler_sim_open(struct sim_sampler *sampler, const struct sim_script *script,
                         const struct rps_sampling_options *options, struct rps_sampler *ret,
                         struct rps_error *err);

/* With `runs`: the workload runs in a phase from from_ns to to_ns. Since start_ns the event has
 * this rate per second of CPU time (SIM_TIME: RPS_NS_PER_S). */
struct sim_going {
    const struct sim_phase *phase;
    uint64_t rate;
    int64_t start_ns, from_ns, to_ns;
};

void rps_sampler_sim_go(struct sim_sampler *sampler, const struct sim_going *going);

/* The workload continues in that phase. With `runs`, when a sleep begins, the threads of its code
 * begin to wait. If it has none, those of the code that ran before wait in unknown places. */
void rps_sampler_sim_wait(struct sim_sampler *sampler, const struct sim_phase *phase,
                          int64_t from_ns, int64_t to_ns);

#endif
