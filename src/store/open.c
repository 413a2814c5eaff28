/*
 * Opening a store, in the two ways a store is opened.
 *
 * A file is looked at through a read-only connection before one that can write is opened on it:
 * SQLite moves a foreign database's write-ahead log into it when the last connection closes, and a
 * file that we refuse is not to change in any way.
 *
 * That a store can be written is found by writing to it. Permissions, quotas, full disks and
 * network file systems without shared memory all look well until then. The write is user_version,
 * set to what it is: it changes no content and still takes a page to the disk.
 */
#include "database.h"

#include "companion.h"
#include "heartbeat.h"
#include "identity.h"
#include "path_check.h"
#include "schema.h"
#include "vfs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "rpistat/clock.h"
#include "rpistat/rights.h"

/* How long an opening waits for another program's lock. */
#define BUSY_TIMEOUT_MS 5000

/* The longest text or record that is read from a store. */
#define CELL_MAX_BYTES (4 * 1024 * 1024)

_Static_assert(RPS_STORE_VERSION / RPS_STORE_VERSION_MAJOR == 1, "new major: migrate the old ones");

static const unsigned char sqlite_magic[16] = "SQLite format 3";

/* --- reading ---------------------------------------------------------------------------------- */

static int open_connection(const char *name, int flags, sqlite3 **ret)
{
    const char *vfs = rps_vfs_name();
    int code =
        vfs ? sqlite3_open_v2(name, ret, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs)
            : SQLITE_NOMEM;

    if (code == SQLITE_OK)
        code = sqlite3_busy_timeout(*ret, BUSY_TIMEOUT_MS);
    /* those of a store are somebody else's: none is rpistat's */
    if (code == SQLITE_OK)
        code = sqlite3_db_config(*ret, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    return code;
}

/* Guards against what a file from elsewhere may hold. */
static int guard(sqlite3 *db)
{
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, CELL_MAX_BYTES);
    return rps_database_exec(db, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
                                 "PRAGMA query_only = ON");
}

/* The path as a URI whose store is taken to be unchanging; NULL without memory. */
static char *immutable_uri(const char *path)
{
    static const char end[] = "?immutable=1";
    char *uri = malloc(3 * strlen(path) + sizeof("file://") + sizeof(end));
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
    strcpy(at, end);
    return uri;
}

/* Open for reading and prove it by reading; an SQLite code, *ret is to be closed in any case. */
static int open_and_read(const char *name, int flags, sqlite3 **ret)
{
    sqlite3_int64 version;
    int code = open_connection(name, SQLITE_OPEN_READONLY | flags, ret);

    if (code == SQLITE_OK)
        code = guard(*ret);
    if (code == SQLITE_OK)
        code = rps_database_number(*ret, "PRAGMA user_version", &version);
    return code;
}

/* What a file begins with. */
struct header {
    unsigned char magic[16];
    unsigned char other[52];
    unsigned char application_id[4];
};

/*
 * Read through SQLite's descriptor: closing one of our own would drop the locks that other
 * connections of this process have on the file. 0 when it cannot be read.
 */
static int read_header(sqlite3 *db, struct header *ret)
{
    sqlite3_file *file = NULL;
    int code = db ? sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) : SQLITE_OK;

    if (code != SQLITE_OK || !file || !file->pMethods)
        return 0;
    code = file->pMethods->xRead(file, ret, sizeof(*ret), 0);
    return code == SQLITE_OK || code == SQLITE_IOERR_SHORT_READ; /* the rest is zeroes then */
}

/* Do the bytes say whose database it is? */
static int is_marked(const struct header *header)
{
    const unsigned char *b = header->application_id;

    return ((uint32_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3]) == RPS_STORE_APPLICATION_ID;
}

/*
 * Whether a transaction that was not finished may be undone by us: the file says in its header that
 * it is a store, or its journal in its own that there was no table before. SQLite is not asked what
 * the file is: it would have to undo it first.
 */
static int is_ours(sqlite3 *db)
{
    const char *journal = sqlite3_filename_journal(sqlite3_db_filename(db, "main"));
    struct header header;
    int64_t pages;

    if (!read_header(db, &header))
        return 0;
    pages = rps_companion_pages_before(journal);
    return is_marked(&header) || pages == 0 || pages == 1;
}

/*
 * A recorder that was killed, or the power, left a transaction half written, and a rollback
 * journal: what a write-ahead log never needs. A connection that may write undoes it by reading.
 * An SQLite code.
 */
static int undo_unfinished(const char *name)
{
    sqlite3 *db = NULL;
    sqlite3_int64 version;
    int code = open_connection(name, SQLITE_OPEN_READWRITE, &db);

    if (code == SQLITE_OK)
        code = rps_database_number(db, "PRAGMA user_version", &version);
    sqlite3_close(db);
    return code;
}

/* No shared memory can be made beside the store: a read-only medium or folder, a full disk, or a
 * file system that has none. */
static int lacks_shared_memory(sqlite3 *db, int code)
{
    if (code == SQLITE_IOERR_SHMMAP || code == SQLITE_IOERR_SHMOPEN)
        return 1;
    code = rps_database_code(db, code) & 0xff;
    return code == SQLITE_CANTOPEN || code == SQLITE_READONLY || code == SQLITE_FULL;
}

/*
 * A store in WAL mode needs a file of shared memory beside it. Where none can be made and no log
 * waits to be read, nobody is writing either.
 */
static int connect_read(const char *name, sqlite3 **ret)
{
    int code = open_and_read(name, 0, ret);
    char *uri;

    if (code == SQLITE_READONLY_ROLLBACK && is_ours(*ret)) {
        if (undo_unfinished(name) == SQLITE_PERM)
            return SQLITE_PERM;
        sqlite3_close(*ret);
        *ret = NULL;
        code = open_and_read(name, 0, ret);
    }
    if (code == SQLITE_OK || rps_companion_log(name) || !lacks_shared_memory(*ret, code))
        return code;
    uri = immutable_uri(name);
    if (!uri)
        return SQLITE_NOMEM;
    sqlite3_close(*ret);
    *ret = NULL;
    code = open_and_read(uri, SQLITE_OPEN_URI, ret);
    free(uri);
    return code;
}

/* The sentence for a file that cannot be read. */
static int cannot_read(sqlite3 *db, int code, const char *path, const char *name,
                       struct rps_error *err)
{
    const char *log = rps_companion_log(name);
    struct header header;

    if (read_header(db, &header) && memcmp(header.magic, sqlite_magic, sizeof(sqlite_magic)) != 0)
        return rps_error_set(err, RPS_FAILED,
                             "%s is not an rpistat store, but some other kind of file; it was left "
                             "as it is: give the name of a store",
                             path);
    if (code == SQLITE_READONLY_ROLLBACK && !is_ours(db))
        return rps_identity_foreign(path, err);
    if (log && lacks_shared_memory(db, code))
        return rps_error_set(
            err, RPS_FAILED,
            "the store %s cannot be read here: what its last recorder left in %s%s "
            "is still to be taken up, and no file can be written beside it; copy "
            "both into a folder of your own, and read the store there",
            path, name, log);
    return rps_database_error(db, code, path, err);
}

/* Connect read-only and look what it is. */
static int open_checked(const char *path, sqlite3 **ret, struct rps_identity *id,
                        struct rps_error *err)
{
    char *name = rps_path_check_sqlite_path(path);
    sqlite3 *db = NULL;
    int code, result;

    if (!name)
        return rps_error_memory(err);
    code = connect_read(name, &db);
    if (code != SQLITE_OK)
        result = cannot_read(db, code, path, name, err);
    else
        result = rps_identity_check(db, path, id, err);
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
        result = open_checked(path, &db, &id, err);
    if (result < 0)
        return result;
    if (rps_identity_is_blank(&id)) {
        sqlite3_close(db);
        return rps_error_set(err, RPS_FAILED,
                             "the store %s is empty: record something with `rpistat COMMAND`",
                             path);
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
    struct rps_rights_before before;
    struct rps_error unheard;
    char *name = NULL;
    sqlite3 *db = NULL;
    sqlite3_int64 version;

    if (rps_rights_take_for(path, RPS_RIGHTS_FILE, &before, &unheard) == 0)
        name = rps_path_check_sqlite_path(path);
    if (name && !rps_companion_log(name) &&
        open_connection(name, SQLITE_OPEN_READWRITE, &db) == SQLITE_OK)
        rps_database_number(db, "PRAGMA user_version", &version);
    sqlite3_close(db);
    free(name);
    rps_rights_return(&before);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* When they ended is found by seeking the last period of each CPU: a scan of a month's periods
 * takes seconds. */
int rps_database_mark_interrupted(sqlite3 *db)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(
        db,
        "UPDATE run SET state = 'interrupted', end_reason = 'the recorder was killed', elapsed_ns "
        "= ("
        "WITH RECURSIVE c (cpu) AS (SELECT min(cpu) FROM period WHERE run_id = run.run_id UNION ALL"
        " SELECT (SELECT min(cpu) FROM period WHERE run_id = run.run_id AND cpu > c.cpu) FROM c"
        " WHERE c.cpu IS NOT NULL) "
        "SELECT max((SELECT start_ns + length_ns FROM period WHERE run_id = run.run_id"
        " AND period.cpu = c.cpu ORDER BY cycle DESC, period DESC LIMIT 1)) FROM c)"
        " WHERE " RPS_HEARTBEAT_IS_DEAD,
        -1, &stmt, NULL);

    if (code == SQLITE_OK)
        code = rps_heartbeat_bind(stmt);
    if (code == SQLITE_OK)
        code = rps_database_run(stmt);
    sqlite3_finalize(stmt);
    return code;
}

/* The real write: mark the dead, and take the header's page to the disk whatever else is done. */
static int prove(sqlite3 *db)
{
    sqlite3_int64 version = 0;
    char sql[64];
    int code = rps_database_exec(db, "BEGIN IMMEDIATE");

    if (code != SQLITE_OK)
        return code;
    code = rps_database_number(db, "PRAGMA user_version", &version);
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

/* PRAGMA journal_mode with a busy timeout of its own: SQLite does not wait here. 1 in *ret_set when
 * the mode is the one that was asked for. */
static int set_journal(sqlite3 *db, const char *sql, const char *wanted, int *ret_set)
{
    const struct timespec pause = {.tv_nsec = 10 * RPS_NS_PER_MS};
    int64_t give_up_ns = rps_clock_monotonic_ns() + BUSY_TIMEOUT_MS * RPS_NS_PER_MS;
    int code;

    *ret_set = 0;
    for (;;) {
        sqlite3_stmt *stmt = NULL;

        code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
        if (code == SQLITE_OK)
            code = sqlite3_step(stmt);
        if (code == SQLITE_ROW) {
            const char *mode = (const char *)sqlite3_column_text(stmt, 0);

            *ret_set = mode && strcmp(mode, wanted) == 0;
            code = SQLITE_OK;
        }
        sqlite3_finalize(stmt);
        if ((code & 0xff) != SQLITE_BUSY || rps_clock_monotonic_ns() > give_up_ns)
            return code;
        nanosleep(&pause, NULL);
    }
}

static int fill_and_prove(sqlite3 *db)
{
    int code = rps_schema_bring_up_to_date(db);

    return code == SQLITE_OK ? prove(db) : code;
}

/* Set the journal, migrate and write; *ret_set: it is the journal that was asked for. */
static int journal_and_prove(sqlite3 *db, bool rollback, int *ret_set)
{
    int code = rollback ? set_journal(db, "PRAGMA journal_mode = DELETE", "delete", ret_set)
                        : set_journal(db, "PRAGMA journal_mode = WAL", "wal", ret_set);

    if (code == SQLITE_OK && rollback)
        code = rps_database_exec(db, "PRAGMA locking_mode = NORMAL");
    if (code == SQLITE_OK && *ret_set)
        code = fill_and_prove(db);
    return code;
}

/* EXTRA, since a rollback journal that comes back after a power cut undoes its transaction: the
 * folder is to be synced as well. */
static const char *synchronous(const struct rps_database_options *options, bool rollback)
{
    if (!options->durability_full)
        return "PRAGMA synchronous = NORMAL";
    return rollback ? "PRAGMA synchronous = EXTRA" : "PRAGMA synchronous = FULL";
}

static int connect_write(const char *name, const struct rps_database_options *options,
                         bool rollback, int *ret_set, sqlite3 **ret)
{
    int code = open_connection(name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, ret);

    *ret_set = 0;
    /* before anything is read: a log that is there already is read without shared memory by a
     * connection that has it to itself */
    if (code == SQLITE_OK && rollback)
        code = rps_database_exec(*ret, "PRAGMA locking_mode = EXCLUSIVE");
    if (code == SQLITE_OK)
        code = rps_database_exec(*ret, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
                                       "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -1024");
    if (code == SQLITE_OK)
        code = rps_database_exec(*ret, synchronous(options, rollback));
    if (code == SQLITE_OK)
        code = journal_and_prove(*ret, rollback, ret_set);
    return rps_database_code(*ret, code);
}

static void tell_of_rollback(const char *path, const struct rps_database_options *options)
{
    char sentence[512];

    if (!options->notice)
        return;
    snprintf(sentence, sizeof(sentence),
             "%s is on a file system where a write-ahead log does not work: a rollback journal "
             "is used, which makes readers and the recorder wait for each other",
             path);
    options->notice(options->notice_context, sentence);
}

/* 1 when a file system on which no log works may answer so. */
static int may_be_the_log(int code)
{
    switch (code & 0xff) {
    case SQLITE_OK: /* and the log was not set */
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
    case SQLITE_PROTOCOL:
        return code != SQLITE_IOERR_NOMEM;
    case SQLITE_READONLY: /* alone: the store itself cannot be written, with any journal */
        return code != SQLITE_READONLY;
    default:
        return 0;
    }
}

/* With a write-ahead log where one works, and a rollback journal elsewhere. */
static int open_for_writing(const char *path, const char *name,
                            const struct rps_database_options *options, sqlite3 **ret,
                            struct rps_error *err)
{
    sqlite3 *db = NULL;
    int is_set, code = connect_write(name, options, false, &is_set, &db);
    int failed = code != SQLITE_OK;

    if (failed)
        rps_database_error(db, code, path, err);
    if (may_be_the_log(code) && (failed || !is_set)) {
        sqlite3_close(db);
        db = NULL;
        code = connect_write(name, options, true, &is_set, &db);
        if (code == SQLITE_OK && is_set)
            tell_of_rollback(path, options);
        else if (!failed)
            rps_database_error(db, code, path, err);
    }
    if (code != SQLITE_OK || !is_set) {
        sqlite3_close(db);
        return RPS_FAILED;
    }
    *ret = db;
    return 0;
}

/* Remove a file that was made for nothing. */
static void remove_empty(const char *path)
{
    struct stat status;

    if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0)
        unlink(path);
}

static int open_write(const char *path, const struct rps_database_options *options, sqlite3 **ret,
                      struct rps_error *err)
{
    struct rps_path_check look;
    struct rps_identity id = {0};
    sqlite3 *probe = NULL;
    char *name = NULL;
    int result = rps_path_check_write(path, &look, err);

    if (result == 0 && !look.empty) {
        result = open_checked(path, &probe, &id, err);
        sqlite3_close(probe);
    }
    if (result < 0)
        return result;
    name = rps_path_check_sqlite_path(path);
    if (!name)
        return rps_error_memory(err);
    result = open_for_writing(path, name, options, ret, err);
    if (result < 0 && !look.exists)
        remove_empty(path);
    free(name);
    return result;
}

int rps_database_open_write(const char *path, const struct rps_database_options *options,
                            sqlite3 **ret, struct rps_error *err)
{
    struct rps_rights_before before;
    int result = rps_rights_take_for(path, RPS_RIGHTS_NEW_FILE, &before, err);

    if (result == 0)
        result = open_write(path, options, ret, err);
    if (result < 0 && before.is_made)
        remove_empty(path);
    rps_rights_return(&before);
    return result;
}

int rps_database_open_existing(const char *path, sqlite3 **ret, struct rps_error *err)
{
    const struct rps_database_options options = {0};
    struct rps_path_check look;
    struct rps_rights_before before;
    int result = rps_rights_take_for(path, RPS_RIGHTS_FILE, &before, err);

    if (result == 0)
        result = rps_path_check_read(path, &look, err); /* opening would make a new one */
    if (result == 0)
        result = open_write(path, &options, ret, err);
    rps_rights_return(&before);
    return result;
}

void rps_database_close_beside(sqlite3 *db)
{
    sqlite3_busy_timeout(db, 0);
    rps_database_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    sqlite3_close(db);
}
