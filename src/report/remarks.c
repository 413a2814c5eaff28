/* The remarks of the report. A remark names what was not counted, not recorded, or counted only in
 * part. A report may have no remarks. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "parts.h"
#include "rpistat/clock.h"
#include "rpistat/document.h"
#include "rpistat/plan.h"
#include "rpistat/text.h"

/* There is a remark on a set that was counted for less than this share of its time. */
#define REMARK_COVERAGE  0.98
#define MISSED_THRESHOLD .01 /* maximum ratio of missed to counted periods without a remark */

__attribute__((format(printf, 2, 3))) static void remark(struct rps_report *report,
                                                         const char *format, ...)
{
    char text[2048];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    report->tell(report, text);
}

/* Return 1 if a single remark explains why nothing was counted. */
static int has_no_counts(const struct rps_report *report)
{
    return strstr(report->run.fitting, RPS_RUN_NO_COUNTS) != NULL;
}

double rps_report_cpu_s(const struct rps_report *report)
{
    const struct rps_run *run = &report->run;
    const double counted_s = report->operand[RPS_OPERAND_CPU_SECONDS];

    if (rps_report_is_part(report) || run->user_ns < 0 ||
        (!rps_run_lacks_counts(run) && !strstr(run->fitting, RPS_RUN_OTHER_TIME)))
        return counted_s;
    return fmax(counted_s, (double)(run->user_ns + run->system_ns) / RPS_NS_PER_S);
}

static const char *file_lacks(const struct rps_report *report)
{
    return strncmp(report->plan->name, "perf-", 5) == 0
               ? "no values are known for the rest, such as perf's \"<not counted>\""
               : "no values are known for the rest";
}

const char *rps_report_reason(const struct rps_report *report, const struct rps_event *event,
                              int set, int slot)
{
    const struct rps_tally *tally = &report->tally;

    if (event->state == RPS_EVENT_MEASURED &&
        (!isnan(rps_tally_estimate(tally, set, slot)) || has_no_counts(report)))
        return "";
    if (event->reason[0])
        return event->reason;
    if (event->state == RPS_EVENT_NOT_PERMITTED)
        return "this user is not permitted to count it";
    if (event->state == RPS_EVENT_UNSUPPORTED)
        return "this machine does not have it";
    if (rps_run_is_import(&report->run))
        return "the file has no value for it here";
    if (tally->set[set].periods == 0)
        return "the run ended before its event set was counted";
    if (tally->set[set].running_ns == 0)
        return "it was never on a counter while the workload ran";
    return "its counter could not be read";
}

struct name_list {
    char text[1024];
    int count;
    double share; /* largest share of the time that failed readings lost, among the listed events */
};

static void add_name(struct name_list *list, const char *name)
{
    size_t used = strlen(list->text);

    snprintf(list->text + used, sizeof(list->text) - used, "%s%s", list->count ? ", " : "", name);
    list->count++;
}

/* Return why an item of the report has no count, or "" if it has a count or is not an event. */
static const char *reason_of(const struct rps_report *report, size_t i)
{
    const struct rps_report_item *item = &report->item[i];

    return item->event ? rps_report_reason(report, item->event, item->set, item->slot) : "";
}

/* List all items with the same reason as item i, unless an earlier item has this reason. */
static void remark_not_counted(struct rps_report *report, size_t i)
{
    const char *reason = reason_of(report, i);
    struct name_list list = {"", 0, 0};
    size_t length = strlen(reason);

    if (length == 0)
        return;
    for (size_t j = 1; j < report->item_count; j++) {
        if (strcmp(reason_of(report, j), reason) != 0)
            continue;
        if (j < i)
            return;
        add_name(&list, report->item[j].label);
    }
    length -= reason[length - 1] == '.';
    remark(report, "Not counted: %s. Reason: %.*s.", list.text, (int)length, reason);
}

/* List the events that were counted only in user mode. The list may include the clock event. */
static void remark_user_only(struct rps_report *report)
{
    struct name_list list = {"", 0, 0};

    for (size_t i = 0; i < report->item_count; i++) {
        const struct rps_event *event = report->item[i].event;

        if (event && event->state == RPS_EVENT_MEASURED && strcmp(event->modifiers, "u") == 0 &&
            !strstr(event->spec, ":u")) /* the user did not request user mode */
            add_name(&list, event->label);
    }
    if (list.count > 0 && !has_no_counts(report))
        remark(report,
               "Counted in user mode only (:u): %s. To include the kernel, lower "
               "/proc/sys/kernel/perf_event_paranoid to 1, or give rpistat CAP_PERFMON.",
               list.text);
}

/* Remark on sets that were not counted for all of their time. Switching between sets uses a part of
 * the missing time. Other users of the PMU use the other part. */
static void remark_coverage(struct rps_report *report)
{
    const struct rps_tally *tally = &report->tally;
    double switching =
        tally->length_ns > 0 ? (double)tally->switch_ns / (double)tally->length_ns : 0;

    for (int i = 0; i < report->plan->set_count; i++) {
        double coverage = rps_tally_coverage(tally, i);
        const char *why;

        if (!(coverage < REMARK_COVERAGE) || tally->set[i].running_ns == 0)
            continue;
        if (rps_run_is_import(&report->run)) {
            remark(report,
                   "Set %s has values for %.1f %% of its time: %s. Estimates of its counts are "
                   "scaled up.",
                   report->plan->set[i].name, 100 * coverage, file_lacks(report));
            continue;
        }
        why = 1 - coverage <= switching + (1 - REMARK_COVERAGE)
                  ? "switching event sets took the rest; a longer --period reduces that share"
                  : "another program or the NMI watchdog had the PMU for the rest";
        remark(report,
               "Set %s was on counters for %.1f %% of its time: %s. Its estimates are scaled up.",
               report->plan->set[i].name, 100 * coverage, why);
    }
}

/* Remark on failed readings. Neither the counts nor the counted time include a failed reading. */
static void remark_not_read(struct rps_report *report)
{
    struct name_list list = {"", 0, 0};

    for (size_t i = 1; i < report->item_count; i++) {
        const struct rps_report_item *item = &report->item[i];
        const struct rps_set_tally *tally = &report->tally.set[item->set];
        double share;

        if (!item->event || item->event->state != RPS_EVENT_MEASURED ||
            tally->counted[item->slot] == 0 || tally->counted_ns[item->slot] >= tally->running_ns)
            continue;
        share = 1 - (double)tally->counted_ns[item->slot] / (double)tally->running_ns;
        list.share = share > list.share ? share : list.share;
        add_name(&list, item->label);
    }
    if (list.count > 0 && rps_run_is_import(&report->run))
        remark(report,
               "Events without values for up to %.3g %% of the time: %s (%s). The estimates leave "
               "this time out.",
               100 * list.share, list.text, file_lacks(report));
    else if (list.count > 0)
        remark(report,
               "Events that could not be read for up to %.3g %% of the time on a counter: %s. The "
               "estimates leave this time out.",
               100 * list.share, list.text);
}

/* Name the events that may have changed while they were not counted. Other events' rates changed
 * greatly before the first or after the last counted period of these events. */
static void remark_edge(struct rps_report *report, enum rps_certainty certainty, const char *side,
                        const char *when)
{
    struct name_list list = {"", 0, 0};
    int is_finer = certainty == RPS_CERTAINTY_START && report->options->from_ns <= 0 &&
                   !rps_report_has_fine_start(report);

    for (size_t i = 0; i < report->item_count && !report->plain; i++) {
        const struct rps_report_item *item = &report->item[i];

        if (rps_report_value(report, item, &report->tally).sure.certainty == certainty)
            add_name(&list, item->label);
    }
    if (list.count > 0)
        remark(report,
               "Not counted at the %s: %s. %s, the rates of other events were unusual. The "
               "intervals in "
               "JSON and CSV allow for that.%s",
               side, list.text, when,
               is_finer ? " To count more of the start, record with --fine-start." : "");
}

/* Remark on a clock event without a counter at times: values that use the clock are estimates. */
static void remark_clock(struct rps_report *report)
{
    const struct rps_tally *tally = &report->tally;
    const char *label = rps_report_clock_label(report);
    char share[RPS_INTERVAL_TEXT_SIZE];

    if (!rps_tally_clock_is_scaled(tally))
        return;
    if (rps_run_is_import(&report->run))
        remark(
            report,
            "%s has values for %s of the time: %s. %s and all metrics derived from it are scaled "
            "up.",
            label, rps_interval_share(share, rps_tally_clock_interval(tally).share),
            file_lacks(report), report->plain ? "[ ... ]" : "Its value");
    else if (tally->clock_running_ns == 0)
        remark(report,
               "%s never had a counter: another program or the NMI watchdog held it. All metrics "
               "derived from it are unknown.",
               label);
    else
        remark(
            report,
            "%s had a counter for %s of the time; another program or the NMI watchdog held it for "
            "the rest. %s and all metrics derived from it are scaled up.",
            label, rps_interval_share(share, rps_tally_clock_interval(tally).share),
            report->plain ? "[ ... ]" : "Its value");
}

/* Remark on a set that was counted for only a small part of the run. Its counts may not be typical
 * of the whole run. */
static void remark_hardly(struct rps_report *report)
{
    const struct rps_tally *tally = &report->tally;

    for (int i = 0; i < report->plan->set_count; i++) {
        if (tally->set[i].running_ns == 0 || !rps_tally_hardly(tally, i))
            continue;
        if (rps_run_is_import(&report->run))
            remark(report, "Set %s has values for %.2g %% of the time: too little for an estimate.",
                   report->plan->set[i].name, 100 * rps_tally_counted(tally, i));
        else
            remark(report,
                   "Set %s was on counters for %.2g %% of the time in which the workload ran: too "
                   "little for an estimate. Record longer, with a shorter --period, or with fewer "
                   "sets.",
                   report->plan->set[i].name, 100 * rps_tally_counted(tally, i));
    }
}

/* If the slowdown of the workload by counting was measured, report it. */
static void remark_cost(struct rps_report *report, const struct rps_report_item *item)
{
    const struct rps_tally *tally = &report->tally;
    double cost_ns =
        (double)item->event->cost_ns * rps_tally_estimate(tally, item->set, item->slot);

    if (item->event->cost_ns <= 0 || !(cost_ns > 0) || tally->enabled_ns == 0)
        return;
    remark(report,
           "Counting cost: %s took about %lld ns longer each (measured when the recording began), "
           "in total about %.1f %% of %s.",
           item->label, (long long)item->event->cost_ns, 100 * cost_ns / (double)tally->enabled_ns,
           report->cpu_series.by_cpu ? "the CPUs' time" : "the workload's CPU time");
}

static void remark_gaps(struct rps_report *report)
{
    int64_t from_ns = report->options->from_ns, to_ns = report->options->to_ns;

    for (size_t i = 0; i < report->gaps.count; i++) {
        const struct rps_note *gap = &report->gaps.note[i];
        char start[RPS_TEXT_NUMBER_SIZE], length[RPS_TEXT_NUMBER_SIZE];

        if (gap->start_ns >= to_ns || gap->start_ns + gap->length_ns <= from_ns)
            continue;
        remark(report, "Not recorded: %s from %s on (%s).",
               rps_text_duration(length, sizeof(length), gap->length_ns),
               rps_text_clock(start, sizeof(start), gap->start_ns, 3), gap->text ? gap->text : "");
    }
}

static void remark_stretched(struct rps_report *report)
{
    const struct rps_tally *tally = &report->tally;
    char length[RPS_TEXT_NUMBER_SIZE];
    int alone = report->plan->set_count == 1;

    if (rps_report_stretched_ns(report) > 0)
        remark(
            report,
            "%s took %s per period (mean). Therefore, rpistat made the measurement periods longer: "
            "this takes at most %s of the time.",
            alone ? "Reading the counters" : "Switching event sets",
            rps_text_duration(length, sizeof(length), tally->switch_ns / (int64_t)tally->periods),
            alone ? "a quarter" : "1 %");
}

static void remark_downsampled(struct rps_report *report)
{
    char until[RPS_TEXT_NUMBER_SIZE];

    if (report->thinned_ns >= 0)
        remark(report,
               "Periods before %s are downsampled: only sums over many periods remain. The totals "
               "are exact.",
               rps_text_clock(until, sizeof(until), report->thinned_ns, 0));
}

static void remark_samples(struct rps_report *report)
{
    char text[320];

    if (report->shares.group_count > 0 &&
        rps_samples_short_text(text, sizeof(text), &report->shares.sampling,
                               report->shares.sample_count, report->cpu_s,
                               !rps_report_is_part(report))[0])
        remark(report, "%s", text);
}

static void remark_fitting(struct rps_report *report)
{
    const char *line = report->run.fitting;

    while (*line) {
        size_t length = strcspn(line, "\n");

        if (length > 0)
            remark(report, "%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

void rps_report_remarks(struct rps_report *report, rps_report_remark *tell)
{
    const struct rps_tally *tally = &report->tally;
    char number[RPS_REPORT_NUMBER_SIZE];

    report->tell = tell;
    for (size_t i = 1; i < report->item_count; i++)
        remark_not_counted(report, i);
    remark_user_only(report);
    if (!rps_run_lacks_counts(&report->run)) { /* remark_fitting prints why counts are missing */
        remark_clock(report);
        remark_coverage(report);
        remark_hardly(report);
    }
    remark_not_read(report);
    remark_edge(report, RPS_CERTAINTY_START, "start",
                "Before they were counted for the first time");
    remark_edge(report, RPS_CERTAINTY_END, "end", "After they were counted for the last time");
    for (size_t i = 1; i < report->item_count; i++)
        if (report->item[i].event)
            remark_cost(report, &report->item[i]);
    remark_gaps(report);
    if ((double)tally->missed > MISSED_THRESHOLD * (double)tally->periods)
        remark(report,
               "rpistat woke up late (other programs may have used the CPUs): %s period%s "
               "became part of longer ones.",
               rps_report_count(number, tally->missed), tally->missed == 1 ? "" : "s");
    remark_stretched(report);
    remark_downsampled(report);
    /* Report that the run has too many periods to read each one, so that blocks are used. See
     * choose_resolution in report.c. */
    if (!report->plain && report->plan->set_count > 1 && !report->options->region &&
        report->cpu_series.periods > RPS_CPU_SERIES_FINE_PERIODS)
        remark(report, "The run has too many periods to read each. The intervals come from blocks "
                       "of rotations, and may be too wide.");
    remark_samples(report);
    if (report->options->region)
        remark(
            report,
            "The values cover the measurement periods that lie completely inside region %s. They "
            "count the whole workload in these periods, with other threads and nested regions.",
            report->options->region);
    remark_fitting(report);
}
