/* The counts of samples of a run, as both the check and the repair of a store look at them. */
#ifndef RPISTAT_STORE_CHECK_CODE_H
#define RPISTAT_STORE_CHECK_CODE_H

#include <stdint.h>

#include "findings.h"

/* Tell of counts that are not as a recorder writes them, or do not come to the run's totals. */
void rps_check_code(sqlite3 *db, int64_t run_id, struct rps_findings *findings);

/*
 * Drop what cannot be right of the code that was seen, and keep the rest: what refers to rows that
 * were lost refers to -1, and the totals are what there is. Periods are right already; the highest
 * is last_period. *ret_dropped grows by the rows that were left out. An SQLite code.
 */
int rps_check_code_repair(sqlite3 *db, int64_t run_id, uint64_t last_period, uint64_t *ret_dropped);

#endif
