/*
 * Selecting periods.
 *
 * A statement a CPU instead of one for all: each CPU's cycles are its own, and so is the place in
 * the key where a part of the run begins. A statement that is never done holds the state of the
 * store that they all see.
 */
#include "period_select.h"

#include <stdlib.h>

#include "database.h"

struct rps_select {
    struct rps_select_options options;
    sqlite3_stmt *hold, *next_cpu, *first, *rows;
    int64_t cpu;
    int open; /* 1: rows are of cpu */
};

/* The statement for sets of at most `slots` events: a column that is not asked for costs nothing.
 */
static const char *sql_for(int64_t slots, int has_merged)
{
#define FROM(columns, counts)                                                                      \
    "SELECT " columns ", " counts " FROM period WHERE run_id = ?1 AND cpu = ?2 AND cycle >= ?3"    \
    " ORDER BY cycle, period"
#define SELECT(counts) has_merged ? FROM(RPS_ROW_COLUMNS, counts) : FROM(RPS_ROW_NOT_MERGED, counts)
    if (slots <= 2)
        return SELECT("c0, c1");
    if (slots <= 4)
        return SELECT("c0, c1, c2, c3");
    return SELECT("c0, c1, c2, c3, c4, c5, c6, c7");
#undef SELECT
#undef FROM
}

static int prepare(struct rps_select *select, sqlite3 *db)
{
    struct {
        sqlite3_stmt **stmt;
        const char *sql;
    } const statements[] = {
        {&select->hold, "SELECT 1 FROM sqlite_schema"},
        {&select->next_cpu, RPS_ROW_NEXT_CPU},
        {&select->first, "SELECT cycle, start_ns + length_ns FROM period WHERE run_id = ?1"
                         " AND cpu = ?2 AND cycle >= ?3 ORDER BY cycle, period LIMIT 1"},
        {&select->rows, sql_for(select->options.slots, rps_row_has_merged(db))},
    };
    int code = SQLITE_OK;

    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]) && code == SQLITE_OK; i++) {
        code = sqlite3_prepare_v2(db, statements[i].sql, -1, statements[i].stmt, NULL);
        if (code == SQLITE_OK && i > 0)
            sqlite3_bind_int64(*statements[i].stmt, 1, select->options.run_id);
    }
    if (code == SQLITE_OK)
        code = sqlite3_step(select->hold);
    return code == SQLITE_ROW ? SQLITE_OK : code;
}

int rps_select_open(struct rps_select **ret, sqlite3 *db, const struct rps_select_options *options)
{
    struct rps_select *select = calloc(1, sizeof(*select));
    int code;

    if (!select)
        return SQLITE_NOMEM;
    select->options = *options;
    select->cpu = INT64_MIN;
    code = prepare(select, db);
    if (code != SQLITE_OK)
        rps_select_close(select);
    else
        *ret = select;
    return code;
}

void rps_select_close(struct rps_select *select)
{
    if (!select)
        return;
    sqlite3_finalize(select->rows);
    sqlite3_finalize(select->first);
    sqlite3_finalize(select->next_cpu);
    sqlite3_finalize(select->hold);
    free(select);
}

/* The first row of the CPU from a cycle on: SQLITE_ROW, its cycle and its end; SQLITE_DONE. */
static int first_from(struct rps_select *select, int64_t cycle, int64_t *ret_cycle,
                      int64_t *ret_end_ns)
{
    int code;

    sqlite3_bind_int64(select->first, 2, select->cpu);
    sqlite3_bind_int64(select->first, 3, cycle);
    code = sqlite3_step(select->first);
    if (code == SQLITE_ROW) {
        *ret_cycle = sqlite3_column_int64(select->first, 0);
        *ret_end_ns = sqlite3_column_int64(select->first, 1);
    }
    sqlite3_reset(select->first);
    return code;
}

/*
 * A cycle with no row before it that ends behind from_ns: the last of those whose first row ends
 * before it. Later rows of the same cycle (the workload slept) may end behind.
 */
static int find_start(struct rps_select *select, int64_t *ret)
{
    int64_t before = 0, behind = INT64_MAX, cycle = 0, end_ns = 0;
    int code = SQLITE_ROW;

    *ret = INT64_MIN;
    if (select->options.from_ns <= 0)
        return SQLITE_OK;
    while (before < behind && (code == SQLITE_ROW || code == SQLITE_DONE)) {
        int64_t middle = before + (behind - before) / 2;

        code = first_from(select, middle, &cycle, &end_ns);
        if (code == SQLITE_ROW && end_ns < select->options.from_ns) {
            *ret = cycle;
            before = cycle < INT64_MAX && cycle >= middle ? cycle + 1 : behind;
        } else {
            behind = middle;
        }
    }
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Go on to the rows of the next CPU: SQLITE_ROW, or SQLITE_DONE when there is none. */
static int open_cpu(struct rps_select *select)
{
    int64_t start = INT64_MIN;
    int code;

    sqlite3_reset(select->rows);
    code = rps_row_next_cpu(select->next_cpu, select->cpu, &select->cpu);
    if (code != SQLITE_ROW)
        return code;
    code = find_start(select, &start);
    sqlite3_bind_int64(select->rows, 2, select->cpu);
    sqlite3_bind_int64(select->rows, 3, start);
    select->open = 1;
    return code == SQLITE_OK ? SQLITE_ROW : code;
}

int rps_select_next(struct rps_select *select, struct rps_row *ret)
{
    int code = SQLITE_ROW;

    while (select->open || (code = open_cpu(select)) == SQLITE_ROW) {
        code = sqlite3_step(select->rows);
        if (code == SQLITE_ROW) {
            rps_row_take(select->rows, ret);
            if (select->options.to_ns == INT64_MAX ||
                ret->value[RPS_ROW_START_NS] < select->options.to_ns)
                return SQLITE_ROW;
            code = SQLITE_DONE;
        }
        if (code != SQLITE_DONE)
            return code;
        select->open = 0;
    }
    return code;
}
