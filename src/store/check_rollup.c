/*
 * Checking rollups, a level of a CPU at a time. The finer rows of each block are summed again, and
 * those between two blocks are looked through for what should be in one. Where the finer rows were
 * thinned away nothing can be compared: there the blocks are the finest rows, and examine.c looks
 * at them.
 */
#include "check_rollup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "period.h"
#include "rollup.h"
#include "rpistat/clock.h"

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

struct fault_sum {
    uint64_t count, period; /* how many, and the number of the first */
    const char *column;     /* SUM: which differs in the first */
};

struct check {
    sqlite3 *db;
    const struct rps_run_shape *shape;
    struct rps_findings *findings;
    int64_t cpu;
    int level;
    sqlite3_stmt *finer;    /* rows of the level below, by their numbers */
    uint64_t before;        /* up to where they were thinned */
    uint64_t end, cycle;    /* of the block before: the number behind it, and its timestamp */
    struct rps_period *sum; /* owned; by set: of the finer rows of a block */
    struct fault_sum fault[FAULT_COUNT];
};

static void count_fault(struct check *check, enum fault kind, uint64_t period, const char *column)
{
    struct fault_sum *fault = &check->fault[kind];

    if (fault->count++ == 0) {
        fault->period = period;
        fault->column = column;
    }
}

/* --- finer rows ------------------------------------------------------------------------------ */

static const char sql_periods[] = "SELECT " RPS_PERIOD_COLUMNS ", " RPS_PERIOD_COUNTS
                                  " FROM period WHERE run_id = ?1 AND cpu = ?2"
                                  " AND cycle BETWEEN ?3 AND ?4 AND period BETWEEN ?5 AND ?6"
                                  " ORDER BY cycle, period";
static const char sql_blocks[] = "SELECT " RPS_PERIOD_ROLLUP_COLUMNS ", " RPS_PERIOD_COUNTS
                                 " FROM rollup WHERE run_id = ?1 AND cpu = ?2 AND level = ?3"
                                 " AND period BETWEEN ?5 AND ?6 ORDER BY period";

/* Seek the finer rows with numbers from first to last, between two cycle timestamps. */
static void seek(struct check *check, uint64_t first, uint64_t last, uint64_t from, uint64_t to)
{
    sqlite3_stmt *stmt = check->finer;

    sqlite3_reset(stmt);
    sqlite3_bind_int64(stmt, 1, check->shape->run_id);
    sqlite3_bind_int64(stmt, 2, check->cpu);
    sqlite3_bind_int64(stmt, 3, check->level == 1 ? (int64_t)from : check->level - 1);
    sqlite3_bind_int64(stmt, 4, (int64_t)to);
    sqlite3_bind_int64(stmt, 5, (int64_t)first);
    sqlite3_bind_int64(stmt, 6, (int64_t)last);
}

/* The next of them that can be read: SQLITE_ROW, SQLITE_DONE or an error's code. */
static int next_row(struct check *check, struct rps_period *ret)
{
    struct rps_period_fault fault;
    int code;

    while ((code = sqlite3_step(check->finer)) == SQLITE_ROW)
        if (rps_period_read(check->finer, check->level - 1, check->shape->set_count, ret, &fault) ==
            0)
            break;
    return code;
}

/* Compare a block with what its finer rows come to. */
static int compare(struct check *check, const struct rps_piece *block)
{
    const char *column = NULL;
    struct rps_period row;
    int code;

    memset(check->sum, 0, (size_t)check->shape->set_count * sizeof(*check->sum));
    seek(check, block->first, block->last, block->cycle - block->cycles, block->cycle);
    while ((code = next_row(check, &row)) == SQLITE_ROW)
        rps_rollup_sum(&check->sum[row.set_no], &row, check->level);
    for (size_t i = 0; i < block->count && !column; i++)
        column = rps_period_differs(&block->row[i], &check->sum[block->row[i].set_no]);
    if (column && code == SQLITE_DONE)
        count_fault(check, FAULT_SUM, block->first, column);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Rows that are in no block: those of whole rotations should be in one; a gap cuts the others. */
static int look_between(struct check *check, uint64_t first, uint64_t last, uint64_t cycle)
{
    struct rps_period row, before = {0};
    int64_t count = 0; /* so many of the rotation, one behind the other */
    int code;

    first = first < check->before ? check->before : first;
    if (!check->shape->complete || first > last)
        return SQLITE_OK;
    seek(check, first, last, check->cycle, cycle);
    while ((code = next_row(check, &row)) == SQLITE_ROW) {
        if (count == 0 || before.rotation != row.rotation)
            count = 1;
        else if (check->level > 1 || (row.period == before.period + 1 &&
                                      row.start_ns - rps_period_end_ns(&before) <= RPS_NS_PER_US))
            count++;
        else
            count = INT32_MIN;
        before = row;
        if (count == check->shape->set_count)
            count_fault(check, FAULT_NONE, row.period + 1 - (uint64_t)count, NULL);
    }
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* --- a level of a CPU ------------------------------------------------------------------------ */

static int take_block(void *context, const struct rps_piece *block)
{
    struct check *check = context;
    int code = SQLITE_OK;

    if (block->fault) {
        count_fault(check, FAULT_WHOLE, block->first, NULL);
        return SQLITE_OK;
    }
    if (block->first < check->end)
        count_fault(check, FAULT_OVERLAP, block->first, NULL);
    else if (block->first > check->end)
        code = look_between(check, check->end, block->first - 1, block->cycle);
    check->end = block->last + 1;
    check->cycle = block->cycle;
    if (block->first < check->before && block->last >= check->before)
        count_fault(check, FAULT_THINNED, block->first, NULL);
    return code == SQLITE_OK && block->first >= check->before ? compare(check, block) : code;
}

static void tell(struct check *check)
{
    char track[64], more[64];

    if (check->fault[FAULT_WHOLE].count > 0)
        check->fault[FAULT_NONE].count = 0;
    rps_findings_track(track, sizeof(track), check->shape->run_id, (int32_t)check->cpu);
    for (int kind = 0; kind < FAULT_COUNT; kind++) {
        const struct fault_sum *fault = &check->fault[kind];
        const char *column = fault->column;

        snprintf(more, sizeof(more), "%s%s", column ? ", by its " : "", column ? column : "");
        if (fault->count > 0)
            rps_findings_add(
                check->findings, fault_text[kind].kind,
                "%s: blocks of level %d %s: %" PRIu64 " (first: at period %" PRIu64 "%s)", track,
                check->level, fault_text[kind].text, fault->count, fault->period, more);
    }
}

static int check_level(struct check *check, int64_t before)
{
    const struct rps_piece_taker taker = {check, take_block};
    int code = sqlite3_prepare_v2(check->db, check->level == 1 ? sql_periods : sql_blocks, -1,
                                  &check->finer, NULL);

    check->before = before > 0 ? (uint64_t)before : 0;
    check->end = check->cycle = 0;
    memset(check->fault, 0, sizeof(check->fault));
    if (code == SQLITE_OK)
        code = rps_finest_blocks(check->db, check->shape->run_id, check->cpu, check->level,
                                 check->shape->set_count, &taker);
    if (code == SQLITE_OK)
        code = look_between(check, check->end, INT64_MAX, INT64_MAX);
    if (code == SQLITE_OK)
        tell(check);
    sqlite3_finalize(check->finer);
    check->finer = NULL;
    return code;
}

/* Every level of every CPU, and up to where the rows below it were thinned. */
#define SQL_LEVELS                                                                                 \
    "SELECT c.cpu, l.value, t.before_period FROM json_each('[1,2,3,4]') AS l CROSS JOIN"           \
    " (SELECT cpu FROM period WHERE run_id = ?1 UNION SELECT cpu FROM rollup WHERE run_id = ?1)"   \
    " AS c LEFT JOIN thinned AS t ON t.run_id = ?1 AND t.cpu = c.cpu AND t.level = l.value - 1"    \
    " ORDER BY l.value, c.cpu"

int rps_check_rollup(sqlite3 *db, const struct rps_run_shape *shape, struct rps_findings *findings)
{
    struct check check = {.db = db, .shape = shape, .findings = findings};
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, SQL_LEVELS, -1, &stmt, NULL), at = SQLITE_DONE;

    check.sum = calloc((size_t)shape->set_count + 1, sizeof(*check.sum));
    if (code == SQLITE_OK)
        code = check.sum ? sqlite3_bind_int64(stmt, 1, shape->run_id) : SQLITE_NOMEM;
    while (code == SQLITE_OK && (at = sqlite3_step(stmt)) == SQLITE_ROW) {
        check.cpu = sqlite3_column_int64(stmt, 0);
        check.level = sqlite3_column_int(stmt, 1);
        code = check_level(&check, sqlite3_column_int64(stmt, 2));
    }
    sqlite3_finalize(stmt);
    free(check.sum);
    return code == SQLITE_OK && at != SQLITE_DONE ? at : code;
}
