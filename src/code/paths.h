/*
 * Stacks, as rows of the table stack hold them: one has all that are new in a transaction, as long as
 * it has room. Most stacks are called by the one before, and need a character or two. A row a stack,
 * with its key, would take most of the store of a machine.
 */
#ifndef RPISTAT_CODE_PATHS_H
#define RPISTAT_CODE_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "rpistat/code.h"

/* Stacks that wait to be written, in the order of their numbers; zero it to begin with none. */
struct rps_code_paths {
    struct rps_stack *stack; /* owned: free() */
    size_t count;
};

/* SQLITE_OK or SQLITE_NOMEM. */
int rps_code_paths_add(struct rps_code_paths *paths, const struct rps_stack *stack);

/* The statement that inserts rows; an SQLite code. */
int rps_code_paths_prepare(sqlite3 *db, sqlite3_stmt **ret);

/* Write all of them with that statement, and be empty again. An SQLite code. */
int rps_code_paths_insert(struct rps_code_paths *paths, sqlite3_stmt *stmt, int64_t run_id);

/*
 * A walk over a row's column calls, the stacks with the numbers behind the first's: of each, unless
 * it is called by the one before, '{' and how much lower its caller's number is (0: there is none);
 * then how much its frame's number is higher than the one before times two, or how much it is lower
 * times two, less one. In digits (digits.h). NULL, a row of one stack, has none, as all rows up to
 * format 1.3.
 */
struct rps_code_calls {
    const char *at;         /* set it to the text */
    struct rps_stack stack; /* and this to the row's to begin; then it is the next one */
    bool is_malformed;
};

/* The next stack; false at the end, and where the text is not as it is written. */
bool rps_code_calls_next(struct rps_code_calls *calls);

/* Give the connection a function of SQL: code_calls(stack, frame, calls), how many stacks a row has
 * behind the first; NULL where it is not as it is written. An SQLite code. */
int rps_code_paths_add_function(sqlite3 *db);

#endif
