/* Run the measurement loop near the workload: on the workload's CPU. */
#pragma once

#include <sched.h>
#include <stdint.h>
#include <sys/types.h>

#include "rpistat/loop.h"

struct rps_affinity {
    cpu_set_t home; /* CPUs that this thread may use */
    int cpu;        /* CPU to which the thread was moved; -1: none */
};

/* Save the set of CPUs that the calling thread may use. If the kernel permits, also let the thread
 * run as soon as it wakes up. Children that are forked later inherit this setting. */
void rps_affinity_init(struct rps_affinity *affinity);

/* Move the calling thread to the CPU of a running thread of the process or of a descendant. Returns
 * 1 if the calling thread was moved. Returns 0 if no such thread is running, or if the calling
 * thread already runs on that CPU or may not use that CPU. Also returns 0 if the workload's thread
 * has a real-time policy, which would keep the calling thread from running. */
int rps_affinity_move(struct rps_affinity *affinity, pid_t pid);

/* Let the thread run on all its earlier CPUs. */
void rps_affinity_leave(struct rps_affinity *affinity);

/* A policy for the place of the loop: near the workload, on its CPU, or anywhere. Switching event
 * sets is cheap near the workload, but only while the workload stays there. The policy finds by
 * trials whether running near the workload saves time. */

/* Number of switches in the first row. The policy uses the median of their times. */
#define RPS_AFFINITY_POLICY_FIRST 3

struct rps_affinity_policy {
    const struct rps_event_loop *event_loop; /* not owned; NULL: the loop never moves */
    int close;                               /* 1 if the loop is on the workload's CPU */
    int64_t far_ns;                          /* median time of a switch from another CPU */
    int cheap, dear;                         /* cheap switches since the move; consecutive slow
                                                switches */
    int moves;                               /* number of consecutive moves that saved no time */
    int late;                                /* number of late wake-ups in this row of switches */
    int tried;                               /* 1 after the first row of switches */
    int wait, next_wait;                     /* number of rows of switches until the next trial */
};

/* Initialize the policy with the loop on any CPU. The loop is never moved if there is no event
 * loop, or if the event loop has no `approach`. The loop is not moved for a single event set
 * either, because this set is only read and never switched. Reading the set from another CPU is
 * cheaper than displacing the workload from its CPU. */
void rps_affinity_policy_init(struct rps_affinity_policy *policy,
                              const struct rps_event_loop *event_loop);

/* Record that the loop woke up late_ns after its deadline. */
void rps_affinity_policy_woke(struct rps_affinity_policy *policy, int64_t late_ns);

/* Record the time of a switch, the median of the run's first RPS_AFFINITY_POLICY_FIRST switches, or
 * the median of a row. Later calls of _first do nothing. Each function returns 1 if it moved the
 * loop. The caller must then discard earlier costs, because they do not predict later costs. */
int rps_affinity_policy_switch(struct rps_affinity_policy *policy, int64_t switch_ns);
int rps_affinity_policy_first(struct rps_affinity_policy *policy, int64_t median_ns);
int rps_affinity_policy_row(struct rps_affinity_policy *policy, int64_t median_ns);
