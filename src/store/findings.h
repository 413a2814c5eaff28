/* Telling the caller of a check or a repair what was found. */
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
    uint64_t count[RPS_FINDING_NOTE + 1]; /* by kind; those not listed too */
    bool no_memory;                       /* nothing more can be found out */
};

/* 1 when an error says that there was no memory, which is no finding: no more are told, and whoever
 * began the search says so. */
int rps_findings_end_by_error(struct rps_findings *findings, const struct rps_error *err);

/* One sentence (printf style). Of a kind only the first hundred are listed: a store from elsewhere
 * may have any number of runs and CPUs. */
void rps_findings_add(struct rps_findings *findings, enum rps_finding_kind kind, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));

/* Say that `what` cannot be read, which db has just answered with the code. */
void rps_findings_unreadable(struct rps_findings *findings, sqlite3 *db, const char *what,
                             int code);

/*
 * Ask db for one row by SQL that was made for it and is freed (NULL: there was no memory); ?1 ...
 * are the numbers given. 1 when it comes, with its first two columns in ret; 0 when it cannot, as is said of `what` unless a table or column is missing, which the check
 * of the schema says.
 */
int rps_findings_ask(struct rps_findings *findings, sqlite3 *db, char *sql, const int64_t *number,
                     const char *what, int64_t ret[2]);

/* Say how many were not listed. */
void rps_findings_end(struct rps_findings *findings);

/* "run 3", or "run 3, CPU 2" for another cpu than RPS_CPU_ALL; returns ret. */
char *rps_findings_track(char *ret, size_t size, int64_t run_id, int32_t cpu);

/* --- checking a run of a store ---------------------------------------------------------------- */

/*
 * Tell of everything about the run that is not as it should be. `expected` is an empty store, whose
 * tables of metrics are written over; NULL: there is none. Returns the number of its periods, as
 * far as they could be read.
 */
uint64_t rps_check_run(struct rps_reader *reader, int64_t run_id, sqlite3 *expected,
                       struct rps_findings *findings);

#endif
