/* The reader's connection, and statements that the reader's files share. */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

#include "identity.h"
#include "rpistat/arena.h"

int rps_reader_error(struct rps_reader *reader, int code, struct rps_error *err)
{
    return rps_database_error(reader->db, code, reader->path, err);
}

int rps_reader_prepare(struct rps_reader *reader, const char *sql, int64_t run_id,
                       sqlite3_stmt **ret, struct rps_error *err)
{
    sqlite3_stmt *stmt = NULL;
    int code = sql ? sqlite3_prepare_v2(reader->db, sql, -1, &stmt, NULL) : SQLITE_NOMEM;

    if (code != SQLITE_OK)
        return rps_reader_error(reader, code, err);
    if (sqlite3_bind_parameter_count(stmt) > 0)
        sqlite3_bind_int64(stmt, 1, run_id);
    *ret = stmt;
    return 0;
}

int rps_reader_step(struct rps_reader *reader, sqlite3_stmt *stmt)
{
    int code = rps_database_step(stmt);

    reader->limit.calls = 0;
    if (code == SQLITE_DONE && rps_unchanging_has_changed(reader->db))
        return SQLITE_BUSY_SNAPSHOT; /* it is unknown which state of the store was read */
    return code;
}

int rps_reader_hold(struct rps_reader *reader, sqlite3_stmt **ret, struct rps_error *err)
{
    int code, result = rps_reader_prepare(reader, "SELECT 1 FROM sqlite_schema", 0, ret, err);

    if (result == 0 && (code = rps_reader_step(reader, *ret)) != SQLITE_ROW)
        result = rps_reader_error(reader, code, err);
    return result;
}

int rps_reader_step_all(struct rps_reader *reader, sqlite3_stmt *stmt, rps_reader_row *row,
                        void *context, struct rps_error *err)
{
    int code, result = 0;

    while (result == 0 && (code = rps_reader_step(reader, stmt)) != SQLITE_DONE)
        result = code == SQLITE_ROW ? row(context, stmt, err) : rps_reader_error(reader, code, err);
    return result;
}

int rps_reader_each(struct rps_reader *reader, const char *sql, int64_t run_id, int64_t number,
                    rps_reader_row *row, void *context, struct rps_error *err)
{
    sqlite3_stmt *stmt = NULL;
    int result = rps_reader_prepare(reader, sql, run_id, &stmt, err);

    if (result == 0) {
        if (sqlite3_bind_parameter_count(stmt) > 1)
            sqlite3_bind_int64(stmt, 2, number);
        result = rps_reader_step_all(reader, stmt, row, context, err);
    }
    sqlite3_finalize(stmt);
    return result;
}

int rps_reader_open(struct rps_reader **ret, const char *path, struct rps_error *err)
{
    struct rps_reader *reader = rps_arena_loose(1, sizeof(*reader));

    reader->path = strcpy(rps_arena_loose(strlen(path) + 1, 1), path);
    if (rps_database_open_read(path, &reader->db, err) < 0) {
        rps_reader_close(reader);
        return RPS_FAILED;
    }
    rps_database_limit_steps(reader->db, &reader->limit);
    reader->keeps = 1;
    *ret = reader;
    return 0;
}

void rps_reader_close(struct rps_reader *reader)
{
    if (!reader)
        return;
    if (reader->left)
        reader->free_left(reader->left);
    for (int i = 0; i < RPS_READER_KEPT_COUNT; i++)
        sqlite3_finalize(reader->kept[i]);
    sqlite3_close_v2(reader->db); /* SQLite closes the connection when its last cursor is closed */
    if (reader->db)
        rps_database_tidy(reader->path);
    free(reader->path);
    free(reader);
}

void *rps_reader_leave(struct rps_reader *reader, void *left, void (*free_left)(void *))
{
    void *before = reader->left;

    reader->left = left;
    reader->free_left = free_left;
    return before;
}
