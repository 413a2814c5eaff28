/* Open and close stores, for reading or for writing.
 *
 * A connection that can write is opened only after a read-only connection has identified the file,
 * because a refused file must not change in any way. SQLite moves the write-ahead log even into a
 * foreign database when the last connection closes. The schema is checked through the connection
 * that is then used, which does not touch the log before the check.
 *
 * Only a write shows whether a store can be written. Until then nothing shows missing permissions,
 * quotas, full disks, or network file systems without shared memory. The write sets user_version to
 * its present value: the content does not change, but SQLite writes a page to the disk.
 *
 * SAFETY: SQLite opens and deletes the files next to a database by name. In WAL mode, SQLite opens
 * the log and the shared memory at the first read and deletes them on closing. Between the first
 * read and closing, SQLite does neither. Opening and closing therefore run with the rights that
 * root takes for the path (rpistat/rights.h). SQLite would apply a journal before any check, so a
 * store with a journal is refused earlier (identity.h). */
#include "database.h"

#include "identity.h"
#include "schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rpistat/clock.h"
#include "rpistat/process.h"
#include "rpistat/rights.h"

/* Maximum length of a text or record that is read from a store. */
#define CELL_MAX_BYTES (4 * 1024 * 1024)

_Static_assert(RPS_STORE_VERSION / RPS_STORE_VERSION_MAJOR == 1, "new major: migrate the old ones");

/* --- reading ---------------------------------------------------------------------------------- */

static int open_connection(const char *name, int flags, int busy_ms, sqlite3 **ret)
{
    int code =
        sqlite3_open_v2(name, ret, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_busy_timeout(*ret, busy_ms);
    /* triggers of a store come from another program, because rpistat creates no triggers */
    if (code == SQLITE_OK)
        code = sqlite3_db_config(*ret, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    if (code == SQLITE_OK)
        code = rps_heartbeat_add_function(*ret);
    if (code == SQLITE_OK && rps_store_hooks)
        code = rps_store_hooks->add_functions(*ret);
    return code;
}

/* SAFETY: protect the connection against untrusted content of a file. */
static int guard(sqlite3 *db)
{
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, CELL_MAX_BYTES);
    return rps_database_exec(db, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
                                 "PRAGMA query_only = ON");
}

/* Return the path as a URI with a query, or NULL if memory is short. */
static char *uri_of(const char *path, const char *query)
{
    char *uri = malloc(3 * strlen(path) + sizeof("file://") + strlen(query));
    char *at = uri;

    if (!uri)
        return NULL;
    at = stpcpy(at, path[0] == '/' ? "file://" : "file:");
    for (; *path; path++) {
        if (*path == '%' || *path == '?' || *path == '#')
            at += sprintf(at, "%%%02x", (unsigned char)*path);
        else
            *at++ = *path;
    }
    strcpy(at, query);
    return uri;
}

int rps_database_open_guarded(const char *name, int flags, int busy_ms, sqlite3 **ret)
{
    int code = open_connection(name, SQLITE_OPEN_READONLY | flags, busy_ms, ret);

    return code == SQLITE_OK ? guard(*ret) : code;
}

/* Open a file read-only, and read to detect errors. Returns an SQLite code. Always close *ret. */
static int open_and_read(const char *name, int flags, int busy_ms, sqlite3 **ret)
{
    int64_t version;
    int code = rps_database_open_guarded(name, flags, busy_ms, ret);

    if (code == SQLITE_OK)
        code = rps_database_ask(*ret, &version, "PRAGMA user_version", "");
    return code;
}

static int open_and_read_uri(const char *name, const char *query, int busy_ms, sqlite3 **ret)
{
    char *uri = uri_of(name, query);
    int code;

    if (!uri)
        return SQLITE_NOMEM;
    code = open_and_read(uri, SQLITE_OPEN_URI, busy_ms, ret);
    free(uri);
    return code;
}

/* Return 1 if the file does not begin like an SQLite database. SAFETY: this function reads through
 * SQLite's descriptor. Closing another descriptor would drop the locks that other connections of
 * this process have on the file. */
static int is_no_database(sqlite3 *db)
{
    static const unsigned char magic[16] = "SQLite format 3";
    unsigned char begin[sizeof(magic)];
    sqlite3_file *file = NULL;
    int code = db ? sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) : SQLITE_OK;

    if (code != SQLITE_OK || !file || !file->pMethods)
        return 0;
    code = file->pMethods->xRead(file, begin, sizeof(begin), 0);
    /* if the read was short, SQLite sets the rest to zero */
    return (code == SQLITE_OK || code == SQLITE_IOERR_SHORT_READ) &&
           memcmp(begin, magic, sizeof(magic)) != 0;
}

/* Return true if no shared memory can be made next to the store. Reasons are a read-only medium or
 * directory, a full disk, or a file system without shared memory. */
static int lacks_shared_memory(sqlite3 *db, int code)
{
    if (code == SQLITE_IOERR_SHMMAP || code == SQLITE_IOERR_SHMOPEN)
        return 1;
    code = rps_database_code(db, code) & 0xff;
    return code == SQLITE_CANTOPEN || code == SQLITE_READONLY || code == SQLITE_FULL;
}

/* Exclude all other connections, so that the log needs no shared memory. */
static int take_alone(sqlite3 *db)
{
    return rps_database_exec(db, "PRAGMA locking_mode = EXCLUSIVE");
}

/* If the file is a store, move the log of a killed recorder into it. The next recorder would do the
 * same. If the log has no shared memory, no reader can read it. Returns an SQLite code. */
static int take_log_up(const char *name, int busy_ms)
{
    sqlite3 *db = NULL;
    int64_t application_id = 0;
    int code = open_connection(name, SQLITE_OPEN_READWRITE, busy_ms, &db);

    if (code == SQLITE_OK)
        code = sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (code == SQLITE_OK)
        code = take_alone(db);
    if (code == SQLITE_OK)
        code = rps_database_ask(db, &application_id, "PRAGMA application_id", "");
    if (code == SQLITE_OK && application_id == RPS_STORE_APPLICATION_ID)
        code = rps_database_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    sqlite3_close(db);
    return code;
}

/* Open a file that apparently has no writer: SQLite searches for no log, and takes no lock. The
 * file name of the connection contains the state that the file had when it was opened. */
static int open_unchanging(const char *name, sqlite3 **ret)
{
    char query[RPS_UNCHANGING_QUERY_SIZE];

    rps_unchanging_query(name, query);
    return open_and_read_uri(name, query, RPS_DATABASE_BUSY_MS, ret); /* read without locks */
}

static int is_there(const char *name, const char *end)
{
    char *path = NULL;
    int found = asprintf(&path, "%s%s", name, end) >= 0 && access(path, F_OK) == 0;

    free(path);
    return found;
}

/* Open a store for reading. A store in WAL mode needs a file of shared memory. If no shared memory
 * file can be made, and the log has no content, the store has no writer. SAFETY: if another user
 * can replace the files, rpistat only reads them. Nothing is created, changed or deleted. */
static int connect_read(const char *name, int is_others, int busy_ms, sqlite3 **ret)
{
    int code = SQLITE_CANTOPEN;

    if (!is_others)
        code = open_and_read(name, 0, busy_ms, ret);
    else if (is_there(name, "-wal") && is_there(name, "-shm"))
        code = open_and_read_uri(name, "?readonly_shm=1", busy_ms, ret);
    if (code == SQLITE_OK || !lacks_shared_memory(*ret, code))
        return code;
    sqlite3_close(*ret); /* close this connection first, because it holds a lock */
    *ret = NULL;
    if (rps_path_check_has_log(name) && !is_others && take_log_up(name, busy_ms) == SQLITE_BUSY)
        return SQLITE_BUSY;
    return rps_path_check_has_log(name) ? code : open_unchanging(name, ret);
}

static int cannot_read(sqlite3 *db, int code, const char *path, const char *name,
                       struct rps_error *err)
{
    if (is_no_database(db))
        return rps_error_set(err, RPS_FAILED,
                             "%s is not an rpistat store, and was not changed; choose another "
                             "name, or try `rpistat check --repair -o NEW` if it was one",
                             path);
    if (rps_path_check_has_log(name) && lacks_shared_memory(db, code))
        return rps_error_set(
            err, RPS_FAILED,
            "cannot read the store %s here: %s-wal holds the end of a recording, and its directory "
            "cannot be written; copy both into your own directory",
            path, name);
    return rps_database_error(db, code, path, err);
}

/* Connect read-only and identify the file (rps_identity_check). */
static int open_checked(const char *path, int header_only, int busy_ms, sqlite3 **ret,
                        struct rps_identity *id, struct rps_error *err)
{
    char *name = rps_path_check_sqlite_path(path);
    sqlite3 *db = NULL;
    int code, result;

    if (!name)
        return rps_error_memory(err);
    code = connect_read(name, rps_rights_is_others(path), busy_ms, &db);
    if (code != SQLITE_OK)
        result = cannot_read(db, code, path, name, err);
    else
        result = rps_identity_check(db, path, header_only, id, err);
    if (result < 0)
        sqlite3_close(db);
    else
        *ret = db;
    free(name);
    return result;
}

static int open_read(const char *path, sqlite3 **ret, struct rps_error *err)
{
    struct rps_path_check look;
    struct rps_identity id = {0};
    sqlite3 *db = NULL;
    int result = rps_path_check_read(path, &look, err), code;

    if (result == 0)
        result = open_checked(path, 0, RPS_DATABASE_BUSY_MS, &db, &id, err);
    if (result < 0)
        return result;
    if (rps_identity_is_blank(&id)) {
        sqlite3_close(db);
        return rps_error_set(err, RPS_FAILED,
                             "the store %s is empty; record into it with `rpistat COMMAND`", path);
    }
    if (id.version < RPS_STORE_VERSION &&
        (code = rps_schema_complete_for_reading(db)) != SQLITE_OK) {
        result = rps_database_error(db, code, path, err);
        sqlite3_close(db);
        return result;
    }
    *ret = db;
    return 0;
}

int rps_database_open_read(const char *path, sqlite3 **ret, struct rps_error *err)
{
    struct rps_rights_before before;
    int result = rps_rights_take_for(path, RPS_RIGHTS_FILE, &before, err);

    if (result == 0)
        result = open_read(path, ret, err);
    rps_rights_return(&before);
    return result;
}

void rps_database_tidy(const char *path)
{
    struct rps_path_check look;
    struct rps_rights_before before;
    char *name = NULL;
    sqlite3 *db = NULL;
    int64_t version;

    if (rps_rights_take_for(path, RPS_RIGHTS_FILE, &before, NULL) == 0 &&
        !rps_rights_is_others(path) && rps_path_check_read(path, &look, NULL) == 0)
        name = rps_path_check_sqlite_path(path);
    if (name && !rps_path_check_has_log(name) &&
        open_connection(name, SQLITE_OPEN_READWRITE, RPS_DATABASE_BUSY_MS, &db) == SQLITE_OK)
        rps_database_ask(db, &version, "PRAGMA user_version", "");
    sqlite3_close(db);
    free(name);
    rps_rights_return(&before);
}

/* --- writing ---------------------------------------------------------------------------------- */

int rps_database_mark_interrupted(sqlite3 *db)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(
        db,
        "UPDATE run SET state = 'interrupted', end_reason = 'the recorder was killed, or its disk "
        "was full',"
        " elapsed_ns = " RPS_SQL_LAST_END("run.run_id") " WHERE " RPS_HEARTBEAT_IS_DEAD,
        -1, &stmt, NULL);

    if (code == SQLITE_OK)
        code = rps_heartbeat_bind(stmt);
    if (code == SQLITE_OK)
        code = rps_database_run(stmt);
    sqlite3_finalize(stmt);
    return code;
}

/* Prove that the store is writable: mark dead recorders' runs, then write the header's page. */
static int prove(sqlite3 *db)
{
    int64_t version = 0;
    char sql[64];
    int code = rps_database_exec(db, "BEGIN IMMEDIATE");

    if (code != SQLITE_OK)
        return code;
    code = rps_database_ask(db, &version, "PRAGMA user_version", "");
    if (code == SQLITE_OK) {
        /* a pragma takes no parameters */
        snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", (int)version);
        code = rps_database_exec(db, sql);
    }
    if (code == SQLITE_OK)
        code = rps_database_mark_interrupted(db);
    if (code == SQLITE_OK)
        code = rps_database_exec(db, "COMMIT");
    if (code != SQLITE_OK)
        rps_database_exec(db, "ROLLBACK");
    return code;
}

/* Run a pragma that returns a word and compare it with `word`. Returns an SQLite code. */
static int pragma_is(sqlite3 *db, const char *sql, const char *word, int *ret)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

    *ret = 0;
    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    if (code == SQLITE_ROW) {
        const char *given = (const char *)sqlite3_column_text(stmt, 0);

        *ret = given && strcmp(given, word) == 0;
        code = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    return code;
}

/* Set WAL mode. This function itself waits up to the busy timeout, because SQLite does not wait
 * here. *ret_set is 1 if the store is now in WAL mode. */
static int set_wal_mode(sqlite3 *db, int busy_ms, int *ret_set)
{
    const struct timespec pause = {.tv_nsec = 10 * RPS_NS_PER_MS};
    int64_t give_up_ns = rps_clock_monotonic_ns() + busy_ms * RPS_NS_PER_MS;
    int code = pragma_is(db, "PRAGMA journal_mode", "wal", ret_set);

    if (code != SQLITE_OK || *ret_set)
        return code;
    /* A journal file would look like another program's. Only the first page changes. */
    code = rps_database_exec(db, "PRAGMA journal_mode = MEMORY");
    while (code == SQLITE_OK) {
        code = pragma_is(db, "PRAGMA journal_mode = WAL", "wal", ret_set);
        if ((code & 0xff) != SQLITE_BUSY || rps_clock_monotonic_ns() > give_up_ns)
            return code;
        nanosleep(&pause, NULL);
        code = SQLITE_OK;
    }
    return code;
}

/* Bring the schema up to date, and prove that the store is writable. A new log is not synced here,
 * except with durability_full. If a power loss leaves the log without its beginning, SQLite reads
 * no part of the log. Nothing from the log has been moved into the store. */
static int fill_and_prove(sqlite3 *db, bool is_new_log, bool durability_full)
{
    int code = rps_database_exec(db, durability_full ? "PRAGMA synchronous = FULL"
                                     : is_new_log    ? "PRAGMA synchronous = OFF"
                                                     : "PRAGMA synchronous = NORMAL");

    if (code == SQLITE_OK)
        code = rps_schema_bring_up_to_date(db);
    if (code == SQLITE_OK)
        code = prove(db);
    return code == SQLITE_OK && !durability_full
               ? rps_database_exec(db, "PRAGMA synchronous = NORMAL")
               : code;
}

/* Return true if the store's file has been deleted or replaced. SAFETY: rps_database_unmake deletes
 * a store under an exclusive lock, and a connection in WAL mode has a shared lock from its first
 * read on. A file that still has its name after the first read therefore keeps the name, and the
 * log of that name belongs to the file. */
static bool is_gone(sqlite3 *db)
{
    int moved = 0;

    sqlite3_file_control(db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved;
}

/* Connect for writing. Returns an SQLite code, or RPS_FAILED or RPS_BUSY with a message if the
 * schema is wrong or unreadable. After an error the store is unchanged, also after closing. */
static int connect_write(const char *path, const char *name,
                         const struct rps_database_options *options, bool alone, int *ret_set,
                         sqlite3 **ret, struct rps_error *err)
{
    int64_t version;
    bool is_new_log = !rps_path_check_has_log(name);
    int result, code = open_connection(name, SQLITE_OPEN_READWRITE, options->busy_ms, ret);

    *ret_set = 0;
    if (code == SQLITE_OK)
        code = sqlite3_db_config(*ret, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (code == SQLITE_OK && alone) /* exclude other connections before anything is read */
        code = take_alone(*ret);
    if (code == SQLITE_OK)
        code = rps_database_exec(*ret, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
                                       "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -1024");
    if (code == SQLITE_OK)
        code = rps_database_ask(*ret, &version, "PRAGMA user_version", "");
    if (code == SQLITE_OK && is_gone(*ret))
        return SQLITE_BUSY;
    if (code == SQLITE_OK && (result = rps_schema_check(*ret, path, err)) < 0)
        return result;
    if (code == SQLITE_OK)
        code = sqlite3_db_config(*ret, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    if (code == SQLITE_OK)
        code = set_wal_mode(*ret, options->busy_ms, ret_set);
    if (code == SQLITE_OK && *ret_set)
        code = fill_and_prove(*ret, is_new_log, options->durability_full);
    return rps_database_code(*ret, code);
}

static void report_alone(const char *path, const struct rps_database_options *options)
{
    char sentence[512];

    if (!options->notice)
        return;
    snprintf(sentence, sizeof(sentence),
             "%s is on a file system without shared memory, such as a network file system; read it "
             "after the recording, and record one run at a time",
             path);
    options->notice(options->notice_context, sentence);
}

/* Return 1 if a file system without shared memory may cause this code. */
static int may_lack_memory(int code)
{
    switch (code & 0xff) {
    case SQLITE_OK: /* WAL mode was not set */
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
    case SQLITE_PROTOCOL:
        return code != SQLITE_IOERR_NOMEM;
    case SQLITE_READONLY: /* SQLITE_READONLY on an exclusive connection: the store is read-only */
        return code != SQLITE_READONLY;
    default:
        return 0;
    }
}

/* Open the store for writing, or exclusively if there is no shared memory. */
static int open_for_writing(const char *path, const char *name,
                            const struct rps_database_options *options, sqlite3 **ret,
                            struct rps_error *err)
{
    sqlite3 *db = NULL;
    int is_set, code = connect_write(path, name, options, false, &is_set, &db, err);
    int failed = code != SQLITE_OK, result = code < 0 ? code : RPS_FAILED;

    if (code > 0)
        result = rps_database_error(db, code, path, err);
    if (code >= 0 && may_lack_memory(code) && (failed || !is_set)) {
        sqlite3_close(db);
        db = NULL;
        code = connect_write(path, name, options, true, &is_set, &db, err);
        if (code == SQLITE_OK && is_set)
            report_alone(path, options);
        else if (code >= 0 && (!failed || (code & 0xff) == SQLITE_BUSY))
            result = rps_database_error(db, code, path, err);
    }
    if (code != SQLITE_OK || !is_set) {
        sqlite3_close(db);
        return result;
    }
    *ret = db;
    return 0;
}

/* Open the store for writing. is_own: this process just created the file, which needs no check. */
static int open_write(const char *path, const struct rps_database_options *options, int is_own,
                      sqlite3 **ret, struct rps_error *err)
{
    struct rps_path_check look;
    struct rps_identity id = {0};
    struct rps_rights_before before;
    sqlite3 *probe = NULL;
    char *name = NULL;
    int result = rps_rights_take_for(path, RPS_RIGHTS_FILE, &before, err);

    if (result == 0)
        result = rps_path_check_write(path, &look, err);
    if (result == 0 && !look.empty && !is_own) {
        result = open_checked(path, 1, options->busy_ms, &probe, &id, err);
        sqlite3_close(probe);
    }
    if (result == 0 && !(name = rps_path_check_sqlite_path(path)))
        result = rps_error_memory(err);
    if (result == 0)
        result = open_for_writing(path, name, options, ret, err);
    free(name);
    rps_rights_return(&before);
    return result;
}

int rps_database_open_write(const char *path, const struct rps_database_options *options,
                            sqlite3 **ret, struct rps_error *err)
{
    struct rps_database_options all = *options;
    int result = rps_database_make_missing(path, rps_database_fill_store, err);

    if (all.busy_ms == 0)
        all.busy_ms = RPS_DATABASE_BUSY_MS;
    if (result == 1 && all.ret_made)
        *all.ret_made = true;
    return result < 0 ? result : open_write(path, &all, result, ret, err);
}

int rps_database_open_existing(const char *path, sqlite3 **ret, struct rps_error *err)
{
    const struct rps_database_options options = {.busy_ms = RPS_DATABASE_BUSY_MS};
    struct rps_path_check look;
    struct rps_rights_before before;
    int result = rps_rights_take_for(path, RPS_RIGHTS_FILE, &before, err);

    if (result == 0)
        result = rps_path_check_read(path, &look, err);
    rps_rights_return(&before);
    return result < 0 ? result : open_write(path, &options, 0, ret, err);
}

/* --- closing ---------------------------------------------------------------------------------- */

/* Return true if this connection is the only one, and the store has no run other than run_id. */
static bool is_unused(sqlite3 *db, int64_t run_id)
{
    int64_t runs = 1;

    return take_alone(db) == SQLITE_OK && rps_database_exec(db, "BEGIN IMMEDIATE") == SQLITE_OK &&
           rps_database_ask(db, &runs, "SELECT count(*) FROM run WHERE run_id <> ?1", "i",
                            run_id) == SQLITE_OK &&
           runs == 0 && !is_gone(db);
}

static void delete_file(const char *name, const char *end)
{
    char *path = NULL;

    if (asprintf(&path, "%s%s", name, end) >= 0)
        unlink(path);
    free(path);
}

int rps_database_unmake(const char *path, int64_t run_id)
{
    struct rps_rights_before before;
    char *name = NULL;
    sqlite3 *db = NULL;
    int result = RPS_FAILED;

    if (rps_rights_take_for(path, RPS_RIGHTS_FILE, &before, NULL) == 0)
        name = rps_path_check_sqlite_path(path);
    if (name && open_connection(name, SQLITE_OPEN_READWRITE, 0, &db) == SQLITE_OK &&
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) == SQLITE_OK &&
        is_unused(db, run_id)) {
        delete_file(name, "-wal"); /* delete the log first: a new store may soon have the name */
        delete_file(name, "-shm");
        result = unlink(name);
    }
    sqlite3_close(db);
    free(name);
    rps_rights_return(&before);
    return result;
}

static void close_connection(void *db)
{
    sqlite3_close(db);
}

void rps_database_close(sqlite3 *db)
{
    const char *name = db ? sqlite3_db_filename(db, "main") : NULL;
    struct rps_rights_before before = {0};

    if (name && rps_rights_take_for(name, RPS_RIGHTS_FILE, &before, NULL) < 0)
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL); /* keep the log */
    rps_fault_guard(close_connection, db); /* after a fault the connection is not closed */
    rps_rights_return(&before);
}

void rps_database_close_beside(sqlite3 *db)
{
    sqlite3_busy_timeout(db, 0);
    rps_database_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    rps_database_close(db);
}

int rps_database_is_alone(sqlite3 *db)
{
    int is_alone;

    return pragma_is(db, "PRAGMA locking_mode", "exclusive", &is_alone) == SQLITE_OK && is_alone;
}
