/* The regions that the workload measures of itself (rpistat/region.h), as marks in its
 * recording. */
#ifndef RPISTAT_CLI_REGION_MARKS_H
#define RPISTAT_CLI_REGION_MARKS_H

#include <stdint.h>
#include <sys/types.h>

#include "rpistat/error.h"
#include "rpistat/loop.h"

struct rps_region_marks;

/*
 * Listen for the regions of process pid and its descendants, from now on. `mark` is called for
 * each, with its time on CLOCK_MONOTONIC. *ret is NULL when the kernel cannot do it, which is no
 * error: a recording without these marks is still one. RPS_FAILED only without memory.
 */
int rps_region_marks_open(struct rps_region_marks **ret, pid_t pid,
                          void (*mark)(void *context, int64_t time_ns, const char *text),
                          void *context, struct rps_error *err);

/* How the loop waits for them; NULL gives one that watches nothing. */
struct rps_watch rps_region_marks_watch(struct rps_region_marks *marks);

/* Take what has come since, after the workload's end, and say what was too much. NULL is
 * harmless. */
void rps_region_marks_finish(struct rps_region_marks *marks);

/* NULL is harmless. */
void rps_region_marks_close(struct rps_region_marks *marks);

#endif
