/*
 * What is asked of the periods of a run, in SQL: by the check to tell of it, and by the repair to
 * drop what cannot be right and to write gap rows for what is missing.
 */
#ifndef RPISTAT_STORE_QUESTIONS_H
#define RPISTAT_STORE_QUESTIONS_H

#include <stdint.h>

#include "findings.h"

/* Tell of everything that the finest rows of the run say against it, row by row and each beside the
 * one before. An SQLite code. */
int rps_questions_ask(sqlite3 *db, int64_t run_id, struct rps_findings *findings);

/* Tell of what else there is of the run and does not belong to it, or contradicts its row. */
void rps_questions_ask_rest(sqlite3 *db, int64_t run_id, struct rps_findings *findings);

/*
 * Delete the run's finest rows that hold impossible numbers, end behind end_ns (-1: not known), or
 * contradict those beside them. An SQLite code; *ret grows by the number of rows.
 */
int rps_questions_drop(sqlite3 *db, int64_t run_id, int64_t end_ns, uint64_t *ret);

/* Write a gap row for every stretch that is missing without one. An SQLite code; *ret_count and
 * *ret_ns: how many, and how long they are together. */
int rps_questions_write_gaps(sqlite3 *db, int64_t run_id, uint64_t *ret_count, int64_t *ret_ns);

#endif
