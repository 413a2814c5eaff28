/* Names while recording: a process names the frames that have no names yet, and its parent takes
 * what it tells without ever waiting. */
#ifndef RPISTAT_CODE_NAMING_JOB_H
#define RPISTAT_CODE_NAMING_JOB_H

#include <sched.h>

#include "naming_parts.h"
#include "tracker.h"

/* Zeroed at first, but for home: no process is there. */
struct rps_naming_job {
    cpu_set_t
        home;  /* where it may run: the loop may have gone to the workload's CPU. None: there */
    pid_t pid; /* 0: none */
    int fd;
    struct rps_naming_heard heard;
    int64_t cpu_ns; /* of the processes that have ended, and theirs */
};

/* Name what the tracker has to be named (rps_tracker_code); locations bear its numbers. Errors: those
 * of rps_naming_name. */
int rps_naming_job_name(struct rps_arena *arena, const struct rps_tracker *tracker, int is_end,
                        struct rps_code *ret, struct rps_error *err);

/* Start the process, at nice 19, when there is none. Without memory or processes there is none, and
 * who calls again tries again. */
void rps_naming_job_start(struct rps_naming_job *job, const struct rps_tracker *tracker);

/* Take what it has told meanwhile, 64 KiB at most; one that has told all, or of which `take` has had
 * enough (a negative code), has ended then. */
void rps_naming_job_hear(struct rps_naming_job *job,
                         int (*take)(void *context, const struct rps_naming_told *told),
                         void *context);

/* End the process, if there is one; what it has not told is lost. */
void rps_naming_job_end(struct rps_naming_job *job);

#endif
