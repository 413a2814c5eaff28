/*
 * Counts of stacks and tasks, as stored in code_count. A row has all counts of a period, or of a
 * block. With one row per count, the wide keys would take more space than the periods.
 */
#ifndef RPISTAT_CODE_COUNTS_H
#define RPISTAT_CODE_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "rpistat/code.h"

/* Stacks, tasks and all other code have numbers below this. */
#define RPS_CODE_NUMBER_MAX 2000000

struct rps_code_counts_entry;

/* Counts to be written. Zero it to begin with none. */
struct rps_code_counts {
    struct rps_code_counts_entry *entry; /* owned: free() */
    size_t count;
};

/* Add a count. Returns SQLITE_OK or SQLITE_NOMEM. */
int rps_code_counts_add(struct rps_code_counts *counts, const struct rps_code_count *count,
                        enum rps_code_counted what);

/* Add the counts in a row's text, with the level and period of `of`. Unreadable text is left
 * out. */
int rps_code_counts_add_text(struct rps_code_counts *counts, const struct rps_code_count *of,
                             enum rps_code_counted what, const char *text);

/* Prepare the statement that inserts rows. Returns an SQLite code. */
int rps_code_counts_prepare(sqlite3 *db, sqlite3_stmt **ret);

/* Write all counts with that statement, in addition to those in the store, and empty the list.
 * Returns an SQLite code. */
int rps_code_counts_insert(struct rps_code_counts *counts, sqlite3_stmt *stmt, int64_t run_id);

/*
 * Iterator over a row's text: a list of stacks or tasks, in order of their numbers. Each begins
 * with the difference to the number before (at first -1), times two. If it was seen more than once,
 * one is added, and how often less two follows. Numbers have digits as in digits.h. New stacks have
 * consecutive numbers and most counts are 1, so a count takes little more than two characters.
 *
 * Formats up to 1.3 had {"1":[12,15],"3":[7]}, in which stack 7 was seen three times.
 */
struct rps_code_counts_text {
    const char *at; /* to begin, set it to the text (NULL is malformed) and zero the rest */
    uint64_t samples;
    uint64_t number; /* the last one, plus one */
    bool is_object;  /* the older form */
    bool is_inside, is_malformed;
};

/* Read the next number, which was seen text->samples times. Returns false at the end, and if the
 * text is malformed. */
bool rps_code_counts_next(struct rps_code_counts_text *text, int64_t *ret);

/*
 * Add an SQL function to the connection: code_samples(text, below), the number of samples in a
 * row's text. It is NULL if the text is malformed or has a number that is not below the limit.
 * SQLite's JSON functions take some ten times as long. Returns an SQLite code.
 */
int rps_code_counts_add_function(sqlite3 *db);

#endif
