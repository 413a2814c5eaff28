/* Rows of `period` and of `rollup` as a struct rps_period: the one insert, bind and read of
 * both. */
#ifndef RPISTAT_STORE_PERIOD_H
#define RPISTAT_STORE_PERIOD_H

#include <stdint.h>

#include <sqlite3.h>

#include "rpistat/period.h"

/*
 * What a statement selects for rps_period_read: the columns of `period`, or those of `rollup`, then
 * the counts of as many slots as are wanted.
 */
#define RPS_PERIOD_COLUMNS                                                                         \
    "cpu, cycle, period, rotation, set_no, start_ns, length_ns, cycles, clock_running_ns,"         \
    " idle_ns, enabled_ns, running_ns, switch_ns, missed"
#define RPS_PERIOD_ROLLUP_COLUMNS RPS_PERIOD_COLUMNS ", level, merged, last_period, end_ns"
#define RPS_PERIOD_COUNTS         "c0, c1, c2, c3, c4, c5, c6, c7"

/* A number that no recorder writes: "set_no" 17. */
struct rps_period_fault {
    const char *name;
    int64_t value;
};

/*
 * Read the statement's row: one of `period` when level is 0, else of `rollup`. A store is input
 * from elsewhere: -1 and *ret_fault when a number is out of any range for a run of set_count event
 * sets; *ret is untouched then.
 */
int rps_period_read(sqlite3_stmt *stmt, int level, int64_t set_count, struct rps_period *ret,
                    struct rps_period_fault *ret_fault);

/* The first column in which two rows of `rollup` differ; NULL: in none. */
const char *rps_period_differs(const struct rps_period *a, const struct rps_period *b);

/* The column of a number in the row of either. */
enum rps_period_column {
    RPS_PERIOD_CPU,
    RPS_PERIOD_CYCLE,
    RPS_PERIOD_NUMBER,
    RPS_PERIOD_ROTATION,
    RPS_PERIOD_SET_NO,
    RPS_PERIOD_START_NS,
    RPS_PERIOD_LENGTH_NS,
    RPS_PERIOD_LEVEL = 14, /* of `rollup` */
};

/* The statement that inserts rows of `period` (level 0) or of `rollup`; an SQLite code. */
int rps_period_prepare(sqlite3 *db, int level, sqlite3_stmt **ret);

/* Insert a row with it; slots whose bit in `counted` is clear become NULL. An SQLite code. */
int rps_period_insert(sqlite3_stmt *stmt, int64_t run_id, const struct rps_period *period);

#endif
