/*
 * Stacks, as stored in rows of the table stack. A row has the new stacks of a transaction, as many
 * as fit. Most stacks are called by the one before, and need a character or two. With one row per
 * stack, keys would take most of the store of a whole machine.
 */
#ifndef RPISTAT_CODE_PATHS_H
#define RPISTAT_CODE_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "rpistat/code.h"

/* Stacks to be written, in order of their numbers. Zero it to begin with none. */
struct rps_code_paths {
    struct rps_stack *stack; /* owned: free() */
    size_t count;
};

/* Add a stack. Returns SQLITE_OK or SQLITE_NOMEM. */
int rps_code_paths_add(struct rps_code_paths *paths, const struct rps_stack *stack);

/* Prepare the statement that inserts rows. Returns an SQLite code. */
int rps_code_paths_prepare(sqlite3 *db, sqlite3_stmt **ret);

/* Write all stacks with that statement, and empty the list. Returns an SQLite code. */
int rps_code_paths_insert(struct rps_code_paths *paths, sqlite3_stmt *stmt, int64_t run_id);

/*
 * Iterator over a row's column calls, which has the stacks numbered after the first. A stack that
 * is not called by the one before begins with '{' and the distance to its caller's number (0:
 * none). Then comes the difference of its frame's number to the one before: times two if higher,
 * times two less one if lower. Numbers have digits as in digits.h. NULL: a row of one stack, as all
 * rows up to format 1.3.
 */
struct rps_code_calls {
    const char *at;         /* set it to the text */
    struct rps_stack stack; /* to begin, set it to the row's; then it is the next one */
    bool is_malformed;
};

/* Read the next stack. Returns false at the end, and if the text is malformed. */
bool rps_code_calls_next(struct rps_code_calls *calls);

/* Add an SQL function to the connection: code_calls(stack, frame, calls), the number of stacks in a
 * row after the first; NULL if malformed. Returns an SQLite code. */
int rps_code_paths_add_function(sqlite3 *db);

#endif
