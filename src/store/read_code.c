/*
 * The code that was seen in a run: read whole, since it grows with the program and not with time;
 * and the counts, which are handed over one by one. It is written anew when its frames are named.
 *
 * A store is input from elsewhere. A number is an index where it is what its rows are in order of,
 * and not too high; a row whose parent, frame or module is not there is kept as one of which
 * nothing is known, so that counts still add up. What is shown of a stack is as long as it is deep,
 * with the names of its frames: neither has more than a recorder gives.
 */
#include <stdlib.h>
#include <string.h>

#include "code_counts.h"
#include "database.h"
#include "fields.h"
#include "period.h"
#include "reader.h"

#define TEXTS_MAX (UINT64_C(64) << 20) /* bytes of all of them */

#define NAMES_MAX 64 /* of a frame: more than naming finds of inlined functions */

enum { MODULES, FRAMES, STACKS, TASKS, LOCATIONS, LISTS };

/* An array that grows. */
struct list {
    void *array; /* owned */
    size_t count, room;
};

struct reading {
    struct rps_reader *reader;
    struct rps_sampling sampling;
    struct list list[LISTS], texts;
    int no_memory;
};

/* --- growing ---------------------------------------------------------------------------------- */

/* Append `count` elements, which are for the caller to fill; NULL without memory. */
static void *append(struct reading *r, struct list *list, size_t size, size_t count)
{
    size_t room = list->room ? list->room : 64;
    void *grown;

    while (room < list->count + count)
        room *= 2;
    if (room > list->room) {
        grown = realloc(list->array, room * size);
        if (!grown) {
            r->no_memory = 1;
            return NULL;
        }
        list->array = grown;
        list->room = room;
    }
    list->count += count;
    return (char *)list->array + (list->count - count) * size;
}

/* Texts are kept one behind the other; as long as they grow a pointer is an offset, and 1. */
static const char *keep_text(struct reading *r, sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    size_t bytes = text ? strlen(text) + 1 : 1, offset = r->texts.count;
    char *place;

    if (offset >= TEXTS_MAX || bytes > TEXTS_MAX - offset)
        bytes = 1;
    place = append(r, &r->texts, 1, bytes);
    if (place)
        memcpy(place, bytes > 1 ? text : "", bytes);
    return (const char *)(uintptr_t)(offset + 1);
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

/* --- rows ------------------------------------------------------------------------------------- */

static void fill_module(struct reading *r, sqlite3_stmt *stmt, void *element)
{
    struct rps_module *module = element;
    const char *name = (const char *)sqlite3_column_text(stmt, 1);
    int kind = name ? rps_module_kind_find(name) : -1;

    module->kind = kind < 0 ? RPS_MODULE_MEMORY : (enum rps_module_kind)kind;
    module->path = keep_text(r, stmt, 2);
    rps_fields_copy_text(stmt, 3, module->build_id, sizeof(module->build_id));
}

static void fill_frame(struct reading *r, sqlite3_stmt *stmt, void *element)
{
    struct rps_frame *frame = element;

    frame->module = rps_database_index(stmt, 1, (int64_t)r->list[MODULES].count);
    frame->address = (uint64_t)sqlite3_column_int64(stmt, 2);
}

static void fill_stack(struct reading *r, sqlite3_stmt *stmt, void *element)
{
    struct rps_stack *stack = element;

    stack->parent = sqlite3_column_type(stmt, 1) == SQLITE_NULL
                        ? -1
                        : rps_database_index(stmt, 1, stack->stack);
    stack->frame = rps_database_index(stmt, 2, (int64_t)r->list[FRAMES].count);
}

/* A time of the run; `unknown` for NULL, and where it makes no sense. */
static int64_t time_of(sqlite3_stmt *stmt, int column, int64_t unknown)
{
    int64_t time_ns = sqlite3_column_int64(stmt, column);

    return sqlite3_column_type(stmt, column) != SQLITE_NULL && time_ns >= 0 &&
                   time_ns < RPS_PERIOD_TIME_MAX_NS
               ? time_ns
               : unknown;
}

static void fill_task(struct reading *r, sqlite3_stmt *stmt, void *element)
{
    struct rps_task *task = element;

    task->pid = rps_database_index(stmt, 1, INT32_MAX);
    task->tid = rps_database_index(stmt, 2, INT32_MAX);
    task->name = keep_text(r, stmt, 3);
    task->start_ns = time_of(stmt, 4, 0);
    task->end_ns = time_of(stmt, 5, -1);
}

static void fill_location(struct reading *r, sqlite3_stmt *stmt, void *element)
{
    struct rps_location *location = element;
    const char *name = (const char *)sqlite3_column_text(stmt, 5);
    int how = name ? rps_location_how_find(name) : -1,
        line = rps_database_index(stmt, 4, INT32_MAX);

    location->frame = sqlite3_column_int64(stmt, 0);
    location->depth = sqlite3_column_int(stmt, 1);
    location->function = keep_text(r, stmt, 2);
    location->file = keep_text(r, stmt, 3);
    location->line = line < 0 ? 0 : line;
    location->how = how < 0 ? RPS_LOCATION_NONE : (enum rps_location_how)how;
}

/* A table, whose rows come in the order of their numbers, or of frame and depth. */
static const struct {
    const char *sql;
    void (*fill)(struct reading *r, sqlite3_stmt *stmt, void *element);
    size_t size;
    int64_t max; /* numbers are below: an array of them is not much memory */
    union {
        int64_t number; /* what all elements begin with */
        struct rps_module module;
        struct rps_frame frame;
        struct rps_stack stack;
        struct rps_task task;
    } unknown; /* of which there is no row */
} tables[LISTS] = {
    [MODULES] = {"SELECT module, kind, path, build_id FROM module WHERE run_id = ?1"
                 " ORDER BY module",
                 fill_module, sizeof(struct rps_module), 100000,
                 .unknown.module = {.kind = RPS_MODULE_MEMORY}},
    [FRAMES] = {"SELECT frame, module, address FROM frame WHERE run_id = ?1 ORDER BY frame",
                fill_frame, sizeof(struct rps_frame), 1000000, .unknown.frame = {.module = -1}},
    [STACKS] = {"SELECT stack, parent, frame FROM stack WHERE run_id = ?1 ORDER BY stack",
                fill_stack, sizeof(struct rps_stack), RPS_CODE_NUMBER_MAX,
                .unknown.stack = {.parent = -1, .frame = -1}},
    [TASKS] = {"SELECT task, pid, tid, name, start_ns, end_ns FROM task WHERE run_id = ?1"
               " ORDER BY task",
               fill_task, sizeof(struct rps_task), 1000000,
               .unknown.task = {.pid = -1, .tid = -1, .end_ns = -1}},
    [LOCATIONS] = {"SELECT frame, depth, function, file, line, how FROM location WHERE run_id = ?1"
                   " ORDER BY frame, depth",
                   fill_location, sizeof(struct rps_location), 4000000, .unknown.number = 0},
};

/* The place of the row in its array; -1 for one to leave out. */
static int64_t row_place(const struct reading *r, int table, sqlite3_stmt *stmt)
{
    const struct list *list = &r->list[table];
    const struct rps_location *last;
    int64_t frame, depth;

    if (table != LOCATIONS)
        return rps_database_index(stmt, 0, tables[table].max);
    last = list->count > 0 ? (struct rps_location *)list->array + (list->count - 1) : NULL;
    frame = rps_database_index(stmt, 0, (int64_t)r->list[FRAMES].count);
    depth = sqlite3_column_int64(stmt, 1);
    if (frame < 0 || list->count >= (size_t)tables[table].max || depth >= NAMES_MAX ||
        depth != (last && last->frame == frame ? last->depth + 1 : 0))
        return -1;
    return (int64_t)list->count;
}

static void add_row(struct reading *r, int table, sqlite3_stmt *stmt)
{
    struct list *list = &r->list[table];
    size_t size = tables[table].size;
    int64_t place = row_place(r, table, stmt);

    if (place < (int64_t)list->count) /* none, or out of order */
        return;
    for (int64_t number = (int64_t)list->count; number <= place; number++) {
        char *element = append(r, list, size, 1);

        if (!element)
            return;
        memset(element, 0, size);
        memcpy(element, &tables[table].unknown,
               size < sizeof(tables[table].unknown) ? size : sizeof(tables[table].unknown));
        memcpy(element, &number, sizeof(number));
    }
    tables[table].fill(r, stmt, (char *)list->array + (size_t)place * size);
}

/* --- all of it -------------------------------------------------------------------------------- */

/* 1, or 0 when no samples were taken. */
static int read_sampling(struct reading *r, int64_t run_id, struct rps_error *err)
{
    struct rps_sampling *s = &r->sampling;
    uint64_t *const number[] = {&s->frequency, &s->threshold, &s->samples, &s->complete,
                                &s->lost,      &s->throttled, &s->unmapped};
    sqlite3_stmt *stmt = NULL;
    int code;

    if (rps_reader_prepare(r->reader,
                           "SELECT event, stacks, frequency, threshold, samples, complete, lost,"
                           " throttled, unmapped FROM sampling WHERE run_id = ?1",
                           run_id, &stmt, err) < 0)
        return RPS_FAILED;
    code = rps_reader_step(r->reader, stmt);
    if (code == SQLITE_ROW) {
        rps_fields_copy_text(stmt, 0, s->event, sizeof(s->event));
        rps_fields_copy_text(stmt, 1, s->stacks, sizeof(s->stacks));
        for (int i = 0; i < (int)(sizeof(number) / sizeof(number[0])); i++) {
            int64_t value = sqlite3_column_int64(stmt, i + 2);

            *number[i] = value > 0 ? (uint64_t)value : 0;
        }
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_ROW    ? 1
           : code == SQLITE_DONE ? 0
                                 : rps_reader_error(r->reader, code, err);
}

static int read_table(struct reading *r, int table, int64_t run_id, struct rps_error *err)
{
    sqlite3_stmt *stmt = NULL;
    int code, result = 0;

    if (rps_reader_prepare(r->reader, tables[table].sql, run_id, &stmt, err) < 0)
        return RPS_FAILED;
    while ((code = rps_reader_step(r->reader, stmt)) == SQLITE_ROW && !r->no_memory)
        add_row(r, table, stmt);
    if (r->no_memory)
        result = rps_error_memory(err);
    else if (code != SQLITE_DONE)
        result = rps_reader_error(r->reader, code, err);
    sqlite3_finalize(stmt);
    return result;
}

/* A stack below as many callers as a sample has is one without a caller. */
static int limit_depths(struct reading *r, struct rps_error *err)
{
    struct rps_stack *stack = r->list[STACKS].array;
    size_t count = r->list[STACKS].count;
    uint8_t *callers = calloc(count + 1, sizeof(*callers)); /* of each stack */

    if (!callers)
        return rps_error_memory(err);
    for (size_t s = 0; s < count; s++) {
        if (stack[s].parent >= 0 && callers[stack[s].parent] < RPS_SAMPLE_DEPTH_MAX - 1)
            callers[s] = callers[stack[s].parent] + 1;
        else
            stack[s].parent = -1;
    }
    free(callers);
    return 0;
}

int rps_reader_code(struct rps_reader *reader, int64_t run_id, struct rps_code *ret,
                    struct rps_error *err)
{
    struct reading r = {.reader = reader};
    const struct list *list = r.list;
    int code = rps_database_exec(reader->db, "SAVEPOINT code"); /* one state of the store */
    int found, result;

    if (code != SQLITE_OK)
        return rps_reader_error(reader, code, err);
    result = found = read_sampling(&r, run_id, err);
    for (int table = 0; table < LISTS && found > 0 && result >= 0; table++)
        result = read_table(&r, table, run_id, err);
    if (found > 0 && result >= 0)
        result = limit_depths(&r, err);
    rps_database_exec(reader->db, "RELEASE code");
    *ret = (struct rps_code){
        .sampling = r.sampling,
        .module = list[MODULES].array,
        .module_count = list[MODULES].count,
        .frame = list[FRAMES].array,
        .frame_count = list[FRAMES].count,
        .stack = list[STACKS].array,
        .stack_count = list[STACKS].count,
        .task = list[TASKS].array,
        .task_count = list[TASKS].count,
        .location = list[LOCATIONS].array,
        .location_count = list[LOCATIONS].count,
        .texts = r.texts.array,
    };
    if (found <= 0 || result < 0) {
        rps_code_free(ret);
        return result;
    }
    place_texts(ret);
    return 1;
}

/* --- counts ----------------------------------------------------------------------------------- */

/* cpu is in the key before period: a query for each CPU seeks. */
static const char sql_counts[] =
    "SELECT cpu, period, stacks, tasks FROM code_count"
    " WHERE run_id = ?1 AND level = ?2 AND cpu = ?3 AND period BETWEEN ?4 AND ?5";

static const char sql_next_cpu[] =
    "SELECT min(cpu) FROM code_count WHERE run_id = ?1 AND level = ?2 AND cpu > ?3";

/* The counts of a row. */
static int walk_row(const struct rps_code_count_query *query, sqlite3_stmt *stmt, int level,
                    struct rps_error *err)
{
    struct rps_code_counts_text text = {
        .at = (const char *)sqlite3_column_text(stmt, query->tasks ? 3 : 2)};
    struct rps_code_count count = {
        .level = level,
        .cpu = sqlite3_column_int(stmt, 0),
        .period = (uint64_t)sqlite3_column_int64(stmt, 1),
    };
    int result = 0;

    while (result == 0 && rps_code_counts_next(&text, &count.id)) {
        count.samples = text.samples;
        result = query->count(query->context, &count, err);
    }
    return result;
}

/* The counts of a level and CPU. */
static int walk_counts(struct rps_reader *reader, const struct rps_code_count_query *query,
                       sqlite3_stmt *stmt, int level, struct rps_error *err)
{
    int code, result = 0;

    while (result == 0 && (code = rps_reader_step(reader, stmt)) == SQLITE_ROW)
        result = walk_row(query, stmt, level, err);
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

/* As the store has it. */
static int64_t period_number(uint64_t number)
{
    return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

int rps_reader_code_counts(struct rps_reader *reader, int64_t run_id,
                           const struct rps_code_count_query *query, struct rps_error *err)
{
    sqlite3_stmt *counts = NULL, *cpus = NULL;
    int result = rps_reader_prepare(reader, sql_counts, run_id, &counts, err);

    if (result == 0)
        result = rps_reader_prepare(reader, sql_next_cpu, run_id, &cpus, err);
    for (int level = RPS_LEVELS; level >= 0 && result == 0; level--) {
        int64_t cpu = INT64_MIN;

        while (result == 0 && (result = next_cpu(reader, cpus, level, cpu, &cpu, err)) > 0) {
            result = 0;
            if (query->cpu != RPS_CPU_ALL && cpu != query->cpu)
                continue;
            sqlite3_bind_int(counts, 2, level);
            sqlite3_bind_int64(counts, 3, cpu);
            sqlite3_bind_int64(counts, 4, period_number(query->first));
            sqlite3_bind_int64(counts, 5, period_number(query->last));
            result = walk_counts(reader, query, counts, level, err);
        }
    }
    sqlite3_finalize(counts);
    sqlite3_finalize(cpus);
    return result;
}

int rps_reader_periods(struct rps_reader *reader, int64_t run_id, int64_t from_ns, int64_t to_ns,
                       uint64_t *ret_first, uint64_t *ret_last, struct rps_error *err)
{
    struct rps_cursor *cursor = NULL;
    struct rps_period row;
    int got, found = 0;

    /* blocks as coarse as lie in the part: some hundred rows of any run */
    if (rps_cursor_open(&cursor, reader, run_id, from_ns, to_ns, RPS_LEVELS, err) < 0)
        return RPS_FAILED;
    while ((got = rps_cursor_next(cursor, &row, err)) > 0) {
        uint64_t last = rps_period_last(&row);

        if (!found || row.period < *ret_first)
            *ret_first = row.period;
        if (!found || last > *ret_last)
            *ret_last = last;
        found = 1;
    }
    rps_cursor_close(cursor);
    return got < 0 ? got : found;
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
        result = rps_database_prepare_insert(
            db, "location", "run_id, frame, depth, function, file, line, how", &stmt);
    for (size_t i = 0; i < code->location_count && result == SQLITE_OK; i++) {
        const struct rps_location *at = &code->location[i];

        result =
            rps_database_bind(stmt, "iiittit", run_id, at->frame, (int64_t)at->depth, at->function,
                              at->file, (int64_t)at->line, rps_location_how_name(at->how));
        if (result == SQLITE_OK)
            result = rps_database_run(stmt);
    }
    sqlite3_finalize(stmt);
    if (result == SQLITE_OK)
        result = rps_database_do(db, "UPDATE sampling SET complete = ? WHERE run_id = ?", "ii",
                                 (int64_t)code->sampling.complete, run_id);
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
