/* `rpistat events`: the blocks of its output. The machine-readable form is one table of events. The
 * human-readable form is one table per document. Lines between the rows of events show the name and
 * the meaning of each set. */
#include <inttypes.h>
#include <string.h>

#include "machine.h"
#include "rpistat/run_system.h"
#include "rpistat/plan.h"

#define ENCODING_SIZE  128
#define ENCODING_WIDTH 20
#define PLACE_EVENTS   1 /* first block of the output: events that can be counted */
#define PLACE_OTHERS   2

enum { COLUMN_SPEC = 4 };

/* --- events ----------------------------------------------------------------------------------- */

/* Return the reason why the event cannot be counted: its own reason, or the one for all events. */
static const char *reason_of(const struct rps_events_document *document,
                             const struct rps_event *event)
{
    const struct rps_backend *backend = document ? document->backend : NULL;

    if (event->state == RPS_EVENT_MEASURED)
        return NULL;
    return event->reason[0] || !backend || backend->self ? event->reason : backend->err.message;
}

/* Return the reason that all of the document's events share for not being counted; "": none. */
static const char *common_reason(const struct rps_plan *plan)
{
    const char *reason = NULL;

    for (int n = 0; n < plan->set_count; n++)
        for (int s = 0; s < plan->set[n].event_count; s++) {
            const struct rps_event *event = &plan->set[n].event[s];

            if (event->state == RPS_EVENT_MEASURED || (reason && strcmp(event->reason, reason)))
                return "";
            reason = event->reason;
        }
    return reason ? reason : "";
}

static const char *counted_text(const struct rps_event *event)
{
    return event->state != RPS_EVENT_MEASURED   ? "no"
           : strcmp(event->modifiers, "u") == 0 ? "yes, without the kernel"
           : strcmp(event->modifiers, "k") == 0 ? "yes, only the kernel"
                                                : "yes";
}

/* Add the table of events, without the requested specification if shows_spec is 0. */
static struct rps_block *add_events(struct rps_document *document,
                                    const struct rps_events_found *found, int shows_spec)
{
    struct rps_column columns[] = {
        {.name = "plan"},
        {.name = "set"},
        {"by_default", .kind = RPS_VALUE_BOOL},
        {"name", "Event"},
        {"spec", "Specification"},
        {.name = "label"},
        {.name = "role"},
        {.name = "unit"},
        {"encoding", "Encoding", .width_min = ENCODING_WIDTH},
        {"countable", .kind = RPS_VALUE_BOOL},
        {NULL, "Counted"},
        {.name = "modifiers"},
        {.name = "reason"},
        {.name = "explain"},
    };
    size_t count = RPS_COUNT(columns);
    struct rps_block *block;

    if (!shows_spec)
        columns[COLUMN_SPEC].heading = NULL;
    block = rps_document_block(document, "events", columns, count - (found->explain ? 0 : 1));
    block->indent = 4;
    block->place = PLACE_EVENTS;
    return block;
}

/* Put the encoding of the event, or "" if the encoding is unknown. */
static char *print_encoding(char ret[ENCODING_SIZE], const struct rps_event *event)
{
    static const char *const type_name[] = {"hardware", "software", "tracepoint", "cache", "raw"};
    char type[32];
    int length;

    ret[0] = '\0';
    if (event->state != RPS_EVENT_MEASURED && event->type == 0 && event->config == 0)
        return ret;
    if (event->type < RPS_COUNT(type_name))
        snprintf(type, sizeof(type), "%s", type_name[event->type]);
    else
        snprintf(type, sizeof(type), "pmu %" PRIu32, event->type);
    length = snprintf(ret, ENCODING_SIZE, "%s 0x%" PRIx64, type, event->config);
    if (event->config1 != 0 || event->config2 != 0)
        snprintf(ret + length, ENCODING_SIZE - (size_t)length, ",0x%" PRIx64 ",0x%" PRIx64,
                 event->config1, event->config2);
    return ret;
}

/* Put a row for an event. `document` is NULL if the user requested the event by name. */
static void put_event(struct rps_block *block, const struct rps_events_found *found,
                      const struct rps_events_document *document, const struct rps_event_set *set,
                      const struct rps_event *event)
{
    char encoding[ENCODING_SIZE];

    rps_put_texts(block, 2, document ? document->plan->name : NULL, set ? set->name : NULL);
    rps_put_int(block, set && !set->on_request, set != NULL);
    rps_put_texts(block, 6, event->name, event->spec, event->label, event->role, event->unit,
                  print_encoding(encoding, event));
    rps_put_int(block, event->state == RPS_EVENT_MEASURED, 1);
    rps_put_texts(block, 3, counted_text(event), event->modifiers, reason_of(document, event));
    if (found->explain)
        rps_put_text(block, event->explain);
    if (event->state != RPS_EVENT_MEASURED &&
        !(document && strcmp(common_reason(document->plan), event->reason) == 0))
        rps_block_wrap(block, 8, 8, "%s", event->reason); /* a reason that is not the reason
                                                             common to all events */
    if (found->explain || !document)
        rps_block_wrap(block, 8, 8, "%s", event->explain);
}

/* --- a document ------------------------------------------------------------------------------- */

/* Put how the sets would be counted: the clock event, the counters, merged and split sets. */
static void put_fitting(struct rps_block *block, const struct rps_events_document *document)
{
    const struct rps_fitting *fitting = &document->fitting;
    char lines[sizeof(fitting->text)], count[32] = "", *save = NULL;

    if (fitting->counter_count >= 0)
        snprintf(count, sizeof(count), "%d at a time, ", fitting->counter_count);
    rps_block_wrap(block, 2, 2, "Counted by %s, %sin addition to %s", document->backend->pmu->name,
                   count, document->clock);
    memcpy(lines, fitting->text, sizeof(lines));
    for (char *line = strtok_r(lines, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        rps_block_wrap(block, 4, 4, "%s", line);
}

static void put_document(struct rps_block *block, const struct rps_events_found *found,
                         const struct rps_events_document *document)
{
    const struct rps_backend *backend = document->backend;
    const struct rps_plan *plan = document->plan;
    const char *reason = backend && !backend->self ? backend->err.message : common_reason(plan);

    rps_block_title(block, "Event sets %s: %s", plan->name, plan->title);
    rps_block_wrap(block, 2, 2, "%s", plan->explain);
    if (backend && backend->self && document->is_fitted)
        put_fitting(block, document);
    else if (!backend || strstr(reason, "virtual machine"))
        rps_block_line(block, "  Not available on this %s",
                       backend ? "virtual machine" : "machine");
    else if (reason[0])
        rps_block_wrap(block, 2, 4, "Not available here: %s", reason);
    for (int n = 0; n < plan->set_count; n++) {
        const struct rps_event_set *set = &plan->set[n];

        rps_block_line(
            block, "  Set %s%s", set->name,
            set->on_request ? " (not by default; use --scenario, or name its events with -e)" : "");
        if (found->explain)
            rps_block_wrap(block, 4, 4, "%s", set->explain);
        for (int s = 0; s < set->event_count; s++)
            put_event(block, found, document, set, &set->event[s]);
    }
    if (found->explain) {
        rps_block_line(block, "  Metrics of these events");
        for (int m = 0; m < plan->metric_count; m++) {
            const struct rps_metric *metric = &plan->metric[m];

            rps_block_line(block, "    %s%s%s = %s", metric->label, metric->unit[0] ? ", " : "",
                           metric->unit, metric->formula_text);
            rps_block_wrap(block, 8, 8, "%s", metric->explain);
        }
    }
}

/* --- other contents --------------------------------------------------------------------------- */

static void add_counters(struct rps_document *document, const struct rps_machine *machine)
{
    static const struct rps_column columns[] = {
        {"pmu", "", .place = 1, .width_min = 10},
        {"summary", "", .place = 3},
        {"usable", "", RPS_VALUE_BOOL, .place = 2, .width_min = 3},
        {.name = "reason"},
    };
    struct rps_block *block = rps_document_block(document, "pmus", columns, 4);

    block->indent = 2;
    rps_block_title(block, "Counters");
    for (int i = 0; i < machine->count; i++) {
        const struct rps_backend *backend = &machine->backend[i];

        rps_put_texts(block, 2, backend->pmu->name, backend->pmu->summary);
        rps_put_int(block, backend->self != NULL, 1);
        rps_put_text(block, backend->self ? NULL : backend->err.message);
        if (!backend->self)
            rps_block_wrap(block, 19, 19, "%s", backend->err.message);
    }
}

/* Return the units in which a system metric of packages is shown: "J, W". */
static const char *units_of(const struct rps_document *document, int slot)
{
    const char *text = "";

    for (int f = 0; f < RPS_PACKAGE_FIGURES; f++)
        if ((int)rps_package_figures[f].slot == slot)
            text = rps_arena_print(document->arena, "%s%s%s", text, *text ? ", " : "",
                                   rps_package_figures[f].unit);
    return text;
}

static void add_packages(struct rps_document *document, const struct rps_events_found *found)
{
    struct rps_column columns[] = {
        {"name", "Metric", .width_min = 12},
        {"spec", "Counters", .width_min = ENCODING_WIDTH},
        {.name = "label"},
        {"unit", "Units"},
        {"countable", .kind = RPS_VALUE_BOOL},
        {NULL, "Available"},
        {.name = "reason"},
        {.name = "explain"},
    };
    struct rps_block *block =
        rps_document_block(document, "packages", columns, found->explain ? 8 : 7);

    block->indent = 2;
    rps_block_title(block, "Whole packages (with record -a)");
    for (int s = 0; s < RPS_PACKAGE_COUNTERS; s++) {
        const struct rps_system_metric *signal = &rps_system_metrics[RPS_SYSTEM_PACKAGE][s];
        const char *reason = found->packages.reason[s];
        const int is_there = found->packages.supported >> s & 1;

        rps_put_texts(block, 4, signal->name, signal->origin, signal->label, units_of(document, s));
        rps_put_int(block, is_there, 1);
        rps_put_text(block, is_there ? "yes" : rps_arena_print(document->arena, "no: %s", reason));
        rps_put_text(block, is_there ? NULL : reason);
        if (found->explain) {
            rps_put_text(block, signal->explain);
            rps_block_wrap(block, 6, 6, "%s", signal->explain);
        }
    }
}

static void add_plans(struct rps_document *document, const struct rps_events_found *found)
{
    static const struct rps_column columns[] = {
        {.name = "plan"},
        {.name = "title"},
        {.name = "explain"},
        {.name = "pmu"},
        {"counters", .kind = RPS_VALUE_INT},
        {.name = "clock"},
        {.name = "fitting"},
    };
    struct rps_block *block = rps_document_block(document, "plans", columns, 7);

    for (int i = 0; i < found->document_count; i++) {
        const struct rps_events_document *one = &found->document[i];

        rps_put_texts(block, 4, one->plan->name, one->plan->title, one->plan->explain,
                      one->is_fitted ? one->backend->pmu->name : NULL);
        rps_put_int(block, one->fitting.counter_count,
                    one->is_fitted && one->fitting.counter_count >= 0);
        rps_put_texts(block, 2, one->clock, one->fitting.text);
    }
}

static void add_metrics(struct rps_document *document, const struct rps_events_found *found)
{
    static const struct rps_column columns[] = {
        {.name = "plan"}, {.name = "name"},    {.name = "label"},
        {.name = "unit"}, {.name = "formula"}, {.name = "explain"},
    };
    struct rps_block *block =
        rps_document_block(document, "metrics", columns, found->explain ? 6 : 5);

    for (int i = 0; i < found->document_count; i++) {
        const struct rps_plan *plan = found->document[i].plan;

        for (int m = 0; m < plan->metric_count; m++) {
            const struct rps_metric *metric = &plan->metric[m];

            rps_put_texts(block, found->explain ? 6 : 5, plan->name, metric->name, metric->label,
                          metric->unit, metric->formula_text, metric->explain);
        }
    }
}

static void add_others(struct rps_document *document, const struct rps_events_found *found)
{
    struct rps_block *block = rps_document_field(document, "other_plans", RPS_VALUE_BLOCK);
    char others[512] = "";

    for (int i = 0; i < found->other_count; i++) {
        size_t used = strlen(others);

        snprintf(others + used, sizeof(others) - used, " %s", found->other[i]);
    }
    block->place = PLACE_OTHERS;
    if (found->other_count > 0) {
        rps_block_title(block, "Event sets for other processors "
                               "('rpistat events --sets NAME' shows one)");
        rps_block_wrap(block, 2, 2, "%s", others);
    }
    rps_put_list(block, found->other, (size_t)found->other_count);
}

/* --- the whole -------------------------------------------------------------------------------- */

void rps_events_blocks(struct rps_document *document, const struct rps_events_found *found)
{
    if (found->event) {
        struct rps_block *block;
        int differs = 0;

        for (int i = 0; i < found->event_count; i++)
            differs |= strcmp(found->event[i].name, found->event[i].spec) != 0;
        block = add_events(document, found, differs);
        for (int i = 0; i < found->event_count; i++)
            put_event(block, found, NULL, NULL, &found->event[i]);
        return;
    }
    for (int i = 0; i < found->document_count; i++)
        put_document(add_events(document, found, 1), found, &found->document[i]);
    if (found->document_count == 0)
        add_events(document, found, 1);
    add_counters(document, found->machine);
    if (found->has_packages)
        add_packages(document, found);
    add_plans(document, found);
    add_metrics(document, found);
    add_others(document, found);
}
