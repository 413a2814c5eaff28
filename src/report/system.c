/*
 * How the time of a run was spent, in addition to the counts: on a CPU, waiting for one, asleep.
 * Values that were not read are not reported.
 */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "parts.h"
#include "rpistat/clock.h"
#include "rpistat/columns.h"
#include "rpistat/text.h"

#define WAITED_TOLD    .1   /* share of the time that a CPU was wanted, */
#define WAIT_LEAST     .01  /* if it is at least this share of all time */
#define STEAL_TOLD     .02  /* share of the CPUs, taken by a hypervisor */
#define LIMIT_TOLD     .05  /* share of the time, stopped by a limit */
#define SLEEPS_TOLD    .1   /* share of the sleep, for one reason */
#define IDLE_THRESHOLD .75  /* threads, on average */
#define QUEUE_APART    1.25 /* factor between classes from which they are printed */
#define QUEUE_TOLD     .5   /* waiting threads of the machine, if the run's own are not known */
#define UNKNOWN_TOLD   .02  /* share of the threads' time, unknown whether waiting or asleep */

/* Longer times are printed in minutes and hours. */
#define MINUTES_FROM_S 100

int rps_report_read_system(struct rps_report *report, struct rps_error *err)
{
    const struct rps_report_options *options = report->options;
    const struct rps_part_choice choice = {
        .from_ns = options->from_ns, .to_ns = options->to_ns, .region = options->region};
    struct rps_arena *arena = rps_arena_new();
    struct rps_run_part part = {0};
    struct rps_run_system *system;
    int result = 0;

    if (options->region)
        result = rps_run_part_choose(arena, report->cpu_series.reader, report->run.run_id, &choice,
                                     &part, err);
    if (result == 0)
        result = rps_run_system_read(arena, report->cpu_series.reader, report->run.run_id,
                                     options->from_ns, options->to_ns,
                                     options->region ? &part : NULL, &system, err);
    if (result == 0)
        report->system = system[part.group_count];
    rps_arena_free(arena);
    return result;
}

static struct rps_system_time time_of(const struct rps_report *report)
{
    return rps_run_system_time(&report->system, rps_report_cpu_s(report));
}

/* --- sentences -------------------------------------------------------------------------------- */

struct sentences {
    char *text;
    size_t size, used;
    int decimals; /* of seconds */
};

static void say(struct sentences *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct sentences *to, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(to->text + to->used, to->size - to->used, format, args);
    va_end(args);
    to->used += strlen(to->text + to->used);
}

/* Begin a sentence. */
static void next(struct sentences *to)
{
    say(to, "%s", to->used > 0 ? ". " : "");
}

/* Return the value of the printed seconds. */
static double rounded(const struct sentences *to, double seconds)
{
    double scale = seconds < MINUTES_FROM_S ? pow(10, to->decimals) : 1;

    return round(seconds * scale) / scale;
}

static void say_seconds(struct sentences *to, double seconds)
{
    char text[RPS_TEXT_NUMBER_SIZE];

    if (seconds < MINUTES_FROM_S)
        say(to, "%.*f s", to->decimals, seconds);
    else
        say(to, "%s", rps_text_duration(text, sizeof(text), (int64_t)(seconds * RPS_NS_PER_S)));
}

/* Append the reasons for sleep, most frequent first. */
static void say_sleeps(struct sentences *to, const struct rps_system_time *time)
{
    const char *asleep =
        time->asleep_s > time->elapsed_s ? "Asleep, all threads added up: " : "Asleep: ";
    int order[RPS_SLEEPS], count = 0;

    for (int i = 0; i < RPS_SLEEPS; i++) {
        int at = count;

        if (!(time->asleep_in_s[i] > SLEEPS_TOLD * time->asleep_s))
            continue;
        for (; at > 0 && time->asleep_in_s[i] > time->asleep_in_s[order[at - 1]]; at--)
            order[at] = order[at - 1];
        order[at] = i;
        count++;
    }
    for (int i = 0; i < count; i++) {
        if (i == 0)
            next(to);
        say(to, "%s", i > 0 ? ", " : asleep);
        say_seconds(to, time->asleep_in_s[order[i]]);
        say(to, " in %s", rps_sleep_words[order[i]]);
    }
}

/* Return the time for which it is unknown whether threads waited or slept. A run of one thread
 * lasts as long as its thread, or longer than its readings. */
static double unknown_of(const struct rps_system_time *time)
{
    return rps_system_time_is_of_one(time) ? fmax(0, fmax(time->elapsed_s, time->threads_s) -
                                                         time->on_s - time->wait_s - time->asleep_s)
                                           : time->unknown_s;
}

static int tells_unknown(const struct rps_system_time *time)
{
    return unknown_of(time) > UNKNOWN_TOLD * time->threads_s;
}

static void say_one_thread(struct sentences *to, const struct rps_system_time *time, int is_limited)
{
    int sleep = rps_system_time_sleep(time);
    int others_had_it = !is_limited && rps_system_time_waited(time) > WAITED_TOLD &&
                        time->wait_s > WAIT_LEAST * time->elapsed_s;
    double all_s = rounded(to, fmax(time->elapsed_s, time->threads_s));
    double unknown_s = tells_unknown(time) ? rounded(to, unknown_of(time)) : 0;

    next(to);
    say(to, "Of ");
    say_seconds(to, all_s);
    say(to, "%s: ", all_s > rounded(to, time->elapsed_s) ? " (all threads)" : "");
    say_seconds(to, time->on_s);
    say(to, " on a CPU, ");
    say_seconds(to, time->wait_s);
    say(to, " waiting for one%s, ", others_had_it ? " (others had it)" : "");
    say_seconds(to,
                fmax(0, all_s - rounded(to, time->on_s) - rounded(to, time->wait_s) - unknown_s));
    say(to, " asleep");
    if (sleep >= 0)
        say(to, " (in %s)", rps_sleep_words[sleep]);
}

static void say_threads(struct sentences *to, const struct rps_system_time *time)
{
    double wanted_s = rounded(to, time->on_s) + rounded(to, time->wait_s);

    if (wanted_s > 0) {
        next(to);
        say(to, "Its threads wanted a CPU for ");
        say_seconds(to, wanted_s);
        say(to, ": they had one for ");
        say_seconds(to, time->on_s);
        say(to, " (%.0f %%) and waited ", 100 * time->on_s / (time->on_s + time->wait_s));
        say_seconds(to, time->wait_s);
    }
    if (time->asleep_s > SLEEPS_TOLD * time->threads_s)
        say_sleeps(to, time);
}

static void say_stuck(struct sentences *to, const struct rps_system_time *time)
{
    double threads = (time->threads_s + fmax(0, time->idle_s)) / time->elapsed_s;
    double ran = 100 * time->on_s / time->elapsed_s;

    say(to, "No thread ran");
    if (ran >= .05)
        say(to, " for %.1f %% of the time", 100 - ran);
    say(to, ", and all slept in futex (%.0f thread%s): a deadlock looks like this", threads,
        threads < 1.5 ? "" : "s");
}

static void say_idle(struct sentences *to, const struct rps_system_time *time)
{
    double idle = time->idle_s / time->elapsed_s;

    if (!(idle >= IDLE_THRESHOLD))
        return;
    next(to);
    say(to, "%.0f more thread%s idle", idle, idle < 1.5 ? " was" : "s were");
}

static void say_unknown(struct sentences *to, const struct rps_system_time *time)
{
    if (!tells_unknown(time))
        return;
    next(to);
    say_seconds(to, unknown_of(time));
    say(to, " waiting or asleep, in programs or threads too short-lived to tell");
}

/* Append how many threads of the machine waited for a CPU, of which programs, and the classes with
 * most and fewest. */
static void say_queue(struct sentences *to, const struct rps_report *report, double queue)
{
    const struct rps_profile *profile = &report->profile;
    double most = queue, fewest = queue;
    int most_label = -1, fewest_label = -1;
    char letter[RPS_PHASE_LABEL_SIZE], other[RPS_PHASE_LABEL_SIZE], text[512];
    const char *no_wait = report->shares.sampling.no_wait;

    for (int l = 0; profile->system && l < profile->label_count; l++) {
        const double own =
            rps_run_system_mean(&profile->system[l], RPS_SYSTEM_MACHINE, RPS_MACHINE_WAIT);

        if (own > most) {
            most = own;
            most_label = l;
        }
        if (own < fewest) {
            fewest = own;
            fewest_label = l;
        }
    }
    say(to, "On average %.1f threads of the machine waited for a CPU", queue);
    if (most_label >= 0 && fewest_label >= 0 && most > QUEUE_APART * fewest)
        say(to, ": most in %s (%.1f), fewest in %s (%.1f)", rps_phase_label(most_label, letter),
            most, rps_phase_label(fewest_label, other), fewest);
    if (!rps_report_is_part(report) && report->shares.wait_us > 0)
        say(to, "; by program: %s", rps_report_waits(report, text, sizeof(text)));
    else if (report->shares.wait_us > 0)
        say(to, "; which programs waited is known of the whole run alone");
    else
        say(to, "; which programs waited was not recorded%s%s", no_wait[0] ? ": " : "", no_wait);
}

char *rps_report_time(const struct rps_report *report, char *ret, size_t size)
{
    struct sentences to = {.text = ret, .size = size};
    struct rps_system_time time = time_of(report);
    double stolen = rps_run_system_stolen(&report->system, report->run.cpu_count);
    double queue = rps_run_system_mean(&report->system, RPS_SYSTEM_MACHINE, RPS_MACHINE_WAIT);
    double limited_s = report->system.length_s[RPS_SYSTEM_GROUP];
    double throttled_s = rps_run_system_throttled_s(&report->system);
    int is_limited = throttled_s > LIMIT_TOLD * limited_s, is_stuck;

    ret[0] = '\0';
    to.decimals = time.elapsed_s >= 1 ? 1 : 3;
    is_stuck = rps_system_time_is_stuck(&time);
    if (is_stuck)
        say_stuck(&to, &time);
    if (time.elapsed_s > 0 && rps_system_time_is_of_one(&time))
        say_one_thread(&to, &time, is_limited);
    else if (time.elapsed_s > 0)
        say_threads(&to, &time);
    if (time.elapsed_s > 0) {
        say_unknown(&to, &time);
        if (!is_stuck)
            say_idle(&to, &time);
    } else if (queue > QUEUE_TOLD) {
        say_queue(&to, report, queue);
    }
    if (is_limited) {
        int is_one = rps_system_time_is_of_one(&time) && throttled_s <= limited_s;

        next(&to);
        say(&to, "Its control group's CPU limit stopped it for ");
        say_seconds(&to, throttled_s);
        say(&to, "%s", is_one ? "" : ", all CPUs added up");
    }
    if (stolen > STEAL_TOLD) {
        next(&to);
        say(&to, "The hypervisor took %.0f %% of the CPUs", 100 * stolen);
    }
    return ret;
}

char *rps_report_packages(const struct rps_report *report, char *ret, size_t size)
{
    struct sentences to = {.text = ret, .size = size};

    ret[0] = '\0';
    for (int f = 0; f < RPS_PACKAGE_FIGURES; f++) {
        const struct rps_package_figure_name *of = &rps_package_figures[f];
        const double value = rps_run_system_package(&report->system, (enum rps_package_figure)f);
        char number[RPS_TEXT_NUMBER_SIZE];

        if (!isfinite(value))
            continue;
        rps_text_number_of(number, sizeof(number), value, of->unit);
        say(&to, "%s%c%s %s%s%s",
            to.used > 0 ? ", " : "Packages: ", tolower((unsigned char)of->label[0]), of->label + 1,
            number, strchr(number, ' ') ? "" : " ", of->unit);
    }
    return ret;
}

/* --- for programs ----------------------------------------------------------------------------- */

/* Add the columns of system metrics that are members of JSON, or put their values. */
static void each_member(struct rps_report *report, struct rps_block *block, int are_columns)
{
    static const char *const parts[] = {"", "_low", "_high"};

    for (int source = 0; source < RPS_SYSTEM_SOURCES; source++) {
        for (int s = 0; s < rps_system_signal_count[source]; s++) {
            const struct rps_system_signal *signal = &rps_system_signals[source][s];
            const struct rps_system_sum *sum = &report->system.slot[source][s];
            const double value[] = {
                rps_run_system_mean(&report->system, (enum rps_system_source)source, s),
                sum->length_s > 0 ? sum->low : NAN, sum->length_s > 0 ? sum->high : NAN};
            int count = signal->column.json == RPS_COLUMN_RANGE ? 3 : signal->column.json;

            for (int k = 0; k < count; k++) {
                if (are_columns)
                    rps_block_column(
                        block, (struct rps_column){rps_arena_print(report->document->arena,
                                                                   "%s%s%s", signal->column.stem,
                                                                   parts[k], signal->column.suffix),
                                                   .kind = RPS_VALUE_NUMBER});
                else
                    rps_put_number(block, value[k] / signal->column.divisor);
            }
        }
    }
}

#define TIMES(CELL, BY)                                                                            \
    CELL(NUMBER, (known ? time.on_s : NAN), "on_cpu_s")                                            \
    CELL(NUMBER, (known ? time.wait_s : NAN), "wait_s")                                            \
    CELL(NUMBER, (known ? time.asleep_s : NAN), "asleep_s")                                        \
    CELL(NUMBER, (time.asleep_in_s[0]), "in_io_s")                                                 \
    CELL(NUMBER, (time.asleep_in_s[1]), "in_lock_s")                                               \
    CELL(NUMBER, (time.asleep_in_s[2]), "in_message_s")                                            \
    CELL(NUMBER, (time.asleep_in_s[3]), "in_timer_s")                                              \
    CELL(NUMBER, (time.asleep_in_s[4]), "in_other_s")                                              \
    CELL(NUMBER, (time.asleep_in_s[5]), "in_unknown_s")                                            \
    CELL(NUMBER, (known ? time.unknown_s : NAN), "unknown_s")                                      \
    CELL(NUMBER, (known ? time.threads_s : NAN), "threads_s")                                      \
    CELL(NUMBER, (known ? time.unseen_s : NAN), "unseen_s")                                        \
    CELL(NUMBER, (known ? time.unseen_on_s : NAN), "unseen_on_cpu_s")

void rps_report_system(struct rps_report *report)
{
    static const struct rps_column columns[] = {TIMES(RPS_COLUMN, RPS_COLUMN)};
    const struct rps_run_system *system = &report->system;
    struct rps_block *block;
    struct rps_system_time time;
    int known;

    if (system->length_s[RPS_SYSTEM_TREE] <= 0 && system->length_s[RPS_SYSTEM_MACHINE] <= 0 &&
        system->length_s[RPS_SYSTEM_GROUP] <= 0 && system->length_s[RPS_SYSTEM_PACKAGE] <= 0)
        return;
    rps_tally_operands(&report->tally, report->plan, report->operand);
    time = time_of(report);
    known = time.elapsed_s > 0;
    block = rps_document_block(report->document, "system", columns,
                               sizeof(columns) / sizeof(columns[0]));
    block->is_object = 1;
    each_member(report, block, 1);
    rps_block_column(block, (struct rps_column){"stolen", .kind = RPS_VALUE_SHARE});
    rps_block_column(block, (struct rps_column){"throttled_s", .kind = RPS_VALUE_NUMBER});
    for (int f = 0; f < RPS_PACKAGE_FIGURES; f++)
        rps_block_column(
            block, (struct rps_column){rps_package_figures[f].name, .kind = RPS_VALUE_NUMBER});
    rps_block_column(block, (struct rps_column){"idle_s", .kind = RPS_VALUE_NUMBER});
    TIMES(RPS_PUT, RPS_PUT_BY)
    each_member(report, block, 0);
    rps_put_number(block, rps_run_system_stolen(system, report->run.cpu_count));
    rps_put_number(block, rps_run_system_throttled_s(system));
    for (int f = 0; f < RPS_PACKAGE_FIGURES; f++)
        rps_put_number(block, rps_run_system_package(system, (enum rps_package_figure)f));
    rps_put_number(block, time.idle_s);
}
