/* Making a run whole whose rows a repair has brought into a new store. */
#ifndef RPISTAT_STORE_RECONSTRUCT_H
#define RPISTAT_STORE_RECONSTRUCT_H

#include <sqlite3.h>
#include <stdint.h>

#include "findings.h"
#include "reader.h"

/*
 * In one transaction: give the run the rows it lacks, take out what contradicts the rest, write gap
 * rows for what is missing, and make its rollups and totals anew; then tell of it, and add to
 * *result. The reader's connection is one that can write. RPS_FAILED when it could not be written.
 */
int rps_reconstruct_run(struct rps_reader *reader, int64_t run_id, struct rps_findings *findings,
                        struct rps_repair_result *result, struct rps_error *err);

/* --- copying every row of a damaged store that SQLite can still reach ------------------------- */

struct rps_salvage_result {
    uint64_t rows;    /* that were copied */
    uint64_t dropped; /* that were read, and that the new store's tables refuse */
    uint64_t queries; /* that it took */
    uint64_t damaged; /* stretches of a table that could not be read */
};

/*
 * Copy the rows of `from` into the tables of `to`, a new store, in one transaction. Only what is a
 * table without computed columns is read. An SQLite code: of what failed in `to`, or SQLITE_NOMEM;
 * what cannot be read of `from` is no failure.
 */
int rps_salvage(sqlite3 *from, sqlite3 *to, struct rps_salvage_result *ret);

#endif
