/* Which processes /proc shows. */
#ifndef RPISTAT_PROC_H
#define RPISTAT_PROC_H

/* Why nothing is read from /proc by the number of a process. */
#define RPS_PROC_FOREIGN                                                                           \
    "/proc shows the processes of another PID namespace; mount it again, for example with "        \
    "unshare --mount-proc"

/*
 * Return 1 when /proc numbers processes as this process does. It does not in a PID namespace that
 * was made without mounting /proc again (unshare --fork --pid): /proc/PID is a stranger there.
 */
int rps_proc_is_own(void);

#endif
