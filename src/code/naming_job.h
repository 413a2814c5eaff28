/* Names while recording: a process names frames, and its parent never waits for the results. */
#ifndef RPISTAT_CODE_NAMING_JOB_H
#define RPISTAT_CODE_NAMING_JOB_H

#include <sched.h>

#include "naming_parts.h"
#include "tracker.h"

/* Zero it before use, except for `home`. */
struct rps_naming_job {
    cpu_set_t home; /* CPUs to run on, since the loop may have moved to the workload's; none: the
                       loop's */
    pid_t pid;      /* 0: none */
    int fd;
    struct rps_naming_heard heard;
    int64_t cpu_ns; /* of ended processes and their children */
};

/* Name the frames that need names (rps_tracker_code); locations have the tracker's numbers. Errors:
 * those of rps_naming_name. */
int rps_naming_job_name(struct rps_arena *arena, const struct rps_tracker *tracker, int is_end,
                        struct rps_code *ret, struct rps_error *err);

/* Start the process at nice 19, if none runs. Without memory or processes, the next call tries
 * again. */
void rps_naming_job_start(struct rps_naming_job *job, const struct rps_tracker *tracker);

/* Take the results so far, at most 64 KiB. If the process has sent everything, or `take` returns a
 * negative code, end it. */
void rps_naming_job_hear(struct rps_naming_job *job,
                         int (*take)(void *context, const struct rps_naming_told *told),
                         void *context);

/* End the process, if there is one. Results that it has not sent are lost. */
void rps_naming_job_end(struct rps_naming_job *job);

#endif
