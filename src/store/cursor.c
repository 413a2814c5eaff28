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
#include <string.h>

#include "database.h"

/* Beyond it nothing was measured, and sums of two times would overflow. */
#define TIME_MAX_NS (INT64_MAX / 4)

enum column {
    CPU,
    CYCLE,
    PERIOD,
    SET_NO,
    START_NS,
    LENGTH_NS,
    CYCLES,
    ENABLED_NS,
    RUNNING_NS,
    SWITCH_NS,
    MISSED,
    COUNT_FIRST,
};

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
    "SELECT cpu, cycle, period, set_no, start_ns, length_ns, cycles, enabled_ns, running_ns,"      \
    " switch_ns, missed, " counts " FROM period WHERE run_id = ?1 ORDER BY cpu, cycle, period"
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

static int damaged(const struct rps_cursor *cursor, const char *what, int64_t value,
                   struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED,
                         "the store %s is damaged: period %lld of run %" PRId64 " has %s %" PRId64
                         "; its other runs may be good",
                         cursor->reader->path,
                         (long long)sqlite3_column_int64(cursor->stmt, PERIOD), cursor->run_id,
                         what, value);
}

/* Numbers that no recorder writes; name[i] is column i. */
static int check_row(const struct rps_cursor *cursor, const int64_t value[COUNT_FIRST],
                     struct rps_error *err)
{
    static const char *const name[] = {"cpu",        "cycle",     "number", "set_no",
                                       "start_ns",   "length_ns", "cycles", "enabled_ns",
                                       "running_ns", "switch_ns", "missed"};

    if (value[CPU] < RPS_CPU_ALL || value[CPU] > INT32_MAX)
        return damaged(cursor, name[CPU], value[CPU], err);
    for (int i = CYCLE; i < COUNT_FIRST; i++) {
        if (value[i] < 0)
            return damaged(cursor, name[i], value[i], err);
    }
    if (value[SET_NO] >= cursor->set_count)
        return damaged(cursor, name[SET_NO], value[SET_NO], err);
    if (value[START_NS] > TIME_MAX_NS)
        return damaged(cursor, name[START_NS], value[START_NS], err);
    if (value[LENGTH_NS] > TIME_MAX_NS)
        return damaged(cursor, name[LENGTH_NS], value[LENGTH_NS], err);
    if (value[MISSED] > UINT32_MAX)
        return damaged(cursor, name[MISSED], value[MISSED], err);
    return 0;
}

static int read_counts(const struct rps_cursor *cursor, struct rps_period *ret,
                       struct rps_error *err)
{
    int columns = sqlite3_column_count(cursor->stmt);

    for (int i = COUNT_FIRST; i < columns; i++) {
        int64_t count;

        if (sqlite3_column_type(cursor->stmt, i) == SQLITE_NULL)
            continue;
        count = sqlite3_column_int64(cursor->stmt, i);
        if (count < 0)
            return damaged(cursor, "the count", count, err);
        ret->count[i - COUNT_FIRST] = (uint64_t)count;
        ret->counted |= 1u << (i - COUNT_FIRST);
    }
    return 0;
}

static int read_row(const struct rps_cursor *cursor, const int64_t value[COUNT_FIRST],
                    struct rps_period *ret, struct rps_error *err)
{
    struct rps_period period = {
        .cpu = (int32_t)value[CPU],
        .set_no = (uint32_t)value[SET_NO],
        .period = (uint64_t)value[PERIOD],
        .cycle = (uint64_t)value[CYCLE],
        .cycles = (uint64_t)value[CYCLES],
        .start_ns = value[START_NS],
        .length_ns = value[LENGTH_NS],
        .enabled_ns = (uint64_t)value[ENABLED_NS],
        .running_ns = (uint64_t)value[RUNNING_NS],
        .switch_ns = value[SWITCH_NS],
        .missed = (uint32_t)value[MISSED],
    };

    if (read_counts(cursor, &period, err) < 0)
        return RPS_FAILED;
    *ret = period;
    return 1;
}

int rps_cursor_next(struct rps_cursor *cursor, struct rps_period *ret, struct rps_error *err)
{
    int64_t value[COUNT_FIRST], middle_ns;
    int code;

    while ((code = sqlite3_step(cursor->stmt)) == SQLITE_ROW) {
        for (int i = 0; i < COUNT_FIRST; i++)
            value[i] = sqlite3_column_int64(cursor->stmt, i);
        if (check_row(cursor, value, err) < 0)
            return RPS_FAILED;
        middle_ns = value[START_NS] + value[LENGTH_NS] / 2;
        if (middle_ns >= cursor->from_ns && middle_ns < cursor->to_ns)
            return read_row(cursor, value, ret, err);
    }
    return code == SQLITE_DONE ? 0 : rps_reader_error(cursor->reader, code, err);
}
