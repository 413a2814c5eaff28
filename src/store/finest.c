/*
 * The finest rows of a run: its periods merged by their numbers with the blocks that stand for
 * thinned ones. Periods that lie between blocks are those of rotations that a gap cuts.
 */
#include "finest.h"

#include <stdbool.h>
#include <stdlib.h>

#include "period.h"

const char rps_piece_not_whole[] = "a block that is not whole";

/* The rows of one table. */
struct rows {
    sqlite3_stmt *stmt;
    int at; /* the statement's last code */
    bool are_blocks, has_piece;
    size_t set_count;
    struct rps_period *row; /* owned: of the piece */
    struct rps_piece piece; /* the next one, when there is one */
};

/* `number` is what the statement's parameters are. */
static int open_rows(struct rows *rows, sqlite3 *db, const char *sql, const int64_t *number,
                     int set_count)
{
    int code = sqlite3_prepare_v2(db, sql, -1, &rows->stmt, NULL);

    rows->set_count = (size_t)set_count;
    rows->row = calloc(rows->set_count + 1, sizeof(*rows->row));
    if (code != SQLITE_OK || !rows->row)
        return code == SQLITE_OK ? SQLITE_NOMEM : code;
    for (int i = 0; i < sqlite3_bind_parameter_count(rows->stmt); i++)
        sqlite3_bind_int64(rows->stmt, i + 1, number[i]);
    rows->at = sqlite3_step(rows->stmt);
    return SQLITE_OK;
}

static void close_rows(struct rows *rows)
{
    sqlite3_finalize(rows->stmt);
    free(rows->row);
}

/* --- pieces ---------------------------------------------------------------------------------- */

static void add_row(struct rps_piece *piece, const struct rps_period *row)
{
    uint64_t last = rps_period_last(row);
    int64_t end_ns = rps_period_end_ns(row);
    bool is_first = piece->periods == 0;

    piece->first = is_first || row->period < piece->first ? row->period : piece->first;
    piece->last = is_first || last > piece->last ? last : piece->last;
    piece->start_ns = is_first || row->start_ns < piece->start_ns ? row->start_ns : piece->start_ns;
    piece->end_ns = is_first || end_ns > piece->end_ns ? end_ns : piece->end_ns;
    piece->cycle = is_first || row->cycle > piece->cycle ? row->cycle : piece->cycle;
    piece->set_no = is_first ? row->set_no : piece->set_no;
    piece->last_rotation = row->rotation + rps_period_weight(row) - 1;
    piece->cycles += row->cycles;
    piece->switch_ns += row->switch_ns;
    piece->periods += rps_period_weight(row);
}

/* Do the rows of a block belong together? */
static bool is_whole(const struct rps_piece *piece, size_t set_count)
{
    uint64_t merged = piece->row[0].merged, sets = set_count;
    int bits = RPS_LEVEL_BITS * piece->level;

    if (piece->count != set_count || piece->last - piece->first + 1 != merged * sets ||
        (piece->rotation ^ piece->last_rotation) >> bits != 0)
        return false;
    for (size_t i = 0; i < piece->count; i++) {
        const struct rps_period *row = &piece->row[i];

        if (row->merged != merged || row->period - piece->first >= sets ||
            piece->last - row->last_period >= sets || row->end_ns < row->start_ns)
            return false;
        for (size_t k = 0; k < i; k++)
            if (piece->row[k].set_no == row->set_no)
                return false;
    }
    return true;
}

/* Is the statement's row one of the block that the piece begins? */
static bool is_same_block(const struct rps_piece *piece, sqlite3_stmt *stmt)
{
    return sqlite3_column_int64(stmt, RPS_PERIOD_AT_rotation) == (int64_t)piece->rotation &&
           sqlite3_column_int(stmt, RPS_PERIOD_AT_level) == piece->level &&
           sqlite3_column_int64(stmt, RPS_PERIOD_AT_cpu) == piece->cpu;
}

static void take_row(struct rows *rows, struct rps_piece *piece)
{
    struct rps_period *row = &rows->row[piece->count];
    struct rps_period_fault fault = {rps_piece_not_whole, 0};

    if (piece->count < rows->set_count &&
        rps_period_read(rows->stmt, piece->level, (int64_t)rows->set_count, row, &fault) == 0) {
        add_row(piece, row);
    } else if (!piece->fault) {
        piece->fault = fault.name;
        piece->value = fault.value;
    }
    piece->count += piece->count < rows->set_count;
}

/* Have the next piece at hand, if there is one. An SQLite code. */
static int read_piece(struct rows *rows)
{
    struct rps_piece *piece = &rows->piece;
    sqlite3_stmt *stmt = rows->stmt;

    if (rows->has_piece || rows->at != SQLITE_ROW)
        return rows->at == SQLITE_ROW || rows->at == SQLITE_DONE ? SQLITE_OK : rows->at;
    *piece = (struct rps_piece){
        .level = rows->are_blocks ? sqlite3_column_int(stmt, RPS_PERIOD_AT_level) : 0,
        .cpu = sqlite3_column_int64(stmt, RPS_PERIOD_AT_cpu),
        .first = (uint64_t)sqlite3_column_int64(stmt, RPS_PERIOD_AT_period),
        .rotation = (uint64_t)sqlite3_column_int64(stmt, RPS_PERIOD_AT_rotation),
        .cycle = (uint64_t)sqlite3_column_int64(stmt, RPS_PERIOD_AT_cycle),
        .start_ns = sqlite3_column_int64(stmt, RPS_PERIOD_AT_start_ns),
        .row = rows->row,
    };
    do {
        take_row(rows, piece);
        rows->at = sqlite3_step(stmt);
    } while (rows->are_blocks && rows->at == SQLITE_ROW && is_same_block(piece, stmt));
    if (rows->are_blocks && !piece->fault && !is_whole(piece, rows->set_count))
        piece->fault = rps_piece_not_whole;
    rows->has_piece = true;
    return SQLITE_OK;
}

/* --- all of them ----------------------------------------------------------------------------- */

static const char sql_periods[] = "SELECT " RPS_PERIOD_COLUMNS ", " RPS_PERIOD_COUNTS
                                  " FROM period WHERE run_id = ?1 ORDER BY cpu, cycle, period";

/* A level that is not thinned costs nothing, and damage there does no harm. */
static const char sql_standing[] =
    "SELECT " RPS_PERIOD_ROLLUP_COLUMNS ", " RPS_PERIOD_COUNTS " FROM"
    " (SELECT t.cpu AS of_cpu, t.level + 1 AS of_level, t.before_period AS to_period,"
    "  coalesce(c.before_period, 0) AS from_period FROM thinned AS t LEFT JOIN thinned AS c"
    "  ON c.run_id = t.run_id AND c.cpu = t.cpu AND c.level = t.level + 1 AND c.level < 4"
    "  WHERE t.run_id = ?1) CROSS JOIN rollup ON run_id = ?1 AND level = of_level"
    " AND cpu = of_cpu AND period >= from_period AND period < to_period"
    " ORDER BY cpu, cycle, period";

static const char sql_blocks[] = "SELECT " RPS_PERIOD_ROLLUP_COLUMNS ", " RPS_PERIOD_COUNTS
                                 " FROM rollup WHERE run_id = ?1 AND cpu = ?2 AND level = ?3"
                                 " ORDER BY period";

/* Does the next block come before the next period? */
static bool is_block_next(const struct rps_piece *block, const struct rps_piece *period)
{
    return block->cpu != period->cpu ? block->cpu < period->cpu : block->first <= period->first;
}

/* Hand out the pieces of both. */
static int take_all(struct rows *periods, struct rows *blocks, const struct rps_piece_taker *taker)
{
    int code = SQLITE_OK;

    while (code == SQLITE_OK) {
        struct rows *next = periods;

        code = read_piece(periods);
        if (code == SQLITE_OK)
            code = read_piece(blocks);
        if (code != SQLITE_OK || (!periods->has_piece && !blocks->has_piece))
            break;
        if (!periods->has_piece ||
            (blocks->has_piece && is_block_next(&blocks->piece, &periods->piece)))
            next = blocks;
        next->has_piece = false;
        code = taker->take(taker->context, &next->piece);
    }
    return code;
}

int rps_finest_each(sqlite3 *db, int64_t run_id, int set_count, const struct rps_piece_taker *taker)
{
    struct rows periods = {.at = SQLITE_DONE}, blocks = {.at = SQLITE_DONE, .are_blocks = true};
    int code = open_rows(&periods, db, sql_periods, &run_id, set_count);

    if (code == SQLITE_OK)
        code = open_rows(&blocks, db, sql_standing, &run_id, set_count);
    if (code == SQLITE_OK)
        code = take_all(&periods, &blocks, taker);
    close_rows(&periods);
    close_rows(&blocks);
    return code;
}

int rps_finest_blocks(sqlite3 *db, int64_t run_id, int64_t cpu, int level, int set_count,
                      const struct rps_piece_taker *taker)
{
    const int64_t number[] = {run_id, cpu, level};
    struct rows none = {.at = SQLITE_DONE}, blocks = {.at = SQLITE_DONE, .are_blocks = true};
    int code = open_rows(&blocks, db, sql_blocks, number, set_count);

    if (code == SQLITE_OK)
        code = take_all(&none, &blocks, taker);
    close_rows(&blocks);
    return code;
}
