/*
 * The code that was seen in a run: read whole, since it grows with the program and not with time;
 * and the counts, which are handed over one by one. It is written anew when its frames are named.
 *
 * A store is input from elsewhere. A number is an index where it is what its rows are in order of,
 * and below MAX; a row whose parent, frame or module is not there is kept as one of which nothing is
 * known, so that counts still add up.
 */
#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "fields.h"
#include "reader.h"

/* Rows of a table that are read, and bytes of all texts. */
#define ROWS_MAX  INT64_C(4000000)
#define TEXTS_MAX (UINT64_C(256) << 20)

#define TIME_MAX_NS (INT64_MAX / 4)

struct reading {
    struct rps_reader *reader;
    struct rps_code code;
    size_t module_room, frame_room, location_room, stack_room, task_room, texts_room;
    size_t texts_used;
};

/* --- growing ---------------------------------------------------------------------------------- */

/* The array with room for one more than `count`; NULL without memory. */
static void *with_room(void *array, size_t size, size_t count, size_t *room)
{
    size_t more = *room < 64 ? 64 : *room * 2;
    void *grown;

    if (count < *room)
        return array;
    grown = realloc(array, more * size);
    if (grown)
        *room = more;
    return grown;
}

/* Texts are kept one behind the other; as long as they grow a pointer is an offset. */
static const char *keep_text(struct reading *r, sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    size_t bytes = text ? strlen(text) + 1 : 1, offset = r->texts_used;

    if (bytes > TEXTS_MAX - offset)
        bytes = 1;
    while (offset + bytes > r->texts_room) {
        char *grown = with_room(r->code.texts, 1, r->texts_room, &r->texts_room);

        if (!grown)
            return NULL;
        r->code.texts = grown;
    }
    memcpy(r->code.texts + offset, bytes > 1 ? text : "", bytes);
    r->texts_used += bytes;
    return (const char *)(uintptr_t)(offset + 1); /* an offset of 0 would be NULL */
}

static void place_text(const struct rps_code *code, const char **text)
{
    *text = *text ? code->texts + ((uintptr_t)*text - 1) : "";
}

/* Offsets become pointers. */
static void place_texts(struct rps_code *code)
{
    for (size_t i = 0; i < code->module_count; i++)
        place_text(code, &code->module[i].path);
    for (size_t i = 0; i < code->location_count; i++) {
        place_text(code, &code->location[i].function);
        place_text(code, &code->location[i].file);
    }
    for (size_t i = 0; i < code->task_count; i++)
        place_text(code, &code->task[i].name);
}

/* The number of the row, when it is one that follows those before; -1 for one to leave out. */
static int64_t row_number(sqlite3_stmt *stmt, size_t count)
{
    int64_t number = rps_database_index(stmt, 0, ROWS_MAX);

    return number >= (int64_t)count ? number : -1;
}

/* --- rows ------------------------------------------------------------------------------------- */

static int read_sampling(struct reading *r, sqlite3_stmt *stmt)
{
    struct rps_sampling *s = &r->code.sampling;
    uint64_t *const number[] = {&s->frequency, &s->threshold, &s->samples, &s->complete,
                                &s->lost,      &s->throttled, &s->unmapped};

    rps_fields_copy_text(stmt, 0, s->event, sizeof(s->event));
    rps_fields_copy_text(stmt, 1, s->stacks, sizeof(s->stacks));
    for (int i = 0; i < (int)(sizeof(number) / sizeof(number[0])); i++) {
        int64_t value = sqlite3_column_int64(stmt, i + 2);

        *number[i] = value > 0 ? (uint64_t)value : 0;
    }
    return 1;
}

static int read_module(struct reading *r, sqlite3_stmt *stmt)
{
    struct rps_code *code = &r->code;
    int64_t number = row_number(stmt, code->module_count);
    int kind;

    while (number >= (int64_t)code->module_count) {
        struct rps_module *grown =
            with_room(code->module, sizeof(*grown), code->module_count, &r->module_room);

        if (!grown)
            return RPS_FAILED;
        code->module = grown;
        grown[code->module_count] =
            (struct rps_module){.module = (int64_t)code->module_count, .kind = RPS_MODULE_MEMORY};
        code->module_count++;
    }
    if (number >= 0) {
        struct rps_module *module = &code->module[number];
        const char *name = (const char *)sqlite3_column_text(stmt, 1);

        kind = name ? rps_module_kind_find(name) : -1;
        module->kind = kind < 0 ? RPS_MODULE_MEMORY : (enum rps_module_kind)kind;
        rps_fields_copy_text(stmt, 3, module->build_id, sizeof(module->build_id));
        module->path = keep_text(r, stmt, 2);
        return module->path ? 1 : RPS_FAILED;
    }
    return 1;
}

static int read_frame(struct reading *r, sqlite3_stmt *stmt)
{
    struct rps_code *code = &r->code;
    int64_t number = row_number(stmt, code->frame_count);

    while (number >= (int64_t)code->frame_count) {
        struct rps_frame *grown =
            with_room(code->frame, sizeof(*grown), code->frame_count, &r->frame_room);

        if (!grown)
            return RPS_FAILED;
        code->frame = grown;
        grown[code->frame_count] = (struct rps_frame){(int64_t)code->frame_count, -1, 0};
        code->frame_count++;
    }
    if (number >= 0) {
        code->frame[number].module = rps_database_index(stmt, 1, (int64_t)code->module_count);
        code->frame[number].address = (uint64_t)sqlite3_column_int64(stmt, 2);
    }
    return 1;
}

static int read_stack(struct reading *r, sqlite3_stmt *stmt)
{
    struct rps_code *code = &r->code;
    int64_t number = row_number(stmt, code->stack_count);

    while (number >= (int64_t)code->stack_count) {
        struct rps_stack *grown =
            with_room(code->stack, sizeof(*grown), code->stack_count, &r->stack_room);

        if (!grown)
            return RPS_FAILED;
        code->stack = grown;
        grown[code->stack_count] = (struct rps_stack){(int64_t)code->stack_count, -1, -1};
        code->stack_count++;
    }
    if (number >= 0) {
        code->stack[number].parent =
            sqlite3_column_type(stmt, 1) == SQLITE_NULL ? -1 : rps_database_index(stmt, 1, number);
        code->stack[number].frame = rps_database_index(stmt, 2, (int64_t)code->frame_count);
    }
    return 1;
}

static int read_task(struct reading *r, sqlite3_stmt *stmt)
{
    struct rps_code *code = &r->code;
    int64_t number = row_number(stmt, code->task_count);

    while (number >= (int64_t)code->task_count) {
        struct rps_task *grown =
            with_room(code->task, sizeof(*grown), code->task_count, &r->task_room);

        if (!grown)
            return RPS_FAILED;
        code->task = grown;
        grown[code->task_count] = (struct rps_task){(int64_t)code->task_count, -1, -1, NULL, 0, -1};
        code->task_count++;
    }
    if (number >= 0) {
        struct rps_task *task = &code->task[number];

        task->pid = rps_database_index(stmt, 1, INT32_MAX);
        task->tid = rps_database_index(stmt, 2, INT32_MAX);
        task->start_ns = rps_database_index(stmt, 3, TIME_MAX_NS);
        task->end_ns = sqlite3_column_type(stmt, 4) == SQLITE_NULL
                           ? -1
                           : rps_database_index(stmt, 4, TIME_MAX_NS);
        task->name = keep_text(r, stmt, 5);
        return task->name ? 1 : RPS_FAILED;
    }
    return 1;
}

/* Rows come in order of frame and depth; depths count from 0. */
static int read_location(struct reading *r, sqlite3_stmt *stmt)
{
    struct rps_code *code = &r->code;
    int64_t frame = rps_database_index(stmt, 0, (int64_t)code->frame_count);
    const struct rps_location *last =
        code->location_count > 0 ? &code->location[code->location_count - 1] : NULL;
    int depth = last && last->frame == frame ? last->depth + 1 : 0, how;
    const char *name = (const char *)sqlite3_column_text(stmt, 5);
    struct rps_location *grown;

    if (frame < 0 || sqlite3_column_int64(stmt, 1) != depth ||
        code->location_count >= (size_t)ROWS_MAX)
        return 1;
    grown = with_room(code->location, sizeof(*grown), code->location_count, &r->location_room);
    if (!grown)
        return RPS_FAILED;
    code->location = grown;
    how = name ? rps_location_how_find(name) : -1;
    grown += code->location_count++;
    *grown = (struct rps_location){
        .frame = frame,
        .depth = depth,
        .function = keep_text(r, stmt, 2),
        .file = keep_text(r, stmt, 3),
        .line = (int)rps_database_index(stmt, 4, INT32_MAX),
        .how = how < 0 ? RPS_LOCATION_NONE : (enum rps_location_how)how,
    };
    if (grown->line < 0)
        grown->line = 0;
    return grown->function && grown->file ? 1 : RPS_FAILED;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Each row that sql gives; how many there were, or negative. */
static int64_t each_row(struct reading *r, int64_t run_id, const char *sql,
                        int (*row)(struct reading *r, sqlite3_stmt *stmt), struct rps_error *err)
{
    sqlite3_stmt *stmt = NULL;
    int64_t count = 0;
    int code, result = 1;

    if (rps_reader_prepare(r->reader, sql, run_id, &stmt, err) < 0)
        return RPS_FAILED;
    while ((code = rps_reader_step(r->reader, stmt)) == SQLITE_ROW && result > 0) {
        result = row(r, stmt);
        count++;
    }
    if (result < 0)
        count = rps_error_memory(err);
    else if (code != SQLITE_DONE)
        count = rps_reader_error(r->reader, code, err);
    sqlite3_finalize(stmt);
    return count;
}

int rps_reader_code(struct rps_reader *reader, int64_t run_id, struct rps_code *ret,
                    struct rps_error *err)
{
    static const struct {
        const char *sql;
        int (*row)(struct reading *r, sqlite3_stmt *stmt);
    } tables[] = {
        {"SELECT event, stacks, frequency, threshold, samples, complete, lost, throttled, unmapped"
         " FROM sampling WHERE run_id = ?1",
         read_sampling},
        {"SELECT module, kind, path, build_id FROM module WHERE run_id = ?1 ORDER BY module",
         read_module},
        {"SELECT frame, module, address FROM frame WHERE run_id = ?1 ORDER BY frame", read_frame},
        {"SELECT stack, parent, frame FROM stack WHERE run_id = ?1 ORDER BY stack", read_stack},
        {"SELECT task, pid, tid, start_ns, end_ns, name FROM task WHERE run_id = ?1 ORDER BY task",
         read_task},
        {"SELECT frame, depth, function, file, line, how FROM location WHERE run_id = ?1"
         " ORDER BY frame, depth",
         read_location},
    };
    struct reading r = {.reader = reader};
    int code = rps_database_exec(reader->db, "SAVEPOINT code"); /* one state of the store */
    int64_t rows = 1;

    if (code != SQLITE_OK)
        return rps_reader_error(reader, code, err);
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && rows >= 0; i++) {
        rows = each_row(&r, run_id, tables[i].sql, tables[i].row, err);
        if (i == 0 && rows == 0) /* no samples were taken */
            break;
        if (rows == 0)
            rows = 1;
    }
    rps_database_exec(reader->db, "RELEASE code");
    if (rows <= 0) {
        rps_code_free(&r.code);
        return (int)rows;
    }
    place_texts(&r.code);
    *ret = r.code;
    return 1;
}

/* --- counts ----------------------------------------------------------------------------------- */

/* cpu is in the key before period: a query for each CPU seeks. */
#define COUNTS(table, id)                                                                          \
    "SELECT c.level, c.cpu, c.period, c." id ", c.samples FROM " table " AS c"                     \
    " WHERE c.run_id = ?1 AND c.level = ?2 AND c.cpu = ?3 AND c.period BETWEEN ?4 AND ?5"

#define NEXT_CPU(table)                                                                            \
    "SELECT min(cpu) FROM " table " WHERE run_id = ?1 AND level = ?2 AND cpu > ?3"

/* The counts of a level and CPU. */
static int walk_counts(struct rps_reader *reader, const struct rps_code_count_query *query,
                       sqlite3_stmt *stmt, struct rps_error *err)
{
    int code, result = 0;

    while ((code = rps_reader_step(reader, stmt)) == SQLITE_ROW && result == 0) {
        struct rps_code_count count = {
            .level = (int)sqlite3_column_int64(stmt, 0),
            .cpu = (int32_t)sqlite3_column_int64(stmt, 1),
            .period = (uint64_t)sqlite3_column_int64(stmt, 2),
            .id = sqlite3_column_int64(stmt, 3),
        };
        int64_t samples = sqlite3_column_int64(stmt, 4);

        count.samples = samples > 0 ? (uint64_t)samples : 0;
        if (count.id >= 0 && count.samples > 0)
            result = query->count(query->context, &count, err);
    }
    if (result == 0 && code != SQLITE_DONE)
        result = rps_reader_error(reader, code, err);
    sqlite3_reset(stmt);
    return result;
}

/* The next CPU behind `cpu` that has counts of the level: 1 and *ret, 0 for none. */
static int next_cpu(struct rps_reader *reader, sqlite3_stmt *stmt, int level, int64_t cpu,
                    int64_t *ret, struct rps_error *err)
{
    int code, found;

    sqlite3_bind_int64(stmt, 2, level);
    sqlite3_bind_int64(stmt, 3, cpu);
    code = rps_reader_step(reader, stmt);
    found = code == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL;
    if (found)
        *ret = sqlite3_column_int64(stmt, 0);
    sqlite3_reset(stmt);
    return code == SQLITE_ROW ? found : rps_reader_error(reader, code, err);
}

int rps_reader_code_counts(struct rps_reader *reader, int64_t run_id,
                           const struct rps_code_count_query *query, struct rps_error *err)
{
    sqlite3_stmt *counts = NULL, *cpus = NULL;
    uint64_t last = query->last > INT64_MAX ? INT64_MAX : query->last;
    int result = rps_reader_prepare(
        reader, query->tasks ? COUNTS("task_count", "task") : COUNTS("stack_count", "stack"),
        run_id, &counts, err);

    if (result == 0)
        result = rps_reader_prepare(reader,
                                    query->tasks ? NEXT_CPU("task_count") : NEXT_CPU("stack_count"),
                                    run_id, &cpus, err);
    for (int level = RPS_LEVELS; level >= 0 && result == 0; level--) {
        int64_t cpu = INT64_MIN;

        while (result == 0 && (result = next_cpu(reader, cpus, level, cpu, &cpu, err)) > 0) {
            result = 0;
            if (query->cpu != RPS_CPU_ALL && cpu != query->cpu)
                continue;
            sqlite3_bind_int64(counts, 2, level);
            sqlite3_bind_int64(counts, 3, cpu);
            sqlite3_bind_int64(counts, 4, (int64_t)query->first);
            sqlite3_bind_int64(counts, 5, (int64_t)last);
            result = walk_counts(reader, query, counts, err);
        }
    }
    sqlite3_finalize(counts);
    sqlite3_finalize(cpus);
    return result;
}

int rps_reader_periods(struct rps_reader *reader, int64_t run_id, int64_t from_ns, int64_t to_ns,
                       uint64_t *ret_first, uint64_t *ret_last, struct rps_error *err)
{
    sqlite3_stmt *stmt = NULL;
    int code, found;

    if (rps_reader_prepare(reader,
                           "SELECT min(period), max(last_period) FROM finest WHERE run_id = ?1"
                           " AND start_ns + (end_ns - start_ns) / 2 >= ?2"
                           " AND start_ns + (end_ns - start_ns) / 2 < ?3",
                           run_id, &stmt, err) < 0)
        return RPS_FAILED;
    sqlite3_bind_int64(stmt, 2, from_ns);
    sqlite3_bind_int64(stmt, 3, to_ns);
    code = rps_reader_step(reader, stmt);
    found = code == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL;
    if (found) {
        *ret_first = (uint64_t)sqlite3_column_int64(stmt, 0);
        *ret_last = (uint64_t)sqlite3_column_int64(stmt, 1);
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_ROW ? found : rps_reader_error(reader, code, err);
}

/* --- names ------------------------------------------------------------------------------------ */

/* All but the begin and the end of the transaction. SQLITE_DONE: there is no such run. */
static int write_locations(sqlite3 *db, int64_t run_id, const struct rps_code *code)
{
    sqlite3_stmt *stmt = NULL;
    int64_t found;
    int result =
        rps_database_ask(db, &found, "SELECT run_id FROM run WHERE run_id = ?", "i", run_id);

    if (result == SQLITE_OK)
        result = rps_database_do(db, "DELETE FROM location WHERE run_id = ?", "i", run_id);
    if (result == SQLITE_OK)
        result = rps_database_prepare(
            db,
            "INSERT INTO location (run_id, frame, depth, function, file, line, how)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            &stmt);
    for (size_t i = 0; i < code->location_count && result == SQLITE_OK; i++) {
        const struct rps_location *at = &code->location[i];

        result =
            rps_database_bind(stmt, "iiittit", run_id, at->frame, (int64_t)at->depth, at->function,
                              at->file, (int64_t)at->line, rps_location_how_name(at->how));
        if (result == SQLITE_OK)
            result = rps_database_run(stmt);
    }
    sqlite3_finalize(stmt);
    return result;
}

int rps_store_set_locations(const char *path, int64_t run_id, const struct rps_code *code,
                            struct rps_error *err)
{
    struct rps_reader store = {.path = (char *)path};
    int result, failed = rps_database_open_existing(path, &store.db, err);

    if (failed < 0)
        return failed;
    result = rps_database_exec(store.db, "BEGIN IMMEDIATE");
    if (result == SQLITE_OK)
        result = write_locations(store.db, run_id, code);
    if (result == SQLITE_OK)
        result = rps_database_exec(store.db, "COMMIT");
    if (result == SQLITE_DONE)
        failed = rps_reader_require(&store, run_id, err);
    else if (result != SQLITE_OK)
        failed = rps_reader_error(&store, result, err);
    rps_database_close_beside(store.db);
    return failed;
}
