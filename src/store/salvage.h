/* Copying every row of a damaged store that SQLite can still reach. */
#ifndef RPISTAT_STORE_SALVAGE_H
#define RPISTAT_STORE_SALVAGE_H

#include <stdint.h>

#include <sqlite3.h>

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
