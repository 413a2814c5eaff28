/* The first lines of a report. The first line is a sentence: the command, how long it ran, and how
 * it ended. The other lines have the form "Label: value (share, detail)". A line is omitted if the
 * run lacks the data for the line. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "parts.h"
#include "rpistat/clock.h"
#include "rpistat/plan.h"
#include "rpistat/profile.h"
#include "rpistat/run_phases.h"
#include "rpistat/text.h"

#define COMMAND_MAX    56 /* maximum characters of the command and the text after it */
#define COMMAND_MIN    32 /* minimum characters of the command */
#define ARGUMENTS      32 /* maximum number of arguments that fit */
#define DIRECTORY_MAX  12 /* maximum characters of an argument's directory that are always shown */
#define NO_PATH        " \t\n\v\f\r;&|<>(){}$`'\"*?" /* a path has none of these characters */
#define PERIODS_MIN    4                             /* minimum periods for a line on phases */
#define PERIODS_ENOUGH 10                            /* minimum periods for "1 phase" */
#define KINDS_MAX      10                            /* maximum number of classes that are listed */
#define COUNTED_MIN    .9 /* minimum counted share of the CPU time without a note */
#define APART          .1 /* minimum difference of a metric between phases */

#define LINE_END 2 /* number of bytes for a line feed and the final 0 */

struct words {
    char text[RPS_REPORT_ANSWER_SIZE];
    size_t used;
};

/* SAFETY: names may be hostile. Each piece is escaped when it is appended, before its line ends, so
 * that no name can begin a line. */
__attribute__((format(printf, 2, 3))) static void say(struct words *words, const char *format, ...)
{
    char text[RPS_REPORT_ANSWER_SIZE], *to = words->text + words->used;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (words->used + LINE_END < sizeof(words->text))
        words->used +=
            strlen(rps_text_printable(to, sizeof(words->text) - words->used - LINE_END, text));
}

static void end_line(struct words *words)
{
    size_t used = words->used;

    if (used > 0 && words->text[used - 1] != '\n' && used + LINE_END < sizeof(words->text))
        words->used += strlen(strcpy(words->text + used, "\n"));
}

/* --- the first line --------------------------------------------------------------------------- */

/* Return the base name of a path. Return shell text, as in `sh -c '/bin/a; /bin/b'`, unchanged,
 * because it is not a path. */
static char *base_name(char *text)
{
    return text + (text[strcspn(text, NO_PATH)] ? 0 : rps_text_file_name(text) - text);
}

/* Write the command without the directory of its program. If the command is wider than `width`,
 * also write long paths among its arguments as ".../NAME". */
static const char *title(char *ret, size_t size, const struct rps_run *run, int width)
{
    char *argument[ARGUMENTS], shortened[ARGUMENTS][4 * COMMAND_MAX + 8];
    int is_wide, count;

    if (run->argc == 0)
        return run->target;
    rps_text_command(ret, size, run->argc, run->argv);
    is_wide = rps_run_is_of_command(run->target) && rps_text_width(ret) > width;
    for (count = 0; count < run->argc && count < ARGUMENTS; count++) {
        char *text = run->argv[count], *name = base_name(text);

        argument[count] = count == 0 ? name : text;
        if (count > 0 && is_wide && strchr("./", text[0]) && name - text > DIRECTORY_MAX) {
            snprintf(shortened[count], sizeof(shortened[count]), ".../%s", name);
            argument[count] = shortened[count];
        }
    }
    return rps_text_command(ret, size, count, argument);
}

static void report_what(struct words *words, const struct rps_report *report, int width)
{
    const struct rps_run *run = &report->run;
    char command[4096], cut[COMMAND_MAX * 4 + 1], length[RPS_TEXT_NUMBER_SIZE];
    int has_ended = run->exit_status >= 0 || run->exit_signal > 0;
    int is_whole = !rps_report_is_part(report) && run->elapsed_ns >= 0;
    int is_process = run->argc > 0 && strncmp(run->target, "process ", 8) == 0;

    rps_text_duration(length, sizeof(length), is_whole ? run->elapsed_ns : report->tally.length_ns);
    rps_words_cut(cut, sizeof(cut), title(command, sizeof(command), run, width), width);
    if (rps_report_is_part(report))
        say(words, "%s of ", length);
    say(words, "%s", cut);
    if (is_process) /* the process number remains if the command is cut */
        say(words, " (%s)", run->target);
    if (!rps_report_is_part(report))
        say(words, "%s for %s%s", has_ended ? " ran" : ", recorded", length,
            run->state == RPS_RUN_RECORDING ? " so far" : "");
    if (report->options->region)
        say(words, ", inside region %s", report->options->region);
}

static const char *percent_of(double share, char ret[32])
{
    snprintf(ret, 32, share > 0 && share < .1 ? "%.2g %%" : "%.0f %%", 100 * share);
    return ret;
}

/* Append the CPU time. For a run of whole CPUs, append the busy share of the CPUs. For a workload,
 * append the CPU time of all its threads. */
static void report_cpu(struct words *words, const struct rps_report *report)
{
    double seconds = report->operand[RPS_OPERAND_SECONDS];
    double cpu_s = rps_report_cpu_s(report), share = cpu_s / seconds;
    double counted = report->operand[RPS_OPERAND_CPU_SECONDS] / seconds;
    char time[RPS_TEXT_NUMBER_SIZE], percent[32], part[32];

    if (!isfinite(share))
        return;
    if (report->cpu_series.by_cpu)
        share /= report->cpu_series.count;
    rps_text_duration(time, sizeof(time), (int64_t)(cpu_s * RPS_NS_PER_S));
    percent_of(share, percent);
    if (report->cpu_series.by_cpu)
        say(words, ", CPUs busy for %s of it", percent);
    else if (cpu_s <= 0)
        say(words, ", never on a CPU");
    else if (share > 1.005)
        say(words, " with %s of CPU time (%.1f CPUs)", time, share);
    else if (counted > 0 &&
             counted < COUNTED_MIN * share) /* the metrics below are those of the counted time */
        say(words, ", %s of CPU time (%s of one CPU, %s counted)", time, percent,
            percent_of(counted, part));
    else
        say(words, ", %s of CPU time (%s of one CPU)", time, percent);
}

static void report_end(struct words *words, const struct rps_run *run)
{
    if (run->state == RPS_RUN_INTERRUPTED)
        say(words, "; interrupted%s%s", run->end_reason[0] ? ": " : "", run->end_reason);
    else if (run->exit_signal > 0)
        say(words, ", ended by signal %d (%s)", run->exit_signal, strsignal(run->exit_signal));
    else if (run->exit_status >= 0)
        say(words, ", exit status %d", run->exit_status);
    else if (rps_report_end_reason(run)[0])
        say(words, "; recording ended: %s", rps_report_end_reason(run));
}

/* Append the first line. Cut a long command, because the report shows the full command below. */
static void report_run(struct words *words, const struct rps_report *report)
{
    struct words rest = {.used = 0};
    int width;

    report_cpu(&rest, report);
    if (!rps_report_is_part(report))
        report_end(&rest, &report->run);
    width = COMMAND_MAX - rps_text_width(rest.text);
    report_what(words, report, width > COMMAND_MIN ? width : COMMAND_MIN);
    say(words, "%s.", rest.text);
}

/* --- phases ----------------------------------------------------------------------------------- */

int rps_report_read_phases(struct rps_report *report, struct rps_error *err)
{
    const struct rps_report_options *options = report->options;
    struct rps_reader *reader = report->cpu_series.reader;
    int64_t run_id = report->run.run_id;
    int result = 0;

    if (!options->region && report->tally.periods >= PERIODS_MIN)
        result = rps_run_phases_get(report->arena, reader, run_id, &report->levels, report->remark,
                                    &report->no_phases);
    report->phases = result > 0 ? rps_phase_levels_shown(&report->levels) : NULL;
    if (report->phases && report->summary.rows <= RPS_RUN_PHASES_PERIODS_MAX)
        result = rps_profile_run(report->arena, reader, run_id, options->from_ns, options->to_ns,
                                 &options->cpus, report->phases, 1, 1, report->profile,
                                 &report->no_phases);
    if (result < 0)
        report->phases = NULL;
    if (result < 0 && rps_error_is_memory(&report->no_phases))
        return rps_error_memory(err);
    return 0;
}

/* Return the total length of a phase class within the reported part. Add the number of the class's
 * phases to *times. */
static int64_t length_of(const struct rps_report *report, int label, size_t *times)
{
    int64_t length_ns = 0;

    for (size_t i = 0; i < report->phases->count; i++) {
        const struct rps_phase *phase = &report->phases->phase[i];
        int64_t start_ns = phase->start_ns, end_ns = phase->end_ns;

        if (start_ns < report->tally.start_ns)
            start_ns = report->tally.start_ns;
        if (end_ns > report->tally.end_ns)
            end_ns = report->tally.end_ns;
        if (phase->label == label && start_ns < end_ns) {
            length_ns += end_ns - start_ns;
            (*times)++;
        }
    }
    return length_ns;
}

/* Append the letter, the name and the length of a class: "A (solve) 12.4 s". */
static void report_kind(struct words *words, const struct rps_report *report, int label,
                        int64_t length_ns)
{
    char name[RPS_PHASE_LABEL_SIZE], time[RPS_TEXT_NUMBER_SIZE];

    say(words, "%s ", rps_phase_label(label, name));
    if (label < report->profile->label_count && report->profile->label[label].code[0])
        say(words, "(%s) ", report->profile->label[label].code);
    say(words, "%s", rps_text_stretch(time, sizeof(time), length_ns));
}

/* Return the number of classes that are longer than a class, or equally long and before it. */
static int longer_than(const int64_t *length_ns, int count, int label)
{
    int longer = 0;

    for (int l = 0; l < count; l++)
        longer +=
            length_ns[l] > length_ns[label] || (length_ns[l] == length_ns[label] && l < label);
    return longer;
}

static void report_phases(struct words *words, const struct rps_report *report)
{
    const int labels = report->phases->label_count;
    int64_t *length_ns = rps_arena_get(report->arena, (size_t)labels + 1, sizeof(*length_ns));
    struct words named = {.used = 0};
    uint64_t row_periods =
        /* a row of an import can contain more than one period */
        (uint64_t)rps_run_row_periods(&report->run, report->plan->set_count);
    size_t times = 0;
    int kinds = 0;

    for (int label = 0; label < labels; label++) {
        length_ns[label] = length_of(report, label, &times);
        kinds += length_ns[label] > 0;
    }
    for (int label = 0; label < labels; label++) {
        if (length_ns[label] == 0 || longer_than(length_ns, labels, label) >= KINDS_MAX)
            continue;
        say(&named, "%s", named.used > 0 ? ", " : "");
        report_kind(&named, report, label, length_ns[label]);
    }
    if (times == 1 && rps_report_is_part(report) && report->phases->count > 1)
        say(words, "Phases: the whole selection is in phase %.*s", (int)strcspn(named.text, " "),
            named.text);
    else if (times == 1 &&
             (report->remark[0] || report->tally.periods >= PERIODS_ENOUGH * row_periods))
        say(words, "Phases: 1 (%s)",
            report->remark[0] ? report->remark : "no significant change in any metric");
    if (times <= 1)
        return;
    say(words, "Phases: %zu in %d class%s; time per class: %s", times, kinds,
        kinds == 1 ? "" : "es", named.text);
    if (kinds > KINDS_MAX)
        say(words, ", %d more class%s", kinds - KINDS_MAX, kinds == KINDS_MAX + 1 ? "" : "es");
    if (report->remark[0] && !rps_report_is_part(report)) /* the remark is about the whole run */
        say(words, "; %s", report->remark);
}

/* --- the largest difference ------------------------------------------------------------------- */

static void report_value(struct words *words, const struct rps_figure *figure, double value)
{
    char number[RPS_REPORT_NUMBER_SIZE];

    rps_report_figure(number,
                      fabs(value) >= 99.5 || value == 0 ? 0
                      : fabs(value) >= 9.95             ? 1
                                                        : 2,
                      value);
    say(words, "%s%s%s", number, figure->unit[0] ? " " : "", figure->unit);
}

/* Return 1 if the description of a class mentions the metric. */
static int is_reported(const struct rps_profile *profile, size_t f)
{
    size_t told[RPS_PROFILE_DIFFERENCES_MAX];

    for (int l = 0; l < profile->label_count; l++)
        for (int i = rps_profile_reported(profile, l, told) - 1; i >= 0; i--)
            if (told[i] == f)
                return 1;
    return 0;
}

/* Append the metric that separates the phases most, of those that descriptions mention, with the
 * metric's lowest and highest value among the classes. Software events are counts of faults and of
 * the scheduler. They describe the system more than the program. */
static void report_change(struct words *words, const struct rps_report *report)
{
    const struct rps_profile *profile = report->profile;
    const struct rps_figure *figure = NULL;
    const double *mean = NULL;
    char name[RPS_NAME_SIZE], label[RPS_PHASE_LABEL_SIZE];
    int most = -1, least = -1;

    for (size_t f = 0; f < profile->figure_count; f++) {
        if ((!figure || profile->figure[f].apart > figure->apart) && is_reported(profile, f)) {
            figure = &profile->figure[f];
            mean = &profile->mean[f];
        }
    }
    if (!figure || !(figure->apart > APART))
        return;
    for (int l = 0; l < profile->label_count; l++) {
        double value = mean[(size_t)l * profile->figure_count];

        if (!isfinite(value))
            continue;
        if (most < 0 || value > mean[(size_t)most * profile->figure_count])
            most = l;
        if (least < 0 || value < mean[(size_t)least * profile->figure_count])
            least = l;
    }
    if (most == least)
        return;
    say(words, "Difference: largest in %s (", rps_words_name(name, figure->label, figure->name));
    report_value(words, figure, mean[(size_t)most * profile->figure_count]);
    say(words, " in %s, ", rps_phase_label(most, label));
    report_value(words, figure, mean[(size_t)least * profile->figure_count]);
    say(words, " in %s", rps_phase_label(least, label));
    if (isfinite(figure->whole)) {
        say(words, ", ");
        report_value(words, figure, figure->whole);
        say(words, " in %s", rps_report_is_part(report) ? "the selection" : "the whole run");
    }
    say(words, ")");
}

/* --- all lines -------------------------------------------------------------------------------- */

char *rps_report_answer(const struct rps_report *report, char ret[RPS_REPORT_ANSWER_SIZE])
{
    static rps_report_line *const line[] = {
        rps_report_deadlock,      rps_report_threads,     rps_report_io,      rps_report_limit,
        rps_report_steal,         rps_report_queue,       rps_report_waiting, rps_report_packages,
        rps_report_shares_of_run, rps_report_differences,
    };
    struct words words = {.used = 0};
    char text[1024];

    rps_tally_operands(&report->tally, report->plan, report->operand);
    report_run(&words, report);
    end_line(&words);
    if (strcmp(report->run.pmu, "software") == 0 &&
        strstr(report->run.fitting, RPS_RUN_NO_COUNTERS))
        say(&words, "Note: software events only, without hardware counters (see Remarks)");
    end_line(&words);
    if (report->window)
        say(&words, "Selection: %s", rps_window_words(report->arena, report->window));
    end_line(&words);
    for (size_t i = 0; i < RPS_COUNT(line); i++) {
        say(&words, "%s", line[i](report, text, sizeof(text)));
        end_line(&words);
    }
    if (report->shares.group_count > 0 &&
        rps_share_waits_text(text, sizeof(text), report->shares.group, RPS_SHARES_WAITS)[0])
        say(&words, "Off-CPU: threads %s (measured by --wall; see `rpistat code --wall`)", text);
    end_line(&words);
    if (report->phases)
        report_phases(&words, report);
    else if (report->no_phases.message[0])
        say(&words, "Phases: unknown (%s)", report->no_phases.message);
    else if (report->summary.rows > RPS_RUN_PHASES_PERIODS_MAX && !report->options->region)
        say(&words, "Phases: not searched yet (see `rpistat phases`)");
    end_line(&words);
    if (report->phases && strcmp(report->run.pmu, "software") != 0)
        report_change(&words, report);
    end_line(&words);
    strcpy(ret, words.text);
    return ret;
}
