/* Rows of `period` and of `rollup` as a struct rps_period: insert, bind and read both. */
#pragma once

#include <stdint.h>

#include <sqlite3.h>

#include "rpistat/period.h"

/* The columns of `period` after cpu: COLUMN(member and name, minimum, maximum, true if -1 is stored
 * as NULL, how). `how` defines the value of a block: the value of its FIRST or LAST period, the SUM
 * of the periods' values, or KNOWN: this sum if all values are known. The functions that select,
 * insert, read, compare and add all use this list. */
#define RPS_PERIOD_FIELDS(COLUMN)                                                                  \
    COLUMN(cycle, 0, INT64_MAX, false, LAST)                                                       \
    COLUMN(period, 0, INT64_MAX / 2, false, FIRST)                                                 \
    COLUMN(rotation, 0, INT64_MAX / 2, false, FIRST)                                               \
    COLUMN(set_no, 0, INT32_MAX, false, FIRST)                                                     \
    COLUMN(start_ns, 0, RPS_PERIOD_TIME_MAX_NS, false, FIRST)                                      \
    COLUMN(length_ns, 0, RPS_PERIOD_TIME_MAX_NS, false, SUM)                                       \
    COLUMN(cycles, 0, INT64_MAX, false, SUM)                                                       \
    COLUMN(clock_running_ns, 0, INT64_MAX, false, SUM)                                             \
    COLUMN(idle_ns, 0, INT64_MAX, true, KNOWN)                                                     \
    COLUMN(enabled_ns, 0, INT64_MAX, false, SUM)                                                   \
    COLUMN(running_ns, 0, INT64_MAX, false, SUM)                                                   \
    COLUMN(switch_ns, 0, RPS_PERIOD_TIME_MAX_NS, false, SUM)                                       \
    COLUMN(missed, 0, UINT32_MAX, false, SUM)

#define RPS_PERIOD_NAME(member, least, most, nullable, how) ", " #member

/* Columns to select for rps_period_read: the count columns of as many slots as needed, then the
 * columns of `period`; or RPS_PERIOD_ROLLUP. */
#define RPS_PERIOD_COLUMNS        "cpu" RPS_PERIOD_FIELDS(RPS_PERIOD_NAME)
#define RPS_PERIOD_ROLLUP_COLUMNS RPS_PERIOD_COLUMNS ", level, merged, last_period, end_ns"
#define RPS_PERIOD_COUNTS         "c0, c1, c2, c3, c4, c5, c6, c7"

/* Columns of `rollup` for a row's scatter, after the columns above. */
#define RPS_PERIOD_SCATTER_OF(slot)                                                                \
    ", " slot "_min, " slot "_max, " slot "_steps, " slot "_freedom, " slot "_periods, " slot      \
    "_readings"
#define RPS_PERIOD_SCATTER                                                                         \
    ", parts, use_min, use_max, use_steps, time_steps, correlation" RPS_PERIOD_SCATTER_OF("c0")    \
        RPS_PERIOD_SCATTER_OF("c1") RPS_PERIOD_SCATTER_OF("c2") RPS_PERIOD_SCATTER_OF("c3")        \
            RPS_PERIOD_SCATTER_OF("c4") RPS_PERIOD_SCATTER_OF("c5") RPS_PERIOD_SCATTER_OF("c6")    \
                RPS_PERIOD_SCATTER_OF("c7")
#define RPS_PERIOD_ROLLUP RPS_PERIOD_ROLLUP_COLUMNS ", " RPS_PERIOD_COUNTS RPS_PERIOD_SCATTER

/* A number that a row contains but no recorder writes, such as "set_no" 17. */
struct rps_period_fault {
    const char *name;
    int64_t value;
};

/* Return the index of the column `cpu` in the statement of a level. */
int rps_period_first(sqlite3_stmt *stmt, int level);

/* Read the statement's row: a row of `period` if level is 0, otherwise of `rollup`
 * (RPS_PERIOD_ROLLUP). *scatter is set to the scatter of a row of `rollup`, if known. An invalid
 * scatter is read as unknown. SAFETY: a store is untrusted input. If a number is out of range for a
 * run of set_count event sets, returns -1, sets *ret_fault and does not change *ret. */
int rps_period_read(sqlite3_stmt *stmt, int level, int64_t set_count, struct rps_period *ret,
                    struct rps_scatter *scatter, struct rps_period_fault *ret_fault);

/* Round the scatter of a row of `rollup` to the precision of stored values. */
void rps_period_round_scatter(struct rps_scatter *scatter, const struct rps_period *row);

/* Return the first column in which two rows of `rollup` differ, or NULL if none does. The rows do
 * not differ if one scatter is missing, or if another processor rounded values differently. */
const char *rps_period_differs(const struct rps_period *a, const struct rps_period *b);

#define RPS_PERIOD_PLACE(member, least, most, nullable, how) RPS_PERIOD_AT_##member,

/* Positions of columns in a row of `period` or `rollup`: RPS_PERIOD_AT_cpu and so on. */
enum rps_period_place {
    RPS_PERIOD_AT_cpu,
    RPS_PERIOD_FIELDS(RPS_PERIOD_PLACE) RPS_PERIOD_AT_level
};

/* Prepare the insert for `period` (level 0) or `rollup`. Returns an SQLite code. */
int rps_period_prepare(sqlite3 *db, int level, sqlite3_stmt **ret);

/* Insert a row. A slot whose bit in `counted` is 0 is stored as NULL. Returns an SQLite code. */
int rps_period_insert(sqlite3_stmt *stmt, int64_t run_id, const struct rps_period *period);
