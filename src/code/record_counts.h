/* Counts of stacks and tasks, as stored in code_count. A row has all counts of a period, or of a
 * block. With one row per count, the long keys would take more space than the periods' own rows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "rpistat/code.h"

/* The numbers of stacks, tasks, frames and all other recorded items are below this limit. */
#define RPS_CODE_NUMBER_MAX 2000000

struct rps_code_counts_entry;

/* Counts to be written. A zeroed struct has no counts. */
struct rps_code_counts {
    struct rps_code_counts_entry *entry; /* Owned; release with free(). */
    size_t count;
};

/* Add a count. Returns SQLITE_OK or SQLITE_NOMEM. */
int rps_code_counts_add(struct rps_code_counts *counts, const struct rps_code_count *count,
                        enum rps_code_counted what);

/* Add the counts in a row's text, with level and period of `of`. Unreadable text is left out. */
int rps_code_counts_add_text(struct rps_code_counts *counts, const struct rps_code_count *of,
                             enum rps_code_counted what, const char *text);

/* Prepare the statement that inserts rows. Returns an SQLite code. */
int rps_code_counts_prepare(sqlite3 *db, sqlite3_stmt **ret);

/* Use the statement to write all counts, in addition to the counts in the store, and empty the
 * list. Returns an SQLite code. */
int rps_code_counts_insert(struct rps_code_counts *counts, sqlite3_stmt *stmt, int64_t run_id);

/* Iterator over a row's text: a list of stacks or tasks, in order of their numbers. Each entry
 * begins with a value: twice the difference to the previous entry's number (-1 before the first
 * entry). If the stack or task was seen n times, and n is above 1, this value is one higher, and
 * the number n - 2 follows. For the digits, see rps_digits_append. New stacks have consecutive
 * numbers and most counts are 1, so the average entry takes little more than two characters.
 *
 * Formats up to 1.3 had {"1":[12,15],"3":[7]}, in which stack 7 was seen three times. */
struct rps_code_counts_text {
    const char *at; /* To begin, set this to the text and zero all other members. NULL is
                       malformed. */
    uint64_t samples;
    uint64_t number; /* Last number that was read, plus one. */
    bool is_object;  /* 1 if the text has the format of versions up to 1.3. */
    bool is_inside, is_malformed;
};

/* Read the next number, which was seen text->samples times. Returns false at the end, and if the
 * text is malformed. */
bool rps_code_counts_next(struct rps_code_counts_text *text, int64_t *ret);

/* Add an SQL function to the connection: code_samples(text, below), the number of samples in a
 * row's text. The result is NULL if the text is malformed or has a number that is not below the
 * limit. SQLite's JSON functions would take some ten times as long. Returns an SQLite code. */
int rps_code_counts_add_function(sqlite3 *db);

/* Append a number with digits of base 45, so that numbers need no separator. The last digit of a
 * number is a character from 'N' to 'z'; all other digits are from '!' to 'M'. Numbers below 45
 * take one character, numbers below 2,025 two. */

void rps_digits_append(sqlite3_str *text, uint64_t number);

/* Read the next number of the text, at most nine digits. Returns false if there is no number. */
bool rps_digits_take(const char **text, uint64_t *ret);
