/* Looking at the file and the folder of a store before SQLite touches them. */
#ifndef RPISTAT_STORE_PATH_CHECK_H
#define RPISTAT_STORE_PATH_CHECK_H

#include <stdbool.h>

#include "rpistat/error.h"

struct rps_path_check {
    bool exists;
    bool empty; /* no file, or one of 0 bytes */
};

/* Can a store at path be read? The sentence says what is in the way: of it, or of what lies beside
 * it under the names that SQLite gives its own files (STORE-wal, -journal and -shm). */
int rps_path_check_read(const char *path, struct rps_path_check *ret, struct rps_error *err);

/* Can a store at path be written or created? Changes nothing. */
int rps_path_check_write(const char *path, struct rps_path_check *ret, struct rps_error *err);

/* 1 when a write-ahead log lies beside the file and holds something. */
bool rps_path_check_has_log(const char *path);

/* The folder of path, to be freed; NULL without memory. */
char *rps_path_check_folder(const char *path);

/* The path as SQLite must be given it, so that no name is special to it (":memory:", "file:..."),
 * without the links that lead to a file: SQLite names companions after that. To be freed; NULL
 * without memory. */
char *rps_path_check_sqlite_path(const char *path);

#endif
