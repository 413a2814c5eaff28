/* The reader: what a run counted. Formulas are compiled again from their text; the steps in the
 * store are for SQL. */
#include "reader.h"

#include <inttypes.h>
#include <stdlib.h>

#include "columns.h"

/* A plan of a damaged store is not believed to have more. */
#define METRICS_MAX 4096

static int damaged(struct rps_reader *reader, int64_t run_id, const char *what,
                   struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED,
                         "the store %s is damaged: %s of run %" PRId64
                         " make no sense; its other runs may be good",
                         reader->path, what, run_id);
}

/* Step through the rows of a query, `before`, columns and `after`; what is done with each returns 0
 * or a negative code. */
static int each_row(struct rps_reader *reader, const char *before, const struct rps_field *field,
                    const char *after, int64_t run_id,
                    int (*row)(struct rps_reader *, int64_t, sqlite3_stmt *, struct rps_plan *,
                               struct rps_error *),
                    struct rps_plan *plan, struct rps_error *err)
{
    char *sql = rps_fields_select(before, field, after);
    sqlite3_stmt *stmt = NULL;
    int code,
        result = sql ? rps_reader_prepare(reader, sql, run_id, &stmt, err) : rps_error_memory(err);

    sqlite3_free(sql);
    if (result < 0)
        return result;
    while ((code = rps_reader_step(reader, stmt)) == SQLITE_ROW && result == 0)
        result = row(reader, run_id, stmt, plan, err);
    if (result == 0 && code != SQLITE_DONE)
        result = rps_reader_error(reader, code, err);
    sqlite3_finalize(stmt);
    return result;
}

static int read_columns(sqlite3_stmt *stmt, int first, const struct rps_field *field, void *base,
                        struct rps_error *err)
{
    return rps_fields_read(stmt, first, field, base) == SQLITE_OK ? 0 : rps_error_memory(err);
}

static int read_head(struct rps_reader *reader, int64_t run_id, sqlite3_stmt *stmt,
                     struct rps_plan *plan, struct rps_error *err)
{
    (void)reader;
    (void)run_id;
    return read_columns(stmt, 1, rps_plan_fields, plan, err);
}

static int read_set(struct rps_reader *reader, int64_t run_id, sqlite3_stmt *stmt,
                    struct rps_plan *plan, struct rps_error *err)
{
    struct rps_event_set *set;

    if (plan->set_count >= RPS_READER_SETS_MAX || sqlite3_column_int64(stmt, 0) != plan->set_count)
        return damaged(reader, run_id, "the event sets", err);
    set = rps_plan_add_set(plan);
    return set ? read_columns(stmt, 1, rps_set_fields, set, err) : rps_error_memory(err);
}

static int read_event(struct rps_reader *reader, int64_t run_id, sqlite3_stmt *stmt,
                      struct rps_plan *plan, struct rps_error *err)
{
    int64_t set_no = sqlite3_column_int64(stmt, 0), slot = sqlite3_column_int64(stmt, 1);
    struct rps_event_set *set;
    struct rps_event *event = &plan->clock;

    if (set_no != RPS_CLOCK_SET) {
        if (set_no < 0 || set_no >= plan->set_count)
            return damaged(reader, run_id, "the events", err);
        set = &plan->set[set_no];
        if (slot != set->event_count || slot >= RPS_SLOT_MAX)
            return damaged(reader, run_id, "the events", err);
        event = &set->event[set->event_count++];
    }
    return read_columns(stmt, 2, rps_event_fields, event, err);
}

static int read_metric(struct rps_reader *reader, int64_t run_id, sqlite3_stmt *stmt,
                       struct rps_plan *plan, struct rps_error *err)
{
    struct rps_metric *metric;

    if (plan->metric_count >= METRICS_MAX)
        return damaged(reader, run_id, "the metrics", err);
    metric = rps_plan_add_metric(plan);
    return metric ? read_columns(stmt, 1, rps_metric_fields, metric, err) : rps_error_memory(err);
}

static int check_plan(struct rps_reader *reader, int64_t run_id, const struct rps_plan *plan,
                      struct rps_error *err)
{
    if (plan->set_count == 0)
        return damaged(reader, run_id, "the event sets", err);
    for (int n = 0; n < plan->set_count; n++) {
        if (plan->set[n].event_count == 0)
            return damaged(reader, run_id, "the events", err);
    }
    return 0;
}

int rps_reader_plan(struct rps_reader *reader, int64_t run_id, struct rps_plan **ret,
                    struct rps_error *err)
{
    struct rps_plan *plan;
    int result = rps_reader_require(reader, run_id, err);

    if (result < 0)
        return result;
    plan = rps_plan_new();
    if (!plan)
        return rps_error_memory(err);
    result = each_row(reader, "SELECT run_id", rps_plan_fields, " FROM run WHERE run_id = ?1",
                      run_id, read_head, plan, err);
    if (result == 0)
        result = each_row(reader, "SELECT set_no", rps_set_fields,
                          " FROM event_set WHERE run_id = ?1 ORDER BY set_no", run_id, read_set,
                          plan, err);
    if (result == 0)
        result = each_row(reader, "SELECT set_no, slot", rps_event_fields,
                          " FROM event WHERE run_id = ?1 ORDER BY set_no, slot", run_id, read_event,
                          plan, err);
    if (result == 0)
        result = each_row(reader, "SELECT metric_no", rps_metric_fields,
                          " FROM metric WHERE run_id = ?1 ORDER BY metric_no, name", run_id,
                          read_metric, plan, err);
    if (result == 0)
        result = check_plan(reader, run_id, plan, err);
    if (result == 0 && rps_plan_compile(plan, err) < 0)
        result = rps_error_prefix(err, RPS_FAILED, "run %" PRId64 " of %s", run_id, reader->path);
    if (result < 0)
        rps_plan_free(plan);
    else
        *ret = plan;
    return result;
}
