/* Names frames during a recording, in a separate process for which the recorder never waits. */
#pragma once

#include <sched.h>

#include "symbolize_parts.h"
#include "record_tracker.h"

/* State of the naming process. Zero all members except `home` before use. */
struct rps_symbolize_job {
    cpu_set_t home; /* CPUs on which the naming process runs. It does not run on the measurement
                       loop's CPUs, because the loop may have moved to the workload's CPUs. If
                       the set is empty, the process runs on the loop's CPUs. */
    pid_t pid;      /* Process number; 0: no process. */
    int fd;
    struct rps_symbolize_received heard;
    int64_t cpu_ns; /* CPU time of ended processes and their children. */
};

/* Name the frames that need names (rps_tracker_code). The locations refer to frames by the
 * tracker's numbers. Errors are those of rps_symbolize. */
int rps_symbolize_job_run(struct rps_arena *arena, const struct rps_tracker *tracker, int is_end,
                          struct rps_code *ret, struct rps_error *err);

/* Start the naming process at nice 19, if none runs. If there is no memory, or no further process
 * can be started, the next call tries again. */
void rps_symbolize_job_start(struct rps_symbolize_job *job, const struct rps_tracker *tracker);

/* Receive results, at most 64 KiB, and pass them to `take`. If the process has sent everything, or
 * `take` returns a negative code, end the process. */
void rps_symbolize_job_receive(struct rps_symbolize_job *job,
                               int (*take)(void *context, const struct rps_symbolize_message *told),
                               void *context);

/* End the process, if there is one. Results that the process has not sent are lost. */
void rps_symbolize_job_end(struct rps_symbolize_job *job);
