/* The reader, as its files see it. */
#ifndef RPISTAT_STORE_READER_H
#define RPISTAT_STORE_READER_H

#include <sqlite3.h>

#include "database.h"
#include "rpistat/store.h"
#include "rpistat/store_wing.h"

/* More than any plan has, and few enough that an untrusted store cannot ask for much memory. */
#define RPS_READER_SETS_MAX 1024

/* Statements that are asked of run after run. A list of 10,000 runs takes four times as long where
 * each run prepares them anew. */
enum rps_reader_kept {
    RPS_READER_ROW,
    RPS_READER_TAGS,
    RPS_READER_COMMAND,
    RPS_READER_SUMMARY,
    RPS_READER_KEPT_COUNT,
};

struct rps_reader {
    sqlite3 *db;
    char *path; /* for sentences */
    int keeps;  /* 1: rps_reader_close will finalize what is kept */
    sqlite3_stmt *kept[RPS_READER_KEPT_COUNT];
    struct rps_step_limit limit;
    void *left; /* owned: rps_reader_leave; NULL: nothing */
    void (*free_left)(void *);
};

/* The sentence for the failure of the reader's last call; returns RPS_FAILED. */
int rps_reader_error(struct rps_reader *reader, int code, struct rps_error *err);

/* sqlite3_step; a row that comes is granted the steps to the next. Not SQLITE_DONE when the store was
 * changed, and nobody but the end of the rows could tell. */
int rps_reader_step(struct rps_reader *reader, sqlite3_stmt *stmt);

/* Hold the one state of the store that all later statements see, until *ret, which is never done, is
 * finalized. RPS_FAILED with a sentence. */
int rps_reader_hold(struct rps_reader *reader, sqlite3_stmt **ret, struct rps_error *err);

/* The first column of all rows that sql gives, in a new array (free()); RPS_FAILED with a sentence.
 */
int rps_reader_numbers(struct rps_reader *reader, const char *sql, int64_t **ret, size_t *ret_count,
                       struct rps_error *err);

/* RPS_FAILED, with those that there are, when the run is not in the store. */
int rps_reader_require(struct rps_reader *reader, int64_t run_id, struct rps_error *err);

/* The error of asking for a run that is not there; returns RPS_FAILED. */
int rps_reader_no_run(struct rps_reader *reader, const char *what, struct rps_error *err);

#endif
