/* Whether the tables of a store are tables. */
#ifndef RPISTAT_STORE_SCHEMA_CHECK_H
#define RPISTAT_STORE_SCHEMA_CHECK_H

#include <sqlite3.h>

#include "rpistat/error.h"

/*
 * A file from elsewhere may have a view, a virtual table or a column that is computed under the
 * name of a table of ours, and with that make reading take for ever; or something of its own under
 * the name of a table-valued function of SQLite's that we ask. RPS_FAILED and a sentence that names
 * it; 0 when there is none, or when a table is missing, which shows when it is read.
 */
int rps_schema_check(sqlite3 *db, const char *path, struct rps_error *err);

#endif
