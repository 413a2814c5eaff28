/* The simulated sampler gets intervals from pmu_sim.c, and keeps samples until they are read. */
#pragma once

#include "rpistat/sampler.h"
#include "sim_script.h"

#define SIM_TIME (-1) /* special event number: time in ns */

struct sim_sampler {
    const struct sim_script *script; /* script of the simulation, borrowed */
    struct rps_sampling status;
    int event;     /* number of the sampled event, or SIM_TIME */
    int innermost; /* 1: samples have only the innermost frame */
    int runs;
    int told; /* 1: the names of functions and tasks were already passed on */
    int64_t now_ns;
    const struct sim_phase *sleep; /* phase in which threads wait; NULL: no thread waits */
    const struct sim_phase *ran;   /* most recent phase in which code ran; NULL: none */

    uint64_t passed;        /* number of events that happened while the workload ran */
    uint64_t taken;         /* number of samples that were due, whether kept or not */
    size_t throttle;        /* next item of script->throttle */
    uint32_t *mix_drawn;    /* for each mix: the number of samples, modulo SIM_SHARE_ALL */
    uint32_t *stack_drawn;  /* for each stack: the number of samples */
    int *stack_line;        /* for each stack: the source line of the next sample */
    struct sim_taken *wait; /* pending samples in order of time; owned */
    size_t wait_count;
};

/* Open the sampler of the script's code. The caller closes the sampler through *ret. RPS_USAGE for
 * an invalid event, RPS_FAILED for an event that cannot be sampled. */
int rps_sampler_sim_open(struct sim_sampler *sampler, const struct sim_script *script,
                         const struct rps_sampling_options *options, struct rps_sampler *ret,
                         struct rps_error *err);

/* A time interval of a phase, from from_ns to to_ns. If `runs` is set, the workload runs. From
 * start_ns on, the event has this rate per second of CPU time (SIM_TIME: RPS_NS_PER_S). */
struct sim_going {
    const struct sim_phase *phase;
    uint64_t rate;
    int64_t start_ns, from_ns, to_ns;
};

void rps_sampler_sim_go(struct sim_sampler *sampler, const struct sim_going *going);

/* Set the phase in which the workload continues. If `runs` is set and a sleep begins, the threads
 * of its code begin to wait; without code, the threads that ran before, at unknown locations. */
void rps_sampler_sim_wait(struct sim_sampler *sampler, const struct sim_phase *phase,
                          int64_t from_ns, int64_t to_ns);
