/* Map members of structs to columns of rows by a table (columns.c). The functions that select,
 * insert, update and read rows all use this table, so that none can omit a column or differ from
 * the others. An unknown number is NULL, and a UINT64 is stored as a signed number with the same
 * bits. Text is made valid UTF-8 when written. Text that is too long when read is cut at a whole
 * character. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

struct rps_arena;

enum rps_field_kind {
    RPS_FIELD_TEXT,    /* char[size] */
    RPS_FIELD_POINTER, /* char *, in the arena, or NULL */
    RPS_FIELD_INT,
    RPS_FIELD_UINT32,
    RPS_FIELD_INT64,
    RPS_FIELD_UINT64,
    RPS_FIELD_REAL, /* double; NaN is stored as NULL */
    RPS_FIELD_WORD, /* an enum, stored as one of `words` */
};

/* The time when a column is written. A column that users may change, such as a label, is written
 * only once, so that the writer does not undo the change. */
enum rps_field_time {
    RPS_FIELD_BEGIN = 1, /* written when its row begins */
    RPS_FIELD_END = 2,   /* written when the run has ended */
    RPS_FIELD_ALWAYS = RPS_FIELD_BEGIN | RPS_FIELD_END,
    RPS_FIELD_APART = 4, /* written by a separate statement */
};

/* Value of `unknown` for a number that is always known. */
#define RPS_FIELD_NEVER INT64_MIN

struct rps_field {
    const char *name; /* name of the column; NULL ends the table */
    enum rps_field_kind kind;
    enum rps_field_time time;
    size_t offset, size;
    int64_t unknown;          /* value that means "unknown number" or "unknown word" */
    const char *const *words; /* names of the enum's values; NULL ends the list */
};

/* Build a query: `before`, "SELECT a", then all columns of the table, and `after`. The caller frees
 * it with sqlite3_free(). Returns NULL if memory is short. */
char *rps_fields_select(const char *before, const struct rps_field *field, const char *after);

/* Prepare the statement that inserts or updates rows, with all columns that are written at the
 * given time. The first parameters belong to the columns in `keys` ("a, b"), and are bound with
 * rps_database_bind. rps_fields_run binds the other parameters. Returns an SQLite code. */
int rps_fields_prepare_insert(sqlite3 *db, const char *table, const char *keys,
                              const struct rps_field *field, sqlite3_stmt **ret);
int rps_fields_prepare_update(sqlite3 *db, const char *table, const char *keys,
                              const struct rps_field *field, sqlite3_stmt **ret);

/* Bind members of base to the last parameters of the statement, and run the statement. Only members
 * that are written at the given time are bound. Returns an SQLite code. */
int rps_fields_run(sqlite3_stmt *stmt, const struct rps_field *field, enum rps_field_time time,
                   const void *base);

/* Read the columns first, first + 1, ... into all members of base. A number outside its member's
 * range is read as the nearest number in the range. The arena may be NULL if no member is a
 * pointer. */
void rps_fields_read(struct rps_arena *arena, sqlite3_stmt *stmt, int first,
                     const struct rps_field *field, void *base);

/* The columns of run, event_set, event and metric that are members of structs. A new column needs a
 * row here, and its definition in schema/. */

/* Fields of struct rps_run (except run_id, tags and command), of struct rps_plan (columns of table
 * run), and of struct rps_event_set, rps_event and rps_metric. */
extern const struct rps_field rps_run_fields[], rps_plan_fields[], rps_set_fields[],
    rps_event_fields[], rps_metric_fields[];

/* set_no of the clock event in table event */
#define RPS_CLOCK_SET (-1)
