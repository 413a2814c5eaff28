/*
 * What kind of file a database is: a store, one that is still to be made, or somebody else's.
 */
#ifndef RPISTAT_STORE_IDENTITY_H
#define RPISTAT_STORE_IDENTITY_H

#include <sqlite3.h>
#include <stdint.h>

#include "rpistat/error.h"

struct rps_identity {
    int64_t application_id, version;
    int64_t tables; /* where both are 0 */
};

/* A database without content: new, or left by a recorder killed before its first commit. */
int rps_identity_is_blank(const struct rps_identity *id);

/*
 * Look what the database at path is: 0 and *ret for a blank one, or a store whose format is known
 * and, unless header_only, whose schema does nothing by itself (below). RPS_FAILED with a
 * sentence for all others. The header of a store tells the first: SQLite makes its schema for the
 * second alone, which takes a millisecond.
 */
int rps_identity_check(sqlite3 *db, const char *path, int header_only, struct rps_identity *ret,
                       struct rps_error *err);

/* A store that nobody is writing, as it seems: SQLite may read it without locks, and is asked after
 * each query whether the file is still the one that was opened. */

#define RPS_UNCHANGING_QUERY_SIZE 100

/* The query part of the URI that opens the file so; what the file is now is kept in it. */
void rps_unchanging_query(const char *name, char ret[RPS_UNCHANGING_QUERY_SIZE]);

/* 1 when db was opened so, and somebody wrote. */
int rps_unchanging_has_changed(sqlite3 *db);

/* --- whether the tables of a store are tables ------------------------------------------------- */

/*
 * A file from elsewhere may have a view, a virtual table or a column that is computed under the
 * name of a table of ours, and with that make reading take for ever; or something of its own under
 * the name of a table-valued function of SQLite's that we ask. RPS_FAILED and a sentence that names
 * it; 0 when there is none, or when a table is missing, which shows when it is read.
 */
int rps_schema_check(sqlite3 *db, const char *path, struct rps_error *err);

#endif
