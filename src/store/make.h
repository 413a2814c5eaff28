/* A new database, which is complete when it gets its name: nobody ever sees half of one. */
#ifndef RPISTAT_STORE_MAKE_H
#define RPISTAT_STORE_MAKE_H

#include <sys/types.h>

#include "rpistat/error.h"

/* Make the empty file called name a database, and close it; 0, or RPS_FAILED. */
typedef int (*rps_database_fill)(void *context, const char *name, struct rps_error *err);

/*
 * Make a file of that mode under a name of its own beside path, have it filled, and give it the
 * name path. 0; 1 when there is something of that name already, be it a link to nothing, which is
 * left as it is; RPS_FAILED with a sentence.
 */
int rps_database_make(const char *path, mode_t mode, rps_database_fill fill, void *context,
                      struct rps_error *err);

/* Make it where path is missing and could be written, or where a link of that name leads: `fill` is
 * given that place as its context. 1 when it was made, 0 when there is something already, or
 * RPS_FAILED with a sentence. */
int rps_database_make_missing(const char *path, rps_database_fill fill, struct rps_error *err);

#endif
