/*
 * The rows of `period` in a part of a run, by SQL. Times are not in the key of the table, but they
 * grow with the cycle timestamp that is: where a part begins is found by halving, some fifty seeks
 * a CPU, so that the last minutes of a recording that goes on for days are not read from its start.
 */
#ifndef RPISTAT_STORE_PERIOD_SELECT_H
#define RPISTAT_STORE_PERIOD_SELECT_H

#include <stdint.h>

#include <sqlite3.h>

#include "period_row.h"

struct rps_select;

struct rps_select_options {
    int64_t run_id;
    int64_t slots;          /* counts of so many slots are wanted */
    int64_t from_ns, to_ns; /* rows that end before the one, or begin behind the other, may be left
                               out */
};

/*
 * The rows in the order of the key. Holds a read transaction of db, which is borrowed, until it is
 * closed. An SQLite code; on another one than SQLITE_OK *ret is untouched.
 */
int rps_select_open(struct rps_select **ret, sqlite3 *db, const struct rps_select_options *options);
void rps_select_close(struct rps_select *select);

/* The next row: SQLITE_ROW; SQLITE_DONE at the end; else an error's code. */
int rps_select_next(struct rps_select *select, struct rps_row *ret);

#endif
