/* The items of a report: the clock event, and for each family its events and the metrics derived
 * from them. Items are grouped by family and not by set. The recorder may have merged sets, because
 * several sets fit the counters together. The report must not depend on such merges. */
#include <math.h>
#include <string.h>

#include "parts.h"
#include "rpistat/plan.h"

#define WHOLE_MAX 0x1p53 /* a double represents all whole numbers up to this limit */

/* Return 1 if no earlier metric, and no event before (set, slot), has this family. */
static int is_new(const struct rps_plan *plan, const char *family, int set, int slot, int metric)
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

static void add_family(struct rps_report *report, const char *family)
{
    const struct rps_plan *plan = report->plan;

    for (int i = 0; i < plan->set_count; i++) {
        for (int s = 0; s < plan->set[i].event_count; s++) {
            const struct rps_event *event = &plan->set[i].event[s];

            if (strcmp(event->unit, RPS_UNIT_GAUGE) != 0 && strcmp(event->family, family) == 0 &&
                event->copy_of == 0)
                report->item[report->item_count++] = (struct rps_report_item){.event = event,
                                                                              .set = i,
                                                                              .slot = s,
                                                                              .label = event->label,
                                                                              .unit = event->unit,
                                                                              .family = family};
        }
    }
    for (int m = 0; m < plan->metric_count; m++) {
        const struct rps_metric *metric = &plan->metric[m];

        if (strcmp(metric->family, family) == 0)
            report->item[report->item_count++] = (struct rps_report_item){
                .metric = metric, .label = metric->label, .unit = metric->unit, .family = family};
    }
}

void rps_report_list(struct rps_report *report)
{
    const struct rps_plan *plan = report->plan;
    size_t room = 1 + (size_t)plan->set_count * RPS_SLOT_MAX + (size_t)plan->metric_count;

    report->item = rps_arena_get(report->arena, room, sizeof(*report->item));
    report->item[report->item_count++] =
        (struct rps_report_item){.event = &plan->clock,
                                 .set = -1,
                                 .label = rps_report_clock_label(report),
                                 .unit = rps_report_clock_unit(report),
                                 .family = ""};
    for (int i = 0; i < plan->set_count; i++) {
        for (int s = 0; s < plan->set[i].event_count; s++) {
            if (is_new(plan, plan->set[i].event[s].family, i, s, 0))
                add_family(report, plan->set[i].event[s].family);
        }
    }
    for (int m = 0; m < plan->metric_count; m++) {
        if (is_new(plan, plan->metric[m].family, plan->set_count, 0, m))
            add_family(report, plan->metric[m].family);
    }
}

struct rps_report_value rps_report_value(const struct rps_report *report,
                                         const struct rps_report_item *item,
                                         const struct rps_tally *tally)
{
    int is_whole = tally == &report->tally; /* the plan already has intervals for the whole run */
    struct rps_report_value value = {.sure = {.value = NAN}};

    if (item->metric) {
        value.sure =
            is_whole ? item->metric->whole
                     : rps_tally_formula_interval(tally, &item->metric->formula, report->operand);
        value.number = value.sure.value;
    } else if (item->set < 0) {
        value.is_counted = 1;
        value.count = tally->clock;
        value.has_estimate = rps_tally_clock_u64(tally, &value.estimate);
        value.sure = rps_tally_clock_interval(tally);
    } else if (item->event->state == RPS_EVENT_MEASURED &&
               rps_tally_estimate_u64(tally, item->set, item->slot, &value.estimate)) {
        value.is_counted = value.has_estimate = 1;
        value.count = tally->set[item->set].count[item->slot];
        value.sure =
            is_whole ? item->event->whole : rps_tally_interval(tally, item->set, item->slot);
        if (!report->plain && value.sure.value < WHOLE_MAX) /* truncated in the layout of 2013 */
            value.estimate = (uint64_t)round(value.sure.value);
        value.sure.low = floor(value.sure.low); /* the true value is at least the count */
        value.sure.high = ceil(value.sure.high);
    }
    if (!item->metric)
        value.number = value.has_estimate ? (double)value.estimate : NAN;
    if (value.sure.certainty == RPS_CERTAINTY_HARDLY)
        value.number = NAN;
    return value;
}

/* --- words ------------------------------------------------------------------------------------ */

char *rps_report_label(const struct rps_report_item *item, char ret[RPS_REPORT_LABEL_SIZE])
{
    int is_plain = item->metric || item->unit[0] == '\0' || strcmp(item->unit, "events") == 0 ||
                   strcmp(item->unit, "cycles") == 0;

    snprintf(ret, RPS_REPORT_LABEL_SIZE, is_plain ? "%s%s" : "%s (%s)", item->label,
             is_plain ? "" : item->unit);
    return ret;
}

/* Return 1 if the clock event is a time stamp counter: its ticks are CPU time, not cycles. */
static int is_by_cpu_time(const struct rps_report *report)
{
    return strcmp(report->plan->clock.spec, "msr/tsc/") == 0;
}

char *rps_report_per_clock(const struct rps_report *report, char ret[RPS_REPORT_LABEL_SIZE])
{
    const char *unit = rps_report_clock_unit(report);

    if (strcmp(unit, "ns") == 0 || is_by_cpu_time(report))
        strcpy(ret, rps_plan_knows_cpu_time(report->plan) ? "Per ms of CPU" : "Per ms");
    else
        snprintf(ret, RPS_REPORT_LABEL_SIZE, "Per million %s", unit[0] ? unit : "cycles");
    return ret;
}

double rps_report_clock_units(const struct rps_report *report)
{
    return is_by_cpu_time(report) ? report->operand[RPS_OPERAND_CPU_SECONDS] * 1e3
                                  : report->operand[RPS_OPERAND_CLOCK] / 1e6;
}

char *rps_report_explain(const struct rps_report *report, const struct rps_report_item *item,
                         char ret[RPS_REPORT_EXPLAIN_SIZE])
{
    const char *explain = item->metric ? item->metric->explain : item->event->explain;

    ret[0] = '\0';
    if (report->options->explain && explain[0])
        snprintf(ret, RPS_REPORT_EXPLAIN_SIZE, "%s%s: %s", item->label,
                 item->metric && strcmp(item->unit, "/s") == 0 ? " per second" : "", explain);
    return ret;
}

/* --- families --------------------------------------------------------------------------------- */

size_t rps_report_family_end(const struct rps_report *report, size_t first)
{
    size_t end = first + 1;

    while (end < report->item_count && first > 0 &&
           strcmp(report->item[end].family, report->item[first].family) == 0)
        end++;
    return end;
}

uint64_t rps_report_family_periods(const struct rps_report *report, size_t first, size_t end)
{
    uint64_t periods = 0;
    int last_set = -1;

    for (size_t i = first; i < end; i++) {
        const struct rps_report_item *item = &report->item[i];

        if (!item->event || item->event->state != RPS_EVENT_MEASURED || item->set == last_set)
            continue;
        last_set = item->set;
        periods += report->tally.set[last_set].periods;
    }
    return periods;
}
