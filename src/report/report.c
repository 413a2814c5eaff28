/*
 * The report: as text, it has the layout and labels of 2013, which people parse, around what is
 * known today. This file reads the run and prints what stands above the blocks.
 *
 * Everything is read from the store before anything is printed, so that the reader's locale is in
 * force around the printing only.
 */
#include "rpistat/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rpistat/report_parts.h"
#include "rpistat/clock.h"
#include "rpistat/text.h"

/* --- the head --------------------------------------------------------------------------------- */

static void print_head(struct rps_report *report)
{
    static const char stars[] = "***************************************************************\n";
    time_t start = (time_t)(report->run.start_realtime_ns / RPS_NS_PER_S);
    char command[4096], date[64];
    struct tm local;

    rps_run_title(command, sizeof(command), &report->run);
    fputs(stars, report->out);
    fprintf(report->out, "rpistat: %s\n", command);
    if (localtime_r(&start, &local) &&
        strftime(date, sizeof(date), "%a %b %e %H:%M:%S %Y", &local) > 0)
        fprintf(report->out, "%s\n", date);
    fputs(stars, report->out);
}

static void print_system(struct rps_report *report)
{
    const struct rps_run *run = &report->run;
    char text[RPS_RUN_TEXT_SIZE + RPS_NAME_SIZE];

    fprintf(report->out, "\nSystem information\n");
    if (run->cpu_count > 0)
        fprintf(report->out, "  %-*s%d\n", RPS_REPORT_SYSTEM_WIDTH,
                "Number of processors:", run->cpu_count);
    rps_report_field(report, "Processor", run->cpu_model);
    rps_report_field(report, "Host", run->host);
    rps_report_field(report, "Kernel", run->kernel);
    if (run->counter_count > 0)
        snprintf(text, sizeof(text), "%s, %d counter%s beside the clock event", run->pmu,
                 run->counter_count, run->counter_count == 1 ? "" : "s");
    else
        snprintf(text, sizeof(text), "%s", run->pmu);
    rps_report_field(report, "Counters", text);
    if (strcmp(rps_report_clock_label(report), "Cycles") != 0) {
        snprintf(text, sizeof(text), "%s (%s)", rps_report_clock_label(report),
                 rps_report_clock_unit(report)[0] ? rps_report_clock_unit(report) : "cycles");
        rps_report_field(report, "Clock event", text);
    }
}

static void print_state(struct rps_report *report)
{
    const struct rps_run *run = &report->run;

    if (run->state == RPS_RUN_RECORDING)
        rps_report_field(report, "State", "recording: the figures are those so far");
    else if (run->state == RPS_RUN_INTERRUPTED)
        rps_report_field(report, "State",
                         "interrupted: the recorder was stopped; the periods it kept are good");
    rps_report_field(report, "Recording ended", run->end_reason);
    if (run->exit_signal > 0)
        fprintf(report->out, "  %-*s%d (%s)\n", RPS_REPORT_SYSTEM_WIDTH,
                "Ended by signal:", run->exit_signal, strsignal(run->exit_signal));
    else if (run->exit_status >= 0)
        fprintf(report->out, "  %-*s%d\n", RPS_REPORT_SYSTEM_WIDTH,
                "Exit status:", run->exit_status);
}

static void print_own_cost(struct rps_report *report)
{
    const struct rps_run *run = &report->run;
    double percent = 100.0 * (double)run->recorder_cpu_ns / (double)run->elapsed_ns;
    int64_t after_ns = run->recorder_after_ns;

    if (report->options->after_ns)
        after_ns = *report->options->after_ns =
            rps_clock_process_cpu_ns() - *report->options->after_ns;
    if (run->recorder_cpu_ns <= 0)
        return;
    fprintf(report->out, "  %-*s%.3f s while recording", RPS_REPORT_SYSTEM_WIDTH,
            "Recorder's CPU time:", (double)run->recorder_cpu_ns / RPS_NS_PER_S);
    if (run->elapsed_ns > 0)
        fprintf(report->out, percent < 10 ? " (%.2g %% of it)" : " (%.0f %% of it)", percent);
    if (after_ns >= 0)
        fprintf(report->out, ", %.3f s afterwards (names, report)",
                (double)after_ns / RPS_NS_PER_S);
    fputc('\n', report->out);
}

static void print_part(struct rps_report *report)
{
    char from[RPS_TEXT_NUMBER_SIZE], to[RPS_TEXT_NUMBER_SIZE];

    if (report->options->from_ns <= 0 && report->options->to_ns == INT64_MAX)
        return;
    rps_text_clock(from, sizeof(from), report->tally.start_ns, 3);
    rps_text_clock(to, sizeof(to), report->tally.end_ns, 3);
    fprintf(report->out, "  %-*s%s to %s%s\n", RPS_REPORT_SYSTEM_WIDTH, "Part reported:", from, to,
            report->cpu_series.widened ? ", widened to what was not thinned away" : "");
}

static void print_region(struct rps_report *report)
{
    const struct rps_run_region *region = report->regions.region; /* the only one */
    char entered[RPS_REPORT_NUMBER_SIZE], time[RPS_TEXT_NUMBER_SIZE], inside[RPS_TEXT_NUMBER_SIZE],
        text[RPS_NAME_SIZE + 256];

    if (!report->options->region)
        return;
    snprintf(text, sizeof(text), "%s, entered %s time%s, %s in it, of which %s in whole periods",
             region->name, rps_report_count(entered, region->entered),
             region->entered == 1 ? "" : "s",
             rps_text_duration(time, sizeof(time), region->time_ns),
             rps_text_duration(inside, sizeof(inside), report->tally.length_ns));
    rps_report_field(report, "Region reported", text);
}

static void print_cpus(struct rps_report *report)
{
    char name[RPS_CPU_SERIES_TEXT_SIZE], text[RPS_CPU_SERIES_TEXT_SIZE + 16];

    rps_cpu_series_name(name, &report->cpu_series);
    snprintf(text, sizeof(text), "%s%s", name, report->cpu_series.count > 1 ? ", added up" : "");
    rps_report_field(report, "Recorded by CPU", text);
}

static void print_period(struct rps_report *report)
{
    char nominal[RPS_TEXT_NUMBER_SIZE], mean[RPS_TEXT_NUMBER_SIZE];
    int64_t stretched_ns = rps_report_stretched_ns(report);

    if (report->run.period_ns <= 0)
        return;
    rps_text_duration(nominal, sizeof(nominal), report->run.period_ns);
    fprintf(report->out, "  %-*s%s", RPS_REPORT_SYSTEM_WIDTH, "Measurement period:", nominal);
    if (stretched_ns > 0)
        fprintf(report->out, ", stretched to %s (mean)",
                rps_text_duration(mean, sizeof(mean), stretched_ns));
    fputc('\n', report->out);
}

static void print_order(struct rps_report *report)
{
    if (report->run.order_seed >= 0)
        fprintf(report->out, "  %-*srandom, another one each rotation (seed %lld)\n",
                RPS_REPORT_SYSTEM_WIDTH, "Order of event sets:", (long long)report->run.order_seed);
}

static void print_run(struct rps_report *report)
{
    const struct rps_run *run = &report->run;
    char text[RPS_TEXT_NUMBER_SIZE];

    fprintf(report->out, "\nRun\n");
    fprintf(report->out, "  %-*s%lld\n", RPS_REPORT_SYSTEM_WIDTH,
            "Number:", (long long)run->run_id);
    rps_report_field(report, "Label", run->label);
    for (int i = 0; i < run->tag_count; i++) {
        rps_report_label(report, i == 0 ? "Tags" : "    ", RPS_REPORT_SYSTEM_WIDTH);
        rps_text_print(report->out, run->tag[i].key);
        fputs(" = ", report->out);
        rps_text_print(report->out, run->tag[i].value);
        fputc('\n', report->out);
    }
    if (run->elapsed_ns >= 0)
        rps_report_field(report, "Elapsed time",
                         rps_text_duration(text, sizeof(text), run->elapsed_ns));
    print_part(report);
    print_region(report);
    print_cpus(report);
    print_period(report);
    print_order(report);
    print_state(report);
    print_own_cost(report);
}

static void print_remark(struct rps_report *report, const char *remark)
{
    if (!report->titled)
        fprintf(report->out, "\nRemarks\n");
    report->titled = 1;
    rps_report_wrapped(report, remark, 2);
}

/* --- putting it together ---------------------------------------------------------------------- */

/* The tallies of the single CPUs, where they are to be shown. */
static int read_cpus(struct rps_report *report, struct rps_error *err)
{
    struct rps_walk walk = {.series = &report->cpu_series, .way = RPS_CPUS_EACH};
    int result = 0;

    if (report->options->cpus.way != RPS_CPUS_EACH || !report->cpu_series.by_cpu)
        return 0;
    report->cpu_tally = calloc((size_t)report->cpu_series.count + 1, sizeof(*report->cpu_tally));
    if (!report->cpu_tally)
        return rps_error_memory(err);
    for (int i = 0; i < report->cpu_series.count; i++) {
        if (rps_tally_init(&report->cpu_tally[i], report->plan, err) < 0)
            return RPS_FAILED;
    }
    while (rps_walk_next(&walk, &result, err))
        rps_tally_add(&report->cpu_tally[walk.track], walk.period);
    return result;
}

/* Beginning to read a span takes as long as so many periods. */
#define SPAN_PERIODS 1000

/* The regions of the numbers first ... end - 1. */
static int walk_regions(struct rps_report *report, const struct rps_cpu_series *series,
                        size_t first, size_t end, struct rps_error *err)
{
    struct rps_walk walk = {.series = series, .way = RPS_CPUS_SUM};
    int result = 0;

    while (rps_walk_next(&walk, &result, err)) {
        for (size_t i = first; i < end; i++) {
            if (rps_spans_hold(&report->regions.region[i].spans, walk.period->start_ns,
                               rps_period_end_ns(walk.period)))
                rps_tally_add(&report->region_tally[i], walk.period);
        }
    }
    return result;
}

/* A long span is read in blocks where the run has too many periods, as the report is, and at its
 * ends period by period. */
static int read_span(struct rps_report *report, size_t number, const struct rps_span *span,
                     struct rps_error *err)
{
    struct rps_cpu_series part = report->cpu_series;

    part.from_ns = span->start_ns > part.from_ns ? span->start_ns : part.from_ns;
    part.to_ns = span->end_ns < part.to_ns ? span->end_ns : part.to_ns;
    rps_cpu_series_choose_signals(&part, 1);
    return part.from_ns < part.to_ns ? walk_regions(report, &part, number, number + 1, err) : 0;
}

/* Span by span, or all periods once, whichever is less. */
static int read_insides(struct rps_report *report, struct rps_error *err)
{
    struct rps_cpu_series whole = report->cpu_series;
    uint64_t spans = 0;
    int result = 0;

    for (size_t i = 0; i < report->regions.count; i++)
        spans += report->regions.region[i].spans.count;
    whole.resolution = 0;
    if (spans > whole.periods / SPAN_PERIODS)
        return walk_regions(report, &whole, 0, report->regions.count, err);
    for (size_t i = 0; i < report->regions.count; i++) {
        const struct rps_run_region *region = &report->regions.region[i];

        for (size_t k = 0; result == 0 && k < region->spans.count; k++)
            result = read_span(report, i, &region->spans.span[k], err);
    }
    return result;
}

static int read_regions(struct rps_report *report, struct rps_error *err)
{
    if (report->options->layout == RPS_REPORT_2013)
        return 0;
    report->region_tally = calloc(report->regions.count + 1, sizeof(*report->region_tally));
    if (!report->region_tally)
        return rps_error_memory(err);
    for (size_t i = 0; i < report->regions.count; i++) {
        if (rps_tally_init(&report->region_tally[i], report->plan, err) < 0)
            return RPS_FAILED;
    }
    return read_insides(report, err);
}

/* Has the run's end left the intervals in the store? */
static int is_concluded(const struct rps_report *report)
{
    return report->options->from_ns <= 0 && report->options->to_ns == INT64_MAX &&
           !report->options->region && report->options->cpus.count == 0 &&
           report->options->cpus.way != RPS_CPUS_EACH &&
           report->plan->clock.whole.certainty != RPS_CERTAINTY_NONE;
}

static int is_same(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-9 * fabs(b);
}

/* What was left there belongs to other rows when somebody has changed or taken away some since. */
static int is_of_these_rows(const struct rps_report *report)
{
    const struct rps_plan *plan = report->plan;

    for (int n = 0; n < plan->set_count; n++) {
        for (int s = 0; s < plan->set[n].event_count; s++) {
            if (!is_same(rps_tally_estimate(&report->tally, n, s),
                         plan->set[n].event[s].whole.value))
                return 0;
        }
    }
    for (int m = 0; m < plan->metric_count; m++) {
        double value = rps_formula_value(&plan->metric[m].formula, report->operand);

        if (!is_same(isfinite(value) ? value : NAN, plan->metric[m].whole.value))
            return 0;
    }
    return 1;
}

/* Sums are the same at every level; intervals come from the differences of single periods. */
static void choose_resolution(struct rps_report *report)
{
    if ((report->options->layout == RPS_REPORT_2013 && !report->options->region) ||
        is_concluded(report))
        report->cpu_series.resolution = RPS_LEVELS;
    else
        rps_cpu_series_choose_signals(&report->cpu_series, 1);
}

static int read_sums(struct rps_report *report, struct rps_error *err)
{
    struct rps_walk walk = {.series = &report->cpu_series, .way = RPS_CPUS_SUM};
    int result = 0;

    rps_tally_reset(&report->tally);
    while (rps_walk_next(&walk, &result, err))
        rps_tally_add(&report->tally, walk.period);
    rps_tally_operands(&report->tally, report->plan, report->operand);
    return result;
}

/* The part of the run that is one region. */
static int keep_region(struct rps_report *report, struct rps_error *err)
{
    if (!report->options->region)
        return 0;
    if (rps_run_regions_choose(&report->regions, report->run.run_id, report->options->region, err) <
        0)
        return RPS_FAILED;
    return rps_run_region_keep(&report->cpu_series, &report->regions.region[0], err);
}

static int report_read(struct rps_report *report, struct rps_reader *reader, int64_t run_id,
                       struct rps_error *err)
{
    if (rps_reader_run(reader, run_id, &report->run, err) < 0 ||
        rps_reader_plan(reader, run_id, &report->plan, err) < 0 ||
        rps_reader_gaps(reader, run_id, &report->gaps, err) < 0 ||
        rps_reader_marks(reader, run_id, &report->marks, err) < 0 ||
        rps_reader_summary(reader, run_id, &report->summary, err) < 0 ||
        rps_run_regions_find(&report->marks, report->options->from_ns, report->options->to_ns,
                             &report->regions, err) < 0 ||
        rps_tally_init(&report->tally, report->plan, err) < 0 ||
        rps_cpu_series_open(&report->cpu_series, reader, run_id, report->options->from_ns,
                            report->options->to_ns, &report->options->cpus, err) < 0 ||
        keep_region(report, err) < 0 ||
        rps_reader_thinned(reader, run_id, &report->thinned_ns, err) < 0)
        return RPS_FAILED;
    report->operand =
        calloc((size_t)rps_plan_operand_count(report->plan), sizeof(*report->operand));
    if (!report->operand)
        return rps_error_memory(err);
    choose_resolution(report);
    if (read_sums(report, err) < 0 || read_cpus(report, err) < 0)
        return RPS_FAILED;
    if (is_concluded(report) && is_of_these_rows(report))
        return 0;
    if (is_concluded(report)) {
        report->plan->clock.whole.certainty = RPS_CERTAINTY_NONE;
        choose_resolution(report);
        if (read_sums(report, err) < 0)
            return RPS_FAILED;
    }
    rps_tally_conclude(&report->tally, report->plan, report->operand);
    return 0;
}

static int report_print(struct rps_report *report, struct rps_error *err)
{
    print_head(report);
    print_system(report);
    print_run(report);
    if (rps_report_print_events(report, err) < 0 || rps_report_print_cpus(report, err) < 0 ||
        rps_report_print_regions(report, err) < 0)
        return RPS_FAILED;
    rps_report_print_shares(report);
    rps_report_print_marks(report);
    rps_report_remarks(report, print_remark);
    return 0;
}

static int report_write(struct rps_report *report, struct rps_error *err)
{
    int is_text = report->options->layout <= RPS_REPORT_INTERVALS;

    if ((is_text ? report_print(report, err) : rps_report_write_data(report, err)) < 0)
        return RPS_FAILED;
    if (fflush(report->out) != 0 || ferror(report->out))
        return rps_error_set(
            err, RPS_FAILED,
            "the report could not be written: %s; make room, or choose another place with -o",
            strerror(errno));
    return 0;
}

static void report_free(struct rps_report *report)
{
    free(report->operand);
    rps_part_shares_free(&report->shares);
    for (size_t i = 0; report->region_tally && i < report->regions.count; i++)
        rps_tally_free(&report->region_tally[i]);
    free(report->region_tally);
    rps_run_regions_free(&report->regions);
    rps_notes_free(&report->marks);
    rps_notes_free(&report->gaps);
    for (int i = 0; report->cpu_tally && i < report->cpu_series.count; i++)
        rps_tally_free(&report->cpu_tally[i]);
    free(report->cpu_tally);
    rps_tally_free(&report->tally);
    rps_cpu_series_free(&report->cpu_series);
    rps_plan_free(report->plan);
    rps_run_free(&report->run);
}

int rps_report_write(FILE *out, struct rps_reader *reader, int64_t run_id,
                     const struct rps_report_options *options, struct rps_error *err)
{
    struct rps_report report = {.out = out, .options = options};
    locale_t c_locale = (locale_t)0, before;
    int result = RPS_FAILED;

    rps_run_init(&report.run);
    if (report_read(&report, reader, run_id, err) < 0 || read_regions(&report, err) < 0 ||
        rps_report_read_shares(&report, err) < 0)
        goto done;
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale) {
        rps_error_memory(err);
        goto done;
    }
    before = uselocale(options->locale && options->layout <= RPS_REPORT_INTERVALS ? options->locale
                                                                                  : c_locale);
    result = report_write(&report, err);
    uselocale(before);
done:
    if (c_locale)
        freelocale(c_locale);
    report_free(&report);
    return result;
}

int rps_report_conclude(struct rps_reader *reader, int64_t run_id, struct rps_plan **ret,
                        struct rps_error *err)
{
    const struct rps_report_options options = {.layout = RPS_REPORT_INTERVALS, .to_ns = INT64_MAX};
    struct rps_report report = {.options = &options};
    int result;

    rps_run_init(&report.run);
    result = report_read(&report, reader, run_id, err);
    if (result == 0) {
        *ret = report.plan;
        report.plan = NULL;
    }
    report_free(&report);
    return result;
}
