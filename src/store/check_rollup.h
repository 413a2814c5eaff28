/* Checking the rows of `rollup`: each against the finer rows that it sums. */
#ifndef RPISTAT_STORE_CHECK_ROLLUP_H
#define RPISTAT_STORE_CHECK_ROLLUP_H

#include "examine.h"
#include "findings.h"

/* Tell what is wrong with the blocks of a run. An SQLite code. */
int rps_check_rollup(sqlite3 *db, const struct rps_run_shape *shape, struct rps_findings *findings);

#endif
