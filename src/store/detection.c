/* Detections of phases: rows of `detection`, `phase` and `outlier`.
 *
 * A detection is added through a separate connection and not through a writer, because no run is
 * being recorded by this process. A recorder may be using the same store. A store is untrusted, so
 * every value is checked when it is read. A detection without a level or a phase, or with phases or
 * labels out of sequence, is damaged. */
#include "reconstruct.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "database.h"

#include "rpistat/arena.h"

/* --- writing ---------------------------------------------------------------------------------- */

/* A detection to write, and the run that receives it. */
struct addition {
    sqlite3 *db;
    int64_t run_id;
    const struct rps_detection *detection;
    int64_t number;
};

/* Delete the run's detections that have the method and parameters of the new detection. Also delete
 * rows of phases and outliers that belong to no detection. */
static int delete_equal(const struct addition *add)
{
    int code = rps_database_do(
        add->db, "DELETE FROM detection WHERE run_id = ? AND method = ? AND parameters = ?", "itt",
        add->run_id, add->detection->method, add->detection->parameters);

    return code == SQLITE_OK ? rps_detection_delete_strays(add->db, add->run_id) : code;
}

static int insert_head(const struct addition *add)
{
    const struct rps_detection *detection = add->detection;

    return rps_database_do(
        add->db,
        "INSERT INTO detection (run_id, detection, method, parameters, shown_level, remark)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        detection->remark ? "iittit" : "iittin", add->run_id, add->number, detection->method,
        detection->parameters, (int64_t)detection->levels.shown, detection->remark);
}

static int insert_level(const struct addition *add, size_t level, sqlite3_stmt *stmt)
{
    const struct rps_phases *phases = &add->detection->levels.level[level];
    char label[RPS_PHASE_LABEL_SIZE];
    int code = SQLITE_OK;

    for (size_t i = 0; i < phases->count && code == SQLITE_OK; i++) {
        const struct rps_phase *phase = &phases->phase[i];

        const char *kinds = phase->loop <= 0   ? "iiiiiiiiiirrtnnn"
                            : phase->part <= 0 ? "iiiiiiiiiirrtiin"
                                               : "iiiiiiiiiirrtiii";

        code = rps_database_bind(stmt, kinds, add->run_id, add->number, (int64_t)level, (int64_t)i,
                                 (int64_t)phase->first, (int64_t)phase->last, phase->start_ns,
                                 phase->end_ns, (int64_t)phase->earliest, (int64_t)phase->latest,
                                 phase->confidence, phase->label_confidence,
                                 rps_phase_label(phase->label, label), (int64_t)phase->loop,
                                 (int64_t)phase->turn, (int64_t)phase->part);
        if (code == SQLITE_OK)
            code = rps_database_run(stmt);
    }
    return code;
}

static int insert_phases(const struct addition *add)
{
    sqlite3_stmt *stmt = NULL;
    int code = rps_database_prepare_insert(
        add->db, "phase",
        "run_id, detection, level, phase, first_period, last_period, start_ns, end_ns, earliest,"
        " latest, confidence, label_confidence, label, loop, turn, part",
        &stmt);

    for (size_t level = 0; level < add->detection->levels.count && code == SQLITE_OK; level++)
        code = insert_level(add, level, stmt);
    sqlite3_finalize(stmt);
    return code;
}

static int insert_outliers(const struct addition *add)
{
    const struct rps_phase_levels *levels = &add->detection->levels;
    const struct rps_phases *phases = &levels->level[levels->shown];
    int code = SQLITE_OK;

    for (size_t i = 0; i < phases->outlier_count && code == SQLITE_OK; i++)
        code = rps_database_do(add->db,
                               "INSERT INTO outlier (run_id, detection, period, last_period)"
                               " VALUES (?, ?, ?, ?)",
                               phases->wide > 0 ? "iiii" : "iiin", add->run_id, add->number,
                               (int64_t)phases->outlier[i],
                               (int64_t)(phases->outlier[i] + phases->wide));
    return code;
}

static int add_detection(void *context, sqlite3 *db)
{
    struct addition *add = context;
    int code;

    add->db = db;
    code = rps_database_ask(db, &add->number,
                            "SELECT coalesce(max(detection), -1) + 1 FROM detection"
                            " WHERE run_id = ?",
                            "i", add->run_id);
    if (code == SQLITE_OK)
        code = delete_equal(add);
    if (code == SQLITE_OK)
        code = insert_head(add);
    if (code == SQLITE_OK)
        code = insert_phases(add);
    return code == SQLITE_OK ? insert_outliers(add) : code;
}

int rps_store_add_detection(const char *path, int64_t run_id, struct rps_detection *detection,
                            struct rps_error *err)
{
    struct addition add = {.run_id = run_id, .detection = detection};
    int result = rps_store_change(path, run_id, add_detection, &add, err);

    if (result == 0)
        detection->detection = add.number;
    return result;
}

/* --- reading ---------------------------------------------------------------------------------- */

struct reading {
    struct rps_arena *arena;
    struct rps_reader *reader;
    int64_t run_id;
    struct rps_detection detection;
    int64_t shown;
    int loops, turns; /* numbers of loops and iterations read so far in the current level */
};

static int refuse_detection(const struct rps_reader *reader, int64_t run_id, const char *what,
                            struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED,
                         "the store %s is damaged: the stored phases of run %" PRId64
                         " are invalid (%s); find them again with `rpistat phases`",
                         reader->path, run_id, what);
}

static int read_head(void *context, sqlite3_stmt *stmt, struct rps_error *err)
{
    struct reading *r = context;
    const char *parameters = (const char *)sqlite3_column_text(stmt, 1);
    const char *remark = (const char *)sqlite3_column_text(stmt, 3);

    (void)err;
    rps_fields_copy_text(stmt, 0, r->detection.method, sizeof(r->detection.method));
    r->detection.parameters = rps_arena_text(r->arena, parameters ? parameters : "{}");
    r->shown = sqlite3_column_int64(stmt, 2);
    r->detection.remark = rps_arena_text(r->arena, remark);
    return 0;
}

/* Read a share from a column. A damaged store may hold any number. */
static double share(sqlite3_stmt *stmt, int column)
{
    double value = sqlite3_column_double(stmt, column);

    return value > 0 ? (value < 1 ? value : 1) : 0;
}

static int64_t sane_time(int64_t ns)
{
    return ns < 0 ? 0 : ns > RPS_PERIOD_TIME_MAX_NS ? RPS_PERIOD_TIME_MAX_NS : ns;
}

/* Read a period number from a column, which may be NULL or exceed the limits. */
static uint64_t period_between(sqlite3_stmt *stmt, int column, uint64_t low, uint64_t high,
                               uint64_t unknown)
{
    int64_t period = sqlite3_column_int64(stmt, column);

    if (sqlite3_column_type(stmt, column) == SQLITE_NULL || period < 0)
        return unknown;
    return (uint64_t)period < low ? low : (uint64_t)period > high ? high : (uint64_t)period;
}

/* Return 1 if the loop and iteration of a phase can follow those of the previous phases. Within an
 * iteration, the phase must be an unusual part (number 0), or the part with the next number. */
static int follows(const struct reading *r, const struct rps_phase *before,
                   const struct rps_phase *phase)
{
    int same_loop = before && before->loop == phase->loop;
    int same_turn = same_loop && before->turn == phase->turn;

    if (phase->loop == 0)
        return phase->turn == 0 && phase->part == 0;
    return (same_loop || phase->loop == r->loops + 1) &&
           (same_turn || phase->turn == r->turns + 1) &&
           (phase->part == 0 || phase->part == (same_turn ? before->part : 0) + 1);
}

/* Read a small number. Any number out of range makes the phase invalid. */
static int small_number(sqlite3_stmt *stmt, int column)
{
    int64_t number = sqlite3_column_int64(stmt, column);

    return number >= 0 && number < INT_MAX ? (int)number : -1;
}

/* Append the statement's row to phases. Returns NULL, or the reason why the row is invalid. */
static const char *read_phase(struct reading *r, sqlite3_stmt *stmt,
                              const struct rps_phases *phases, struct rps_phase *ret)
{
    const struct rps_phase *before = phases->count > 0 ? &phases->phase[phases->count - 1] : NULL;
    int64_t first = sqlite3_column_int64(stmt, 0), last = sqlite3_column_int64(stmt, 1);
    const char *label = (const char *)sqlite3_column_text(stmt, 8);

    if (sqlite3_column_int64(stmt, 10) != (int64_t)phases->count)
        return "a phase is missing";
    if (first < 0 || last < first || (before && (uint64_t)first <= before->last))
        return "phases do not follow one another";
    *ret = (struct rps_phase){.first = (uint64_t)first,
                              .last = (uint64_t)last,
                              .start_ns = sane_time(sqlite3_column_int64(stmt, 2)),
                              .end_ns = sane_time(sqlite3_column_int64(stmt, 3)),
                              .confidence = share(stmt, 6),
                              .label_confidence = share(stmt, 7),
                              .label = label ? rps_phase_label_parse(label) : -1,
                              .loop = small_number(stmt, 11),
                              .turn = small_number(stmt, 12),
                              .part = small_number(stmt, 13)};
    /* Labels are numbered in the order of their first appearance, without gaps. */
    if (ret->label < 0 || ret->label > phases->label_count)
        return "a label is none";
    if (!follows(r, before, ret))
        return "the iterations of a loop do not follow one another";
    r->loops = ret->loop > 0 ? ret->loop : r->loops;
    r->turns = ret->loop > 0 ? ret->turn : r->turns;
    ret->earliest = period_between(stmt, 4, before ? before->first + 1 : 0, ret->first, ret->first);
    ret->latest = period_between(stmt, 5, ret->first, ret->last, ret->first);
    return NULL;
}

static void add_phase(struct rps_arena *arena, struct rps_phases *phases,
                      const struct rps_phase *phase)
{
    phases->phase = rps_arena_grow(arena, phases->phase, phases->count, sizeof(*phase));
    phases->phase[phases->count++] = *phase;
    if (phase->label >= phases->label_count)
        phases->label_count = phase->label + 1;
}

/* Read one row of a phase. Rows are ordered by level, then by phase. */
static int read_phase_row(void *context, sqlite3_stmt *stmt, struct rps_error *err)
{
    struct reading *r = context;
    struct rps_phase_levels *levels = &r->detection.levels;
    int64_t level = sqlite3_column_int64(stmt, 9);
    struct rps_phase phase;
    const char *why;

    if (level == (int64_t)levels->count) {
        levels->level =
            rps_arena_grow(r->arena, levels->level, levels->count++, sizeof(*levels->level));
        r->loops = r->turns = 0;
    } else if (level < 0 || level != (int64_t)levels->count - 1) {
        return refuse_detection(r->reader, r->run_id, "a level is missing", err);
    }
    why = read_phase(r, stmt, &levels->level[level], &phase);
    if (why)
        return refuse_detection(r->reader, r->run_id, why, err);
    add_phase(r->arena, &levels->level[level], &phase);
    return 0;
}

/* Check that all levels cover the same range. Otherwise rows at the end of a level were lost. */
static int check_levels(struct reading *r, struct rps_error *err)
{
    struct rps_phase_levels *levels = &r->detection.levels;

    if (r->shown < 0 || r->shown >= (int64_t)levels->count)
        return refuse_detection(r->reader, r->run_id, "the level to show is missing", err);
    for (size_t i = 1; i < levels->count; i++) {
        const struct rps_phases *coarse = &levels->level[0], *phases = &levels->level[i];

        if (phases->phase[0].first != coarse->phase[0].first ||
            phases->phase[phases->count - 1].last != coarse->phase[coarse->count - 1].last)
            return refuse_detection(r->reader, r->run_id,
                                    "a level does not begin or end where the other levels do", err);
    }
    levels->shown = (size_t)r->shown;
    return 0;
}

static int read_outlier(void *context, sqlite3_stmt *stmt, struct rps_error *err)
{
    struct reading *r = context;
    struct rps_phases *phases = &r->detection.levels.level[r->detection.levels.shown];
    int64_t first = sqlite3_column_int64(stmt, 0), last = sqlite3_column_int64(stmt, 1);

    (void)err;
    phases->outlier =
        rps_arena_grow(r->arena, phases->outlier, phases->outlier_count, sizeof(*phases->outlier));
    phases->outlier[phases->outlier_count++] = (uint64_t)first;
    if (last > first && (uint64_t)last <= phases->phase[phases->count - 1].last)
        phases->wide = (uint64_t)(last - first);
    return 0;
}

static int read_detection(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                          int64_t number, struct rps_detection *ret, struct rps_error *err)
{
    struct reading r = {.arena = arena,
                        .reader = reader,
                        .run_id = run_id,
                        .detection.detection = number,
                        .shown = -1};
    int result = rps_reader_each(reader,
                                 "SELECT method, parameters, shown_level, remark FROM detection"
                                 " WHERE run_id = ?1 AND detection = ?2",
                                 run_id, number, read_head, &r, err);

    if (result == 0)
        result = rps_reader_each(reader,
                                 "SELECT first_period, last_period, start_ns, end_ns, earliest,"
                                 " latest, confidence, label_confidence, label, level, phase,"
                                 " loop, turn, part"
                                 " FROM phase WHERE run_id = ?1 AND detection = ?2"
                                 " ORDER BY level, phase",
                                 run_id, number, read_phase_row, &r, err);
    if (result == 0)
        result = check_levels(&r, err);
    if (result == 0)
        result = rps_reader_each(reader,
                                 "SELECT period, last_period FROM outlier WHERE run_id = ?1"
                                 " AND detection = ?2 AND period >= 0 ORDER BY period",
                                 run_id, number, read_outlier, &r, err);
    if (result == 0)
        *ret = r.detection;
    return result;
}

/* Find the number of the newest detection. Returns 1 and sets *ret, or 0 if there is none. */
static int find_newest(struct rps_reader *reader, int64_t run_id, int64_t *ret,
                       struct rps_error *err)
{
    int64_t of_phase = -1;
    int code = rps_database_ask(
        reader->db, ret, "SELECT coalesce(max(detection), -1) FROM detection WHERE run_id = ?1",
        "i", run_id);

    if (code == SQLITE_OK)
        code = rps_database_ask(reader->db, &of_phase,
                                "SELECT coalesce(max(detection), -1) FROM phase WHERE run_id = ?1",
                                "i", run_id);
    if (code != SQLITE_OK)
        return rps_reader_error(reader, code, err);
    if (of_phase > *ret)
        return refuse_detection(reader, run_id, "they belong to no detection", err);
    return *ret >= 0;
}

int rps_reader_detection(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                         struct rps_detection *ret, struct rps_error *err)
{
    int64_t number = -1;
    /* All queries must see one state: another program may replace the detection. */
    int code = rps_database_exec(reader->db, "SAVEPOINT detection"), result;

    if (code != SQLITE_OK)
        return rps_reader_error(reader, code, err);
    result = find_newest(reader, run_id, &number, err);
    if (result > 0 && (result = read_detection(arena, reader, run_id, number, ret, err)) == 0)
        result = 1;
    rps_database_exec(reader->db, "RELEASE detection");
    return result;
}

/* --- for check and repair --------------------------------------------------------------------- */

int rps_detection_check(struct rps_reader *reader, int64_t run_id,
                        const struct rps_detection_sink *sink, struct rps_error *err)
{
    struct rps_arena *arena = rps_arena_new();
    int64_t *number = NULL;
    size_t count = 0;
    char sql[96];
    int result;

    snprintf(sql, sizeof(sql), "SELECT detection FROM detection WHERE run_id = %" PRId64, run_id);
    result = rps_reader_numbers(arena, reader, sql, &number, &count, err);
    for (size_t i = 0; i < count && result == 0; i++) {
        struct rps_detection detection;
        struct rps_error why;

        if (read_detection(arena, reader, run_id, number[i], &detection, &why) == 0)
            continue;
        if (rps_error_is_memory(&why))
            result = rps_error_memory(err);
        else
            sink->wrong(sink->context, number[i], &why);
    }
    rps_arena_free(arena);
    return result;
}

int rps_detection_delete_strays(sqlite3 *db, int64_t run_id)
{
    return rps_database_do(db,
                           "DELETE FROM phase WHERE run_id = ?1 AND detection NOT IN"
                           " (SELECT detection FROM detection WHERE run_id = ?1);"
                           "DELETE FROM outlier WHERE run_id = ?1 AND detection NOT IN"
                           " (SELECT detection FROM detection WHERE run_id = ?1)",
                           "i", run_id);
}
