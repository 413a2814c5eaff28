/* The reader: what a run counted. Formulas are compiled again from their text; the steps in the
 * store are for SQL. */
#include "reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"

/* Behind the columns of RPS_EVENT_COLUMNS and RPS_METRIC_COLUMNS. */
#define WHOLE ", low, high, certainty, share"

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

/* Step through the rows of a statement; what is done with each returns 0 or a negative code. */
static int each_row(struct rps_reader *reader, const char *sql, int64_t run_id,
                    int (*row)(struct rps_reader *, int64_t, sqlite3_stmt *, struct rps_plan *,
                               struct rps_error *),
                    struct rps_plan *plan, struct rps_error *err)
{
    sqlite3_stmt *stmt = NULL;
    int code, result = rps_reader_prepare(reader, sql, run_id, &stmt, err);

    if (result < 0)
        return result;
    while ((code = rps_reader_step(reader, stmt)) == SQLITE_ROW && result == 0)
        result = row(reader, run_id, stmt, plan, err);
    if (result == 0 && code != SQLITE_DONE)
        result = rps_reader_error(reader, code, err);
    sqlite3_finalize(stmt);
    return result;
}

static int read_head(struct rps_reader *reader, int64_t run_id, sqlite3_stmt *stmt,
                     struct rps_plan *plan, struct rps_error *err)
{
    (void)reader;
    (void)run_id;
    (void)err;
    rps_fields_copy_text(stmt, 0, plan->name, sizeof(plan->name));
    rps_fields_copy_text(stmt, 1, plan->title, sizeof(plan->title));
    rps_fields_copy_text(stmt, 2, plan->explain, sizeof(plan->explain));
    return 0;
}

static int read_set(struct rps_reader *reader, int64_t run_id, sqlite3_stmt *stmt,
                    struct rps_plan *plan, struct rps_error *err)
{
    struct rps_event_set *set;

    if (plan->set_count >= RPS_READER_SETS_MAX || sqlite3_column_int64(stmt, 0) != plan->set_count)
        return damaged(reader, run_id, "the event sets", err);
    set = rps_plan_add_set(plan);
    if (!set)
        return rps_error_memory(err);
    rps_fields_copy_text(stmt, 1, set->name, sizeof(set->name));
    rps_fields_copy_text(stmt, 2, set->explain, sizeof(set->explain));
    return 0;
}

static enum rps_event_state state_of(const char *name)
{
    for (int i = 0; rps_event_states[i]; i++) {
        if (strcmp(rps_event_states[i], name) == 0)
            return (enum rps_event_state)i;
    }
    return RPS_EVENT_UNSUPPORTED;
}

static double read_real(sqlite3_stmt *stmt, int column)
{
    return sqlite3_column_type(stmt, column) == SQLITE_NULL ? NAN
                                                            : sqlite3_column_double(stmt, column);
}

static void read_whole(sqlite3_stmt *stmt, int column, struct rps_interval *ret)
{
    char certainty[32];

    rps_fields_copy_text(stmt, column + 3, certainty, sizeof(certainty));
    ret->certainty = rps_certainty_parse(certainty);
    ret->value = read_real(stmt, column);
    ret->low = read_real(stmt, column + 1);
    ret->high = read_real(stmt, column + 2);
    ret->share = read_real(stmt, column + 4);
}

static int read_event(struct rps_reader *reader, int64_t run_id, sqlite3_stmt *stmt,
                      struct rps_plan *plan, struct rps_error *err)
{
    int64_t set_no = sqlite3_column_int64(stmt, RPS_EVENT_COLUMN_COUNT);
    int64_t slot = sqlite3_column_int64(stmt, RPS_EVENT_COLUMN_COUNT + 1);
    struct rps_event_set *set;
    struct rps_event *event = &plan->clock;
    char state[32];

    if (set_no != RPS_CLOCK_SET) {
        if (set_no < 0 || set_no >= plan->set_count)
            return damaged(reader, run_id, "the events", err);
        set = &plan->set[set_no];
        if (slot != set->event_count || slot >= RPS_SLOT_MAX)
            return damaged(reader, run_id, "the events", err);
        event = &set->event[set->event_count++];
    }
    if (rps_fields_read(stmt, 0, rps_event_members, RPS_EVENT_COLUMN_COUNT, event) != SQLITE_OK)
        return rps_error_memory(err);
    rps_fields_copy_text(stmt, RPS_EVENT_COLUMN_COUNT + 2, state, sizeof(state));
    event->state = state_of(state);
    read_whole(stmt, RPS_EVENT_COLUMN_COUNT + 3, &event->whole);
    return 0;
}

static int read_metric(struct rps_reader *reader, int64_t run_id, sqlite3_stmt *stmt,
                       struct rps_plan *plan, struct rps_error *err)
{
    struct rps_metric *metric;

    if (plan->metric_count >= METRICS_MAX)
        return damaged(reader, run_id, "the metrics", err);
    metric = rps_plan_add_metric(plan);
    if (!metric)
        return rps_error_memory(err);
    if (rps_fields_read(stmt, 0, rps_metric_members, RPS_METRIC_COLUMN_COUNT, metric) != SQLITE_OK)
        return rps_error_memory(err);
    read_whole(stmt, RPS_METRIC_COLUMN_COUNT, &metric->whole);
    return 0;
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
    result = each_row(reader, "SELECT plan, plan_title, plan_explain FROM run WHERE run_id = ?1",
                      run_id, read_head, plan, err);
    if (result == 0)
        result = each_row(reader,
                          "SELECT set_no, name, explain FROM event_set WHERE run_id = ?1"
                          " ORDER BY set_no",
                          run_id, read_set, plan, err);
    if (result == 0)
        result = each_row(reader,
                          "SELECT " RPS_EVENT_COLUMNS ", set_no, slot, state, estimate" WHOLE
                          " FROM event"
                          " WHERE run_id = ?1 ORDER BY set_no, slot",
                          run_id, read_event, plan, err);
    if (result == 0)
        result =
            each_row(reader,
                     "SELECT " RPS_METRIC_COLUMNS ", value" WHOLE " FROM metric WHERE run_id = ?1"
                     " ORDER BY metric_no, name",
                     run_id, read_metric, plan, err);
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
