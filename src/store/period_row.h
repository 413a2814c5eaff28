/* A row of `period` as a struct rps_period, and what no recorder writes into one. */
#ifndef RPISTAT_STORE_PERIOD_ROW_H
#define RPISTAT_STORE_PERIOD_ROW_H

#include <stdint.h>

#include <sqlite3.h>

#include "rpistat/period.h"

/* What a statement selects for rps_row_read, before the columns of the slots it wants: c0, c1, ...
 */
#define RPS_ROW_COLUMNS                                                                            \
    "cpu, cycle, period, set_no, start_ns, length_ns, cycles, enabled_ns, running_ns, switch_ns,"  \
    " missed"
#define RPS_ROW_COUNTS "c0, c1, c2, c3, c4, c5, c6, c7"

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
    RPS_ROW_COUNT_FIRST,
};

/* A number that no recorder writes: "set_no" 17. */
struct rps_row_fault {
    const char *name;
    int64_t value;
};

/*
 * The statement's row, of a run with so many event sets. Returns 0, or -1 and *ret_fault when a
 * number in it is out of any range; *ret is untouched then.
 */
int rps_row_read(sqlite3_stmt *stmt, int64_t set_count, struct rps_period *ret,
                 struct rps_row_fault *ret_fault);

#endif
