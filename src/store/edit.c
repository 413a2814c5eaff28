/*
 * Changing what a store holds already: labels and tags, and deleting runs.
 *
 * A run has millions of periods, and one transaction that deletes them all would keep a recorder of
 * the same store waiting for seconds. So the first transaction deletes the run, with all that
 * describes it, and from then on nobody finds it. What may be many rows follows in transactions of
 * some milliseconds. When that is broken off the rest harms nobody, since no run gets a deleted
 * one's number: `rpistat check` says that it is there, and the next deletion takes it along.
 */
#include "edit.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "database.h"
#include "heartbeat.h"
#include "reader.h"
#include "rpistat/clock.h"
#include "rpistat/json.h"
#include "tables.h"

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

void rps_edit_give_way(int64_t taken_ns)
{
    const struct timespec pause = {taken_ns / RPS_NS_PER_S, taken_ns % RPS_NS_PER_S};

    nanosleep(&pause, NULL);
}

/* The statement that deletes some rows of a table, of a run that is not there: it finds such a run
 * by seeking. An SQLite code. */
static int prepare_sweep(sqlite3 *db, const struct rps_table *table, sqlite3_stmt **ret)
{
    sqlite3_str *keys = sqlite3_str_new(db);
    char *list, *sql = NULL;
    int code;

    for (int i = 0; i < table->keys; i++)
        sqlite3_str_appendf(keys, "%s%s", i > 0 ? ", " : "", table->key[i]);
    list = sqlite3_str_finish(keys);
    if (list)
        sql = sqlite3_mprintf(
            "DELETE FROM %s WHERE (%s) IN (SELECT %s FROM %s WHERE run_id = (" RPS_SQL_RUN_IDS(
                "%s") " SELECT n FROM id WHERE n IS NOT NULL"
                      " AND n NOT IN (SELECT run_id FROM run)"
                      " AND n NOT IN (SELECT run_id FROM heartbeat) LIMIT 1) LIMIT 2000)",
            table->name, list, list, table->name, table->name, table->name);
    code = sql ? rps_database_prepare(db, sql, ret) : SQLITE_NOMEM;
    sqlite3_free(list);
    sqlite3_free(sql);
    return code;
}

static int sweep_table(sqlite3 *db, const struct rps_table *table, bool recording)
{
    sqlite3_stmt *stmt = NULL;
    int deleted, code = prepare_sweep(db, table, &stmt);

    do {
        int64_t since_ns = rps_clock_monotonic_ns();

        code = code == SQLITE_OK ? rps_database_run(stmt) : code;
        deleted = code == SQLITE_OK ? sqlite3_changes(db) : 0;
        if (deleted > 0 && recording)
            rps_edit_give_way(rps_clock_monotonic_ns() - since_ns);
    } while (deleted > 0);
    sqlite3_finalize(stmt);
    return code;
}

int rps_edit_sweep(sqlite3 *db)
{
    int64_t recording = 0;
    int code =
        rps_database_ask(db, &recording, "SELECT count(*) FROM run WHERE state = 'recording'", "");

    if (code == SQLITE_OK)
        code = rps_database_do(db,
                               "DELETE FROM heartbeat WHERE run_id NOT IN (SELECT run_id FROM run)"
                               " AND NOT " RPS_HEARTBEAT_IS_FILLING,
                               "i", rps_clock_realtime_ns());
    for (size_t i = 0; i < RPS_TABLE_COUNT && code == SQLITE_OK; i++)
        if (rps_tables[i].is_many)
            code = sweep_table(db, &rps_tables[i], recording > 0);
    return code;
}

int rps_edit_delete_head(sqlite3 *db, int64_t run_id)
{
    char sql[64];
    int code = SQLITE_OK;

    for (size_t i = 0; i < RPS_TABLE_COUNT && code == SQLITE_OK; i++) {
        if (rps_tables[i].is_many)
            continue;
        snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE run_id = ?1", rps_tables[i].name);
        code = rps_database_do(db, sql, "i", run_id);
    }
    return code;
}

/* Delete the run and what describes it, in a transaction. */
static int delete_ended(struct rps_reader *store, int64_t run_id, struct rps_error *err)
{
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
    if (code == SQLITE_OK)
        code = rps_edit_delete_head(store->db, run_id);
    return code == SQLITE_OK ? 0 : rps_reader_error(store, code, err);
}

int rps_store_delete_run(const char *path, int64_t run_id, struct rps_error *err)
{
    struct rps_reader store;
    int code, result = open_store(path, &store, err);

    if (result < 0)
        return result;
    code = rps_database_exec(store.db, "BEGIN IMMEDIATE"); /* opening has marked dead recorders' */
    if (code == SQLITE_OK && (result = delete_ended(&store, run_id, err)) == 0)
        code = rps_database_exec(store.db, "COMMIT");
    if (code == SQLITE_OK && result == 0)
        code = rps_edit_sweep(store.db);
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
        code = rps_edit_sweep(store.db);
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
