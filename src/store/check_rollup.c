/*
 * Checking rollups. The blocks of a level are read beside the rows of the next finer one, both in
 * the order of their numbers, and those rows are summed again. Where the finer rows were thinned away
 * nothing can be compared: there the blocks are the finest rows, and examine.c looks at them.
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

struct rps_check_rollup {
    const struct rps_run_shape *shape;
    struct rps_findings *findings;
    sqlite3_stmt *next_cpu, *thinned;
    struct rps_blocks blocks, finer; /* of a level, and of the one below, when that has blocks */
    bool in_cpu, has_block;
    int64_t cpu;
    int level, code; /* code: of reading blocks */
    uint64_t before; /* up to where the finer level was thinned */
    struct rps_piece block;
    uint64_t end;            /* number behind the block before */
    struct rps_period *sum;  /* owned; by set: of the finer rows of the block */
    struct rps_period loose; /* the last row that is in no block */
    int64_t count;           /* so many of its rotation, one behind the other */
    struct fault_sum fault[FAULT_COUNT];
};

int rps_check_rollup_open(struct rps_check_rollup **ret, sqlite3 *db,
                          const struct rps_run_shape *shape, struct rps_findings *findings)
{
    struct rps_check_rollup *check = *ret = calloc(1, sizeof(*check));
    int code;

    if (!check)
        return SQLITE_NOMEM;
    check->shape = shape;
    check->findings = findings;
    check->sum = calloc((size_t)shape->set_count + 1, sizeof(*check->sum));
    code = check->sum ? SQLITE_OK : SQLITE_NOMEM;
    if (code == SQLITE_OK)
        code = rps_blocks_open(&check->blocks, db, shape->run_id, shape->set_count);
    if (code == SQLITE_OK)
        code = rps_blocks_open(&check->finer, db, shape->run_id, shape->set_count);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(db,
                                  "SELECT before_period FROM thinned WHERE run_id = ?1"
                                  " AND cpu = ?2 AND level = ?3",
                                  -1, &check->thinned, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(db,
                                  "SELECT min(cpu) FROM rollup AS r WHERE run_id = ?1"
                                  " AND cpu > ?2 AND level BETWEEN ?3 - 1 AND ?3 AND (?3 > 1 OR"
                                  " NOT EXISTS (SELECT 1 FROM period AS p WHERE p.run_id = ?1"
                                  " AND p.cpu = r.cpu))",
                                  -1, &check->next_cpu, NULL);
    return code;
}

void rps_check_rollup_close(struct rps_check_rollup *check)
{
    if (!check)
        return;
    sqlite3_finalize(check->next_cpu);
    sqlite3_finalize(check->thinned);
    rps_blocks_close(&check->blocks);
    rps_blocks_close(&check->finer);
    free(check->sum);
    free(check);
}

static void count_fault(struct rps_check_rollup *check, enum fault kind, uint64_t period,
                        const char *column)
{
    struct fault_sum *fault = &check->fault[kind];

    if (fault->count++ == 0) {
        fault->period = period;
        fault->column = column;
    }
}

/* --- a level of a CPU ------------------------------------------------------------------------- */

/* Compare the block with what its finer rows came to. */
static void compare(struct rps_check_rollup *check)
{
    const struct rps_piece *block = &check->block;

    if (block->first < check->before) {
        if (block->last >= check->before)
            count_fault(check, FAULT_THINNED, block->first, NULL);
        return;
    }
    for (size_t i = 0; i < block->count; i++) {
        const struct rps_period *row = &block->row[i];
        const char *column = rps_period_differs(row, &check->sum[row->set_no]);

        if (!column)
            continue;
        count_fault(check, FAULT_SUM, block->first, column);
        return;
    }
}

/* Go on to the next block; check->code says whether that could be read. */
static void next_block(struct rps_check_rollup *check)
{
    memset(check->sum, 0, (size_t)check->shape->set_count * sizeof(*check->sum));
    for (;;) {
        int code = rps_blocks_next(&check->blocks, &check->block);

        check->has_block = code == SQLITE_ROW;
        if (code != SQLITE_ROW && code != SQLITE_DONE)
            check->code = code;
        if (!check->has_block)
            return;
        if (check->block.fault) {
            count_fault(check, FAULT_WHOLE, check->block.first, NULL);
            continue;
        }
        if (check->block.first < check->end)
            count_fault(check, FAULT_OVERLAP, check->block.first, NULL);
        check->end = check->block.last + 1;
        return;
    }
}

/* A finer row that is in no block. Rotations that a gap cuts are in none. */
static void take_loose(struct rps_check_rollup *check, const struct rps_period *row)
{
    const struct rps_period *before = &check->loose;

    if (!check->shape->complete || row->period < check->before)
        return;
    if (check->count == 0 || before->rotation != row->rotation)
        check->count = 1;
    else if (check->level > 1 || (row->period == before->period + 1 &&
                                  row->start_ns - rps_period_end_ns(before) <= RPS_NS_PER_US))
        check->count++;
    else
        check->count = INT32_MIN;
    check->loose = *row;
    if (check->count == check->shape->set_count)
        count_fault(check, FAULT_NONE, row->period + 1 - (uint64_t)check->count, NULL);
}

static void take_finer(struct rps_check_rollup *check, const struct rps_period *row)
{
    while (check->has_block && row->period > check->block.last) {
        compare(check);
        next_block(check);
    }
    if (check->has_block && row->period >= check->block.first)
        rps_rollup_sum(&check->sum[row->set_no], row, check->level);
    else
        take_loose(check, row);
}

static int begin(struct rps_check_rollup *check, int64_t cpu, int level)
{
    int code;

    check->cpu = cpu;
    check->level = level;
    check->before = check->end = 0;
    check->count = 0;
    memset(check->fault, 0, sizeof(check->fault));
    sqlite3_reset(check->thinned);
    sqlite3_bind_int64(check->thinned, 1, check->shape->run_id);
    sqlite3_bind_int64(check->thinned, 2, cpu);
    sqlite3_bind_int(check->thinned, 3, level - 1);
    code = sqlite3_step(check->thinned);
    if (code == SQLITE_ROW && sqlite3_column_int64(check->thinned, 0) > 0)
        check->before = (uint64_t)sqlite3_column_int64(check->thinned, 0);
    sqlite3_reset(check->thinned);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return code;
    rps_blocks_seek(&check->blocks, cpu, level, INT64_MIN, INT64_MAX);
    next_block(check);
    return check->code;
}

static int end(struct rps_check_rollup *check)
{
    char track[64], more[64];

    while (check->has_block) {
        compare(check);
        next_block(check);
    }
    if (check->fault[FAULT_WHOLE].count > 0)
        check->fault[FAULT_NONE].count = 0;
    rps_findings_track(track, sizeof(track), check->shape->run_id, (int32_t)check->cpu);
    for (int kind = 0; kind < FAULT_COUNT; kind++) {
        const struct fault_sum *fault = &check->fault[kind];

        more[0] = '\0';
        if (fault->column)
            snprintf(more, sizeof(more), ", by its %s", fault->column);
        if (fault->count > 0)
            rps_findings_add(
                check->findings, fault_text[kind].kind,
                "%s: blocks of level %d %s: %" PRIu64 " (first: at period %" PRIu64 "%s)", track,
                check->level, fault_text[kind].text, fault->count, fault->period, more);
    }
    return check->code;
}

/* --- all of them ------------------------------------------------------------------------------ */

int rps_check_rollup_period(struct rps_check_rollup *check, const struct rps_period *period)
{
    if (!check->in_cpu || period->cpu != check->cpu) {
        int code = check->in_cpu ? end(check) : SQLITE_OK;

        if (code == SQLITE_OK)
            code = begin(check, period->cpu, 1);
        if (code != SQLITE_OK)
            return code;
        check->in_cpu = true;
    }
    take_finer(check, period);
    return check->code;
}

/* The CPU behind this one that has blocks of the level or the one below, at level 1 of those that
 * have no periods, since the others were looked at: SQLITE_ROW, or what there is instead. */
static int next_cpu(struct rps_check_rollup *check, int level, int64_t *cpu)
{
    int64_t next = *cpu;
    int code;

    sqlite3_bind_int64(check->next_cpu, 1, check->shape->run_id);
    sqlite3_bind_int64(check->next_cpu, 2, *cpu);
    sqlite3_bind_int(check->next_cpu, 3, level);
    code = sqlite3_step(check->next_cpu);
    if (code == SQLITE_ROW && sqlite3_column_type(check->next_cpu, 0) == SQLITE_INTEGER)
        next = sqlite3_column_int64(check->next_cpu, 0);
    sqlite3_reset(check->next_cpu);
    if (code == SQLITE_ROW && next <= *cpu)
        return SQLITE_DONE;
    *cpu = next;
    return code;
}

/* The blocks of a level of which the finer rows are blocks themselves, or not there. */
static int check_level(struct rps_check_rollup *check, int64_t cpu, int level)
{
    struct rps_piece finer;
    int code = begin(check, cpu, level);

    if (code != SQLITE_OK)
        return code;
    rps_blocks_seek(&check->finer, cpu, level - 1, INT64_MIN, INT64_MAX);
    while ((code = rps_blocks_next(&check->finer, &finer)) == SQLITE_ROW) {
        for (size_t i = 0; i < finer.count && !finer.fault; i++)
            take_finer(check, &finer.row[i]);
    }
    return code == SQLITE_DONE ? end(check) : code;
}

int rps_check_rollup_end(struct rps_check_rollup *check)
{
    int code = check->in_cpu ? end(check) : SQLITE_OK;

    for (int level = 1; level <= RPS_LEVELS && code == SQLITE_OK; level++) {
        int64_t cpu = INT64_MIN;

        while (code == SQLITE_OK && (code = next_cpu(check, level, &cpu)) == SQLITE_ROW)
            code = check_level(check, cpu, level);
        code = code == SQLITE_DONE ? SQLITE_OK : code;
    }
    return code;
}
