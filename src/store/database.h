/*
 * The SQLite connection of a store: open it for reading or writing, and translate SQLite's errors
 * for users.
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

/* SQL: the beginning of a query with one column, `n`: the distinct run_ids of a table, then NULL.
 * It seeks from one id to the next, and reads one row per id. */
#define RPS_SQL_RUN_IDS(table)                                                                     \
    "WITH RECURSIVE id (n) AS (SELECT min(run_id) FROM " table " UNION ALL"                        \
    " SELECT (SELECT min(run_id) FROM " table " WHERE run_id > id.n) FROM id"                      \
    " WHERE id.n IS NOT NULL)"

/* SQL: the end of a run's last period; NULL: it has none. It seeks the last period of each CPU,
 * because a scan of a month's periods takes seconds. */
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

/* How long opening, or changing a run that has ended, waits for another program's lock. */
#define RPS_DATABASE_BUSY_MS 5000

struct rps_database_options {
    int durability_full; /* 1: synchronous=FULL */
    int busy_ms;         /* how long each step waits for another program's lock; 0: 5 s */
    bool *ret_made;      /* set to true if this call made the file; may be NULL */
    void (*notice)(void *context, const char *sentence); /* may be NULL */
    void *notice_context;
};

/*
 * Open the store at path for writing. Creates an absent store, fills an empty file, migrates old
 * formats, and marks the runs of dead recorders. Proves by a write to the file that the store can
 * be written. A refused file is not changed. The store always has a write-ahead log. Without shared
 * memory for the log, this connection excludes all others, and `notice` reports that.
 */
int rps_database_open_write(const char *path, const struct rps_database_options *options,
                            sqlite3 **ret, struct rps_error *err);

/* Make the empty file `name` an empty store by copying one; its later name is `path` (make.h).
 * Returns 0 or RPS_FAILED. */
int rps_database_fill_store(void *path, const char *name, struct rps_error *err);

/* Mark the runs of dead recorders, with the time of their end. Returns an SQLite code. */
int rps_database_mark_interrupted(sqlite3 *db);

/* Open an existing store for a change while recorders and readers may use it; otherwise like
 * rps_database_open_write. */
int rps_database_open_existing(const char *path, sqlite3 **ret, struct rps_error *err);

/* Close a connection that can write; NULL: nothing. SAFETY: SQLite deletes the store's companion
 * files with the rights that are taken for the path. */
void rps_database_close(sqlite3 *db);

/* Delete the store at path, which this process made, unless it holds a run or another process has
 * it open. No connection of this process may be open. */
void rps_database_unmake(const char *path);

/* Return 1 if db holds its store exclusively: no other connection can read it, here or
 * elsewhere. */
int rps_database_is_alone(sqlite3 *db);

/* Empty the log, then close db. If readers have the store open, closing alone leaves the log. */
void rps_database_close_beside(sqlite3 *db);

/* Open the store at path read-only, with the guards for untrusted files. Columns and tables that an
 * older format lacks are added as in schema.h. */
int rps_database_open_read(const char *path, sqlite3 **ret, struct rps_error *err);

/* Open a file by SQLite's name for it, read-only and with the guards; nothing is read. Flags of
 * sqlite3_open_v2 may be added. Returns an SQLite code; close *ret in any case. */
int rps_database_open_guarded(const char *name, int flags, int busy_ms, sqlite3 **ret);

/* Bind text, with U+FFFD for bytes that are not UTF-8. NULL is bound as ''. */
int rps_database_bind_text(sqlite3_stmt *stmt, int index, const char *text);

/*
 * Delete the empty log and the shared memory that reading leaves next to a store that nobody
 * writes. SQLite deletes them itself only when the last connection that closes could write. A log
 * with content is left for the next writer. Cannot fail: the remaining files are harmless.
 */
void rps_database_tidy(const char *path);

/* Set the message for the failure that db reports now (db may be NULL: code has the failure).
 * Returns RPS_BUSY if another program holds a lock, otherwise RPS_FAILED. */
int rps_database_error(sqlite3 *db, int code, const char *path, struct rps_error *err);

/* Return the reason for the code that db has just returned, for a sentence: "its disk is full". */
const char *rps_database_reason(sqlite3 *db, int code);

/* Return the code, or SQLITE_FULL for every code that a full disk causes. */
int rps_database_code(sqlite3 *db, int code);

/* Return 1 if the code says that another connection holds a lock. */
int rps_database_is_busy(int code);

/* Return 1 if a failed write may succeed later: BUSY, LOCKED, FULL, IOERR, CANTOPEN, PROTOCOL,
 * NOMEM. */
int rps_database_is_transient(int code);

/* Prepare generated SQL like rps_database_prepare, and free it. */
int rps_database_prepare_made(sqlite3 *db, sqlite3_str *sql, sqlite3_stmt **ret);

/* Return the number of columns in "a, b, c". */
int rps_database_count_columns(const char *columns);

/* Step like sqlite3_step. A reader without write access to the -shm file may see a header that a
 * recorder is writing. SQLite takes it for the remains of a crash; this function retries for 20
 * ms. */
int rps_database_step(sqlite3_stmt *stmt);

/* Run SQL that returns a number, like rps_database_do; SQLITE_DONE if it returns no row. */
int rps_database_ask(sqlite3 *db, int64_t *ret, const char *sql, const char *types, ...);

#define RPS_STATEMENTS_MAX 24

/* A cache of statements that run repeatedly; each is prepared at its first use. Zero it, and set
 * db. */
struct rps_statements {
    sqlite3 *db;
    const char *sql[RPS_STATEMENTS_MAX];
    sqlite3_stmt *stmt[RPS_STATEMENTS_MAX];
};

/* Find or prepare the statement of constant SQL, known by its address. Returns an SQLite code. */
int rps_statements_get(struct rps_statements *statements, const char *sql, sqlite3_stmt **ret);

/* rps_database_do and rps_database_ask with cached statements. */
int rps_statements_do(struct rps_statements *statements, const char *sql, const char *types, ...);
int rps_statements_ask(struct rps_statements *statements, int64_t *ret, const char *sql,
                       const char *types, ...);

void rps_statements_finalize(struct rps_statements *statements);

/* Limit the log: at `pages` pages it is moved into the file, and its file is kept no larger.
 * Returns an SQLite code. */
int rps_database_bound_log(sqlite3 *db, int64_t pages);

/* Run constant SQL without parameters. Returns an SQLite code. */
int rps_database_exec(sqlite3 *db, const char *sql);

/*
 * Call a function for every row of constant SQL, until it returns a code other than SQLITE_OK. ?1,
 * if the SQL has it, is run_id. Returns an SQLite code.
 */
int rps_database_each(sqlite3 *db, const char *sql, int64_t run_id,
                      int (*row)(void *context, sqlite3_stmt *stmt), void *context);

/* Run `insert`, constant SQL, in `to` for every row that `select` returns in `from`. Its parameters
 * are the row's columns. ?1 of `select`, if it has one, is run_id. Returns an SQLite code. */
int rps_database_copy(sqlite3 *from, const char *select, int64_t run_id, sqlite3 *to,
                      const char *insert);

/* Read the size of the file and of its unused pages, in bytes. Returns an SQLite code. */
int rps_database_space(sqlite3 *db, uint64_t *ret_bytes, uint64_t *ret_free_bytes);

/* How much work the next row of a query has taken. */
struct rps_step_limit {
    int calls, calls_max; /* one call per fixed number of steps, and the limit */
};

/*
 * End queries of db with SQLITE_INTERRUPT if they take more steps than a store's tables justify.
 * Code that steps through rows sets *limit to zero for each row (rps_reader_step). *limit must live
 * as long as db.
 */
void rps_database_limit_steps(sqlite3 *db, struct rps_step_limit *limit);

#endif
