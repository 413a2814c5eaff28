/* Checking the rows of `rollup`: each against what the periods of the run make of it. */
#ifndef RPISTAT_STORE_CHECK_ROLLUP_H
#define RPISTAT_STORE_CHECK_ROLLUP_H

#include "examine.h"
#include "findings.h"

struct rps_check_rollup;

/* An SQLite code; *ret is to be closed in any case. */
int rps_check_rollup_open(struct rps_check_rollup **ret, sqlite3 *db,
                          const struct rps_run_shape *shape, struct rps_findings *findings);
void rps_check_rollup_close(struct rps_check_rollup *check);

/* The next of the run's finest rows, CPU by CPU. An SQLite code. */
int rps_check_rollup_piece(struct rps_check_rollup *check, const struct rps_piece *piece);

/* There are no more: look at the blocks themselves. An SQLite code. */
int rps_check_rollup_end(struct rps_check_rollup *check);

#endif
