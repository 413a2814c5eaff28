/* Store the positions of pushes in a small separate SQLite file, because a push only reads the
 * store. If this file is lost, all data are sent again, with the same times and values. */
#include <sqlite3.h>
#include <stdlib.h>

#include "database.h"
#include "identity.h"
#include "rpistat/rights.h"
#include "rpistat/store.h"

/* The text "rpip" as a number. */
#define APPLICATION_ID "1919969648"
#define BUSY_MS        5000

struct rps_pushed {
    sqlite3 *db;
    char *path;
};

/* Set the error for a failure. A damaged file of positions is not repaired. Returns RPS_FAILED. */
static int cannot_use(const struct rps_pushed *pushed, int code, struct rps_error *err)
{
    if ((code & 0xff) != SQLITE_CORRUPT)
        return rps_database_error(pushed->db, code, pushed->path, err);
    return rps_error_set(
        err, RPS_FAILED,
        "%s, the list of pushed samples, is damaged (%s); delete it to push everything again",
        pushed->path, rps_database_reason(pushed->db, code));
}

/* Open the file of positions. Commits are not synced. If a power failure loses a position, the only
 * effect is that some periods are sent twice. Returns an SQLite code. */
static int open_state(const char *name, int alone, sqlite3 **ret)
{
    int code = sqlite3_open_v2(name, ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_busy_timeout(*ret, BUSY_MS);
    if (code == SQLITE_OK && alone)
        code = rps_database_exec(*ret, "PRAGMA locking_mode = EXCLUSIVE");
    if (code == SQLITE_OK)
        code = rps_database_exec(*ret, "PRAGMA trusted_schema = OFF; PRAGMA synchronous = NORMAL");
    return code;
}

/* Create the tables. No journal file is used, because an existing journal file belongs to another
 * program. No other process has opened the new file yet. */
static int make_tables(sqlite3 *db)
{
    return rps_database_exec(db, "PRAGMA journal_mode = MEMORY;"
                                 "PRAGMA application_id = " APPLICATION_ID ";"
                                 "CREATE TABLE IF NOT EXISTS pushed (url TEXT, uuid TEXT,"
                                 " cpu INTEGER, period INTEGER, PRIMARY KEY (url, uuid, cpu))"
                                 " WITHOUT ROWID; PRAGMA journal_mode = WAL");
}

static int fill_new(void *context, const char *name, struct rps_error *err)
{
    struct rps_pushed made = {.path = context};
    int code = open_state(name, 1, &made.db), result;

    if (code == SQLITE_OK)
        code = make_tables(made.db);
    result = code == SQLITE_OK ? 0 : cannot_use(&made, code, err);
    sqlite3_close(made.db);
    return result;
}

/* Find out whether an earlier push made the file, or the file is empty. Returns an SQLite code. */
static int identify(sqlite3 *db, int *ret_ours, int *ret_new)
{
    int64_t ours = 0, tables = 0;
    int code = rps_database_ask(db, &tables, "SELECT count(*) FROM sqlite_schema", "");

    if (code == SQLITE_OK)
        code = rps_database_ask(
            db, &ours, "SELECT application_id = " APPLICATION_ID " FROM pragma_application_id", "");
    *ret_ours = ours != 0;
    *ret_new = !ours && tables == 0;
    return code;
}

static int open_database(struct rps_pushed *pushed, const char *path, struct rps_error *err)
{
    int code = SQLITE_OK, ours = 1, is_new = 0;

    pushed->path = rps_path_check_sqlite_path(path);
    if (!pushed->path)
        return rps_error_memory(err);
    for (int alone = 0; alone < 2; alone++) { /* try first with shared memory, then without */
        sqlite3_close(pushed->db);
        pushed->db = NULL;
        code = open_state(pushed->path, alone, &pushed->db);
        if (code == SQLITE_OK)
            code = identify(pushed->db, &ours, &is_new);
        if ((code & 0xff) != SQLITE_IOERR && (code & 0xff) != SQLITE_CANTOPEN)
            break;
    }
    if ((code & 0xff) == SQLITE_NOTADB || (!ours && !is_new))
        return rps_error_set(err, RPS_FAILED,
                             "%s is not a list of pushed samples, and was not changed; name "
                             "another file with --state",
                             path);
    if (code == SQLITE_OK && is_new)
        code = make_tables(pushed->db);
    return code == SQLITE_OK ? 0 : cannot_use(pushed, code, err);
}

int rps_pushed_open(struct rps_pushed **ret, const char *path, struct rps_error *err)
{
    struct rps_path_check look;
    struct rps_rights_before before = {0};
    struct rps_pushed *pushed = calloc(1, sizeof(*pushed));
    int result;

    if (!pushed)
        return rps_error_memory(err);
    result = rps_database_make_missing(path, fill_new, err);
    if (result >= 0)
        result = rps_rights_take_for(path, RPS_RIGHTS_FILE, &before, err);
    if (result == 0)
        result = rps_path_check_write(path, &look, err);
    if (result == 0)
        result = open_database(pushed, path, err);
    rps_rights_return(&before);
    if (result == 0)
        *ret = pushed;
    else
        rps_pushed_close(pushed);
    return result;
}

int rps_pushed_get(struct rps_pushed *pushed, const char *url, const char *uuid, int64_t cpu,
                   int64_t *ret_period, struct rps_error *err)
{
    int code =
        rps_database_ask(pushed->db, ret_period,
                         "SELECT period FROM pushed WHERE url = ?1 AND uuid = ?2 AND cpu = ?3",
                         "tti", url, uuid, cpu);

    if (code != SQLITE_OK && code != SQLITE_DONE)
        return cannot_use(pushed, code, err);
    return code == SQLITE_OK;
}

int rps_pushed_set(struct rps_pushed *pushed, const char *url, const char *uuid,
                   const struct rps_pushed_position *position, size_t count, struct rps_error *err)
{
    int code = rps_database_exec(pushed->db, "BEGIN IMMEDIATE");

    for (size_t i = 0; i < count && code == SQLITE_OK; i++)
        code = rps_database_do(pushed->db, "INSERT OR REPLACE INTO pushed VALUES (?1, ?2, ?3, ?4)",
                               "ttii", url, uuid, (int64_t)position[i].cpu, position[i].period);
    if (code == SQLITE_OK)
        code = rps_database_exec(pushed->db, "COMMIT");
    if (code == SQLITE_OK)
        return 0;
    cannot_use(pushed, code, err);
    rps_database_exec(pushed->db, "ROLLBACK");
    return RPS_FAILED;
}

int rps_pushed_forget(struct rps_pushed *pushed, const char *url, const char *uuid,
                      struct rps_error *err)
{
    int code = rps_database_do(pushed->db, "DELETE FROM pushed WHERE url = ?1 AND uuid = ?2", "tt",
                               url, uuid);

    return code == SQLITE_OK ? 0 : cannot_use(pushed, code, err);
}

void rps_pushed_close(struct rps_pushed *pushed)
{
    if (!pushed)
        return;
    rps_database_close(pushed->db);
    free(pushed->path);
    free(pushed);
}
