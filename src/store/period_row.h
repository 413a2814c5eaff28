/* A row of `period` as a struct rps_period, and what no recorder writes into one. */
#ifndef RPISTAT_STORE_PERIOD_ROW_H
#define RPISTAT_STORE_PERIOD_ROW_H

#include <stdint.h>

#include <sqlite3.h>

#include "rpistat/period.h"
#include "rpistat/plan.h"

/*
 * What a statement selects for rps_row_take, before the columns of the slots it wants: c0, c1, ...
 * `merged` is a column since format 1.2, see rps_row_has_merged; RPS_ROW_NOT_MERGED is what to
 * select where there is none.
 */
#define RPS_ROW_FIXED                                                                              \
    "cpu, cycle, period, set_no, start_ns, length_ns, cycles, enabled_ns, running_ns, switch_ns,"  \
    " missed"
#define RPS_ROW_COLUMNS    RPS_ROW_FIXED ", merged"
#define RPS_ROW_NOT_MERGED RPS_ROW_FIXED ", NULL"
#define RPS_ROW_COUNTS     "c0, c1, c2, c3, c4, c5, c6, c7"

enum rps_row_column {
    RPS_ROW_CPU,
    RPS_ROW_CYCLE,
    RPS_ROW_PERIOD,
    RPS_ROW_SET_NO,
    RPS_ROW_START_NS,
    RPS_ROW_LENGTH_NS,
    RPS_ROW_CYCLES,
    RPS_ROW_ENABLED_NS,
    RPS_ROW_RUNNING_NS,
    RPS_ROW_SWITCH_NS,
    RPS_ROW_MISSED,
    RPS_ROW_MERGED,
    RPS_ROW_COUNT_FIRST,
};

#define RPS_ROW_VALUES (RPS_ROW_COUNT_FIRST + RPS_SLOT_MAX)

/* The columns' numbers: 0, and no bit of `present`, for NULL. */
struct rps_row {
    int64_t value[RPS_ROW_VALUES];
    uint32_t present;
};

/* A number that no recorder writes: "set_no" 17. */
struct rps_row_fault {
    const char *name;
    int64_t value;
};

/* Has the table period of db the column `merged`? 0 when that cannot be asked. */
int rps_row_has_merged(sqlite3 *db);

/*
 * The next CPU of run ?1, in a statement of RPS_ROW_NEXT_CPU: SQLITE_ROW and *ret, which is above
 * `after`; SQLITE_DONE when there is none, or none that a recorder writes. The statement is reset.
 */
#define RPS_ROW_NEXT_CPU "SELECT min(cpu) FROM period WHERE run_id = ?1 AND cpu > ?2"
int rps_row_next_cpu(sqlite3_stmt *stmt, int64_t after, int64_t *ret);

/*
 * What a row of a run with so many event sets says. Returns 0, or -1 and *ret_fault when a number
 * in it is out of any range; *ret is untouched then.
 */
int rps_row_period(const struct rps_row *row, int64_t set_count, struct rps_period *ret,
                   struct rps_row_fault *ret_fault);

/* The statement's row. */
void rps_row_take(sqlite3_stmt *stmt, struct rps_row *ret);

/* Both. */
int rps_row_read(sqlite3_stmt *stmt, int64_t set_count, struct rps_period *ret,
                 struct rps_row_fault *ret_fault);

#endif
