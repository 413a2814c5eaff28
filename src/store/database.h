/*
 * The SQLite connection of a store: opening it in the two ways a store is opened, and what SQLite's
 * errors mean to a user.
 */
#ifndef RPISTAT_STORE_DATABASE_H
#define RPISTAT_STORE_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/store_wing.h"

/* application_id of a store: "rpis". */
#define RPS_STORE_APPLICATION_ID 0x72706973

/* user_version is 1000 * major + minor; this program writes the format below. */
#define RPS_STORE_VERSION       1006
#define RPS_STORE_VERSION_MAJOR 1000

/* SQL: the beginning of a query of `id`, whose n are the run_ids of a table and at the end a NULL.
 * They are found by seeking from one to the next: a row each is read. */
#define RPS_SQL_RUN_IDS(table)                                                                     \
    "WITH RECURSIVE id (n) AS (SELECT min(run_id) FROM " table " UNION ALL"                        \
    " SELECT (SELECT min(run_id) FROM " table " WHERE run_id > id.n) FROM id"                      \
    " WHERE id.n IS NOT NULL)"

/* SQL: the end of the last period of a run, found by seeking the last one of each CPU, as a scan of a
 * month's periods takes seconds; NULL when it has none. */
#define RPS_SQL_LAST_END(run)                                                                      \
    "(WITH RECURSIVE c (cpu) AS (SELECT min(cpu) FROM period WHERE run_id = " run " UNION ALL"     \
    " SELECT (SELECT min(cpu) FROM period WHERE run_id = " run " AND cpu > c.cpu) FROM c"          \
    " WHERE c.cpu IS NOT NULL) SELECT max((SELECT start_ns + length_ns FROM period"                \
    " WHERE run_id = " run " AND period.cpu = c.cpu ORDER BY cycle DESC, period DESC LIMIT 1))"    \
    " FROM c)"

/* SQL: a random UUID (RFC 9562, version 4). */
#define RPS_SQL_RANDOM_UUID                                                                        \
    "lower(hex(randomblob(4))) || '-' || lower(hex(randomblob(2))) || '-4' ||"                     \
    " substr(lower(hex(randomblob(2))), 2) || '-a' || substr(lower(hex(randomblob(2))), 2) ||"     \
    " '-' || lower(hex(randomblob(6)))"

/* How long an opening, or a change of a run that has ended, waits for another program's lock. */
#define RPS_DATABASE_BUSY_MS 5000

struct rps_database_options {
    int durability_full; /* 1: synchronous=FULL */
    int busy_ms;         /* how long each step waits for another program's lock; 0: 5 s */
    bool *ret_made;      /* set to true if this call made the file; may be NULL */
    void (*notice)(void *context, const char *sentence); /* may be NULL */
    void *notice_context;
};

/*
 * Open the store at path for writing: create it when absent, fill it when empty, migrate it, mark
 * the runs of dead recorders, and prove with a write that reaches the file that it can be written.
 * A file that is refused is not changed. It always has a write-ahead log; where there is no shared
 * memory for it, this connection has the store to itself, and the notice says so.
 */
int rps_database_open_write(const char *path, const struct rps_database_options *options,
                            sqlite3 **ret, struct rps_error *err);

/* Make the empty file called name an empty store, which is a copy of one; it is what will be called
 * path (make.h). 0 or RPS_FAILED. */
int rps_database_fill_store(void *path, const char *name, struct rps_error *err);

/* Mark the runs of dead recorders, and say when they ended; an SQLite code. */
int rps_database_mark_interrupted(sqlite3 *db);

/* rps_database_open_write of a store that must be there already, for a change beside a recorder and
 * readers. */
int rps_database_open_existing(const char *path, sqlite3 **ret, struct rps_error *err);

/* Close a connection that can write; NULL is nothing. What SQLite then deletes beside the store it
 * deletes with the rights that are taken for the path. */
void rps_database_close(sqlite3 *db);

/* Delete the store at path, which this process made, unless it holds a run or another process has it
 * open. No connection of this process may be open. */
void rps_database_unmake(const char *path);

/* 1 when db has its store to itself: nobody can read it, in this process either. */
int rps_database_is_alone(sqlite3 *db);

/* Close it. Who reads the store as well has it open, so that closing alone leaves the log. */
void rps_database_close_beside(sqlite3 *db);

/* Open the store at path read-only, with the guards that untrusted files need. What an
 * older format lacks is there, see schema.h. */
int rps_database_open_read(const char *path, sqlite3 **ret, struct rps_error *err);

/* The part of it that opens a file by SQLite's name for it, read-only and with the guards, and reads
 * nothing. Flags of sqlite3_open_v2 may be added. An SQLite code; *ret is to be closed in any case. */
int rps_database_open_guarded(const char *name, int flags, int busy_ms, sqlite3 **ret);

/* Bind text, with U+FFFD for bytes that are not UTF-8. NULL is bound as ''. */
int rps_database_bind_text(sqlite3_stmt *stmt, int index, const char *text);

/*
 * Take away the empty log and the shared memory that reading leaves beside a store nobody writes.
 * SQLite does that itself when the last connection closes, but only for one that could write. A log
 * that holds something is left to the next writer. Cannot fail: what is left is harmless.
 */
void rps_database_tidy(const char *path);

/*
 * The sentence for the failure that db reports now (db may be NULL: code says what happened).
 * Returns RPS_BUSY if another program holds a lock, otherwise RPS_FAILED.
 */
int rps_database_error(sqlite3 *db, int code, const char *path, struct rps_error *err);

/* What stands behind the code that db has just answered, for a sentence: "its disk is full". */
const char *rps_database_reason(sqlite3 *db, int code);

/* The code, with SQLITE_FULL for every way in which a full disk shows. */
int rps_database_code(sqlite3 *db, int code);

/* Return 1 if the code says that another connection holds a lock. */
int rps_database_is_busy(int code);

/* 1 when a failed write may succeed later: BUSY, LOCKED, FULL, IOERR, CANTOPEN, PROTOCOL,
 * NOMEM. */
int rps_database_is_transient(int code);

/* rps_database_prepare for SQL that was made, which is freed. */
int rps_database_prepare_made(sqlite3 *db, sqlite3_str *sql, sqlite3_stmt **ret);

/* How many columns "a, b, c" are. */
int rps_database_count_columns(const char *columns);

/* sqlite3_step. A reader who may not write the store's -shm may see its header while a recorder is
 * writing it, which SQLite takes for one that a crash has left: it looks again for 20 ms. */
int rps_database_step(sqlite3_stmt *stmt);

/* rps_database_do for SQL that gives a number: SQLITE_DONE when it gives no row. */
int rps_database_ask(sqlite3 *db, int64_t *ret, const char *sql, const char *types, ...);

#define RPS_STATEMENTS_MAX 24

/* Statements that are run again and again, each prepared when it is first asked for. Zero it, and set
 * db. */
struct rps_statements {
    sqlite3 *db;
    const char *sql[RPS_STATEMENTS_MAX];
    sqlite3_stmt *stmt[RPS_STATEMENTS_MAX];
};

/* The statement of constant SQL, which is known by its address; an SQLite code. */
int rps_statements_get(struct rps_statements *statements, const char *sql, sqlite3_stmt **ret);

/* rps_database_do and rps_database_ask by them. */
int rps_statements_do(struct rps_statements *statements, const char *sql, const char *types, ...);
int rps_statements_ask(struct rps_statements *statements, int64_t *ret, const char *sql,
                       const char *types, ...);

void rps_statements_finalize(struct rps_statements *statements);

/* Have the log taken up into the file when it has so many pages, and made no larger than these; an
 * SQLite code. */
int rps_database_bound_log(sqlite3 *db, int64_t pages);

/* Run constant SQL without parameters; an SQLite code. */
int rps_database_exec(sqlite3 *db, const char *sql);

/*
 * Hand every row that constant SQL gives to a function, until that returns another code than
 * SQLITE_OK. ?1, where it has one, is run_id. An SQLite code.
 */
int rps_database_each(sqlite3 *db, const char *sql, int64_t run_id,
                      int (*row)(void *context, sqlite3_stmt *stmt), void *context);

/* Run `insert`, constant SQL, in `to` for every row that `select` gives in `from`, with as many
 * parameters as it has columns. ?1 of `select`, where it has one, is run_id. An SQLite code. */
int rps_database_copy(sqlite3 *from, const char *select, int64_t run_id, sqlite3 *to,
                      const char *insert);

/* Bytes of the file, and of its pages that are not in use; an SQLite code. */
int rps_database_space(sqlite3 *db, uint64_t *ret_bytes, uint64_t *ret_free_bytes);

/* How much has been done for the next row of a query. */
struct rps_step_limit {
    int calls, calls_max; /* a call for so many steps, and when it is enough */
};

/*
 * From now on the queries of db end with SQLITE_INTERRUPT when they do more than a store's tables
 * give reason for. Whoever steps through rows sets *limit to zero at each (rps_reader_step). It
 * lives as long as db.
 */
void rps_database_limit_steps(sqlite3 *db, struct rps_step_limit *limit);

#endif
