/* The rows that a run has beside its periods. */
#include "write_run.h"

#include <stdlib.h>

#include "columns.h"
#include "database.h"
#include "heartbeat.h"
#include "rpistat/clock.h"
#include "rpistat/json.h"

/* Parameters behind those of the columns.h table in the same statement. */
enum run_parameter {
    RUN_TAGS = RPS_RUN_COLUMN_COUNT + 1,
    RUN_COMMAND,
    RUN_STATE,
    RUN_PLAN,
    RUN_PLAN_TITLE,
    RUN_PLAN_EXPLAIN,
    RUN_SET_COUNT,
    RUN_CLOCK_UNIT,
};

static void put_tags(struct rps_json *json, const struct rps_run *run)
{
    rps_json_object(json, NULL);
    for (int i = 0; i < run->tag_count; i++)
        rps_json_text(json, run->tag[i].key, run->tag[i].value);
    rps_json_end(json);
}

static void put_command(struct rps_json *json, const struct rps_run *run)
{
    rps_json_array(json, NULL);
    for (int i = 0; i < run->argc; i++)
        rps_json_text(json, NULL, run->argv[i]);
    rps_json_end(json);
}

static int bind_json(sqlite3_stmt *stmt, int index, const struct rps_run *run,
                     void (*put)(struct rps_json *json, const struct rps_run *run))
{
    struct rps_json json;
    char *text;

    if (rps_json_open(&json, 1) < 0)
        return SQLITE_NOMEM;
    put(&json, run);
    text = rps_json_close(&json);
    return text ? sqlite3_bind_text(stmt, index, text, -1, free) : SQLITE_NOMEM;
}

static int bind_plan(sqlite3_stmt *stmt, const struct rps_plan *plan)
{
    int code = rps_fields_bind_text(stmt, RUN_PLAN, plan->name);

    if (code == SQLITE_OK)
        code = rps_fields_bind_text(stmt, RUN_PLAN_TITLE, plan->title);
    if (code == SQLITE_OK)
        code = rps_fields_bind_text(stmt, RUN_PLAN_EXPLAIN, plan->explain);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int(stmt, RUN_SET_COUNT, plan->set_count);
    if (code == SQLITE_OK)
        code = rps_fields_bind_text(stmt, RUN_CLOCK_UNIT, plan->clock.unit);
    return code;
}

static int insert_run(sqlite3 *db, const struct rps_run *run, const struct rps_plan *plan)
{
    sqlite3_stmt *stmt = NULL;
    int code = rps_database_prepare(db,
                                    "INSERT INTO run (" RPS_RUN_COLUMNS ", tags, command, state,"
                                    " plan, plan_title, plan_explain, set_count, clock_unit)"
                                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
                                    " ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                                    &stmt);

    if (code == SQLITE_OK)
        code = rps_fields_bind(stmt, 1, rps_run_members, RPS_RUN_COLUMN_COUNT, run);
    if (code == SQLITE_OK)
        code = bind_json(stmt, RUN_TAGS, run, put_tags);
    if (code == SQLITE_OK)
        code = bind_json(stmt, RUN_COMMAND, run, put_command);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(stmt, RUN_STATE, rps_run_states[run->state], -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = bind_plan(stmt, plan);
    if (code == SQLITE_OK)
        code = rps_database_run(stmt);
    sqlite3_finalize(stmt);
    return code;
}

static int insert_event(sqlite3_stmt *stmt, int64_t run_id, int set_no, int slot,
                        const struct rps_event *event)
{
    int code = rps_fields_bind(stmt, 1, rps_event_members, RPS_EVENT_COLUMN_COUNT, event);

    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(stmt, RPS_EVENT_COLUMN_COUNT + 1, run_id);
    sqlite3_bind_int(stmt, RPS_EVENT_COLUMN_COUNT + 2, set_no);
    sqlite3_bind_int(stmt, RPS_EVENT_COLUMN_COUNT + 3, slot);
    sqlite3_bind_text(stmt, RPS_EVENT_COLUMN_COUNT + 4, rps_event_states[event->state], -1,
                      SQLITE_STATIC);
    return rps_database_run(stmt);
}

static int insert_sets(sqlite3 *db, int64_t run_id, const struct rps_plan *plan)
{
    sqlite3_stmt *event = NULL;
    int code = rps_database_prepare(
        db,
        "INSERT INTO event (" RPS_EVENT_COLUMNS ", run_id, set_no, slot, state)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &event);

    if (code == SQLITE_OK)
        code = insert_event(event, run_id, RPS_CLOCK_SET, 0, &plan->clock);
    for (int n = 0; n < plan->set_count && code == SQLITE_OK; n++) {
        code = rps_database_do(
            db, "INSERT INTO event_set (run_id, set_no, name, explain) VALUES (?1, ?2, ?3, ?4)",
            "iitt", run_id, (int64_t)n, plan->set[n].name, plan->set[n].explain);
        for (int slot = 0; slot < plan->set[n].event_count && code == SQLITE_OK; slot++)
            code = insert_event(event, run_id, n, slot, &plan->set[n].event[slot]);
    }
    sqlite3_finalize(event);
    return code;
}

static int insert_step(sqlite3_stmt *stmt, int64_t run_id, const struct rps_plan *plan,
                       const char *metric, int64_t number, const struct rps_formula_step *step)
{
    static const char *const op[] = {
        [RPS_FORMULA_NUMBER] = "number", [RPS_FORMULA_OPERAND] = "operand",
        [RPS_FORMULA_ADD] = "+",         [RPS_FORMULA_SUBTRACT] = "-",
        [RPS_FORMULA_MULTIPLY] = "*",    [RPS_FORMULA_DIVIDE] = "/",
    };
    int64_t event = step->operand - RPS_OPERAND_EVENTS;
    int code;

    if (step->op == RPS_FORMULA_NUMBER)
        code = rps_database_bind(stmt,
                                 "itit"
                                 "rnnn",
                                 run_id, metric, number, op[step->op], step->number);
    else if (step->op != RPS_FORMULA_OPERAND)
        code = rps_database_bind(stmt,
                                 "itit"
                                 "nnnn",
                                 run_id, metric, number, op[step->op]);
    else if (event < 0)
        code = rps_database_bind(stmt,
                                 "itit"
                                 "ntnn",
                                 run_id, metric, number, op[step->op],
                                 rps_plan_operand_name(plan, step->operand));
    else
        code = rps_database_bind(stmt,
                                 "itit"
                                 "ntii",
                                 run_id, metric, number, op[step->op],
                                 rps_plan_operand_name(plan, step->operand), event / RPS_SLOT_MAX,
                                 event % RPS_SLOT_MAX);
    return code == SQLITE_OK ? rps_database_run(stmt) : code;
}

int rps_write_run_metrics(sqlite3 *db, int64_t run_id, const struct rps_plan *plan)
{
    sqlite3_stmt *metric = NULL, *step = NULL;
    int code = rps_database_prepare(db,
                                    "INSERT INTO metric (" RPS_METRIC_COLUMNS
                                    ", run_id, metric_no, step_count)"
                                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                                    &metric);

    if (code == SQLITE_OK)
        code = rps_database_prepare(
            db,
            "INSERT INTO metric_step (run_id, metric, step, op, number, operand, set_no, slot)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            &step);
    for (int i = 0; i < plan->metric_count && code == SQLITE_OK; i++) {
        code = rps_fields_bind(metric, 1, rps_metric_members, RPS_METRIC_COLUMN_COUNT,
                               &plan->metric[i]);
        sqlite3_bind_int64(metric, RPS_METRIC_COLUMN_COUNT + 1, run_id);
        sqlite3_bind_int(metric, RPS_METRIC_COLUMN_COUNT + 2, i);
        sqlite3_bind_int(metric, RPS_METRIC_COLUMN_COUNT + 3, plan->metric[i].formula.step_count);
        if (code == SQLITE_OK)
            code = rps_database_run(metric);
        for (int n = 0; n < plan->metric[i].formula.step_count && code == SQLITE_OK; n++)
            code = insert_step(step, run_id, plan, plan->metric[i].name, n,
                               &plan->metric[i].formula.step[n]);
    }
    sqlite3_finalize(step);
    sqlite3_finalize(metric);
    return code;
}

/* End the transaction that led to code. */
static int commit_or_roll_back(sqlite3 *db, int code)
{
    if (code == SQLITE_OK)
        code = rps_database_exec(db, "COMMIT");
    if (code != SQLITE_OK && !sqlite3_get_autocommit(db))
        rps_database_exec(db, "ROLLBACK");
    return code;
}

int rps_write_run_begin(sqlite3 *db, const struct rps_run *run, const struct rps_plan *plan,
                        int64_t *ret_run_id)
{
    int64_t run_id = 0;
    int code = rps_database_exec(db, "BEGIN IMMEDIATE");

    if (code != SQLITE_OK)
        return code;
    code = insert_run(db, run, plan);
    run_id = sqlite3_last_insert_rowid(db);
    if (code == SQLITE_OK)
        code = insert_sets(db, run_id, plan);
    if (code == SQLITE_OK)
        code = rps_write_run_metrics(db, run_id, plan);
    if (code == SQLITE_OK) /* without one it would look dead until the first commit */
        code = rps_database_do(db,
                               "INSERT INTO heartbeat (run_id, realtime_ns, boot_id, interval_ns)"
                               " VALUES (?1, ?2, ?3, ?4)",
                               "iiti", run_id, rps_clock_realtime_ns(), run->boot_id,
                               RPS_HEARTBEAT_INTERVAL_NS);
    code = commit_or_roll_back(db, code);
    if (code == SQLITE_OK)
        *ret_run_id = run_id;
    return code;
}

/* --- the end ---------------------------------------------------------------------------------- */

static int update_run(sqlite3 *db, int64_t run_id, const struct rps_run *run)
{
    static const struct rps_member column[] = {
        RPS_MEMBER(RPS_MEMBER_TEXT, struct rps_run, end_reason, RPS_MEMBER_NEVER),
        RPS_MEMBER(RPS_MEMBER_INT64, struct rps_run, start_realtime_ns, -1),
        RPS_MEMBER(RPS_MEMBER_INT64, struct rps_run, start_monotonic_ns, -1),
        RPS_MEMBER(RPS_MEMBER_INT64, struct rps_run, elapsed_ns, -1),
        RPS_MEMBER(RPS_MEMBER_INT, struct rps_run, exit_status, -1),
        RPS_MEMBER(RPS_MEMBER_INT, struct rps_run, exit_signal, RPS_MEMBER_NEVER),
        RPS_MEMBER(RPS_MEMBER_INT64, struct rps_run, recorder_cpu_ns, -1),
        RPS_MEMBER(RPS_MEMBER_TEXT, struct rps_run, fitting, RPS_MEMBER_NEVER),
    };
    const int count = sizeof(column) / sizeof(column[0]);
    sqlite3_stmt *stmt = NULL;
    int code = rps_database_prepare(
        db,
        "UPDATE run SET end_reason = ?1, start_realtime_ns = ?2, start_monotonic_ns = ?3,"
        " elapsed_ns = ?4, exit_status = ?5, exit_signal = ?6, recorder_cpu_ns = ?7, fitting = ?8,"
        " state = ?9 WHERE run_id = ?10",
        &stmt);

    if (code == SQLITE_OK)
        code = rps_fields_bind(stmt, 1, column, (size_t)count, run);
    if (code == SQLITE_OK) {
        sqlite3_bind_text(stmt, count + 1, rps_run_states[run->state], -1, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, count + 2, run_id);
        code = rps_database_run(stmt);
    }
    sqlite3_finalize(stmt);
    return code;
}

void rps_set_sum_add(struct rps_set_sum *sum, const struct rps_period *period, uint32_t measured)
{
    uint32_t counted = period->counted & measured;

    sum->periods += rps_period_weight(period);
    sum->cycles += period->cycles;
    sum->enabled_ns += period->enabled_ns;
    sum->running_ns += period->running_ns;
    for (int slot = 0; slot < RPS_SLOT_MAX; slot++) {
        if (counted & (UINT32_C(1) << slot)) {
            sum->count[slot] += period->count[slot];
            sum->counted[slot] += rps_period_weight(period);
        }
    }
}

int rps_write_run_sums(sqlite3 *db, int64_t run_id, int set_count, const struct rps_set_sum *sum)
{
    int64_t cycles = 0; /* of all sets: the clock event is counted beside each */
    int code = SQLITE_OK;

    for (int64_t n = 0; n < set_count && code == SQLITE_OK; n++) {
        cycles += (int64_t)sum[n].cycles;
        code = rps_database_do(db,
                               "UPDATE event_set SET periods = ?3, enabled_ns = ?4, running_ns = ?5"
                               " WHERE run_id = ?1 AND set_no = ?2",
                               "iiiii", run_id, n, (int64_t)sum[n].periods,
                               (int64_t)sum[n].enabled_ns, (int64_t)sum[n].running_ns);
        for (int64_t slot = 0; slot < RPS_SLOT_MAX && code == SQLITE_OK; slot++) {
            if (sum[n].counted[slot] > 0)
                code = rps_database_do(db,
                                       "UPDATE event SET count = ?4 WHERE run_id = ?1"
                                       " AND set_no = ?2 AND slot = ?3",
                                       "iiii", run_id, n, slot, (int64_t)sum[n].count[slot]);
        }
    }
    if (code == SQLITE_OK)
        code = rps_database_do(db, "UPDATE event SET count = ?2 WHERE run_id = ?1 AND set_no = -1",
                               "ii", run_id, cycles);
    return code;
}

int rps_write_run_after(sqlite3 *db, int64_t run_id, int64_t cpu_ns)
{
    return rps_database_do(db, "UPDATE run SET recorder_after_ns = ?2 WHERE run_id = ?1", "ii",
                           run_id, cpu_ns);
}

int rps_write_run_end(sqlite3 *db, int64_t run_id, const struct rps_run *run, int set_count,
                      const struct rps_set_sum *sum)
{
    int code = update_run(db, run_id, run);

    if (code == SQLITE_OK)
        code = rps_write_run_sums(db, run_id, set_count, sum);
    if (code == SQLITE_OK)
        code = rps_database_do(db, "DELETE FROM heartbeat WHERE run_id = ?1", "i", run_id);
    return code;
}
