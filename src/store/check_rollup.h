/* Checking the rows of `rollup`: each against the finer rows that it sums. */
#ifndef RPISTAT_STORE_CHECK_ROLLUP_H
#define RPISTAT_STORE_CHECK_ROLLUP_H

#include <stdint.h>

#include "examine.h"
#include "findings.h"

struct rps_check_rollup;

/* An SQLite code; *ret is to be closed in any case. */
int rps_check_rollup_open(struct rps_check_rollup **ret, sqlite3 *db,
                          const struct rps_run_shape *shape, struct rps_findings *findings);
void rps_check_rollup_close(struct rps_check_rollup *check);

/* The next period of the run, CPU by CPU: for the blocks of level 1. An SQLite code. */
int rps_check_rollup_period(struct rps_check_rollup *check, const struct rps_period *period);

/* There are no more: the rest of level 1, and the levels above it. An SQLite code. */
int rps_check_rollup_end(struct rps_check_rollup *check);

#endif
