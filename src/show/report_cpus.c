/*
 * The table "CPU by CPU" of the report: a row a CPU, a column an event (its scaled estimate) or a
 * derived figure, the sum in the last row. CPUs go down and not across, so that 64 of them are as
 * easy to compare as two; columns that do not fit beside one another begin a further table.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interval_text.h"
#include "report_parts.h"
#include "table.h"

/* What stands in a column. */
struct column {
    int set, slot; /* of an event; set -1: a metric; set -2: the clock event */
    int metric;
};

struct columns {
    int count;
    struct column *column; /* owned; room for all there can be */
    double *operand;       /* owned; scratch */
    struct rps_table table;
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

    rps_table_add_column(&columns->table, "CPU", "", 1);
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

static void add_row(struct rps_report *report, struct columns *columns, const char *name,
                    const struct rps_tally *tally)
{
    char text[RPS_REPORT_NUMBER_SIZE];

    rps_table_add_row(&columns->table);
    snprintf(text, sizeof(text), "%-6s", name);
    rps_table_set(&columns->table, 0, text);
    for (int c = 0; c < columns->count; c++) {
        cell_text(report, columns, &columns->column[c], tally, text);
        rps_table_set(&columns->table, c + 1, text);
    }
}

int rps_report_print_cpus(struct rps_report *report, struct rps_error *err)
{
    const struct rps_plan *plan = report->plan;
    size_t room = 1 + (size_t)plan->set_count * RPS_SLOT_MAX + (size_t)plan->metric_count;
    struct columns columns = {0};
    char name[16];
    int result = 0;

    if (!report->cpu_tally)
        return 0;
    columns.column = calloc(room, sizeof(*columns.column));
    columns.operand = calloc((size_t)rps_plan_operand_count(plan), sizeof(*columns.operand));
    if (!columns.column || !columns.operand) {
        result = rps_error_memory(err);
        goto done;
    }
    fprintf(report->out, "\nCPU by CPU (event counts are scaled)\n");
    add_all(report, &columns);
    for (int i = 0; i < report->cpu_series.count; i++) {
        snprintf(name, sizeof(name), "%d", (int)report->cpu_series.cpu[i]);
        add_row(report, &columns, name, &report->cpu_tally[i]);
    }
    add_row(report, &columns, "all", &report->tally);
    result = rps_table_print(report->out, &columns.table, 1, RPS_REPORT_TEXT_WIDTH, err);
done:
    rps_table_free(&columns.table);
    free(columns.operand);
    free(columns.column);
    return result;
}
