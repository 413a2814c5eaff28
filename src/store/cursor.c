/*
 * Cursors over the periods of a run.
 *
 * The part of the run is chosen here and not by SQL: times are not in the key of the table, so that
 * SQLite would look at every row as well. A statement that is being stepped holds one state of the
 * store, whatever is written meanwhile.
 */
#include "reader.h"

#include <inttypes.h>
#include <stdlib.h>

#include "database.h"
#include "period_row.h"

struct rps_cursor {
    struct rps_reader *reader;
    sqlite3_stmt *stmt;
    int64_t run_id;
    int64_t from_ns, to_ns;
    int64_t set_count;
};

/* The statement for sets of at most `slots` events: a column that is not asked for costs nothing.
 */
static const char *sql_for(int64_t slots)
{
#define SELECT(counts)                                                                             \
    "SELECT " RPS_ROW_COLUMNS ", " counts " FROM period WHERE run_id = ?1"                         \
    " ORDER BY cpu, cycle, period"
    if (slots <= 2)
        return SELECT("c0, c1");
    if (slots <= 4)
        return SELECT("c0, c1, c2, c3");
    return SELECT("c0, c1, c2, c3, c4, c5, c6, c7");
#undef SELECT
}

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
    code = sqlite3_step(stmt);
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
    int64_t slots = 0;
    int result;

    if (!cursor)
        return rps_error_memory(err);
    cursor->reader = reader;
    cursor->run_id = run_id;
    cursor->from_ns = from_ns;
    cursor->to_ns = to_ns;
    result = read_shape(reader, run_id, &cursor->set_count, &slots, err);
    if (result == 0)
        result = rps_reader_prepare(reader, sql_for(slots), run_id, &cursor->stmt, err);
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
    sqlite3_finalize(cursor->stmt);
    free(cursor);
}

static int damaged(const struct rps_cursor *cursor, const struct rps_row_fault *fault,
                   struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED,
                         "the store %s is damaged: period %lld of run %" PRId64 " has %s %" PRId64
                         "; `rpistat check` says more, its other runs may be good",
                         cursor->reader->path,
                         (long long)sqlite3_column_int64(cursor->stmt, RPS_ROW_PERIOD),
                         cursor->run_id, fault->name, fault->value);
}

int rps_cursor_next(struct rps_cursor *cursor, struct rps_period *ret, struct rps_error *err)
{
    struct rps_row_fault fault;
    struct rps_period period;
    int64_t middle_ns;
    int code;

    while ((code = sqlite3_step(cursor->stmt)) == SQLITE_ROW) {
        if (rps_row_read(cursor->stmt, cursor->set_count, &period, &fault) < 0)
            return damaged(cursor, &fault, err);
        middle_ns = period.start_ns + period.length_ns / 2;
        if (middle_ns >= cursor->from_ns && middle_ns < cursor->to_ns) {
            *ret = period;
            return 1;
        }
    }
    return code == SQLITE_DONE ? 0 : rps_reader_error(cursor->reader, code, err);
}
