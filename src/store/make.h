/* Make a new database that is complete when it gets its name: nobody ever sees half of one. */
#ifndef RPISTAT_STORE_MAKE_H
#define RPISTAT_STORE_MAKE_H

#include <sys/types.h>

#include "rpistat/error.h"

/* Make the empty file `name` a database, and close it; 0, or RPS_FAILED. */
typedef int (*rps_database_fill)(void *context, const char *name, struct rps_error *err);

/*
 * Make a file with that mode under a unique name next to path, fill it, and rename it to path.
 * Returns 0; 1 if path exists, even as a link to nothing, and is left unchanged; RPS_FAILED with a
 * message.
 */
int rps_database_make(const char *path, mode_t mode, rps_database_fill fill, void *context,
                      struct rps_error *err);

/* Make it if path is missing and could be written, or where a link of that name leads; `fill`
 * receives that place as its context. Returns 1 if it was made, 0 if path exists, RPS_FAILED with a
 * message. */
int rps_database_make_missing(const char *path, rps_database_fill fill, struct rps_error *err);

#endif
