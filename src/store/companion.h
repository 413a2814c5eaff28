/*
 * A store's companion files: STORE-wal, STORE-journal and STORE-shm, which SQLite keeps beside it.
 * Here they are looked at and made before SQLite opens them.
 */
#ifndef RPISTAT_STORE_COMPANION_H
#define RPISTAT_STORE_COMPANION_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "rpistat/error.h"

/* What a name leads to; inode 0: to nothing. */
struct rps_file_id {
    dev_t device;
    ino_t inode;
};

int rps_file_id_equal(const struct rps_file_id *a, const struct rps_file_id *b);

/* What is called name now, links not followed. */
struct rps_file_id rps_companion_id(const char *name);

/*
 * May SQLite use the file called name beside the store of that status? It must be a regular file
 * with one name that belongs to the store's owner, to root or to this user, or to the group that
 * shares the folder. 0, also when there is none; RPS_FAILED with a sentence that says what lies
 * there.
 */
int rps_companion_check(const char *name, const struct stat *store, struct rps_error *err);

/* The same for all three of the store at path, which need not be there. */
int rps_companion_check_all(const char *path, struct rps_error *err);

/*
 * Make the file called name, empty, when it is not there, so that nobody else can. RPS_FAILED when
 * it must not be made: in a sticky folder beside somebody else's store, whose owner could not use
 * it then, nor remove it. Where it cannot be made, SQLite says why.
 */
int rps_companion_make(const char *name, const struct stat *store);

/* The ending of the write-ahead log or rollback journal that lies beside the file and holds
 * something; NULL when there is none. */
const char *rps_companion_log(const char *path);

/* How many pages the rollback journal called name says that its database had before; -1 when it
 * says nothing. */
int64_t rps_companion_pages_before(const char *name);

#endif
