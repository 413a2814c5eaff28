/* What a recording counts, from the words of -p, -a, -C and -G to a target of measure. */
#ifndef RPISTAT_CLI_RECORD_TARGET_H
#define RPISTAT_CLI_RECORD_TARGET_H

#include "cli.h"
#include "rpistat/pmu.h"

struct rps_record_target {
    struct rps_target target; /* its arrays are those below */
    pid_t *pid;               /* owned */
    int *cpu;                 /* owned */
    int *pidfd;               /* owned, of the processes of -p */
    int pidfd_count;
    char text[RPS_RUN_TEXT_SIZE]; /* for run.target */
};

/*
 * Find what the settings ask for. Everything is opened and checked: processes are there, CPUs are
 * online, the control group exists. For a command (no -p, -a, -C, -G) the kind is
 * RPS_TARGET_LAUNCH, and the caller fills in the process. Free with rps_record_target_close.
 */
int rps_record_target_open(const struct rps_record_settings *settings,
                           struct rps_record_target *ret, struct rps_error *err);

/* Give the run the command line of the process of -p; of several, a word each. A process that has
 * none gives nothing. */
int rps_record_target_command(const struct rps_record_target *target, struct rps_run *run,
                              struct rps_error *err);

void rps_record_target_close(struct rps_record_target *target);

#endif
