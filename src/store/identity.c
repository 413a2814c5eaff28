/*
 * Identify a file in one transaction. Another recorder may be creating the store right now, and a
 * mixture of its old and new state looks like another program's file.
 */
#include "identity.h"

#include "database.h"

static int read_identity(sqlite3 *db, struct rps_identity *ret)
{
    int code = rps_database_ask(db, &ret->application_id, "PRAGMA application_id", "");

    if (code == SQLITE_OK)
        code = rps_database_ask(db, &ret->version, "PRAGMA user_version", "");
    if (code == SQLITE_OK && ret->application_id == 0 && ret->version == 0)
        code = rps_database_ask(db, &ret->tables, "SELECT count(*) FROM sqlite_schema", "");
    return code;
}

int rps_identity_is_blank(const struct rps_identity *id)
{
    return id->application_id == 0 && id->version == 0 && id->tables == 0;
}

static int foreign(const char *path, struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED,
                         "%s is another program's SQLite file, not an rpistat store; it was left "
                         "as it is: choose another name",
                         path);
}

static int judge(sqlite3 *db, const char *path, int header_only, struct rps_identity *ret,
                 struct rps_error *err)
{
    int code = read_identity(db, ret);

    if (code != SQLITE_OK)
        return rps_database_error(db, code, path, err);
    if (rps_identity_is_blank(ret))
        return 0;
    if (ret->application_id != RPS_STORE_APPLICATION_ID)
        return foreign(path, err);
    if (ret->version / RPS_STORE_VERSION_MAJOR > RPS_STORE_VERSION / RPS_STORE_VERSION_MAJOR)
        return rps_error_set(err, RPS_FAILED,
                             "the store %s has format %d.%d, written by a newer rpistat than this "
                             "one, which knows format %d: use the newer rpistat",
                             path, (int)(ret->version / RPS_STORE_VERSION_MAJOR),
                             (int)(ret->version % RPS_STORE_VERSION_MAJOR),
                             RPS_STORE_VERSION / RPS_STORE_VERSION_MAJOR);
    return header_only ? 0 : rps_schema_check(db, path, err);
}

int rps_identity_check(sqlite3 *db, const char *path, int header_only, struct rps_identity *ret,
                       struct rps_error *err)
{
    int code = rps_database_exec(db, "BEGIN"), result;

    if (code != SQLITE_OK)
        return rps_database_error(db, code, path, err);
    result = judge(db, path, header_only, ret, err);
    code = rps_database_exec(db, "COMMIT");
    if (result == 0 && code != SQLITE_OK)
        return rps_database_error(db, code, path, err);
    return result;
}
