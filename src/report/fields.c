/* The fields of the report, for the machine and the run. In the layout of 2013 the fields are lines
 * of the stream, with control characters escaped. Otherwise the fields are rows of the document. */
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "rpistat/clock.h"
#include "parts.h"
#include "rpistat/plan.h"
#include "rpistat/text.h"

#define FIELD_WIDTH 26    /* width of "Label:" */
#define SAMPLE_NS   10000 /* time to take one sample: measured as 6.5 us, 10 us with 18 callers */
#define SAMPLES_MIN 50    /* minimum number of samples for which the cost of sampling is printed */
#define SPLIT_S     .1    /* minimum CPU seconds for a split into user and system time */
#define WAITED_FOR  .9    /* resource usage below this share of counted CPU time is incomplete */

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

/* Number of additional periods per CPU that proves a fine start. Beyond this number, each gap may
 * add one period, and a short rotation one period per set. */
#define FINE_EXTRA 8

/* Return the mean length of a period if the recorder stretched periods. Otherwise return 0. Periods
 * that are only a little longer than nominal were late, not stretched. */
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

/* Put a field. A field with the text "" is omitted. */
__attribute__((format(printf, 3, 4))) static void field(struct rps_report *report,
                                                        const char *label, const char *format, ...)
{
    const char *text;
    va_list args;

    va_start(args, format);
    text = rps_arena_vprint(report->arena, format, args);
    va_end(args);
    if (text[0] && report->document) {
        rps_put_texts(report->fields, 2, label, text);
    } else if (text[0]) {
        fprintf(report->out, "  %-*s", FIELD_WIDTH, label);
        rps_text_print(report->out, text);
        fputc('\n', report->out);
    }
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
        field(report, "Counters:", "%s, %d counter%s in addition to the clock event", run->pmu,
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

const char *rps_report_end_reason(const struct rps_run *run)
{
    const int is_process = strncmp(run->target, "process ", 8) == 0 && run->exit_status < 0;

    return run->state == RPS_RUN_COMPLETE && is_process && !run->end_reason[0]
               ? "the process ended, exit status unknown"
               : run->end_reason;
}

static void put_state(struct rps_report *report)
{
    const struct rps_run *run = &report->run;

    if (run->state == RPS_RUN_RECORDING)
        field(report, "State:", "recording: values so far");
    else if (run->state == RPS_RUN_INTERRUPTED)
        field(report, "State:", "interrupted: the recorded periods are valid");
    field(report, "Recording ended:", "%s", rps_report_end_reason(run));
    if (run->exit_signal > 0)
        field(report, "Ended by signal:", "%d (%s)", run->exit_signal, strsignal(run->exit_signal));
    else if (run->exit_status >= 0)
        field(report, "Exit status:", "%d", run->exit_status);
}

/* Put the kernel's resource usage, if rpistat ran the command and waited for its end. It is always
 * that of the whole run. */
static void put_used(struct rps_report *report)
{
    const struct rps_run *run = &report->run;
    const double used_s = (double)(run->user_ns + run->system_ns) / RPS_NS_PER_S;
    const int is_known = run->user_ns >= 0 && run->system_ns >= 0;
    const int is_part = !rps_report_is_part(report) &&
                        used_s < WAITED_FOR * report->operand[RPS_OPERAND_CPU_SECONDS];
    const int is_own = !rps_run_is_of_machine(run->target); /* 0: the whole machine */
    const char *of = rps_report_is_part(report) ? " (whole run)" : "";
    const char *cpu = is_own ? "CPU time:" : "Command's CPU time:";
    const char *peak = is_own ? "Peak memory:" : "Command's peak memory:";
    const struct rps_system_sum *tree = report->system.slot[RPS_SYSTEM_TREE];

    if (is_known && used_s < SPLIT_S)
        field(report, cpu, "%.3f s, exec and exit included%s", used_s, of);
    else if (is_known)
        field(report, cpu, "%.3f s in user mode, %.3f s in the kernel%s%s",
              (double)run->user_ns / RPS_NS_PER_S, (double)run->system_ns / RPS_NS_PER_S,
              is_part && is_own ? " (of processes waited for)" : "", of);
    if (run->memory_bytes >= 0)
        field(report, peak, "%s%.1f MiB (of the largest process%s)",
              is_part && is_own ? "at least " : "", (double)run->memory_bytes / (1 << 20),
              is_part && is_own ? " waited for"
              : *of             ? ", whole run"
                                : "");
    else if (is_known && tree[RPS_TREE_RSS].high > 0 && tree[RPS_TREE_THREADS].high <= 1)
        field(report, peak, "at least %.1f MiB (highest reading)", tree[RPS_TREE_RSS].high / 1024);
    else if (is_known)
        field(report, peak, "unknown (not above the peak before the command began)");
}

double rps_report_recorder_share(const struct rps_report *report)
{
    const struct rps_run *run = &report->run;
    double cpu_s = report->operand[RPS_OPERAND_CPU_SECONDS];

    return run->recorder_cpu_ns > 0 && cpu_s > 0 && !rps_report_is_part(report) &&
                   strcmp(run->pmu, "sim") != 0 && !rps_run_is_of_machine(run->target)
               ? (double)run->recorder_cpu_ns / RPS_NS_PER_S / cpu_s
               : NAN;
}

static char *percent_text(char ret[RPS_REPORT_NUMBER_SIZE], double percent)
{
    snprintf(ret, RPS_REPORT_NUMBER_SIZE, percent < 10 ? "%.2g %%" : "%.0f %%", percent);
    return ret;
}

static void put_own_cost(struct rps_report *report)
{
    const struct rps_run *run = &report->run;
    double percent = 100.0 * (double)run->recorder_cpu_ns / (double)run->elapsed_ns;
    double of_workload = 100 * rps_report_recorder_share(report);
    char text[RPS_REPORT_NUMBER_SIZE];
    int64_t after_ns = run->recorder_after_ns;
    uint64_t samples = report->shares.sampling.samples; /* 0: the samples were not read */
    char share[256] = "", after[64] = "";

    if (report->options->after_ns)
        after_ns = *report->options->after_ns =
            rps_clock_process_cpu_ns() - *report->options->after_ns;
    if (run->recorder_cpu_ns <= 0)
        return;
    if (run->elapsed_ns >= RPS_NS_PER_S) /* a shorter run consists mostly of its start and end */
        snprintf(share, sizeof(share), " (%s of the time", percent_text(text, percent));
    if (share[0] && isfinite(of_workload))
        snprintf(share + strlen(share), sizeof(share) - strlen(share),
                 ", %s of the workload's CPU time", percent_text(text, of_workload));
    if (after_ns >= 0)
        snprintf(after, sizeof(after), ", %.3f s afterwards", (double)after_ns / RPS_NS_PER_S);
    field(report, "Recorder's CPU time:", "%.3f s while recording%s%s%s",
          (double)run->recorder_cpu_ns / RPS_NS_PER_S, share, share[0] ? ")" : "", after);
    if (samples >= SAMPLES_MIN && strcmp(run->pmu, "sim") != 0)
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
    field(report, "Time range:", "%s to %s%s", from, to,
          report->cpu_series.widened ? ", widened to whole blocks (older periods are downsampled)"
                                     : "");
}

static void put_region(struct rps_report *report)
{
    /* the report is about this region only */
    const struct rps_run_region *region = &report->regions.region[0];
    char entered[RPS_REPORT_NUMBER_SIZE], time[RPS_TEXT_NUMBER_SIZE], inside[RPS_TEXT_NUMBER_SIZE];

    if (!report->options->region)
        return;
    field(report,
          "Region reported:", "%s, entered %s time%s, %s inside, of which %s in complete periods",
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
    int64_t period_ns = report->run.period_ns;
    int64_t cut = (int64_t)report->gaps.count + report->plan->set_count + FINE_EXTRA;

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
        if (run->start_realtime_ns >= 0) /* in the form that the option --since uses */
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
    field(report, "Recorded by CPU:", "%s%s", name, report->cpu_series.count > 1 ? ", sum" : "");
    put_period(report);
    if (report->document)
        field(report, "Total periods:", "%s",
              rps_report_count(number, report->tally.periods / (uint64_t)row_periods(report)));
    if (report->document && run->order_seed >= 0)
        field(report, "Order of event sets:", "random in each rotation (seed %lld)",
              (long long)run->order_seed);
    put_state(report);
    put_used(report);
    put_own_cost(report);
}
