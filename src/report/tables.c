/*
 * Tables of the report: a row a CPU, or a region, a column an event (its scaled estimate) or a
 * derived figure. CPUs and regions go down and not across, so that 64 of them are as easy to
 * compare as two; columns that do not fit beside one another begin a further table. And the list of
 * marks.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/interval_text.h"
#include "rpistat/report_parts.h"
#include "rpistat/clock.h"
#include "rpistat/text.h"
#include "rpistat/table.h"

#define MARKS_MOST 30 /* that are listed */

/* What stands in a column. */
struct column {
    int set, slot; /* of an event; set -1: a metric; set -2: the clock event */
    int metric;
};

struct columns {
    int count;
    int before;            /* columns of the table before these */
    struct column *column; /* owned; room for all there can be */
    double *operand;       /* owned; scratch */
    struct rps_text_table table;
};

static void add_column(struct columns *columns, struct column column, const char *label,
                       const char *unit)
{
    columns->column[columns->count++] = column;
    rps_table_add_column(&columns->table, label, unit, 0);
}

/* How sure the figure is, behind it. */
static void append_interval(const struct rps_report *report, const struct rps_interval *interval,
                            char *ret)
{
    char text[RPS_INTERVAL_TEXT_SIZE];
    size_t used = strlen(ret);

    if (report->options->layout == RPS_REPORT_2013)
        return;
    if (interval->certainty == RPS_CERTAINTY_INTERVAL)
        rps_interval_percent(text, interval);
    else
        rps_interval_words(text, interval);
    snprintf(ret + used, RPS_REPORT_NUMBER_SIZE - used, "%s%.40s", text[0] ? " " : "", text);
}

/* The cell of a column over one tally. */
static void cell_text(struct rps_report *report, struct columns *columns,
                      const struct column *column, const struct rps_tally *tally, char *ret)
{
    struct rps_interval interval = {.certainty = RPS_CERTAINTY_COUNTED};
    uint64_t estimate;

    strcpy(ret, "-"); /* not known */
    if (tally->periods == 0)
        return;
    if (column->set == -2) {
        if (rps_tally_clock_u64(tally, &estimate))
            rps_report_count(ret, estimate);
        return;
    }
    if (column->set >= 0) {
        interval = rps_tally_interval(tally, column->set, column->slot);
        if (!rps_tally_estimate_u64(tally, column->set, column->slot, &estimate) ||
            interval.certainty == RPS_CERTAINTY_HARDLY)
            return;
        rps_report_count(ret, estimate);
    } else {
        rps_tally_operands(tally, report->plan, columns->operand);
        interval = rps_tally_formula_interval(tally, &report->plan->metric[column->metric].formula,
                                              columns->operand);
        if (isnan(interval.value) || interval.certainty == RPS_CERTAINTY_HARDLY)
            return;
        rps_report_figure(ret, 3, interval.value);
    }
    append_interval(report, &interval, ret);
}

static void add_event(struct rps_report *report, const struct rps_event *event, int set, int slot,
                      void *context)
{
    int counts_things =
        !event->unit[0] || strcmp(event->unit, "events") == 0 || strcmp(event->unit, "cycles") == 0;

    (void)report;
    if (event->state == RPS_EVENT_MEASURED)
        add_column(context, (struct column){.set = set, .slot = slot}, event->label,
                   counts_things ? "" : event->unit);
}

static void add_family(struct rps_report *report, struct columns *columns, const char *family)
{
    rps_report_each(report, family, add_event, columns);
    for (int m = 0; m < report->plan->metric_count; m++) {
        const struct rps_metric *metric = &report->plan->metric[m];

        if (strcmp(metric->family, family) == 0)
            add_column(columns, (struct column){.set = -1, .metric = m}, metric->label,
                       metric->unit);
    }
}

static void add_all(struct rps_report *report, struct columns *columns)
{
    const struct rps_plan *plan = report->plan;

    add_column(columns, (struct column){.set = -2}, rps_report_clock_label(report),
               rps_report_clock_unit(report));
    for (int i = 0; i < plan->set_count; i++) {
        for (int s = 0; s < plan->set[i].event_count; s++) {
            if (rps_report_family_is_new(plan, plan->set[i].event[s].family, i, s, 0))
                add_family(report, columns, plan->set[i].event[s].family);
        }
    }
    for (int m = 0; m < plan->metric_count; m++) {
        if (rps_report_family_is_new(plan, plan->metric[m].family, plan->set_count, 0, m))
            add_family(report, columns, plan->metric[m].family);
    }
}

/* Begin the columns, behind those that the table has. */
static int columns_begin(struct rps_report *report, struct columns *columns, struct rps_error *err)
{
    const struct rps_plan *plan = report->plan;
    size_t room = 1 + (size_t)plan->set_count * RPS_SLOT_MAX + (size_t)plan->metric_count;

    columns->before = columns->table.column_count;
    columns->column = calloc(room, sizeof(*columns->column));
    columns->operand = calloc((size_t)rps_plan_operand_count(plan), sizeof(*columns->operand));
    if (!columns->column || !columns->operand)
        return rps_error_memory(err);
    add_all(report, columns);
    return 0;
}

static void set_cells(struct rps_report *report, struct columns *columns,
                      const struct rps_tally *tally)
{
    char text[RPS_REPORT_NUMBER_SIZE];

    for (int c = 0; c < columns->count; c++) {
        cell_text(report, columns, &columns->column[c], tally, text);
        rps_table_set(&columns->table, columns->before + c, text);
    }
}

/* Print the table, unless result is negative, and release it. Returns result. */
static int columns_end(struct rps_report *report, struct columns *columns, int result,
                       struct rps_error *err)
{
    if (result == 0)
        result = rps_table_print(report->out, &columns->table, 1, RPS_REPORT_TEXT_WIDTH, err);
    rps_table_free(&columns->table);
    free(columns->operand);
    free(columns->column);
    return result;
}

/* --- CPU by CPU ------------------------------------------------------------------------------- */

static void add_cpu(struct rps_report *report, struct columns *columns, const char *name,
                    const struct rps_tally *tally)
{
    char text[RPS_REPORT_NUMBER_SIZE];

    rps_table_add_row(&columns->table);
    snprintf(text, sizeof(text), "%-6s", name);
    rps_table_set(&columns->table, 0, text);
    set_cells(report, columns, tally);
}

/* Behind a heading. What is counted all the time needs no scaling. */
static const char *scaled_note(const struct rps_report *report)
{
    return report->plan->set_count > 1 || rps_tally_clock_is_scaled(&report->tally)
               ? " (event counts are scaled)"
               : "";
}

int rps_report_print_cpus(struct rps_report *report, struct rps_error *err)
{
    struct columns columns = {0};
    char name[16];
    int result;

    if (!report->cpu_tally)
        return 0;
    fprintf(report->out, "\nCPU by CPU%s\n", scaled_note(report));
    rps_table_add_column(&columns.table, "CPU", "", 1);
    result = columns_begin(report, &columns, err);
    for (int i = 0; result == 0 && i < report->cpu_series.count; i++) {
        snprintf(name, sizeof(name), "%d", (int)report->cpu_series.cpu[i]);
        add_cpu(report, &columns, name, &report->cpu_tally[i]);
    }
    if (result == 0)
        add_cpu(report, &columns, "all", &report->tally);
    return columns_end(report, &columns, result, err);
}

/* --- regions ---------------------------------------------------------------------------------- */

static void add_region(struct rps_report *report, struct columns *columns, size_t number)
{
    const struct rps_run_region *region = &report->regions.region[number];
    const struct rps_tally *tally = &report->region_tally[number];
    char text[RPS_REPORT_NUMBER_SIZE];
    int cell = 0;

    rps_table_add_row(&columns->table);
    rps_table_set(&columns->table, cell++, region->name);
    rps_table_set(&columns->table, cell++, rps_report_count(text, region->entered));
    rps_table_set(&columns->table, cell++,
                  rps_report_figure(text, 3, (double)region->time_ns / RPS_NS_PER_S));
    rps_table_set(&columns->table, cell++,
                  region->at_once > 0 ? rps_report_count(text, region->at_once) : "-");
    rps_table_set(&columns->table, cell++, rps_report_count(text, tally->periods));
    rps_table_set(&columns->table, cell++,
                  rps_report_figure(text, 3, (double)tally->length_ns / RPS_NS_PER_S));
    set_cells(report, columns, tally);
}

/* A sentence for all regions of which something is true. */
static void tell_regions(struct rps_report *report, int (*is)(const struct rps_report *, size_t),
                         const char *before, const char *behind)
{
    char text[1024];
    size_t used = 0;

    for (size_t i = 0; i < report->regions.count && used < sizeof(text) / 2; i++) {
        if (is(report, i))
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : before,
                                     report->regions.region[i].name);
    }
    if (used == 0)
        return;
    snprintf(text + used, sizeof(text) - used, "%s", behind);
    rps_report_wrapped(report, text, 2);
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

static void tell_of_regions(struct rps_report *report)
{
    char behind[256], period[RPS_TEXT_NUMBER_SIZE];

    fputc('\n', report->out);
    snprintf(behind, sizeof(behind),
             ": no measurement period (%s) lies wholly inside. Record with a shorter --period, or "
             "let the program count them itself (rps_region_report).",
             rps_text_duration(period, sizeof(period), report->run.period_ns));
    tell_regions(report, is_short, "Too short for figures: ", behind);
    tell_regions(report, is_frequent, "Entered too often to be marked each time: ",
                 ". Periods and figures are of the entries that were marked.");
    tell_regions(report, is_open, "Begun without an end: ", ". Such entries are left out.");
    if (report->regions.more)
        rps_report_wrapped(report, "There are further regions; these are the first.", 2);
}

int rps_report_print_regions(struct rps_report *report, struct rps_error *err)
{
    struct columns columns = {0};
    int result;

    if (report->regions.count == 0 || report->options->region ||
        report->options->layout == RPS_REPORT_2013)
        return 0;
    fprintf(report->out, "\nRegions of the program%s\n", scaled_note(report));
    rps_report_wrapped(report,
                       "Times are the program's own. Events and figures are of the measurement "
                       "periods that lie wholly inside a region, and of all that the workload did "
                       "in these: in other threads, and in regions within, too.",
                       2);
    rps_table_add_column(&columns.table, "Region", "", 1);
    rps_table_add_column(&columns.table, "Times entered", "", 0);
    rps_table_add_column(&columns.table, "Time in it", "s", 0);
    rps_table_add_column(&columns.table, "At once", "", 0);
    rps_table_add_column(&columns.table, "Periods inside", "", 0);
    rps_table_add_column(&columns.table, "Their time", "s", 0);
    result = columns_begin(report, &columns, err);
    for (size_t i = 0; result == 0 && i < report->regions.count; i++)
        add_region(report, &columns, i);
    result = columns_end(report, &columns, result, err);
    tell_of_regions(report);
    return result;
}

/* --- marks ------------------------------------------------------------------------------------ */

void rps_report_print_marks(struct rps_report *report)
{
    size_t listed = 0, more = 0;
    char at[RPS_TEXT_NUMBER_SIZE];

    for (size_t i = 0; i < report->marks.count && report->options->layout != RPS_REPORT_2013; i++) {
        const struct rps_note *mark = &report->marks.note[i];

        if (!rps_report_has_note(report, mark) || rps_run_regions_is_mark(mark->text))
            continue;
        if (listed == MARKS_MOST) {
            more++;
            continue;
        }
        fprintf(report->out, "%s  %s  ", listed++ == 0 ? "\nMarks\n" : "",
                rps_text_clock(at, sizeof(at), mark->start_ns, 3));
        rps_text_print(report->out, mark->text);
        fputc('\n', report->out);
    }
    if (more > 0)
        fprintf(report->out, "  and %zu more; --format json lists all\n", more);
}
