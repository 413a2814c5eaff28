/*
 * The fields of the report, for the machine and the run. In the layout of 2013 they are lines of
 * the stream, with control characters escaped; otherwise rows of the document.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rpistat/clock.h"
#include "parts.h"
#include "rpistat/plan.h"
#include "rpistat/text.h"
#include "rpistat/words.h"
#include "rpistat/wall.h"

#define FIELD_WIDTH  26    /* of "Label:" */
#define SAMPLE_NS    10000 /* that a sample takes, measured: 6.5 us; with 18 callers 10 us */
#define SAMPLES_TOLD 50    /* fewer took a negligible time */
#define SPLIT_S      .1    /* of CPU time: less the kernel splits by a few ticks */
#define WAITED_FOR   .9    /* share of the CPU time counted: less does not cover all processes */

char *rps_report_count(char *ret, uint64_t count)
{
    return rps_text_count(ret, RPS_REPORT_NUMBER_SIZE, count);
}

char *rps_report_figure(char *ret, int decimals, double figure)
{
    return rps_text_figure(ret, RPS_REPORT_NUMBER_SIZE, decimals, figure);
}

const char *rps_report_clock_label(const struct rps_report *report)
{
    return rps_words_clock_label(&report->run, report->plan);
}

const char *rps_report_clock_unit(const struct rps_report *report)
{
    const char *unit = report->plan->clock.unit;

    return strcmp(unit, "cycles") == 0 || strcmp(unit, "events") == 0 ? "" : unit;
}

/* A fine start adds at least this many periods per CPU; a gap adds one. */
#define FINE_EXTRA 8

/* Late periods are longer, but were not stretched. */
int64_t rps_report_stretched_ns(const struct rps_report *report)
{
    const struct rps_tally *tally = &report->tally;
    int64_t periods = (int64_t)(tally->periods + tally->missed);
    int64_t mean_ns = periods > 0 ? tally->length_ns / periods : 0;

    return report->run.period_ns > 0 && mean_ns > report->run.period_ns / 5 * 6 ? mean_ns : 0;
}

static void begin(struct rps_report *report, const char *title)
{
    static const struct rps_column columns[] = {{NULL, "", .width_min = FIELD_WIDTH - 2},
                                                {NULL, "", .place = 1}};

    if (!report->document) {
        fprintf(report->out, "\n%s\n", title);
        return;
    }
    report->fields = rps_document_block(report->document, NULL, columns, 2);
    report->fields->indent = 2;
    rps_block_title(report->fields, "%s", title);
}

static void field(struct rps_report *report, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Put a field, unless its text is "". */
static void field(struct rps_report *report, const char *label, const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    if (text && text[0] && report->document) {
        rps_put_texts(report->fields, 2, label, text);
    } else if (text && text[0]) {
        fprintf(report->out, "  %-*s", FIELD_WIDTH, label);
        rps_text_print(report->out, text);
        fputc('\n', report->out);
    }
    free(text);
}

/* --- the machine ------------------------------------------------------------------------------ */

void rps_report_machine(struct rps_report *report)
{
    const struct rps_run *run = &report->run;
    const char *clock = rps_report_clock_label(report), *unit = rps_report_clock_unit(report);

    begin(report, "System information");
    if (run->cpu_count > 0)
        field(report, "Number of processors:", "%d", run->cpu_count);
    field(report, "Processor:", "%s", run->cpu_model);
    field(report, "Host:", "%s", run->host);
    field(report, "Kernel:", "%s", run->kernel);
    if (run->counter_count > 0)
        field(report, "Counters:", "%s, %d counter%s beside the clock event", run->pmu,
              run->counter_count, run->counter_count == 1 ? "" : "s");
    else
        field(report, "Counters:", "%s", run->pmu);
    if (strcmp(clock, "Cycles") != 0)
        field(report, "Clock event:", "%s (%s)", clock, unit[0] ? unit : "cycles");
}

char *rps_report_start(const struct rps_report *report, char ret[RPS_REPORT_NUMBER_SIZE])
{
    time_t start = (time_t)(report->run.start_realtime_ns / RPS_NS_PER_S);
    struct tm local;

    if (!localtime_r(&start, &local) ||
        strftime(ret, RPS_REPORT_NUMBER_SIZE, "%a %b %e %H:%M:%S %Y", &local) == 0)
        ret[0] = '\0';
    return ret;
}

int rps_report_is_part(const struct rps_report *report)
{
    return report->options->from_ns > 0 || report->options->to_ns < INT64_MAX ||
           report->options->region;
}

/* --- the run ---------------------------------------------------------------------------------- */

static void put_state(struct rps_report *report)
{
    const struct rps_run *run = &report->run;

    if (run->state == RPS_RUN_RECORDING)
        field(report, "State:", "recording: the figures are those so far");
    else if (run->state == RPS_RUN_INTERRUPTED)
        field(report, "State:", "interrupted: the periods that were kept are good");
    field(report, "Recording ended:", "%s", run->end_reason);
    if (run->exit_signal > 0)
        field(report, "Ended by signal:", "%d (%s)", run->exit_signal, strsignal(run->exit_signal));
    else if (run->exit_status >= 0)
        field(report, "Exit status:", "%d", run->exit_status);
}

/* Put the kernel's resource usage of a command that was waited for. */
static void put_used(struct rps_report *report)
{
    const struct rps_run *run = &report->run;
    const double used_s = (double)(run->user_ns + run->system_ns) / RPS_NS_PER_S;
    const int is_known = run->user_ns >= 0 && run->system_ns >= 0;
    const int is_part = !rps_report_is_part(report) &&
                        used_s < WAITED_FOR * report->operand[RPS_OPERAND_CPU_SECONDS];

    if (is_known && used_s < SPLIT_S)
        field(report, "CPU time:", "%.3f s, with its exec and exit", used_s);
    else if (is_known)
        field(report, is_part ? "CPU time waited for:" : "CPU time:",
              "%.3f s in its own code, %.3f s in the kernel", (double)run->user_ns / RPS_NS_PER_S,
              (double)run->system_ns / RPS_NS_PER_S);
    if (run->memory_bytes >= 0)
        field(report, "Peak memory:", "%.1f MiB (of the largest process)",
              (double)run->memory_bytes / (1 << 20));
    else if (is_known)
        field(report, "Peak memory:", "unknown (no more than was in use before the command began)");
}

static void put_own_cost(struct rps_report *report)
{
    const struct rps_run *run = &report->run;
    double percent = 100.0 * (double)run->recorder_cpu_ns / (double)run->elapsed_ns;
    int64_t after_ns = run->recorder_after_ns;
    uint64_t samples = report->shares.sampling.samples; /* 0 if samples are not read */
    char share[64] = "", after[64] = "";

    if (report->options->after_ns)
        after_ns = *report->options->after_ns =
            rps_clock_process_cpu_ns() - *report->options->after_ns;
    if (run->recorder_cpu_ns <= 0)
        return;
    if (run->elapsed_ns >= RPS_NS_PER_S) /* less is mostly start and end */
        snprintf(share, sizeof(share), percent < 10 ? " (%.2g %%)" : " (%.0f %%)", percent);
    if (after_ns >= 0)
        snprintf(after, sizeof(after), ", %.3f s afterwards", (double)after_ns / RPS_NS_PER_S);
    field(report, "Recorder's CPU time:", "%.3f s while recording%s%s",
          (double)run->recorder_cpu_ns / RPS_NS_PER_S, share, after);
    if (samples >= SAMPLES_TOLD && strcmp(run->pmu, "sim") != 0)
        field(report, "Samples took:", "about %.3f s of the workload's CPU time",
              (double)samples * SAMPLE_NS / RPS_NS_PER_S);
}

static void put_part(struct rps_report *report)
{
    char from[RPS_TEXT_NUMBER_SIZE], to[RPS_TEXT_NUMBER_SIZE];

    if (report->options->from_ns <= 0 && report->options->to_ns == INT64_MAX)
        return;
    rps_text_clock(from, sizeof(from), report->tally.start_ns, 3);
    rps_text_clock(to, sizeof(to), report->tally.end_ns, 3);
    field(report, "Part reported:", "%s to %s%s", from, to,
          report->cpu_series.widened ? ", widened to what was not thinned away" : "");
}

static void put_region(struct rps_report *report)
{
    const struct rps_run_region *region = &report->regions.region[0]; /* the only one */
    char entered[RPS_REPORT_NUMBER_SIZE], time[RPS_TEXT_NUMBER_SIZE], inside[RPS_TEXT_NUMBER_SIZE];

    if (!report->options->region)
        return;
    field(report,
          "Region reported:", "%s, entered %s time%s, %s in it, of which %s in whole periods",
          region->name, rps_report_count(entered, region->entered), region->entered == 1 ? "" : "s",
          rps_text_duration(time, sizeof(time), region->time_ns),
          rps_text_duration(inside, sizeof(inside), report->tally.length_ns));
}

static int row_periods(const struct rps_report *report)
{
    return rps_run_row_periods(&report->run, report->plan->set_count);
}

int rps_report_has_fine_start(const struct rps_report *report)
{
    int64_t period_ns = report->run.period_ns, cut = (int64_t)report->gaps.count + FINE_EXTRA;

    return period_ns > 0 && !rps_run_is_import(&report->run) &&
           (int64_t)report->tally.periods - report->tally.length_ns / period_ns >
               report->cpu_series.count * cut;
}

static void put_period(struct rps_report *report)
{
    char nominal[RPS_TEXT_NUMBER_SIZE], mean[RPS_TEXT_NUMBER_SIZE];
    int64_t stretched_ns = rps_report_stretched_ns(report);

    if (report->run.period_ns <= 0)
        return;
    rps_text_duration(nominal, sizeof(nominal), report->run.period_ns * row_periods(report));
    rps_text_duration(mean, sizeof(mean), stretched_ns);
    if (stretched_ns > 0)
        field(report, "Measurement period:", "%s, stretched to %s (mean)", nominal, mean);
    else
        field(report, "Measurement period:", "%s%s", nominal,
              rps_report_has_fine_start(report) ? ", shorter at the start" : "");
}

void rps_report_run(struct rps_report *report)
{
    const struct rps_run *run = &report->run;
    char command[4096], name[RPS_CPU_SERIES_TEXT_SIZE], time[RPS_TEXT_NUMBER_SIZE],
        number[RPS_REPORT_NUMBER_SIZE];

    begin(report, "Run");
    field(report, "Number:", "%lld", (long long)run->run_id);
    if (report->document) {
        field(report, "Command:", "%s", rps_run_title(command, sizeof(command), run));
        if (run->start_realtime_ns >= 0) /* in the form of --since */
            field(report, "Started:", "%.19s",
                  rps_wall_text(number, sizeof(number), run->start_realtime_ns));
    }
    field(report, "Label:", "%s", run->label);
    for (int i = 0; i < run->tag_count; i++)
        field(report, i == 0 ? "Tags:" : "    :", "%s = %s", run->tag[i].key, run->tag[i].value);
    if (run->elapsed_ns >= 0)
        field(report, "Elapsed time:", "%s",
              rps_text_duration(time, sizeof(time), run->elapsed_ns));
    put_part(report);
    put_region(report);
    rps_cpu_series_name(name, &report->cpu_series);
    field(report, "Recorded by CPU:", "%s%s", name,
          report->cpu_series.count > 1 ? ", added up" : "");
    put_period(report);
    if (report->document)
        field(report, "Total periods:", "%s",
              rps_report_count(number, report->tally.periods / (uint64_t)row_periods(report)));
    if (report->document && run->order_seed >= 0)
        field(report, "Order of event sets:", "random, another one each rotation (seed %lld)",
              (long long)run->order_seed);
    put_state(report);
    put_used(report);
    put_own_cost(report);
}
