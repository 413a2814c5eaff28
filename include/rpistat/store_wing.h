/*
 * Tables of a store that an optional module (a "wing") fills: for example, those of code. The
 * format defines their columns and keys (schema/, store/tables.c), so that a program without the
 * module copies, merges, repairs and deletes their rows like all others. Only the module knows
 * their meaning, and describes it to the store here.
 */
#ifndef RPISTAT_STORE_WING_H
#define RPISTAT_STORE_WING_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/check.h"
#include "rpistat/error.h"

struct rps_reader;
struct rps_writer;
struct sqlite3;
struct sqlite3_stmt;

/* A query that returns 0 for a sound run. Parameters of its SQL: run_id, the highest period number,
 * the end of the last period. */
struct rps_store_question {
    enum rps_finding_kind kind;
    const char *sql, *what; /* "run 1: " and what */
    int counted;            /* 1: and ": 3" */
    int whole;              /* 1: only for runs with all periods readable */
};

#define RPS_STORE_WING_KINDS_MAX 12

/* All functions return an SQLite code, and must be set. */
struct rps_store_wing {
    /* Add the SQL functions that its queries and its repair need; called for each connection. */
    int (*add_functions)(struct sqlite3 *db);

    /* By kind of record: the statement that inserts one: ?1 is run_id, then its numbers and its
     * texts. NULL: records of this kind are collected. */
    const char *insert[RPS_STORE_WING_KINDS_MAX];

    /*
     * Collecting records of a run; called by the thread that owns the database. Records of a
     * transaction are collected one by one, and written at its end, within it. After a rollback,
     * `forget` is called and the same records follow again.
     */
    int (*open)(struct sqlite3 *db, int64_t run_id, void **ret_self);
    void (*forget)(void *self);
    int (*gather)(void *self, int kind, const int64_t *number);
    int (*write)(void *self);
    void (*close)(void *self); /* NULL is harmless */

    /* In a transaction: rows of the periods first ... last of a CPU are deleted from a level, and
     * one block of the next level replaces them (rpistat/period.h). Rows that refer to them must
     * refer to that block from now on. */
    int (*thin)(void *self, int level, int64_t cpu, int64_t first, int64_t last);

    /* For `check`. */
    const struct rps_store_question *question;
    size_t question_count;

    /* In a transaction: drop the run's invalid rows and keep the rest. Its periods are already
     * correct; last_period is the highest. *ret_dropped grows by the number of dropped rows. */
    int (*repair)(struct sqlite3 *db, int64_t run_id, uint64_t last_period, uint64_t *ret_dropped);
};

struct rps_wing;

/* Read and write stores with these tables from now on. rps_store_used_wing returns `wing` to
 * readers. Borrowed; NULL: none. Call once, before the first store is opened: a program has the
 * module for all stores or for none. */
void rps_store_use(const struct rps_store_wing *tables, const struct rps_wing *wing);

/* --- functions of the store for extensions ---------------------------------------------------- */

/* Pass a record of a kind: numbers, then texts (copied). Never waits; if the ring is full, the
 * record is lost, and counted. */
void rps_writer_row(struct rps_writer *writer, int kind, const int64_t *number, size_t numbers,
                    const char *const *text, size_t texts);
uint64_t rps_writer_lost_rows(struct rps_writer *writer);

/* Change the store after rps_writer_end, in one transaction, by `change`, which returns an SQLite
 * code. RPS_FAILED with a message. */
int rps_writer_change(struct rps_writer *writer, int (*change)(void *context, struct sqlite3 *db),
                      void *context, struct rps_error *err);

/*
 * Change run `run_id` of the store at path in one transaction, by `change`, which returns an SQLite
 * code. Recorders and readers may use the store. Errors: those of rps_writer_open; no such run.
 */
int rps_store_change(const char *path, int64_t run_id,
                     int (*change)(void *context, struct sqlite3 *db), void *context,
                     struct rps_error *err);

/* Prepare constant SQL that is used repeatedly. Returns an SQLite code. */
int rps_database_prepare(struct sqlite3 *db, const char *sql, struct sqlite3_stmt **ret);

/* The same for an INSERT of rows with the columns "a, b, c", with one parameter per column. */
int rps_database_prepare_insert(struct sqlite3 *db, const char *table, const char *columns,
                                struct sqlite3_stmt **ret);

/* Step a statement that returns no rows, and reset it. Returns an SQLite code. */
int rps_database_run(struct sqlite3_stmt *stmt);

/*
 * Bind values to all parameters of a statement in order, with one letter of `types` each: i
 * int64_t, r double (NaN is NULL), t text (NULL is '', bytes that are not UTF-8 are U+FFFD), n
 * NULL. Cast every integer to int64_t. Returns an SQLite code.
 */
int rps_database_bind(struct sqlite3_stmt *stmt, const char *types, ...);

/* Run constant SQL once: one statement, or several separated by `;`, each with its share of the
 * parameters above. Returns an SQLite code. */
int rps_database_do(struct sqlite3 *db, const char *sql, const char *types, ...);

/*
 * Return the number in a column of the row; -1 if it is not in 0 to count - 1. SAFETY: read every
 * array index this way: on damaged pages the conditions of a query do not hold.
 */
int rps_database_index(struct sqlite3_stmt *stmt, int column, int64_t count);

/* Copy a column's text into ret, cut at a whole character; NULL is ''. */
void rps_fields_copy_text(struct sqlite3_stmt *stmt, int column, char *ret, size_t size);

/* Prepare sql and bind run_id to its first parameter; RPS_FAILED with a message. */
int rps_reader_prepare(struct rps_reader *reader, const char *sql, int64_t run_id,
                       struct sqlite3_stmt **ret, struct rps_error *err);

/* Process a row; 0, or a negative code, which ends the loop. */
typedef int rps_reader_row(void *context, struct sqlite3_stmt *stmt, struct rps_error *err);

/* Step through the rows of a statement, which the caller then resets or finalizes. Returns the
 * first negative code of `row`, or RPS_FAILED with a message. */
int rps_reader_step_all(struct rps_reader *reader, struct sqlite3_stmt *stmt, rps_reader_row *row,
                        void *context, struct rps_error *err);

/* The same for sql. Its ?1 is run_id, its ?2 (if it has one) is number. */
int rps_reader_each(struct rps_reader *reader, const char *sql, int64_t run_id, int64_t number,
                    rps_reader_row *row, void *context, struct rps_error *err);

#endif
