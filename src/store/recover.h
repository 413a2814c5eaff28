/*
 * What killed recorders left in shared memory (queue.h), brought into the store.
 */
#ifndef RPISTAT_STORE_RECOVER_H
#define RPISTAT_STORE_RECOVER_H

#include <sqlite3.h>

#include "rpistat/error.h"

/*
 * Add the periods that dead recorders of this store's runs had not committed, each run in a
 * transaction of its own, and let go of the shared memory. `path` is the store's file: what its
 * owner left is taken as well as this user's. Returns an SQLite code; what was not brought in stays
 * where it is.
 */
int rps_recover(sqlite3 *db, const char *path);

/* 1 when rps_recover would find something to bring in. */
int rps_recover_is_due(sqlite3 *db);

/*
 * rps_database_open_read, after what a killed recorder left was brought into the store. Where this
 * user may not write it, what the store holds is what there is to read.
 */
int rps_recover_open_read(const char *path, sqlite3 **ret, struct rps_error *err);

#endif
