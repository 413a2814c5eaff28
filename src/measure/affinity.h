/*
 * Being near the workload: having the measurement loop run on the CPU that the workload runs on.
 */
#ifndef RPISTAT_MEASURE_AFFINITY_H
#define RPISTAT_MEASURE_AFFINITY_H

#include <sched.h>
#include <sys/types.h>

struct rps_affinity {
    cpu_set_t home; /* CPUs this thread may use */
    int cpu;        /* where it was moved to; -1: nowhere */
};

/* Note the calling thread's CPUs, and have it run as soon as it wakes up, where the kernel grants
 * that. Children that are forked later inherit it. */
void rps_affinity_init(struct rps_affinity *affinity);

/*
 * Move the calling thread to the CPU of the process's running thread, or of that of a process below
 * it. 1 when it was moved, 0 when it stays: none is running, it is there already, it may not go
 * there, or the thread has a real-time policy and would not let it run.
 */
int rps_affinity_move(struct rps_affinity *affinity, pid_t pid);

/* Let the thread run wherever it might before. */
void rps_affinity_leave(struct rps_affinity *affinity);

#endif
