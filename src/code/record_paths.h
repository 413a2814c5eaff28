/* Stacks, as stored in rows of the table stack. A row has as many of a transaction's new stacks as
 * fit. Most stacks are called by the previous stack, and need only one or two characters. With one
 * row per stack, keys would fill most of the store when the whole machine is recorded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "rpistat/code.h"

/* Stacks to be written, in order of their numbers. A zeroed struct has no stacks. */
struct rps_code_paths {
    struct rps_stack *stack; /* Owned; release with free(). */
    size_t count;
};

/* Add a stack. Returns SQLITE_OK or SQLITE_NOMEM. */
int rps_code_paths_add(struct rps_code_paths *paths, const struct rps_stack *stack);

/* Prepare the statement that inserts rows. Returns an SQLite code. */
int rps_code_paths_prepare(sqlite3 *db, sqlite3_stmt **ret);

/* Write all stacks with the statement, and empty the list. Returns an SQLite code. */
int rps_code_paths_insert(struct rps_code_paths *paths, sqlite3_stmt *stmt, int64_t run_id);

/* Iterator over a row's column `calls`, which has all stacks of the row after the first stack, in
 * order of their numbers. If a stack's caller is not the previous stack, the stack's entry begins
 * with '{' and the distance to the caller's number (0: none). Next in the entry is the difference d
 * between the numbers of the stack's frame and the previous stack's frame. It is encoded as 2 * d
 * if d >= 0, and as -2 * d - 1 if d < 0. For the digits, see record_counts.h. NULL is a row of one
 * stack, as in all rows up to format 1.3. */
struct rps_code_calls {
    const char *at;         /* The text, before the first call of rps_code_calls_next. */
    struct rps_stack stack; /* Set this to the row's first stack; each call sets the next stack. */
    bool is_malformed;
};

/* Read the next stack. Returns false at the end, and if the text is malformed. */
bool rps_code_calls_next(struct rps_code_calls *calls);

/* Add an SQL function to the connection: code_calls(stack, frame, calls) is the number of stacks in
 * a row after the first stack, or NULL if the row is malformed. Returns an SQLite code. */
int rps_code_paths_add_function(sqlite3 *db);
