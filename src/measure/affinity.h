/* Run the measurement loop near the workload: on the workload's CPU. */
#ifndef RPISTAT_MEASURE_AFFINITY_H
#define RPISTAT_MEASURE_AFFINITY_H

#include <sched.h>
#include <sys/types.h>

struct rps_affinity {
    cpu_set_t home; /* CPUs this thread may use */
    int cpu;        /* where it was moved to; -1: nowhere */
};

/* Save the calling thread's CPUs, and let it run as soon as it wakes up, if the kernel permits
 * that. Children forked later inherit it. */
void rps_affinity_init(struct rps_affinity *affinity);

/*
 * Move the calling thread to the CPU of a running thread of the process or of a descendant. Returns
 * 1 if it moved. 0: none is running, it is already there, or it may not go there; or that thread
 * has a real-time policy, which would not let it run.
 */
int rps_affinity_move(struct rps_affinity *affinity, pid_t pid);

/* Let the thread run on all its earlier CPUs. */
void rps_affinity_leave(struct rps_affinity *affinity);

#endif
