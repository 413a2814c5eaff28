/* The status line of a running recording on a terminal (terminal_line.h). */
#ifndef RPISTAT_CLI_STATUS_H
#define RPISTAT_CLI_STATUS_H

#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/period.h"

struct rps_plan;
struct rps_writer;

struct rps_status;

/*
 * Show the status of a recording on the terminal fd, and the time until the store reaches max_bytes
 * (0: no limit). Keeps plan and writer by reference. Starts a thread: call it after the fork.
 */
int rps_status_start(struct rps_status **ret, int fd, const struct rps_plan *plan,
                     struct rps_writer *writer, uint64_t max_bytes, struct rps_error *err);

/* Add a recorded period, of one CPU or of all; `count`: the number so far. Cheap; NULL is harmless,
 * as below. */
void rps_status_period(struct rps_status *status, const struct rps_period *period, uint64_t count);

/* Remove the line from the terminal and end the thread. */
void rps_status_stop(struct rps_status *status);

#endif
