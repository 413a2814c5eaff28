/* Check one run. The check reads the run's row and plan in the same way as every command. It
 * compares the periods with each other and the totals with the periods. It also finds invalid rows
 * of other tables that refer to periods. */
#include "findings.h"

#include <inttypes.h>
#include <stdio.h>

#include "fields.h"
#include "database.h"
#include "reconstruct.h"
#include "period.h"
#include "system.h"
#include "writer.h"
#include "rpistat/arena.h"
#include "rpistat/moments.h"
#include "rpistat/plan.h"
#include "rpistat/run.h"

struct check {
    struct rps_arena *arena;
    struct rps_reader *reader;
    struct rps_findings *findings;
    int64_t run_id;
    sqlite3 *expected; /* an empty store */
    struct rps_run_sums sums;
    sqlite3_stmt *block; /* query that finds one row of `rollup` by its key */
    /* results of checking the blocks, per level (index: level - 1) */
    struct level {
        uint64_t found, different, missing, first_different, first_missing;
        const char *column; /* name of the first column that differs */
    } level[RPS_LEVELS];
};

/* Format "run 3: " and the subject of the finding. */
#define WHAT_SIZE 128
static const char *of_run(const struct check *check, char ret[WHAT_SIZE], const char *what)
{
    snprintf(ret, WHAT_SIZE, "run %" PRId64 ": %s", check->run_id, what);
    return ret;
}

/* Report that a query of the store failed. */
static void unreadable(struct check *check, const char *what, int code)
{
    char text[WHAT_SIZE];

    rps_findings_unreadable(check->findings, check->reader->db, of_run(check, text, what), code);
}

static void report_error(struct check *check, const struct rps_error *err)
{
    if (!rps_findings_end_by_error(check->findings, err))
        rps_findings_add(check->findings, RPS_FINDING_WRONG, "run %" PRId64 ": %s", check->run_id,
                         err->message);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void report_blocks(struct check *check)
{
    int64_t complete = 0;

    rps_database_ask(check->reader->db, &complete,
                     "SELECT state = 'complete' FROM run WHERE run_id = ?", "i", check->run_id);
    for (int level = 1; level <= RPS_LEVELS; level++) {
        const struct level *of = &check->level[level - 1];
        char more[64] = "";

        if (of->column)
            snprintf(more, sizeof(more), ", by its %s", of->column);
        if (of->different > 0)
            rps_findings_add(check->findings, RPS_FINDING_WRONG,
                             "run %" PRId64 ": rows of blocks of level %d are not the sum of the "
                             "finer rows: %" PRIu64 " (first: at period %" PRIu64 "%s)",
                             check->run_id, level, of->different, of->first_different, more);
        if (of->missing > 0 && complete) /* blocks of an incomplete run may be missing */
            rps_findings_add(check->findings, RPS_FINDING_WARNING,
                             "run %" PRId64 ": rows of blocks of level %d are missing, and finer "
                             "rows are read instead: %" PRIu64 " (first: at period %" PRIu64 ")",
                             check->run_id, level, of->missing, of->first_missing);
    }
}

/* Compute a block from finer rows as recorders do, and compare the result with the stored row. */
static int compare_block(void *context, const struct rps_period *made)
{
    struct check *check = context;
    struct level *of = &check->level[made->level - 1];
    struct rps_period_fault fault = {0};
    struct rps_scatter scatter;
    struct rps_period row;
    const char *column = NULL;
    sqlite3_stmt *stmt = check->block;
    int code;

    sqlite3_reset(stmt);
    sqlite3_bind_int64(stmt, 1, check->run_id);
    sqlite3_bind_int64(stmt, 2, made->level);
    sqlite3_bind_int64(stmt, 3, made->cpu);
    sqlite3_bind_int64(stmt, 4, (int64_t)made->period);
    code = sqlite3_step(stmt);
    if (code == SQLITE_ROW) {
        of->found++;
        if (rps_period_read(stmt, made->level, check->sums.set_count, &row, &scatter, &fault) < 0)
            column = fault.name;
        else
            column = rps_period_differs(&row, made);
        if (column && of->different++ == 0) {
            of->first_different = made->period;
            of->column = column;
        }
    } else if (code == SQLITE_DONE && of->missing++ == 0) {
        of->first_missing = made->period;
    }
    sqlite3_reset(stmt);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

/* SQL: count the rows of blocks whose finer rows exist, i.e. have not been downsampled. */
static const char sql_others[] =
    "SELECT level, count(*) - sum(period < coalesce((SELECT before_period FROM thinned AS t WHERE"
    " t.run_id = ?1 AND t.cpu = r.cpu AND t.level = r.level - 1), 0)), min(period) FROM rollup AS r"
    " WHERE run_id = ?1 GROUP BY level";

static int report_others(void *context, sqlite3_stmt *stmt)
{
    struct check *check = context;
    int level = rps_database_index(stmt, 0, RPS_LEVELS + 1);
    int64_t others = sqlite3_column_int64(stmt, 1);

    if (level > 0 && others > (int64_t)check->level[level - 1].found)
        rps_findings_add(check->findings, RPS_FINDING_WRONG,
                         "run %" PRId64 ": blocks of level %d do not match the finer rows: %" PRId64
                         " additional rows",
                         check->run_id, level, others - (int64_t)check->level[level - 1].found);
    return SQLITE_OK;
}

/* Sum the periods, and compare the blocks with blocks computed from these periods. Returns an
 * SQLite code. */
static int check_sums(struct check *check)
{
    const struct rps_rollup_sink sink = {check, compare_block};
    struct rps_error err;
    int code = sqlite3_prepare_v2(check->reader->db,
                                  "SELECT " RPS_PERIOD_ROLLUP
                                  " FROM rollup WHERE run_id = ?1 AND level = ?2 AND cpu = ?3"
                                  " AND period = ?4",
                                  -1, &check->block, NULL);

    if (code == SQLITE_OK &&
        rps_run_sums(check->arena, check->reader, check->run_id, &sink, &check->sums, &err) < 0) {
        report_error(check, &err);
        code = SQLITE_ERROR;
    } else if (code == SQLITE_OK) {
        report_blocks(check);
        code =
            rps_database_each(check->reader->db, sql_others, check->run_id, report_others, check);
    }
    sqlite3_finalize(check->block);
    return code;
}

/* --- totals ----------------------------------------------------------------------------------- */

/* Compare a stored total with the sum over the periods. */
static void compare_total(struct check *check, sqlite3_stmt *stmt, int column, const char *of,
                          const char *what, uint64_t sum)
{
    int64_t total = sqlite3_column_int64(stmt, column);

    if ((uint64_t)total == sum) /* the recorder writes a total even if it exceeds INT64_MAX */
        return;
    rps_findings_add(check->findings, RPS_FINDING_WRONG,
                     "run %" PRId64 ": the total %s of %s is %" PRId64
                     ", but the periods come to %" PRIu64,
                     check->run_id, what, of, total, sum);
}

static int check_set_total(void *context, sqlite3_stmt *stmt)
{
    struct check *check = context;
    int set = rps_database_index(stmt, 0, check->sums.set_count);
    const struct rps_set_sum *sum;
    char name[64];

    if (set < 0)
        return SQLITE_OK;
    sum = &check->sums.sum[set];
    snprintf(name, sizeof(name), "event set %d", set);
    compare_total(check, stmt, 1, name, "number of periods", sum->periods);
    compare_total(check, stmt, 2, name, "time enabled", sum->enabled_ns);
    compare_total(check, stmt, 3, name, "time on the counters", sum->running_ns);
    return SQLITE_OK;
}

static int check_event_total(void *context, sqlite3_stmt *stmt)
{
    struct check *check = context;
    int set = rps_database_index(stmt, 0, check->sums.set_count);
    int slot = rps_database_index(stmt, 1, RPS_SLOT_MAX);
    const struct rps_set_sum *sum;
    uint64_t cycles = 0;
    int has_total = sqlite3_column_type(stmt, 2) != SQLITE_NULL;
    char name[64];

    if (sqlite3_column_int64(stmt, 0) == RPS_CLOCK_SET) {
        for (int n = 0; n < check->sums.set_count; n++)
            cycles += check->sums.sum[n].cycles;
        compare_total(check, stmt, 2, "the clock event", "count", cycles);
    }
    if (set < 0 || slot < 0)
        return SQLITE_OK;
    sum = &check->sums.sum[set];
    snprintf(name, sizeof(name), "event %d of set %d", slot, set);
    if (has_total != (sum->counted[slot] > 0))
        rps_findings_add(check->findings, RPS_FINDING_WRONG,
                         "run %" PRId64 ": %s has %s total count, but %s", check->run_id, name,
                         has_total ? "a" : "no",
                         has_total ? "was never counted" : "its periods have counts");
    else if (has_total)
        compare_total(check, stmt, 2, name, "count", sum->count[slot]);
    return SQLITE_OK;
}

/* Check the totals of a run, which exist only after the run has ended. */
static void check_totals(struct check *check)
{
    static const struct {
        const char *sql;
        int (*row)(void *context, sqlite3_stmt *stmt);
    } tables[] = {
        {"SELECT set_no, periods, enabled_ns, running_ns FROM event_set WHERE run_id = ?1"
         " AND periods IS NOT NULL",
         check_set_total},
        {"SELECT e.set_no, slot, count FROM event AS e JOIN event_set AS s"
         " ON s.run_id = e.run_id AND s.set_no = max(e.set_no, 0) AND s.periods IS NOT NULL"
         " WHERE e.run_id = ?1",
         check_event_total},
    };

    for (size_t i = 0; i < RPS_COUNT(tables); i++) {
        int code = rps_database_each(check->reader->db, tables[i].sql, check->run_id, tables[i].row,
                                     check);

        if (code != SQLITE_OK)
            unreadable(check, "its totals", code);
    }
}

/* Report a run in state `recording` whose recorder is dead. */
static void check_state(struct check *check, const struct rps_run *run)
{
    int64_t recording = 0;

    rps_database_ask(check->reader->db, &recording,
                     "SELECT state = 'recording' FROM run WHERE run_id = ?", "i", check->run_id);
    if (run->state == RPS_RUN_INTERRUPTED && recording)
        rps_findings_add(check->findings, RPS_FINDING_WARNING,
                         "run %" PRId64 ": its recorder was killed, or its disk was full. The data "
                         "are intact, and the next recording "
                         "into the store marks the run as interrupted",
                         check->run_id);
}

/* --- the description -------------------------------------------------------------------------- */

/* The steps of all formulas, as rpistat compiles them. */
#define SQL_STEPS                                                                                  \
    "SELECT m.name, step_count, step, op, number, operand, set_no, slot FROM metric AS m"          \
    " LEFT JOIN metric_step AS s ON s.run_id = m.run_id AND s.metric = m.name"                     \
    " WHERE m.run_id = ?1"

/* Compare the stored steps of formulas with newly compiled steps. An empty store receives the steps
 * that are compiled from the plan's formulas. */
static void check_steps(struct check *check, const struct rps_plan *plan)
{
    sqlite3_stmt *stmt = NULL;
    int code = rps_database_exec(check->expected,
                                 "DELETE FROM metric; DELETE FROM metric_step;"
                                 "DROP TABLE IF EXISTS temp.steps; CREATE TEMP TABLE steps"
                                 " (name, step_count, step, op, number, operand, set_no, slot)");

    if (code == SQLITE_OK)
        code = rps_write_run_metrics(check->expected, check->run_id, plan);
    if (code == SQLITE_OK)
        code = rps_database_copy(check->reader->db, SQL_STEPS, check->run_id, check->expected,
                                 "INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(check->expected,
                                  "SELECT name FROM (SELECT * FROM (" SQL_STEPS ") EXCEPT"
                                  " SELECT * FROM steps) UNION ALL SELECT name FROM (SELECT * FROM"
                                  " steps EXCEPT " SQL_STEPS ") ORDER BY name LIMIT 1",
                                  -1, &stmt, NULL);
    if (code == SQLITE_OK) {
        sqlite3_bind_int64(stmt, 1, check->run_id);
        code = sqlite3_step(stmt);
    }
    if (code == SQLITE_ROW)
        rps_findings_add(
            check->findings, RPS_FINDING_WRONG,
            "run %" PRId64
            ": the steps of metric %s are not those of its formula, so the view 'rate' is wrong",
            check->run_id, (const char *)sqlite3_column_text(stmt, 0));
    else if (code != SQLITE_DONE && code != SQLITE_ERROR)
        unreadable(check, "the steps of its metrics", code);
    sqlite3_finalize(stmt);
}

static void report_detection(void *context, int64_t detection, const struct rps_error *why)
{
    (void)detection;
    report_error(context, why);
}

/* Read the run's row, plan and detections as every command does. */
static void check_description(struct check *check)
{
    const struct rps_detection_sink sink = {check, report_detection};
    struct rps_plan *plan = NULL;
    struct rps_error err;
    struct rps_run run;

    if (rps_reader_run(check->arena, check->reader, check->run_id, &run, &err) < 0)
        report_error(check, &err);
    else
        check_state(check, &run);
    if (rps_reader_plan(check->arena, check->reader, check->run_id, &plan, &err) < 0)
        report_error(check, &err);
    else if (check->expected)
        check_steps(check, plan);
    if (rps_detection_check(check->reader, check->run_id, &sink, &err) < 0)
        report_error(check, &err);
}

uint64_t rps_check_run(struct rps_reader *reader, int64_t run_id, sqlite3 *expected,
                       struct rps_findings *findings)
{
    struct check check = {.arena = rps_arena_new(),
                          .reader = reader,
                          .findings = findings,
                          .run_id = run_id,
                          .expected = expected};
    uint64_t wrong = findings->count[RPS_FINDING_WRONG];
    struct rps_error err;
    int code = rps_questions_ask(reader->db, run_id, findings);

    if (code != SQLITE_OK)
        unreadable(&check, "its periods", code);
    else if (findings->count[RPS_FINDING_WRONG] == wrong && check_sums(&check) == SQLITE_OK)
        check_totals(&check);
    if (code == SQLITE_OK && rps_system_check(reader, run_id, findings, &err) < 0)
        report_error(&check, &err);
    if (code == SQLITE_OK) /* after an error, this check would report the same error again */
        check_description(&check);
    rps_questions_ask_rest(reader->db, run_id, findings);
    rps_arena_free(check.arena);
    return check.sums.most;
}
