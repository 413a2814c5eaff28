/*
 * The lines that a report begins with: the command, how long it ran, how it ended. Then time,
 * energy, phases, and the largest difference follow. Each is one sentence, if the run has the data.
 */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "parts.h"
#include "rpistat/clock.h"
#include "rpistat/plan.h"
#include "rpistat/run_phases.h"
#include "rpistat/text.h"
#include "rpistat/words.h"

#define COMMAND_MOST  56 /* characters of a command with what follows it, */
#define COMMAND_LEAST 32 /* and at least of the command */
#define ARGUMENTS     32 /* more do not fit in any case */
#define NO_PATH       " \t\n\v\f\r;&|<>(){}$`'\"*?" /* one of these shows that it is not a path */
#define PERIODS_MIN   4                             /* fewer have no phases */
#define PERIODS_TOLD  10                            /* fewer do not show that there is only one */
#define KINDS_MOST    6                             /* classes that are named */
#define APART         .1 /* a metric that separates the phases by less has not changed */

#define LINE_END 2 /* bytes: ".\n" */

struct words {
    char text[RPS_REPORT_ANSWER_SIZE];
    size_t used;
};

static void say(struct words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* SAFETY: names may be hostile. Pieces are escaped before a line ends, so none can begin a line. */
static void say(struct words *words, const char *format, ...)
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

/* End a line that has text. */
static void end_line(struct words *words)
{
    size_t used = words->used;

    if (used > 0 && words->text[used - 1] != '\n' && used + LINE_END < sizeof(words->text))
        words->used += strlen(strcpy(words->text + used, ".\n"));
}

/* --- the first line --------------------------------------------------------------------------- */

/* Return where the base name of a path begins. Text of a shell, as in `sh -c '/bin/a; /bin/b'`, is
 * not a path: it is cut only at its end. */
static char *shorten_path(char *text)
{
    return text + (text[strcspn(text, NO_PATH)] ? 0 : rps_text_file_name(text) - text);
}

/* Write the command without the directory of its program. If it is wider than width, write its
 * arguments without directories too. */
static const char *title(char *ret, size_t size, const struct rps_run *run, int width)
{
    char *argument[ARGUMENTS];
    int is_wide, count;

    if (run->argc == 0)
        return run->target;
    rps_text_command(ret, size, run->argc, run->argv);
    is_wide = strcmp(run->target, "command") == 0 && rps_text_width(ret) > width;
    for (count = 0; count < run->argc && count < ARGUMENTS; count++)
        argument[count] = count == 0 || (is_wide && strchr("./", run->argv[count][0]))
                              ? shorten_path(run->argv[count])
                              : run->argv[count];
    return rps_text_command(ret, size, count, argument);
}

static void say_what(struct words *words, const struct rps_report *report, int width)
{
    const struct rps_run *run = &report->run;
    char command[4096], cut[COMMAND_MOST * 4 + 1], length[RPS_TEXT_NUMBER_SIZE];
    int has_ended = run->exit_status >= 0 || run->exit_signal > 0;
    int is_whole = !rps_report_is_part(report) && run->elapsed_ns >= 0;
    int is_process = run->argc > 0 && strncmp(run->target, "process ", 8) == 0;

    rps_text_duration(length, sizeof(length), is_whole ? run->elapsed_ns : report->tally.length_ns);
    rps_words_cut(cut, sizeof(cut), title(command, sizeof(command), run, width), width);
    if (rps_report_is_part(report))
        say(words, "%s of ", length);
    say(words, "%s", cut);
    if (is_process) /* kept if the command is cut */
        say(words, " (%s)", run->target);
    if (!rps_report_is_part(report))
        say(words, "%s for %s%s", has_ended ? " ran" : ", recorded", length,
            run->state == RPS_RUN_RECORDING ? " so far" : "");
    if (report->options->region)
        say(words, ", inside region %s", report->options->region);
}

/* Append the CPU time. CPUs have idle time; a workload has the CPU time of all its threads. */
static void say_cpu(struct words *words, const struct rps_report *report)
{
    double seconds = report->operand[RPS_OPERAND_SECONDS];
    double cpu_s = rps_report_cpu_s(report), share = cpu_s / seconds;
    char time[RPS_TEXT_NUMBER_SIZE], percent[32];

    if (!isfinite(share))
        return;
    if (report->cpu_series.by_cpu)
        share /= report->cpu_series.count;
    rps_text_duration(time, sizeof(time), (int64_t)(cpu_s * RPS_NS_PER_S));
    snprintf(percent, sizeof(percent), share > 0 && share < .1 ? "%.2g %%" : "%.0f %%",
             100 * share);
    if (report->cpu_series.by_cpu)
        say(words, ", busy for %s of it", percent);
    else if (cpu_s <= 0)
        say(words, ", never on a CPU");
    else if (share > 1.005)
        say(words, " with %s of CPU time (%.1f CPUs)", time, share);
    else
        say(words, ", %s of CPU time (%s of one CPU)", time, percent);
}

static void say_end(struct words *words, const struct rps_run *run)
{
    if (run->state == RPS_RUN_INTERRUPTED)
        say(words, "; interrupted%s%s", run->end_reason[0] ? ": " : "", run->end_reason);
    else if (run->exit_signal > 0)
        say(words, ", ended by signal %d (%s)", run->exit_signal, strsignal(run->exit_signal));
    else if (run->exit_status >= 0)
        say(words, ", exit status %d", run->exit_status);
    else if (run->end_reason[0])
        say(words, "; recording ended: %s", run->end_reason);
}

/* Append the first line. The command is cut to fit; the report has all of it below. */
static void say_run(struct words *words, const struct rps_report *report)
{
    struct words rest = {.used = 0};
    int width;

    say_cpu(&rest, report);
    if (!rps_report_is_part(report))
        say_end(&rest, &report->run);
    width = COMMAND_MOST - rps_text_width(rest.text);
    say_what(words, report, width > COMMAND_LEAST ? width : COMMAND_LEAST);
    say(words, "%s", rest.text);
}

/* --- phases ----------------------------------------------------------------------------------- */

int rps_report_read_phases(struct rps_report *report, struct rps_error *err)
{
    const struct rps_report_options *options = report->options;
    struct rps_reader *reader = report->cpu_series.reader;
    int64_t run_id = report->run.run_id;
    int result = 0;

    if (!options->region && report->tally.periods >= PERIODS_MIN)
        result =
            rps_run_phases_get(reader, run_id, &report->levels, report->remark, &report->no_phases);
    report->phases = result > 0 ? rps_phase_levels_shown(&report->levels) : NULL;
    if (report->phases && report->summary.rows <= RPS_RUN_PHASES_PERIODS_MAX)
        result =
            rps_profile_run(report->arena, reader, run_id, options->from_ns, options->to_ns,
                            &options->cpus, report->phases, &report->profile, &report->no_phases);
    if (result < 0)
        report->phases = NULL;
    if (result < 0 && rps_error_is_memory(&report->no_phases))
        return rps_error_memory(err);
    return 0;
}

/* Return the length of a class within the part; add the number of its phases to *times. */
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

/* Append "A (solve) 12.4 s", with the name of the class. */
static void say_kind(struct words *words, const struct rps_report *report, int label,
                     int64_t length_ns)
{
    char name[RPS_PHASE_LABEL_SIZE], time[RPS_TEXT_NUMBER_SIZE];

    say(words, "%s ", rps_phase_label(label, name));
    if (label < report->profile.label_count && report->profile.label[label].code[0])
        say(words, "(%s) ", report->profile.label[label].code);
    say(words, "%s", rps_text_stretch(time, sizeof(time), length_ns));
}

static void say_phases(struct words *words, const struct rps_report *report)
{
    struct words named = {.used = 0};
    uint64_t row_periods =
        (uint64_t)rps_run_row_periods(&report->run, report->plan->set_count); /* for an import */
    size_t times = 0;
    int kinds = 0;

    for (int label = 0; label < report->phases->label_count; label++) {
        int64_t length_ns = length_of(report, label, &times);

        if (length_ns == 0 || ++kinds > KINDS_MOST)
            continue;
        say(&named, "%s", kinds > 1 ? ", " : "");
        say_kind(&named, report, label, length_ns);
    }
    if (times == 1 && rps_report_is_part(report) && report->phases->count > 1)
        say(words, "All of it lies in phase %.*s", (int)strcspn(named.text, " "), named.text);
    else if (times == 1 &&
             (report->remark[0] || report->tally.periods >= PERIODS_TOLD * row_periods))
        say(words, "One phase: %s",
            report->remark[0] ? report->remark : "what was counted stays alike throughout");
    if (times <= 1)
        return;
    if (rps_phases_repeat(report->phases))
        say(words, "%d kinds of phases: %s", kinds, named.text);
    else
        say(words, "%zu phases of %d kind%s: %s", times, kinds, kinds == 1 ? "" : "s", named.text);
    if (kinds > KINDS_MOST)
        say(words, " and %d more kind%s", kinds - KINDS_MOST, kinds == KINDS_MOST + 1 ? "" : "s");
    if (report->remark[0] && !rps_report_is_part(report)) /* it describes the whole run */
        say(words, "; %s", report->remark);
}

/* --- the largest difference ------------------------------------------------------------------- */

static void say_value(struct words *words, const struct rps_figure *figure, double value)
{
    char number[RPS_REPORT_NUMBER_SIZE];

    rps_report_figure(number,
                      fabs(value) >= 99.5 || value == 0 ? 0
                      : fabs(value) >= 9.95             ? 1
                                                        : 2,
                      value);
    say(words, "%s%s%s", number, figure->unit[0] ? " " : "", figure->unit);
}

/* Append the metric that separates the phases most, in the two classes that are farthest apart. */
static void say_change(struct words *words, const struct rps_report *report)
{
    const struct rps_profile *profile = &report->profile;
    const struct rps_figure *figure = NULL;
    const double *mean = NULL;
    char name[RPS_NAME_SIZE], label[RPS_PHASE_LABEL_SIZE];
    int most = -1, least = -1;

    for (size_t f = 0; f < profile->figure_count; f++) {
        if (!figure || profile->figure[f].apart > figure->apart) {
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
    say(words, "Changed most: %s, ", rps_words_name(name, figure->label, figure->name));
    say_value(words, figure, mean[(size_t)most * profile->figure_count]);
    say(words, " in %s, ", rps_phase_label(most, label));
    say_value(words, figure, mean[(size_t)least * profile->figure_count]);
    say(words, " in %s (%s: ", rps_phase_label(least, label),
        rps_report_is_part(report) ? "all of it" : "run");
    say_value(words, figure, figure->whole);
    say(words, ")");
}

/* Append the functions in which the threads were off the CPU, if the run has them. */
static void say_waits(struct words *words, const struct rps_report *report)
{
    char text[1024];

    if (report->shares.group_count > 0 &&
        rps_share_waits_text(text, sizeof(text), report->shares.group, RPS_SHARES_WAITS)[0])
        say(words, "Its threads %s (see `rpistat code --wall`)", text);
}

/* --- all lines -------------------------------------------------------------------------------- */

char *rps_report_answer(const struct rps_report *report, char ret[RPS_REPORT_ANSWER_SIZE])
{
    struct words words = {.used = 0};
    char code[1024];

    rps_tally_operands(&report->tally, report->plan, report->operand);
    say_run(&words, report);
    end_line(&words);
    if (report->part_words && report->part_words[0])
        say(&words, "This part: %s", report->part_words);
    end_line(&words);
    if (report->shares.programs.count > 0) /* the programs of a machine precede its phases */
        say(&words, "%s", rps_report_shares_of_run(report, code, sizeof(code)));
    end_line(&words);
    say(&words, "%s", rps_report_time(report, code, sizeof(code)));
    end_line(&words);
    say(&words, "%s", rps_report_differences(report, code, sizeof(code)));
    end_line(&words);
    say(&words, "%s", rps_report_packages(report, code, sizeof(code)));
    end_line(&words);
    if (report->phases)
        say_phases(&words, report);
    else if (report->no_phases.message[0])
        say(&words, "Its phases are not known: %s", report->no_phases.message);
    else if (report->summary.rows > RPS_RUN_PHASES_PERIODS_MAX && !report->options->region)
        say(&words, "Its phases are not known: `rpistat phases` finds and keeps them");
    end_line(&words);
    if (report->shares.programs.count == 0)
        say(&words, "%s", rps_report_shares_of_run(report, code, sizeof(code)));
    end_line(&words);
    say_waits(&words, report);
    end_line(&words);
    if (report->phases)
        say_change(&words, report);
    end_line(&words);
    strcpy(ret, words.text);
    return ret;
}
