/*
 * Merging: the runs of another store, copied row by row.
 *
 * A run is copied in the reverse order of a deletion (edit.c). It gets a number that no run has.
 * First its tables of many rows are copied, in transactions of a tenth of a second. Nobody finds
 * those rows, since table run does not have the number. The last transaction copies all that
 * describes the run, and its row in table run; it also deletes the run that it replaces. A merge
 * that is broken off leaves what a broken-off deletion leaves: rows that the next merge or deletion
 * sweeps away.
 *
 * While a merge is at work, a heartbeat under the number keeps others from sweeping its rows. Each
 * transaction renews it. A sweep deletes heartbeats that are too old before it deletes rows: a
 * merge that was stopped for so long finds its heartbeat missing, and ends.
 *
 * The other store is not attached: a connection of its own, with every guard of a reader, reads it
 * in one transaction, and its values are only bound to parameters. Nothing that a run says about
 * itself is believed: it is compared with what is here (copies.c) and checked as `rpistat check`
 * does before it is copied.
 */
#include "rpistat/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "check_run.h"
#include "copies.h"
#include "database.h"
#include "edit.h"
#include "reader.h"
#include "schema.h"
#include "rpistat/clock.h"
#include "tables.h"

/* A transaction inserts rows for so long. */
#define BATCH_NS (100 * RPS_NS_PER_MS)

/* So many rows are inserted by a statement: a statement a row takes a third longer. */
#define STATEMENT_ROWS 16

/* Rows between two looks at the clock. They take a millisecond. */
#define BATCH_ROWS 256

/* Of the heartbeat: after three intervals a sweep takes the merge for dead. */
#define INTERVAL_NS RPS_NS_PER_S

struct merge {
    struct rps_reader *from;
    struct rps_reader to; /* its connection can write */
    int64_t run_id;       /* the number that rows are copied under; -1: none */
    int64_t since_ns;     /* when the transaction began */
    const struct rps_run *run;
    char uuid[40];      /* of the run here that it was compared with last */
    int64_t newest;     /* highest number of a run here when it was decided what is to be done */
    sqlite3 *expected;  /* an empty store, for the check */
    char unsound[1024]; /* what the check found first */
};

/* --- transactions ----------------------------------------------------------------------------- */

/* A number that no run has had, with a heartbeat. */
static int take_number(struct merge *merge)
{
    sqlite3 *db = merge->to.db;
    int code = rps_database_exec(db, "INSERT INTO sqlite_sequence (name, seq) SELECT 'run', 0"
                                     " WHERE 'run' NOT IN (SELECT name FROM sqlite_sequence);"
                                     "UPDATE sqlite_sequence SET seq = 1 + max(seq, (SELECT"
                                     " coalesce(max(run_id), 0) FROM run)) WHERE name = 'run'");

    if (code == SQLITE_OK)
        code = rps_database_ask(db, &merge->run_id,
                                "SELECT seq FROM sqlite_sequence WHERE name = 'run'", "");
    return code == SQLITE_OK
               ? rps_database_do(db, "INSERT INTO heartbeat VALUES (?1, ?2, '', ?3)", "iii",
                                 merge->run_id, rps_clock_realtime_ns(), INTERVAL_NS)
               : code;
}

static int begin(struct merge *merge, struct rps_error *err)
{
    sqlite3 *db = merge->to.db;
    int code = rps_database_exec(db, "BEGIN IMMEDIATE");

    merge->since_ns = rps_clock_monotonic_ns();
    if (code == SQLITE_OK && merge->run_id < 0) {
        code = take_number(merge);
    } else if (code == SQLITE_OK) {
        code = rps_database_do(db, "UPDATE heartbeat SET realtime_ns = ?2 WHERE run_id = ?1", "ii",
                               merge->run_id, rps_clock_realtime_ns());
        if (code == SQLITE_OK && sqlite3_changes(db) == 0)
            return rps_error_set(
                err, RPS_FAILED,
                "merging run %" PRId64 " of %s into %s stood still, and was taken"
                " for dead by another program that cleans up there: merge it again",
                merge->run->run_id, merge->from->path, merge->to.path);
    }
    return code == SQLITE_OK ? 0 : rps_reader_error(&merge->to, code, err);
}

/* Commit, and leave the store to others: to a recorder for as long as it has waited, else for a
 * moment. Recorders are sought by their heartbeats, which are few where runs are many. */
static int commit(struct merge *merge, struct rps_error *err)
{
    int64_t recording = 0, taken_ns;
    int code = rps_database_ask(merge->to.db, &recording,
                                "SELECT count(*) FROM heartbeat CROSS JOIN run USING (run_id)"
                                " WHERE state = 'recording'",
                                "");

    if (code == SQLITE_OK)
        code = rps_database_exec(merge->to.db, "COMMIT");
    if (code != SQLITE_OK)
        return rps_reader_error(&merge->to, code, err);
    taken_ns = rps_clock_monotonic_ns() - merge->since_ns;
    rps_edit_give_way(recording > 0 ? taken_ns : taken_ns / 16);
    return 0;
}

/* Take back what was brought of a run; if that fails too, the next merge does it. Where not even
 * the first transaction was committed, the number may be a recorder's by now. */
static void take_back(struct merge *merge)
{
    sqlite3 *db = merge->to.db;

    if (!sqlite3_get_autocommit(db))
        rps_database_exec(db, "ROLLBACK");
    if (merge->run_id >= 0 && rps_database_do(db,
                                              "DELETE FROM heartbeat WHERE run_id = ?1"
                                              " AND run_id NOT IN (SELECT run_id FROM run)",
                                              "i", merge->run_id) == SQLITE_OK)
        rps_edit_sweep(db);
    merge->run_id = -1;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* The columns that a table has in both stores, run_id first, and as many question marks. */
struct columns {
    sqlite3_str *names, *marks;
};

/* An SQLite code. The store has been checked: no table of it hides SQLite's pragma_table_info. */
static int find_columns(struct merge *merge, const char *table, struct columns *ret)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(merge->to.db,
                                  "SELECT name FROM pragma_table_info(?1)"
                                  " WHERE name <> 'run_id' ORDER BY cid",
                                  -1, &stmt, NULL);

    sqlite3_str_appendall(ret->names, "run_id");
    sqlite3_str_appendall(ret->marks, "?");
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
    while (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);

        code = name ? sqlite3_table_column_metadata(merge->from->db, "main", table, name, NULL,
                                                    NULL, NULL, NULL, NULL)
                    : SQLITE_NOMEM;
        if (code == SQLITE_OK) {
            sqlite3_str_appendf(ret->names, ", \"%w\"", name);
            sqlite3_str_appendall(ret->marks, ", ?");
        } else if (code == SQLITE_ERROR) { /* there is no such column */
            code = SQLITE_OK;
        }
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* An INSERT of up to so many rows: its last parameter says how many. NULL: no memory. */
static char *write_sql(const char *table, const char *names, const char *marks, int rows)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);

    sqlite3_str_appendf(sql, "INSERT INTO %s (%s) SELECT %s", table, names, marks);
    for (int i = 1; i < rows; i++)
        sqlite3_str_appendf(sql, " UNION ALL SELECT %s", marks);
    sqlite3_str_appendall(sql, " LIMIT ?");
    return sqlite3_str_finish(sql);
}

/* The statements that read a table's rows of a run, and write up to so many; both are to be
 * finalized in any case. */
static int prepare_copy(struct merge *merge, const char *table, int rows, sqlite3_stmt **ret_read,
                        sqlite3_stmt **ret_write, struct rps_error *err)
{
    struct columns columns = {sqlite3_str_new(NULL), sqlite3_str_new(NULL)};
    int result = 0, code = find_columns(merge, table, &columns);
    char *names = sqlite3_str_finish(columns.names), *marks = sqlite3_str_finish(columns.marks);
    char *read = NULL, *write = NULL;

    if (names && marks) {
        read = sqlite3_mprintf("SELECT %s FROM %s WHERE run_id = ?1", names, table);
        write = write_sql(table, names, marks, rows);
    }
    if (code == SQLITE_OK && (!read || !write))
        code = SQLITE_NOMEM;
    if (code == SQLITE_OK)
        code = rps_database_prepare(merge->to.db, write, ret_write);
    if (code != SQLITE_OK)
        result = rps_reader_error(&merge->to, code, err);
    else
        result = rps_reader_prepare(merge->from, read, merge->run->run_id, ret_read, err);
    sqlite3_free(names);
    sqlite3_free(marks);
    sqlite3_free(read);
    sqlite3_free(write);
    return result;
}

/* Why a row could not be written: what another store holds may be anything. */
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

/* Bind the row that was read to the parameters of the row after `bound` others. */
static int bind_row(struct merge *merge, sqlite3_stmt *read, sqlite3_stmt *write, int bound)
{
    int count = sqlite3_column_count(read), first = bound * count + 1;
    int code = sqlite3_bind_int64(write, first, merge->run_id);

    for (int i = 1; i < count && code == SQLITE_OK; i++)
        code = sqlite3_bind_value(write, first + i, sqlite3_column_value(read, i));
    return code;
}

static int write_rows(sqlite3_stmt *write, int bound)
{
    int code = sqlite3_bind_int(write, sqlite3_bind_parameter_count(write), bound);

    return code == SQLITE_OK ? rps_database_run(write) : code;
}

/* Copy a table's rows of the run: those of a table of many rows in as many transactions as that
 * takes, others in the open one. */
static int copy_table(struct merge *merge, const struct rps_table *table, struct rps_error *err)
{
    sqlite3_stmt *read = NULL, *write = NULL;
    int rows = table->is_many ? STATEMENT_ROWS : 1, bound = 0;
    int code = SQLITE_OK, result = prepare_copy(merge, table->name, rows, &read, &write, err);

    for (uint64_t row = 1; result == 0; row++) {
        code = rps_reader_step(merge->from, read);
        if (code != SQLITE_ROW)
            break;
        code = bind_row(merge, read, write, bound++);
        if (code == SQLITE_OK && bound == rows) {
            code = write_rows(write, bound);
            bound = 0;
        }
        if (code != SQLITE_OK)
            result = cannot_write(merge, table->name, code, err);
        else if (table->is_many && row % BATCH_ROWS == 0 &&
                 rps_clock_monotonic_ns() - merge->since_ns > BATCH_NS &&
                 (result = commit(merge, err)) == 0)
            result = begin(merge, err);
    }
    if (result == 0 && code != SQLITE_DONE)
        result = rps_reader_error(merge->from, code, err);
    else if (result == 0 && (code = write_rows(write, bound)) != SQLITE_OK)
        result = cannot_write(merge, table->name, code, err);
    sqlite3_finalize(read);
    sqlite3_finalize(write);
    return result;
}

/* --- a run ------------------------------------------------------------------------------------ */

/* A run is looked for under its uuid first, then among the copies: what differed from the run here
 * came in under a uuid of its own, with its old one as this tag. */
#define COPY_TAG "copy_of"

/* ?1 is the run's uuid, ?2 what it is a copy of, or its uuid once more. */
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

/* Decide by what run `run_id` here holds; *ret_differs: something else. */
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

/* Decide by the copies of the run that are here; *ret_differs: none, or all hold something else. */
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

/* What is to be done with the run, as the store is now. */
static int decide(struct merge *merge, struct rps_merge_run *ret, struct rps_error *err)
{
    int64_t run_id = -1;
    bool differs = false;
    int result = 0, code = rps_database_ask(merge->to.db, &merge->newest,
                                            "SELECT coalesce(max(run_id), 0) FROM run", "");

    if (code == SQLITE_OK)
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

/* Is there nothing new here since it was decided? Another merge may have brought the run, or taken
 * away what it replaces, and a recorder that was taken for dead may go on. */
static int is_as_decided(struct merge *merge, const struct rps_merge_run *decision, bool *ret,
                         struct rps_error *err)
{
    int64_t newest = 0, ended = decision->run_id < 0;
    int code =
        rps_database_ask(merge->to.db, &newest, "SELECT coalesce(max(run_id), 0) FROM run", "");

    if (code == SQLITE_OK && decision->run_id >= 0)
        code = rps_database_ask(merge->to.db, &ended,
                                "SELECT state <> 'recording' FROM run WHERE run_id = ?1", "i",
                                decision->run_id);
    *ret = newest == merge->newest && ended;
    return code == SQLITE_OK || code == SQLITE_DONE ? 0 : rps_reader_error(&merge->to, code, err);
}

/* --- checking --------------------------------------------------------------------------------- */

static void keep_first(void *context, enum rps_finding_kind kind, const char *sentence)
{
    struct merge *merge = context;

    if (kind == RPS_FINDING_WRONG && !merge->unsound[0])
        snprintf(merge->unsound, sizeof(merge->unsound), "%s", sentence);
}

/* Look at the run as `rpistat check` does; merge->unsound is "" when it is sound. */
static int check_run(struct merge *merge, struct rps_error *err)
{
    const struct rps_finding_sink sink = {merge, keep_first};
    struct rps_findings findings = {.sink = &sink};
    struct rps_step_limit *limit = &merge->from->limit;
    sqlite3_int64 pages = 0;

    merge->unsound[0] = '\0';
    if (!merge->expected && rps_schema_open(&merge->expected) != SQLITE_OK)
        return rps_error_memory(err);
    /* its questions are about all rows of a run at once: they may do more, by the file's size */
    if (rps_database_number(merge->from->db, "PRAGMA page_count", &pages) == SQLITE_OK)
        limit->calls_max += (int)(pages < INT32_MAX / 2 ? pages : INT32_MAX / 2);
    limit->calls = 0;
    rps_check_run(merge->from, merge->run->run_id, merge->expected, &findings);
    rps_database_limit_steps(merge->from->db, limit);
    return findings.no_memory ? rps_error_memory(err) : 0;
}

/* --- copying ---------------------------------------------------------------------------------- */

static int copy_tables(struct merge *merge, bool many, struct rps_error *err)
{
    int result = 0;

    for (size_t i = RPS_TABLE_COUNT; i-- > 0 && result == 0;) /* run is the last */
        if (rps_tables[i].is_many == many && !rps_table_is_heartbeat(&rps_tables[i]))
            result = copy_table(merge, &rps_tables[i], err);
    return result;
}

static const char sql_give_uuid[] = "UPDATE run SET uuid = ?2 WHERE run_id = ?1";

/* The run that came takes label, tags and uuid of the one that it replaces. */
static int replace(struct merge *merge, int64_t ours)
{
    sqlite3 *db = merge->to.db;
    int code = rps_database_do(db,
                               "UPDATE run SET tags = json_patch(run.tags, ours.tags),"
                               " label = CASE WHEN ours.label = '' THEN run.label ELSE ours.label"
                               " END FROM run AS ours WHERE run.run_id = ?1 AND ours.run_id = ?2",
                               "ii", merge->run_id, ours);

    if (code == SQLITE_OK)
        code = rps_edit_delete_head(db, ours);
    return code == SQLITE_OK ? rps_database_do(db, sql_give_uuid, "it", merge->run_id, merge->uuid)
                             : code;
}

/* Copy what describes the run, and with that the run, within the open transaction. A run that has
 * its uuid here already makes room for it meanwhile. */
static int show_run(struct merge *merge, const struct rps_merge_run *decision,
                    struct rps_error *err)
{
    sqlite3 *db = merge->to.db;
    int64_t holder = -1;
    int result,
        code = rps_database_do(db, "DELETE FROM heartbeat WHERE run_id = ?1", "i", merge->run_id);

    if (code == SQLITE_OK)
        code = rps_database_ask(db, &holder, "SELECT run_id FROM run WHERE uuid = ?1", "t",
                                merge->run->uuid);
    if (code == SQLITE_OK)
        code = rps_database_do(
            db, "UPDATE run SET uuid = " RPS_SQL_RANDOM_UUID " WHERE run_id = ?1", "i", holder);
    if (code != SQLITE_OK && code != SQLITE_DONE)
        return rps_reader_error(&merge->to, code, err);
    result = copy_tables(merge, false, err);
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
    /* the row of a recorder that died says `recording` still */
    if (code == SQLITE_OK && merge->run->state == RPS_RUN_INTERRUPTED)
        code = rps_database_mark_interrupted(db);
    return code == SQLITE_OK ? 0 : rps_reader_error(&merge->to, code, err);
}

static bool is_wanted(const struct rps_merge_run *decision)
{
    return decision->result == RPS_MERGE_ADDED || decision->result == RPS_MERGE_REPLACED ||
           decision->result == RPS_MERGE_COPIED;
}

/* Copy the run. What is to be done with it is asked again at the end when something is new here. */
static int copy_run(struct merge *merge, struct rps_merge_run *decision, struct rps_error *err)
{
    bool is_decided = false;
    int result = begin(merge, err);

    if (result == 0)
        result = copy_tables(merge, true, err);
    if (result == 0)
        result = commit(merge, err);
    if (result == 0)
        result = begin(merge, err);
    if (result == 0)
        result = is_as_decided(merge, decision, &is_decided, err);
    if (result == 0 && !is_decided)
        result = decide(merge, decision, err);
    if (result == 0 && is_wanted(decision)) {
        result = show_run(merge, decision, err);
        if (result == 0)
            result = commit(merge, err);
        if (result == 0) {
            if (decision->result == RPS_MERGE_REPLACED)
                decision->replaced_run_id = decision->run_id;
            else if (decision->result == RPS_MERGE_COPIED)
                decision->differing_run_id = decision->run_id;
            decision->run_id = merge->run_id;
            merge->run_id = -1;
        }
    }
    take_back(merge);
    return result;
}

/* Decide what is to be done with the run, and do it if it is sound. Where it could not even be
 * compared the check says why. */
static int decide_and_copy(struct merge *merge, struct rps_merge_run *decision,
                           struct rps_error *err)
{
    int result = decide(merge, decision, err);

    if (result == 0 && !is_wanted(decision))
        return 0;
    if (check_run(merge, err) < 0)
        return RPS_FAILED;
    if (merge->unsound[0]) {
        decision->result = RPS_MERGE_UNSOUND;
        decision->why = merge->unsound;
        return 0;
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

/* The other store, and one state of it. */
static int open_from(struct merge *merge, const char *path, const char *other,
                     struct rps_error *err)
{
    struct stat here, there;
    sqlite3_int64 version = 0;
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
        code = rps_database_number(merge->from->db, "PRAGMA main.user_version", &version);
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
    struct merge merge = {.to = {.path = (char *)path}, .run_id = -1};
    int64_t *run_id = NULL, one = -1;
    size_t count = 1;
    int code, result = open_from(&merge, path, other, err);

    if (result == 0) /* before a store is created */
        result = only ? rps_reader_find(merge.from, only, &one, err)
                      : rps_reader_runs(merge.from, &run_id, &count, err);
    if (result == 0 && count > 0)
        result = rps_database_open_write(path, &options, &merge.to.db, err);
    for (size_t i = 0; i < count && result == 0; i++)
        result = merge_run(&merge, only ? one : run_id[i], each, context, err);
    if (result == 0 && merge.to.db && (code = rps_edit_sweep(merge.to.db)) != SQLITE_OK)
        result = rps_reader_error(&merge.to, code, err);
    free(run_id);
    rps_reader_close(merge.from);
    sqlite3_close(merge.expected);
    if (merge.to.db)
        rps_database_close_beside(merge.to.db);
    return result;
}
