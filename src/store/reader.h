/* Internals of the reader, shared by its files. */
#pragma once

#include <sqlite3.h>

#include "database.h"
#include "rpistat/store.h"
#include "rpistat/store_hooks.h"

/* SAFETY: maximum number of event sets per run. Plans have fewer sets. Even if an untrusted store
 * has this many sets, they cannot use much memory. */
#define RPS_READER_SETS_MAX 1024

/* Statements kept for many runs: without them, a list of 10,000 runs takes four times as long. */
enum rps_reader_kept {
    RPS_READER_ROW,
    RPS_READER_TAGS,
    RPS_READER_COMMAND,
    RPS_READER_SUMMARY,
    RPS_READER_KEPT_COUNT,
};

struct rps_reader {
    sqlite3 *db;
    char *path; /* path of the store, for messages */
    int keeps;  /* 1 if rps_reader_close finalizes the kept statements */
    sqlite3_stmt *kept[RPS_READER_KEPT_COUNT];
    struct rps_step_limit limit;
    void *left; /* owned; data of rps_reader_leave, or NULL */
    void (*free_left)(void *);
};

/* Set the error for the reader's last failed call. Returns RPS_FAILED. */
int rps_reader_error(struct rps_reader *reader, int code, struct rps_error *err);

/* Step like sqlite3_step; each row resets the limit of steps. At the end of the rows, returns an
 * error instead of SQLITE_DONE if the store is read without locks and the file was changed. */
int rps_reader_step(struct rps_reader *reader, sqlite3_stmt *stmt);

/* Begin to read one state of the store, which all later statements see until *ret, an unfinished
 * statement, is finalized. Returns RPS_FAILED with a message for errors. */
int rps_reader_hold(struct rps_reader *reader, sqlite3_stmt **ret, struct rps_error *err);

/* Read the first column of all rows of sql into an array in the arena. Returns RPS_FAILED with a
 * message for errors. */
int rps_reader_numbers(struct rps_arena *arena, struct rps_reader *reader, const char *sql,
                       int64_t **ret, size_t *ret_count, struct rps_error *err);

/* Find the newest run that is being recorded. *ret is -1 if there is none. */
int rps_reader_find_recording(struct rps_reader *reader, int64_t *ret, struct rps_error *err);

/* Return RPS_FAILED if the run is not in the store. The error lists the existing runs. */
int rps_reader_require(struct rps_reader *reader, int64_t run_id, struct rps_error *err);

/* Set the error for a run that does not exist. Returns RPS_FAILED. */
int rps_reader_no_run(struct rps_reader *reader, const char *what, struct rps_error *err);
