/*
 * Changing what a store holds already: labels and tags, and deleting runs.
 *
 * A run has millions of periods, and one transaction that deletes them all would keep a recorder of
 * the same store waiting for seconds. So the first transaction deletes the run, with all that
 * describes it, and from then on nobody finds it. What may be many rows follows in transactions of
 * some milliseconds. When that is broken off the rest harms nobody, since no run gets a deleted
 * one's number: `rpistat check` says that it is there, and the next deletion takes it along.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "database.h"
#include "reader.h"
#include "rpistat/clock.h"
#include "rpistat/json.h"

/* An opened store, with a reader's face for the sentences. */
static int open_store(const char *path, struct rps_reader *ret, struct rps_error *err)
{
    *ret = (struct rps_reader){.path = (char *)path};
    return rps_database_open_existing(path, &ret->db, err);
}

/* --- labels and tags -------------------------------------------------------------------------- */

/* The edit's tags as a merge patch (RFC 7396): a key with null is taken away. NULL: no memory. */
static char *tag_patch(const struct rps_run_edit *edit)
{
    struct rps_json json;

    if (rps_json_open(&json, 1) < 0)
        return NULL;
    rps_json_object(&json, NULL);
    for (int i = 0; i < edit->unset_count; i++)
        rps_json_null(&json, edit->unset[i]);
    for (int i = 0; i < edit->tag_count; i++)
        rps_json_text(&json, edit->tag[i].key, edit->tag[i].value);
    rps_json_end(&json);
    return rps_json_close(&json);
}

int rps_store_edit_run(const char *path, int64_t run_id, const struct rps_run_edit *edit,
                       struct rps_error *err)
{
    struct rps_reader store;
    char *patch = tag_patch(edit);
    int code, result = patch ? open_store(path, &store, err) : rps_error_memory(err);

    if (result < 0) {
        free(patch);
        return result;
    }
    code = rps_database_do(store.db,
                           "UPDATE run SET label = CASE WHEN ?2 THEN ?3 ELSE label END,"
                           " tags = json_patch(tags, ?4) WHERE run_id = ?1",
                           "iitt", run_id, (int64_t)(edit->label != NULL), edit->label, patch);
    if (code != SQLITE_OK)
        result = rps_reader_error(&store, code, err);
    else if (sqlite3_changes(store.db) == 0)
        result = rps_reader_require(&store, run_id, err);
    free(patch);
    rps_database_close_beside(store.db);
    return result;
}

/* --- deleting --------------------------------------------------------------------------------- */

/* One statement of the sweep. It finds rows of a run that is not there by seeking, whichever that
 * is, and deletes some of them. */
#define SWEEP(table, key)                                                                          \
    "DELETE FROM " table " WHERE (run_id, " key ") IN (SELECT run_id, " key " FROM " table         \
    " WHERE run_id = (" RPS_SQL_RUN_IDS(table) " SELECT n FROM id WHERE n IS NOT NULL"             \
                                               " AND n NOT IN (SELECT run_id FROM run) LIMIT 1)"   \
                                               " LIMIT 2000)"

/* As long as another takes that writes while we do: who waits for a lock looks for it now and then,
 * and would hardly ever find it free. */
static void give_way(int64_t since_ns)
{
    int64_t taken_ns = rps_clock_monotonic_ns() - since_ns;
    const struct timespec pause = {taken_ns / RPS_NS_PER_S, taken_ns % RPS_NS_PER_S};

    nanosleep(&pause, NULL);
}

/* Delete what is left of deleted runs in the tables of many rows, step by step; an SQLite code. */
static int sweep(sqlite3 *db)
{
    static const char *const sql[] = {SWEEP("period", "cpu, cycle, period"),
                                      SWEEP("rollup", "level, cpu, period"),
                                      SWEEP("mark", "time_ns, mark_no"),
                                      SWEEP("code_count", "level, cpu, period, part"),
                                      SWEEP("location", "frame, depth"),
                                      SWEEP("stack", "stack"),
                                      SWEEP("frame", "frame"),
                                      SWEEP("task", "task")};
    int64_t recording = 0;
    int code =
        rps_database_ask(db, &recording, "SELECT count(*) FROM run WHERE state = 'recording'", "");

    for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]) && code == SQLITE_OK; i++) {
        sqlite3_stmt *stmt = NULL;
        int deleted;

        code = rps_database_prepare(db, sql[i], &stmt);
        do {
            int64_t since_ns = rps_clock_monotonic_ns();

            code = code == SQLITE_OK ? rps_database_run(stmt) : code;
            deleted = code == SQLITE_OK ? sqlite3_changes(db) : 0;
            if (deleted > 0 && recording > 0)
                give_way(since_ns);
        } while (deleted > 0);
        sqlite3_finalize(stmt);
    }
    return code;
}

/* Delete the run and what describes it, in a transaction. */
static int delete_head(struct rps_reader *store, int64_t run_id, struct rps_error *err)
{
    static const char *const sql[] = {
        "DELETE FROM event_set WHERE run_id = ?1", "DELETE FROM event WHERE run_id = ?1",
        "DELETE FROM metric WHERE run_id = ?1",    "DELETE FROM metric_step WHERE run_id = ?1",
        "DELETE FROM thinned WHERE run_id = ?1",   "DELETE FROM heartbeat WHERE run_id = ?1",
        "DELETE FROM detection WHERE run_id = ?1", "DELETE FROM phase WHERE run_id = ?1",
        "DELETE FROM outlier WHERE run_id = ?1",   "DELETE FROM gap WHERE run_id = ?1",
        "DELETE FROM sampling WHERE run_id = ?1",  "DELETE FROM module WHERE run_id = ?1",
        "DELETE FROM run WHERE run_id = ?1",
    };
    int64_t recording = 0;
    int code =
        rps_database_ask(store->db, &recording,
                         "SELECT state = 'recording' FROM run WHERE run_id = ?1", "i", run_id);

    if (code == SQLITE_DONE)
        return rps_reader_require(store, run_id, err);
    if (code == SQLITE_OK && recording)
        return rps_error_set(err, RPS_FAILED,
                             "run %" PRId64 " of %s is being recorded: end its recording first",
                             run_id, store->path);
    for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]) && code == SQLITE_OK; i++)
        code = rps_database_do(store->db, sql[i], "i", run_id);
    return code == SQLITE_OK ? 0 : rps_reader_error(store, code, err);
}

int rps_store_delete_run(const char *path, int64_t run_id, struct rps_error *err)
{
    struct rps_reader store;
    int code, result = open_store(path, &store, err);

    if (result < 0)
        return result;
    code = rps_database_exec(store.db, "BEGIN IMMEDIATE"); /* opening has marked dead recorders' */
    if (code == SQLITE_OK && (result = delete_head(&store, run_id, err)) == 0)
        code = rps_database_exec(store.db, "COMMIT");
    if (code == SQLITE_OK && result == 0)
        code = sweep(store.db);
    if (code != SQLITE_OK)
        result = rps_reader_error(&store, code, err);
    if (!sqlite3_get_autocommit(store.db))
        rps_database_exec(store.db, "ROLLBACK");
    rps_database_close_beside(store.db);
    return result;
}

/* --- space ------------------------------------------------------------------------------------ */

int rps_store_shrink(const char *path, struct rps_error *err)
{
    struct rps_reader store;
    int64_t recording = 0;
    int code, result = open_store(path, &store, err);

    if (result < 0)
        return result;
    code = rps_database_ask(store.db, &recording,
                            "SELECT min(run_id) FROM run WHERE state = 'recording'"
                            " HAVING min(run_id) IS NOT NULL",
                            "");
    if (code == SQLITE_OK)
        result =
            rps_error_set(err, RPS_FAILED,
                          "run %" PRId64 " of %s is being recorded, and shrinking a store keeps"
                          " its recorder waiting: shrink it when the recording has ended",
                          recording, path);
    else if (code == SQLITE_DONE)
        code = sweep(store.db);
    /* a copy of the whole store is not to be in memory */
    if (code == SQLITE_OK && result == 0)
        code = rps_database_exec(store.db, "PRAGMA temp_store = FILE; VACUUM");
    if (code != SQLITE_OK)
        result = rps_reader_error(&store, code, err);
    rps_database_close_beside(store.db);
    return result;
}

int rps_reader_space(struct rps_reader *reader, uint64_t *ret_bytes, uint64_t *ret_free_bytes,
                     struct rps_error *err)
{
    sqlite3_int64 page_bytes = 0, pages = 0, unused = 0;
    int code = rps_database_number(reader->db, "PRAGMA page_size", &page_bytes);

    if (code == SQLITE_OK)
        code = rps_database_number(reader->db, "PRAGMA page_count", &pages);
    if (code == SQLITE_OK)
        code = rps_database_number(reader->db, "PRAGMA freelist_count", &unused);
    if (code != SQLITE_OK)
        return rps_reader_error(reader, code, err);
    *ret_bytes = (uint64_t)pages * (uint64_t)page_bytes;
    *ret_free_bytes = (uint64_t)unused * (uint64_t)page_bytes;
    return 0;
}
