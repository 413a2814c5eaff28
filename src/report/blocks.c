/*
 * The blocks of the report, one a family of events: counts, estimates, periods, derived figures.
 *
 * The format strings of 2013 are kept to the blank: counts "%'lld", estimates "  [%'lld]", derived
 * figures "%-7.3f" with the unit right behind. Families, not sets, make the blocks: a set may have
 * been merged with others to fit more counters, and the report must read the same.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/interval_text.h"
#include "rpistat/report_parts.h"
#include "rpistat/text.h"

static int is_software(const struct rps_event *event)
{
    return event->type == RPS_EVENT_SOFTWARE || event->type == RPS_EVENT_TRACEPOINT;
}

struct family_sum {
    uint64_t periods; /* of the sets that hold an event of the family */
    int last_set;
    int events, software;
};

static void sum_event(struct rps_report *report, const struct rps_event *event, int set, int slot,
                      void *context)
{
    struct family_sum *sum = context;

    (void)slot;
    sum->events++;
    sum->software += is_software(event);
    if (event->state == RPS_EVENT_MEASURED && set != sum->last_set) {
        sum->periods += report->tally.set[set].periods;
        sum->last_set = set;
    }
}

static struct family_sum sum_family(struct rps_report *report, const char *family)
{
    struct family_sum sum = {0, -1, 0, 0};

    rps_report_each(report, family, sum_event, &sum);
    return sum;
}

static void print_explain(struct rps_report *report, const char *label, const char *explain)
{
    char text[RPS_NAME_SIZE + RPS_EXPLAIN_SIZE + 4];

    if (!report->options->explain || !explain[0])
        return;
    snprintf(text, sizeof(text), "%s: %s", label, explain);
    rps_report_wrapped(report, text, 4);
}

static void explain_event(struct rps_report *report, const struct rps_event *event, int set,
                          int slot, void *context)
{
    (void)set;
    (void)slot;
    (void)context;
    print_explain(report, event->label, event->explain);
}

static void find_certainty(struct rps_report *report, const struct rps_event *event, int set,
                           int slot, void *context)
{
    enum rps_certainty *least = context;

    (void)report;
    (void)set;
    (void)slot;
    if (event->state == RPS_EVENT_MEASURED && event->whole.certainty > *least)
        *least = event->whole.certainty;
}

/* How sure the least sure event is; RPS_CERTAINTY_NONE when none was counted, or nothing is to be
 * said about it. */
static enum rps_certainty least_sure(struct rps_report *report)
{
    enum rps_certainty least = RPS_CERTAINTY_NONE;

    if (report->options->layout == RPS_REPORT_INTERVALS)
        rps_report_each(report, NULL, find_certainty, &least);
    return least;
}

/* What stands behind a raw count: its scaled estimate, how sure it is, or why there is none. */
static void print_estimate(struct rps_report *report, const struct rps_interval *interval,
                           uint64_t raw, uint64_t estimate)
{
    char scaled[RPS_REPORT_NUMBER_SIZE], text[RPS_INTERVAL_TEXT_SIZE], low[RPS_REPORT_NUMBER_SIZE],
        high[RPS_REPORT_NUMBER_SIZE];
    int plain = report->options->layout == RPS_REPORT_2013;

    rps_report_count(scaled, estimate);
    if (plain && interval->certainty != RPS_CERTAINTY_HARDLY)
        fprintf(report->out, "  [%s]", scaled);
    else if (interval->certainty == RPS_CERTAINTY_COUNTED && estimate != raw)
        fprintf(report->out, "  [%s]", scaled);
    else if (interval->certainty == RPS_CERTAINTY_ONCE)
        fprintf(report->out, "  [%s, %s]", scaled, rps_interval_words(text, interval));
    else if (interval->certainty == RPS_CERTAINTY_COUNTED)
        return;
    else if (interval->certainty != RPS_CERTAINTY_INTERVAL)
        fprintf(report->out, "  %s", rps_interval_words(text, interval));
    else if (rps_interval_is_narrow(interval))
        fprintf(report->out, "  [%s %s]", scaled, rps_interval_percent(text, interval));
    else
        fprintf(report->out, "  [%s, %s to %s]", scaled,
                rps_report_figure(low, 0, rps_interval_round(interval->low)),
                rps_report_figure(high, 0, rps_interval_round(interval->high)));
}

static void print_event(struct rps_report *report, const struct rps_event *event, int set, int slot,
                        void *context)
{
    char number[RPS_REPORT_NUMBER_SIZE];
    uint64_t raw, estimate;

    (void)context;
    rps_report_label(report, event->label, RPS_REPORT_LABEL_WIDTH);
    if (event->state == RPS_EVENT_MEASURED &&
        rps_tally_estimate_u64(&report->tally, set, slot, &estimate)) {
        raw = report->tally.set[set].count[slot];
        fputs(rps_report_count(number, raw), report->out);
        print_estimate(report, &event->whole, raw, estimate);
    } else {
        fputs("not counted", report->out);
    }
    fputc('\n', report->out);
}

static void print_family_periods(struct rps_report *report, const char *family, uint64_t periods)
{
    char label[RPS_NAME_SIZE + 16], number[RPS_REPORT_NUMBER_SIZE];

    snprintf(label, sizeof(label), family[0] ? "%s periods" : "%sPeriods", family);
    rps_report_label(report, label, RPS_REPORT_LABEL_WIDTH);
    fprintf(report->out, "%s\n", rps_report_count(number, periods));
}

/* The unit behind a figure, after one blank. */
static void print_unit(struct rps_report *report, const char *unit)
{
    if (unit[0])
        fputc(' ', report->out);
    rps_text_print(report->out, unit);
}

/* A figure with its interval, both in its unit. */
static void print_sure(struct rps_report *report, const struct rps_metric *metric)
{
    const struct rps_interval *whole = &metric->whole;
    int has_interval = whole->certainty == RPS_CERTAINTY_INTERVAL;
    int narrow = has_interval && rps_interval_is_narrow(whole);
    char text[RPS_INTERVAL_TEXT_SIZE];

    fprintf(report->out, "%.3f", whole->value);
    if (narrow)
        fprintf(report->out, " ± %.3f", rps_interval_half(whole));
    else if (has_interval)
        fprintf(report->out, ", %.3f to %.3f", whole->low, whole->high);
    print_unit(report, metric->unit);
    if (rps_interval_words(text, whole)[0])
        fprintf(report->out, ", %s", text);
}

static void print_metric(struct rps_report *report, const struct rps_metric *metric)
{
    rps_report_label(report, metric->label, RPS_REPORT_LABEL_WIDTH);
    if (!isfinite(metric->whole.value)) {
        fputs("not known", report->out);
    } else if (metric->whole.certainty == RPS_CERTAINTY_HARDLY) {
        fputs("hardly counted", report->out);
    } else if (report->options->layout == RPS_REPORT_INTERVALS) {
        print_sure(report, metric);
    } else {
        /* in the layout of 2013 the blank before a "%" is one of these seven characters */
        fprintf(report->out, "%-*.3f", strcmp(metric->unit, "%") == 0 ? 6 : 7, metric->whole.value);
        print_unit(report, metric->unit);
    }
    fputc('\n', report->out);
}

static void print_metrics(struct rps_report *report, const char *family)
{
    for (int i = 0; i < report->plan->metric_count; i++) {
        if (strcmp(report->plan->metric[i].family, family) == 0)
            print_metric(report, &report->plan->metric[i]);
    }
}

static void explain_family(struct rps_report *report, const char *family)
{
    if (!report->options->explain)
        return;
    fputc('\n', report->out);
    rps_report_each(report, family, explain_event, NULL);
    for (int i = 0; i < report->plan->metric_count; i++) {
        const struct rps_metric *metric = &report->plan->metric[i];

        if (strcmp(metric->family, family) == 0)
            print_explain(report, metric->label, metric->explain);
    }
}

/* --- software events: a table ----------------------------------------------------------------- */

#define TABLE_COLUMNS 6
#define TABLE_CELL    RPS_REPORT_NUMBER_SIZE

struct table {
    int rows, room;
    int width[TABLE_COLUMNS];
    char (*cell)[TABLE_COLUMNS][TABLE_CELL]; /* owned; `room` rows */
};

static void table_measure(struct table *table, int row)
{
    for (int c = 0; c < TABLE_COLUMNS; c++) {
        int width = rps_text_width(table->cell[row][c]);

        if (width > table->width[c])
            table->width[c] = width;
    }
}

static void table_head(struct rps_report *report, struct table *table, const char *family)
{
    char(*cell)[TABLE_CELL] = table->cell[table->rows++];
    const char *unit = rps_report_clock_unit(report);
    char per[RPS_NAME_SIZE + 16];

    rps_text_printable(cell[0], TABLE_CELL, family[0] ? family : "Events");
    snprintf(cell[1], TABLE_CELL, "Count");
    snprintf(cell[2], TABLE_CELL, report->plan->set_count > 1 ? "Scaled" : "%s", "");
    snprintf(cell[3], TABLE_CELL, "%s",
             least_sure(report) > RPS_CERTAINTY_COUNTED ? "95 % interval" : "");
    snprintf(cell[4], TABLE_CELL, "Per second");
    if (strcmp(unit, "ns") == 0)
        snprintf(per, sizeof(per), "Per ms of CPU");
    else
        snprintf(per, sizeof(per), "Per million %s", unit[0] ? unit : "cycles");
    rps_text_printable(cell[5], TABLE_CELL, per);
    table_measure(table, table->rows - 1);
}

/* How sure the scaled estimate beside it is. */
static void table_sure(struct rps_report *report, const struct rps_interval *interval, char *ret)
{
    char text[RPS_INTERVAL_TEXT_SIZE], low[RPS_REPORT_NUMBER_SIZE / 3],
        high[RPS_REPORT_NUMBER_SIZE / 3];

    rps_interval_words(text, interval);
    if (report->options->layout == RPS_REPORT_2013 && interval->certainty != RPS_CERTAINTY_HARDLY)
        return;
    if (interval->certainty == RPS_CERTAINTY_INTERVAL && rps_interval_is_narrow(interval)) {
        rps_interval_percent(text, interval);
    } else if (interval->certainty == RPS_CERTAINTY_INTERVAL) {
        rps_report_figure(low, 0, rps_interval_round(interval->low));
        rps_report_figure(high, 0, rps_interval_round(interval->high));
        snprintf(text, sizeof(text), "%s to %s", low, high);
    }
    snprintf(ret, TABLE_CELL, "%.*s", TABLE_CELL - 1, text);
}

static void table_event(struct rps_report *report, const struct rps_event *event, int set, int slot,
                        void *context)
{
    struct table *table = context;
    char(*cell)[TABLE_CELL] = table->cell[table->rows++];
    double estimate = rps_tally_estimate(&report->tally, set, slot);
    double seconds = report->operand[RPS_OPERAND_SECONDS];
    double millions = report->operand[RPS_OPERAND_CLOCK] / 1e6;
    int counts_things = event->unit[0] == '\0' || strcmp(event->unit, "events") == 0;
    char label[2 * RPS_NAME_SIZE + 8];

    snprintf(label, sizeof(label), counts_things ? "%s%s" : "%s (%s)", event->label,
             counts_things ? "" : event->unit);
    rps_text_printable(cell[0], TABLE_CELL, label);
    if (event->state != RPS_EVENT_MEASURED || isnan(estimate)) {
        snprintf(cell[1], TABLE_CELL, "not counted");
    } else {
        rps_report_count(cell[1], report->tally.set[set].count[slot]);
        table_sure(report, &event->whole, cell[3]);
        if (event->whole.certainty != RPS_CERTAINTY_HARDLY) {
            if (report->plan->set_count > 1)
                rps_report_figure(cell[2], 0, floor(estimate));
            if (seconds > 0)
                rps_report_figure(cell[4], 1, estimate / seconds);
            if (millions > 0)
                rps_report_figure(cell[5], 3, estimate / millions);
        }
    }
    table_measure(table, table->rows - 1);
}

static void table_print(struct rps_report *report, const struct table *table)
{
    for (int row = 0; row < table->rows; row++) {
        char(*cell)[TABLE_CELL] = table->cell[row];
        int pending = 0;

        fprintf(report->out, "  %s", cell[0]);
        pending = table->width[0] - rps_text_width(cell[0]);
        for (int c = 1; c < TABLE_COLUMNS; c++) {
            if (table->width[c] == 0)
                continue;
            pending += 2 + table->width[c] - rps_text_width(cell[c]);
            if (!cell[c][0])
                continue;
            fprintf(report->out, "%*s%s", pending, "", cell[c]);
            pending = 0;
        }
        fputc('\n', report->out);
    }
}

static int print_software(struct rps_report *report, const char *family, int events,
                          struct rps_error *err)
{
    struct table table = {0};

    table.room = events + 1;
    table.cell = calloc((size_t)table.room, sizeof(*table.cell));
    if (!table.cell)
        return rps_error_memory(err);
    table_head(report, &table, family);
    rps_report_each(report, family, table_event, &table);
    table_print(report, &table);
    free(table.cell);
    return 0;
}

/* --- all blocks ------------------------------------------------------------------------------- */

static void print_clock(struct rps_report *report)
{
    char number[RPS_REPORT_NUMBER_SIZE];
    uint64_t scaled;

    rps_report_label(report, rps_report_clock_label(report), RPS_REPORT_LABEL_WIDTH);
    fputs(rps_report_count(number, report->tally.clock), report->out);
    if (rps_tally_clock_is_scaled(&report->tally)) {
        if (rps_tally_clock_u64(&report->tally, &scaled))
            fprintf(report->out, "  [%s]", rps_report_count(number, scaled));
        else
            fputs("  [not known]", report->out);
    }
    if (rps_report_clock_unit(report)[0])
        fputc(' ', report->out);
    rps_text_print(report->out, rps_report_clock_unit(report));
    fputc('\n', report->out);
}

static int print_block(struct rps_report *report, const char *family, int first,
                       struct rps_error *err)
{
    struct family_sum sum = sum_family(report, family);
    int software = sum.events > 0 && sum.software == sum.events;

    if (!first || software)
        fputc('\n', report->out);
    if (software) {
        if (print_software(report, family, sum.events, err) < 0)
            return RPS_FAILED;
        fputc('\n', report->out);
    } else {
        rps_report_each(report, family, print_event, NULL);
    }
    if (sum.events > 0)
        print_family_periods(report, family, sum.periods);
    print_metrics(report, family);
    explain_family(report, family);
    return 0;
}

int rps_report_family_is_new(const struct rps_plan *plan, const char *family, int set, int slot,
                             int metric)
{
    for (int i = 0; i <= set && i < plan->set_count; i++) {
        int end = i < set ? plan->set[i].event_count : slot;

        for (int s = 0; s < end; s++) {
            if (strcmp(plan->set[i].event[s].family, family) == 0)
                return 0;
        }
    }
    for (int m = 0; m < metric; m++) {
        if (strcmp(plan->metric[m].family, family) == 0)
            return 0;
    }
    return 1;
}

static int print_blocks(struct rps_report *report, struct rps_error *err)
{
    const struct rps_plan *plan = report->plan;
    int first = 1;

    fputc('\n', report->out);
    print_clock(report);
    for (int i = 0; i < plan->set_count; i++) {
        for (int s = 0; s < plan->set[i].event_count; s++) {
            const char *family = plan->set[i].event[s].family;

            if (!rps_report_family_is_new(plan, family, i, s, 0))
                continue;
            if (print_block(report, family, first, err) < 0)
                return RPS_FAILED;
            first = 0;
        }
    }
    for (int m = 0; m < plan->metric_count; m++) {
        const char *family = plan->metric[m].family;

        if (!rps_report_family_is_new(plan, family, plan->set_count, 0, m))
            continue;
        if (print_block(report, family, first, err) < 0)
            return RPS_FAILED;
        first = 0;
    }
    return 0;
}

static const char *sure_legend(struct rps_report *report)
{
    enum rps_certainty least = least_sure(report);

    if (least == RPS_CERTAINTY_NONE || least == RPS_CERTAINTY_SCALED)
        return "";
    return least > RPS_CERTAINTY_COUNTED
               ? ", ± its 95 % interval; without brackets: counted all the time"
               : "; all events were counted all the time: no intervals";
}

/* Does the event's line have its estimate in brackets? Those of software have a table. */
static void find_brackets(struct rps_report *report, const struct rps_event *event, int set,
                          int slot, void *context)
{
    struct family_sum sum = sum_family(report, event->family);

    (void)set;
    (void)slot;
    *(int *)context |= event->state == RPS_EVENT_MEASURED && sum.software < sum.events;
}

/* What the symbols mean that the blocks use. */
static void print_legend(struct rps_report *report)
{
    const struct rps_plan *plan = report->plan;
    int brackets = rps_tally_clock_is_scaled(&report->tally), pti = 0;

    rps_report_each(report, NULL, find_brackets, &brackets);
    for (int m = 0; m < plan->metric_count; m++)
        pti |= strcmp(plan->metric[m].unit, "PTI") == 0;
    if (brackets)
        fprintf(report->out, "  [ ... ] = scaled event count%s\n", sure_legend(report));
    if (pti)
        fprintf(report->out, "  PTI     = per thousand instructions\n");
}

int rps_report_print_events(struct rps_report *report, struct rps_error *err)
{
    char number[RPS_REPORT_NUMBER_SIZE];

    fprintf(report->out, "\nPerformance events\n");
    print_legend(report);
    rps_report_label(report, "Total periods", RPS_REPORT_LABEL_WIDTH);
    fprintf(report->out, "%s\n", rps_report_count(number, report->tally.periods));
    return print_blocks(report, err);
}
