/*
 * The finest rows of a run: its blocks from the coarsest level to the first, each up to where the
 * next finer level begins, merged with its periods by their numbers. Periods that lie between blocks
 * are those of rotations that a gap cuts.
 */
#include "finest.h"

#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "period.h"

const char rps_piece_not_whole[] = "a block that is not whole";

/* --- blocks ----------------------------------------------------------------------------------- */

int rps_blocks_open(struct rps_blocks *ret, sqlite3 *db, int64_t run_id, int64_t set_count)
{
    int code = sqlite3_prepare_v2(db,
                                  "SELECT " RPS_PERIOD_ROLLUP_COLUMNS ", " RPS_PERIOD_COUNTS
                                  " FROM rollup WHERE run_id = ?1 AND level = ?2 AND cpu = ?3"
                                  " AND period >= ?4 AND period < ?5 ORDER BY period",
                                  -1, &ret->stmt, NULL);

    ret->set_count = (size_t)set_count;
    ret->at = SQLITE_DONE;
    ret->row = calloc(ret->set_count + 1, sizeof(*ret->row));
    if (code == SQLITE_OK)
        code = ret->row ? sqlite3_bind_int64(ret->stmt, 1, run_id) : SQLITE_NOMEM;
    return code;
}

void rps_blocks_close(struct rps_blocks *blocks)
{
    sqlite3_finalize(blocks->stmt);
    free(blocks->row);
}

void rps_blocks_seek(struct rps_blocks *blocks, int64_t cpu, int level, int64_t from, int64_t to)
{
    sqlite3_reset(blocks->stmt);
    sqlite3_bind_int(blocks->stmt, 2, level);
    sqlite3_bind_int64(blocks->stmt, 3, cpu);
    sqlite3_bind_int64(blocks->stmt, 4, from);
    sqlite3_bind_int64(blocks->stmt, 5, to);
    blocks->level = level;
    blocks->at = sqlite3_step(blocks->stmt);
}

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
    piece->rotation = row->rotation;
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

static void note_fault(struct rps_piece *piece, const char *fault, int64_t value)
{
    if (piece->fault)
        return;
    piece->fault = fault;
    piece->value = value;
}

int rps_blocks_next(struct rps_blocks *blocks, struct rps_piece *ret)
{
    sqlite3_stmt *stmt = blocks->stmt;
    struct rps_piece piece = {.level = blocks->level, .row = blocks->row};
    struct rps_period_fault fault;
    int64_t rotation;

    if (blocks->at != SQLITE_ROW)
        return blocks->at;
    rotation = sqlite3_column_int64(stmt, RPS_PERIOD_ROTATION);
    piece.rotation = (uint64_t)rotation;
    piece.cpu = sqlite3_column_int64(stmt, RPS_PERIOD_CPU);
    piece.first = (uint64_t)sqlite3_column_int64(stmt, RPS_PERIOD_NUMBER);
    piece.start_ns = sqlite3_column_int64(stmt, RPS_PERIOD_START_NS);
    while (blocks->at == SQLITE_ROW &&
           sqlite3_column_int64(stmt, RPS_PERIOD_ROTATION) == rotation) {
        struct rps_period *row = &blocks->row[piece.count];

        if (piece.count >= blocks->set_count)
            note_fault(&piece, rps_piece_not_whole, 0);
        else if (rps_period_read(stmt, blocks->level, (int64_t)blocks->set_count, row, &fault) < 0)
            note_fault(&piece, fault.name, fault.value);
        else
            add_row(&piece, row);
        piece.count += piece.count < blocks->set_count;
        blocks->at = sqlite3_step(stmt);
    }
    if (!piece.fault && !is_whole(&piece, blocks->set_count))
        piece.fault = rps_piece_not_whole;
    *ret = piece;
    return blocks->at == SQLITE_ROW || blocks->at == SQLITE_DONE ? SQLITE_ROW : blocks->at;
}

/* --- the finest ------------------------------------------------------------------------------- */

struct rps_finest {
    int64_t set_count;
    sqlite3_stmt *next_cpu, *thinned, *periods;
    struct rps_blocks blocks;
    int64_t cpu;
    bool in_cpu, has_period, has_block; /* has_...: it is there, and was not handed out */
    bool more_periods;
    int level;                      /* of the blocks that are read */
    int64_t before[RPS_LEVELS + 1]; /* up to where a level was thinned; the last is 0 */
    struct rps_period row;
    struct rps_piece period, block; /* the next of each kind */
};

int rps_finest_open(struct rps_finest **ret, sqlite3 *db, int64_t run_id, int64_t set_count)
{
    struct rps_finest *finest = *ret = calloc(1, sizeof(*finest));
    struct {
        sqlite3_stmt **stmt;
        const char *sql;
    } const statements[] = {
        {&finest->next_cpu, "SELECT min(cpu) FROM (SELECT min(cpu) AS cpu FROM period"
                            " WHERE run_id = ?1 AND cpu > ?2 UNION ALL"
                            " SELECT (SELECT min(cpu) FROM rollup WHERE run_id = ?1"
                            " AND level = l.value AND cpu > ?2) FROM json_each('[1,2,3,4]') AS l)"},
        {&finest->thinned, "SELECT level, before_period FROM thinned WHERE run_id = ?1"
                           " AND cpu = ?2"},
        {&finest->periods, "SELECT " RPS_PERIOD_COLUMNS ", " RPS_PERIOD_COUNTS " FROM period"
                           " WHERE run_id = ?1 AND cpu = ?2 ORDER BY cycle, period"},
    };
    int code = SQLITE_OK;

    if (!finest)
        return SQLITE_NOMEM;
    finest->set_count = set_count;
    finest->cpu = INT64_MIN;
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]) && code == SQLITE_OK; i++) {
        code = sqlite3_prepare_v2(db, statements[i].sql, -1, statements[i].stmt, NULL);
        if (code == SQLITE_OK)
            code = sqlite3_bind_int64(*statements[i].stmt, 1, run_id);
    }
    return code == SQLITE_OK ? rps_blocks_open(&finest->blocks, db, run_id, set_count) : code;
}

void rps_finest_close(struct rps_finest *finest)
{
    if (!finest)
        return;
    sqlite3_finalize(finest->next_cpu);
    sqlite3_finalize(finest->thinned);
    sqlite3_finalize(finest->periods);
    rps_blocks_close(&finest->blocks);
    free(finest);
}

/* Begin with the next CPU: SQLITE_ROW, SQLITE_DONE or an error's code. */
static int open_cpu(struct rps_finest *finest)
{
    int64_t cpu = finest->cpu;
    int code;

    sqlite3_reset(finest->next_cpu);
    sqlite3_bind_int64(finest->next_cpu, 2, cpu);
    code = sqlite3_step(finest->next_cpu);
    if (code != SQLITE_ROW)
        return code;
    if (sqlite3_column_type(finest->next_cpu, 0) == SQLITE_INTEGER)
        cpu = sqlite3_column_int64(finest->next_cpu, 0);
    sqlite3_reset(finest->next_cpu);
    if (cpu <= finest->cpu) /* none, or on damaged pages one that no recorder writes */
        return SQLITE_DONE;
    finest->cpu = cpu;
    memset(finest->before, 0, sizeof(finest->before));
    sqlite3_bind_int64(finest->thinned, 2, cpu);
    while ((code = sqlite3_step(finest->thinned)) == SQLITE_ROW) {
        int level = rps_database_index(finest->thinned, 0, RPS_LEVELS);

        if (level >= 0)
            finest->before[level] = sqlite3_column_int64(finest->thinned, 1);
    }
    sqlite3_reset(finest->thinned);
    sqlite3_reset(finest->periods);
    sqlite3_bind_int64(finest->periods, 2, cpu);
    finest->level = RPS_LEVELS + 1;
    finest->blocks.at = SQLITE_DONE;
    finest->in_cpu = finest->more_periods = code == SQLITE_DONE;
    return code == SQLITE_DONE ? SQLITE_ROW : code;
}

static int read_block(struct rps_finest *finest)
{
    int code;

    while ((code = rps_blocks_next(&finest->blocks, &finest->block)) == SQLITE_DONE &&
           finest->level > 1) {
        int level = --finest->level;

        rps_blocks_seek(&finest->blocks, finest->cpu, level, finest->before[level],
                        finest->before[level - 1]);
    }
    finest->has_block = code == SQLITE_ROW;
    return code;
}

static int read_period(struct rps_finest *finest)
{
    struct rps_piece *piece = &finest->period;
    struct rps_period_fault fault;
    int code = sqlite3_step(finest->periods);

    finest->has_period = finest->more_periods = code == SQLITE_ROW;
    if (code != SQLITE_ROW)
        return code;
    *piece = (struct rps_piece){
        .cpu = finest->cpu,
        .first = (uint64_t)sqlite3_column_int64(finest->periods, RPS_PERIOD_NUMBER),
        .cycle = (uint64_t)sqlite3_column_int64(finest->periods, RPS_PERIOD_CYCLE),
        .start_ns = sqlite3_column_int64(finest->periods, RPS_PERIOD_START_NS),
        .row = &finest->row,
        .count = 1,
    };
    if (rps_period_read(finest->periods, 0, finest->set_count, &finest->row, &fault) < 0)
        note_fault(piece, fault.name, fault.value);
    else
        add_row(piece, &finest->row);
    return SQLITE_ROW;
}

int rps_finest_next(struct rps_finest *finest, struct rps_piece *ret)
{
    int code;

    for (;;) {
        if (!finest->in_cpu && (code = open_cpu(finest)) != SQLITE_ROW)
            return code;
        if (!finest->has_period && finest->more_periods &&
            (code = read_period(finest)) != SQLITE_ROW && code != SQLITE_DONE)
            return code;
        if (!finest->has_block && (code = read_block(finest)) != SQLITE_ROW && code != SQLITE_DONE)
            return code;
        if (finest->has_block &&
            (!finest->has_period || finest->block.first <= finest->period.first)) {
            *ret = finest->block;
            finest->has_block = false;
            return SQLITE_ROW;
        }
        if (finest->has_period) {
            *ret = finest->period;
            finest->has_period = false;
            return SQLITE_ROW;
        }
        finest->in_cpu = false;
    }
}
