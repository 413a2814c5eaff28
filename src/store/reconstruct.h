/* Reconstruct a run whose rows a repair has copied into a new store. */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

#include "findings.h"
#include "reader.h"

/* Complete the run in one transaction, or within the caller's: add missing rows, delete
 * contradictory ones, write gap rows, and rebuild its rollups and totals. Then report the changes,
 * and add their numbers to *result. The reader's connection must be able to write. Returns
 * RPS_FAILED if the run could not be written. */
int rps_reconstruct_run(struct rps_reader *reader, int64_t run_id, struct rps_findings *findings,
                        struct rps_repair_result *result, struct rps_error *err);

/* --- copying every row of a damaged store that SQLite can still reach ------------------------- */

struct rps_salvage_result {
    uint64_t rows;    /* number of copied rows */
    uint64_t dropped; /* number of rows that the new store's tables rejected */
    uint64_t queries; /* number of queries for the copy */
    uint64_t damaged; /* number of unreadable ranges of tables */
};

/* Copy the rows of `from` into the tables of `to`, a new store, in one transaction. SAFETY: only
 * tables without computed columns are read. Returns SQLITE_NOMEM, or the SQLite code of a failure
 * in `to`. Unreadable parts of `from` are not failures. */
int rps_salvage(sqlite3 *from, sqlite3 *to, struct rps_salvage_result *ret);

/* Detections of phases, for check and repair. */

/* Receives the detections that cannot be read, with the reason. */
struct rps_detection_sink {
    void *context;
    void (*wrong)(void *context, int64_t detection, const struct rps_error *why);
};

/* Read each detection of a run as rps_reader_detection does. Returns RPS_FAILED if the detections
 * cannot be listed, or if memory is short. */
int rps_detection_check(struct rps_reader *reader, int64_t run_id,
                        const struct rps_detection_sink *sink, struct rps_error *err);

/* Delete the run's phases and outliers that belong to no detection. Returns an SQLite code. */
int rps_detection_delete_strays(sqlite3 *db, int64_t run_id);
