/* Tables of a store that an optional module fills, for example the tables of code. The format of
 * the store defines the columns and keys of these tables (schema/, store/columns.c). Therefore,
 * even a program without the module can copy, merge, repair and delete their rows. Only the module
 * knows the meaning of the rows, and describes it to the store here. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/check.h"
#include "rpistat/error.h"

struct rps_writer;
struct sqlite3;
struct sqlite3_stmt;

/* A query whose result is 0 if a run is valid. Parameters of the SQL are run_id, the highest period
 * number, and the end of the last period. */
struct rps_store_question {
    enum rps_finding_kind kind;
    const char *sql, *what; /* query, and text that the finding has after "run 1: " */
    int counted;            /* 1 to append the result to the text, for example ": 3" */
    int whole;              /* 1 if the query needs a run whose periods are all readable */
};

#define RPS_STORE_HOOKS_KINDS_MAX 12

/* Functions of a module. Every function must be set, and returns an SQLite result code. */
struct rps_store_hooks {
    /* Add the SQL functions that the module's queries and repair need, to each connection. */
    int (*add_functions)(struct sqlite3 *db);

    /* Statement that inserts a record of each kind. ?1 is run_id, followed by the record's numbers
     * and texts. NULL: records of this kind are first collected, see below. */
    const char *insert[RPS_STORE_HOOKS_KINDS_MAX];

    /* Functions that collect records of a run, called by the thread that owns the database. In a
     * transaction, records are collected one by one, and are written at the end of the transaction.
     * After a rollback, `forget` is called and the records are collected again. */
    int (*open)(struct sqlite3 *db, int64_t run_id, void **ret_self);
    void (*forget)(void *self);
    int (*gather)(void *self, int kind, const int64_t *number);
    int (*write)(void *self);
    void (*close)(void *self); /* accepts NULL */

    /* Update references while rows are downsampled, in the same transaction. At `level`, the rows
     * of a CPU from period `first` to period `last` are deleted, and one block of the next coarser
     * level replaces these rows (rpistat/period.h). Rows that refer to the deleted rows must then
     * refer to the block. */
    int (*downsample)(void *self, int level, int64_t cpu, int64_t first, int64_t last);

    /* Queries for the command `check`. */
    const struct rps_store_question *question;
    size_t question_count;

    /* Within a transaction, delete the invalid rows of the run, and keep the other rows. The
     * periods of the run were already repaired; last_period is the highest number of a period. Add
     * the number of dropped rows to *ret_dropped. */
    int (*repair)(struct sqlite3 *db, int64_t run_id, uint64_t last_period, uint64_t *ret_dropped);
};

struct rps_code_hooks;

/* Use these tables for reading and writing all stores. rps_store_used_hooks returns `hooks` to
 * readers. `tables` and `hooks` are borrowed, and may be NULL. Call this function once, before the
 * first store is opened, because a program uses the module for all stores or for none. */
void rps_store_use(const struct rps_store_hooks *tables, const struct rps_code_hooks *hooks);

/* --- functions of the store for extensions ---------------------------------------------------- */

/* Pass a record of a kind: its numbers, then its texts (copied). The call never waits. If the ring
 * is full, the record is lost, and the number of lost records is counted. */
void rps_writer_row(struct rps_writer *writer, int kind, const int64_t *number, size_t numbers,
                    const char *const *text, size_t texts);
uint64_t rps_writer_lost_rows(struct rps_writer *writer);

/* Change the store in one transaction after rps_writer_end. `change` makes the change and returns
 * an SQLite code. Return RPS_FAILED with a message on error. */
int rps_writer_change(struct rps_writer *writer, int (*change)(void *context, struct sqlite3 *db),
                      void *context, struct rps_error *err);

/* Change run `run_id` of the store at path in one transaction, with the function `change`, which
 * returns an SQLite code. Recorders and readers may use the store. Errors come from rps_writer_open
 * or an unknown run. */
int rps_store_change(const char *path, int64_t run_id,
                     int (*change)(void *context, struct sqlite3 *db), void *context,
                     struct rps_error *err);

/* Prepare constant SQL that is used repeatedly. Return an SQLite code. */
int rps_database_prepare(struct sqlite3 *db, const char *sql, struct sqlite3_stmt **ret);

/* Prepare an INSERT of rows with the columns "a, b, c", one parameter per column. */
int rps_database_prepare_insert(struct sqlite3 *db, const char *table, const char *columns,
                                struct sqlite3_stmt **ret);

/* Step a statement that returns no rows, and reset it. Return an SQLite code. */
int rps_database_run(struct sqlite3_stmt *stmt);

/* Bind values to all parameters of a statement in order. `types` has one letter per value: i for
 * int64_t, r for double, t for text, n for NULL. NaN becomes NULL, and a NULL text becomes ''.
 * Bytes that are not UTF-8 become U+FFFD. Cast integers to int64_t. Return an SQLite code. */
int rps_database_bind(struct sqlite3_stmt *stmt, const char *types, ...);

/* Run constant SQL once: one statement, or several statements separated by `;`. Each statement uses
 * the next values as parameters; `types` is as for rps_database_bind. Return an SQLite code. */
int rps_database_do(struct sqlite3 *db, const char *sql, const char *types, ...);

/* Return the number in a column of the current row, or -1 if the number is not in 0 ... count - 1.
 * SAFETY: read every array index with this function, because damaged pages can give rows that
 * violate the query's conditions. */
int rps_database_index(struct sqlite3_stmt *stmt, int column, int64_t count);

/* Copy the text of a column into ret, cut at a whole character. NULL becomes ''. */
void rps_fields_copy_text(struct sqlite3_stmt *stmt, int column, char *ret, size_t size);

/* Prepare SQL and bind run_id to its first parameter. Return RPS_FAILED with a message on error. */
int rps_reader_prepare(struct rps_reader *reader, const char *sql, int64_t run_id,
                       struct sqlite3_stmt **ret, struct rps_error *err);

/* Process a row. Return 0, or a negative code, which ends the reading of rows. */
typedef int rps_reader_row(void *context, struct sqlite3_stmt *stmt, struct rps_error *err);

/* Pass all rows of a statement to `row`; the caller then resets or finalizes the statement. Return
 * the first negative code of `row`, or RPS_FAILED with a message. */
int rps_reader_step_all(struct rps_reader *reader, struct sqlite3_stmt *stmt, rps_reader_row *row,
                        void *context, struct rps_error *err);

/* Pass all rows of an SQL query to `row`. In it, ?1 is run_id and ?2 (if present) `number`. */
int rps_reader_each(struct rps_reader *reader, const char *sql, int64_t run_id, int64_t number,
                    rps_reader_row *row, void *context, struct rps_error *err);
