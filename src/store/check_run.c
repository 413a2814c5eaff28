/*
 * Checking a run: its row and its plan by reading them as every command does, its periods against
 * each other, its totals against the periods, and what refers to its periods.
 */
#include "check_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_code.h"
#include "check_rollup.h"
#include "columns.h"
#include "database.h"
#include "detection.h"
#include "examine.h"
#include "rpistat/clock.h"

struct check {
    struct rps_reader *reader;
    struct rps_findings *findings;
    int64_t run_id;
    sqlite3 *expected; /* an empty store */
    struct rps_run_shape shape;
    struct rps_examined examined;
};

/* "run 3: " and what it is about. */
#define WHAT_SIZE 128
static const char *of_run(const struct check *check, char ret[WHAT_SIZE], const char *what)
{
    snprintf(ret, WHAT_SIZE, "run %" PRId64 ": %s", check->run_id, what);
    return ret;
}

/* A question that the store could not answer. */
static void unreadable(struct check *check, const char *what, int code)
{
    char text[WHAT_SIZE];

    rps_findings_unreadable(check->findings, check->reader->db, of_run(check, text, what), code);
}

/* --- what the periods say --------------------------------------------------------------------- */

/* By kind: of what there is one, or are several. */
#define PERIODS(kind, rest)                                                                        \
    {                                                                                              \
        RPS_FINDING_##kind, "period " rest, "periods " rest                                        \
    }
static const struct {
    enum rps_finding_kind kind;
    const char *one, *many;
} fault_text[RPS_FAULT_COUNT] = {
    [RPS_FAULT_NUMBER] = PERIODS(WRONG, "with a number that no recorder writes"),
    [RPS_FAULT_BLOCK] = {RPS_FINDING_WRONG,
                         "block that stands for periods has rows that do not belong together",
                         "blocks that stand for periods have rows that do not belong together"},
    [RPS_FAULT_ORDER] = PERIODS(WRONG, "out of order: the numbers of periods do not go up one by "
                                       "one with the cycle timestamp"),
    [RPS_FAULT_ROTATION] = PERIODS(WRONG, "with a rotation that goes back, or a set for the second "
                                          "time in one"),
    [RPS_FAULT_HOLE] = {RPS_FINDING_WRONG, "stretch is missing, and no gap row says why",
                        "stretches are missing, and no gap row says why"},
    [RPS_FAULT_OVERLAP] = PERIODS(WRONG, "beginning before the one before has ended"),
    [RPS_FAULT_CYCLE] = PERIODS(WRONG, "with a cycle timestamp that is not the sum of all cycles "
                                       "so far"),
    [RPS_FAULT_STRANGE] = PERIODS(WRONG, "with a count of an event that was not measured"),
    [RPS_FAULT_IDLE] = PERIODS(WRONG, "with counts of an event set that was never on the counters "
                                      "in it"),
    [RPS_FAULT_SWITCH] = PERIODS(WRONG, "with a switch of event sets that goes on beyond the next "
                                        "period"),
    [RPS_FAULT_MISSING] = PERIODS(ODD, "without a count of an event that was on the counters, "
                                       "as recorded: the recorder could not read it"),
    [RPS_FAULT_RACE] = PERIODS(ODD, "with more time on the counters than the workload ran"),
};

/* What is known of the first one, or of all together. */
static void describe(char *ret, size_t size, enum rps_fault kind, const struct rps_fault_sum *fault)
{
    double seconds = (double)fault->total_ns / RPS_NS_PER_S;

    ret[0] = '\0';
    if (kind == RPS_FAULT_NUMBER)
        snprintf(ret, size, ", with %s %" PRId64, fault->name, fault->value);
    else if (kind == RPS_FAULT_HOLE)
        snprintf(ret, size, "; %.3f s in all", seconds);
    else if (kind == RPS_FAULT_RACE || kind == RPS_FAULT_SWITCH)
        snprintf(ret, size, "; by up to %.3f ms", 1000 * seconds);
}

static void tell_faults(void *context, int32_t cpu,
                        const struct rps_fault_sum fault[RPS_FAULT_COUNT])
{
    struct check *check = context;
    char track[64], more[80];

    rps_findings_track(track, sizeof(track), check->run_id, cpu);
    for (int kind = 0; kind < RPS_FAULT_COUNT; kind++) {
        uint64_t count = fault[kind].count;

        if (count == 0)
            continue;
        describe(more, sizeof(more), (enum rps_fault)kind, &fault[kind]);
        rps_findings_add(check->findings, fault_text[kind].kind,
                         "%s: %" PRIu64 " %s (first: %s period %" PRIu64 ", at %.3f s%s)", track,
                         count, count == 1 ? fault_text[kind].one : fault_text[kind].many,
                         kind == RPS_FAULT_HOLE ? "before" : "in", fault[kind].period,
                         (double)fault[kind].start_ns / RPS_NS_PER_S, more);
    }
}

static int check_periods(struct check *check)
{
    const struct rps_examiner examiner = {check, NULL, NULL, tell_faults};
    sqlite3 *db = check->reader->db;
    int code = rps_run_shape_load(db, check->run_id, &check->shape);

    if (code == SQLITE_OK)
        code = rps_examine_run(db, &check->shape, &examiner, &check->examined);
    if (code == SQLITE_OK)
        code = rps_check_rollup(db, &check->shape, check->findings);
    if (code != SQLITE_OK && !rps_findings_end_by_code(check->findings, code))
        rps_findings_add(check->findings, RPS_FINDING_WRONG,
                         "run %" PRId64 ": its periods cannot be read beyond the first %" PRIu64
                         " (%s)",
                         check->run_id, check->examined.periods, rps_database_reason(db, code));
    return code;
}

/* --- totals ----------------------------------------------------------------------------------- */

/* A total of the store against that of the periods. */
static void compare(struct check *check, sqlite3_stmt *stmt, int column, const char *of,
                    const char *what, uint64_t sum)
{
    int64_t total = sqlite3_column_int64(stmt, column);

    if ((uint64_t)total == sum) /* as it was written, were it too large for a row */
        return;
    rps_findings_add(check->findings, RPS_FINDING_WRONG,
                     "run %" PRId64 ": the total %s of %s is %" PRId64
                     ", but the periods come to %" PRIu64,
                     check->run_id, what, of, total, sum);
}

static void check_set_total(struct check *check, sqlite3_stmt *stmt)
{
    int set = rps_database_index(stmt, 0, check->shape.set_count);
    const struct rps_set_sum *sum;
    char name[64];

    if (set < 0)
        return;
    sum = &check->examined.sum[set];
    snprintf(name, sizeof(name), "event set %d", set);
    compare(check, stmt, 1, name, "number of periods", sum->periods);
    compare(check, stmt, 2, name, "time enabled", sum->enabled_ns);
    compare(check, stmt, 3, name, "time on the counters", sum->running_ns);
}

static void check_event_total(struct check *check, sqlite3_stmt *stmt)
{
    int set = rps_database_index(stmt, 0, check->shape.set_count);
    int slot = rps_database_index(stmt, 1, RPS_SLOT_MAX);
    const struct rps_set_sum *sum;
    uint64_t cycles = 0;
    int has_total = sqlite3_column_type(stmt, 2) != SQLITE_NULL;
    char name[64];

    if (sqlite3_column_int64(stmt, 0) == RPS_CLOCK_SET) {
        for (int n = 0; n < check->shape.set_count; n++)
            cycles += check->examined.sum[n].cycles;
        compare(check, stmt, 2, "the clock event", "count", cycles);
    }
    if (set < 0 || slot < 0)
        return;
    sum = &check->examined.sum[set];
    snprintf(name, sizeof(name), "event %d of set %d", slot, set);
    if (has_total != (sum->counted[slot] > 0))
        rps_findings_add(check->findings, RPS_FINDING_WRONG,
                         "run %" PRId64 ": %s has %s total count, but %s", check->run_id, name,
                         has_total ? "a" : "no",
                         has_total ? "was never counted" : "its periods have counts");
    else if (has_total)
        compare(check, stmt, 2, name, "count", sum->count[slot]);
}

/* Totals stand there when the run has ended. */
static void check_totals(struct check *check)
{
    static const struct {
        const char *sql;
        void (*row)(struct check *, sqlite3_stmt *);
    } tables[] = {
        {"SELECT set_no, periods, enabled_ns, running_ns FROM event_set WHERE run_id = ?1"
         " AND periods IS NOT NULL",
         check_set_total},
        {"SELECT e.set_no, slot, count FROM event AS e JOIN event_set AS s"
         " ON s.run_id = e.run_id AND s.set_no = max(e.set_no, 0) AND s.periods IS NOT NULL"
         " WHERE e.run_id = ?1",
         check_event_total},
    };

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        sqlite3_stmt *stmt = NULL;
        int code = sqlite3_prepare_v2(check->reader->db, tables[i].sql, -1, &stmt, NULL);

        if (code == SQLITE_OK) {
            sqlite3_bind_int64(stmt, 1, check->run_id);
            while ((code = sqlite3_step(stmt)) == SQLITE_ROW)
                tables[i].row(check, stmt);
        }
        sqlite3_finalize(stmt);
        if (code != SQLITE_DONE)
            unreadable(check, "its totals", code);
    }
}

/* --- what else there is of a run ---------------------------------------------------------------
 */

/* Numbers of a table of the code that no recorder writes. */
#define NUMBERS(table)                                                                             \
    "(SELECT count(*) FROM " table " WHERE run_id = ?1 AND " table " NOT BETWEEN 0 AND 1999999)"

/* What had no room in the recorder's memory may leave others that refer to it. */
#define NONE_LOST "NOT EXISTS (SELECT 1 FROM sampling WHERE run_id = ?1 AND lost > 0)"

/* Questions that a sound store answers with 0. Parameters: run_id, the highest period number, the
 * end of the last period. */
static const struct {
    enum rps_finding_kind kind;
    const char *sql, *what; /* "run 1: " and what */
    int counted;            /* 1: and ": 3" */
    int whole;              /* 1: only of runs whose periods could all be read */
} question[] = {
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM phase WHERE run_id = ?1"
     " AND (first_period < 0 OR first_period > last_period OR last_period > ?2)",
     "phases that are not inside the run", 1, 1},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM (SELECT detection FROM phase WHERE run_id = ?1"
     " UNION ALL SELECT detection FROM outlier WHERE run_id = ?1)"
     " WHERE detection NOT IN (SELECT detection FROM detection WHERE run_id = ?1)",
     "phases and outliers that belong to no detection", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM outlier WHERE run_id = ?1 AND (period < 0 OR period > ?2)",
     "outliers that are not inside the run", 1, 1},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM gap WHERE run_id = ?1 AND (start_ns < 0 OR length_ns < 0)",
     "gap rows with times that make no sense", 1, 0},
    {RPS_FINDING_ODD,
     "SELECT count(*) FROM mark AS m JOIN run AS r ON r.run_id = m.run_id WHERE m.run_id = ?1"
     " AND (time_ns < 0 OR (r.state = 'complete' AND time_ns > r.elapsed_ns))",
     "marks outside the run", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM run WHERE run_id = ?1 AND state <> 'recording' AND ?3 >= 0"
     " AND (elapsed_ns IS NULL OR elapsed_ns < ?3 - 1000)",
     "it ended before its last period did", 0, 1},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM run AS r WHERE run_id = ?1 AND set_count <>"
     " (SELECT count(*) FROM event_set AS s WHERE s.run_id = r.run_id)",
     "its number of event sets is not that of its rows in event_set", 0, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM run WHERE run_id = ?1 AND state = 'complete' AND EXISTS"
     " (SELECT 1 FROM event_set AS s WHERE s.run_id = ?1 AND periods IS NULL)",
     "it is complete, but has no totals", 0, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM thinned AS t WHERE run_id = ?1 AND (level NOT BETWEEN 0 AND 3 OR"
     " before_period < 0 OR (level > 0 AND before_period > coalesce((SELECT before_period"
     " FROM thinned AS f WHERE f.run_id = ?1 AND f.cpu = t.cpu AND f.level = t.level - 1), 0)))",
     "rows of thinned that take more away than those of the finer levels", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM thinned AS t JOIN rollup AS r ON r.run_id = t.run_id"
     " AND r.level = t.level AND r.cpu = t.cpu AND r.period < t.before_period WHERE t.run_id = ?1",
     "rows of rollup that are there, though thinned says that they were taken away", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT " NUMBERS("module") " + " NUMBERS("frame") " + " NUMBERS("stack") " + " NUMBERS(
         "task"),
     "modules, frames, stacks and tasks with numbers that no recorder writes", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM frame WHERE run_id = ?1 AND module <> -1 AND module NOT IN"
     " (SELECT module FROM module WHERE run_id = ?1) AND " NONE_LOST,
     "frames of modules that are not there", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM stack WHERE run_id = ?1 AND frame <> -1 AND frame NOT IN"
     " (SELECT frame FROM frame WHERE run_id = ?1) AND " NONE_LOST,
     "stacks of frames that are not there", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM stack WHERE run_id = ?1 AND (parent >= stack OR (parent NOT IN"
     " (SELECT stack FROM stack WHERE run_id = ?1) AND " NONE_LOST "))",
     "stacks whose caller is not one of the stacks before", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM location WHERE run_id = ?1 AND (depth < 0 OR (frame NOT IN"
     " (SELECT frame FROM frame WHERE run_id = ?1) AND " NONE_LOST "))",
     "names of frames that are not there", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM code_count WHERE run_id = ?1 AND (level NOT BETWEEN 0 AND 4"
     " OR period < 0 OR (period > ?2 AND NOT EXISTS (SELECT 1 FROM gap WHERE run_id = ?1)))",
     "counts of samples that are not inside the run", 1, 1},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM code_count AS c WHERE run_id = ?1 AND level > 0 AND NOT EXISTS"
     " (SELECT 1 FROM rollup AS r WHERE r.run_id = ?1 AND r.level = c.level AND r.cpu = c.cpu"
     " AND r.period = c.period)",
     "counts of samples in blocks that are not there", 1, 0},
    {RPS_FINDING_ODD,
     "SELECT EXISTS (SELECT 1 FROM code_count WHERE run_id = ?1) AND NOT EXISTS"
     " (SELECT 1 FROM sampling WHERE run_id = ?1)",
     "it has samples, but not how they were taken, and they are not shown", 0, 0},
    {RPS_FINDING_ODD,
     "SELECT count(*) FROM heartbeat AS h JOIN run AS r ON r.run_id = h.run_id"
     " WHERE h.run_id = ?1 AND r.state = 'complete'", /* a recorder that was killed leaves its own */
     "it has ended, and has a heartbeat all the same", 0, 0},
};

static void check_rest(struct check *check, int all_read)
{
    const int64_t number[] = {check->run_id, (int64_t)check->examined.last_period,
                              check->examined.end_ns};

    for (size_t i = 0; i < sizeof(question) / sizeof(question[0]); i++) {
        char what[WHAT_SIZE], count[32] = "";
        int64_t found[2];

        if ((question[i].whole && !all_read) ||
            !rps_findings_ask(check->findings, check->reader->db, question[i].sql, number,
                              of_run(check, what, question[i].what), found) ||
            found[0] == 0)
            continue;
        if (question[i].counted)
            snprintf(count, sizeof(count), ": %" PRId64, found[0]);
        rps_findings_add(check->findings, question[i].kind, "%s%s", what, count);
    }
}

/* A run that seems to be recorded, but whose recorder is gone. */
static void check_state(struct check *check, const struct rps_run *run)
{
    if (run->state == RPS_RUN_INTERRUPTED && check->shape.recording)
        rps_findings_add(check->findings, RPS_FINDING_ODD,
                         "run %" PRId64
                         ": its recorder was killed; what is here is good, and the next recording "
                         "into the store marks it as interrupted",
                         check->run_id);
}

static void tell_error(struct check *check, const struct rps_error *err)
{
    if (!rps_findings_end_by_error(check->findings, err))
        rps_findings_add(check->findings, RPS_FINDING_WRONG, "run %" PRId64 ": %s", check->run_id,
                         err->message);
}

/* --- the description -------------------------------------------------------------------------- */

/* The steps of all formulas, as rpistat compiles them. */
#define SQL_STEPS                                                                                  \
    "SELECT m.name, step_count, step, op, number, operand, set_no, slot FROM metric AS m"          \
    " LEFT JOIN metric_step AS s ON s.run_id = m.run_id AND s.metric = m.name"                     \
    " WHERE m.run_id = ?1"

/* Compare what the store holds with the steps that the plan's formulas give in an empty store. */
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
        rps_findings_add(check->findings, RPS_FINDING_WRONG,
                         "run %" PRId64
                         ": the steps of metric %s are not those of its formula, so that view "
                         "rate is wrong",
                         check->run_id, (const char *)sqlite3_column_text(stmt, 0));
    else if (code != SQLITE_DONE && code != SQLITE_ERROR)
        unreadable(check, "the steps of its metrics", code);
    sqlite3_finalize(stmt);
}

static void tell_detection(void *context, int64_t detection, const struct rps_error *why)
{
    (void)detection;
    tell_error(context, why);
}

/* The row of the run, its plan and its detections, as every command reads them. */
static void check_description(struct check *check)
{
    const struct rps_detection_sink sink = {check, tell_detection};
    struct rps_plan *plan = NULL;
    struct rps_error err;
    struct rps_run run;

    if (rps_reader_run(check->reader, check->run_id, &run, &err) < 0) {
        tell_error(check, &err);
    } else {
        check_state(check, &run);
        rps_run_free(&run);
    }
    if (rps_reader_plan(check->reader, check->run_id, &plan, &err) < 0)
        tell_error(check, &err);
    else if (check->expected)
        check_steps(check, plan);
    rps_plan_free(plan);
    if (rps_detection_check(check->reader, check->run_id, &sink, &err) < 0)
        tell_error(check, &err);
}

uint64_t rps_check_run(struct rps_reader *reader, int64_t run_id, sqlite3 *expected,
                       struct rps_findings *findings)
{
    struct check check = {
        .reader = reader, .findings = findings, .run_id = run_id, .expected = expected};
    int code = check_periods(&check);

    if (code == SQLITE_OK) { /* else it says the same again */
        check_description(&check);
        check_totals(&check);
    }
    check_rest(&check, code == SQLITE_OK);
    rps_check_code(reader->db, run_id, findings);
    rps_run_shape_free(&check.shape);
    free(check.examined.sum);
    return check.examined.most;
}
