/* Finest rows that a repair has found and that cannot be what was recorded. */
#ifndef RPISTAT_STORE_INVALID_PERIODS_H
#define RPISTAT_STORE_INVALID_PERIODS_H

#include <stdint.h>

#include <sqlite3.h>

/*
 * Delete the run's periods, and the blocks that stand for thinned ones, that hold impossible
 * numbers or do not fit between those before and behind them. `end_ns` is when the run ended, -1
 * when that is not known. An SQLite code; the rows deleted are added to *ret.
 */
int rps_invalid_periods_delete(sqlite3 *db, int64_t run_id, int set_count, int64_t end_ns,
                               uint64_t *ret);

#endif
