/*
 * Cursors over the periods of a run.
 *
 * Rows come from a walk through the pages where that is possible, and else from SQL. Both hold one
 * state of the store, whatever is written meanwhile.
 */
#include "reader.h"

#include <inttypes.h>
#include <stdlib.h>

#include "database.h"
#include "period_row.h"
#include "period_select.h"
#include "period_walk.h"

struct rps_cursor {
    struct rps_reader *reader;
    struct rps_walk *walk; /* or NULL, and then select */
    struct rps_select *select;
    int64_t run_id;
    int64_t from_ns, to_ns;
    int64_t set_count;
};

/* What the cursor must know of the run: its sets, and the most slots any has. */
static int read_shape(struct rps_reader *reader, int64_t run_id, int64_t *ret_sets,
                      int64_t *ret_slots, struct rps_error *err)
{
    sqlite3_stmt *stmt = NULL;
    int code,
        result = rps_reader_prepare(reader,
                                    "SELECT (SELECT count(*) FROM event_set WHERE run_id = ?1),"
                                    " (SELECT max(slot) + 1 FROM event WHERE run_id = ?1)",
                                    run_id, &stmt, err);

    if (result < 0)
        return result;
    code = rps_reader_step(reader, stmt);
    if (code == SQLITE_ROW) {
        *ret_sets = sqlite3_column_int64(stmt, 0);
        *ret_slots = sqlite3_column_int64(stmt, 1);
    } else {
        result = rps_reader_error(reader, code, err);
    }
    sqlite3_finalize(stmt);
    return result;
}

int rps_cursor_open(struct rps_cursor **ret, struct rps_reader *reader, int64_t run_id,
                    int64_t from_ns, int64_t to_ns, struct rps_error *err)
{
    struct rps_cursor *cursor = calloc(1, sizeof(*cursor));
    struct rps_select_options options = {.run_id = run_id, .from_ns = from_ns, .to_ns = to_ns};
    int code = SQLITE_OK, result;

    if (!cursor)
        return rps_error_memory(err);
    cursor->reader = reader;
    cursor->run_id = run_id;
    cursor->from_ns = from_ns;
    cursor->to_ns = to_ns;
    result = read_shape(reader, run_id, &cursor->set_count, &options.slots, err);
    if (result == 0 && !rps_walk_open(&cursor->walk, reader->db, run_id))
        code = rps_select_open(&cursor->select, reader->db, &options);
    if (code != SQLITE_OK)
        result = rps_reader_error(reader, code, err);
    if (result < 0) {
        rps_cursor_close(cursor);
        return result;
    }
    *ret = cursor;
    return 0;
}

void rps_cursor_close(struct rps_cursor *cursor)
{
    if (!cursor)
        return;
    rps_select_close(cursor->select);
    rps_walk_close(cursor->walk);
    free(cursor);
}

static int damaged(const struct rps_cursor *cursor, const struct rps_row *row,
                   const struct rps_row_fault *fault, struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED,
                         "the store %s is damaged: period %" PRId64 " of run %" PRId64
                         " has %s %" PRId64
                         "; `rpistat check` says more, its other runs may be good",
                         cursor->reader->path, row->value[RPS_ROW_PERIOD], cursor->run_id,
                         fault->name, fault->value);
}

/* 1; 0 at the end; RPS_FAILED. */
static int next_row(struct rps_cursor *cursor, struct rps_row *ret, struct rps_error *err)
{
    int code;

    if (cursor->walk) {
        code = rps_walk_next(cursor->walk, ret);
        return code >= 0 ? code : rps_reader_error(cursor->reader, SQLITE_CORRUPT, err);
    }
    code = rps_select_next(cursor->select, ret);
    cursor->reader->limit.calls = 0;
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return rps_reader_error(cursor->reader, code, err);
    return code == SQLITE_ROW;
}

int rps_cursor_next(struct rps_cursor *cursor, struct rps_period *ret, struct rps_error *err)
{
    struct rps_row_fault fault;
    struct rps_period period;
    struct rps_row row;
    int64_t middle_ns;
    int result;

    while ((result = next_row(cursor, &row, err)) == 1) {
        if (rps_row_period(&row, cursor->set_count, &period, &fault) < 0)
            return damaged(cursor, &row, &fault, err);
        middle_ns = period.start_ns + period.length_ns / 2;
        if (middle_ns >= cursor->from_ns && middle_ns < cursor->to_ns) {
            *ret = period;
            return 1;
        }
    }
    return result;
}
