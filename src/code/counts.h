/*
 * Counts of stacks and tasks, as rows of code_count hold them. A row has all that was counted in a
 * period, or in a block: a row a count, with its wide key, would take more than the periods do.
 */
#ifndef RPISTAT_CODE_COUNTS_H
#define RPISTAT_CODE_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "rpistat/code.h"

/* Numbers of stacks and tasks are below this, as those of all that is known of the code. */
#define RPS_CODE_NUMBER_MAX 2000000

struct rps_code_counts_entry;

/* Counts that wait to be written; zero it to begin with none. */
struct rps_code_counts {
    struct rps_code_counts_entry *entry; /* owned: free() */
    size_t count;
};

/* SQLITE_OK or SQLITE_NOMEM. */
int rps_code_counts_add(struct rps_code_counts *counts, const struct rps_code_count *count,
                        enum rps_code_counted what);

/* Add those of a row's text, as of that level and period. What cannot be read of it is left out. */
int rps_code_counts_add_text(struct rps_code_counts *counts, const struct rps_code_count *of,
                             enum rps_code_counted what, const char *text);

/* The statement that inserts rows; an SQLite code. */
int rps_code_counts_prepare(sqlite3 *db, sqlite3_stmt **ret);

/* Write all of them with that statement, beside what the store has of the same periods, and be
 * empty again. An SQLite code. */
int rps_code_counts_insert(struct rps_code_counts *counts, sqlite3_stmt *stmt, int64_t run_id);

/*
 * A walk over a row's text. It is a list of numbers, each of the stack or task, in their order: how
 * much higher it is than the one before (the first: than -1), times two; one more where it was seen
 * more than once, and then how often, less two. Written in digits (digits.h). New stacks have
 * numbers that follow one another, and most counts are 1: a count takes little more than two
 * characters.
 *
 * Formats up to 1.3 had {"1":[12,15],"3":[7]}, in which stack 7 was seen three times.
 */
struct rps_code_counts_text {
    const char *at; /* set it to the text (NULL is malformed) and zero the rest to begin */
    uint64_t samples;
    uint64_t number; /* the last one, plus one */
    bool is_object;  /* the older form */
    bool is_inside, is_malformed;
};

/* The next number, which was seen text->samples times; false at the end, and where the text is not
 * as it is written. */
bool rps_code_counts_next(struct rps_code_counts_text *text, int64_t *ret);

/*
 * Give the connection a function of SQL: code_samples(text, below), how many samples a row's text
 * comes to; NULL where it is not as it is written, or has a number that is not below. The JSON
 * functions of SQLite take some ten times as long. An SQLite code.
 */
int rps_code_counts_add_function(sqlite3 *db);

#endif
