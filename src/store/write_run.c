/* The rows of a run other than its periods. */
#include "write_run.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "fields.h"
#include "database.h"
#include "rpistat/clock.h"
#include "rpistat/formula.h"
#include "rpistat/interval.h"
#include "rpistat/json.h"
#include "rpistat/plan.h"

static void put_tags(struct rps_json *json, const struct rps_run *run)
{
    rps_json_object(json, NULL);
    for (int i = 0; i < run->tag_count; i++)
        rps_json_text(json, run->tag[i].key, run->tag[i].value);
    rps_json_end(json);
}

static void put_command(struct rps_json *json, const struct rps_run *run)
{
    rps_json_texts(json, NULL, (const char *const *)run->argv, (size_t)run->argc);
}

/* Return the JSON text, which the caller frees, or NULL if memory is short. */
static char *json_of(const struct rps_run *run,
                     void (*put)(struct rps_json *json, const struct rps_run *run))
{
    struct rps_json json;

    if (rps_json_open(&json, 1) < 0)
        return NULL;
    put(&json, run);
    return rps_json_close(&json);
}

static int insert_run(sqlite3 *db, const struct rps_run *run, const struct rps_plan *plan)
{
    static const char others[] =
        "tags, command, plan, plan_title, plan_explain, set_count, clock_unit";
    char *tags = json_of(run, put_tags), *command = json_of(run, put_command);
    sqlite3_stmt *stmt = NULL;
    int code = tags && command ? rps_fields_prepare_insert(db, "run", others, rps_run_fields, &stmt)
                               : SQLITE_NOMEM;

    if (code == SQLITE_OK)
        code = rps_database_bind(stmt, "tttttit", tags, command, plan->name, plan->title,
                                 plan->explain, (int64_t)plan->set_count, plan->clock.unit);
    if (code == SQLITE_OK)
        code = rps_fields_run(stmt, rps_run_fields, RPS_FIELD_BEGIN, run);
    sqlite3_finalize(stmt);
    free(tags);
    free(command);
    return code;
}

static int write_event(sqlite3_stmt *stmt, enum rps_field_time time, int64_t run_id, int set_no,
                       int slot, const struct rps_event *event)
{
    int code = rps_database_bind(stmt, "iii", run_id, (int64_t)set_no, (int64_t)slot);

    if (time == RPS_FIELD_END && event->whole.certainty == RPS_CERTAINTY_NONE)
        return SQLITE_OK;
    return code == SQLITE_OK ? rps_fields_run(stmt, rps_event_fields, time, event) : code;
}

static int write_events(sqlite3_stmt *stmt, enum rps_field_time time, int64_t run_id,
                        const struct rps_plan *plan)
{
    int code = write_event(stmt, time, run_id, RPS_CLOCK_SET, 0, &plan->clock);

    for (int n = 0; n < plan->set_count; n++)
        for (int slot = 0; slot < plan->set[n].event_count && code == SQLITE_OK; slot++)
            code = write_event(stmt, time, run_id, n, slot, &plan->set[n].event[slot]);
    return code;
}

static int insert_sets(sqlite3 *db, int64_t run_id, const struct rps_plan *plan)
{
    sqlite3_stmt *set = NULL, *event = NULL;
    int code = rps_fields_prepare_insert(db, "event_set", "run_id, set_no", rps_set_fields, &set);

    for (int n = 0; n < plan->set_count && code == SQLITE_OK; n++) {
        code = rps_database_bind(set, "ii", run_id, (int64_t)n);
        if (code == SQLITE_OK)
            code = rps_fields_run(set, rps_set_fields, RPS_FIELD_BEGIN, &plan->set[n]);
    }
    if (code == SQLITE_OK)
        code = rps_fields_prepare_insert(db, "event", "run_id, set_no, slot", rps_event_fields,
                                         &event);
    if (code == SQLITE_OK)
        code = write_events(event, RPS_FIELD_BEGIN, run_id, plan);
    sqlite3_finalize(set);
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
    bool is_operand = step->op == RPS_FORMULA_OPERAND;
    const char *types = !is_operand ? "ititrnnn" : event < 0 ? "ititrtnn" : "ititrtii";
    int code = rps_database_bind(stmt, types, run_id, metric, number, op[step->op],
                                 step->op == RPS_FORMULA_NUMBER ? step->number : NAN,
                                 is_operand ? rps_plan_operand_name(plan, step->operand) : "",
                                 event / RPS_SLOT_MAX, event % RPS_SLOT_MAX);

    return code == SQLITE_OK ? rps_database_run(stmt) : code;
}

int rps_write_run_metrics(sqlite3 *db, int64_t run_id, const struct rps_plan *plan)
{
    sqlite3_stmt *metric = NULL, *step = NULL;
    int code = rps_fields_prepare_insert(db, "metric", "run_id, metric_no, step_count",
                                         rps_metric_fields, &metric);

    if (code == SQLITE_OK)
        code = rps_database_prepare_insert(
            db, "metric_step", "run_id, metric, step, op, number, operand, set_no, slot", &step);
    for (int i = 0; i < plan->metric_count && code == SQLITE_OK; i++) {
        code = rps_database_bind(metric, "iii", run_id, (int64_t)i,
                                 (int64_t)plan->metric[i].formula.step_count);
        if (code == SQLITE_OK)
            code = rps_fields_run(metric, rps_metric_fields, RPS_FIELD_BEGIN, &plan->metric[i]);
        for (int n = 0; n < plan->metric[i].formula.step_count && code == SQLITE_OK; n++)
            code = insert_step(step, run_id, plan, plan->metric[i].name, n,
                               &plan->metric[i].formula.step[n]);
    }
    sqlite3_finalize(step);
    sqlite3_finalize(metric);
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
    if (code == SQLITE_OK) /* without a heartbeat the run would look dead until the first commit */
        code = rps_database_do(db,
                               "INSERT INTO heartbeat (run_id, realtime_ns, boot_id, interval_ns)"
                               " VALUES (?1, ?2, ?3, ?4)",
                               "iiti", run_id, rps_clock_realtime_ns(), run->boot_id,
                               RPS_HEARTBEAT_INTERVAL_NS);
    if (code == SQLITE_OK)
        code = rps_database_exec(db, "COMMIT");
    if (code != SQLITE_OK && !sqlite3_get_autocommit(db))
        rps_database_exec(db, "ROLLBACK");
    if (code == SQLITE_OK)
        *ret_run_id = run_id;
    return code;
}

/* --- the start -------------------------------------------------------------------------------- */

int rps_write_run_start(sqlite3 *db, int64_t run_id)
{
    return rps_database_do(
        db,
        "WITH b AS MATERIALIZED (SELECT * FROM period WHERE run_id = ?1 AND rotation < 2),"
        " k (slot) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7)),"
        " s AS MATERIALIZED (SELECT set_no, slot, rotation, min(period) AS period, sum(c) AS c,"
        "  sum(running_ns) AS ns FROM (SELECT set_no, slot, rotation, period, running_ns,"
        "   CASE slot WHEN 0 THEN c0 WHEN 1 THEN c1 WHEN 2 THEN c2 WHEN 3 THEN c3"
        "   WHEN 4 THEN c4 WHEN 5 THEN c5 WHEN 6 THEN c6 ELSE c7 END AS c FROM b, k)"
        "  WHERE c IS NOT NULL GROUP BY set_no, slot, rotation)"
        " UPDATE event SET (first_count, first_ns, before_ns) = (SELECT c, ns, (SELECT"
        "   coalesce(sum(enabled_ns), 0) FROM b WHERE b.period < s.period) FROM s"
        "   WHERE s.set_no = event.set_no AND s.slot = event.slot AND rotation = 0),"
        " (second_count, second_ns) = (SELECT c, ns FROM s"
        "   WHERE s.set_no = event.set_no AND s.slot = event.slot AND rotation = 1)"
        " WHERE run_id = ?1 AND set_no >= 0",
        "i", run_id);
}

/* --- the end ---------------------------------------------------------------------------------- */

static int update_run(sqlite3 *db, int64_t run_id, const struct rps_run *run)
{
    sqlite3_stmt *stmt = NULL;
    int code = rps_fields_prepare_update(db, "run", "run_id", rps_run_fields, &stmt);

    if (code == SQLITE_OK)
        code = rps_database_bind(stmt, "i", run_id);
    if (code == SQLITE_OK)
        code = rps_fields_run(stmt, rps_run_fields, RPS_FIELD_END, run);
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
    int64_t cycles = 0; /* sum over all sets, because every set includes the clock event */
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

/* --- estimates -------------------------------------------------------------------------------- */

static int set_events(sqlite3 *db, int64_t run_id, const struct rps_plan *plan)
{
    sqlite3_stmt *stmt = NULL;
    int code =
        rps_fields_prepare_update(db, "event", "run_id, set_no, slot", rps_event_fields, &stmt);

    if (code == SQLITE_OK)
        code = write_events(stmt, RPS_FIELD_END, run_id, plan);
    sqlite3_finalize(stmt);
    return code;
}

static int set_metrics(sqlite3 *db, int64_t run_id, const struct rps_plan *plan)
{
    sqlite3_stmt *stmt = NULL;
    int code =
        rps_fields_prepare_update(db, "metric", "run_id, metric_no", rps_metric_fields, &stmt);

    for (int m = 0; m < plan->metric_count && code == SQLITE_OK; m++) {
        if (plan->metric[m].whole.certainty == RPS_CERTAINTY_NONE)
            continue;
        code = rps_database_bind(stmt, "ii", run_id, (int64_t)m);
        if (code == SQLITE_OK)
            code = rps_fields_run(stmt, rps_metric_fields, RPS_FIELD_END, &plan->metric[m]);
    }
    sqlite3_finalize(stmt);
    return code;
}

int rps_write_run_estimates(sqlite3 *db, int64_t run_id, const struct rps_plan *plan)
{
    int code = set_events(db, run_id, plan);

    return code == SQLITE_OK ? set_metrics(db, run_id, plan) : code;
}
