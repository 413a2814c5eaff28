/*
 * Merging: copy the runs of another store row by row, each run in one transaction.
 *
 * SAFETY: the other store is not attached. A separate connection with all guards of a reader reads
 * it in one transaction, and its values are only bound to parameters. A run's description of itself
 * is not trusted: it is compared with the runs here (copies.c) and checked as by `rpistat check`.
 * Both take longer than copying, and precede the transaction, which a recorder waits for; the
 * decision is repeated within it.
 */
#include "rpistat/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "copies.h"
#include "database.h"
#include "edit.h"
#include "reader.h"
#include "rpistat/check.h"
#include "tables.h"

struct merge {
    struct rps_reader *from;
    struct rps_reader to; /* its connection can write */
    int64_t run_id;       /* its number here, once its row has been copied */
    const struct rps_run *run;
    char uuid[40];      /* of the run here that was last compared */
    char unsound[1024]; /* first finding of the check */
};

/* --- rows ------------------------------------------------------------------------------------- */

/* Prepare the statements that read a table's rows of a run, run_id first, and write one row.
 * Finalize both in any case. Columns that an older store lacks are NULL (schema.h). */
static int prepare_copy(struct merge *merge, const char *table, sqlite3_stmt **ret_read,
                        sqlite3_stmt **ret_write, struct rps_error *err)
{
    sqlite3_stmt *stmt = NULL;
    char *read = NULL;
    int result = 0,
        code = sqlite3_prepare_v2(merge->to.db,
                                  "SELECT 'run_id' || group_concat(', \"' || name || '\"'"
                                  ", '') FROM pragma_table_info(?1)"
                                  " WHERE name <> 'run_id'",
                                  -1, &stmt, NULL);

    if (code == SQLITE_OK)
        code = rps_database_bind(stmt, "t", table);
    if (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *names = (const char *)sqlite3_column_text(stmt, 0);

        read = sqlite3_mprintf("SELECT %s FROM %s WHERE run_id = ?1", names, table);
        code = names && read ? rps_database_prepare_insert(merge->to.db, table, names, ret_write)
                             : SQLITE_NOMEM;
    }
    sqlite3_finalize(stmt);
    if (code != SQLITE_OK)
        result = rps_reader_error(&merge->to, code, err);
    else
        result = rps_reader_prepare(merge->from, read, merge->run->run_id, ret_read, err);
    sqlite3_free(read);
    return result;
}

/* Set the error for a row that could not be written: another store may hold anything. */
static int cannot_write(struct merge *merge, const char *table, int code, struct rps_error *err)
{
    if ((code & 0xff) != SQLITE_CONSTRAINT && (code & 0xff) != SQLITE_MISMATCH &&
        (code & 0xff) != SQLITE_TOOBIG)
        return rps_reader_error(&merge->to, code, err);
    return rps_error_set(err, RPS_FAILED,
                         "run %" PRId64 " of %s cannot be merged: its table %s has a row that no"
                         " recorder writes (%s); `rpistat check -i %s` says more",
                         merge->run->run_id, merge->from->path, table, sqlite3_errmsg(merge->to.db),
                         merge->from->path);
}

/* Write the row that was read, under the run's number here. Table `run` provides that number.
 * Returns an SQLite code. */
static int write_row(struct merge *merge, sqlite3_stmt *read, sqlite3_stmt *write)
{
    int code = merge->run_id < 0 ? sqlite3_bind_null(write, 1)
                                 : sqlite3_bind_int64(write, 1, merge->run_id);

    for (int i = 1; i < sqlite3_column_count(read) && code == SQLITE_OK; i++)
        code = sqlite3_bind_value(write, i + 1, sqlite3_column_value(read, i));
    return code == SQLITE_OK ? rps_database_run(write) : code;
}

static int copy_table(struct merge *merge, const struct rps_table *table, struct rps_error *err)
{
    sqlite3_stmt *read = NULL, *write = NULL;
    int code = SQLITE_DONE, result = prepare_copy(merge, table->name, &read, &write, err);

    while (result == 0 && (code = rps_reader_step(merge->from, read)) == SQLITE_ROW) {
        code = write_row(merge, read, write);
        if (code != SQLITE_OK)
            result = cannot_write(merge, table->name, code, err);
    }
    if (result == 0 && code != SQLITE_DONE)
        result = rps_reader_error(merge->from, code, err);
    sqlite3_finalize(read);
    sqlite3_finalize(write);
    return result;
}

/* Copy the run's rows of all tables, `run` first, except for heartbeats. */
static int copy_tables(struct merge *merge, struct rps_error *err)
{
    int result = 0;

    merge->run_id = -1;
    for (size_t i = 0; i < RPS_TABLE_COUNT && result == 0; i++) {
        if (rps_table_is_heartbeat(&rps_tables[i]))
            continue;
        result = copy_table(merge, &rps_tables[i], err);
        if (merge->run_id < 0)
            merge->run_id = sqlite3_last_insert_rowid(merge->to.db);
    }
    return result;
}

/* --- a run ------------------------------------------------------------------------------------ */

/* A run is looked for first by its uuid, then among the copies. A run that differed from the run
 * here was stored under a new uuid, with its old one in this tag. */
#define COPY_TAG "copy_of"

/* ?1 is the run's uuid, ?2 the uuid of which it is a copy, or again ?1. */
static const char sql_copies[] =
    "SELECT run_id FROM run WHERE uuid <> ?1 AND (uuid = ?2 OR CASE WHEN json_valid(tags)"
    " THEN json_extract(tags, '$." COPY_TAG "') IN (?1, ?2) END) ORDER BY run_id";

static const char *copy_tag(const struct rps_run *run)
{
    for (int i = 0; i < run->tag_count; i++)
        if (strcmp(run->tag[i].key, COPY_TAG) == 0)
            return run->tag[i].value;
    return NULL;
}

/* Decide by the content of run `run_id` here; *ret_differs: its content differs. */
static int decide_by(struct merge *merge, int64_t run_id, struct rps_merge_run *ret,
                     bool *ret_differs, struct rps_error *err)
{
    struct rps_run ours;
    const struct rps_copy here = {&merge->to, &ours}, there = {merge->from, merge->run};
    enum rps_copies copies = RPS_COPIES_DIFFER;
    int result;

    rps_run_init(&ours);
    result = rps_reader_run(&merge->to, run_id, &ours, err);
    if (result < 0)
        return result;
    snprintf(merge->uuid, sizeof(merge->uuid), "%s", ours.uuid);
    ret->run_id = run_id;
    ret->result = RPS_MERGE_RECORDING;
    *ret_differs = false;
    if (ours.state != RPS_RUN_RECORDING) {
        result = rps_copies_compare(&here, &there, &copies, err);
        ret->result = copies == RPS_COPIES_HAS_MORE ? RPS_MERGE_REPLACED : RPS_MERGE_PRESENT;
        *ret_differs = copies == RPS_COPIES_DIFFER;
    }
    rps_run_free(&ours);
    return result;
}

/* Decide by the copies of the run that are here; *ret_differs: none exist, or all differ. */
static int decide_by_copies(struct merge *merge, struct rps_merge_run *ret, bool *ret_differs,
                            struct rps_error *err)
{
    const char *uuid = merge->run->uuid, *of = copy_tag(merge->run);
    sqlite3_stmt *stmt = NULL;
    int result = 0, code = sqlite3_prepare_v2(merge->to.db, sql_copies, -1, &stmt, NULL);

    *ret_differs = true;
    if (code == SQLITE_OK)
        code = rps_database_bind(stmt, "tt", uuid, of ? of : uuid);
    while (code == SQLITE_OK && result == 0 && *ret_differs &&
           (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        result = decide_by(merge, sqlite3_column_int64(stmt, 0), ret, ret_differs, err);
        code = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_OK || code == SQLITE_DONE ? result
                                                    : rps_reader_error(&merge->to, code, err);
}

/* Decide what to do with the run in the store's present state. */
static int decide(struct merge *merge, struct rps_merge_run *ret, struct rps_error *err)
{
    int64_t run_id = -1;
    bool differs = false;
    int result = 0,
        code = rps_database_ask(merge->to.db, &run_id, "SELECT run_id FROM run WHERE uuid = ?1",
                                "t", merge->run->uuid);

    if (code != SQLITE_OK && code != SQLITE_DONE)
        return rps_reader_error(&merge->to, code, err);
    ret->run_id = run_id;
    ret->replaced_run_id = ret->differing_run_id = -1;
    ret->result = merge->run->state == RPS_RUN_RECORDING ? RPS_MERGE_RECORDING : RPS_MERGE_ADDED;
    if (ret->result == RPS_MERGE_RECORDING)
        return 0;
    if (run_id >= 0)
        result = decide_by(merge, run_id, ret, &differs, err);
    if (result == 0 && (run_id >= 0 ? differs : copy_tag(merge->run) != NULL))
        result = decide_by_copies(merge, ret, &differs, err);
    if (result == 0 && differs) {
        ret->run_id = run_id;
        ret->result = run_id >= 0 ? RPS_MERGE_COPIED : RPS_MERGE_ADDED;
    }
    return result;
}

/* --- copying ---------------------------------------------------------------------------------- */

static const char sql_give_uuid[] = "UPDATE run SET uuid = ?2 WHERE run_id = ?1";

/* Give the new run the label, tags and uuid of the one that it replaces. */
static int replace(struct merge *merge, int64_t ours)
{
    sqlite3 *db = merge->to.db;
    int code = rps_database_do(db,
                               "UPDATE run SET tags = json_patch(run.tags, ours.tags),"
                               " label = CASE WHEN ours.label = '' THEN run.label ELSE ours.label"
                               " END FROM run AS ours WHERE run.run_id = ?1 AND ours.run_id = ?2",
                               "ii", merge->run_id, ours);

    if (code == SQLITE_OK)
        code = rps_edit_delete_rows(db, ours);
    return code == SQLITE_OK ? rps_database_do(db, sql_give_uuid, "it", merge->run_id, merge->uuid)
                             : code;
}

/* Copy the run within the open transaction. A run here with the same uuid temporarily gets another
 * one. */
static int copy_rows(struct merge *merge, const struct rps_merge_run *decision,
                     struct rps_error *err)
{
    sqlite3 *db = merge->to.db;
    int64_t holder = -1;
    int result, code = rps_database_ask(db, &holder, "SELECT run_id FROM run WHERE uuid = ?1", "t",
                                        merge->run->uuid);

    if (code == SQLITE_OK)
        code = rps_database_do(
            db, "UPDATE run SET uuid = " RPS_SQL_RANDOM_UUID " WHERE run_id = ?1", "i", holder);
    if (code != SQLITE_OK && code != SQLITE_DONE)
        return rps_reader_error(&merge->to, code, err);
    result = copy_tables(merge, err);
    if (result < 0)
        return result;
    code = SQLITE_OK;
    if (decision->result == RPS_MERGE_COPIED)
        code = rps_database_do(db,
                               "UPDATE run SET tags = json_set(tags, '$." COPY_TAG "', uuid),"
                               " uuid = " RPS_SQL_RANDOM_UUID " WHERE run_id = ?1",
                               "i", merge->run_id);
    if (code == SQLITE_OK && decision->result == RPS_MERGE_REPLACED)
        code = replace(merge, decision->run_id);
    if (code == SQLITE_OK)
        code = rps_database_do(db, sql_give_uuid, "it", holder, merge->run->uuid);
    /* the row of a dead recorder still has `recording` */
    if (code == SQLITE_OK && merge->run->state == RPS_RUN_INTERRUPTED)
        code = rps_database_mark_interrupted(db);
    return code == SQLITE_OK ? 0 : rps_reader_error(&merge->to, code, err);
}

static bool is_wanted(const struct rps_merge_run *decision)
{
    return decision->result == RPS_MERGE_ADDED || decision->result == RPS_MERGE_REPLACED ||
           decision->result == RPS_MERGE_COPIED;
}

/* Copy the run in one transaction, if still necessary. Another merge may have added it, or deleted
 * the run that it replaces. A recorder that seemed dead may have continued. */
static int copy_run(struct merge *merge, struct rps_merge_run *decision, struct rps_error *err)
{
    sqlite3 *db = merge->to.db;
    int result, code = rps_database_exec(db, "BEGIN IMMEDIATE");

    if (code != SQLITE_OK)
        return rps_reader_error(&merge->to, code, err);
    result = decide(merge, decision, err);
    if (result == 0 && is_wanted(decision))
        result = copy_rows(merge, decision, err);
    if (result == 0 && (code = rps_database_exec(db, "COMMIT")) != SQLITE_OK)
        result = rps_reader_error(&merge->to, code, err);
    if (!sqlite3_get_autocommit(db))
        rps_database_exec(db, "ROLLBACK");
    if (result < 0 || !is_wanted(decision))
        return result;
    if (decision->result == RPS_MERGE_REPLACED)
        decision->replaced_run_id = decision->run_id;
    else if (decision->result == RPS_MERGE_COPIED)
        decision->differing_run_id = decision->run_id;
    decision->run_id = merge->run_id;
    return 0;
}

/* Decide what to do with the run, and do it if the run is sound. If it could not even be compared,
 * the check gives the reason. */
static int decide_and_copy(struct merge *merge, struct rps_merge_run *decision,
                           struct rps_error *err)
{
    int result = decide(merge, decision, err);

    if (result == 0 && !is_wanted(decision))
        return 0;
    if (rps_edit_check_size(merge->from, merge->run->run_id, &merge->to, "merge", err) < 0)
        return RPS_FAILED;
    if (!rps_store_run_is_sound(merge->from, merge->run->run_id, merge->unsound,
                                sizeof(merge->unsound))) {
        decision->result = RPS_MERGE_UNSOUND;
        decision->why = merge->unsound;
        return merge->unsound[0] ? 0 : rps_error_memory(err);
    }
    return result == 0 ? copy_run(merge, decision, err) : result;
}

static int merge_run(struct merge *merge, int64_t run_id,
                     int (*each)(void *context, const struct rps_merge_run *run), void *context,
                     struct rps_error *err)
{
    struct rps_run_summary summary = {0};
    struct rps_merge_run decision = {.summary = &summary};
    struct rps_run run;
    int result;

    rps_run_init(&run);
    decision.run = merge->run = &run;
    result = rps_reader_run(merge->from, run_id, &run, err);
    if (result == 0)
        result = decide_and_copy(merge, &decision, err);
    if (result == 0 && decision.result != RPS_MERGE_UNSOUND)
        result = rps_reader_summary(merge->from, run_id, &summary, err);
    if (result == 0 && each)
        result = each(context, &decision);
    rps_run_free(&run);
    return result;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Open the other store and hold one state of it. */
static int open_from(struct merge *merge, const char *path, const char *other,
                     struct rps_error *err)
{
    struct stat here, there;
    int64_t version = 0;
    int code;

    if (other[0] != '\0' && stat(other, &there) < 0 && errno == ENOENT)
        return rps_error_set(err, RPS_FAILED, "there is no store %s to be merged: look at its name",
                             other);
    if (rps_reader_open(&merge->from, other, err) < 0)
        return RPS_FAILED;
    if (stat(path, &here) == 0 && stat(other, &there) == 0 && here.st_dev == there.st_dev &&
        here.st_ino == there.st_ino)
        return rps_error_set(err, RPS_FAILED,
                             "%s and %s are the same store: name another one to merge into it",
                             path, other);
    code = rps_database_exec(merge->from->db, "BEGIN");
    if (code == SQLITE_OK)
        code = rps_database_ask(merge->from->db, &version, "PRAGMA main.user_version", "");
    if (code != SQLITE_OK)
        return rps_reader_error(merge->from, code, err);
    if (version > RPS_STORE_VERSION)
        return rps_error_set(err, RPS_FAILED,
                             "the store %s has format %d.%d, which is newer than this rpistat's,"
                             " and may hold what a merge would leave behind: use the newer rpistat",
                             other, (int)(version / RPS_STORE_VERSION_MAJOR),
                             (int)(version % RPS_STORE_VERSION_MAJOR));
    return 0;
}

int rps_store_merge(const char *path, const char *other, const char *only,
                    int (*each)(void *context, const struct rps_merge_run *run), void *context,
                    struct rps_error *err)
{
    const struct rps_database_options options = {0};
    struct merge merge = {.to = {.path = (char *)path}};
    int64_t *run_id = NULL, one = -1;
    size_t count = 1;
    int result = open_from(&merge, path, other, err);

    if (result == 0) /* before a store is created */
        result = only ? rps_reader_find(merge.from, only, &one, err)
                      : rps_reader_runs(merge.from, &run_id, &count, err);
    if (result == 0 && count > 0)
        result = rps_database_open_write(path, &options, &merge.to.db, err);
    for (size_t i = 0; i < count && result == 0; i++)
        result = merge_run(&merge, only ? one : run_id[i], each, context, err);
    free(run_id);
    rps_reader_close(merge.from);
    if (merge.to.db)
        rps_database_close_beside(merge.to.db);
    return result;
}
