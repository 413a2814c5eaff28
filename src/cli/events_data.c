/* `rpistat events`: what was found, for programs. A row is an event. */
#include "events.h"

/* Why it cannot be counted: for a reason of its own, or since nothing can be. */
static const char *reason_of(const struct rps_events_document *document,
                             const struct rps_event *event)
{
    const struct rps_backend *backend = document ? document->backend : NULL;

    if (event->state == RPS_EVENT_MEASURED)
        return NULL;
    return event->reason[0] || !backend || backend->self ? event->reason : backend->err.message;
}

/* document NULL: it was asked for by its name. */
static void put_event(struct rps_rows *rows, const struct rps_events_found *found,
                      const struct rps_events_document *document, const struct rps_event_set *set,
                      const struct rps_event *event)
{
    char encoding[RPS_EVENTS_ENCODING_SIZE];

    rps_rows_row(rows);
    rps_rows_text(rows, "plan", document ? document->plan->name : NULL);
    rps_rows_text(rows, "set", set ? set->name : NULL);
    rps_rows_bool(rows, "by_default", set && !set->on_request, set != NULL);
    rps_rows_text(rows, "name", event->name);
    rps_rows_text(rows, "spec", event->spec);
    rps_rows_text(rows, "label", event->label);
    rps_rows_text(rows, "role", event->role);
    rps_rows_text(rows, "unit", event->unit);
    rps_rows_text(rows, "encoding", rps_events_encoding(encoding, event));
    rps_rows_bool(rows, "countable", event->state == RPS_EVENT_MEASURED, 1);
    rps_rows_text(rows, "modifiers", event->modifiers);
    rps_rows_text(rows, "reason", reason_of(document, event));
    if (found->explain)
        rps_rows_text(rows, "explain", event->explain);
    rps_rows_end_row(rows);
}

static void put_events(struct rps_rows *rows, const struct rps_events_found *found)
{
    if (rps_rows_begin(rows, "events"))
        put_event(rows, found, NULL, NULL, &(struct rps_event){.type = 0});
    for (int i = 0; i < found->event_count; i++)
        put_event(rows, found, NULL, NULL, &found->event[i]);
    for (int i = 0; i < found->document_count; i++) {
        const struct rps_events_document *document = &found->document[i];

        for (int n = 0; n < document->plan->set_count; n++) {
            const struct rps_event_set *set = &document->plan->set[n];

            for (int s = 0; s < set->event_count; s++)
                put_event(rows, found, document, set, &set->event[s]);
        }
    }
    rps_rows_end(rows);
}

/* --- JSON alone ------------------------------------------------------------------------------- */

static void put_counters(struct rps_rows *rows, const struct rps_machine *machine)
{
    rps_rows_begin(rows, "pmus");
    for (int i = 0; i < machine->count; i++) {
        const struct rps_backend *backend = &machine->backend[i];

        rps_rows_row(rows);
        rps_rows_text(rows, "pmu", backend->pmu->name);
        rps_rows_text(rows, "summary", backend->pmu->summary);
        rps_rows_bool(rows, "usable", backend->self != NULL, 1);
        rps_rows_text(rows, "reason", backend->self ? NULL : backend->err.message);
        rps_rows_end_row(rows);
    }
    rps_rows_end(rows);
}

static void put_plan(struct rps_rows *rows, const struct rps_events_document *document)
{
    const struct rps_fitting *fitting = &document->fitting;
    const struct rps_plan *plan = document->plan;

    rps_rows_row(rows);
    rps_rows_text(rows, "plan", plan->name);
    rps_rows_text(rows, "title", plan->title);
    rps_rows_text(rows, "explain", plan->explain);
    rps_rows_text(rows, "pmu", document->is_fitted ? document->backend->pmu->name : NULL);
    rps_rows_int(rows, "counters", fitting->counter_count,
                 document->is_fitted && fitting->counter_count >= 0);
    rps_rows_text(rows, "clock", document->clock);
    rps_rows_text(rows, "fitting", fitting->text);
    rps_rows_end_row(rows);
}

static void put_metrics(struct rps_rows *rows, const struct rps_plan *plan, int explain)
{
    for (int m = 0; m < plan->metric_count; m++) {
        const struct rps_metric *metric = &plan->metric[m];

        rps_rows_row(rows);
        rps_rows_text(rows, "plan", plan->name);
        rps_rows_text(rows, "name", metric->name);
        rps_rows_text(rows, "label", metric->label);
        rps_rows_text(rows, "unit", metric->unit);
        rps_rows_text(rows, "formula", metric->formula_text);
        if (explain)
            rps_rows_text(rows, "explain", metric->explain);
        rps_rows_end_row(rows);
    }
}

static void put_documents(struct rps_rows *rows, const struct rps_events_found *found)
{
    put_counters(rows, found->machine);
    rps_rows_begin(rows, "plans");
    for (int i = 0; i < found->document_count; i++)
        put_plan(rows, &found->document[i]);
    rps_rows_end(rows);
    rps_rows_begin(rows, "metrics");
    for (int i = 0; i < found->document_count; i++)
        put_metrics(rows, found->document[i].plan, found->explain);
    rps_rows_end(rows);
    rps_json_array(rows->json, "other_plans");
    for (int i = 0; i < found->other_count; i++)
        rps_json_text(rows->json, NULL, found->other[i]);
    rps_json_end(rows->json);
}

int rps_events_write(struct rps_cli *cli, const struct rps_events_found *found,
                     enum rps_format format)
{
    struct rps_rows rows;

    if (rps_rows_open(&rows, cli->out, format, &cli->err) < 0)
        return RPS_FAILED;
    put_events(&rows, found);
    if (rows.json && !found->event)
        put_documents(&rows, found);
    return rps_rows_close(&rows, 0, &cli->err);
}
