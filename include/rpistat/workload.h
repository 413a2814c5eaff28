/*
 * The workload: launch a command that waits, and release it once its counters are open.
 *
 * The command gets the same environment as without rpistat: streams, variables, working directory,
 * process group, terminal, signal mask and dispositions, limits, and no descriptor of rpistat.
 */
#ifndef RPISTAT_WORKLOAD_H
#define RPISTAT_WORKLOAD_H

#include <sys/types.h>

#include "rpistat/error.h"
#include "rpistat/signals.h"

struct rps_workload {
    pid_t pid;
    int pidfd;               /* readable when the workload has ended */
    int release_fd;          /* closed or written to release the child; -1 after that */
    int status_fd;           /* the time just before exec; then end of file, or the errno of exec */
    const char *command;     /* argv[0], borrowed, for messages */
    const char *search_path; /* PATH, borrowed, for messages; the caller sets it; NULL: not set */
    int64_t user_ns, system_ns; /* CPU time of the process before its exec: rpistat's */
    int64_t memory_bytes;       /* resident before its exec; -1: unknown */
};

/*
 * Check that the command can be executed. Searches `search_path` (the value of PATH, or NULL) as
 * execvp does. *ret_path (may be NULL) is the file that would be executed, for free(). Returns 0,
 * RPS_CANNOT_FIND or RPS_CANNOT_EXEC with a message. Cheap; called before anything is opened, so
 * that a mistyped command leaves no trace.
 */
int rps_workload_check(const char *command, const char *search_path, char **ret_path,
                       struct rps_error *err);

/*
 * Explain why execvp of the command failed with the errno `number`: writes a sentence that names
 * the interpreter or the loader if that is the cause. Returns RPS_CANNOT_FIND or RPS_CANNOT_EXEC.
 */
int rps_workload_exec_error(const char *command, const char *search_path, int number,
                            struct rps_error *err);

/*
 * Return 1 if executing the file gives the process the rights of another user or group, or
 * capabilities. Also if the file may be executed but not read. SAFETY: Linux then silently closes
 * all its counters, and they can still be read as if nothing had happened.
 */
int rps_workload_drops_counters(const char *path);

/*
 * Fork a child that waits to be released and will then execute argv, with the signal mask and the
 * disposition of SIGCHLD that `before` holds. Must be called while the process has one thread.
 */
int rps_workload_fork(struct rps_workload *ret, char *const argv[],
                      const struct rps_signals_before *before, struct rps_error *err);

/*
 * Let the child execute its command, and wait until it has. *ret_start_ns is CLOCK_MONOTONIC just
 * before exec, taken by the child: the recorder may wake up late. RPS_CANNOT_FIND or
 * RPS_CANNOT_EXEC if exec failed.
 */
int rps_workload_release(struct rps_workload *workload, int64_t *ret_start_ns,
                         struct rps_error *err);

/* The end of a workload, and its resource use after its exec: its process, and all children that
 * were waited for. */
struct rps_workload_end {
    int status, signal;         /* status >= 0, or signal > 0 */
    int64_t user_ns, system_ns; /* CPU time; exact */
    int64_t memory_bytes;       /* maximum resident memory of one process; -1: unknown, since it was
                                   no more than before the exec */
};

/* Wait for the end. */
int rps_workload_wait(struct rps_workload *workload, struct rps_workload_end *ret,
                      struct rps_error *err);

/* Return 1 if the workload's process ignores the signal (SigIgn of /proc/PID/status). */
int rps_workload_ignores(const struct rps_workload *workload, int signal);

/* Close descriptors. A child that was never released exits, and is reaped. */
void rps_workload_close(struct rps_workload *workload);

#endif
