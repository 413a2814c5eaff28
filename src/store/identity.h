/* Identify the file at a path as a store, as an empty file that can become a store, or as another
 * program's file. Also create new stores. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "rpistat/error.h"

struct rps_identity {
    int64_t application_id, version;
    int64_t tables; /* number of tables; queried only if both ids are 0 */
};

/* Return 1 if a database is empty: new, or its recorder was killed before the first commit. */
int rps_identity_is_blank(const struct rps_identity *id);

/* Identify the database at path. Returns 0 and sets *ret if the database is blank, or a store of a
 * known format. Returns RPS_FAILED with a message for all other databases. If header_only is false,
 * this function also checks that the store's schema cannot run anything when the store is read (see
 * rps_schema_check). The file's header is sufficient to identify the format. SQLite parses the
 * schema only for the second check, which takes a millisecond. */
int rps_identity_check(sqlite3 *db, const char *path, int header_only, struct rps_identity *ret,
                       struct rps_error *err);

/* rpistat lets SQLite read a store without locks if the store apparently has no writer. After each
 * query, rpistat checks that the file has not changed since it was opened. */

#define RPS_UNCHANGING_QUERY_SIZE 100

/* Write the query part of the URI that opens the file without locks. The query part contains the
 * present state of the file. */
void rps_unchanging_query(const char *name, char ret[RPS_UNCHANGING_QUERY_SIZE]);

/* Return 1 if db was opened without locks, and the file has changed since. */
int rps_unchanging_has_changed(sqlite3 *db);

/* --- whether the tables of a store are tables ------------------------------------------------- */

/* SAFETY: find objects in an untrusted file that could make reading endless. A view, virtual table
 * or computed column may have the name of an rpistat table. A table may hide a table-valued
 * function of SQLite that rpistat calls. Returns RPS_FAILED with a message that names the object,
 * or 0 if no such object exists. Also returns 0 if a table is missing, because a later read of the
 * table reports this. */
int rps_schema_check(sqlite3 *db, const char *path, struct rps_error *err);

/* Check the file and directory of a store before SQLite opens them. */

struct rps_path_check {
    bool exists;
    bool empty; /* true if the file is missing or has 0 bytes */
};

/* Check that a store at path can be read. The error names the obstacle: the store's file, or a
 * companion file whose name SQLite uses (STORE-wal, -journal and -shm). */
int rps_path_check_read(const char *path, struct rps_path_check *ret, struct rps_error *err);

/* Check that a store at path can be written or created. Changes nothing. */
int rps_path_check_write(const char *path, struct rps_path_check *ret, struct rps_error *err);

/* Return true if the store has a write-ahead log with content. */
bool rps_path_check_has_log(const char *path);

/* Return the directory of path, which the caller frees, or NULL if memory is short. */
char *rps_path_check_folder(const char *path);

/* Return the path in the form for SQLite: without special names (":memory:", "file:...") and
 * without links to the file. SQLite derives the names of companion files from this path. The caller
 * frees the path. Returns NULL if memory is short. */
char *rps_path_check_sqlite_path(const char *path);

/* Make a new database under a temporary name, and rename it when it is complete. Therefore no
 * program sees an incomplete database. */

/* Make the empty file `name` a database, and close it. Returns 0 or RPS_FAILED. */
typedef int (*rps_database_fill)(void *context, const char *name, struct rps_error *err);

/* Make a file with `mode` under a unique name next to path, fill the file, and rename it to path.
 * Returns 0 if the file was made. Returns 1 and changes nothing if path exists, even as a broken
 * link. Returns RPS_FAILED with a message for errors. */
int rps_database_make(const char *path, mode_t mode, rps_database_fill fill, void *context,
                      struct rps_error *err);

/* Make a database if path is missing and its directory is writable. If path is a broken link, make
 * the database at the link's target; `fill` receives the path of the new database as its context.
 * Returns 1 if the database was made, 0 if path exists, or RPS_FAILED with a message for errors. */
int rps_database_make_missing(const char *path, rps_database_fill fill, struct rps_error *err);
