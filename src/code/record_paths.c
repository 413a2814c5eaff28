#include "record_paths.h"

#include "record_counts.h"
#include "rpistat/arena.h"
#include "rpistat/store_hooks.h"

/* Character before a stack whose caller is not the previous stack. The character is not a digit. */
#define ELSEWHERE '{'

/* A row of this size is full. Four rows, some slightly longer, fit into a database page. */
#define ROW_BYTES 960

int rps_code_paths_add(struct rps_code_paths *paths, const struct rps_stack *stack)
{
    if (!rps_array_add(&paths->stack, paths->count, sizeof(*paths->stack)))
        return SQLITE_NOMEM;
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

/* Append a stack, encoded relative to the previous stack. */
static void append_stack(sqlite3_str *text, const struct rps_stack *stack)
{
    int64_t step = stack->frame - stack[-1].frame;

    if (stack->parent != stack->stack - 1) {
        sqlite3_str_appendchar(text, 1, ELSEWHERE);
        rps_digits_append(text, (uint64_t)(stack->parent < 0 ? 0 : stack->stack - stack->parent));
    }
    rps_digits_append(text, (uint64_t)(step < 0 ? -2 * step - 1 : 2 * step));
}

/* Write a row of the first stack and as many following stacks as fit. *ret_count: number of stacks
 * in the row. Return an SQLite code. */
static int insert_row(sqlite3_stmt *stmt, int64_t run_id, const struct rps_stack *first,
                      size_t count, size_t *ret_count)
{
    sqlite3_str *text = sqlite3_str_new(sqlite3_db_handle(stmt));
    int code = SQLITE_NOMEM;
    size_t i = 1;

    for (; i < count && first[i].stack == first[i - 1].stack + 1 &&
           sqlite3_str_length(text) < ROW_BYTES;
         i++)
        append_stack(text, &first[i]);
    *ret_count = i;
    if (sqlite3_str_errcode(text) == SQLITE_OK)
        code = rps_database_bind(stmt, i > 1 ? "iiiit" : "iiiin", run_id, first->stack,
                                 first->parent, first->frame, sqlite3_str_value(text));
    sqlite3_free(sqlite3_str_finish(text));
    return code == SQLITE_OK ? rps_database_run(stmt) : code;
}

int rps_code_paths_insert(struct rps_code_paths *paths, sqlite3_stmt *stmt, int64_t run_id)
{
    int code = SQLITE_OK;

    for (size_t first = 0, count; first < paths->count && code == SQLITE_OK; first += count)
        code = insert_row(stmt, run_id, &paths->stack[first], paths->count - first, &count);
    paths->count = 0;
    return code;
}

/* SAFETY: a row is untrusted input. */
static bool is_number(int64_t number)
{
    return number >= 0 && number < RPS_CODE_NUMBER_MAX;
}

/* Parse the next stack of the row; return false if the text is malformed. */
static bool take_stack(struct rps_code_calls *calls)
{
    uint64_t away = 1, step;

    if (!is_number(calls->stack.stack) || !is_number(calls->stack.frame))
        return false;
    if (*calls->at == ELSEWHERE) {
        calls->at++;
        if (!rps_digits_take(&calls->at, &away) || away > (uint64_t)calls->stack.stack + 1)
            return false;
    }
    if (!rps_digits_take(&calls->at, &step))
        return false;
    calls->stack.stack++;
    calls->stack.parent = away == 0 ? -1 : calls->stack.stack - (int64_t)away;
    calls->stack.frame += step % 2 ? -(int64_t)(step / 2) - 1 : (int64_t)(step / 2);
    return is_number(calls->stack.frame);
}

bool rps_code_calls_next(struct rps_code_calls *calls)
{
    if (calls->is_malformed || !calls->at || *calls->at == '\0')
        return false;
    calls->is_malformed = !take_stack(calls);
    return !calls->is_malformed;
}

static void count_calls(sqlite3_context *context, int count, sqlite3_value **value)
{
    struct rps_code_calls calls = {
        .stack = {.stack = sqlite3_value_int64(value[0]), .frame = sqlite3_value_int64(value[1])},
        .at = (const char *)sqlite3_value_text(value[2])};
    int64_t stacks = 0;

    (void)count;
    while (rps_code_calls_next(&calls))
        stacks++;
    if (!calls.is_malformed)
        sqlite3_result_int64(context, stacks);
}

int rps_code_paths_add_function(sqlite3 *db)
{
    return sqlite3_create_function(db, "code_calls", 3,
                                   SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL,
                                   count_calls, NULL, NULL);
}
