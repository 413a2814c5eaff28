/*
 * Tables of a store that a wing fills, such as those of the code. Their columns and keys are the
 * format's (schema/, store/tables.c), so that a program without the wing copies, merges, saves and
 * deletes their rows like all others; what they mean the wing alone knows, and tells the store here.
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

/* A question that a sound run answers with 0. Parameters of its SQL: run_id, the highest period
 * number, the end of the last period. */
struct rps_store_question {
    enum rps_finding_kind kind;
    const char *sql, *what; /* "run 1: " and what */
    int counted;            /* 1: and ": 3" */
    int whole;              /* 1: only of runs whose periods could all be read */
};

#define RPS_STORE_WING_KINDS_MAX 12

/* All functions return an SQLite code, and are there. */
struct rps_store_wing {
    /* SQL functions that its questions and its repair need; for each connection. */
    int (*add_functions)(struct sqlite3 *db);

    /* By kind of record: the statement that inserts one: ?1 is run_id, then come its numbers and its
     * texts. NULL: records of this kind are gathered. */
    const char *insert[RPS_STORE_WING_KINDS_MAX];

    /*
     * What is gathered while a run is recorded; called by the thread that owns the database. Records
     * of a transaction are gathered one by one, and written at its end, within it. One that is
     * taken back comes again, and begins with `forget`.
     */
    int (*open)(struct sqlite3 *db, int64_t run_id, void **ret_self);
    void (*forget)(void *self);
    int (*gather)(void *self, int kind, const int64_t *number);
    int (*write)(void *self);
    void (*close)(void *self); /* NULL is harmless */

    /* In a transaction: rows of the periods first ... last of a CPU are deleted from a level, and one
     * block of the next stands for them (rpistat/period.h). What refers to them refers to it now. */
    int (*thin)(void *self, int level, int64_t cpu, int64_t first, int64_t last);

    /* For `check`. */
    const struct rps_store_question *question;
    size_t question_count;

    /* In a transaction: drop what cannot be right of the run, whose periods are right already,
     * last_period the highest, and keep the rest. *ret_dropped grows by the rows that were left
     * out. */
    int (*repair)(struct sqlite3 *db, int64_t run_id, uint64_t last_period, uint64_t *ret_dropped);
};

struct rps_wing;

/* From now on stores are read and written with these tables, and whoever reads one finds the wing
 * (rpistat/wing.h) with rps_store_used_wing; borrowed, NULL: none. Once, before the first store is
 * opened: a program has the wing or not, whichever store it opens. */
void rps_store_use(const struct rps_store_wing *tables, const struct rps_wing *wing);

/* --- what a wing may use of the store --------------------------------------------------------- */

/* Hand over a record of a kind: numbers, then texts (copied). Never waits; what has no room is
 * lost, and counted. */
void rps_writer_row(struct rps_writer *writer, int kind, const int64_t *number, size_t numbers,
                    const char *const *text, size_t texts);
uint64_t rps_writer_lost_rows(struct rps_writer *writer);

/* Change the store behind rps_writer_end, in one transaction: what `change` does, which returns an
 * SQLite code. RPS_FAILED with a sentence. */
int rps_writer_change(struct rps_writer *writer, int (*change)(void *context, struct sqlite3 *db),
                      void *context, struct rps_error *err);

/*
 * Change run `run_id` of the store at path, beside recorders and readers, in one transaction: what
 * `change` does, which returns an SQLite code. Errors: those of rps_writer_open; a run that is not
 * there.
 */
int rps_store_change(const char *path, int64_t run_id,
                     int (*change)(void *context, struct sqlite3 *db), void *context,
                     struct rps_error *err);

/* Prepare constant SQL that is used more than once; an SQLite code. */
int rps_database_prepare(struct sqlite3 *db, const char *sql, struct sqlite3_stmt **ret);

/* The same for an INSERT of rows with the columns "a, b, c", a parameter each. */
int rps_database_prepare_insert(struct sqlite3 *db, const char *table, const char *columns,
                                struct sqlite3_stmt **ret);

/* Step a statement that gives no rows, and reset it; an SQLite code. */
int rps_database_run(struct sqlite3_stmt *stmt);

/*
 * Bind values to all parameters of a statement in their order, as `types` says: i int64_t, r double
 * (NaN is NULL), t text (NULL is '', bytes that are not UTF-8 are U+FFFD), n NULL. Any but int64_t
 * is to be cast. An SQLite code.
 */
int rps_database_bind(struct sqlite3_stmt *stmt, const char *types, ...);

/* Run constant SQL once, one statement or several with `;` between, each with as many of the parameters
 * above as it has; an SQLite code. */
int rps_database_do(struct sqlite3 *db, const char *sql, const char *types, ...);

/*
 * The number in a column of the row; -1 when it is none from 0 to below `count`. What indexes an
 * array is looked at so: on damaged pages the conditions of a query do not hold.
 */
int rps_database_index(struct sqlite3_stmt *stmt, int column, int64_t count);

/* Copy a column's text into ret, cut at a whole character; NULL is ''. */
void rps_fields_copy_text(struct sqlite3_stmt *stmt, int column, char *ret, size_t size);

/* Prepare sql and bind run_id to its first parameter; RPS_FAILED with a sentence. */
int rps_reader_prepare(struct rps_reader *reader, const char *sql, int64_t run_id,
                       struct sqlite3_stmt **ret, struct rps_error *err);

/* What is done with a row; 0, or a negative code, which ends the loop. */
typedef int rps_reader_row(void *context, struct sqlite3_stmt *stmt, struct rps_error *err);

/* Step through the rows of a statement that is reset or finalized afterwards. The first negative
 * code of `row`, or RPS_FAILED with a sentence. */
int rps_reader_step_all(struct rps_reader *reader, struct sqlite3_stmt *stmt, rps_reader_row *row,
                        void *context, struct rps_error *err);

/* The same for sql, whose ?1 is run_id and whose ?2, where it has one, is number. */
int rps_reader_each(struct rps_reader *reader, const char *sql, int64_t run_id, int64_t number,
                    rps_reader_row *row, void *context, struct rps_error *err);

#endif
