/*
 * Queries about the periods of a run, in SQL. The check reports their findings. The repair drops
 * impossible rows and writes gap rows for missing ones.
 */
#ifndef RPISTAT_STORE_QUESTIONS_H
#define RPISTAT_STORE_QUESTIONS_H

#include <stdint.h>

#include "findings.h"

/* Report all contradictions in the run's finest rows, within each row and between neighbours.
 * Returns an SQLite code. */
int rps_questions_ask(sqlite3 *db, int64_t run_id, struct rps_findings *findings);

/* Report other rows of the run that do not belong to it or contradict its row. */
void rps_questions_ask_rest(sqlite3 *db, int64_t run_id, struct rps_findings *findings);

/*
 * Delete the run's finest rows with impossible numbers, an end after end_ns (-1: not known), or
 * contradictions to neighbours. *ret grows by the number of rows. Returns an SQLite code.
 */
int rps_questions_drop(sqlite3 *db, int64_t run_id, int64_t end_ns, uint64_t *ret);

/* Write one gap row per missing range that lacks one. *ret_count and *ret_ns grow by their number
 * and total length. Returns an SQLite code. */
int rps_questions_write_gaps(sqlite3 *db, int64_t run_id, uint64_t *ret_count, int64_t *ret_ns);

#endif
