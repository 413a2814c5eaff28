/* Reads all modules, frames, stacks and tasks of a run in one step, because their number grows with
 * the program and not with time. Counts are passed on one by one. The rows are rewritten when
 * frames are named.
 *
 * SAFETY: a store is untrusted input. A number is used as an index only if its rows are in order
 * and the number is not too large. A row without its parent, frame or module is kept as unknown, so
 * that the counts still add up to the total. The text for a stack grows with the stack's depth and
 * names. Both are limited to the maximum that a recorder writes. */
#include <string.h>

#include <sqlite3.h>

#include "record_counts.h"
#include "record_paths.h"
#include "rpistat/code_store.h"
#include "rpistat/period.h"
#include "rpistat/run.h"

#define TEXTS_MAX (UINT64_C(64) << 20) /* Maximum bytes of all texts. */

#define NAMES_MAX 64 /* Maximum names per frame; higher than the maximum of inlined functions. */

enum { MODULES, FRAMES, STACKS, CGROUPS, TASKS, LOCATIONS, PROGRAMS, LISTS };

struct list {
    void *array;
    size_t count;
};

struct reading {
    struct rps_arena *arena;
    struct rps_sampling sampling;
    int is_sampled, is_of_machine;
    int table; /* Table that is being read. */
    struct list list[LISTS];
    size_t text_bytes; /* Bytes of all texts so far. */
};

/* --- rows ------------------------------------------------------------------------------------- */

/* Append one element. The caller fills the element. */
static void *append(struct reading *r, struct list *list, size_t size)
{
    list->array = rps_arena_grow(r->arena, list->array, list->count, size);
    return (char *)list->array + list->count++ * size;
}

static const char *keep_text(struct reading *r, sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    size_t bytes = text ? strlen(text) + 1 : 1;

    if (bytes == 1 || bytes > TEXTS_MAX - r->text_bytes)
        return "";
    r->text_bytes += bytes;
    return rps_arena_text(r->arena, text);
}

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
    frame->function = (uint64_t)sqlite3_column_int64(stmt, 3);
}

/* Fill the row's first stack, and append the row's other stacks. */
static void fill_stack(struct reading *r, sqlite3_stmt *stmt, void *element)
{
    const int64_t frames = (int64_t)r->list[FRAMES].count;
    struct rps_code_calls calls = {.at = (const char *)sqlite3_column_text(stmt, 3)};
    struct rps_stack *stack = element;

    stack->parent = sqlite3_column_type(stmt, 1) == SQLITE_NULL
                        ? -1
                        : rps_database_index(stmt, 1, stack->stack);
    stack->frame = rps_database_index(stmt, 2, frames);
    calls.stack = (struct rps_stack){stack->stack, stack->parent, sqlite3_column_int64(stmt, 2)};
    while (calls.stack.stack < RPS_CODE_NUMBER_MAX - 1 && rps_code_calls_next(&calls)) {
        stack = append(r, &r->list[STACKS], sizeof(*stack));
        *stack = calls.stack;
        stack->frame = stack->frame < frames ? stack->frame : -1;
    }
}

/* Return a time of the run; `unknown` if NULL or invalid. */
static int64_t time_of(sqlite3_stmt *stmt, int column, int64_t unknown)
{
    int64_t time_ns = sqlite3_column_int64(stmt, column);

    return sqlite3_column_type(stmt, column) != SQLITE_NULL && time_ns >= 0 &&
                   time_ns < RPS_PERIOD_TIME_MAX_NS
               ? time_ns
               : unknown;
}

static uint64_t count_of(sqlite3_stmt *stmt, int column)
{
    int64_t count = sqlite3_column_int64(stmt, column);

    return count > 0 ? (uint64_t)count : 0;
}

static void fill_task(struct reading *r, sqlite3_stmt *stmt, void *element)
{
    struct rps_task *task = element;

    task->pid = rps_database_index(stmt, 1, INT32_MAX);
    task->tid = rps_database_index(stmt, 2, INT32_MAX);
    task->name = keep_text(r, stmt, 3);
    task->start_ns = time_of(stmt, 4, 0);
    task->end_ns = time_of(stmt, 5, -1);
    task->process_ns = time_of(stmt, 6, -1);
    task->cgroup = sqlite3_column_type(stmt, 7) == SQLITE_NULL
                       ? -1
                       : rps_database_index(stmt, 7, (int64_t)r->list[CGROUPS].count);
    task->file = keep_text(r, stmt, 8);
}

static void fill_cgroup(struct reading *r, sqlite3_stmt *stmt, void *element)
{
    struct rps_cgroup *cgroup = element;

    cgroup->path = keep_text(r, stmt, 1);
}

static void fill_program(struct reading *r, sqlite3_stmt *stmt, void *element)
{
    struct rps_program *program = element;

    program->name = keep_text(r, stmt, 1);
    program->cpu_ns = time_of(stmt, 2, 0);
    program->samples = count_of(stmt, 3);
    program->unsampled_ns = time_of(stmt, 4, 0);
    program->unsampled_processes = count_of(stmt, 5);
    program->unsampled_threads = count_of(stmt, 6);
    program->wait_ns = time_of(stmt, 7, -1);
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

/* The tables. Rows are read in the order of their numbers, or in the order of frame and depth. */
static const struct {
    const char *sql;
    void (*fill)(struct reading *r, sqlite3_stmt *stmt, void *element);
    size_t size;
    int64_t max; /* All numbers are below this limit, which also limits the array's size. */
    union {
        int64_t number; /* `number` is the first member of all elements. */
        struct rps_module module;
        struct rps_frame frame;
        struct rps_stack stack;
        struct rps_task task;
        struct rps_program program;
        struct rps_cgroup cgroup;
    } unknown; /* Element for a number without a row. */
} tables[LISTS] = {
    [MODULES] = {"SELECT module, kind, path, build_id FROM module WHERE run_id = ?1"
                 " ORDER BY module",
                 fill_module, sizeof(struct rps_module), 100000,
                 .unknown.module = {.kind = RPS_MODULE_MEMORY, .path = ""}},
    [FRAMES] =
        {"SELECT frame, module, address, function FROM frame WHERE run_id = ?1 ORDER BY frame",
         fill_frame, sizeof(struct rps_frame), 1000000, .unknown.frame = {.module = -1}},
    [STACKS] = {"SELECT stack, parent, frame, calls FROM stack WHERE run_id = ?1 ORDER BY stack",
                fill_stack, sizeof(struct rps_stack), RPS_CODE_NUMBER_MAX,
                .unknown.stack = {.parent = -1, .frame = -1}},
    [TASKS] = {"SELECT task, pid, tid, name, start_ns, end_ns, process_ns, cgroup, file FROM task"
               " WHERE run_id = ?1 ORDER BY task",
               fill_task, sizeof(struct rps_task), 1000000,
               .unknown.task = {.pid = -1,
                                .tid = -1,
                                .name = "",
                                .file = "",
                                .end_ns = -1,
                                .process_ns = -1,
                                .cgroup = -1}},
    [LOCATIONS] = {"SELECT l.frame, l.depth, coalesce(o.function, l.function),"
                   " coalesce(o.file, l.file), l.line, l.how FROM location AS l LEFT JOIN location"
                   " AS o ON o.run_id = l.run_id AND o.frame = l.alike AND o.depth = 0"
                   " WHERE l.run_id = ?1 ORDER BY l.frame, l.depth",
                   fill_location, sizeof(struct rps_location), 4000000, .unknown.number = 0},
    [PROGRAMS] = {"SELECT program, name, cpu_ns, samples, unsampled_ns, unsampled_processes,"
                  " unsampled_threads, wait_ns FROM program WHERE run_id = ?1 ORDER BY program",
                  fill_program, sizeof(struct rps_program), 100000,
                  .unknown.program = {.name = "", .wait_ns = -1}},
    [CGROUPS] = {"SELECT cgroup, path FROM cgroup WHERE run_id = ?1 ORDER BY cgroup", fill_cgroup,
                 sizeof(struct rps_cgroup), 100000, .unknown.cgroup = {.path = ""}},
};

/* Return the index of the row in the table's array, or -1 if the row must be left out. */
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

static int add_row(void *context, sqlite3_stmt *stmt, struct rps_error *err)
{
    struct reading *r = context;
    struct list *list = &r->list[r->table];
    size_t size = tables[r->table].size, unknown = sizeof(tables[r->table].unknown);
    int64_t place = row_place(r, r->table, stmt);

    (void)err;
    if (place < (int64_t)list->count) /* The number is invalid or out of order. */
        return 0;
    for (int64_t number = (int64_t)list->count; number <= place; number++) {
        char *element = append(r, list, size);

        memcpy(element, &tables[r->table].unknown, size < unknown ? size : unknown);
        memcpy(element, &number, sizeof(number));
    }
    tables[r->table].fill(r, stmt, (char *)list->array + (size_t)place * size);
    return 0;
}

/* --- all of it -------------------------------------------------------------------------------- */

static int read_sampling(void *context, sqlite3_stmt *stmt, struct rps_error *err)
{
    struct reading *r = context;
    struct rps_sampling *s = &r->sampling;
    uint64_t *const number[] = {&s->frequency, &s->threshold, &s->samples, &s->complete,
                                &s->lost,      &s->throttled, &s->unmapped};
    const char *fitting = (const char *)sqlite3_column_text(stmt, 18);

    (void)err;
    r->is_sampled = 1;
    rps_fields_copy_text(stmt, 0, s->event, sizeof(s->event));
    rps_fields_copy_text(stmt, 1, s->stacks, sizeof(s->stacks));
    for (int i = 0; i < (int)RPS_COUNT(number); i++)
        *number[i] = count_of(stmt, i + 2);
    s->is_wide = sqlite3_column_int64(stmt, 9) == 1;
    s->is_fixed = sqlite3_column_int64(stmt, 10) == 1;
    s->lookups = count_of(stmt, 11);
    s->user_ns = time_of(stmt, 12, -1);
    s->kernel_ns = time_of(stmt, 13, -1);
    s->has_waits = sqlite3_column_type(stmt, 14) != SQLITE_NULL;
    s->blocked_us = count_of(stmt, 14);
    s->blocked_of = count_of(stmt, 15);
    s->blocked_off_us = count_of(stmt, 16);
    s->switches_lost = count_of(stmt, 17);
    rps_fields_copy_text(stmt, 19, s->no_wait, sizeof(s->no_wait));
    s->is_incomplete = strstr(fitting ? fitting : "", RPS_RUN_SOME_COUNTS) != NULL;
    return 0;
}

static int read_target(void *context, sqlite3_stmt *stmt, struct rps_error *err)
{
    struct reading *r = context;
    const char *target = (const char *)sqlite3_column_text(stmt, 0);

    (void)err;
    r->is_of_machine = target && rps_run_is_of_machine(target);
    return 0;
}

/* Limit the depth of stacks to RPS_SAMPLE_DEPTH_MAX, which also limits the depth of samples. A
 * stack that would be deeper is treated as a stack without a caller. */
static void limit_depths(struct reading *r)
{
    struct rps_stack *stack = r->list[STACKS].array;
    size_t count = r->list[STACKS].count;
    /* Number of callers of each stack. */
    uint8_t *callers = rps_arena_get(r->arena, count, sizeof(*callers));

    for (size_t s = 0; s < count; s++) {
        if (stack[s].parent >= 0 && callers[stack[s].parent] < RPS_SAMPLE_DEPTH_MAX - 1)
            callers[s] = callers[stack[s].parent] + 1;
        else
            stack[s].parent = -1;
    }
}

static int read_all(struct reading *r, struct rps_reader *reader, int64_t run_id,
                    struct rps_error *err)
{
    int result = rps_reader_each(reader,
                                 "SELECT event, stacks, frequency, threshold, samples, complete,"
                                 " lost, throttled, unmapped, is_wide, is_fixed, lookups,"
                                 " iif(target = 'command', user_ns, NULL),"
                                 " iif(target = 'command', system_ns, NULL), blocked_us,"
                                 " blocked_of, blocked_off_us, switches_lost, fitting, no_wait"
                                 " FROM sampling JOIN run USING (run_id) WHERE run_id = ?1",
                                 run_id, 0, read_sampling, r, err);

    if (result == 0)
        result = rps_reader_each(reader, "SELECT target FROM run WHERE run_id = ?1", run_id, 0,
                                 read_target, r, err);
    for (r->table = 0; r->table < LISTS && r->is_sampled && result == 0; r->table++)
        result = rps_reader_each(reader, tables[r->table].sql, run_id, 0, add_row, r, err);
    limit_depths(r);
    return result;
}

int rps_reader_code(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                    struct rps_code *ret, struct rps_error *err)
{
    struct reading r = {.arena = arena};
    const struct list *list = r.list;
    int result = rps_reader_each(reader, "SAVEPOINT code", 0, 0, NULL, NULL, err);

    *ret = (struct rps_code){0};
    if (result < 0)
        return result;
    result = read_all(&r, reader, run_id, err); /* All reads see one state of the store. */
    rps_reader_each(reader, "RELEASE code", 0, 0, NULL, NULL, NULL);
    if (!r.is_sampled || result < 0)
        return result;
    *ret = (struct rps_code){
        .sampling = r.sampling,
        .is_of_machine = r.is_of_machine,
        .module = list[MODULES].array,
        .module_count = list[MODULES].count,
        .frame = list[FRAMES].array,
        .frame_count = list[FRAMES].count,
        .stack = list[STACKS].array,
        .stack_count = list[STACKS].count,
        .task = list[TASKS].array,
        .task_count = list[TASKS].count,
        .program = list[PROGRAMS].array,
        .program_count = list[PROGRAMS].count,
        .cgroup = list[CGROUPS].array,
        .cgroup_count = list[CGROUPS].count,
        .location = list[LOCATIONS].array,
        .location_count = list[LOCATIONS].count,
    };
    return 1;
}

/* --- counts ----------------------------------------------------------------------------------- */

/* Counts of a level; ?3 is a CPU, or RPS_CPU_ALL for all CPUs. The query finds the CPUs by seeking
 * from one CPU to the next, because cpu comes before period in the primary key. */
static const char sql_counts[] =
    "WITH RECURSIVE c (cpu) AS ("
    " SELECT min(cpu) FROM code_count WHERE run_id = ?1 AND level = ?2 UNION ALL"
    " SELECT (SELECT min(cpu) FROM code_count WHERE run_id = ?1 AND level = ?2 AND cpu > c.cpu)"
    " FROM c WHERE c.cpu IS NOT NULL)"
    " SELECT k.cpu, period, CASE ?6 WHEN 0 THEN stacks WHEN 1 THEN tasks ELSE coalesce(blocked, '')"
    " END FROM c CROSS JOIN code_count AS k"
    " ON run_id = ?1 AND level = ?2 AND k.cpu = c.cpu AND period BETWEEN ?4 AND ?5"
    " WHERE ?3 IN (c.cpu, -1)";

struct counting {
    const struct rps_code_count_query *query;
    int level;
};

static int walk_row(void *context, sqlite3_stmt *stmt, struct rps_error *err)
{
    const struct counting *counting = context;
    const struct rps_code_count_query *query = counting->query;
    struct rps_code_counts_text text = {.at = (const char *)sqlite3_column_text(stmt, 2)};
    struct rps_code_count count = {
        .level = counting->level,
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

static int64_t period_number(uint64_t number)
{
    return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

int rps_reader_code_counts(struct rps_reader *reader, int64_t run_id,
                           const struct rps_code_count_query *query, struct rps_error *err)
{
    struct counting counting = {query, RPS_LEVELS};
    sqlite3_stmt *stmt = NULL;
    int result = rps_reader_prepare(reader, sql_counts, run_id, &stmt, err);

    for (; counting.level >= 0 && result == 0; counting.level--) {
        rps_database_bind(stmt, "iiiiii", run_id, (int64_t)counting.level, (int64_t)query->cpu,
                          period_number(query->first), period_number(query->last),
                          (int64_t)query->what);
        result = rps_reader_step_all(reader, stmt, walk_row, &counting, err);
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    return result;
}

/* --- names ------------------------------------------------------------------------------------ */

struct symbolizer {
    int64_t run_id;
    const struct rps_code *code;
    const int64_t *alike; /* For each location, a frame with equal names; NULL: none. */
    uint64_t lost;        /* Lost rows, including rows lost after the last write of `sampling`. */
};

static int write_locations(void *context, sqlite3 *db)
{
    const struct symbolizer *symbolizer = context;
    const struct rps_code *code = symbolizer->code;
    sqlite3_stmt *stmt = NULL, *drop = NULL;
    int result =
        rps_database_prepare(db, "DELETE FROM location WHERE run_id = ?1 AND frame = ?2", &drop);

    if (result == SQLITE_OK)
        result = rps_database_prepare_insert(
            db, "location", "run_id, frame, depth, function, file, line, how, alike", &stmt);
    for (size_t i = 0; i < code->location_count && result == SQLITE_OK; i++) {
        const struct rps_location *at = &code->location[i];
        int64_t alike = symbolizer->alike ? symbolizer->alike[i] : -1;

        if (at->depth == 0)
            result = rps_database_bind(drop, "ii", symbolizer->run_id, at->frame);
        if (result == SQLITE_OK && at->depth == 0)
            result = rps_database_run(drop);
        if (result == SQLITE_OK)
            result = rps_database_bind(stmt, alike < 0 ? "iiittitn" : "iiittiti",
                                       symbolizer->run_id, at->frame, (int64_t)at->depth,
                                       alike < 0 ? at->function : "", alike < 0 ? at->file : "",
                                       (int64_t)at->line, rps_location_how_name(at->how), alike);
        if (result == SQLITE_OK)
            result = rps_database_run(stmt);
    }
    sqlite3_finalize(stmt);
    sqlite3_finalize(drop);
    if (result == SQLITE_OK)
        result = rps_database_do(
            db, "UPDATE sampling SET complete = ?1, lost = max(lost, ?2) WHERE run_id = ?3", "iii",
            (int64_t)code->sampling.complete, (int64_t)symbolizer->lost, symbolizer->run_id);
    return result;
}

int rps_writer_set_locations(struct rps_writer *writer, int64_t run_id, const struct rps_code *code,
                             const int64_t *alike, struct rps_error *err)
{
    struct symbolizer symbolizer = {run_id, code, alike, rps_writer_lost_rows(writer)};

    return rps_writer_change(writer, write_locations, &symbolizer, err);
}

int rps_store_set_locations(const char *path, int64_t run_id, const struct rps_code *code,
                            struct rps_error *err)
{
    struct symbolizer symbolizer = {run_id, code, NULL, 0};

    return rps_store_change(path, run_id, write_locations, &symbolizer, err);
}
