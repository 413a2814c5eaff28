/* The report for programs: JSON, or its figures alone as CSV. A row is a figure of the run, or of
 * one of its CPUs. */
#include <math.h>
#include <string.h>

#include "rpistat/report_parts.h"
#include "rpistat/run_block.h"

/* The figures of one tally, whose names in rows `kind` tells apart. */
struct place {
    struct rps_report *report;
    const struct rps_tally *tally;
    int32_t cpu; /* RPS_CPU_ALL: the sum */
};

/* The plan has the intervals. */
static int is_whole(const struct place *place)
{
    return place->tally == &place->report->tally;
}

/* What a row says; what is not set is not known. */
struct figure {
    const char *kind, *name, *label, *role, *family, *set, *unit, *state, *reason, *explain;
    uint64_t count, estimate, periods;
    int has_count, has_estimate, has_periods;
    struct rps_interval whole;
};

static void put_figure(const struct place *place, const struct figure *figure)
{
    struct rps_report *report = place->report;
    const struct rps_interval *whole = &figure->whole;
    double seconds = report->operand[RPS_OPERAND_SECONDS];
    int hardly = whole->certainty == RPS_CERTAINTY_HARDLY;
    struct rps_rows *rows = &report->rows;

    rps_rows_row(rows);
    rps_rows_int(rows, "run", report->run.run_id, 1);
    rps_rows_int(rows, "cpu", place->cpu, 1);
    rps_rows_text(rows, "kind", figure->kind);
    rps_rows_text(rows, "name", figure->name);
    rps_rows_text(rows, "label", figure->label);
    rps_rows_text(rows, "role", figure->role);
    rps_rows_text(rows, "family", figure->family);
    rps_rows_text(rows, "set", figure->set);
    rps_rows_text(rows, "unit", figure->unit);
    rps_rows_uint(rows, "count", figure->count, figure->has_count);
    if (figure->has_estimate && !hardly)
        rps_rows_uint(rows, "value", figure->estimate, 1);
    else
        rps_rows_double(rows, "value", hardly ? NAN : whole->value);
    rps_rows_interval(rows, whole);
    rps_rows_uint(rows, "periods", figure->periods, figure->has_periods);
    rps_rows_double(rows, "per_s",
                    figure->has_estimate && !hardly && seconds > 0 ? whole->value / seconds : NAN);
    rps_rows_text(rows, "state", figure->state);
    rps_rows_text(rows, "reason", figure->reason);
    if (report->options->explain)
        rps_rows_text(rows, "explain", figure->explain);
    rps_rows_end_row(rows);
}

static void put_clock(const struct place *place)
{
    const struct rps_report *report = place->report;
    struct figure figure = {
        .kind = "clock",
        .name = report->plan->clock.name,
        .label = rps_report_clock_label(report),
        .role = report->plan->clock.role,
        .unit = report->plan->clock.unit,
        .state = rps_event_states[report->plan->clock.state],
        .explain = report->plan->clock.explain,
        .count = place->tally->clock,
        .has_count = 1,
        .periods = place->tally->periods,
        .has_periods = 1,
        .whole = rps_tally_clock_interval(place->tally),
    };

    figure.has_estimate = rps_tally_clock_u64(place->tally, &figure.estimate);
    put_figure(place, &figure);
}

static void put_event(const struct place *place, int set, int slot)
{
    const struct rps_report *report = place->report;
    const struct rps_event *event = &report->plan->set[set].event[slot];
    const struct rps_set_tally *tally = &place->tally->set[set];
    struct figure figure = {
        .kind = "event",
        .name = event->name,
        .label = event->label,
        .role = event->role,
        .family = event->family,
        .set = report->plan->set[set].name,
        .unit = event->unit,
        .state = rps_event_states[event->state],
        .reason = rps_report_reason(report, event, set, slot),
        .explain = event->explain,
        .count = tally->count[slot],
        .periods = tally->periods,
        .has_periods = event->state == RPS_EVENT_MEASURED,
        .whole = {.value = NAN},
    };

    figure.has_estimate = event->state == RPS_EVENT_MEASURED &&
                          rps_tally_estimate_u64(place->tally, set, slot, &figure.estimate);
    figure.has_count = figure.has_estimate;
    if (figure.has_estimate)
        figure.whole = is_whole(place) ? event->whole : rps_tally_interval(place->tally, set, slot);
    put_figure(place, &figure);
}

static void put_metric(const struct place *place, const struct rps_metric *metric)
{
    struct figure figure = {
        .kind = "metric",
        .name = metric->name,
        .label = metric->label,
        .family = metric->family,
        .unit = metric->unit,
        .explain = metric->explain,
        .whole = metric->whole,
    };

    if (!is_whole(place))
        figure.whole =
            rps_tally_formula_interval(place->tally, &metric->formula, place->report->operand);
    put_figure(place, &figure);
}

static void put_figures(struct rps_report *report, const struct rps_tally *tally, int32_t cpu)
{
    const struct place place = {report, tally, cpu};
    const struct rps_plan *plan = report->plan;

    rps_tally_operands(tally, plan, report->operand);
    put_clock(&place);
    for (int i = 0; i < plan->set_count; i++) {
        for (int slot = 0; slot < plan->set[i].event_count; slot++) {
            if (strcmp(plan->set[i].event[slot].unit, RPS_UNIT_GAUGE) != 0)
                put_event(&place, i, slot);
        }
    }
    for (int i = 0; i < plan->metric_count; i++)
        put_metric(&place, &plan->metric[i]);
}

static void put_all_figures(struct rps_report *report)
{
    if (rps_rows_begin(&report->rows, "figures"))
        put_figure(&(struct place){.report = report}, &(struct figure){.kind = NULL});
    put_figures(report, &report->tally, RPS_CPU_ALL);
    for (int i = 0; report->cpu_tally && i < report->cpu_series.count; i++)
        put_figures(report, &report->cpu_tally[i], report->cpu_series.cpu[i]);
    rps_rows_end(&report->rows);
}

/* --- JSON alone ------------------------------------------------------------------------------- */

/* As in report_remarks.c; a mark has no length. */
int rps_report_has_note(const struct rps_report *report, const struct rps_note *note)
{
    int64_t end_ns = note->start_ns + note->length_ns;

    return note->start_ns < report->options->to_ns && end_ns >= report->options->from_ns &&
           (note->length_ns == 0 || end_ns > report->options->from_ns);
}

static void put_notes(struct rps_report *report, const char *name, const struct rps_notes *notes,
                      const char *text)
{
    struct rps_rows *rows = &report->rows;

    rps_rows_begin(rows, name);
    for (size_t i = 0; i < notes->count; i++) {
        const struct rps_note *note = &notes->note[i];
        if (!rps_report_has_note(report, note))
            continue;
        rps_rows_row(rows);
        if (notes == &report->gaps)
            rps_rows_int(rows, "cpu", note->cpu, 1);
        rps_rows_stretch(rows, &report->run, note->start_ns, note->start_ns + note->length_ns);
        rps_rows_text(rows, text, note->text);
        rps_rows_end_row(rows);
    }
    rps_rows_end(rows);
}

static void put_regions(struct rps_report *report)
{
    struct rps_rows *rows = &report->rows;

    rps_rows_begin(rows, "regions");
    for (size_t i = 0; i < report->regions.count; i++) {
        const struct rps_run_region *region = &report->regions.region[i];
        const struct rps_tally *tally = &report->region_tally[i];

        rps_rows_row(rows);
        rps_rows_text(rows, "name", region->name);
        rps_rows_uint(rows, "entered", region->entered, 1);
        rps_rows_uint(rows, "marked", region->marked, 1);
        rps_rows_uint(rows, "not_ended", region->open, 1);
        rps_rows_uint(rows, "at_once", region->at_once, region->marked > 0);
        rps_rows_seconds(rows, "time_s", region->time_ns, 1);
        rps_rows_uint(rows, "periods", tally->periods, 1);
        rps_rows_seconds(rows, "inside_s", tally->length_ns, 1);
        rps_rows_begin(rows, "figures");
        if (tally->periods > 0)
            put_figures(report, tally, RPS_CPU_ALL);
        rps_rows_end(rows);
        rps_rows_end_row(rows);
    }
    rps_rows_end(rows);
}

static void put_remark(struct rps_report *report, const char *remark)
{
    rps_json_text(report->rows.json, NULL, remark);
}

static void put_run(struct rps_report *report)
{
    const struct rps_tally *tally = &report->tally;
    int64_t stretched_ns = rps_report_stretched_ns(report);
    struct rps_rows *rows = &report->rows;

    rps_json_object(rows->json, "run");
    rps_run_block_write(rows->json, &report->run, &report->summary);
    rps_json_end(rows->json);
    rps_json_array(rows->json, "cpus");
    for (int i = 0; report->cpu_series.by_cpu && i < report->cpu_series.count; i++)
        rps_json_int64(rows->json, NULL, report->cpu_series.cpu[i]);
    rps_json_end(rows->json);
    rps_rows_stretch(rows, &report->run, tally->start_ns, tally->end_ns);
    rps_rows_bool(rows, "widened", report->cpu_series.widened, 1);
    rps_rows_uint(rows, "periods", tally->periods, 1);
    rps_rows_uint(rows, "missed", tally->missed, 1);
    rps_rows_seconds(rows, "stretched_s", stretched_ns, stretched_ns > 0);
    rps_rows_seconds(rows, "thinned_s", report->thinned_ns, report->thinned_ns >= 0);
}

static void put_words(struct rps_report *report)
{
    put_notes(report, "gaps", &report->gaps, "reason");
    put_notes(report, "marks", &report->marks, "text");
    put_regions(report);
    if (report->shares.group_count > 0)
        rps_report_rows_group(&report->rows, &report->shares.sampling, report->shares.group,
                              report->cpu_s);
    rps_json_array(report->rows.json, "remarks");
    rps_report_remarks(report, put_remark);
    rps_json_end(report->rows.json);
}

int rps_report_write_data(struct rps_report *report, struct rps_error *err)
{
    int is_json = report->options->layout == RPS_REPORT_JSON;
    struct rps_rows *rows = &report->rows;

    if (rps_rows_open(rows, report->out, is_json ? RPS_FORMAT_JSON : RPS_FORMAT_CSV, err) < 0)
        return RPS_FAILED;
    if (is_json)
        put_run(report);
    put_all_figures(report);
    if (is_json)
        put_words(report);
    return rps_rows_close(rows, 0, err);
}
