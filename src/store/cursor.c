/* Cursors that read the periods of a run at a requested resolution.
 *
 * A cursor reads one CPU after another. It reads the rows of a CPU in the order of period numbers.
 * At each position the cursor returns the coarsest block that begins at this position, is not
 * coarser than requested, and lies in the requested range. If there is no such block, the cursor
 * tries the next finer levels, down to table period. It reads finer rows only up to the beginning
 * of the next coarser block. Deleted finer rows cause no gap, because a coarser row replaces them.
 * Table `thinned` records where the deleted range ends.
 *
 * Times are not in the keys of tables period and rollup, but a row with a later key has a later
 * time. To skip the rows before the requested range, the cursor reads blocks instead of periods,
 * beginning with the coarsest level. In a run of any length the cursor then reads only some dozens
 * of blocks. */
#include "reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "period.h"
#include "rpistat/arena.h"
#include "rpistat/moments.h"

/* Maximum number of rows that a statement steps over. To skip more rows, the statement seeks. */
#define STEP_ROWS 64

/* Rows of one level that the cursor still has to read. */
struct rows {
    sqlite3_stmt *stmt;         /* query for the rows; prepared at the first seek */
    int open;                   /* 1: `next` holds a row; 0: before the first seek; -1: the end */
    struct rps_period next;     /* next row of the table */
    struct rps_scatter scatter; /* scatter of the row in `next` */
};

struct rps_cursor {
    struct rps_reader *reader;
    int64_t run_id, from_ns, to_ns, set_count, slots;
    int resolution;
    sqlite3_stmt *hold, *next_cpu, *thinned, *has_block;
    struct rows rows[RPS_LEVELS + 1];

    /* The CPU that the cursor is reading, and the cursor's position in the rows of this CPU. */
    int64_t cpu;
    int in_cpu, one_cpu; /* one_cpu: 1 to read only the CPU `chosen` */
    int in_part;         /* 1 after the first row in the requested range */
    int64_t chosen;
    int64_t at, cycle;            /* next period number; lowest cycle timestamp of this period */
    int64_t before[RPS_LEVELS];   /* per level: end of the downsampled rows */
    struct rps_period *block;     /* owned; rows of the current block, returned one by one */
    struct rps_scatter *scatter;  /* owned; scatters of the rows in `block` */
    size_t block_count, block_at; /* number of rows in `block`; index of the next row to return */
    int64_t first_ns, last_ns;    /* start and end of all blocks returned so far */
};

/* --- opening ---------------------------------------------------------------------------------- */

/* Read the number of the run's event sets, and the highest number of slots in a set. */
static int read_shape(struct rps_cursor *cursor, struct rps_error *err)
{
    sqlite3 *db = cursor->reader->db;
    int code =
        rps_database_ask(db, &cursor->set_count, "SELECT count(*) FROM event_set WHERE run_id = ?1",
                         "i", cursor->run_id);

    if (code == SQLITE_OK)
        code = rps_database_ask(db, &cursor->slots,
                                "SELECT max(slot) + 1 FROM event WHERE run_id = ?1", "i",
                                cursor->run_id);
    return code == SQLITE_OK ? 0 : rps_reader_error(cursor->reader, code, err);
}

/* `slots`: highest number of events in a set. A column that is not selected costs no time. The
 * counts come first, because SQLite then finds the places of all columns at once. */
static const char *rows_sql(int level, int64_t slots)
{
#define PERIODS(counts)                                                                            \
    "SELECT " counts ", " RPS_PERIOD_COLUMNS " FROM period WHERE run_id = ?1 AND cpu = ?2"         \
    " AND (cycle, period) >= (?3, ?4) ORDER BY cycle, period"
#define ROLLUPS                                                                                    \
    "SELECT " RPS_PERIOD_ROLLUP                                                                    \
    " FROM rollup WHERE run_id = ?1 AND cpu = ?2 AND level = ?3 AND period >= ?4 ORDER BY period"
    if (level > 0)
        return ROLLUPS;
    return slots <= 2   ? PERIODS("c0, c1")
           : slots <= 4 ? PERIODS("c0, c1, c2, c3")
                        : PERIODS(RPS_PERIOD_COUNTS);
#undef PERIODS
#undef ROLLUPS
}

static int prepare_statements(struct rps_cursor *cursor, struct rps_error *err)
{
#define BLOCKS(level)                                                                              \
    " UNION ALL SELECT min(cpu) FROM rollup WHERE run_id = ?1 AND level = " level " AND cpu > ?2"
    struct {
        sqlite3_stmt **stmt;
        const char *sql;
    } const statements[] = {
        {&cursor->next_cpu,
         "SELECT min(cpu) FROM (SELECT min(cpu) AS cpu FROM period"
         " WHERE run_id = ?1 AND cpu > ?2" BLOCKS("1") BLOCKS("2") BLOCKS("3") BLOCKS("4") ")"},
        {&cursor->thinned, "SELECT level, before_period FROM thinned WHERE run_id = ?1"
                           " AND cpu = ?2"},
        {&cursor->has_block, "SELECT 1 FROM rollup WHERE run_id = ?1 AND level = ?3 AND cpu = ?2"
                             " AND period >= ?4 LIMIT 1"},
    };
#undef BLOCKS
    struct rps_reader *reader = cursor->reader;
    int result = rps_reader_hold(reader, &cursor->hold, err);

    if (result == 0)
        result = read_shape(cursor, err);
    for (size_t i = 0; i < RPS_COUNT(statements) && result == 0; i++)
        result =
            rps_reader_prepare(reader, statements[i].sql, cursor->run_id, statements[i].stmt, err);
    return result;
}

int rps_cursor_open(struct rps_cursor **ret, struct rps_reader *reader, int64_t run_id,
                    int64_t from_ns, int64_t to_ns, int resolution, struct rps_error *err)
{
    struct rps_cursor *cursor = rps_arena_loose(1, sizeof(*cursor));
    int result;

    cursor->reader = reader;
    cursor->run_id = run_id;
    cursor->from_ns = from_ns;
    cursor->to_ns = to_ns;
    cursor->resolution = resolution < 0 ? 0 : resolution < RPS_LEVELS ? resolution : RPS_LEVELS;
    cursor->cpu = INT64_MIN;
    cursor->first_ns = INT64_MAX;
    cursor->last_ns = INT64_MIN;
    result = prepare_statements(cursor, err);
    if (result == 0) {
        /* a damaged store cannot have more sets than any plan has */
        if (cursor->set_count > RPS_READER_SETS_MAX)
            cursor->set_count = RPS_READER_SETS_MAX;
        cursor->block = rps_arena_loose((size_t)cursor->set_count, sizeof(*cursor->block));
        cursor->scatter = rps_arena_loose((size_t)cursor->set_count, sizeof(*cursor->scatter));
        *ret = cursor;
    } else {
        rps_cursor_close(cursor);
    }
    return result;
}

void rps_cursor_close(struct rps_cursor *cursor)
{
    if (!cursor)
        return;
    for (int level = 0; level <= RPS_LEVELS; level++)
        sqlite3_finalize(cursor->rows[level].stmt);
    sqlite3_finalize(cursor->has_block);
    sqlite3_finalize(cursor->thinned);
    sqlite3_finalize(cursor->next_cpu);
    sqlite3_finalize(cursor->hold);
    free(cursor->block);
    free(cursor->scatter);
    free(cursor);
}

void rps_cursor_choose_cpu(struct rps_cursor *cursor, int32_t cpu)
{
    cursor->one_cpu = 1;
    cursor->chosen = cpu;
    cursor->cpu = (int64_t)cpu - 1;
}

int rps_cursor_widened(const struct rps_cursor *cursor, int64_t *ret_from_ns, int64_t *ret_to_ns)
{
    int widened = cursor->first_ns < cursor->from_ns ||
                  (cursor->to_ns < INT64_MAX && cursor->last_ns > cursor->to_ns);

    if (widened) {
        *ret_from_ns = cursor->first_ns < cursor->from_ns ? cursor->first_ns : cursor->from_ns;
        *ret_to_ns = cursor->last_ns > cursor->to_ns ? cursor->last_ns : cursor->to_ns;
    }
    return widened;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Step to the next row of the level. rows->open records whether there is one. */
static int step_level(struct rps_cursor *cursor, int level, struct rps_error *err)
{
    struct rows *rows = &cursor->rows[level];
    struct rps_period_fault fault;
    int code = rps_reader_step(cursor->reader, rows->stmt);

    rows->open = code == SQLITE_ROW ? 1 : -1;
    if (code == SQLITE_DONE)
        return 0;
    if (code != SQLITE_ROW)
        return rps_reader_error(cursor->reader, code, err);
    if (rps_period_read(rows->stmt, level, cursor->set_count, &rows->next, &rows->scatter, &fault) <
        0)
        return rps_error_set(
            err, RPS_FAILED,
            "the store %s is damaged: period %" PRId64 " of run %" PRId64 " has %s %" PRId64
            "; use its other runs, or `rpistat check --repair`",
            cursor->reader->path,
            (int64_t)sqlite3_column_int64(rows->stmt, RPS_PERIOD_AT_period +
                                                          rps_period_first(rows->stmt, level)),
            cursor->run_id, fault.name, fault.value);
    return 0;
}

/* Return 1 if the next row of the level must be skipped. A row must be skipped if it is before the
 * cursor's position, or in the same block as the row skipped most recently. */
static int is_passed(const struct rps_cursor *cursor, int level, uint64_t *rotation)
{
    const struct rps_period *next = &cursor->rows[level].next;

    if (cursor->rows[level].open != 1)
        return 0;
    if ((int64_t)next->period >= cursor->at && (level == 0 || next->rotation != *rotation))
        return 0;
    *rotation = next->rotation;
    return 1;
}

/* Return 1 if the level has a row at or after the cursor's position. This query is faster than
 * preparing the statement that selects eighty columns. */
static int has_block(struct rps_cursor *cursor, int level, struct rps_error *err)
{
    sqlite3_stmt *stmt = cursor->has_block;
    int code;

    sqlite3_bind_int64(stmt, 2, cursor->cpu);
    sqlite3_bind_int64(stmt, 3, level);
    sqlite3_bind_int64(stmt, 4, cursor->at - cursor->set_count);
    code = rps_reader_step(cursor->reader, stmt);
    sqlite3_reset(stmt);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return rps_reader_error(cursor->reader, code, err);
    return code == SQLITE_ROW;
}

/* Move a level to the first row at or after cursor->at, or to the first row of that row's block. */
static int seek(struct rps_cursor *cursor, int level, struct rps_error *err)
{
    struct rows *rows = &cursor->rows[level];
    uint64_t rotation = UINT64_MAX; /* rotation of the last skipped row */
    int result = 0;

    for (int i = 0; i < STEP_ROWS; i++) {
        if (rows->open == -1 || (rows->open == 1 && !is_passed(cursor, level, &rotation)))
            return 0;
        if (rows->open == 0)
            break;
        if ((result = step_level(cursor, level, err)) < 0)
            return result;
    }
    if (!rows->stmt && level > 0 && (result = has_block(cursor, level, err)) <= 0) {
        rows->open = -1;
        return result;
    }
    if (!rows->stmt)
        result = rps_reader_prepare(cursor->reader, rows_sql(level, cursor->slots), cursor->run_id,
                                    &rows->stmt, err);
    if (result < 0)
        return result;
    rotation = UINT64_MAX;
    sqlite3_reset(rows->stmt);
    sqlite3_bind_int64(rows->stmt, 2, cursor->cpu);
    sqlite3_bind_int64(rows->stmt, 3, level > 0 ? level : cursor->cycle);
    sqlite3_bind_int64(rows->stmt, 4, level > 0 ? cursor->at - cursor->set_count : cursor->at);
    do {
        result = step_level(cursor, level, err);
    } while (result == 0 && is_passed(cursor, level, &rotation));
    return result;
}

/* --- CPUs ------------------------------------------------------------------------------------- */

static int read_downsampled(struct rps_cursor *cursor, struct rps_error *err)
{
    int code;

    memset(cursor->before, 0, sizeof(cursor->before));
    sqlite3_bind_int64(cursor->thinned, 2, cursor->cpu);
    while ((code = rps_reader_step(cursor->reader, cursor->thinned)) == SQLITE_ROW) {
        int level = rps_database_index(cursor->thinned, 0, RPS_LEVELS);

        if (level >= 0)
            cursor->before[level] = sqlite3_column_int64(cursor->thinned, 1);
    }
    sqlite3_reset(cursor->thinned);
    return code == SQLITE_DONE ? 0 : rps_reader_error(cursor->reader, code, err);
}

/* Move to the next CPU. Returns 1, or 0 after the last CPU. */
static int open_cpu(struct rps_cursor *cursor, struct rps_error *err)
{
    int64_t cpu = cursor->cpu;
    int code, result;

    sqlite3_bind_int64(cursor->next_cpu, 2, cpu);
    code = rps_reader_step(cursor->reader, cursor->next_cpu);
    if (code == SQLITE_ROW && sqlite3_column_type(cursor->next_cpu, 0) == SQLITE_INTEGER)
        cpu = sqlite3_column_int64(cursor->next_cpu, 0);
    sqlite3_reset(cursor->next_cpu);
    if (code != SQLITE_ROW)
        return rps_reader_error(cursor->reader, code, err);
    if (cpu <= cursor->cpu || (cursor->one_cpu && cpu != cursor->chosen))
        return 0; /* no CPU remains, or the CPU number comes from a damaged page */
    cursor->cpu = cpu;
    cursor->at = cursor->cycle = 0;
    for (int level = 0; level <= RPS_LEVELS; level++)
        cursor->rows[level].open = 0;
    cursor->in_part = cursor->from_ns <= 0;
    result = read_downsampled(cursor, err);
    cursor->in_cpu = result == 0;
    return result == 0 ? 1 : result;
}

/* --- one after the other ---------------------------------------------------------------------- */

/* Return the finest level that has remaining rows at the cursor's position. */
static int finest(const struct rps_cursor *cursor)
{
    int level = 0;

    while (level < RPS_LEVELS && cursor->at < cursor->before[level])
        level++;
    return level;
}

/* Read the rows of a block into cursor->block. The block begins with the level's next row. */
static int take_block(struct rps_cursor *cursor, int level, struct rps_error *err)
{
    struct rows *rows = &cursor->rows[level];
    uint64_t rotation = rows->next.rotation;

    cursor->block_count = cursor->block_at = 0;
    while (rows->open == 1 && rows->next.rotation == rotation &&
           cursor->block_count < (size_t)cursor->set_count) {
        struct rps_period *row = &cursor->block[cursor->block_count];
        struct rps_scatter *scatter = &cursor->scatter[cursor->block_count++];

        *row = rows->next;
        if (row->scatter) {
            *scatter = rows->scatter;
            row->scatter = scatter;
        }
        if (step_level(cursor, level, err) < 0)
            return RPS_FAILED;
    }
    return 0;
}

struct extent {
    int64_t start_ns, end_ns, last, cycle;
};

static struct extent extent_of(const struct rps_cursor *cursor)
{
    struct extent all = {INT64_MAX, 0, 0, 0};

    for (size_t i = 0; i < cursor->block_count; i++) {
        const struct rps_period *row = &cursor->block[i];

        all.start_ns = row->start_ns < all.start_ns ? row->start_ns : all.start_ns;
        all.end_ns = row->end_ns > all.end_ns ? row->end_ns : all.end_ns;
        all.last = (int64_t)row->last_period > all.last ? (int64_t)row->last_period : all.last;
        all.cycle = (int64_t)row->cycle > all.cycle ? (int64_t)row->cycle : all.cycle;
    }
    return all;
}

static void pass(struct rps_cursor *cursor, const struct extent *block)
{
    cursor->at = block->last + 1;
    cursor->cycle = block->cycle;
}

enum found {
    FOUND_NOTHING = 0, /* no row found yet: search further */
    FOUND_ROW,         /* a row was stored in *ret */
    FOUND_BLOCK,       /* a block was stored in cursor->block */
    FOUND_END,         /* the CPU's rows or the requested range have ended */
};

/* Try to read a level's block that begins at the cursor's position. *ret_finer is 1 if the caller
 * must try the finer rows. */
static int try_block(struct rps_cursor *cursor, int level, int *ret_finer, struct rps_error *err)
{
    struct extent block;

    *ret_finer = 0;
    if (take_block(cursor, level, err) < 0)
        return RPS_FAILED;
    block = extent_of(cursor);
    if (block.start_ns >= cursor->to_ns) {
        cursor->block_count = 0;
        return FOUND_END;
    }
    if (block.end_ns <= cursor->from_ns) {
        cursor->block_count = 0;
        pass(cursor, &block);
        return FOUND_NOTHING;
    }
    if (level > finest(cursor) && (level > cursor->resolution || block.start_ns < cursor->from_ns ||
                                   block.end_ns > cursor->to_ns)) {
        cursor->block_count = 0;
        *ret_finer = 1;
        return FOUND_NOTHING;
    }
    pass(cursor, &block);
    cursor->in_part = 1;
    cursor->first_ns = block.start_ns < cursor->first_ns ? block.start_ns : cursor->first_ns;
    cursor->last_ns = block.end_ns > cursor->last_ns ? block.end_ns : cursor->last_ns;
    return FOUND_BLOCK;
}

/* Find the first row of table period at or after the cursor's position and before `limit`. */
static int try_period(struct rps_cursor *cursor, int64_t limit, struct rps_period *ret,
                      struct rps_error *err)
{
    struct rows *rows = &cursor->rows[0];
    int64_t middle_ns;

    if (seek(cursor, 0, err) < 0)
        return RPS_FAILED;
    if (rows->open != 1 || (int64_t)rows->next.period >= limit) {
        if (limit == INT64_MAX)
            return FOUND_END;
        cursor->at = limit;
        return FOUND_NOTHING;
    }
    *ret = rows->next;
    cursor->at = (int64_t)ret->period + 1;
    cursor->cycle = (int64_t)ret->cycle;
    if (ret->start_ns >= cursor->to_ns)
        return FOUND_END;
    middle_ns = ret->start_ns + ret->length_ns / 2;
    if (middle_ns < cursor->from_ns || middle_ns >= cursor->to_ns)
        return FOUND_NOTHING;
    cursor->in_part = 1;
    return FOUND_ROW;
}

/* Find the row at the cursor's position: the coarsest permitted block, or a period. */
static int look_at_place(struct rps_cursor *cursor, struct rps_period *ret, struct rps_error *err)
{
    int least = finest(cursor);
    int level = !cursor->in_part             ? RPS_LEVELS
                : cursor->resolution > least ? cursor->resolution
                                             : least;
    int64_t limit = INT64_MAX;

    for (; level > 0; level--) {
        struct rows *rows = &cursor->rows[level];
        int finer = 0, found;

        if (seek(cursor, level, err) < 0)
            return RPS_FAILED;
        if (rows->open == 1 && (int64_t)rows->next.period > cursor->at &&
            (int64_t)rows->next.period < limit)
            limit = (int64_t)rows->next.period;
        if (rows->open != 1 || (int64_t)rows->next.period != cursor->at)
            continue;
        found = try_block(cursor, level, &finer, err);
        if (!finer)
            return found;
    }
    return try_period(cursor, limit, ret, err);
}

int rps_cursor_next(struct rps_cursor *cursor, struct rps_period *ret, struct rps_error *err)
{
    int found;

    for (;;) {
        if (cursor->block_at < cursor->block_count) {
            *ret = cursor->block[cursor->block_at++];
            return 1;
        }
        if (!cursor->in_cpu) {
            if ((found = open_cpu(cursor, err)) <= 0)
                return found;
        }
        if ((found = look_at_place(cursor, ret, err)) < 0)
            return found;
        if (found == FOUND_ROW)
            return 1;
        if (found == FOUND_END)
            cursor->in_cpu = 0;
    }
}

int rps_reader_periods(struct rps_reader *reader, int64_t run_id, int64_t from_ns, int64_t to_ns,
                       uint64_t *ret_first, uint64_t *ret_last, struct rps_error *err)
{
    struct rps_cursor *cursor = NULL;
    struct rps_period row;
    int got, found = 0;

    /* Read the coarsest blocks in the range: only some hundred rows in a run of any length. */
    if (rps_cursor_open(&cursor, reader, run_id, from_ns, to_ns, RPS_LEVELS, err) < 0)
        return RPS_FAILED;
    while ((got = rps_cursor_next(cursor, &row, err)) > 0) {
        uint64_t last = rps_period_last(&row);

        if (!found || row.period < *ret_first)
            *ret_first = row.period;
        if (!found || last > *ret_last)
            *ret_last = last;
        found = 1;
    }
    rps_cursor_close(cursor);
    return got < 0 ? got : found;
}
