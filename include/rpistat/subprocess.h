/*
 * Do work in a process of its own, for callers that must survive its failure: `watch`, `push`. The
 * process may end because memory runs out (rpistat/arena.h), or die. The caller must not have a
 * database open: SQLite's do not survive a fork.
 */
#ifndef RPISTAT_SUBPROCESS_H
#define RPISTAT_SUBPROCESS_H

#include <stddef.h>
#include <stdio.h>

#include "rpistat/error.h"

/* The work to do; it writes its result for the caller to out. */
typedef int rps_subprocess_work(void *context, FILE *out, struct rps_error *err);

/*
 * Do the work in a new process and wait for its end. Return the work's result, with its error, or
 * RPS_FAILED if the process ended early. *ret (may be NULL) gets the *ret_size bytes that it wrote
 * and a 0, for free(). `name` is the process's name, at most 15 bytes.
 */
int rps_subprocess_run(const char *name, rps_subprocess_work *work, void *context, char **ret,
                       size_t *ret_size, struct rps_error *err);

#endif
