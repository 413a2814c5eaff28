#include "paths.h"

#include "counts.h"
#include "digits.h"
#include "rpistat/array.h"
#include "rpistat/store_wing.h"

int rps_code_paths_add(struct rps_code_paths *paths, const struct rps_stack *stack)
{
    struct rps_stack *grown = rps_array_grow(paths->stack, paths->count, sizeof(*grown));

    if (!grown)
        return SQLITE_NOMEM;
    paths->stack = grown;
    paths->stack[paths->count++] = *stack;
    return SQLITE_OK;
}

int rps_code_paths_prepare(sqlite3 *db, sqlite3_stmt **ret)
{
    return rps_database_prepare(db,
                                "INSERT OR IGNORE INTO stack (run_id, stack, parent, frame, calls)"
                                " VALUES (?1, ?2, nullif(?3, -1), ?4, ?5)",
                                ret);
}

static int insert_path(sqlite3_stmt *stmt, int64_t run_id, const struct rps_stack *first,
                       size_t count)
{
    sqlite3_str *text = sqlite3_str_new(sqlite3_db_handle(stmt));
    int code = SQLITE_NOMEM;

    for (size_t i = 1; i < count; i++) {
        int64_t step = first[i].frame - first[i - 1].frame;

        rps_digits_append(text, (uint64_t)(step < 0 ? -2 * step - 1 : 2 * step));
    }
    if (sqlite3_str_errcode(text) == SQLITE_OK)
        code = rps_database_bind(stmt, count > 1 ? "iiiit" : "iiiin", run_id, first->stack,
                                 first->parent, first->frame, sqlite3_str_value(text));
    sqlite3_free(sqlite3_str_finish(text));
    return code == SQLITE_OK ? rps_database_run(stmt) : code;
}

int rps_code_paths_insert(struct rps_code_paths *paths, sqlite3_stmt *stmt, int64_t run_id)
{
    int code = SQLITE_OK;

    for (size_t first = 0, next; first < paths->count && code == SQLITE_OK; first = next) {
        const struct rps_stack *stack = paths->stack;

        for (next = first + 1; next < paths->count &&
                               stack[next].stack == stack[next - 1].stack + 1 &&
                               stack[next].parent == stack[next - 1].stack;)
            next++;
        code = insert_path(stmt, run_id, &stack[first], next - first);
    }
    paths->count = 0;
    return code;
}

/* A row is input from elsewhere. */
static bool is_frame(int64_t number)
{
    return number >= 0 && number < RPS_CODE_NUMBER_MAX;
}

bool rps_code_calls_next(struct rps_code_calls *calls)
{
    uint64_t step;

    if (calls->is_malformed || !calls->at || *calls->at == '\0')
        return false;
    calls->is_malformed = !is_frame(calls->frame) || !rps_digits_take(&calls->at, &step);
    if (calls->is_malformed)
        return false;
    calls->frame += step % 2 ? -(int64_t)(step / 2) - 1 : (int64_t)(step / 2);
    calls->is_malformed = !is_frame(calls->frame);
    return !calls->is_malformed;
}

static void count_calls(sqlite3_context *context, int count, sqlite3_value **value)
{
    struct rps_code_calls calls = {.frame = sqlite3_value_int64(value[0]),
                                   .at = (const char *)sqlite3_value_text(value[1])};
    int64_t frames = 0;

    (void)count;
    while (rps_code_calls_next(&calls))
        frames++;
    if (!calls.is_malformed)
        sqlite3_result_int64(context, frames);
}

int rps_code_paths_add_function(sqlite3 *db)
{
    return sqlite3_create_function(db, "code_calls", 2,
                                   SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL,
                                   count_calls, NULL, NULL);
}
