/* Identify a database file: a store, one that is still to be made, or another program's file. */
#ifndef RPISTAT_STORE_IDENTITY_H
#define RPISTAT_STORE_IDENTITY_H

#include <sqlite3.h>
#include <stdint.h>

#include "rpistat/error.h"

struct rps_identity {
    int64_t application_id, version;
    int64_t tables; /* counted only if both are 0 */
};

/* Return 1 if a database is empty: new, or left by a recorder killed before its first commit. */
int rps_identity_is_blank(const struct rps_identity *id);

/*
 * Identify the database at path. Returns 0 and *ret if it is blank, or a store of a known format.
 * Unless header_only, the store's schema must also do nothing by itself (below). RPS_FAILED with a
 * message for all others. The header is sufficient for the format; SQLite parses the schema only
 * for the second check, which takes a millisecond.
 */
int rps_identity_check(sqlite3 *db, const char *path, int header_only, struct rps_identity *ret,
                       struct rps_error *err);

/* A store that apparently nobody is writing: SQLite may read it without locks. After each query,
 * rpistat checks that it is still the file that was opened. */

#define RPS_UNCHANGING_QUERY_SIZE 100

/* Write the query part of the URI that opens the file this way; it holds the file's state. */
void rps_unchanging_query(const char *name, char ret[RPS_UNCHANGING_QUERY_SIZE]);

/* Return 1 if db was opened this way, and the file has changed. */
int rps_unchanging_has_changed(sqlite3 *db);

/* --- whether the tables of a store are tables ------------------------------------------------- */

/*
 * SAFETY: an untrusted file may have a view, virtual table or computed column under the name of an
 * rpistat table, which can make reading endless. It may also hide a table-valued function of SQLite
 * that rpistat calls. Return RPS_FAILED with a message that names it. Return 0 if there is none, or
 * if a table is missing, which is found when it is read.
 */
int rps_schema_check(sqlite3 *db, const char *path, struct rps_error *err);

#endif
