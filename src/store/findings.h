/* Collect the findings of a check or a repair, and report them to the caller. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "reader.h"
#include "write_run.h"
#include "rpistat/check.h"
#include "rpistat/error.h"

struct rps_rollup_sink;

struct rps_findings {
    const struct rps_finding_sink *sink;  /* NULL: findings are not reported */
    uint64_t count[RPS_FINDING_NOTE + 1]; /* findings per kind, including findings not listed */
    bool no_memory;                       /* memory is short: no further findings are added */
};

/* Return 1 if `err` reports lack of memory, which is not a finding. After such an error no further
 * findings are added. The function that began the search must return the error. */
int rps_findings_end_by_error(struct rps_findings *findings, const struct rps_error *err);

/* Add a finding as one sentence (printf style). Only the first hundred findings of a kind are
 * listed, because an untrusted store may have any number of runs and CPUs. */
void rps_findings_add(struct rps_findings *findings, enum rps_finding_kind kind, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));

/* Add a finding that `what` is unreadable. `code` is the code that db has just returned. */
void rps_findings_unreadable(struct rps_findings *findings, sqlite3 *db, const char *what,
                             int code);

/* Query one row from db with generated SQL, which is freed. If the SQL is NULL, memory was short.
 * The given numbers are bound to ?1, ?2 and so on. Returns 1 if there is a row, and stores its
 * first two columns in ret. If there is no row, returns 0 and reports `what` as unreadable. A
 * missing table or column is not reported here: the check of the schema reports it. */
int rps_findings_ask(struct rps_findings *findings, sqlite3 *db, char *sql, const int64_t *number,
                     const char *what, int64_t ret[2]);

/* Report how many findings were not listed. */
void rps_findings_end(struct rps_findings *findings);

/* Write "run 3" to ret, or "run 3, CPU 2" if cpu is not RPS_CPU_ALL. Returns ret. */
char *rps_findings_track(char *ret, size_t size, int64_t run_id, int32_t cpu);

/* --- checking a run of a store ---------------------------------------------------------------- */

/* Check a run and report all errors. `expected` is an empty store, whose tables of metrics are
 * overwritten; it may be NULL. Returns the number of readable periods. */
uint64_t rps_check_run(struct rps_reader *reader, int64_t run_id, sqlite3 *expected,
                       struct rps_findings *findings);

/* SQL queries about the periods of a run. The check reports contradictions in the periods. The
 * repair drops impossible rows and writes gap rows for missing periods. */

/* Report all contradictions in the run's finest rows, within each row and between neighbours.
 * Returns an SQLite code. */
int rps_questions_ask(sqlite3 *db, int64_t run_id, struct rps_findings *findings);

/* Report rows in other tables that do not belong to the run, or contradict the row of the run. */
void rps_questions_ask_rest(sqlite3 *db, int64_t run_id, struct rps_findings *findings);

/* Delete impossible rows from the run's finest rows. A row is impossible if it has an impossible
 * number, ends after end_ns (-1: not known), or contradicts a neighbour. The number of deleted rows
 * is added to *ret. Returns an SQLite code. */
int rps_questions_drop(sqlite3 *db, int64_t run_id, int64_t end_ns, uint64_t *ret);

/* Write one gap row per missing range that has no gap row. The number of the gaps is added to
 * *ret_count, and their total length to *ret_ns. Returns an SQLite code. */
int rps_questions_write_gaps(sqlite3 *db, int64_t run_id, uint64_t *ret_count, int64_t *ret_ns);

/* Totals of a run's finest rows, for check and repair: the sums per event set, and the blocks that
 * a recorder would have made. */

struct rps_run_sums {
    int set_count;           /* number of rows of event_set */
    uint64_t periods;        /* number of periods of all CPUs together */
    uint64_t most;           /* number of periods of the CPU with the most periods */
    int64_t end_ns;          /* end of the last period; -1 if there is none */
    uint64_t last_period;    /* highest period number */
    struct rps_set_sum *sum; /* sums per event set, in the arena */
};

/* Pass blocks of a run with valid rows to the sink. Returns 0 or RPS_FAILED. */
int rps_run_sums(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                 const struct rps_rollup_sink *sink, struct rps_run_sums *ret,
                 struct rps_error *err);
