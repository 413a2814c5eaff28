/* Change stored runs: set labels and tags, and delete runs, each in one transaction.
 *
 * Until the transaction ends, a recorder that uses the store keeps its periods in memory. Deleting
 * a day of 100 ms periods takes one second. Much longer runs can be deleted only when no recorder
 * uses the store. */
#include "edit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "database.h"
#include "rpistat/json.h"

/* Open a store for writing. *ret is a reader, so that the reader's error functions can be used. */
static int open_store(const char *path, struct rps_reader *ret, struct rps_error *err)
{
    *ret = (struct rps_reader){.path = (char *)path};
    return rps_database_open_existing(path, &ret->db, err);
}

/* A function that changes a run, within a transaction. */
typedef int change_run(void *context, struct rps_reader *store, int64_t run_id,
                       struct rps_error *err);

static int change_store(const char *path, int64_t run_id, change_run *change, void *context,
                        struct rps_error *err)
{
    struct rps_reader store;
    int code, result = open_store(path, &store, err);

    if (result < 0)
        return result;
    code = rps_database_exec(store.db, "BEGIN IMMEDIATE"); /* opening marks dead recorders' runs */
    if (code == SQLITE_OK)
        result = rps_reader_require(&store, run_id, err);
    if (code == SQLITE_OK && result == 0 && (result = change(context, &store, run_id, err)) == 0)
        code = rps_database_exec(store.db, "COMMIT");
    if (code != SQLITE_OK)
        result = rps_reader_error(&store, code, err);
    if (!sqlite3_get_autocommit(store.db))
        rps_database_exec(store.db, "ROLLBACK");
    rps_database_close_beside(store.db);
    return result;
}

struct change {
    int (*change)(void *context, sqlite3 *db);
    void *context;
};

static int do_change(void *context, struct rps_reader *store, int64_t run_id, struct rps_error *err)
{
    const struct change *change = context;
    int code = change->change(change->context, store->db);

    (void)run_id;
    return code == SQLITE_OK ? 0 : rps_reader_error(store, code, err);
}

int rps_store_change(const char *path, int64_t run_id, int (*change)(void *context, sqlite3 *db),
                     void *context, struct rps_error *err)
{
    struct change both = {change, context};

    return change_store(path, run_id, do_change, &both, err);
}

/* --- labels and tags -------------------------------------------------------------------------- */

/* Return the edit's tags as a merge patch (RFC 7396; null: delete), or NULL if memory is short. */
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

static int edit_run(void *context, struct rps_reader *store, int64_t run_id, struct rps_error *err)
{
    const struct rps_run_edit *edit = context;
    char *patch = tag_patch(edit);
    int code = !patch ? SQLITE_NOMEM
                      : rps_database_do(store->db,
                                        "UPDATE run SET label = CASE WHEN ?2 THEN ?3 ELSE label"
                                        " END, tags = json_patch(tags, ?4) WHERE run_id = ?1",
                                        "iitt", run_id, (int64_t)(edit->label != NULL), edit->label,
                                        patch);

    free(patch);
    return code == SQLITE_OK ? 0 : rps_reader_error(store, code, err);
}

int rps_store_edit_run(const char *path, int64_t run_id, const struct rps_run_edit *edit,
                       struct rps_error *err)
{
    return change_store(path, run_id, edit_run, (void *)(uintptr_t)edit, err);
}

/* --- while a run is recorded ------------------------------------------------------------------ */

int rps_edit_check_size(struct rps_reader *from, int64_t run_id, struct rps_reader *to,
                        const char *what, struct rps_error *err)
{
    int64_t recording = -1, rows = 0;
    int code, result = rps_reader_find_recording(to, &recording, err);

    if (result < 0 || recording < 0)
        return result;
    code = rps_database_ask(
        from->db, &rows, "SELECT count(*) FROM (SELECT 1 FROM period WHERE run_id = ?1 LIMIT ?2)",
        "ii", run_id, (int64_t)RPS_EDIT_ROWS_MAX + 1);
    if (code != SQLITE_OK)
        return rps_reader_error(from, code, err);
    if (rows <= RPS_EDIT_ROWS_MAX)
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "run %" PRId64
                         " of %s is too large (more than %d periods) while run %" PRId64
                         " is being recorded into %s, because its recorder would have to wait; %s "
                         "it later, or add --wait",
                         run_id, from->path, RPS_EDIT_ROWS_MAX, recording, to->path, what);
}

int rps_store_wait(const char *path, struct rps_error *err)
{
    const struct timespec pause = {.tv_sec = 1};
    int64_t recording = -1;
    int result;

    if (access(path, F_OK) < 0)
        return 0;
    do {
        struct rps_reader *reader = NULL;

        if (recording >= 0)
            nanosleep(&pause, NULL);
        result = rps_reader_open(&reader, path, err); /* another file may have this path now */
        if (result == 0)
            result = rps_reader_find_recording(reader, &recording, err);
        rps_reader_close(reader);
    } while (result == 0 && recording >= 0);
    return result;
}

/* --- deleting --------------------------------------------------------------------------------- */

int rps_edit_delete_rows(sqlite3 *db, int64_t run_id)
{
    char sql[64];
    int code = SQLITE_OK;

    for (size_t i = 0; i < RPS_TABLE_COUNT && code == SQLITE_OK; i++) {
        snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE run_id = ?1", rps_tables[i].name);
        code = rps_database_do(db, sql, "i", run_id);
    }
    return code;
}

static int delete_ended(void *context, struct rps_reader *store, int64_t run_id,
                        struct rps_error *err)
{
    int64_t recording = 0;
    int result, code = rps_database_ask(store->db, &recording,
                                        "SELECT state = 'recording' FROM run WHERE run_id = ?1",
                                        "i", run_id);

    (void)context;
    if (code == SQLITE_OK && recording)
        return rps_error_set(err, RPS_FAILED,
                             "run %" PRId64
                             " of %s is being recorded; stop it first with `rpistat stop`",
                             run_id, store->path);
    if (code != SQLITE_OK)
        return rps_reader_error(store, code, err);
    result = rps_edit_check_size(store, run_id, store, "delete", err);
    if (result == 0 && (code = rps_edit_delete_rows(store->db, run_id)) != SQLITE_OK)
        result = rps_reader_error(store, code, err);
    return result;
}

int rps_store_delete_run(const char *path, int64_t run_id, struct rps_error *err)
{
    return change_store(path, run_id, delete_ended, NULL, err);
}

void rps_store_delete_empty(const char *path)
{
    rps_database_unmake(path, 0);
}

/* --- space ------------------------------------------------------------------------------------ */

int rps_store_shrink(const char *path, struct rps_error *err)
{
    struct rps_reader store;
    int64_t recording = 0;
    int code, result = open_store(path, &store, err);

    if (result < 0)
        return result;
    result = rps_reader_find_recording(&store, &recording, err);
    if (result == 0 && recording >= 0)
        result = rps_error_set(err, RPS_FAILED,
                               "run %" PRId64 " of %s is being recorded, and its recorder would "
                               "have to wait; shrink the store later, or add --wait",
                               recording, path);
    if (result == 0) {
        /* VACUUM makes a temporary copy of the whole store, which would be too large for memory. */
        code = rps_database_exec(store.db, "PRAGMA temp_store = FILE; VACUUM");
        if (code != SQLITE_OK)
            result = rps_reader_error(&store, code, err);
    }
    rps_database_close_beside(store.db);
    return result;
}

int rps_reader_space(struct rps_reader *reader, uint64_t *ret_bytes, uint64_t *ret_free_bytes,
                     struct rps_error *err)
{
    int code = rps_database_space(reader->db, ret_bytes, ret_free_bytes);

    return code == SQLITE_OK ? 0 : rps_reader_error(reader, code, err);
}
