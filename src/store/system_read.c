/* Cursors over the readings of a source, at a resolution.
 *
 * A cursor advances by period numbers and seeks the next rows of all levels. Rows of several levels
 * may begin at the cursor's position. All these rows include the same readings up to the end of the
 * finest row. The cursor returns one of these rows. All finer rows of a block are deleted together.
 * At each finer level, either all rows within the block exist, or none. */
#include "system.h"

#include <inttypes.h>
#include <stdlib.h>

#include "reader.h"
#include "rpistat/arena.h"
#include "rpistat/clock.h"

/* Number of rows to step over before a statement seeks. */
#define STEP_ROWS 4

struct rows {
    sqlite3_stmt *stmt;
    int open; /* 1 if `next` holds a row, 0 before the first seek, -1 at the end */
    struct rps_system_row next;
};

struct rps_system_cursor {
    struct rps_reader *reader;
    int64_t run_id, from_ns, to_ns;
    int resolution;
    uint64_t at;   /* number of the next period */
    uint64_t last; /* highest period number for blocks */
    sqlite3_stmt *hold;
    struct rows rows[RPS_LEVELS + 1];
};

static int prepare(struct rps_system_cursor *cursor, enum rps_system_source source,
                   struct rps_error *err)
{
    struct rps_reader *reader = cursor->reader;
    int64_t slots = RPS_SYSTEM_SLOT_MAX;
    int code, result = rps_reader_hold(reader, &cursor->hold, err);

    if (result == 0 &&
        (code = rps_database_ask(reader->db, &slots,
                                 "SELECT coalesce(max(slot) + 1, ?3) FROM signal"
                                 " WHERE run_id = ?1 AND source = ?2"
                                 " AND (state = 'read' OR readings > 0)",
                                 "iii", cursor->run_id, (int64_t)source, slots)) != SQLITE_OK)
        result = rps_reader_error(reader, code, err);
    for (int level = 0; level <= RPS_LEVELS && result == 0; level++) {
        struct rows *rows = &cursor->rows[level];

        rows->next = (struct rps_system_row){.source = source, .level = level};
        result = rps_reader_prepare(reader, rps_system_row_select(level, slots), cursor->run_id,
                                    &rows->stmt, err);
        if (result == 0) {
            sqlite3_bind_int64(rows->stmt, 2, source);
            sqlite3_bind_int64(rows->stmt, 3, level);
        }
    }
    return result;
}

int rps_system_cursor_open(struct rps_system_cursor **ret, struct rps_reader *reader,
                           int64_t run_id, enum rps_system_source source, int64_t from_ns,
                           int64_t to_ns, int resolution, struct rps_error *err)
{
    struct rps_system_cursor *cursor = rps_arena_loose(1, sizeof(*cursor));
    int result;

    *ret = NULL;
    cursor->reader = reader;
    cursor->run_id = run_id;
    cursor->from_ns = from_ns;
    cursor->to_ns = to_ns;
    cursor->last = UINT64_MAX;
    cursor->resolution = resolution < 0 ? 0 : resolution < RPS_LEVELS ? resolution : RPS_LEVELS;
    result = prepare(cursor, source, err);
    if (result < 0) {
        rps_system_cursor_close(cursor);
        return result;
    }
    *ret = cursor;
    return 0;
}

void rps_system_cursor_close(struct rps_system_cursor *cursor)
{
    if (!cursor)
        return;
    for (int level = 0; level <= RPS_LEVELS; level++)
        sqlite3_finalize(cursor->rows[level].stmt);
    sqlite3_finalize(cursor->hold);
    free(cursor);
}

static int step(struct rps_system_cursor *cursor, struct rows *rows, struct rps_error *err)
{
    int code = rps_reader_step(cursor->reader, rows->stmt);

    rows->open = code == SQLITE_ROW ? 1 : -1;
    if (code == SQLITE_DONE)
        return 0;
    if (code != SQLITE_ROW)
        return rps_reader_error(cursor->reader, code, err);
    if (!rps_system_row_read(rows->stmt, &rows->next))
        return rps_error_set(
            err, RPS_FAILED,
            "the store %s is damaged: a reading of run %" PRId64
            " has an invalid number; use its other runs, or `rpistat check --repair`",
            cursor->reader->path, cursor->run_id);
    return 0;
}

/* Move a level to its first row that begins at or after the cursor's position. */
static int seek(struct rps_system_cursor *cursor, struct rows *rows, struct rps_error *err)
{
    for (int i = 0; rows->open == 1 && rows->next.period < cursor->at; i++) {
        if (i == STEP_ROWS)
            rows->open = 0;
        else if (step(cursor, rows, err) < 0)
            return RPS_FAILED;
    }
    if (rows->open != 0)
        return 0;
    sqlite3_reset(rows->stmt);
    sqlite3_bind_int64(rows->stmt, 4, (int64_t)cursor->at);
    return step(cursor, rows, err);
}

static int64_t start_ns(const struct rps_system_row *row)
{
    return row->end_ns - row->length_us * RPS_NS_PER_US;
}

static int has_middle_inside(const struct rps_system_cursor *cursor,
                             const struct rps_system_row *row)
{
    int64_t middle_ns = row->end_ns - row->length_us * RPS_NS_PER_US / 2;

    return middle_ns >= cursor->from_ns && middle_ns < cursor->to_ns;
}

/* Choose among the rows that begin at the cursor's position: the coarsest permitted row, otherwise
 * the finest. *ret_coarsest is the coarsest row of all. Returns NULL if no rows remain. */
static const struct rps_system_row *choose(const struct rps_system_cursor *cursor,
                                           const struct rps_system_row **ret_coarsest)
{
    const struct rps_system_row *chosen = NULL, *finest = NULL;
    uint64_t place = UINT64_MAX;

    for (int level = 0; level <= RPS_LEVELS; level++)
        if (cursor->rows[level].open == 1 && cursor->rows[level].next.period < place)
            place = cursor->rows[level].next.period;
    for (int level = 0; level <= RPS_LEVELS; level++) {
        const struct rps_system_row *row = &cursor->rows[level].next;

        if (cursor->rows[level].open != 1 || row->period != place)
            continue;
        finest = finest ? finest : row;
        *ret_coarsest = row;
        if (level <= cursor->resolution && row->last_period <= cursor->last &&
            start_ns(row) >= cursor->from_ns && row->end_ns <= cursor->to_ns)
            chosen = row;
    }
    return chosen ? chosen : finest;
}

void rps_system_cursor_limit(struct rps_system_cursor *cursor, uint64_t last)
{
    cursor->last = last;
}

int rps_system_cursor_next(struct rps_system_cursor *cursor, struct rps_system_row *ret,
                           struct rps_error *err)
{
    for (;;) {
        const struct rps_system_row *row, *coarsest = NULL;

        for (int level = 0; level <= RPS_LEVELS; level++)
            if (seek(cursor, &cursor->rows[level], err) < 0)
                return RPS_FAILED;
        row = choose(cursor, &coarsest);
        if (!row || start_ns(row) >= cursor->to_ns)
            return 0;
        if (coarsest->end_ns <= cursor->from_ns) {
            cursor->at = coarsest->last_period + 1;
            continue;
        }
        cursor->at = row->last_period + 1;
        if (has_middle_inside(cursor, row)) {
            *ret = *row;
            return 1;
        }
    }
}

/* --- signals ---------------------------------------------------------------------------------- */

struct signals {
    struct rps_system_state *state;
    struct rps_system_row *total;
    int count;
};

static int add_signal(void *context, sqlite3_stmt *stmt, struct rps_error *err)
{
    struct signals *signals = context;
    int slot = rps_database_index(stmt, 0, RPS_SYSTEM_SLOT_MAX);

    (void)err;
    if (slot < 0)
        return 0;
    signals->count++;
    if (sqlite3_column_int(stmt, 1))
        signals->state->supported |= UINT32_C(1) << slot;
    rps_fields_copy_text(stmt, 2, signals->state->reason[slot],
                         sizeof(signals->state->reason[slot]));
    if (sqlite3_column_int64(stmt, 4) <= 0)
        return 0;
    signals->total->sum[slot] = sqlite3_column_int64(stmt, 3);
    signals->total->readings[slot] = (uint64_t)sqlite3_column_int64(stmt, 4);
    signals->total->lowest[slot] = (double)sqlite3_column_int64(stmt, 5);
    signals->total->highest[slot] = (double)sqlite3_column_int64(stmt, 6);
    return 0;
}

int rps_reader_system(struct rps_reader *reader, int64_t run_id, enum rps_system_source source,
                      struct rps_system_state *ret_state, struct rps_system_row *ret_total,
                      struct rps_error *err)
{
    struct signals signals = {ret_state, ret_total, 0};

    *ret_state = (struct rps_system_state){.source = source};
    *ret_total = (struct rps_system_row){.source = source};
    if (rps_reader_each(reader,
                        "SELECT slot, state = 'read', reason, total, readings, lowest, highest"
                        " FROM signal WHERE run_id = ?1 AND source = ?2",
                        run_id, source, add_signal, &signals, err) < 0)
        return RPS_FAILED;
    return signals.count > 0;
}
