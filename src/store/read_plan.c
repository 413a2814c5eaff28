/* Read the plan of a run. Formulas are compiled again from their text, because the steps in the
 * store are only for SQL queries. */
#include "reader.h"

#include <inttypes.h>
#include <string.h>

#include "fields.h"
#include "rpistat/arena.h"
#include "rpistat/run.h"
#include "rpistat/plan.h"

/* SAFETY: maximum number of metrics that are read from a damaged store. */
#define METRICS_MAX 4096

struct reading {
    struct rps_reader *reader;
    int64_t run_id;
    struct rps_plan *plan;
};

static int refuse_plan(const struct reading *r, const char *what, struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED,
                         "the store %s is damaged: %s of run %" PRId64
                         " are invalid; use its other runs, or `rpistat check --repair`",
                         r->reader->path, what, r->run_id);
}

/* Read the rows of a query that consists of `before`, columns and `after`. */
static int read_plan_rows(struct reading *r, const char *before, const struct rps_field *field,
                          const char *after, rps_reader_row *row, struct rps_error *err)
{
    char *sql = rps_fields_select(before, field, after);
    int result = rps_reader_each(r->reader, sql, r->run_id, 0, row, r, err);

    sqlite3_free(sql);
    return result;
}

static int read_head(void *context, sqlite3_stmt *stmt, struct rps_error *err)
{
    struct reading *r = context;
    const char *fitting = (const char *)sqlite3_column_text(stmt, 0);

    (void)err;
    rps_fields_read(NULL, stmt, 1, rps_plan_fields, r->plan);
    r->plan->is_incomplete = fitting && strstr(fitting, RPS_RUN_SOME_COUNTS);
    return 0;
}

static int read_set(void *context, sqlite3_stmt *stmt, struct rps_error *err)
{
    struct reading *r = context;

    if (r->plan->set_count >= RPS_READER_SETS_MAX ||
        sqlite3_column_int64(stmt, 0) != r->plan->set_count)
        return refuse_plan(r, "the event sets", err);
    rps_fields_read(NULL, stmt, 1, rps_set_fields, rps_plan_add_set(r->plan));
    return 0;
}

static int read_event(void *context, sqlite3_stmt *stmt, struct rps_error *err)
{
    struct reading *r = context;
    int64_t set_no = sqlite3_column_int64(stmt, 0), slot = sqlite3_column_int64(stmt, 1);
    struct rps_event_set *set;
    struct rps_event *event = &r->plan->clock;

    if (set_no != RPS_CLOCK_SET) {
        if (set_no < 0 || set_no >= r->plan->set_count)
            return refuse_plan(r, "the events", err);
        set = &r->plan->set[set_no];
        if (slot != set->event_count || slot >= RPS_SLOT_MAX)
            return refuse_plan(r, "the events", err);
        event = &set->event[set->event_count++];
    }
    rps_fields_read(NULL, stmt, 2, rps_event_fields, event);
    return 0;
}

static int read_metric(void *context, sqlite3_stmt *stmt, struct rps_error *err)
{
    struct reading *r = context;

    if (r->plan->metric_count >= METRICS_MAX)
        return refuse_plan(r, "the metrics", err);
    rps_fields_read(NULL, stmt, 1, rps_metric_fields, rps_plan_add_metric(r->plan));
    return 0;
}

static int check_plan(const struct reading *r, struct rps_error *err)
{
    if (r->plan->set_count == 0)
        return refuse_plan(r, "the event sets", err);
    for (int n = 0; n < r->plan->set_count; n++) {
        if (r->plan->set[n].event_count == 0)
            return refuse_plan(r, "the events", err);
    }
    return 0;
}

int rps_reader_plan(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                    struct rps_plan **ret, struct rps_error *err)
{
    struct reading r = {reader, run_id, rps_arena_get(arena, 1, sizeof(*r.plan))};
    int result = rps_reader_require(reader, run_id, err);

    if (result < 0)
        return result;
    r.plan->arena = arena;
    result = read_plan_rows(&r, "SELECT fitting", rps_plan_fields, " FROM run WHERE run_id = ?1",
                            read_head, err);
    if (result == 0)
        result = read_plan_rows(&r, "SELECT set_no", rps_set_fields,
                                " FROM event_set WHERE run_id = ?1 ORDER BY set_no", read_set, err);
    if (result == 0)
        result =
            read_plan_rows(&r, "SELECT set_no, slot", rps_event_fields,
                           " FROM event WHERE run_id = ?1 ORDER BY set_no, slot", read_event, err);
    if (result == 0)
        result = read_plan_rows(&r, "SELECT metric_no", rps_metric_fields,
                                " FROM metric WHERE run_id = ?1 ORDER BY metric_no, name",
                                read_metric, err);
    if (result == 0)
        result = check_plan(&r, err);
    if (result == 0 && rps_plan_compile(r.plan, err) < 0)
        result = rps_error_prefix(err, RPS_FAILED, "run %" PRId64 " of %s", run_id, reader->path);
    if (result == 0)
        *ret = r.plan;
    return result;
}
