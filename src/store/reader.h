/* Internals of the reader, shared by its files. */
#ifndef RPISTAT_STORE_READER_H
#define RPISTAT_STORE_READER_H

#include <sqlite3.h>

#include "database.h"
#include "rpistat/store.h"
#include "rpistat/store_wing.h"

/* SAFETY: more than any plan has, and few enough that an untrusted store cannot use much memory. */
#define RPS_READER_SETS_MAX 1024

/* Statements that are used for many runs. A list of 10,000 runs takes four times as long if each
 * run prepares them again. */
enum rps_reader_kept {
    RPS_READER_ROW,
    RPS_READER_TAGS,
    RPS_READER_COMMAND,
    RPS_READER_SUMMARY,
    RPS_READER_KEPT_COUNT,
};

struct rps_reader {
    sqlite3 *db;
    char *path; /* for messages */
    int keeps;  /* 1: rps_reader_close will finalize the kept statements */
    sqlite3_stmt *kept[RPS_READER_KEPT_COUNT];
    struct rps_step_limit limit;
    void *left; /* owned: rps_reader_leave; NULL: nothing */
    void (*free_left)(void *);
};

/* Set the error for the reader's last failed call; returns RPS_FAILED. */
int rps_reader_error(struct rps_reader *reader, int code, struct rps_error *err);

/* Step like sqlite3_step; each row resets the limit of steps. If the store was changed without
 * locks, it returns another code than SQLITE_DONE at the end of the rows. */
int rps_reader_step(struct rps_reader *reader, sqlite3_stmt *stmt);

/* Hold one state of the store for all later statements until *ret, which never ends, is finalized.
 * RPS_FAILED with a message. */
int rps_reader_hold(struct rps_reader *reader, sqlite3_stmt **ret, struct rps_error *err);

/* Read the first column of all rows of sql into a new array (free()); RPS_FAILED with a message. */
int rps_reader_numbers(struct rps_reader *reader, const char *sql, int64_t **ret, size_t *ret_count,
                       struct rps_error *err);

/* Return RPS_FAILED, with the existing runs, if the run is not in the store. */
int rps_reader_require(struct rps_reader *reader, int64_t run_id, struct rps_error *err);

/* Set the error for a run that does not exist; returns RPS_FAILED. */
int rps_reader_no_run(struct rps_reader *reader, const char *what, struct rps_error *err);

#endif
