/* Print the report in the layout of 2013. The output has the same characters as in 2013, including
 * blanks, because users parse it. The report has a head, one block per family of events, and
 * remarks. Counts are "%'lld", estimates "  [%'lld]", derived metrics "%-7.3f" followed directly by
 * the unit. Software events are in a table, because they did not exist in 2013. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "parts.h"
#include "rpistat/period.h"
#include "rpistat/plan.h"
#include "rpistat/text.h"

#define LABEL_WIDTH 20 /* width of "Label:" */
#define TEXT_WIDTH  78

/* Print "  Label:    " with at least one blank after the colon. */
static void print_label(struct rps_report *report, const char *label)
{
    char printable[4 * RPS_NAME_SIZE];
    int length;

    rps_text_printable(printable, sizeof(printable), label);
    length = rps_text_width(printable) + 1;
    fprintf(report->out, "  %s:%*s", printable, length < LABEL_WIDTH ? LABEL_WIDTH - length : 1,
            "");
}

static void print_unit(struct rps_report *report, const char *unit)
{
    if (unit[0])
        fputc(' ', report->out);
    rps_text_print(report->out, unit);
}

static void print_head(struct rps_report *report)
{
    static const char stars[] = "***************************************************************\n";
    char command[4096], start[RPS_REPORT_NUMBER_SIZE];

    fprintf(report->out, "%srpistat: %s\n", stars,
            rps_run_title(command, sizeof(command), &report->run));
    if (rps_report_start(report, start)[0])
        fprintf(report->out, "%s\n", start);
    fputs(stars, report->out);
}

/* --- a family --------------------------------------------------------------------------------- */

static void print_event(struct rps_report *report, const struct rps_report_item *item)
{
    struct rps_report_value value = rps_report_value(report, item, &report->tally);
    char number[RPS_REPORT_NUMBER_SIZE];

    print_label(report, item->label);
    fputs(value.is_counted ? rps_report_count(number, value.count) : "not counted", report->out);
    if (value.sure.certainty == RPS_CERTAINTY_HARDLY)
        fputs("  hardly counted", report->out);
    else if (value.is_counted)
        fprintf(report->out, "  [%s]", rps_report_count(number, value.estimate));
    fputc('\n', report->out);
}

/* Print a metric. The blank before a "%" is one of the seven characters of the number. */
static void print_metric(struct rps_report *report, const struct rps_report_item *item)
{
    const struct rps_interval *whole = &item->metric->whole;

    print_label(report, item->label);
    if (!isfinite(whole->value)) {
        fputs("not known", report->out);
    } else if (whole->certainty == RPS_CERTAINTY_HARDLY) {
        fputs("hardly counted", report->out);
    } else {
        fprintf(report->out, "%-*.3f", strcmp(item->unit, "%") == 0 ? 6 : 7, whole->value);
        print_unit(report, item->unit);
    }
    fputc('\n', report->out);
}

static void print_clock(struct rps_report *report)
{
    struct rps_report_value value = rps_report_value(report, &report->item[0], &report->tally);
    char number[RPS_REPORT_NUMBER_SIZE];

    fputc('\n', report->out);
    print_label(report, report->item[0].label);
    fputs(rps_report_count(number, value.count), report->out);
    if (rps_tally_clock_is_scaled(&report->tally))
        fprintf(report->out, "  [%s]",
                value.has_estimate ? rps_report_count(number, value.estimate) : "not known");
    print_unit(report, report->item[0].unit);
    fputc('\n', report->out);
}

/* --- software events: a table ----------------------------------------------------------------- */

enum { CELL_LABEL, CELL_COUNT, CELL_SCALED, CELL_SURE, CELL_PER_SECOND, CELL_PER_CLOCK, CELLS };

typedef char cell[RPS_REPORT_NUMBER_SIZE];

static void fill_head(const struct rps_report *report, cell *row, const char *family)
{
    char label[RPS_REPORT_LABEL_SIZE];

    rps_text_printable(row[CELL_LABEL], sizeof(cell), family[0] ? family : "Events");
    strcpy(row[CELL_COUNT], "Count");
    strcpy(row[CELL_SCALED], report->plan->set_count > 1 ? "Scaled" : "");
    strcpy(row[CELL_PER_SECOND], "Per second");
    rps_text_printable(row[CELL_PER_CLOCK], sizeof(cell), rps_report_per_clock(report, label));
}

static void fill_row(const struct rps_report *report, const struct rps_report_item *item, cell *row)
{
    struct rps_report_value value = rps_report_value(report, item, &report->tally);
    double estimate = rps_tally_estimate(&report->tally, item->set, item->slot);
    double seconds = report->operand[RPS_OPERAND_SECONDS];
    double units = rps_report_clock_units(report);
    char label[RPS_REPORT_LABEL_SIZE];

    rps_text_printable(row[CELL_LABEL], sizeof(cell), rps_report_label(item, label));
    strcpy(row[CELL_COUNT], "not counted");
    if (!value.is_counted)
        return;
    rps_report_count(row[CELL_COUNT], value.count);
    if (value.sure.certainty == RPS_CERTAINTY_HARDLY) {
        strcpy(row[CELL_SURE], "hardly counted");
        return;
    }
    if (report->plan->set_count > 1)
        rps_report_figure(row[CELL_SCALED], 0, floor(estimate));
    if (seconds > 0)
        rps_report_figure(row[CELL_PER_SECOND], 1, estimate / seconds);
    if (units > 0)
        rps_report_figure(row[CELL_PER_CLOCK], 3, estimate / units);
}

/* Print labels left-aligned and numbers right-aligned. Lines do not end with blanks. */
static void print_rows(struct rps_report *report, cell (*row)[CELLS], size_t count)
{
    int width[CELLS] = {0};

    for (size_t i = 0; i < count * CELLS; i++) {
        int needed = rps_text_width(row[i / CELLS][i % CELLS]);

        width[i % CELLS] = needed > width[i % CELLS] ? needed : width[i % CELLS];
    }
    for (size_t i = 0; i < count; i++) {
        int pending = width[0] - rps_text_width(row[i][0]);

        fprintf(report->out, "  %s", row[i][0]);
        for (int c = 1; c < CELLS; c++) {
            pending += width[c] > 0 ? 2 + width[c] - rps_text_width(row[i][c]) : 0;
            if (!row[i][c][0])
                continue;
            fprintf(report->out, "%*s%s", pending, "", row[i][c]);
            pending = 0;
        }
        fputc('\n', report->out);
    }
}

static void print_table(struct rps_report *report, size_t first, size_t end)
{
    cell(*row)[CELLS] = rps_arena_get(report->arena, end - first + 1, sizeof(*row));
    size_t count = 1;

    fill_head(report, row[0], report->item[first].family);
    for (size_t i = first; i < end && report->item[i].event; i++)
        fill_row(report, &report->item[i], row[count++]);
    print_rows(report, row, count);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static int is_software(const struct rps_report *report, size_t first, size_t end)
{
    int software = report->item[first].event != NULL;

    for (size_t i = first; i < end && report->item[i].event; i++)
        software &= report->item[i].event->type == RPS_EVENT_SOFTWARE ||
                    report->item[i].event->type == RPS_EVENT_TRACEPOINT;
    return software;
}

/* Print the number of periods in which the family was counted. If there is no other set, the family
 * was counted in all periods, and nothing is printed. */
static void print_family_periods(struct rps_report *report, size_t first, size_t end)
{
    uint64_t periods = rps_report_family_periods(report, first, end);
    const char *family = report->item[first].family;
    char label[RPS_NAME_SIZE + 16], number[RPS_REPORT_NUMBER_SIZE];

    if (periods == report->tally.periods)
        return;
    snprintf(label, sizeof(label), family[0] ? "%s periods" : "%sPeriods", family);
    print_label(report, label);
    fprintf(report->out, "%s\n", rps_report_count(number, periods));
}

static void print_words(const struct rps_report *report, const char *text, int indent, int hang)
{
    char printable[4 * RPS_EXPLAIN_SIZE];

    rps_text_printable(printable, sizeof(printable), text);
    rps_document_break(report->out, printable, TEXT_WIDTH, indent, hang);
}

static void print_explanations(struct rps_report *report, size_t first, size_t end)
{
    char text[RPS_REPORT_EXPLAIN_SIZE];

    if (report->options->explain)
        fputc('\n', report->out);
    for (size_t i = first; i < end; i++)
        print_words(report, rps_report_explain(report, &report->item[i], text), 4, 6);
}

static void print_family(struct rps_report *report, size_t first, size_t end)
{
    int software = is_software(report, first, end);
    size_t i = first;

    if (first > 1 || software)
        fputc('\n', report->out);
    if (software) {
        print_table(report, first, end);
        fputc('\n', report->out);
    }
    for (; i < end && report->item[i].event; i++) {
        if (!software)
            print_event(report, &report->item[i]);
    }
    if (i > first)
        print_family_periods(report, first, end);
    for (; i < end; i++)
        print_metric(report, &report->item[i]);
    print_explanations(report, first, end);
}

static void print_legend(struct rps_report *report)
{
    int brackets = rps_tally_clock_is_scaled(&report->tally), pti = 0;

    for (size_t first = 1, end; first < report->item_count; first = end) {
        end = rps_report_family_end(report, first);
        for (size_t i = first; i < end; i++) {
            const struct rps_event *event = report->item[i].event;

            pti |= strcmp(report->item[i].unit, "PTI") == 0 && !event;
            brackets |=
                event && event->state == RPS_EVENT_MEASURED && !is_software(report, first, end);
        }
    }
    if (brackets)
        fprintf(report->out, "  [ ... ] = scaled event count\n");
    if (pti)
        fprintf(report->out, "  PTI     = per thousand instructions\n");
}

static void print_remark(struct rps_report *report, const char *remark)
{
    if (!report->titled)
        fprintf(report->out, "\nRemarks\n");
    report->titled = 1;
    print_words(report, remark, 2, 4);
}

static void print_events(struct rps_report *report)
{
    char number[RPS_REPORT_NUMBER_SIZE];

    fputs("\nPerformance events\n", report->out);
    print_legend(report);
    print_label(report, "Total periods");
    fprintf(report->out, "%s\n", rps_report_count(number, report->tally.periods));
    print_clock(report);
    for (size_t first = 1, end; first < report->item_count; first = end) {
        end = rps_report_family_end(report, first);
        print_family(report, first, end);
    }
}

static void print_cpus(struct rps_report *report)
{
    struct rps_document document = {.width = TEXT_WIDTH, .arena = report->arena};

    if (!report->cpu_tally)
        return;
    rps_report_cpus(report, &document);
    fputc('\n', report->out);
    rps_document_write(&document, report->out, RPS_FORMAT_TEXT, 0);
}

int rps_report_print(struct rps_report *report, struct rps_error *err)
{
    print_head(report);
    rps_report_machine(report);
    rps_report_run(report);
    print_events(report);
    print_cpus(report);
    rps_report_remarks(report, print_remark);
    if (fflush(report->out) != 0 || ferror(report->out))
        return rps_error_set(
            err, RPS_FAILED,
            "cannot write the report: %s; free some space, or choose another file with -o",
            strerror(errno));
    return 0;
}
