/*
 * The table "CPU by CPU" of the report: a row a CPU, a column an event (its scaled estimate) or a
 * derived figure, the sum in the last row. CPUs go down and not across, so that 64 of them are as
 * easy to compare as two; columns that do not fit beside one another begin a further table.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report_parts.h"
#include "rpistat/text.h"

#define CPUS_LINES 3 /* of a heading */

/* What stands in a column. */
struct column {
    const char *label, *unit;
    int set, slot; /* of an event; set -1: a metric; set -2: the clock event */
    int metric;
    int width;
    char heading[CPUS_LINES][RPS_REPORT_NUMBER_SIZE];
};

struct columns {
    int count;
    struct column *column; /* owned; room for all there can be */
    double *operand;       /* owned; scratch */
};

/* Heading words go onto lines of at least this many characters, to keep columns narrow. */
#define CPUS_HEADING_WIDTH 12

static int text_width(const char *text)
{
    int width = 0;

    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* Break the label into the lines of the heading. */
static void set_heading(struct column *column)
{
    char text[2 * RPS_NAME_SIZE + 8], printable[RPS_REPORT_NUMBER_SIZE];
    char *rest = NULL;
    int line = 0;

    snprintf(text, sizeof(text), column->unit[0] ? "%s (%s)" : "%s", column->label, column->unit);
    rps_text_printable(printable, sizeof(printable), text);
    for (char *word = strtok_r(printable, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *to = column->heading[line];

        if (to[0] && line + 1 < CPUS_LINES &&
            text_width(to) + text_width(word) >= CPUS_HEADING_WIDTH)
            to = column->heading[++line];
        if (to[0])
            strcat(to, " ");
        strcat(to, word); /* all lines together are no longer than `printable` */
    }
    for (int i = 0; i <= line; i++) {
        if (text_width(column->heading[i]) > column->width)
            column->width = text_width(column->heading[i]);
    }
}

static struct column *add_column(struct columns *columns, const char *label, const char *unit)
{
    struct column *column = &columns->column[columns->count++];

    memset(column, 0, sizeof(*column));
    column->label = label;
    column->unit = unit;
    set_heading(column);
    return column;
}

/* The cell of a column over one tally, "" when it is not known. */
static void cell_text(struct rps_report *report, struct columns *columns,
                      const struct column *column, const struct rps_tally *tally, char *ret)
{
    uint64_t estimate;
    double value;

    ret[0] = '\0';
    if (column->set == -2) {
        rps_report_count(ret, tally->clock);
    } else if (column->set >= 0) {
        if (rps_tally_estimate_u64(tally, column->set, column->slot, &estimate))
            rps_report_count(ret, estimate);
    } else {
        rps_tally_operands(tally, report->plan, columns->operand);
        value = rps_formula_value(&report->plan->metric[column->metric].formula, columns->operand);
        if (isfinite(value))
            rps_report_figure(ret, 3, value);
    }
    if (!ret[0])
        strcpy(ret, "-");
}

static void measure_column(struct rps_report *report, struct columns *columns,
                           struct column *column)
{
    char text[RPS_REPORT_NUMBER_SIZE];

    for (int i = 0; i <= report->tracks.count; i++) {
        cell_text(report, columns, column,
                  i < report->tracks.count ? &report->cpu_tally[i] : &report->tally, text);
        if (text_width(text) > column->width)
            column->width = text_width(text);
    }
}

static void add_event(struct rps_report *report, const struct rps_event *event, int set, int slot,
                      void *context)
{
    struct columns *columns = context;
    int counts_things =
        !event->unit[0] || strcmp(event->unit, "events") == 0 || strcmp(event->unit, "cycles") == 0;
    struct column *column;

    if (event->state != RPS_EVENT_MEASURED)
        return;
    column = add_column(columns, event->label, counts_things ? "" : event->unit);
    column->set = set;
    column->slot = slot;
    measure_column(report, columns, column);
}

static void add_family(struct rps_report *report, struct columns *columns, const char *family)
{
    rps_report_each(report, family, add_event, columns);
    for (int m = 0; m < report->plan->metric_count; m++) {
        struct column *column;

        if (strcmp(report->plan->metric[m].family, family) != 0)
            continue;
        column = add_column(columns, report->plan->metric[m].label, report->plan->metric[m].unit);
        column->set = -1;
        column->metric = m;
        measure_column(report, columns, column);
    }
}

static void add_all(struct rps_report *report, struct columns *columns)
{
    const struct rps_plan *plan = report->plan;
    struct column *clock =
        add_column(columns, rps_report_clock_label(report), rps_report_clock_unit(report));

    clock->set = -2;
    measure_column(report, columns, clock);
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

static void print_cell(struct rps_report *report, const char *text, int width)
{
    fprintf(report->out, "  %*s%s", width - text_width(text), "", text);
}

/* The columns from `first` on that fit into a line; at least one. */
static int columns_across(const struct columns *columns, int first)
{
    int width = 8, count = 0;

    while (first + count < columns->count) {
        width += 2 + columns->column[first + count].width;
        if (width > RPS_REPORT_TEXT_WIDTH && count > 0)
            break;
        count++;
    }
    return count;
}

/* Is there anything in that line of the headings? */
static int heading_used(const struct columns *columns, int first, int count, int line)
{
    for (int c = first; c < first + count; c++) {
        if (columns->column[c].heading[line][0])
            return 1;
    }
    return 0;
}

/* Headings stand on the line above the figures, however many lines they have. */
static const char *heading_line(const struct column *column, int line, int lines)
{
    int used = 0;

    while (used < CPUS_LINES && column->heading[used][0])
        used++;
    line -= lines - used;
    return line >= 0 ? column->heading[line] : "";
}

static void print_table(struct rps_report *report, struct columns *columns, int first, int count)
{
    char text[RPS_REPORT_NUMBER_SIZE];
    int lines = 0;

    while (lines < CPUS_LINES && heading_used(columns, first, count, lines))
        lines++;
    fputc('\n', report->out);
    for (int line = 0; line < lines; line++) {
        fprintf(report->out, "  %-6s", line + 1 == lines ? "CPU" : "");
        for (int c = first; c < first + count; c++)
            print_cell(report, heading_line(&columns->column[c], line, lines),
                       columns->column[c].width);
        fputc('\n', report->out);
    }
    for (int i = 0; i <= report->tracks.count; i++) {
        int sum = i == report->tracks.count;

        if (sum)
            fprintf(report->out, "  %-6s", "all");
        else
            fprintf(report->out, "  %-6d", (int)report->tracks.cpu[i]);
        for (int c = first; c < first + count; c++) {
            cell_text(report, columns, &columns->column[c],
                      sum ? &report->tally : &report->cpu_tally[i], text);
            print_cell(report, text, columns->column[c].width);
        }
        fputc('\n', report->out);
    }
}

int rps_report_print_cpus(struct rps_report *report, struct rps_error *err)
{
    const struct rps_plan *plan = report->plan;
    size_t room = 1 + (size_t)plan->set_count * RPS_SLOT_MAX + (size_t)plan->metric_count;
    struct columns columns = {0};
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
    for (int first = 0; first < columns.count;) {
        int count = columns_across(&columns, first);

        print_table(report, &columns, first, count);
        first += count;
    }
done:
    free(columns.operand);
    free(columns.column);
    return result;
}
