/*
 * Checking rollups. The run's finest rows go through rollup.c again, as when they were recorded, and
 * each row that it makes is sought in the store. Then the blocks of the store are gone through for
 * those that nothing makes.
 */
#include "check_rollup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "period.h"
#include "rollup.h"

enum fault {
    FAULT_WHOLE,   /* rows that do not belong together, or with numbers that no recorder writes */
    FAULT_OVERLAP, /* it begins before the one before has ended */
    FAULT_SUM,     /* it is not the sum of the finer rows */
    FAULT_THINNED, /* `thinned` ends in the middle of it */
    FAULT_NONE,    /* finer rows are in no block, though the run has ended */
    FAULT_COUNT,
};

static const struct {
    enum rps_finding_kind kind;
    const char *text; /* "blocks of level 1" and it */
} fault_text[FAULT_COUNT] = {
    [FAULT_WHOLE] = {RPS_FINDING_WRONG, "have rows that do not belong together"},
    [FAULT_OVERLAP] = {RPS_FINDING_WRONG, "begin before the one before has ended"},
    [FAULT_SUM] = {RPS_FINDING_WRONG, "are not the sum of the finer rows"},
    [FAULT_THINNED] = {RPS_FINDING_WRONG, "have the end of table thinned inside"},
    [FAULT_NONE] = {RPS_FINDING_ODD, "are missing for finer rows, which are read instead"},
};

struct level {
    struct {
        uint64_t count, period; /* how many, and the number of the first */
        const char *column;     /* SUM: which differs in the first */
    } fault[FAULT_COUNT];
    /* of the block that should be there next */
    uint64_t first;     /* number of its first period */
    uint64_t finer;     /* what it sums: blocks of the level below that are there, or rotations */
    bool finer_missing; /* one of those blocks is not there */
    bool is_missing;    /* a row of it is not there, */
    const char *column; /* or differs in this; NULL: none */
};

struct rps_check_rollup {
    sqlite3 *db;
    const struct rps_run_shape *shape;
    struct rps_findings *findings;
    sqlite3_stmt *row, *finer; /* a row by its key; what is known of a block's finer rows */
    struct rps_rollup *rollup; /* of this CPU; NULL: before the first */
    struct rps_period *block;  /* owned: rows of one, in the order of the sets */
    int64_t cpu;
    struct level level[RPS_LEVELS + 1];
    struct rps_piece before; /* the block before; of level 0: there was none */
};

int rps_check_rollup_open(struct rps_check_rollup **ret, sqlite3 *db,
                          const struct rps_run_shape *shape, struct rps_findings *findings)
{
    struct rps_check_rollup *check = *ret = calloc(1, sizeof(*check));
    int code;

    if (!check)
        return SQLITE_NOMEM;
    check->db = db;
    check->shape = shape;
    check->findings = findings;
    check->block = calloc((size_t)shape->set_count + 1, sizeof(*check->block));
    code = check->block ? SQLITE_OK : SQLITE_NOMEM;
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(db,
                                  "SELECT " RPS_PERIOD_ROLLUP_COLUMNS ", " RPS_PERIOD_COUNTS
                                  " FROM rollup WHERE run_id = ?1 AND level = ?2 AND cpu = ?3"
                                  " AND period = ?4",
                                  -1, &check->row, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(
            db,
            "SELECT coalesce((SELECT before_period FROM thinned WHERE run_id = ?1 AND cpu = ?3"
            " AND level = ?2 - 1), 0), CASE ?2 WHEN 1 THEN EXISTS (SELECT 1 FROM period"
            "  WHERE run_id = ?1 AND cpu = ?3 AND cycle BETWEEN ?6 AND ?7"
            "  AND period BETWEEN ?4 AND ?5)"
            " ELSE EXISTS (SELECT 1 FROM rollup WHERE run_id = ?1 AND level = ?2 - 1 AND cpu = ?3"
            "  AND period BETWEEN ?4 AND ?5) END",
            -1, &check->finer, NULL);
    return code;
}

void rps_check_rollup_close(struct rps_check_rollup *check)
{
    if (!check)
        return;
    sqlite3_finalize(check->row);
    sqlite3_finalize(check->finer);
    rps_rollup_free(check->rollup);
    free(check->block);
    free(check);
}

static void count_fault(struct rps_check_rollup *check, int level, enum fault kind, uint64_t count,
                        uint64_t period, const char *column)
{
    struct level *at = &check->level[level];

    if (at->fault[kind].count == 0) {
        at->fault[kind].period = period;
        at->fault[kind].column = column;
    }
    at->fault[kind].count += count;
}

/* Say what was found of a CPU, and begin anew. */
static void tell(struct rps_check_rollup *check)
{
    char track[64], more[64];

    rps_findings_track(track, sizeof(track), check->shape->run_id, (int32_t)check->cpu);
    for (int level = 1; level <= RPS_LEVELS; level++) {
        for (int kind = 0; kind < FAULT_COUNT; kind++) {
            const char *column = check->level[level].fault[kind].column;
            uint64_t count = check->level[level].fault[kind].count;

            snprintf(more, sizeof(more), "%s%s", column ? ", by its " : "", column ? column : "");
            if (count > 0)
                rps_findings_add(check->findings, fault_text[kind].kind,
                                 "%s: blocks of level %d %s: %" PRIu64 " (first: at period %" PRIu64
                                 "%s)",
                                 track, level, fault_text[kind].text, count,
                                 check->level[level].fault[kind].period, more);
        }
    }
    memset(check->level, 0, sizeof(check->level));
}

/* --- what should be there -------------------------------------------------------------------- */

/* A row that should be there: is it, and does it say the same? An SQLite code. */
static int seek_row(struct rps_check_rollup *check, const struct rps_period *should)
{
    struct level *level = &check->level[should->level];
    struct rps_period_fault fault;
    struct rps_period is;
    int code;

    sqlite3_bind_int64(check->row, 1, check->shape->run_id);
    sqlite3_bind_int(check->row, 2, should->level);
    sqlite3_bind_int64(check->row, 3, should->cpu);
    sqlite3_bind_int64(check->row, 4, (int64_t)should->period);
    code = sqlite3_step(check->row);
    /* one that cannot be read is told of with its block */
    if (code == SQLITE_ROW && !level->column &&
        rps_period_read(check->row, should->level, check->shape->set_count, &is, &fault) == 0)
        level->column = rps_period_differs(&is, should);
    level->is_missing |= code == SQLITE_DONE;
    sqlite3_reset(check->row);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

/* All rows of a block that should be there were sought. One that has no finer rows any more is told
 * of when the blocks are gone through. */
static void end_block(struct rps_check_rollup *check, int at)
{
    struct level *level = &check->level[at];

    if (level->is_missing && level->finer > 0 && check->shape->complete)
        count_fault(check, at, FAULT_NONE, level->finer, level->first, NULL);
    if (!level->is_missing && level->finer_missing && level->finer > 0)
        level->column = "merged";
    if (!level->is_missing && level->column)
        count_fault(check, at, FAULT_SUM, 1, level->first, level->column);
    if (at < RPS_LEVELS) {
        level[1].finer += !level->is_missing;
        level[1].finer_missing |= level->is_missing;
    }
    level->finer = 0;
    level->is_missing = level->finer_missing = false;
    level->column = NULL;
}

static int expect_row(void *context, const struct rps_period *should)
{
    struct rps_check_rollup *check = context;
    struct level *level = &check->level[should->level];
    int code = seek_row(check, should);

    if (should->set_no == 0 || should->period < level->first)
        level->first = should->period;
    if (should->level == 1)
        level->finer = should->merged;
    if ((int)should->set_no == check->shape->set_count - 1)
        end_block(check, should->level);
    return code;
}

/* Go on to another CPU. */
static int begin_cpu(struct rps_check_rollup *check, int64_t cpu)
{
    const struct rps_rollup_sink sink = {check, expect_row};
    int code = check->rollup ? rps_rollup_end(check->rollup) : SQLITE_OK;

    tell(check);
    rps_rollup_free(check->rollup);
    check->rollup = rps_rollup_new(check->shape->set_count, &sink);
    check->cpu = cpu;
    return check->rollup ? code : SQLITE_NOMEM;
}

int rps_check_rollup_piece(struct rps_check_rollup *check, const struct rps_piece *piece)
{
    int code = SQLITE_OK;

    if (!check->rollup || check->cpu != piece->cpu)
        code = begin_cpu(check, piece->cpu);
    if (code != SQLITE_OK)
        return code;
    if (piece->level == 0)
        return rps_rollup_add(check->rollup, piece->row);
    if (piece->level < RPS_LEVELS)
        check->level[piece->level + 1].finer++;
    for (size_t i = 0; i < piece->count; i++)
        check->block[piece->row[i].set_no] = piece->row[i];
    return rps_rollup_add_block(check->rollup, check->block);
}

/* --- what is there --------------------------------------------------------------------------- */

/* The block against `thinned`, and the finer rows that it must have. */
static int look_at_finer(struct rps_check_rollup *check, const struct rps_piece *block)
{
    const int64_t parameter[] = {
        check->shape->run_id,  block->level,         block->cpu,
        (int64_t)block->first, (int64_t)block->last, (int64_t)(block->cycle - block->cycles),
        (int64_t)block->cycle,
    };
    uint64_t before;
    int code;

    for (int i = 0; i < 7; i++)
        sqlite3_bind_int64(check->finer, i + 1, parameter[i]);
    code = sqlite3_step(check->finer);
    before = code == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(check->finer, 0) : 0;
    if (code == SQLITE_ROW && block->first < before && block->last >= before)
        count_fault(check, block->level, FAULT_THINNED, 1, block->first, NULL);
    else if (code == SQLITE_ROW && block->first >= before && !sqlite3_column_int(check->finer, 1))
        count_fault(check, block->level, FAULT_SUM, 1, block->first, "merged");
    sqlite3_reset(check->finer);
    return code == SQLITE_ROW ? SQLITE_OK : code;
}

static int take_block(void *context, const struct rps_piece *block)
{
    struct rps_check_rollup *check = context;
    const struct rps_piece *before = &check->before;
    int level = block->level < 1 || block->level > RPS_LEVELS ? RPS_LEVELS : block->level;

    if (block->cpu != check->cpu) {
        tell(check);
        check->cpu = block->cpu;
    }
    if (block->fault) {
        count_fault(check, level, FAULT_WHOLE, 1, block->first, NULL);
        return SQLITE_OK;
    }
    if (before->level == level && before->cpu == block->cpu && block->first <= before->last)
        count_fault(check, level, FAULT_OVERLAP, 1, block->first, NULL);
    check->before = *block;
    return look_at_finer(check, block);
}

int rps_check_rollup_end(struct rps_check_rollup *check)
{
    const struct rps_piece_taker taker = {check, take_block};
    int code = begin_cpu(check, check->cpu);

    if (code == SQLITE_OK)
        code = rps_finest_blocks(check->db, check->shape->run_id, check->shape->set_count, &taker);
    tell(check);
    return code;
}
