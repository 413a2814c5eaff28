/* The reader of runs and their metadata. The reader's connection is in reader.c, the selection of
 * runs in select.c. Plans are read in read_plan.c, periods in cursor.c.
 *
 * SAFETY: a store is untrusted input. Text is cut to the available space, and numbers are limited
 * to their ranges. A statement fails if its table or column is missing. */
#include "reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fields.h"
#include "database.h"
#include "rpistat/arena.h"

/* Like rps_reader_prepare, for a statement used for many runs. release() ends the use. */
static int borrow(struct rps_reader *reader, enum rps_reader_kept which, const char *sql,
                  int64_t run_id, sqlite3_stmt **ret, struct rps_error *err)
{
    int result = 0;

    if (reader->kept[which])
        sqlite3_bind_int64(reader->kept[which], 1, run_id);
    else
        result = rps_reader_prepare(reader, sql, run_id, &reader->kept[which], err);
    *ret = reader->kept[which];
    return result;
}

static void release(struct rps_reader *reader, enum rps_reader_kept which)
{
    sqlite3_reset(reader->kept[which]);
    if (reader->keeps)
        return;
    sqlite3_finalize(reader->kept[which]);
    reader->kept[which] = NULL;
}

/* --- finding runs ----------------------------------------------------------------------------- */

/* Read a number with the query `sql`, whose ?1 is `number`. Returns 1 if there is a row, 0 if not,
 * or RPS_FAILED. */
static int read_number(struct rps_reader *reader, const char *sql, int64_t number, int64_t *ret,
                       struct rps_error *err)
{
    int code = rps_database_ask(reader->db, ret, sql, "i", number);

    reader->limit.calls = 0;
    if (code != SQLITE_OK && code != SQLITE_DONE)
        return rps_reader_error(reader, code, err);
    return code == SQLITE_OK;
}

int rps_reader_no_run(struct rps_reader *reader, const char *what, struct rps_error *err)
{
    int64_t count = 0, first = 0, last = 0;
    int code = rps_database_ask(reader->db, &count, "SELECT count(*) FROM run", "");
    int is_default = strcmp(reader->path, RPS_STORE_DEFAULT_PATH) == 0;
    const char *option = is_default ? "" : " -i ", *path = is_default ? "" : reader->path;

    if (code == SQLITE_OK)
        code = rps_database_ask(reader->db, &first, "SELECT min(run_id) FROM run", "");
    if (code == SQLITE_OK)
        code = rps_database_ask(reader->db, &last, "SELECT max(run_id) FROM run", "");
    if (code != SQLITE_OK)
        return rps_reader_error(reader, code, err);
    if (count == 0)
        return rps_error_set(
            err, RPS_FAILED,
            "%s does not exist, because %s has no runs; record one with `rpistat COMMAND`", what,
            reader->path);
    if (count == 1)
        return rps_error_set(err, RPS_FAILED,
                             "%s is not in %s, which has run %" PRId64
                             " only; see `rpistat runs%s%s`",
                             what, reader->path, first, option, path);
    if (count == last - first + 1)
        return rps_error_set(err, RPS_FAILED,
                             "%s is not in %s, which has runs %" PRId64 " to %" PRId64
                             "; see `rpistat runs%s%s`",
                             what, reader->path, first, last, option, path);
    return rps_error_set(err, RPS_FAILED,
                         "%s is not in %s, which has %" PRId64 " runs from %" PRId64 " to %" PRId64
                         "; see `rpistat runs%s%s`",
                         what, reader->path, count, first, last, option, path);
}

struct numbers {
    struct rps_arena *arena;
    int64_t *number;
    size_t count;
};

static int add_number(void *context, sqlite3_stmt *stmt, struct rps_error *err)
{
    struct numbers *numbers = context;

    (void)err;
    numbers->number =
        rps_arena_grow(numbers->arena, numbers->number, numbers->count, sizeof(*numbers->number));
    numbers->number[numbers->count++] = sqlite3_column_int64(stmt, 0);
    return 0;
}

int rps_reader_numbers(struct rps_arena *arena, struct rps_reader *reader, const char *sql,
                       int64_t **ret, size_t *ret_count, struct rps_error *err)
{
    struct numbers numbers = {.arena = arena};
    int result = rps_reader_each(reader, sql, 0, 0, add_number, &numbers, err);

    if (result < 0)
        return result;
    *ret = numbers.number;
    *ret_count = numbers.count;
    return 0;
}

int rps_reader_runs(struct rps_arena *arena, struct rps_reader *reader, int64_t **ret_run_id,
                    size_t *ret_count, struct rps_error *err)
{
    return rps_reader_numbers(arena, reader, "SELECT run_id FROM run ORDER BY run_id", ret_run_id,
                              ret_count, err);
}

/* --- a run's metadata ------------------------------------------------------------------------- */

static int add_tag(void *context, sqlite3_stmt *stmt, struct rps_error *err)
{
    const char *key = (const char *)sqlite3_column_text(stmt, 0);
    const char *value = (const char *)sqlite3_column_text(stmt, 1);

    (void)err;
    rps_run_add_tag(context, key ? key : "", value ? value : "");
    return 0;
}

static int add_argument(void *context, sqlite3_stmt *stmt, struct rps_error *err)
{
    struct rps_run *run = context;
    const char *text = (const char *)sqlite3_column_text(stmt, 0);

    (void)err;
    if (run->argc == 0)
        run->argv = rps_arena_grow(run->arena, NULL, 0, sizeof(*run->argv));
    run->argv[run->argc++] = rps_arena_text(run->arena, text ? text : "");
    run->argv = rps_arena_grow(run->arena, run->argv, (size_t)run->argc, sizeof(*run->argv));
    return 0;
}

/* Read a JSON text of the run's row, by a query that is used for many runs. */
static int read_json(struct rps_reader *reader, enum rps_reader_kept which, const char *sql,
                     rps_reader_row *row, struct rps_run *run, struct rps_error *err)
{
    sqlite3_stmt *stmt = NULL;
    int result = borrow(reader, which, sql, run->run_id, &stmt, err);

    if (result < 0)
        return result;
    result = rps_reader_step_all(reader, stmt, row, run, err);
    release(reader, which);
    return result;
}

/* Read the run's row; return 1 if the row exists. A dead recorder's run is read as interrupted. */
static int read_row(struct rps_reader *reader, int64_t run_id, struct rps_run *run,
                    struct rps_error *err)
{
    sqlite3_stmt *stmt = NULL;
    char *sql = NULL;
    int code, result;

    if (!reader->kept[RPS_READER_ROW])
        sql = rps_fields_select("SELECT " RPS_HEARTBEAT_IS_DEAD, rps_run_fields,
                                " FROM run WHERE run_id = ?4");
    result = borrow(reader, RPS_READER_ROW, sql, 0, &stmt, err);
    sqlite3_free(sql);
    if (result < 0)
        return result;
    code = rps_heartbeat_bind(stmt);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(stmt, 4, run_id);
    if (code == SQLITE_OK)
        code = rps_reader_step(reader, stmt);
    if (code == SQLITE_ROW) {
        rps_fields_read(run->arena, stmt, 1, rps_run_fields, run);
        run->run_id = run_id;
        if (sqlite3_column_int(stmt, 0)) {
            run->state = RPS_RUN_INTERRUPTED;
            snprintf(run->end_reason, sizeof(run->end_reason),
                     "the recorder was killed, or its disk was full");
        }
        result = 1;
    } else if (code != SQLITE_DONE) {
        result = rps_reader_error(reader, code, err);
    }
    release(reader, RPS_READER_ROW);
    return result;
}

static int64_t sane_time(int64_t ns)
{
    return ns < -1 ? -1 : ns > RPS_PERIOD_TIME_MAX_NS ? RPS_PERIOD_TIME_MAX_NS : ns;
}

static int complete_run(struct rps_reader *reader, struct rps_run *run, struct rps_error *err)
{
    run->elapsed_ns = sane_time(run->elapsed_ns);
    run->period_ns = sane_time(run->period_ns);
    run->user_ns = sane_time(run->user_ns);
    run->system_ns = sane_time(run->system_ns);
    run->memory_bytes = sane_time(run->memory_bytes);
    run->recorder_cpu_ns = sane_time(run->recorder_cpu_ns);
    run->recorder_after_ns = sane_time(run->recorder_after_ns);
    if (run->elapsed_ns < 0 &&
        read_number(reader, "SELECT coalesce(" RPS_SQL_LAST_END("?1") ", -1)", run->run_id,
                    &run->elapsed_ns, err) < 0)
        return RPS_FAILED;
    run->elapsed_ns = sane_time(run->elapsed_ns);
    if (read_json(reader, RPS_READER_TAGS,
                  "SELECT j.key, j.value FROM run, json_each(run.tags) AS j WHERE run_id = ?1"
                  " ORDER BY j.id",
                  add_tag, run, err) < 0)
        return RPS_FAILED;
    return read_json(reader, RPS_READER_COMMAND,
                     "SELECT j.value FROM run, json_each(run.command) AS j WHERE run_id = ?1"
                     " ORDER BY j.id",
                     add_argument, run, err);
}

static int no_such_run(struct rps_reader *reader, int64_t run_id, struct rps_error *err)
{
    char what[40];

    snprintf(what, sizeof(what), "run %" PRId64, run_id);
    return rps_reader_no_run(reader, what, err);
}

int rps_reader_require(struct rps_reader *reader, int64_t run_id, struct rps_error *err)
{
    int64_t found;
    int result =
        read_number(reader, "SELECT run_id FROM run WHERE run_id = ?1", run_id, &found, err);

    if (result == 0)
        return no_such_run(reader, run_id, err);
    return result < 0 ? result : 0;
}

int rps_reader_run(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                   struct rps_run *ret, struct rps_error *err)
{
    struct rps_run run;
    int result;

    rps_run_init(&run);
    run.arena = arena;
    result = read_row(reader, run_id, &run, err);
    if (result == 0)
        result = no_such_run(reader, run_id, err);
    else if (result > 0)
        result = complete_run(reader, &run, err);
    if (result == 0)
        *ret = run;
    return result;
}

/* Count the periods of a run that has no totals, or only totals for all its CPUs together. */
static int count_periods(struct rps_reader *reader, int64_t run_id, struct rps_run_summary *ret,
                         struct rps_error *err)
{
    struct rps_cursor *cursor = NULL;
    struct rps_period period;
    uint64_t of_cpu = 0;
    int32_t cpu = 0;
    int got;

    ret->periods = ret->rows = 0;
    if (rps_cursor_open(&cursor, reader, run_id, 0, INT64_MAX, RPS_LEVELS, err) < 0)
        return RPS_FAILED;
    while ((got = rps_cursor_next(cursor, &period, err)) > 0) {
        of_cpu = (period.cpu == cpu ? of_cpu : 0) + rps_period_weight(&period);
        cpu = period.cpu;
        ret->rows += rps_period_weight(&period);
        ret->periods = of_cpu > ret->periods ? of_cpu : ret->periods;
    }
    rps_cursor_close(cursor);
    return got;
}

int rps_reader_summary(struct rps_reader *reader, int64_t run_id, struct rps_run_summary *ret,
                       struct rps_error *err)
{
    struct rps_run_summary summary = {0};
    sqlite3_stmt *stmt = NULL;
    int has_totals = 0;
    int code, result = borrow(reader, RPS_READER_SUMMARY,
                              "SELECT plan, (SELECT count(*) FROM gap"
                              " WHERE run_id = ?1), CASE WHEN NOT EXISTS (SELECT 1"
                              " FROM period WHERE run_id = ?1 AND cpu >= 0) THEN"
                              " (SELECT sum(periods) FROM event_set WHERE run_id = ?1)"
                              " END, (SELECT sum(enabled_ns) FROM event_set WHERE run_id = ?1)"
                              " FROM run WHERE run_id = ?1",
                              run_id, &stmt, err);

    if (result < 0)
        return result;
    code = rps_reader_step(reader, stmt);
    if (code == SQLITE_ROW) {
        int64_t gaps = sqlite3_column_int64(stmt, 1), periods = sqlite3_column_int64(stmt, 2);

        rps_fields_copy_text(stmt, 0, summary.plan, sizeof(summary.plan));
        has_totals = sqlite3_column_type(stmt, 2) != SQLITE_NULL;
        summary.gap_count = gaps > INT32_MAX ? INT32_MAX : (int)gaps;
        summary.cpu_ns =
            sqlite3_column_type(stmt, 3) == SQLITE_NULL ? -1 : sqlite3_column_int64(stmt, 3);
        summary.periods = summary.rows = periods < 0 ? 0 : (uint64_t)periods;
    } else if (code == SQLITE_DONE) {
        result = no_such_run(reader, run_id, err);
    } else {
        result = rps_reader_error(reader, code, err);
    }
    release(reader, RPS_READER_SUMMARY);
    if (result == 0 && !has_totals)
        result = count_periods(reader, run_id, &summary, err);
    if (result == 0)
        *ret = summary;
    return result;
}

int rps_reader_builds(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                      const char **ret, struct rps_error *err)
{
    static const char sql[] =
        "SELECT group_concat(replace(path, rtrim(path, replace(path, '/', '')), '') || ' ' ||"
        " build_id, char(10)) FROM module WHERE run_id = ?1 AND kind = 'file'";
    sqlite3_stmt *stmt = NULL;
    int result = rps_reader_prepare(reader, sql, run_id, &stmt, err);
    int code = result == 0 ? rps_reader_step(reader, stmt) : SQLITE_DONE;
    const char *text = code == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 0) : NULL;

    *ret = rps_arena_text(arena, text ? text : "");
    sqlite3_finalize(stmt);
    return result == 0 && code != SQLITE_ROW ? rps_reader_error(reader, code, err) : result;
}

int rps_reader_downsampled(struct rps_reader *reader, int64_t run_id, int64_t *ret_ns,
                           struct rps_error *err)
{
    /* SQL: the end of the last block before before_period. The block may be of any level. */
    static const char sql[] =
        "SELECT coalesce(max((SELECT r.end_ns FROM rollup AS r WHERE r.run_id = ?1"
        " AND r.cpu = t.cpu AND r.level = l.level AND r.last_period < t.before_period"
        " ORDER BY r.period DESC LIMIT 1)), -1) FROM thinned AS t,"
        " (SELECT 1 AS level UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) AS l"
        " WHERE t.run_id = ?1 AND t.level = 0";
    int64_t unused;
    int result =
        read_number(reader, "SELECT 1 FROM thinned WHERE run_id = ?1 AND level = 0 LIMIT 1", run_id,
                    &unused, err);

    *ret_ns = -1;
    if (result > 0)
        result = read_number(reader, sql, run_id, ret_ns, err);
    *ret_ns = sane_time(*ret_ns);
    return result < 0 ? result : 0;
}

int rps_reader_downsampled_to(struct rps_reader *reader, int64_t run_id, int32_t cpu,
                              uint64_t period, int *ret_level, struct rps_error *err)
{
    int64_t level = 0;
    int code = rps_database_ask(reader->db, &level,
                                "SELECT coalesce(max(level) + 1, 0) FROM thinned WHERE run_id = ?1"
                                " AND cpu = ?2 AND before_period > ?3",
                                "iii", run_id, (int64_t)cpu, (int64_t)period);

    *ret_level = level > 0 && level <= RPS_LEVELS ? (int)level : 0;
    return code == SQLITE_OK ? 0 : rps_reader_error(reader, code, err);
}

/* --- marks and gaps --------------------------------------------------------------------------- */

struct reading {
    struct rps_arena *arena;
    struct rps_notes notes;
};

static int add_note(void *context, sqlite3_stmt *stmt, struct rps_error *err)
{
    struct reading *reading = context;
    struct rps_notes *notes = &reading->notes;
    const char *text = (const char *)sqlite3_column_text(stmt, 2);
    int64_t length_ns = sane_time(sqlite3_column_int64(stmt, 1));

    (void)err;
    notes->note = rps_arena_grow(reading->arena, notes->note, notes->count, sizeof(*notes->note));
    notes->note[notes->count++] = (struct rps_note){
        .cpu = sqlite3_column_int(stmt, 3),
        .start_ns = sane_time(sqlite3_column_int64(stmt, 0)),
        .length_ns = length_ns < 0 ? 0 : length_ns,
        .text = rps_arena_text(reading->arena, text ? text : ""),
    };
    return 0;
}

static int read_notes(struct rps_arena *arena, struct rps_reader *reader, const char *sql,
                      int64_t run_id, struct rps_notes *ret, struct rps_error *err)
{
    struct reading reading = {.arena = arena};
    int result = rps_reader_each(reader, sql, run_id, 0, add_note, &reading, err);

    if (result == 0)
        *ret = reading.notes;
    return result;
}

int rps_reader_marks(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                     struct rps_notes *ret, struct rps_error *err)
{
    return read_notes(arena, reader,
                      "SELECT time_ns, 0, text, -1 FROM mark WHERE run_id = ?1"
                      " ORDER BY time_ns, mark_no",
                      run_id, ret, err);
}

int rps_reader_gaps(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                    struct rps_notes *ret, struct rps_error *err)
{
    return read_notes(arena, reader,
                      "SELECT start_ns, length_ns, reason, cpu FROM gap WHERE run_id = ?1"
                      " ORDER BY start_ns, gap_no",
                      run_id, ret, err);
}
