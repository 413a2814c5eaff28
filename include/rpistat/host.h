/* The machine a run was recorded on. */
#ifndef RPISTAT_HOST_H
#define RPISTAT_HOST_H

#include "rpistat/error.h"
#include "rpistat/run.h"

/*
 * Fill in the facts about this machine and process: host, boot id, CPU model and count, kernel,
 * architecture, recorder's pid and start, paranoid level, NMI watchdog, frequency governor, working
 * directory. Unreadable values stay "not known". RPS_FAILED only without memory.
 */
int rps_host_describe(struct rps_run *run, struct rps_error *err);

#endif
