/* The blocks of a report's document: metrics, tables with one row per CPU or region, marks and
 * gaps. CPUs and regions are rows, so that 64 of them are as easy to compare as two. */
#include <math.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/document.h"
#include "parts.h"
#include "rpistat/plan.h"
#include "rpistat/report.h"
#include "rpistat/run.h"
#include "rpistat/text.h"

#define MARKS_MAX 30 /* maximum number of marks in the text */

/* --- the run ---------------------------------------------------------------------------------- */

/* The columns of a range of the run: both ends, as times of the run and of the clock. */
#define STRETCH(CELL, BY, from_ns, to_ns)                                                          \
    BY(CLOCK, rps_put_int(block, from_ns, 1), "start_s")                                           \
    BY(CLOCK, rps_put_int(block, to_ns, 1), "end_s")                                               \
    CELL(TIME, (rps_clock_add_ns(epoch_ns, from_ns), epoch_ns >= 0), "start")                      \
    CELL(TIME, (rps_clock_add_ns(epoch_ns, to_ns), epoch_ns >= 0), "end")

#define MEMBERS(CELL, BY)                                                                          \
    STRETCH(CELL, BY, tally->start_ns, tally->end_ns)                                              \
    CELL(BOOL, (report->cpu_series.widened, 1), "widened")                                         \
    CELL(INT, (tally->periods, 1), "periods")                                                      \
    CELL(INT, (tally->missed, 1), "missed")                                                        \
    CELL(DURATION, (stretched_ns, stretched_ns > 0), "stretched_s")                                \
    BY(CLOCK, rps_put_int(block, report->thinned_ns, report->thinned_ns >= 0), "thinned_s")        \
    CELL(NUMBER, (rps_report_recorder_share(report)), "recorder_cpu_share")

void rps_report_members(struct rps_report *report)
{
    static const struct rps_column columns[] = {MEMBERS(RPS_COLUMN, RPS_COLUMN)};
    static const struct rps_column cpu = {"", .kind = RPS_VALUE_INT};
    const struct rps_tally *tally = &report->tally;
    int64_t stretched_ns = rps_report_stretched_ns(report),
            epoch_ns = report->run.start_realtime_ns;
    struct rps_block *block = rps_run_block(report->document, "run");

    block->is_object = 1;
    for (size_t c = 0; c < block->column_count; c++)
        block->column[c].heading = NULL; /* the text shows the fields instead */
    rps_run_block_put(block, &report->run, &report->summary);
    block = rps_document_block(report->document, "cpus", &cpu, 1);
    for (int i = 0; report->cpu_series.by_cpu && i < report->cpu_series.count; i++)
        rps_put_int(block, report->cpu_series.cpu[i], 1);
    block = rps_document_block(report->document, NULL, columns, RPS_COUNT(columns));
    MEMBERS(RPS_PUT, RPS_PUT_BY)
}

/* --- events and metrics ----------------------------------------------------------------------- */

/* The columns of metrics. If a value is not scaled, the text shows only the count. */
static const struct rps_column figure_columns[] = {
    {"run", .kind = RPS_VALUE_INT},
    {"cpu", .kind = RPS_VALUE_INT},
    {.name = "kind"},
    {.name = "name"},
    {"label", "Event or metric", RPS_VALUE_TEXT, .place = 1},
    {.name = "role"},
    {.name = "family"},
    {.name = "set"},
    {.name = "unit"},
    {"count", "Counted", RPS_VALUE_INT, .place = 2, .shown = RPS_SHOWN_IF_KNOWN},
    {"value", "Value", RPS_VALUE_FIGURE, .has_interval = 1, .place = 3},
    {.place = 4}, /* confidence; shown if any value has one */
    {"periods", .kind = RPS_VALUE_INT},
    {"per_s", "Per second", RPS_VALUE_NUMBER, .place = 5, .shown = RPS_SHOWN_IF_KNOWN},
    {.kind = RPS_VALUE_NUMBER,
     .place = 6,
     .shown = RPS_SHOWN_IF_KNOWN,
     .drop = 1}, /* heading: rps_report_per_clock */
    {.name = "state"},
    {.name = "reason"},
    {.name = NULL}, /* heading: explanation */
};

#define LARGE 1e5 /* values from this size on need no decimals */

#define SURE      11
#define PER_CLOCK 14
#define EXPLAIN   17

/* Format the confidence: "± 2.1 %", "120 to 180", or the reason for a missing interval. */
static char *sure_text(char ret[RPS_INTERVAL_TEXT_SIZE], const struct rps_interval *sure,
                       int decimals)
{
    char low[RPS_REPORT_NUMBER_SIZE], high[RPS_REPORT_NUMBER_SIZE];

    if (sure->certainty != RPS_CERTAINTY_INTERVAL)
        return rps_interval_words(ret, sure);
    if (rps_interval_is_narrow(sure))
        return rps_interval_percent(ret, sure);
    snprintf(ret, RPS_INTERVAL_TEXT_SIZE, "%.40s to %.40s",
             rps_report_figure(low, decimals, rps_interval_round(sure->low, 3, decimals, 0)),
             rps_report_figure(high, decimals, rps_interval_round(sure->high, 3, decimals, 1)));
    return ret;
}

/* Put the value. In the text, a metric has its unit. */
static void put_value(struct rps_block *block, const struct rps_report_item *item,
                      const struct rps_report_value *value)
{
    int is_count = value->has_estimate && value->estimate == value->count &&
                   value->sure.certainty <= RPS_CERTAINTY_COUNTED;
    char number[RPS_REPORT_NUMBER_SIZE];

    rps_put_figure(block, value->number, &value->sure)->number =
        value->has_estimate && isfinite(value->number) ? (int64_t)value->estimate : 0;
    if (!isfinite(value->number))
        rps_put_words(block, "%s",
                      isnan(value->sure.value) && (item->metric || item->set < 0) ? "unknown" : "");
    else if (item->metric)
        rps_put_words(block, "%s%s%s",
                      rps_report_figure(number, fabs(value->number) < LARGE ? 3 : 0, value->number),
                      item->unit[0] ? " " : "", item->unit);
    else
        rps_put_words(block, "%s", is_count ? "" : rps_report_count(number, value->estimate));
}

/* Put a rate per second or per million clock events. The text shows rates only in this column. */
static void put_rate(struct rps_block *block, double number, double by, int decimals)
{
    char text[RPS_REPORT_NUMBER_SIZE];

    rps_put_number(block, by > 0 ? number / by : NAN);
    rps_put_words(block, "%s",
                  isfinite(number) && by > 0 ? rps_report_figure(text, decimals, number / by) : "");
}

static void put_figure(struct rps_report *report, struct rps_block *block,
                       const struct rps_report_item *item, const struct rps_tally *tally,
                       int32_t cpu)
{
    struct rps_report_value value = rps_report_value(report, item, tally);
    const struct rps_event *event = item->event;
    int is_clock = event && item->set < 0;
    /* times have their own unit */
    int is_time = is_clock || (event && strcmp(event->role, "task_clock") == 0);
    double rate = event && isfinite(value.number) ? value.sure.value : NAN;
    char label[RPS_REPORT_LABEL_SIZE], sure[RPS_INTERVAL_TEXT_SIZE], text[RPS_REPORT_NUMBER_SIZE];

    rps_put_int(block, report->run.run_id, 1);
    rps_put_int(block, cpu, 1);
    rps_put_texts(block, 3,
                  is_clock ? "clock"
                  : event  ? "event"
                           : "metric",
                  event ? event->name : item->metric->name, item->label);
    rps_put_words(block, "%s", rps_report_label(item, label));
    rps_put_texts(block, 4, event ? event->role : "", is_clock ? "" : item->family,
                  event && !is_clock ? report->plan->set[item->set].name : "",
                  is_clock ? event->unit : item->unit);
    rps_put_int(block, (int64_t)value.count, value.is_counted);
    rps_put_words(block, "%s",
                  value.is_counted ? rps_report_count(text, value.count)
                  : event          ? "not counted"
                                   : "");
    put_value(block, item, &value);
    rps_put_text(block, sure_text(sure, &value.sure, event ? 0 : 3));
    rps_put_words(block, "%s", sure);
    rps_put_int(block,
                (int64_t)(is_clock ? tally->periods
                          : event  ? tally->set[item->set].counted[item->slot]
                                   : 0),
                is_clock || (event && event->state == RPS_EVENT_MEASURED));
    put_rate(block, rate, report->operand[RPS_OPERAND_SECONDS], 1);
    put_rate(block, is_time ? NAN : rate, rps_report_clock_units(report), 3);
    rps_put_text(block, event ? rps_event_states[event->state] : "");
    rps_put_text(block,
                 event && !is_clock ? rps_report_reason(report, event, item->set, item->slot) : "");
    rps_put_text(block, event ? event->explain : item->metric->explain);
}

static void put_figures(struct rps_report *report, struct rps_block *block,
                        const struct rps_tally *tally, int32_t cpu)
{
    rps_tally_operands(tally, report->plan, report->operand);
    for (size_t i = 0; i < report->item_count; i++)
        put_figure(report, block, &report->item[i], tally, cpu);
}

/* Return 1 if the text shows the item elsewhere. A rate is shown next to the event of its family.
 * The clock event may also be an event of a set, or in an import a column or the elapsed time. */
static int is_said_elsewhere(const struct rps_report *report, const struct rps_report_item *of)
{
    const int is_rate = of->metric && strcmp(of->unit, "/s") == 0;
    const int is_clock = of->event && of->set < 0;

    for (size_t i = 0; (is_rate || is_clock) && i < report->item_count; i++) {
        const struct rps_report_item *item = &report->item[i];

        if (item != of && item->event && strcmp(item->label, of->label) == 0 &&
            (is_clock || strcmp(item->family, of->family) == 0))
            return 1;
    }
    return is_clock && rps_run_is_import(&report->run);
}

static void put_family(struct rps_report *report, struct rps_block *block, size_t first)
{
    size_t end = rps_report_family_end(report, first);
    uint64_t periods = rps_report_family_periods(report, first, end);
    const char *family = report->item[first].family;
    char number[RPS_REPORT_NUMBER_SIZE], all[RPS_REPORT_NUMBER_SIZE], text[RPS_REPORT_EXPLAIN_SIZE];

    if (report->item[first].event && periods < report->tally.periods)
        rps_block_line(block, "  %s (%s of %s periods)", family[0] ? family : "Events",
                       rps_report_count(number, periods),
                       rps_report_count(all, report->tally.periods));
    else
        rps_block_line(block, "  %s",
                       family[0]                   ? family
                       : report->item[first].event ? "Events"
                                                   : "Metrics");
    for (size_t i = first; i < end; i++) {
        if (!is_said_elsewhere(report, &report->item[i]))
            put_figure(report, block, &report->item[i], &report->tally, RPS_CPU_ALL);
    }
    for (size_t i = first; i < end; i++) {
        if (rps_report_explain(report, &report->item[i], text)[0])
            rps_block_wrap(block, 4, 6, "%s", text);
    }
}

/* Return 1 if event sets rotate, or the clock event was not counted all the time. */
static int is_scaled(const struct rps_report *report)
{
    return (report->plan->set_count > 1 && !rps_run_is_import(&report->run)) ||
           (rps_tally_clock_is_scaled(&report->tally) && !rps_run_lacks_counts(&report->run));
}

/* Put an explanation of scaling and of unusual units. */
static void put_legend(struct rps_report *report, struct rps_block *block)
{
    int pti = 0;

    for (int m = 0; m < report->plan->metric_count; m++)
        pti |= strcmp(report->plan->metric[m].unit, "PTI") == 0;
    if (is_scaled(report))
        rps_block_line(block,
                       "  Value: estimate for the whole time, scaled up from the counted time.");
    if (pti)
        rps_block_line(block, "  PTI: per thousand instructions.");
}

/* Put the metrics. The text has only the metrics of the run, and each rate only once. CPUs have a
 * separate table. */
void rps_report_figures(struct rps_report *report)
{
    struct rps_block *block =
        rps_document_block(report->document, "figures", figure_columns, RPS_COUNT(figure_columns));
    char per_clock[RPS_REPORT_LABEL_SIZE];
    int unsure = 0;

    for (size_t i = 0; i < report->item_count; i++)
        unsure |= rps_report_value(report, &report->item[i], &report->tally).sure.certainty >
                  RPS_CERTAINTY_COUNTED;
    block->column[SURE].heading = unsure ? "95 % interval" : NULL;
    block->column[PER_CLOCK].heading =
        rps_arena_text(report->document->arena, rps_report_per_clock(report, per_clock));
    block->column[EXPLAIN].name = report->options->explain ? "explain" : NULL;
    rps_block_title(block, "Performance events");
    block->indent = 4;
    block->fixed = 1;
    put_legend(report, block);
    rps_tally_operands(&report->tally, report->plan, report->operand);
    block->head_first = is_said_elsewhere(report, &report->item[0]);
    if (!block->head_first)
        put_figure(report, block, &report->item[0], &report->tally, RPS_CPU_ALL);
    for (size_t first = 1; first < report->item_count; first = rps_report_family_end(report, first))
        put_family(report, block, first);
    block =
        rps_document_block(report->document, "figures", figure_columns, RPS_COUNT(figure_columns));
    for (size_t c = 0; c < block->column_count; c++)
        block->column[c].heading = NULL;
    block->column[EXPLAIN].name = report->options->explain ? "explain" : NULL;
    for (size_t i = 0; i < report->item_count; i++) {
        if (is_said_elsewhere(report, &report->item[i]))
            put_figure(report, block, &report->item[i], &report->tally, RPS_CPU_ALL);
    }
    for (int i = 0; report->cpu_tally && i < report->cpu_series.count; i++)
        put_figures(report, block, &report->cpu_tally[i], report->cpu_series.cpu[i]);
}

/* --- CPUs and regions: one per row, metrics as columns ---------------------------------------- */

static int has_column(const struct rps_report_item *item)
{
    return item->metric || item->set < 0 || item->event->state == RPS_EVENT_MEASURED;
}

static void add_columns(struct rps_report *report, struct rps_block *block, int place)
{
    for (size_t i = 0; i < report->item_count; i++) {
        const struct rps_report_item *item = &report->item[i];
        int is_plain = strcmp(item->unit, "events") == 0 || strcmp(item->unit, "cycles") == 0;

        if (has_column(item))
            rps_block_column(block, (struct rps_column){.heading = item->label,
                                                        .unit = is_plain ? "" : item->unit,
                                                        .kind = RPS_VALUE_NUMBER,
                                                        .place = place});
    }
    block->indent = 2;
    block->fixed = 1;
}

/* Put the scaled estimates of all events and their intervals. */
static void put_cells(struct rps_report *report, struct rps_block *block,
                      const struct rps_tally *tally)
{
    char number[RPS_REPORT_NUMBER_SIZE], sure[RPS_INTERVAL_TEXT_SIZE];

    rps_tally_operands(tally, report->plan, report->operand);
    for (size_t i = 0; i < report->item_count; i++) {
        const struct rps_report_item *item = &report->item[i];
        struct rps_report_value value = rps_report_value(report, item, tally);

        if (!has_column(item))
            continue;
        rps_put_number(block, tally->periods > 0 ? value.number : NAN);
        if (tally->periods == 0 || !isfinite(value.number))
            continue;
        if (item->metric)
            rps_report_figure(number, 3, value.number);
        else
            rps_report_count(number, value.estimate);
        if (report->plain || (item->event && item->set < 0))
            sure[0] = '\0';
        else if (value.sure.certainty == RPS_CERTAINTY_INTERVAL)
            rps_interval_percent(sure, &value.sure);
        else
            rps_interval_words(sure, &value.sure);
        rps_put_words(block, "%s%s%s", number, sure[0] ? " " : "", sure);
    }
}

/* Return the note that follows a title. Return "" if no event is scaled. */
static const char *scaled_note(const struct rps_report *report)
{
    return is_scaled(report) ? " (event counts: estimates for the whole time)" : "";
}

void rps_report_cpus(struct rps_report *report, struct rps_document *document)
{
    static const struct rps_column columns[] = {{NULL, "CPU", .width_min = 6}};
    struct rps_block *block;
    char name[16];

    if (!report->cpu_tally)
        return;
    block = rps_document_block(document, NULL, columns, 1);
    rps_block_title(block, "Per CPU%s", scaled_note(report));
    add_columns(report, block, 1);
    for (int i = 0; i <= report->cpu_series.count; i++) {
        int is_all = i == report->cpu_series.count;

        snprintf(name, sizeof(name), "%d", is_all ? 0 : (int)report->cpu_series.cpu[i]);
        rps_put_text(block, is_all ? "all" : name);
        put_cells(report, block, is_all ? &report->tally : &report->cpu_tally[i]);
    }
}

static void put_region(struct rps_report *report, struct rps_block *block, size_t number)
{
    const struct rps_run_region *region = &report->regions.region[number];
    const struct rps_tally *tally = &report->region_tally[number];
    char text[RPS_REPORT_NUMBER_SIZE];
    struct rps_block *figures;

    rps_put_text(block, region->name);
    rps_put_int(block, (int64_t)region->entered, 1);
    rps_put_words(block, "%s", rps_report_count(text, region->entered));
    rps_put_int(block, (int64_t)region->marked, 1);
    rps_put_int(block, (int64_t)region->open, 1);
    rps_put_int(block, (int64_t)region->at_once, region->marked > 0);
    rps_put_words(block, "%s", region->at_once > 0 ? rps_report_count(text, region->at_once) : "-");
    rps_put_int(block, region->time_ns, region->entered > 0);
    if (region->entered > 0)
        rps_put_words(block, "%s",
                      rps_report_figure(text, 3, (double)region->time_ns / RPS_NS_PER_S));
    rps_put_int(block, (int64_t)tally->periods, 1);
    rps_put_words(block, "%s", rps_report_count(text, tally->periods));
    rps_put_int(block, tally->length_ns, 1);
    rps_put_words(block, "%s", rps_report_figure(text, 3, (double)tally->length_ns / RPS_NS_PER_S));
    figures = rps_put_block(block, figure_columns, RPS_COUNT(figure_columns));
    if (tally->periods > 0)
        put_figures(report, figures, tally, RPS_CPU_ALL);
    if (!report->options->region) /* with the option --region, the text has no columns for events */
        put_cells(report, block, tally);
}

/* Put one sentence about all regions for which `is` returns 1. */
static void report_regions(struct rps_report *report, struct rps_block *block,
                           int (*is)(const struct rps_report *, size_t), const char *before,
                           const char *behind)
{
    char *text = NULL;

    for (size_t i = 0; i < report->regions.count; i++) {
        if (is(report, i))
            text = rps_arena_print(report->document->arena, "%s%s%s", text ? text : before,
                                   text ? ", " : "", report->regions.region[i].name);
    }
    if (text)
        rps_block_wrap(block, 2, 4, "%s%s", text, behind);
}

static int is_short(const struct rps_report *report, size_t number)
{
    return report->region_tally[number].periods == 0 && report->regions.region[number].entered > 0;
}

static int is_frequent(const struct rps_report *report, size_t number)
{
    return report->regions.region[number].entered > report->regions.region[number].marked;
}

static int is_open(const struct rps_report *report, size_t number)
{
    return report->regions.region[number].open > 0;
}

/* Put the remarks on regions into a separate block that follows the table. */
static void report_regions_of(struct rps_report *report)
{
    struct rps_block *block = rps_document_block(report->document, NULL, NULL, 0);
    char behind[256], period[RPS_TEXT_NUMBER_SIZE];

    snprintf(behind, sizeof(behind),
             ". No measurement period (%s) lies completely inside the region. Record with a "
             "shorter --period, "
             "or let the program count its regions itself (rps_region_report).",
             rps_text_duration(period, sizeof(period), report->run.period_ns));
    report_regions(report, block, is_short, "Too short for metrics: ", behind);
    report_regions(report, block, is_frequent, "Entered too often to mark each entry: ",
                   ". Periods and metrics cover the marked entries.");
    report_regions(report, block, is_open,
                   "Entered but not left: ", ". These entries are left out.");
    if (report->regions.more)
        rps_block_wrap(block, 2, 4, "The run has more regions; these are the first.");
}

void rps_report_regions(struct rps_report *report)
{
    static const struct rps_column columns[] = {
        {"name", "Region", .place = 0},
        {"entered", "Times entered", RPS_VALUE_INT, .place = 0},
        {"marked", .kind = RPS_VALUE_INT},
        {"not_ended", .kind = RPS_VALUE_INT},
        {"at_once", "At once", RPS_VALUE_INT, .place = 1},
        {"time_s", "Time in it", RPS_VALUE_DURATION, .unit = "s"},
        {"periods", "Periods inside", RPS_VALUE_INT, .place = 2},
        {"inside_s", "Their time", RPS_VALUE_DURATION, .unit = "s", .place = 2},
        {"figures", .kind = RPS_VALUE_BLOCK},
    };
    struct rps_block *block =
        rps_document_block(report->document, "regions", columns, RPS_COUNT(columns));

    if (report->options->region) /* the whole report is about this region */
        for (size_t c = 0; c < block->column_count; c++)
            block->column[c].heading = NULL;
    else
        add_columns(report, block, 3);
    if (report->regions.count > 0 && !report->options->region) {
        rps_block_title(block, "Regions of the program%s", scaled_note(report));
        rps_block_wrap(block, 2, 4,
                       "The program measured the times. Events and metrics cover the measurement "
                       "periods that lie completely inside a region. They count the whole workload "
                       "in these periods, with other threads and nested regions.");
    }
    for (size_t i = 0; i < report->regions.count; i++)
        put_region(report, block, i);
    if (report->regions.count > 0 && !report->options->region)
        report_regions_of(report);
}

/* --- marks and gaps --------------------------------------------------------------------------- */

/* Return 1 if the note is partly in the reported part of the run. The length of a mark is 0. */
static int has_note(const struct rps_report *report, const struct rps_note *note)
{
    int64_t end_ns = note->start_ns + note->length_ns;

    return note->start_ns < report->options->to_ns && end_ns >= report->options->from_ns &&
           (note->length_ns == 0 || end_ns > report->options->from_ns);
}

/* Put marks that do not belong to regions. */
static void report_marks(struct rps_report *report, struct rps_block *block)
{
    size_t listed = 0, all = 0;
    char at[RPS_TEXT_NUMBER_SIZE];

    for (size_t i = 0; i < report->marks.count; i++) {
        const struct rps_note *mark = &report->marks.note[i];

        if (!has_note(report, mark) || rps_region_mark_read(mark->text).kind || all++ >= MARKS_MAX)
            continue;
        if (listed++ == 0)
            rps_block_title(block, "Marks");
        rps_block_line(block, "  %s  %s", rps_text_clock(at, sizeof(at), mark->start_ns, 3),
                       mark->text);
    }
    if (all > listed)
        rps_block_line(block, "  %zu more rows (--format json)", all - listed);
}

#define GAPS(CELL, BY)                                                                             \
    CELL(INT, (note->cpu, 1), "cpu")                                                               \
    STRETCH(CELL, BY, note->start_ns, note->start_ns + note->length_ns)                            \
    CELL(TEXT, (note->text), "reason")
#define MARKS(CELL, BY)                                                                            \
    STRETCH(CELL, BY, note->start_ns, note->start_ns + note->length_ns)                            \
    CELL(TEXT, (note->text), "text")

void rps_report_notes(struct rps_report *report)
{
    static const struct rps_column gaps[] = {GAPS(RPS_COLUMN, RPS_COLUMN)};
    static const struct rps_column marks[] = {MARKS(RPS_COLUMN, RPS_COLUMN)};
    struct rps_block *block = rps_document_block(report->document, "gaps", gaps, RPS_COUNT(gaps));
    int64_t epoch_ns = report->run.start_realtime_ns;

    for (size_t i = 0; i < report->gaps.count; i++) {
        const struct rps_note *note = &report->gaps.note[i];

        if (!has_note(report, note))
            continue;
        GAPS(RPS_PUT, RPS_PUT_BY)
    }
    block = rps_document_block(report->document, "marks", marks, RPS_COUNT(marks));
    report_marks(report, block);
    for (size_t i = 0; i < report->marks.count; i++) {
        const struct rps_note *note = &report->marks.note[i];

        if (!has_note(report, note))
            continue;
        MARKS(RPS_PUT, RPS_PUT_BY)
    }
}
