/* Merging: copy the runs of another store row by row, each run in one transaction.
 *
 * SAFETY: the other store is not attached. A separate connection with all protections of a reader
 * reads the store in one transaction, and its values are only bound to parameters. The other
 * store's description of a run is not trusted. Each run is compared with the runs in this store
 * (copies.c) and checked as by `rpistat check`. The comparison and the check take longer than
 * copying. Therefore the comparison and the check are done before the transaction that copies the
 * run, because a recorder must wait until the transaction ends. Within the transaction, rpistat
 * decides again whether to copy the run. */
#include "rpistat/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "database.h"
#include "edit.h"
#include "reader.h"
#include "reconstruct.h"
#include "rpistat/arena.h"
#include "rpistat/check.h"
#include "rpistat/random.h"
#include "rpistat/text.h"

struct merge {
    struct rps_arena *arena;
    struct rps_reader *from;
    struct rps_reader to; /* reader of this store; its connection can write */
    int64_t run_id;       /* number that the copied run has in this store */
    const struct rps_run *run;
    char uuid[40];      /* uuid of the run in this store that was compared, or of the part */
    char unsound[1024]; /* first finding of the check, or "" */
    /* If is_part is true, only a part is copied. The other members are the part's start and end,
     * its first and last period, its first rotation, and the end of the run. */
    bool is_part;
    int64_t from_ns, to_ns, first, last, rotation, elapsed_ns;
};

/* Conditions for rows that belong to the part. ?2 and ?3 are the part's first and last period, ?4
 * and ?5 its start and end, ?6 its first rotation. Blocks are copied only if the part begins at a
 * border of their grid. Otherwise they are made again. Phases and the programs' times are not
 * copied, because they describe the whole run. */
static const struct {
    const char *table, *where;
} part_rows[] = {
    {"period", " AND period BETWEEN ?2 AND ?3"},
    {"rollup", " AND period >= ?2 AND last_period <= ?3 AND ?6 % (1 << 4 * level) = 0"},
    {"reading", " AND period BETWEEN ?2 AND ?3"},
    {"reading_rollup", " AND period >= ?2 AND last_period <= ?3 AND ?2 % (1 << 4 * level) = 0"},
    {"code_count", " AND period BETWEEN ?2 AND ?3"},
    {"gap", " AND start_ns < ?5 AND start_ns + length_ns > ?4"},
    {"task", " AND start_ns <= ?5 AND (end_ns IS NULL OR end_ns >= ?4)"},
    {"thinned", " AND 0"},
    {"program", " AND 0"},
    {"detection", " AND 0"},
    {"phase", " AND 0"},
    {"outlier", " AND 0"},
};

/* --- rows ------------------------------------------------------------------------------------- */

/* Prepare to read the table's rows of a run, run_id first, and to write one row. The caller always
 * finalizes both statements. Columns that an older store lacks are NULL (schema.h). */
static int prepare_copy(struct merge *merge, const char *table, sqlite3_stmt **ret_read,
                        sqlite3_stmt **ret_write, struct rps_error *err)
{
    const int64_t part[] = {merge->first, merge->last, merge->from_ns, merge->to_ns,
                            merge->rotation};
    const char *where = "";
    sqlite3_stmt *stmt = NULL;
    char *read = NULL;
    int result = 0,
        code = sqlite3_prepare_v2(merge->to.db,
                                  "SELECT 'run_id' || group_concat(', \"' || name || '\"'"
                                  ", '') FROM pragma_table_info(?1)"
                                  " WHERE name <> 'run_id'",
                                  -1, &stmt, NULL);

    for (size_t i = 0; i < RPS_COUNT(part_rows) && merge->is_part; i++)
        where = strcmp(part_rows[i].table, table) == 0 ? part_rows[i].where : where;
    if (code == SQLITE_OK)
        code = rps_database_bind(stmt, "t", table);
    if (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *names = (const char *)sqlite3_column_text(stmt, 0);

        read = sqlite3_mprintf("SELECT %s FROM %s WHERE run_id = ?1%s", names, table, where);
        code = names && read ? rps_database_prepare_insert(merge->to.db, table, names, ret_write)
                             : SQLITE_NOMEM;
    }
    sqlite3_finalize(stmt);
    if (code != SQLITE_OK)
        result = rps_reader_error(&merge->to, code, err);
    else
        result = rps_reader_prepare(merge->from, read, merge->run->run_id, ret_read, err);
    sqlite3_free(read);
    for (int i = 2; result == 0 && i <= sqlite3_bind_parameter_count(*ret_read); i++)
        sqlite3_bind_int64(*ret_read, i, part[i - 2]);
    return result;
}

/* Set the error for a row that was not written: the other store may hold invalid values. */
static int cannot_write(struct merge *merge, const char *table, int code, struct rps_error *err)
{
    if ((code & 0xff) != SQLITE_CONSTRAINT && (code & 0xff) != SQLITE_MISMATCH &&
        (code & 0xff) != SQLITE_TOOBIG)
        return rps_reader_error(&merge->to, code, err);
    return rps_error_set(
        err, RPS_FAILED,
        "run %" PRId64
        " of %s cannot be merged: its table %s has an invalid row (%s); run `rpistat check -i %s`",
        merge->run->run_id, merge->from->path, table, sqlite3_errmsg(merge->to.db),
        merge->from->path);
}

/* Write the row that was read, with the run's number in this store. A row of table `run` gets a new
 * number. Returns an SQLite code. */
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

/* Tag with the original uuid of a run stored under a new uuid, because it differed from the run in
 * this store. To find a run's copy, rpistat searches for the run's uuid, then for this tag. */
#define COPY_TAG "copy_of"

/* SQL: find a run's copies. ?1: the run's uuid; ?2: its original's uuid (?1 for an original). */
static const char sql_copies[] =
    "SELECT run_id FROM run WHERE uuid <> ?1 AND (uuid = ?2 OR CASE WHEN json_valid(tags)"
    " THEN json_extract(tags, '$." COPY_TAG "') IN (?1, ?2) END) ORDER BY run_id";

static const char *copy_tag(const struct rps_run *run)
{
    const struct rps_tag *tag = rps_run_tag(run, COPY_TAG);

    return tag ? tag->value : NULL;
}

/* Decide by comparison with run `run_id` of this store. *ret_differs: the contents differ. */
static int decide_by(struct merge *merge, int64_t run_id, struct rps_merge_run *ret,
                     bool *ret_differs, struct rps_error *err)
{
    struct rps_run ours;
    const struct rps_copy here = {&merge->to, &ours}, there = {merge->from, merge->run};
    enum rps_copies copies = RPS_COPIES_DIFFER;
    int result = rps_reader_run(merge->arena, &merge->to, run_id, &ours, err);

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
    return result;
}

/* Decide by comparison with the run's copies in this store. *ret_differs is true if there is no
 * copy, or if all copies differ. */
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

/* Copy the part in the open transaction, unless this store has an earlier copy of the part. */
static int decide_part(struct merge *merge, struct rps_merge_run *ret, struct rps_error *err)
{
    static const char sql_names[] = "SELECT count(*) FROM location WHERE run_id = ?1"
                                    " AND how <> 'none'";
    int64_t ours = 0, theirs = 0;
    uint64_t hash = 0;
    char text[128];
    int code = rps_database_ask(merge->from->db, &theirs, sql_names, "i", merge->run->run_id);

    if (code != SQLITE_OK)
        return rps_reader_error(merge->from, code, err);
    snprintf(text, sizeof(text), "%s %" PRId64 " %" PRId64 " %d", merge->run->uuid, merge->first,
             merge->last, merge->to_ns < merge->elapsed_ns ? -1 : (int)merge->run->state);
    for (const char *at = text; *at; at++)
        hash = rps_random_at(hash ^ (unsigned char)*at, 0);
    snprintf(merge->uuid, sizeof(merge->uuid), "%08x-0000-8000-8%03x-%012" PRIx64,
             (unsigned)rps_random_at(hash, 1), (unsigned)(hash >> 52), hash & 0xffffffffffff);
    ret->run_id = -1;
    code = rps_database_ask(merge->to.db, &ret->run_id, "SELECT run_id FROM run WHERE uuid = ?1",
                            "t", merge->uuid);
    if (code == SQLITE_OK)
        code = rps_database_ask(merge->to.db, &ours, sql_names, "i", ret->run_id);
    ret->result = ret->run_id < 0 ? RPS_MERGE_ADDED
                                  : (theirs > ours ? RPS_MERGE_REPLACED : RPS_MERGE_PRESENT);
    return code == SQLITE_OK || code == SQLITE_DONE ? 0 : rps_reader_error(&merge->to, code, err);
}

/* Decide what to do with the run, given the present state of this store. */
static int decide(struct merge *merge, struct rps_merge_run *ret, struct rps_error *err)
{
    int64_t run_id = -1;
    bool differs = false;
    int result = 0,
        code = rps_database_ask(merge->to.db, &run_id, "SELECT run_id FROM run WHERE uuid = ?1",
                                "t", merge->run->uuid);

    if (code != SQLITE_OK && code != SQLITE_DONE)
        return rps_reader_error(&merge->to, code, err);
    if (merge->is_part)
        return decide_part(merge, ret, err);
    ret->run_id = run_id;
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

/* --- a part of a run -------------------------------------------------------------------------- */

/* Find the part's whole rotations of the event sets, or blocks of them, in the order of time. */
static int find_part(struct merge *merge, int64_t run_id, struct rps_error *err)
{
    int64_t sets = 0, first = 0, last = 0, rows = 0, rotation = -1;
    struct rps_cursor *cursor = NULL;
    struct rps_period row;
    struct rps_run run;
    char length[RPS_TEXT_NUMBER_SIZE];
    int got, code = rps_database_ask(merge->from->db, &sets,
                                     "SELECT set_count FROM run WHERE run_id = ?1", "i", run_id);

    if (code != SQLITE_OK)
        return rps_reader_error(merge->from, code, err);
    if (rps_reader_run(merge->arena, merge->from, run_id, &run, err) < 0)
        return RPS_FAILED;
    merge->elapsed_ns = run.elapsed_ns > 0 ? run.elapsed_ns : 0;
    merge->last = -1;
    got = rps_cursor_open(&cursor, merge->from, run_id, merge->from_ns, merge->to_ns, 0, err);
    while (got == 0 && (got = rps_cursor_next(cursor, &row, err)) > 0) {
        const int64_t period = (int64_t)row.period, end = (int64_t)rps_period_last(&row);

        rows = (int64_t)row.rotation == rotation ? rows : 0;
        rotation = (int64_t)row.rotation;
        first = rows == 0 || period < first ? period : first;
        last = rows++ == 0 || end > last ? end : last;
        if (rows == sets && merge->last < 0) {
            merge->first = first;
            merge->rotation = rotation;
        }
        if (rows == sets)
            merge->last = last > merge->last ? last : merge->last;
        got = 0;
    }
    rps_cursor_close(cursor);
    if (got == 0 && merge->last < 0)
        return rps_error_set(err, RPS_FAILED,
                             "run %" PRId64 " of %s has no complete rotation of the event sets in "
                             "this range; choose a longer one within its %s",
                             run_id, merge->from->path,
                             rps_text_duration(length, sizeof(length), merge->elapsed_ns));
    if (merge->to_ns >= merge->elapsed_ns && last > merge->last) /* the last rotation may be cut */
        merge->last = last;
    return got;
}

/* Change numbers and times so that they begin at 0 at the part's start. Facts that concern the
 * whole run become unknown. ?1 is the new run, ?2 the first period, ?3 the last one, ?4 the first
 * rotation, ?5 the end of the chosen range, ?6 the end of the run, ?7 `interrupted` if the run is.
 * A region that is open at the part's start begins there; a region that ends later ends at the
 * part's end. The repair that follows counts samples, readings and periods. */
static const char sql_be_part[] =
    "DROP TABLE IF EXISTS temp.part; CREATE TEMP TABLE part AS"
    " SELECT cpu, min(cycle) AS cycle, min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM"
    " (SELECT cpu, cycle - cycles AS cycle, start_ns, start_ns + length_ns AS end_ns FROM period"
    "  WHERE run_id = ?1 UNION ALL SELECT cpu, max(cycle) - CAST(total(cycles) AS INTEGER),"
    "  min(start_ns), max(end_ns) FROM rollup WHERE run_id = ?1 GROUP BY cpu, level, rotation)"
    " GROUP BY cpu;"
    "UPDATE part SET start_ns = (SELECT min(start_ns) FROM part),"
    " end_ns = (SELECT max(max(end_ns), iif(?5 < ?6, 0, ?6)) FROM part);"
    "UPDATE period SET cycle = period.cycle - p.cycle, period = period - ?2,"
    " rotation = rotation - ?4, start_ns = period.start_ns - p.start_ns FROM part AS p"
    " WHERE run_id = ?1 AND p.cpu = period.cpu;"
    "UPDATE rollup SET cycle = rollup.cycle - p.cycle, period = period - ?2,"
    " last_period = last_period - ?2, rotation = rotation - ?4,"
    " start_ns = rollup.start_ns - p.start_ns, end_ns = rollup.end_ns - p.start_ns"
    " FROM part AS p WHERE run_id = ?1 AND p.cpu = rollup.cpu;"
    "UPDATE reading SET period = period - ?2, end_ns = end_ns - (SELECT start_ns FROM part)"
    " WHERE run_id = ?1;"
    "UPDATE reading_rollup SET period = period - ?2, last_period = last_period - ?2,"
    " end_ns = end_ns - (SELECT start_ns FROM part) WHERE run_id = ?1;"
    "UPDATE code_count SET period = period - ?2 WHERE run_id = ?1;"
    "INSERT OR IGNORE INTO mark (run_id, time_ns, mark_no, text) SELECT ?1, iif(side > 0, start_ns,"
    " end_ns), -side * (1000000 + row_number() OVER ()), text FROM (SELECT *, min(depth) OVER"
    "  (PARTITION BY side, name ORDER BY side * time_ns, side * mark_no ROWS BETWEEN CURRENT ROW"
    "  AND UNBOUNDED FOLLOWING) AS least FROM (SELECT *, sum(step) OVER (PARTITION BY side, name"
    "  ORDER BY side * time_ns, side * mark_no) AS depth FROM (SELECT *, iif(text GLOB '* begin',"
    "  side, -side) AS step, substr(text, 1, length(text) - iif(text GLOB '* begin', 6, 4)) AS name"
    "  FROM (SELECT *, iif(time_ns < start_ns, 1, -1) AS side FROM mark, (SELECT start_ns, end_ns"
    "  FROM part LIMIT 1) WHERE run_id = ?1 AND time_ns NOT BETWEEN start_ns AND end_ns)"
    "  WHERE text GLOB 'region * begin' OR text GLOB 'region * end'))) WHERE step = 1 AND"
    " least >= depth;"
    "DELETE FROM mark WHERE run_id = ?1 AND (time_ns < (SELECT start_ns FROM part) OR time_ns"
    " > (SELECT end_ns FROM part) OR (?2 > 0 AND text GLOB 'region *: * entries, * s'));"
    "UPDATE mark SET time_ns = time_ns - (SELECT start_ns FROM part) WHERE run_id = ?1;"
    "UPDATE OR REPLACE gap SET start_ns = max(gap.start_ns - p.start_ns, 0), length_ns ="
    " max(min(gap.start_ns + length_ns, p.end_ns) - max(gap.start_ns, p.start_ns), 0)"
    " FROM (SELECT start_ns, end_ns FROM part LIMIT 1) AS p WHERE run_id = ?1;"
    "DELETE FROM gap WHERE run_id = ?1 AND length_ns = 0;"
    "UPDATE task SET start_ns = max(task.start_ns - p.start_ns, 0), process_ns = NULL,"
    " end_ns = max(min(task.end_ns, p.end_ns) - p.start_ns, 0)"
    " FROM (SELECT start_ns, end_ns FROM part LIMIT 1) AS p WHERE run_id = ?1;"
    "UPDATE run SET tags = json_set(tags, '$.part_of', uuid, '$.part_periods',"
    " printf('%d-%d', ?2, ?3)), uuid = " RPS_SQL_RANDOM_UUID
    ", start_realtime_ns = start_realtime_ns + start_ns,"
    " start_monotonic_ns = start_monotonic_ns + start_ns, elapsed_ns = end_ns - start_ns,"
    " state = iif(end_ns < ?6 OR ?7 = '', 'complete', ?7), end_reason = iif(end_ns < ?6, '',"
    " iif(?7 = '' OR end_reason <> '', end_reason, 'the recorder was killed, or its disk was "
    "full')),"
    " user_ns = NULL, system_ns = NULL, memory_bytes = NULL,"
    " recorder_cpu_ns = NULL, recorder_after_ns = NULL, others_cpu_ns = NULL, exit_signal ="
    " iif(end_ns < ?6, 0, exit_signal), exit_status = iif(end_ns < ?6, NULL,"
    " exit_status) FROM part WHERE run_id = ?1;"
    "UPDATE event SET first_count = NULL, first_ns = NULL, second_count = NULL, second_ns = NULL,"
    " before_ns = NULL WHERE run_id = ?1 AND ?2 > 0;"
    "UPDATE sampling SET samples = 0, complete = CAST(complete * (SELECT total(samples) FROM"
    " stack_count WHERE run_id = ?1) / max(samples, 1) AS INTEGER) WHERE run_id = ?1";

/* Make a part of the run that was copied. */
static int be_part(struct merge *merge, struct rps_error *err)
{
    struct rps_findings findings = {.sink = NULL}; /* a sound run has no findings that matter */
    struct rps_repair_result repaired = {0};
    int code = rps_database_do(merge->to.db, sql_be_part, "iiiiiit", merge->run_id, merge->first,
                               merge->last, merge->rotation, merge->to_ns, merge->elapsed_ns,
                               merge->run->state == RPS_RUN_INTERRUPTED ? "interrupted" : "");

    return code == SQLITE_OK
               ? rps_reconstruct_run(&merge->to, merge->run_id, &findings, &repaired, err)
               : rps_reader_error(&merge->to, code, err);
}

/* --- copying ---------------------------------------------------------------------------------- */

static const char sql_give_uuid[] = "UPDATE run SET uuid = ?2 WHERE run_id = ?1";

/* Give the new run the label, tags and uuid of the run that it replaces. */
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

/* Copy the run within the open transaction. A run of this store with the same uuid temporarily gets
 * another uuid. */
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
    if (merge->is_part && (result = be_part(merge, err)) < 0)
        return result;
    code = SQLITE_OK;
    if (decision->result == RPS_MERGE_COPIED)
        code = rps_database_do(db,
                               "UPDATE run SET tags = json_set(tags, '$." COPY_TAG "', uuid),"
                               " uuid = " RPS_SQL_RANDOM_UUID " WHERE run_id = ?1",
                               "i", merge->run_id);
    if (code == SQLITE_OK && decision->result == RPS_MERGE_REPLACED)
        code = replace(merge, decision->run_id);
    else if (code == SQLITE_OK && merge->is_part)
        code = rps_database_do(db, sql_give_uuid, "it", merge->run_id, merge->uuid);
    if (code == SQLITE_OK)
        code = rps_database_do(db, sql_give_uuid, "it", holder, merge->run->uuid);
    /* In the other store, a run whose recorder died still has state `recording`. */
    if (code == SQLITE_OK && merge->run->state == RPS_RUN_INTERRUPTED)
        code = rps_database_mark_interrupted(db);
    return code == SQLITE_OK ? 0 : rps_reader_error(&merge->to, code, err);
}

static bool is_wanted(const struct rps_merge_run *decision)
{
    return decision->result == RPS_MERGE_ADDED || decision->result == RPS_MERGE_REPLACED ||
           decision->result == RPS_MERGE_COPIED;
}

/* Copy the run in one transaction, if still necessary. Another merge may have added the run, or
 * deleted the run to be replaced. A recorder that seemed dead may have continued. */
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

/* Decide what to do with the run. If the run passes the check, carry out the decision. If the run
 * could not be compared, the check finds the reason. */
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

    decision.run = merge->run = &run;
    decision.replaced_run_id = decision.differing_run_id = -1;
    result = rps_reader_run(merge->arena, merge->from, run_id, &run, err);
    if (result == 0)
        result = decide_and_copy(merge, &decision, err);
    if (result == 0 && decision.result != RPS_MERGE_UNSOUND)
        result = merge->is_part ? rps_reader_summary(&merge->to, decision.run_id, &summary, err)
                                : rps_reader_summary(merge->from, run_id, &summary, err);
    if (result == 0 && each)
        result = each(context, &decision);
    return result;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Open the other store and begin a transaction, so that all reads see one state. */
static int open_from(struct merge *merge, const char *path, const char *other,
                     struct rps_error *err)
{
    struct stat here, there;
    int64_t version = 0;
    int code;

    if (other[0] != '\0' && stat(other, &there) < 0 && errno == ENOENT)
        return rps_error_set(err, RPS_FAILED, "there is no store %s to merge; check its name",
                             other);
    if (rps_reader_open(&merge->from, other, err) < 0)
        return RPS_FAILED;
    if (stat(path, &here) == 0 && stat(other, &there) == 0 && here.st_dev == there.st_dev &&
        here.st_ino == there.st_ino)
        return rps_error_set(
            err, RPS_FAILED,
            "%s and %s are the same store; name a different store to merge into it", path, other);
    code = rps_database_exec(merge->from->db, "BEGIN");
    if (code == SQLITE_OK)
        code = rps_database_ask(merge->from->db, &version, "PRAGMA main.user_version", "");
    if (code != SQLITE_OK)
        return rps_reader_error(merge->from, code, err);
    if (version > RPS_STORE_VERSION)
        return rps_error_set(err, RPS_FAILED,
                             "the store %s has format %d.%d, which is newer than this rpistat, so "
                             "a merge could lose data; use the newer rpistat",
                             other, (int)(version / RPS_STORE_VERSION_MAJOR),
                             (int)(version % RPS_STORE_VERSION_MAJOR));
    return 0;
}

int rps_store_merge(const char *path, const char *other, const char *only, int64_t from_ns,
                    int64_t to_ns, int (*each)(void *context, const struct rps_merge_run *run),
                    void *context, struct rps_error *err)
{
    const struct rps_database_options options = {0};
    struct merge merge = {.arena = rps_arena_new(),
                          .to = {.path = (char *)path},
                          .is_part = from_ns > 0 || to_ns < INT64_MAX,
                          .from_ns = from_ns,
                          .to_ns = to_ns};
    int64_t *run_id = NULL, one = -1;
    size_t count = 1;
    int result = open_from(&merge, path, other, err);

    if (result == 0) /* open the other store before this store is created */
        result = only ? rps_reader_find(merge.from, only, &one, err)
                      : rps_reader_runs(merge.arena, merge.from, &run_id, &count, err);
    if (result == 0 && merge.is_part)
        result = find_part(&merge, one, err);
    if (result == 0 && count > 0)
        result = rps_database_open_write(path, &options, &merge.to.db, err);
    for (size_t i = 0; i < count && result == 0; i++)
        result = merge_run(&merge, only ? one : run_id[i], each, context, err);
    rps_arena_free(merge.arena);
    rps_reader_close(merge.from);
    if (merge.to.db)
        rps_database_close_beside(merge.to.db);
    return result;
}
