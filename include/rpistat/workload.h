/* Launch the workload: a child waits, and executes the command when its counters are open.
 *
 * The command gets the environment that it would have without rpistat: streams, variables, working
 * directory, process group, terminal, signal mask and dispositions, limits. It inherits no
 * descriptor of rpistat. */
#pragma once

#include <sys/types.h>

#include "rpistat/error.h"
#include "rpistat/process.h"
#include "rpistat/run.h"

struct rps_workload {
    pid_t pid;
    int pidfd;                  /* descriptor that is readable when the workload has ended */
    int release_fd;             /* close or write it to release the child; -1 afterwards */
    int status_fd;              /* descriptor from which rpistat reads the time just before the
                                   exec, and then end of file or the errno of the exec */
    const char *command;        /* argv[0] for messages (borrowed) */
    const char *search_path;    /* value of PATH for messages (borrowed); NULL: not set */
    int64_t user_ns, system_ns; /* CPU time that rpistat used in the child, before the exec */
    int64_t memory_bytes;       /* resident memory of the child before its exec; -1: unknown */
};

/* Check that the command can be executed. The command is searched in `search_path` (the value of
 * PATH, or NULL), as by execvp. *ret_path (may be NULL) is the file that would be executed, for
 * free(). Return 0, or RPS_CANNOT_FIND or RPS_CANNOT_EXEC with a message. Call this function before
 * any file is created, so that a mistyped command leaves no files behind. */
int rps_workload_check(const char *command, const char *search_path, char **ret_path,
                       struct rps_error *err);

/* Explain why execvp of the command failed with the errno `number`. If the interpreter or the
 * loader is the cause, the message has its name. Return RPS_CANNOT_FIND or RPS_CANNOT_EXEC. */
int rps_workload_exec_error(const char *command, const char *search_path, int number,
                            struct rps_error *err);

/* Return 1 if Linux closes the counters of a process that executes the file. Linux does this if the
 * file gives the rights of another user or group, or capabilities, or if the file may be executed
 * but not read. SAFETY: Linux closes the counters silently, and reading a closed counter still
 * seems to work. */
int rps_workload_drops_counters(const char *path);

/* Fork a child that waits to be released and then executes argv. The command gets the signal mask
 * and the disposition of SIGCHLD from `before`. The process must have only one thread. */
int rps_workload_fork(struct rps_workload *ret, char *const argv[],
                      const struct rps_signals_before *before, struct rps_error *err);

/* Let the child execute its command, and wait until the exec. *ret_start_ns is CLOCK_MONOTONIC just
 * before the exec; the child reads the clock, because the recorder may wake up late. Return
 * RPS_CANNOT_FIND or RPS_CANNOT_EXEC if exec failed. */
int rps_workload_release(struct rps_workload *workload, int64_t *ret_start_ns,
                         struct rps_error *err);

/* The end of a workload, and the resources used after the exec, by the workload's process and by
 * those children for which this process has waited. */
struct rps_workload_end {
    int status, signal;         /* exit status >= 0, or signal > 0 */
    int64_t user_ns, system_ns; /* exact CPU time in user and kernel mode */
    int64_t memory_bytes;       /* Maximum resident memory of a process. -1: unknown, because the
                                   maximum before the exec was at least as large. */
};

/* Wait for the end of the workload. */
int rps_workload_wait(struct rps_workload *workload, struct rps_workload_end *ret,
                      struct rps_error *err);

/* Return 1 if the workload's process ignores the signal (SigIgn of /proc/PID/status). */
int rps_workload_ignores(const struct rps_workload *workload, int signal);

/* Close all descriptors. A child that was never released exits and is reaped. */
void rps_workload_close(struct rps_workload *workload);

/* Description of the machine on which a run is recorded. */

/* Fill in the facts about this machine and process. The facts are host, boot id, CPU model and
 * count, kernel, architecture, recorder's pid and start, paranoid level, NMI watchdog, frequency
 * governor, and working directory. Values that cannot be read are not changed, and are thus "not
 * known". */
void rps_host_describe(struct rps_run *run);
