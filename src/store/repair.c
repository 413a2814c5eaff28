/*
 * Repair: the rows of a damaged store go into a new one (salvage.c), then every run there is made
 * whole (mend.c). The damaged file itself is only read, since what is wrong with it may get worse
 * by writing, and since there may be better ways to read it than this one.
 */
#include "rpistat/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database.h"
#include "findings.h"
#include "mend.h"
#include "pages.h"
#include "recover.h"
#include "salvage.h"

/* Fewer periods of a run that nothing else speaks of are taken for damage. */
#define PERIODS_OF_A_RUN 3

struct repair {
    struct rps_reader to; /* the new store; its connection can write */
    struct rps_findings findings;
    struct rps_repair_result result;
};

static int check_paths(const char *path, const char *new_path, struct rps_error *err)
{
    struct stat old, new;

    if (new_path[0] == '\0')
        return rps_error_set(err, RPS_FAILED, "the new store's name is empty: give a file name");
    if (stat(new_path, &new) == 0 && new.st_size > 0)
        return rps_error_set(err, RPS_FAILED,
                             "%s is there already: name a new file for what can be saved of %s",
                             new_path, path);
    if (stat(path, &old) == 0 && stat(new_path, &new) == 0 && old.st_dev == new.st_dev &&
        old.st_ino == new.st_ino)
        return rps_error_set(err, RPS_FAILED, "%s cannot be repaired into itself: name a new file",
                             path);
    return 0;
}

/* --- what is there ---------------------------------------------------------------------------- */

/* Bring in the rows, in one transaction. */
static int fill(struct repair *repair, const char *path, struct rps_error *err)
{
    struct rps_pages *pages = NULL;
    uint64_t rows = 0;
    int code, result = rps_pages_open(&pages, path, err);

    if (result < 0)
        return result;
    code = rps_database_exec(repair->to.db, "BEGIN IMMEDIATE");
    if (code == SQLITE_OK)
        result = rps_salvage(pages, repair->to.db, repair->to.path, &rows, err);
    if (code == SQLITE_OK && result == 0)
        code = rps_database_exec(repair->to.db, "COMMIT");
    if (code != SQLITE_OK)
        result = rps_reader_error(&repair->to, code, err);
    repair->result.damaged_pages = rps_pages_damaged(pages);
    rps_pages_close(pages);
    if (result == 0 && rows == 0)
        result = rps_error_set(err, RPS_FAILED,
                               "nothing in %s could be read as part of a store: is it one?", path);
    return result;
}

/* All numbers of runs, of which some may have no row in `run`. */
#define SQL_RUNS                                                                                   \
    "SELECT run_id FROM run UNION SELECT run_id FROM period UNION SELECT run_id FROM event_set"    \
    " UNION SELECT run_id FROM event UNION SELECT run_id FROM metric UNION SELECT run_id FROM"     \
    " metric_step UNION SELECT run_id FROM phase UNION SELECT run_id FROM outlier UNION SELECT"    \
    " run_id FROM mark UNION SELECT run_id FROM gap ORDER BY run_id"

/* 1 when the rows are those of a run, and not of a damaged number; an SQLite code. */
static int is_run(sqlite3 *db, int64_t run_id, int *ret)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db,
                                  "SELECT ?1 > 0 AND (EXISTS (SELECT 1 FROM run WHERE run_id = ?1)"
                                  " OR (SELECT count(*) FROM (SELECT 1 FROM period"
                                  " WHERE run_id = ?1 LIMIT ?2)) = ?2)",
                                  -1, &stmt, NULL);

    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(stmt, 1, run_id);
    sqlite3_bind_int(stmt, 2, PERIODS_OF_A_RUN);
    code = sqlite3_step(stmt);
    *ret = code == SQLITE_ROW && sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return code == SQLITE_ROW ? SQLITE_OK : code;
}

/* Delete the rows of something that is no run. */
static int drop_stray(struct repair *repair, int64_t run_id)
{
    static const char *const sql[] = {
        "DELETE FROM run WHERE run_id = ?1",         "DELETE FROM event_set WHERE run_id = ?1",
        "DELETE FROM event WHERE run_id = ?1",       "DELETE FROM metric WHERE run_id = ?1",
        "DELETE FROM metric_step WHERE run_id = ?1", "DELETE FROM period WHERE run_id = ?1",
        "DELETE FROM phase WHERE run_id = ?1",       "DELETE FROM outlier WHERE run_id = ?1",
        "DELETE FROM mark WHERE run_id = ?1",        "DELETE FROM gap WHERE run_id = ?1",
    };
    int code = SQLITE_OK;

    for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]) && code == SQLITE_OK; i++) {
        sqlite3_stmt *stmt = NULL;

        code = sqlite3_prepare_v2(repair->to.db, sql[i], -1, &stmt, NULL);
        if (code == SQLITE_OK)
            code = sqlite3_bind_int64(stmt, 1, run_id);
        if (code == SQLITE_OK)
            code = rps_database_run(stmt);
        if (code == SQLITE_OK)
            repair->result.dropped += (uint64_t)sqlite3_changes(repair->to.db);
        sqlite3_finalize(stmt);
    }
    return code;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int mend_runs(struct repair *repair, struct rps_error *err)
{
    int64_t *run_id = NULL;
    size_t count = 0;
    int code = rps_recover(repair->to.db, repair->to.path), result = 0;

    if (code == SQLITE_OK)
        result = rps_reader_numbers(&repair->to, SQL_RUNS, &run_id, &count, err);
    for (size_t i = 0; i < count && code == SQLITE_OK && result == 0; i++) {
        int found = 0;

        code = is_run(repair->to.db, run_id[i], &found);
        if (code == SQLITE_OK && found)
            result = rps_mend_run(&repair->to, run_id[i], &repair->findings, &repair->result, err);
        else if (code == SQLITE_OK)
            code = drop_stray(repair, run_id[i]);
    }
    free(run_id);
    return code == SQLITE_OK ? result : rps_reader_error(&repair->to, code, err);
}

static void remove_store(const char *path)
{
    static const char *const suffix[] = {"", "-wal", "-shm"};
    char name[4096];

    for (size_t i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i++)
        if (snprintf(name, sizeof(name), "%s%s", path, suffix[i]) < (int)sizeof(name))
            unlink(name);
}

static void tell(struct repair *repair)
{
    if (repair->result.damaged_pages > 0)
        rps_findings_add(&repair->findings, RPS_FINDING_NOTE,
                         "%" PRIu64 " page%s of the file could not be read, or not whole",
                         repair->result.damaged_pages,
                         repair->result.damaged_pages == 1 ? "" : "s");
    rps_findings_end(&repair->findings);
}

int rps_store_repair(const char *path, const char *new_path, const struct rps_finding_sink *sink,
                     struct rps_repair_result *ret, struct rps_error *err)
{
    const struct rps_database_options options = {0};
    struct repair repair = {.findings.sink = sink};
    int result = check_paths(path, new_path, err), filled;

    if (result == 0)
        result = rps_database_open_write(new_path, &options, &repair.to.db, err);
    if (result < 0)
        return result;
    repair.to.path = strdup(new_path);
    filled = result = repair.to.path ? fill(&repair, path, err) : rps_error_memory(err);
    if (result == 0 && (result = mend_runs(&repair, err)) < 0)
        rps_error_prefix(err, result, "the repair is not finished, and %s not yet a store to use",
                         new_path);
    if (result == 0) {
        rps_database_exec(repair.to.db, "VACUUM"); /* only makes it smaller */
        tell(&repair);
        *ret = repair.result;
    }
    sqlite3_close(repair.to.db);
    if (filled < 0)
        remove_store(new_path);
    free(repair.to.path);
    return result;
}
