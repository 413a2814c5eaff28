/*
 * Work in a process of its own, for who must live on whatever becomes of it: `watch`, `push`.
 * There it may end for want of memory (rpistat/arena.h) or die. Who calls has no database
 * open: SQLite's do not survive a fork.
 */
#ifndef RPISTAT_SUBPROCESS_H
#define RPISTAT_SUBPROCESS_H

#include <stddef.h>
#include <stdio.h>

#include "rpistat/error.h"

/* What is to be done; what the caller is to get of it is written to out. */
typedef int rps_subprocess_work(void *context, FILE *out, struct rps_error *err);

/*
 * Do the work there and wait for its end. What it returned, with its error; RPS_FAILED also when it
 * ended before. *ret (NULL: nobody asks) has the *ret_size bytes that it wrote, and a 0, to be freed. `name`
 * is the process', of at most 15 bytes.
 */
int rps_subprocess_run(const char *name, rps_subprocess_work *work, void *context, char **ret,
                       size_t *ret_size, struct rps_error *err);

#endif
