/* The regions that the workload measures itself (rpistat/region.h), as marks in its recording. */
#ifndef RPISTAT_CLI_REGION_MARKS_H
#define RPISTAT_CLI_REGION_MARKS_H

#include <stdint.h>
#include <sys/types.h>

#include "rpistat/error.h"
#include "rpistat/loop.h"

struct rps_region_marks;

/*
 * Listen for the regions of process pid and its descendants, from now on. `mark` is called for
 * each, with its time on CLOCK_MONOTONIC. *ret is NULL if the kernel cannot do it. That is not an
 * error: a recording without these marks is valid. RPS_FAILED only without memory.
 */
int rps_region_marks_open(struct rps_region_marks **ret, pid_t pid,
                          void (*mark)(void *context, int64_t time_ns, const char *text),
                          void *context, struct rps_error *err);

/* Return how the loop waits for marks; NULL gives one that watches nothing. */
struct rps_watch rps_region_marks_watch(struct rps_region_marks *marks);

/* Receive the remaining marks after the workload's end, and report how many exceeded the limits.
 * NULL is harmless. */
void rps_region_marks_finish(struct rps_region_marks *marks);

/* Close the socket. NULL is harmless. */
void rps_region_marks_close(struct rps_region_marks *marks);

#endif
