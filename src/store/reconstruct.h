/* Reconstruct a run whose rows a repair has copied into a new store. */
#ifndef RPISTAT_STORE_RECONSTRUCT_H
#define RPISTAT_STORE_RECONSTRUCT_H

#include <sqlite3.h>
#include <stdint.h>

#include "findings.h"
#include "reader.h"

/*
 * Complete the run in one transaction: add missing rows, delete contradictory ones, write gap rows,
 * and rebuild its rollups and totals. Then report that, and add to *result. The reader's connection
 * must be able to write. RPS_FAILED: it could not be written.
 */
int rps_reconstruct_run(struct rps_reader *reader, int64_t run_id, struct rps_findings *findings,
                        struct rps_repair_result *result, struct rps_error *err);

/* --- copying every row of a damaged store that SQLite can still reach ------------------------- */

struct rps_salvage_result {
    uint64_t rows;    /* that were copied */
    uint64_t dropped; /* that were read, and that the new store's tables reject */
    uint64_t queries; /* that were necessary */
    uint64_t damaged; /* ranges of a table that could not be read */
};

/*
 * Copy the rows of `from` into the tables of `to`, a new store, in one transaction. SAFETY: only
 * tables without computed columns are read. Returns an SQLite code of a failure in `to`, or
 * SQLITE_NOMEM; unreadable parts of `from` are not failures.
 */
int rps_salvage(sqlite3 *from, sqlite3 *to, struct rps_salvage_result *ret);

#endif
