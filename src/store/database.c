/* Small helpers around SQLite's calls, and the messages for its errors. Opening is in open.c. */
#include "database.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rpistat/clock.h"
#include "rpistat/text.h"
#include "identity.h"

/* Maximum steps of SQLite's virtual machine that a query may use per row (about a second). */
#define STEPS_A_CALL 1000000
#define CALLS_MAX    50

/* Maximum retries of a read while a process writes the log index's header (some microseconds). */
#define RECOVERIES_MAX 20

int rps_database_is_busy(int code)
{
    return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
}

int rps_database_is_transient(int code)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_PROTOCOL:
    case SQLITE_NOMEM:
        return 1;
    default:
        return 0;
    }
}

int rps_database_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret)
{
    return sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);
}

int rps_database_prepare_made(sqlite3 *db, sqlite3_str *sql, sqlite3_stmt **ret)
{
    char *text = sqlite3_str_finish(sql);
    int code = text ? rps_database_prepare(db, text, ret) : SQLITE_NOMEM;

    sqlite3_free(text);
    return code;
}

int rps_database_count_columns(const char *columns)
{
    int count = 1;

    for (; *columns; columns++)
        count += *columns == ',';
    return count;
}

int rps_database_prepare_insert(sqlite3 *db, const char *table, const char *columns,
                                sqlite3_stmt **ret)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);

    sqlite3_str_appendf(sql, "INSERT INTO %s (%s) VALUES (?", table, columns);
    for (int i = rps_database_count_columns(columns); i > 1; i--)
        sqlite3_str_appendall(sql, ", ?");
    sqlite3_str_appendall(sql, ")");
    return rps_database_prepare_made(db, sql, ret);
}

int rps_database_step(sqlite3_stmt *stmt)
{
    const struct timespec pause = {0, RPS_NS_PER_MS};
    int code = sqlite3_step(stmt);

    for (int i = 0; i < RECOVERIES_MAX && code == SQLITE_READONLY_RECOVERY; i++) {
        nanosleep(&pause, NULL);
        code = sqlite3_step(stmt);
    }
    return code;
}

int rps_database_run(sqlite3_stmt *stmt)
{
    int code;

    do {
        code = sqlite3_step(stmt);
    } while (code == SQLITE_ROW);
    sqlite3_reset(stmt);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

int rps_database_bind_text(sqlite3_stmt *stmt, int index, const char *text)
{
    char *repaired = rps_text_repaired(text ? text : "");

    return repaired ? sqlite3_bind_text(stmt, index, repaired, -1, free) : SQLITE_NOMEM;
}

static int bind_values(sqlite3_stmt *stmt, const char *types, va_list values)
{
    int code = SQLITE_OK;
    int count = sqlite3_bind_parameter_count(stmt);

    for (int i = 1; *types && i <= count && code == SQLITE_OK; i++, types++) {
        if (*types == 'i')
            code = sqlite3_bind_int64(stmt, i, va_arg(values, int64_t));
        else if (*types == 'r')
            code = sqlite3_bind_double(stmt, i, va_arg(values, double));
        else if (*types == 't')
            code = rps_database_bind_text(stmt, i, va_arg(values, const char *));
        else
            code = sqlite3_bind_null(stmt, i);
    }
    return code;
}

int rps_database_bind(sqlite3_stmt *stmt, const char *types, ...)
{
    va_list values;
    int code;

    va_start(values, types);
    code = bind_values(stmt, types, values);
    va_end(values);
    return code;
}

/* Prepare the first statement of `sql` and bind values. The caller always finalizes *ret. */
static int prepare_values(sqlite3 *db, const char *sql, const char *types, va_list values,
                          sqlite3_stmt **ret, const char **ret_rest)
{
    int code = sqlite3_prepare_v2(db, sql, -1, ret, ret_rest);

    return code == SQLITE_OK ? bind_values(*ret, types, values) : code;
}

int rps_database_do(sqlite3 *db, const char *sql, const char *types, ...)
{
    int code = SQLITE_OK;

    while (*sql && code == SQLITE_OK) {
        sqlite3_stmt *stmt = NULL;
        va_list values;

        va_start(values, types);
        code = prepare_values(db, sql, types, values, &stmt, &sql);
        va_end(values);
        if (code == SQLITE_OK)
            code = rps_database_run(stmt);
        sqlite3_finalize(stmt);
    }
    return code;
}

int rps_database_ask(sqlite3 *db, int64_t *ret, const char *sql, const char *types, ...)
{
    sqlite3_stmt *stmt = NULL;
    va_list values;
    int code;

    va_start(values, types);
    code = prepare_values(db, sql, types, values, &stmt, &sql);
    va_end(values);
    if (code == SQLITE_OK && (code = rps_database_step(stmt)) == SQLITE_ROW) {
        *ret = sqlite3_column_int64(stmt, 0);
        code = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    return code;
}

int rps_statements_get(struct rps_statements *statements, const char *sql, sqlite3_stmt **ret)
{
    int i = 0, code = SQLITE_OK;

    while (statements->stmt[i] && statements->sql[i] != sql)
        if (++i == RPS_STATEMENTS_MAX)
            return SQLITE_MISUSE;
    if (!statements->stmt[i])
        code = rps_database_prepare(statements->db, sql, &statements->stmt[i]);
    statements->sql[i] = sql;
    *ret = statements->stmt[i];
    return code;
}

static int get_bound(struct rps_statements *statements, const char *sql, const char *types,
                     va_list values, sqlite3_stmt **ret)
{
    int code = rps_statements_get(statements, sql, ret);

    return code == SQLITE_OK ? bind_values(*ret, types, values) : code;
}

int rps_statements_do(struct rps_statements *statements, const char *sql, const char *types, ...)
{
    sqlite3_stmt *stmt;
    va_list values;
    int code;

    va_start(values, types);
    code = get_bound(statements, sql, types, values, &stmt);
    va_end(values);
    return code == SQLITE_OK ? rps_database_run(stmt) : code;
}

int rps_statements_ask(struct rps_statements *statements, int64_t *ret, const char *sql,
                       const char *types, ...)
{
    sqlite3_stmt *stmt = NULL;
    va_list values;
    int code;

    va_start(values, types);
    code = get_bound(statements, sql, types, values, &stmt);
    va_end(values);
    if (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        *ret = sqlite3_column_int64(stmt, 0);
        code = SQLITE_OK;
    }
    sqlite3_reset(stmt);
    return code;
}

void rps_statements_finalize(struct rps_statements *statements)
{
    for (int i = 0; i < RPS_STATEMENTS_MAX; i++)
        sqlite3_finalize(statements->stmt[i]);
    *statements = (struct rps_statements){0};
}

int rps_database_exec(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

int rps_database_each(sqlite3 *db, const char *sql, int64_t run_id,
                      int (*row)(void *context, sqlite3_stmt *stmt), void *context)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

    if (code == SQLITE_OK && sqlite3_bind_parameter_count(stmt) > 0)
        sqlite3_bind_int64(stmt, 1, run_id);
    while (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW)
        code = row(context, stmt);
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int copy_row(void *context, sqlite3_stmt *row)
{
    sqlite3_stmt *copy = context;
    int code = SQLITE_OK;

    for (int i = 0; i < sqlite3_column_count(row) && code == SQLITE_OK; i++)
        code = sqlite3_bind_value(copy, i + 1, sqlite3_column_value(row, i));
    return code == SQLITE_OK ? rps_database_run(copy) : code;
}

int rps_database_copy(sqlite3 *from, const char *select, int64_t run_id, sqlite3 *to,
                      const char *insert)
{
    sqlite3_stmt *copy = NULL;
    int code = rps_database_prepare(to, insert, &copy);

    if (code == SQLITE_OK)
        code = rps_database_each(from, select, run_id, copy_row, copy);
    sqlite3_finalize(copy);
    return code;
}

int rps_database_space(sqlite3 *db, uint64_t *ret_bytes, uint64_t *ret_free_bytes)
{
    int64_t bytes = 0, pages = 0, unused = 0;
    int code = rps_database_ask(db, &bytes, "PRAGMA page_size", "");

    if (code == SQLITE_OK)
        code = rps_database_ask(db, &pages, "PRAGMA page_count", "");
    if (code == SQLITE_OK)
        code = rps_database_ask(db, &unused, "PRAGMA freelist_count", "");
    *ret_bytes = (uint64_t)(bytes * pages);
    *ret_free_bytes = (uint64_t)(bytes * unused);
    return code;
}

static int count_steps(void *context)
{
    struct rps_step_limit *limit = context;

    return ++limit->calls > limit->calls_max;
}

void rps_database_limit_steps(sqlite3 *db, struct rps_step_limit *limit)
{
    *limit = (struct rps_step_limit){.calls_max = CALLS_MAX};
    sqlite3_progress_handler(db, STEPS_A_CALL, count_steps, limit);
}

int rps_database_index(sqlite3_stmt *stmt, int column, int64_t count)
{
    int64_t value = sqlite3_column_int64(stmt, column);

    return value >= 0 && value < count ? (int)value : -1;
}

/* Return the operating system's error (errno) that caused an SQLite error, or 0. SQLite does not
 * keep errno when a commit fails, but the file objects of the store keep it. */
static int system_error(sqlite3 *db)
{
    sqlite3_file *log = NULL;
    int number = 0;

    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK && log &&
        log->pMethods && log->pMethods->xFileControl) /* in-memory files have no methods */
        log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &number);
    if (number == 0)
        sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &number);
    return number != 0 ? number : sqlite3_system_errno(db);
}

int rps_database_bound_log(sqlite3 *db, int64_t pages)
{
    int64_t page_bytes = 0;
    char sql[128];
    int code = rps_database_ask(db, &page_bytes, "PRAGMA page_size", "");

    /* pragmas take no parameters */
    snprintf(sql, sizeof(sql), "PRAGMA wal_autocheckpoint = %d; PRAGMA journal_size_limit = %lld",
             (int)pages, (long long)(pages * page_bytes));
    return code == SQLITE_OK ? rps_database_exec(db, sql) : code;
}

int rps_database_code(sqlite3 *db, int code)
{
    int number = db && (code & 0xff) == SQLITE_IOERR ? system_error(db) : 0;

    return number == ENOSPC || number == EDQUOT || number == EFBIG ? SQLITE_FULL : code;
}

const char *rps_database_reason(sqlite3 *db, int code)
{
    int number = 0;

    if (code == SQLITE_READONLY_DBMOVED)
        return "it was deleted, moved or replaced";
    switch (rps_database_code(db, code) & 0xff) {
    case SQLITE_FULL:
        return "its disk is full";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "another program holds its lock";
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        number = db ? system_error(db) : 0;
        break;
    default:
        break;
    }
    if (number != 0)
        return strerror(number);
    return db && sqlite3_errcode(db) == code ? sqlite3_errmsg(db) : sqlite3_errstr(code);
}

int rps_database_error(sqlite3 *db, int code, const char *path, struct rps_error *err)
{
    const char *why = rps_database_reason(db, code);

    if (db && rps_unchanging_has_changed(db))
        return rps_error_set(err, RPS_FAILED,
                             "the store %s was changed while it was read; start the command again",
                             path);
    switch (rps_database_code(db, code) & 0xff) {
    case SQLITE_NOMEM:
        return rps_error_memory(err);
    case SQLITE_FULL:
        return rps_error_set(err, RPS_FAILED,
                             "cannot write the store %s: its disk is full; free some space, or "
                             "choose a store on another disk",
                             path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return rps_error_set(err, RPS_BUSY,
                             "the store %s is locked by another program; wait for that program, or "
                             "choose another store",
                             path);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        return rps_error_set(err, RPS_FAILED,
                             "the store %s is damaged (%s); save its data with `rpistat check "
                             "--repair -i %s -o NEW`",
                             path, why, path);
    case SQLITE_READONLY:
        return rps_error_set(err, RPS_FAILED,
                             "cannot write the store %s: %s; change its permissions or those of "
                             "its directory, or choose another store",
                             path, why);
    case SQLITE_INTERRUPT:
        return rps_error_set(err, RPS_FAILED,
                             "a query of the store %s takes too long: another program may have "
                             "changed its tables; run `rpistat check -i %s`",
                             path, path);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return rps_error_set(err, RPS_FAILED,
                             "cannot use the store %s: %s; check its disk and its permissions, or "
                             "choose another store",
                             path, why);
    default:
        return rps_error_set(err, RPS_FAILED,
                             "the store %s is not as rpistat made it: %s; run `rpistat check` to "
                             "find out whether it is damaged",
                             path, why);
    }
}
