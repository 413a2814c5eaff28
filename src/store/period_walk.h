/*
 * The rows of `period`, read from the tree's pages instead of by SQL: a day has 864,000 of them,
 * and SQLite takes longer to hand out their columns than everything that is done with them. Only
 * for a table whose pages all stand in the file: not beside a write-ahead log that holds some.
 *
 * SQLite opens, locks and reads the file. What is done here is following the tree, and decoding.
 */
#ifndef RPISTAT_STORE_PERIOD_WALK_H
#define RPISTAT_STORE_PERIOD_WALK_H

#include <stdint.h>

#include <sqlite3.h>

#include "period_row.h"

struct rps_walk;

/*
 * The rows of a run, in the order of the key. Holds a read transaction of db, which is borrowed,
 * until it is closed. Returns 1 and *ret; 0 when the rows are to be read by SQL, for whatever
 * reason.
 */
int rps_walk_open(struct rps_walk **ret, sqlite3 *db, int64_t run_id);
void rps_walk_close(struct rps_walk *walk);

/* The next row. Returns 1; 0 at the end; -1 when a page makes no sense. */
int rps_walk_next(struct rps_walk *walk, struct rps_row *ret);

#endif
