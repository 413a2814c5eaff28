/* Writes the code to a store. Each item is a record of numbers and texts, which the writer's thread
 * inserts. Each kind of record has its own SQL statement. Counts and stacks are collected first. A
 * row of code_count has all counts of its period, and a row of stack has all new stacks. */
#include <stdlib.h>

#include <sqlite3.h>

#include "hooks.h"
#include "record_counts.h"
#include "record_paths.h"
#include "rpistat/code_store.h"

enum {
    SAMPLING,
    MODULE,
    FRAME,
    STACK,
    TASK,
    LOCATION,
    PROCESS_TIME,
    PROGRAM,
    CGROUP,
    COUNTS /* COUNTS and the following numbers are for the kinds in enum rps_code_counted. */
};

/* --- handing over ----------------------------------------------------------------------------- */

void rps_writer_sampling(struct rps_writer *writer, const struct rps_sampling *sampling)
{
    const char *const text[] = {sampling->event, sampling->stacks, sampling->no_wait};
    const int64_t number[] = {
        (int64_t)sampling->frequency,
        (int64_t)sampling->threshold,
        (int64_t)sampling->samples,
        (int64_t)sampling->complete,
        (int64_t)(sampling->lost + rps_writer_lost_rows(writer)),
        (int64_t)sampling->throttled,
        (int64_t)sampling->unmapped,
        sampling->is_wide,
        sampling->is_fixed,
        (int64_t)sampling->lookups,
        sampling->has_waits ? (int64_t)sampling->blocked_us : -1,
        (int64_t)sampling->blocked_of,
        (int64_t)sampling->blocked_off_us,
        (int64_t)sampling->switches_lost,
    };

    rps_writer_row(writer, SAMPLING, number, RPS_COUNT(number), text, RPS_COUNT(text));
}

void rps_writer_module(struct rps_writer *writer, const struct rps_module *module)
{
    const int64_t number[] = {module->module};
    const char *const text[] = {rps_module_kind_name(module->kind), module->path, module->build_id};

    rps_writer_row(writer, MODULE, number, RPS_COUNT(number), text, RPS_COUNT(text));
}

void rps_writer_frame(struct rps_writer *writer, const struct rps_frame *frame)
{
    const int64_t number[] = {frame->frame, frame->module, (int64_t)frame->address,
                              (int64_t)frame->function};

    rps_writer_row(writer, FRAME, number, RPS_COUNT(number), NULL, 0);
}

void rps_writer_stack(struct rps_writer *writer, const struct rps_stack *stack)
{
    const int64_t number[] = {stack->stack, stack->parent, stack->frame};

    rps_writer_row(writer, STACK, number, RPS_COUNT(number), NULL, 0);
}

void rps_writer_task(struct rps_writer *writer, const struct rps_task *task)
{
    const int64_t number[] = {task->task,     task->pid,    task->tid,
                              task->start_ns, task->end_ns, task->cgroup};
    const char *const text[] = {task->name, task->file ? task->file : ""};

    rps_writer_row(writer, TASK, number, RPS_COUNT(number), text, RPS_COUNT(text));
}

void rps_writer_cgroup(struct rps_writer *writer, const struct rps_cgroup *cgroup)
{
    rps_writer_row(writer, CGROUP, &cgroup->cgroup, 1, &cgroup->path, 1);
}

void rps_writer_location(struct rps_writer *writer, const struct rps_location *location,
                         int64_t alike)
{
    const int64_t number[] = {location->frame, location->depth, location->line, alike};
    const char *const text[] = {alike < 0 ? location->function : "",
                                alike < 0 ? location->file : "",
                                rps_location_how_name(location->how)};

    rps_writer_row(writer, LOCATION, number, RPS_COUNT(number), text, RPS_COUNT(text));
}

void rps_writer_process_time(struct rps_writer *writer, int64_t task, int64_t cpu_ns)
{
    const int64_t number[] = {task, cpu_ns};

    rps_writer_row(writer, PROCESS_TIME, number, RPS_COUNT(number), NULL, 0);
}

void rps_writer_program(struct rps_writer *writer, const struct rps_program *program)
{
    const int64_t number[] = {
        program->program,
        program->cpu_ns,
        (int64_t)program->samples,
        program->unsampled_ns,
        (int64_t)program->unsampled_processes,
        (int64_t)program->unsampled_threads,
        program->wait_ns,
    };
    const char *const text[] = {program->name};

    rps_writer_row(writer, PROGRAM, number, RPS_COUNT(number), text, RPS_COUNT(text));
}

void rps_writer_code_count(struct rps_writer *writer, enum rps_code_counted what,
                           const struct rps_code_count *count)
{
    const int64_t number[] = {count->level, count->cpu, (int64_t)count->period, count->id,
                              (int64_t)count->samples};

    rps_writer_row(writer, COUNTS + (int)what, number, RPS_COUNT(number), NULL, 0);
}

/* --- gathering -------------------------------------------------------------------------------- */

struct gathered {
    int64_t run_id;
    struct rps_code_counts counts; /* Counts of the current transaction. */
    struct rps_code_paths paths;   /* Stacks of the current transaction. */
    sqlite3_stmt *insert, *insert_path, *downsample, *cut;
};

/* SQL: condition for the counts of a level, including late counts. Counts of a period arrive later
 * than the period, when the period may already be downsampled. Late counts keep the period's number
 * until the next level is downsampled. */
#define COUNTS_OF_BLOCK                                                                            \
    "WHERE run_id = ?1 AND level IN (?2, 0) AND cpu = ?3 AND period BETWEEN ?4 AND ?5"

static void close_gathered(void *self)
{
    struct gathered *g = self;

    if (!g)
        return;
    sqlite3_finalize(g->insert);
    sqlite3_finalize(g->insert_path);
    sqlite3_finalize(g->downsample);
    sqlite3_finalize(g->cut);
    free(g->counts.entry);
    free(g->paths.stack);
    free(g);
}

static int open_gathered(sqlite3 *db, int64_t run_id, void **ret_self)
{
    struct gathered *g = calloc(1, sizeof(*g));
    int code = g ? rps_code_counts_prepare(db, &g->insert) : SQLITE_NOMEM;

    if (code == SQLITE_OK)
        code = rps_code_paths_prepare(db, &g->insert_path);
    if (code == SQLITE_OK)
        code = rps_database_prepare(
            db, "SELECT stacks, tasks, blocked FROM code_count " COUNTS_OF_BLOCK, &g->downsample);
    if (code == SQLITE_OK)
        code = rps_database_prepare(db, "DELETE FROM code_count " COUNTS_OF_BLOCK, &g->cut);
    if (code != SQLITE_OK) {
        close_gathered(g);
        return code;
    }
    g->run_id = run_id;
    *ret_self = g;
    return SQLITE_OK;
}

static void forget(void *self)
{
    struct gathered *g = self;

    g->counts.count = 0;
    g->paths.count = 0;
}

/* Keep a count for the row of its period, or a stack for the row of its transaction. */
static int gather(void *self, int kind, const int64_t *number)
{
    struct gathered *g = self;
    const struct rps_stack stack = {number[0], number[1], number[2]};
    struct rps_code_count count;

    if (kind == STACK)
        return rps_code_paths_add(&g->paths, &stack);
    count = (struct rps_code_count){
        .level = (int)number[0],
        .cpu = (int32_t)number[1],
        .period = (uint64_t)number[2],
        .id = number[3],
        .samples = (uint64_t)number[4],
    };

    return rps_code_counts_add(&g->counts, &count, (enum rps_code_counted)(kind - COUNTS));
}

static int write_gathered(void *self)
{
    struct gathered *g = self;
    int code = rps_code_paths_insert(&g->paths, g->insert_path, g->run_id);

    return code == SQLITE_OK ? rps_code_counts_insert(&g->counts, g->insert, g->run_id) : code;
}

/* Move a block's counts from a level to the next level. `first` and `last` are the periods of the
 * block, and `first` is also its number. */
static int downsample(void *self, int level, int64_t cpu, int64_t first, int64_t last)
{
    struct gathered *g = self;
    const struct rps_code_count of = {
        .level = level + 1, .cpu = (int32_t)cpu, .period = (uint64_t)first};
    sqlite3_stmt *const stmts[] = {g->downsample, g->cut};
    int code = SQLITE_OK, at = SQLITE_DONE;

    for (int i = 0; i < 2 && code == SQLITE_OK; i++)
        code = rps_database_bind(stmts[i], "iiiii", g->run_id, (int64_t)level, cpu, first, last);
    forget(g);
    while (code == SQLITE_OK && (at = sqlite3_step(g->downsample)) == SQLITE_ROW) {
        for (int column = 0; column < RPS_COUNT_KINDS && code == SQLITE_OK; column++)
            code =
                rps_code_counts_add_text(&g->counts, &of, (enum rps_code_counted)column,
                                         (const char *)sqlite3_column_text(g->downsample, column));
    }
    if (code == SQLITE_OK && at != SQLITE_DONE)
        code = at;
    sqlite3_reset(g->downsample);
    if (code == SQLITE_OK && g->counts.count > 0)
        code = rps_database_run(g->cut);
    return code == SQLITE_OK ? write_gathered(g) : code;
}

/* --- for the store ---------------------------------------------------------------------------- */

static int add_functions(sqlite3 *db)
{
    int code = rps_code_counts_add_function(db);

    return code == SQLITE_OK ? rps_code_paths_add_function(db) : code;
}

const struct rps_store_hooks rps_code_store = {
    .add_functions = add_functions,
    .insert =
        {
            [SAMPLING] =
                "INSERT OR REPLACE INTO sampling (run_id, frequency, threshold, samples,"
                " complete, lost, throttled, unmapped, is_wide, is_fixed, lookups,"
                " blocked_us, blocked_of, blocked_off_us, switches_lost, event, stacks, no_wait)"
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, nullif(?12, -1),"
                " ?13, ?14, ?15, ?16, ?17, nullif(?18, ''))",
            [MODULE] = "INSERT OR IGNORE INTO module (run_id, module, kind, path, build_id)"
                       " VALUES (?1, ?2, ?3, ?4, ?5)",
            [FRAME] = "INSERT OR IGNORE INTO frame (run_id, frame, module, address, function)"
                      " VALUES (?1, ?2, ?3, ?4, nullif(?5, 0))",
            [TASK] =
                "INSERT OR REPLACE INTO task (run_id, task, pid, tid, start_ns, end_ns, cgroup,"
                " name, file) VALUES (?1, ?2, ?3, ?4, ?5, nullif(?6, -1), nullif(?7, -1), ?8,"
                " coalesce(nullif(?9, ''),"
                " (SELECT file FROM task WHERE run_id = ?1 AND task = ?2)))",
            [CGROUP] = "INSERT OR IGNORE INTO cgroup (run_id, cgroup, path) VALUES (?1, ?2, ?3)",
            [LOCATION] =
                "INSERT OR REPLACE INTO location (run_id, frame, depth, line, alike,"
                " function, file, how) VALUES (?1, ?2, ?3, ?4, nullif(?5, -1), ?6, ?7, ?8)",
            [PROCESS_TIME] = "UPDATE task SET process_ns = ?3 WHERE run_id = ?1 AND task = ?2",
            [PROGRAM] = "INSERT OR REPLACE INTO program (run_id, program, cpu_ns, samples,"
                        " unsampled_ns, unsampled_processes, unsampled_threads, wait_ns, name)"
                        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, nullif(?8, -1), ?9)",
        },
    .open = open_gathered,
    .forget = forget,
    .gather = gather,
    .write = write_gathered,
    .close = close_gathered,
    .downsample = downsample,
    .question = rps_code_questions,
    .question_count = RPS_CODE_QUESTIONS,
    .repair = rps_code_repair,
};
