/* The SQLite connection of a store: open it for reading or writing, and translate SQLite's errors
 * for users. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/store_hooks.h"

/* application_id of a store: "rpis". */
#define RPS_STORE_APPLICATION_ID 0x72706973

/* Format version that this program writes: user_version is 1000 * major + minor. */
#define RPS_STORE_VERSION       1008
#define RPS_STORE_VERSION_MAJOR 1000

/* SQL: the beginning of a query (WITH id ...). Table id has one column, `n`: the distinct run_ids
 * of `table`, then NULL. The query seeks from one run_id to the next, reading one row each. */
#define RPS_SQL_RUN_IDS(table)                                                                     \
    "WITH RECURSIVE id (n) AS (SELECT min(run_id) FROM " table " UNION ALL"                        \
    " SELECT (SELECT min(run_id) FROM " table " WHERE run_id > id.n) FROM id"                      \
    " WHERE id.n IS NOT NULL)"

/* SQL: the end of a run's last period, or NULL if the run has no periods. The query seeks the last
 * period of each CPU, because a scan of a month's periods takes seconds. */
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

/* Maximum wait for another program's lock when opening a store or changing an ended run. */
#define RPS_DATABASE_BUSY_MS 5000

struct rps_database_options {
    int durability_full; /* 1 for PRAGMA synchronous=FULL */
    int busy_ms;         /* maximum wait of each step for another program's lock; 0: 5 s */
    bool *ret_made;      /* set to true if this call made the file; may be NULL */
    void (*notice)(void *context, const char *sentence); /* receives notices; may be NULL */
    void *notice_context;
};

/* Open the store at path for writing. Creates an absent store, fills an empty file, migrates old
 * formats, and marks the runs of dead recorders. Writes to the file to prove that it is writable. A
 * refused file is not changed. The store always has a write-ahead log. If the log has no shared
 * memory, this connection excludes all other connections, and reports this to `notice`. */
int rps_database_open_write(const char *path, const struct rps_database_options *options,
                            sqlite3 **ret, struct rps_error *err);

/* Make the empty file `name` an empty store by copying a template. The file will be renamed to
 * `path` (identity.h). Returns 0 or RPS_FAILED. */
int rps_database_fill_store(void *path, const char *name, struct rps_error *err);

/* Mark the runs of dead recorders as interrupted and set their ends. Returns an SQLite code. */
int rps_database_mark_interrupted(sqlite3 *db);

/* Open an existing store to change it, possibly while recorders and readers use the store. Never
 * creates a store; otherwise does the same as rps_database_open_write. */
int rps_database_open_existing(const char *path, sqlite3 **ret, struct rps_error *err);

/* Close a connection that can write, or do nothing for NULL. SAFETY: SQLite deletes the store's
 * companion files with the rights that this function takes for the path (rpistat/rights.h). */
void rps_database_close(sqlite3 *db);

/* Delete the store at path if it holds no run other than run_id (0: none), and no other process has
 * it open. Returns 0 if the store was deleted. This process must have made the store, and must have
 * no open connection to it. */
int rps_database_unmake(const char *path, int64_t run_id);

/* Return 1 if db holds its store exclusively, so that no other connection can read the store. */
int rps_database_is_alone(sqlite3 *db);

/* Empty the log, then close db. While the store has readers, sqlite3_close() does not empty the
 * log. */
void rps_database_close_beside(sqlite3 *db);

/* Open the store at path read-only, with the protections for untrusted files. Columns and tables
 * that an older format lacks are added as in schema.h. */
int rps_database_open_read(const char *path, sqlite3 **ret, struct rps_error *err);

/* Open a file read-only, with the protections for untrusted files. `name` is a path or URI for
 * SQLite. This function reads nothing from the file. `flags` are additional flags of
 * sqlite3_open_v2. Returns an SQLite code; the caller closes *ret in any case. */
int rps_database_open_guarded(const char *name, int flags, int busy_ms, sqlite3 **ret);

/* Bind text, with U+FFFD for bytes that are not UTF-8. NULL is bound as ''. */
int rps_database_bind_text(sqlite3_stmt *stmt, int index, const char *text);

/* Delete the empty log and the shared memory file that remain if a store without a writer is read.
 * SQLite deletes these files only if the connection that closes last can write. A log with content
 * is left for the next writer. This function cannot fail: remaining files are harmless. */
void rps_database_tidy(const char *path);

/* Set the message for the failure that db reports now. If db is NULL, the message describes `code`.
 * Returns RPS_BUSY if another program holds a lock, otherwise RPS_FAILED. */
int rps_database_error(sqlite3 *db, int code, const char *path, struct rps_error *err);

/* Return the reason for db's latest error code as a part of a sentence: "its disk is full". */
const char *rps_database_reason(sqlite3 *db, int code);

/* Return the code, or SQLITE_FULL for every code that a full disk causes. */
int rps_database_code(sqlite3 *db, int code);

/* Return 1 if the code means that another connection holds a lock. */
int rps_database_is_busy(int code);

/* Return 1 if a write that failed with this code may succeed later. */
int rps_database_is_transient(int code);

/* Prepare generated SQL like rps_database_prepare, then free the SQL. */
int rps_database_prepare_made(sqlite3 *db, sqlite3_str *sql, sqlite3_stmt **ret);

/* Return the number of columns in "a, b, c". */
int rps_database_count_columns(const char *columns);

/* Step like sqlite3_step, but retry for 20 ms if the log's header is incomplete. A reader without
 * write access to the -shm file may see a header that a recorder is writing. SQLite then assumes
 * that a crash left the incomplete header. */
int rps_database_step(sqlite3_stmt *stmt);

/* Run SQL that returns a number, like rps_database_do. Returns SQLITE_DONE if there is no row. */
int rps_database_ask(sqlite3 *db, int64_t *ret, const char *sql, const char *types, ...);

#define RPS_STATEMENTS_MAX 24

/* A cache of statements, each prepared at its first use. To begin, zero the struct and set db. */
struct rps_statements {
    sqlite3 *db;
    const char *sql[RPS_STATEMENTS_MAX];
    sqlite3_stmt *stmt[RPS_STATEMENTS_MAX];
};

/* Find or prepare a statement by the address of its constant SQL text. Returns an SQLite code. */
int rps_statements_get(struct rps_statements *statements, const char *sql, sqlite3_stmt **ret);

/* Do the same as rps_database_do and rps_database_ask, with cached statements. */
int rps_statements_do(struct rps_statements *statements, const char *sql, const char *types, ...);
int rps_statements_ask(struct rps_statements *statements, int64_t *ret, const char *sql,
                       const char *types, ...);

void rps_statements_finalize(struct rps_statements *statements);

/* Limit the log's size. When the log has `pages` pages, SQLite moves it into the store's file.
 * SQLite also shortens a log file that is larger than this limit. Returns an SQLite code. */
int rps_database_bound_log(sqlite3 *db, int64_t pages);

/* Run constant SQL without parameters. Returns an SQLite code. */
int rps_database_exec(sqlite3 *db, const char *sql);

/* Call a function for every row of constant SQL, until it returns a code other than SQLITE_OK.
 * Binds run_id to ?1 if the SQL has ?1. Returns an SQLite code. */
int rps_database_each(sqlite3 *db, const char *sql, int64_t run_id,
                      int (*row)(void *context, sqlite3_stmt *stmt), void *context);

/* Run `insert`, constant SQL, in `to` for every row that `select` returns in `from`. The parameters
 * of `insert` are the row's columns. Binds run_id to ?1 of `select` if it has ?1. Returns an SQLite
 * code. */
int rps_database_copy(sqlite3 *from, const char *select, int64_t run_id, sqlite3 *to,
                      const char *insert);

/* Read the size of the store's file and of its unused pages, in bytes. Returns an SQLite code. */
int rps_database_space(sqlite3 *db, uint64_t *ret_bytes, uint64_t *ret_free_bytes);

/* The work done so far to find the next row of a query, and the limit of this work. */
struct rps_step_limit {
    int calls, calls_max; /* calls of SQLite's progress handler, one per fixed number of steps */
};

/* End queries of db with SQLITE_INTERRUPT if they take more steps than a store's tables justify. A
 * reader of rows zeroes *limit for each row (rps_reader_step). *limit must live as long as db. */
void rps_database_limit_steps(sqlite3 *db, struct rps_step_limit *limit);

/* A store's tables, all of which hold rows of runs. A test compares the list with the schema. */

#define RPS_TABLE_COUNT    26
#define RPS_TABLE_KEYS_MAX 5

struct rps_table {
    const char *name;
    int keys;
    const char *key[RPS_TABLE_KEYS_MAX]; /* columns of the primary key, run_id first */
    int64_t least[RPS_TABLE_KEYS_MAX];   /* lowest value that recorders write, per key column */
    bool is_part;                        /* `key` lacks the text columns of the primary key */
};

/* The list of tables. If rows of one table describe rows of other tables, this table precedes the
 * other tables. Therefore `run` is the first table. */
extern const struct rps_table rps_tables[RPS_TABLE_COUNT];

/* The function table passed to rps_store_use. */
extern const struct rps_store_hooks *rps_store_hooks;

/* Find the table with a name, in upper or lower case. Returns NULL if there is none. */
const struct rps_table *rps_table_find(const char *name);

/* Return true for the heartbeat table, which is not copied: recorders write their own rows. */
bool rps_table_is_heartbeat(const struct rps_table *table);

/* Heartbeats show whether a run is still being recorded. A recorder writes them with its commits,
 * also while the recording is paused. Process ids are not checked, because a recorder may be in
 * another PID namespace or on another machine. A program that knows this machine's recorders may
 * detect a recorder's death before the heartbeats are late. */

/* Interval of heartbeats. A recorder writes at least one heartbeat per interval, but not many. */
#define RPS_HEARTBEAT_INTERVAL_NS (INT64_C(5) * 1000000000)

/* A recorder is late or dead if it misses three heartbeats and this additional time passes. */
#define RPS_HEARTBEAT_GRACE_NS (INT64_C(30) * 1000000000)

/* SQL: this row of `run` is in state `recording`, but its recorder is dead. A recorder is dead if
 * rps_store_ask_recorders says so, if it has not written for three intervals and 30 s, or if this
 * machine has restarted. Parameters: ?1 now, ns since 1970; ?2 this boot's id; ?3 host name. */
#define RPS_HEARTBEAT_IS_DEAD                                                                      \
    "(run.state = 'recording' AND (rpistat_is_dead(run.uuid) OR NOT EXISTS (SELECT 1"              \
    " FROM heartbeat AS h"                                                                         \
    " WHERE h.run_id = run.run_id AND h.realtime_ns + 3 * h.interval_ns + 30000000000 > ?1"        \
    " AND (h.boot_id = ?2 OR h.boot_id = '' OR ?2 = '' OR run.host <> ?3))))"

/* Bind the parameters of RPS_HEARTBEAT_IS_DEAD. Returns an SQLite code. */
int rps_heartbeat_bind(sqlite3_stmt *stmt);

/* Register in db the SQL function that RPS_HEARTBEAT_IS_DEAD calls. Returns an SQLite code. */
int rps_heartbeat_add_function(sqlite3 *db);

/* Write Linux's id of this boot to ret, or "" if the id is unknown. */
void rps_heartbeat_boot_id(char *ret, size_t size);
