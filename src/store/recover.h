/*
 * What killed recorders left in shared memory (left.h), brought into the store.
 */
#ifndef RPISTAT_STORE_RECOVER_H
#define RPISTAT_STORE_RECOVER_H

#include <stddef.h>

#include <sqlite3.h>

#include "rpistat/error.h"

/*
 * Add what the recorders of this store's runs left, each run in a transaction of its own, and let
 * go of the shared memory. `path` is the store's file: what its
 * owner left is taken as well as this user's. Returns an SQLite code; what was not brought in stays
 * where it is.
 */
int rps_recover(sqlite3 *db, const char *path);

/* After rps_recover, on a connection that may write: remove what is left of no run that waits for
 * it (rps_left_sweep). */
void rps_recover_sweep(sqlite3 *db, const char *path,
                       void (*notice)(void *context, const char *sentence), void *notice_context);

/* Why a run's end could not be written, of what its recorder left; 0 when it left no end. */
int rps_recover_end_text(const char *path, const char *uuid, char *ret, size_t size);

/* 1 when rps_recover would find something to bring in. */
int rps_recover_is_due(sqlite3 *db);

/*
 * rps_database_open_read, after what a killed recorder left was brought into the store. Where this
 * user may not write it, what the store holds is what there is to read.
 */
int rps_recover_open_read(const char *path, sqlite3 **ret, struct rps_error *err);

#endif
