/* Repairing what a run has of the code that was seen. */
#ifndef RPISTAT_STORE_REPAIR_CODE_H
#define RPISTAT_STORE_REPAIR_CODE_H

#include <stdint.h>

#include <sqlite3.h>

/*
 * Drop what cannot be right of the code that was seen, and keep the rest: what refers to rows that
 * were lost refers to -1, and the totals are what there is. Periods are right already; the highest
 * is last_period. *ret_dropped grows by the rows that were left out. An SQLite code.
 */
int rps_repair_code(sqlite3 *db, int64_t run_id, uint64_t last_period, uint64_t *ret_dropped);

#endif
