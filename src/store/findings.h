/* Report the findings of a check or a repair to the caller. */
#ifndef RPISTAT_STORE_FINDINGS_H
#define RPISTAT_STORE_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "reader.h"
#include "rpistat/check.h"
#include "rpistat/error.h"

struct rps_findings {
    const struct rps_finding_sink *sink;
    uint64_t count[RPS_FINDING_NOTE + 1]; /* by kind; includes unlisted ones */
    bool no_memory;                       /* no more findings are possible */
};

/* Return 1 if an error is lack of memory, which is not a finding. No more findings are then
 * reported, and the caller that began the search returns the error. */
int rps_findings_end_by_error(struct rps_findings *findings, const struct rps_error *err);

/* Add one sentence (printf style). Only the first hundred of a kind are listed: an untrusted store
 * may have any number of runs and CPUs. */
void rps_findings_add(struct rps_findings *findings, enum rps_finding_kind kind, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));

/* Report that `what` cannot be read, with the code that db has just returned. */
void rps_findings_unreadable(struct rps_findings *findings, sqlite3 *db, const char *what,
                             int code);

/*
 * Query one row from db with generated SQL, which is freed (NULL: no memory); ?1 ... are the given
 * numbers. Returns 1 if there is a row, with its first two columns in ret. Returns 0 if not, and
 * reports `what` as unreadable, unless a table or column is missing: the check of the schema
 * reports that.
 */
int rps_findings_ask(struct rps_findings *findings, sqlite3 *db, char *sql, const int64_t *number,
                     const char *what, int64_t ret[2]);

/* Report how many were not listed. */
void rps_findings_end(struct rps_findings *findings);

/* Write "run 3", or "run 3, CPU 2" if cpu is not RPS_CPU_ALL; returns ret. */
char *rps_findings_track(char *ret, size_t size, int64_t run_id, int32_t cpu);

/* --- checking a run of a store ---------------------------------------------------------------- */

/*
 * Report everything that is wrong with the run. `expected` is an empty store, whose tables of
 * metrics are overwritten; NULL: none. Returns the number of readable periods.
 */
uint64_t rps_check_run(struct rps_reader *reader, int64_t run_id, sqlite3 *expected,
                       struct rps_findings *findings);

#endif
