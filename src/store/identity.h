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
 * and, unless header_only, whose schema does nothing by itself (schema_check.h). RPS_FAILED with a
 * sentence for all others. The header of a store tells the first: SQLite makes its schema for the
 * second alone, which takes a millisecond.
 */
int rps_identity_check(sqlite3 *db, const char *path, int header_only, struct rps_identity *ret,
                       struct rps_error *err);

#endif
