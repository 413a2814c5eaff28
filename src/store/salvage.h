/* The rows of a damaged store, brought into a new one. */
#ifndef RPISTAT_STORE_SALVAGE_H
#define RPISTAT_STORE_SALVAGE_H

#include <stdint.h>

#include <sqlite3.h>

#include "pages.h"
#include "rpistat/error.h"

/*
 * Insert every row of the pages that has the shape of a row of one of db's tables, which are those
 * of a new store; inside the caller's transaction. `path` is db's, for sentences. *ret_rows says
 * how many were new. RPS_FAILED when db cannot be written, or without memory.
 */
int rps_salvage(struct rps_pages *pages, sqlite3 *db, const char *path, uint64_t *ret_rows,
                struct rps_error *err);

#endif
