/*
 * Maps members of structs to columns of rows by a table (columns.c). Select, insert, update and
 * read all follow from it, so that none can omit a column or differ from the others. An unknown
 * number is NULL, and a UINT64 is stored as a signed number with the same bits. Text is made valid
 * UTF-8 when written. When read, it is cut at a whole character if it does not fit.
 */
#ifndef RPISTAT_STORE_FIELDS_H
#define RPISTAT_STORE_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>
#include "rpistat/store_wing.h"

enum rps_field_kind {
    RPS_FIELD_TEXT,    /* char[size] */
    RPS_FIELD_POINTER, /* char *, owned, or NULL */
    RPS_FIELD_INT,
    RPS_FIELD_UINT32,
    RPS_FIELD_INT64,
    RPS_FIELD_UINT64,
    RPS_FIELD_REAL, /* double; NaN is NULL */
    RPS_FIELD_WORD, /* an enum, stored as one of `words` */
};

/* When a column is written. A column that users may change, such as a label, is written once. */
enum rps_field_time {
    RPS_FIELD_BEGIN = 1, /* with its row */
    RPS_FIELD_END = 2,   /* when the run has ended */
    RPS_FIELD_ALWAYS = RPS_FIELD_BEGIN | RPS_FIELD_END,
    RPS_FIELD_APART = 4, /* by a statement of its own */
};

/* `unknown` of a number that is always known. */
#define RPS_FIELD_NEVER INT64_MIN

struct rps_field {
    const char *name; /* of the column; NULL ends a table */
    enum rps_field_kind kind;
    enum rps_field_time time;
    size_t offset, size;
    int64_t unknown;          /* the number for "not known"; for any unknown word */
    const char *const *words; /* of the enum; NULL ends them */
};

/* Build a query: `before`, "SELECT a", then all columns of the table, and `after`. Free it with
 * sqlite3_free(). NULL: no memory. */
char *rps_fields_select(const char *before, const struct rps_field *field, const char *after);

/*
 * Prepare the statement that inserts or updates rows with the columns of that time. Its first
 * parameters are for the columns `keys`, "a, b": rps_database_bind. rps_fields_run binds the
 * others. Returns an SQLite code.
 */
int rps_fields_prepare_insert(sqlite3 *db, const char *table, const char *keys,
                              const struct rps_field *field, sqlite3_stmt **ret);
int rps_fields_prepare_update(sqlite3 *db, const char *table, const char *keys,
                              const struct rps_field *field, sqlite3_stmt **ret);

/* Bind the members of base that are written at that time to the last parameters, and run the
 * statement. Returns an SQLite code. */
int rps_fields_run(sqlite3_stmt *stmt, const struct rps_field *field, enum rps_field_time time,
                   const void *base);

/* Read the columns first, first + 1, ... into all members of base. SQLITE_OK or SQLITE_NOMEM; a
 * number outside its member's range is read as the nearest one that fits. */
int rps_fields_read(sqlite3_stmt *stmt, int first, const struct rps_field *field, void *base);

/*
 * The columns of run, event_set, event and metric that are members of structs. A new one is a row
 * here, and its column in schema/.
 */

/* Fields of struct rps_run (except run_id, tags and command), of struct rps_plan (in its run's
 * row), and of struct rps_event_set, rps_event and rps_metric. */
extern const struct rps_field rps_run_fields[], rps_plan_fields[], rps_set_fields[],
    rps_event_fields[], rps_metric_fields[];

/* set_no of the clock event's row in table event */
#define RPS_CLOCK_SET (-1)

#endif
