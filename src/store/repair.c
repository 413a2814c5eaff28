/* Repair: copy all readable rows of a damaged store into a new store (salvage.c), then reconstruct
 * its runs (reconstruct.c). The damaged file is only read, because writing may damage it further.
 * The new store is made under a temporary name in the same directory and renamed when it is
 * complete. Therefore no program sees an incomplete store, and two simultaneous repairs to one path
 * do not write the same file. */
#include "rpistat/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database.h"
#include "findings.h"
#include "identity.h"
#include "reconstruct.h"
#include "schema.h"
#include "rpistat/arena.h"
#include "rpistat/rights.h"

struct repair {
    const char *path;
    sqlite3 *from;
    int damaged; /* descriptor of a file that is no readable store, or -1 */
    char *copy;  /* owned: path of a copy of the damaged file with a restored schema, or NULL */
    struct rps_reader to; /* reader of the new store, under its temporary name; it can write */
    struct rps_findings findings;
    struct rps_repair_result result;
};

/* --- the damaged store ------------------------------------------------------------------------ */

/* Open a store that rps_database_open_read refuses, with all protections except one. The connection
 * is not defensive, so that PRAGMA writable_schema can be used. SQLite then accepts damaged rows of
 * the schema and truncated files. Nothing is written: the connection is read-only. */
static int open_refused(const char *path, sqlite3 **ret)
{
    char *name = rps_path_check_sqlite_path(path);
    int code = name ? rps_database_open_guarded(name, 0, RPS_DATABASE_BUSY_MS, ret) : SQLITE_NOMEM;

    free(name);
    if (code != SQLITE_OK)
        return code;
    sqlite3_db_config(*ret, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    return rps_database_exec(*ret, "PRAGMA writable_schema = ON");
}

/* Begin to read one state of the opened store, which must have tables. Returns an SQLite code. */
static int hold(struct repair *repair)
{
    int64_t tables = 0;
    /* Do not check cell sizes, because a page with one oversized cell also has valid cells. */
    int code = rps_database_exec(repair->from, "PRAGMA cell_size_check = OFF; BEGIN");

    if (code == SQLITE_OK)
        code = rps_database_ask(repair->from, &tables, "SELECT count(*) FROM sqlite_schema", "");
    return code == SQLITE_OK && tables == 0 ? SQLITE_NOTADB : code;
}

/* Open the damaged store. If its schema cannot be read, open only its file as repair->damaged. */
static int hold_damaged(struct repair *repair, const char *path, struct rps_error *err)
{
    struct rps_path_check place;
    int code = SQLITE_OK;

    if (rps_path_check_read(path, &place, err) < 0)
        return RPS_FAILED;
    if (rps_database_open_read(path, &repair->from, err) < 0)
        code = rps_error_is_memory(err) ? SQLITE_NOMEM : open_refused(path, &repair->from);
    if (code == SQLITE_OK)
        code = hold(repair);
    if (code == SQLITE_NOMEM)
        return rps_error_memory(err);
    if (code == SQLITE_OK)
        return 0;
    sqlite3_close(repair->from);
    repair->from = NULL;
    repair->damaged = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (repair->damaged < 0)
        return rps_error_set(err, RPS_FAILED, "cannot read %s: %s", path, strerror(errno));
    return 0;
}

static int open_damaged(struct repair *repair, const char *path, struct rps_error *err)
{
    struct rps_rights_before before;
    int result = rps_rights_take_for(path, RPS_RIGHTS_FILE, &before, err);

    if (result == 0)
        result = hold_damaged(repair, path, err);
    rps_rights_return(&before);
    return result;
}

static int is_there(const char *path, const char *new_path, struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED, "%s exists; name a new file for the data of %s", new_path,
                         path);
}

/* --- a schema that is lost -------------------------------------------------------------------- */

#define PAGE_SIZE 4096

/* Offset of the change number for which the header's page count is valid. If the change counter
 * differs, SQLite uses the file's size (sqlite.org/fileformat2.html). */
#define COUNTED_AT 92

/* Maximum number of lost schema pages, in addition to the first page. */
#define LOST_SCHEMA_PAGES_MAX 2

/* SQL: insert a row of 255 pages, so that the views come after the rows of a small store. */
static const char sql_move_views[] =
    "PRAGMA foreign_keys = OFF; INSERT INTO heartbeat VALUES (1, 0, hex(zeroblob(522000)), 0);"
    " VACUUM";

/* SQL: the pages with the schema of an empty store, including the first. Pages that are the root of
 * a table or index, or belong to the inserted row, are left out. The second column is 1 if the page
 * precedes all rows, so that all stores have the page at this position. */
static const char sql_schema_pages[] =
    "WITH RECURSIVE n (page) AS (SELECT 1 UNION ALL SELECT page + 1 FROM n WHERE page <"
    " (SELECT page_count FROM pragma_page_count)) SELECT page, page > 1 AND page <"
    " (SELECT max(rootpage) FROM sqlite_schema) FROM n"
    " WHERE page NOT IN (SELECT rootpage FROM sqlite_schema) AND page NOT BETWEEN"
    " (SELECT max(rootpage) FROM sqlite_schema) AND"
    " (SELECT max(rootpage) + iif((SELECT count(*) FROM heartbeat), 255, 0) FROM sqlite_schema)";

/* Replace the copy's schema pages by those of an empty store, unless more than lost_max of them
 * differ. Returns false if too many differ, or on an error. */
static bool put_schema(sqlite3 *empty, int copy, int lost_max)
{
    sqlite3_int64 size = 0;
    unsigned char *page = sqlite3_serialize(empty, "main", &size, 0), old[PAGE_SIZE];
    sqlite3_stmt *stmt = NULL;
    bool done = page && sqlite3_prepare_v2(empty, sql_schema_pages, -1, &stmt, NULL) == SQLITE_OK;
    int lost = 0;

    while (done && sqlite3_step(stmt) == SQLITE_ROW) {
        const int64_t at = (sqlite3_column_int64(stmt, 0) - 1) * PAGE_SIZE;

        if (sqlite3_column_int(stmt, 1))
            lost += pread(copy, old, PAGE_SIZE, at) != PAGE_SIZE ||
                    memcmp(page + at, old, PAGE_SIZE) != 0;
    }
    sqlite3_reset(stmt);
    done = done && lost <= lost_max;
    if (done)
        memset(page + COUNTED_AT, 0xff, 4);
    while (done && sqlite3_step(stmt) == SQLITE_ROW) {
        const int64_t at = (sqlite3_column_int64(stmt, 0) - 1) * PAGE_SIZE;

        done = pwrite(copy, page + at, PAGE_SIZE, at) == PAGE_SIZE;
    }
    sqlite3_finalize(stmt);
    sqlite3_free(page);
    return done;
}

/* Restore the schema of a damaged store from an empty store. All stores are created by the same
 * statements, so that their tables begin on the same pages, also after a VACUUM. VACUUM moves the
 * views to pages after the rows. If a schema page differs, the store may have been vacuumed. In
 * this case the views are taken from an empty store in which they come after the rows of a small
 * store. In a store of more than 1 MiB the views overwrite the rows of some pages. */
static bool restore_schema(int copy)
{
    sqlite3 *empty = NULL;
    bool done =
        sqlite3_open_v2(":memory:", &empty, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ==
            SQLITE_OK &&
        rps_schema_bring_up_to_date(empty) == SQLITE_OK &&
        (put_schema(empty, copy, 0) || (rps_database_exec(empty, sql_move_views) == SQLITE_OK &&
                                        put_schema(empty, copy, LOST_SCHEMA_PAGES_MAX)));

    sqlite3_close(empty);
    return done;
}

/* Open a copy of the damaged file with the schema of a new store. */
static int open_copy(struct repair *repair, const char *path, struct rps_error *err)
{
    int fd = -1;
    struct stat status;
    bool done;

    if (asprintf(&repair->copy, "%s.copy", repair->to.path) < 0) {
        repair->copy = NULL;
        return rps_error_memory(err);
    }
    fd = open(repair->copy, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    done = fd >= 0 && fstat(repair->damaged, &status) == 0;
    while (done && status.st_size > 0) {
        ssize_t size = sendfile(fd, repair->damaged, NULL, (size_t)status.st_size);

        status.st_size -= size;
        done = size > 0;
    }
    done = done && restore_schema(fd);
    if (fd >= 0)
        close(fd);
    if (!done || open_refused(repair->copy, &repair->from) != SQLITE_OK ||
        hold(repair) != SQLITE_OK)
        return rps_error_set(err, RPS_FAILED,
                             "nothing in %s can be read as a store; check its name", path);
    return 0;
}

/* --- its runs --------------------------------------------------------------------------------- */

/* SQL: the numbers of all runs. A run without a row in `run` must have at least three periods or
 * blocks. One or two may have this number only because their number is damaged. */
#define SQL_RUNS                                                                                   \
    "SELECT run_id FROM run WHERE run_id > 0 UNION SELECT run_id FROM (SELECT run_id FROM period"  \
    " UNION SELECT run_id FROM rollup) AS p WHERE run_id > 0 AND (SELECT count(*) FROM"            \
    " (SELECT 1 FROM finest AS f WHERE f.run_id = p.run_id LIMIT 3)) = 3 ORDER BY run_id"

/* Delete rows that belong to no run. */
static int drop_strays(struct repair *repair)
{
    char sql[128];
    int code = SQLITE_OK;

    for (size_t i = 0; i < RPS_TABLE_COUNT && code == SQLITE_OK; i++) {
        snprintf(sql, sizeof(sql),
                 "DELETE FROM %s WHERE run_id < 1 OR run_id NOT IN (SELECT run_id FROM run)",
                 rps_tables[i].name);
        code = rps_database_exec(repair->to.db, sql);
        if (code == SQLITE_OK)
            repair->result.dropped += (uint64_t)sqlite3_changes(repair->to.db);
    }
    return code;
}

static int reconstruct_runs(struct repair *repair, struct rps_error *err)
{
    struct rps_arena *arena = rps_arena_new();
    int64_t *run_id = NULL;
    size_t count = 0;
    int result = rps_reader_numbers(arena, &repair->to, SQL_RUNS, &run_id, &count, err), code;

    for (size_t i = 0; i < count && result == 0; i++)
        result =
            rps_reconstruct_run(&repair->to, run_id[i], &repair->findings, &repair->result, err);
    rps_arena_free(arena);
    if (result == 0 && (code = drop_strays(repair)) != SQLITE_OK)
        result = rps_reader_error(&repair->to, code, err);
    return result;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int bring_in_rows(struct repair *repair, const char *path, struct rps_error *err)
{
    struct rps_salvage_result salvaged;
    /* Copy rows even if they violate a condition, because other columns of the row may be valid.
     * Wrong values are corrected later. */
    int code = rps_database_exec(repair->to.db, "PRAGMA ignore_check_constraints = ON");

    if (code == SQLITE_OK)
        code = rps_salvage(repair->from, repair->to.db, &salvaged);
    if (code != SQLITE_OK)
        return rps_reader_error(&repair->to, code, err);
    repair->result.dropped = salvaged.dropped;
    repair->result.queries = salvaged.queries;
    if (salvaged.rows == 0)
        return rps_error_set(err, RPS_FAILED,
                             "nothing in %s can be read as part of a store; check its name", path);
    return 0;
}

/* Fill the new store with the readable rows. No program sees the store before it is complete. */
static int fill_new(void *context, const char *name, struct rps_error *err)
{
    const struct rps_database_options options = {0};
    struct repair *repair = context;
    int result = rps_database_open_write(name, &options, &repair->to.db, err), code;

    repair->to.path = (char *)(uintptr_t)name;
    if (result < 0)
        return result;
    code =
        rps_database_exec(repair->to.db, "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF");
    if (code != SQLITE_OK)
        result = rps_reader_error(&repair->to, code, err);
    if (result == 0 && repair->damaged >= 0)
        result = open_copy(repair, repair->path, err);
    if (result == 0)
        result = bring_in_rows(repair, repair->path, err);
    if (result == 0)
        result = reconstruct_runs(repair, err);
    if (result == 0)
        rps_database_exec(repair->to.db, "VACUUM"); /* errors do not matter here */
    sqlite3_close(repair->to.db);
    return result;
}

int rps_store_repair(const char *path, const char *new_path, const struct rps_finding_sink *sink,
                     struct rps_repair_result *ret, struct rps_error *err)
{
    struct repair repair = {.path = path, .findings.sink = sink, .damaged = -1};
    struct rps_rights_before before = {0};
    struct rps_path_check look;
    struct stat status;
    int result = 0;

    if (new_path[0] == '\0')
        return rps_error_set(err, RPS_FAILED, "the name of the new store is empty; name a file");
    if (lstat(new_path, &status) == 0)
        return is_there(path, new_path, err);
    result = open_damaged(&repair, path, err);
    if (result == 0)
        result = rps_rights_take_for(new_path, RPS_RIGHTS_BESIDE, &before, err);
    if (result == 0)
        result = rps_path_check_write(new_path, &look, err);
    if (result == 0)
        result = rps_database_make(new_path, 0644, fill_new, &repair, err);
    if (result > 0)
        result = is_there(path, new_path, err);
    if (result == 0) {
        rps_findings_end(&repair.findings);
        *ret = repair.result;
    }
    sqlite3_close(repair.from);
    if (repair.copy)
        unlink(repair.copy);
    rps_rights_return(&before);
    if (repair.damaged >= 0)
        close(repair.damaged);
    free(repair.copy);
    if (repair.from && repair.damaged < 0)
        rps_database_tidy(path);
    return result;
}
