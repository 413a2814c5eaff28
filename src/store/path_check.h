/* Check the file and directory of a store before SQLite opens them. */
#ifndef RPISTAT_STORE_PATH_CHECK_H
#define RPISTAT_STORE_PATH_CHECK_H

#include <stdbool.h>

#include "rpistat/error.h"

struct rps_path_check {
    bool exists;
    bool empty; /* no file, or one of 0 bytes */
};

/* Check that a store at path can be read. The error names the obstacle: the file itself, or a
 * companion file with a name that SQLite uses (STORE-wal, -journal and -shm). */
int rps_path_check_read(const char *path, struct rps_path_check *ret, struct rps_error *err);

/* Check that a store at path can be written or created. Changes nothing. */
int rps_path_check_write(const char *path, struct rps_path_check *ret, struct rps_error *err);

/* Return true if the store has a write-ahead log with content. */
bool rps_path_check_has_log(const char *path);

/* Return the directory of path, which the caller frees; NULL: no memory. */
char *rps_path_check_folder(const char *path);

/* Return the path in the form for SQLite, without special names (":memory:", "file:...") and
 * without links to the file, because SQLite derives the companions' names from it. The caller frees
 * it; NULL: no memory. */
char *rps_path_check_sqlite_path(const char *path);

#endif
