/* Lines on how the time of a run was spent: running, waiting for a CPU, or asleep. If the values of
 * a line were not read, the line is "". */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "parts.h"
#include "rpistat/document.h"
#include "rpistat/profile.h"
#include "rpistat/text.h"

#define WAITED_MIN     .1   /* minimum share of waiting in the time that a thread ran or waited */
#define WAIT_MIN       .01  /* minimum share of waiting in the elapsed time */
#define STEAL_MIN      .02  /* minimum share of the CPU time that a hypervisor took away */
#define LIMIT_MIN      .05  /* minimum share of the time for which a limit stopped the workload */
#define SLEEPS_MIN     .1   /* minimum share of sleep in all time, and of a reason in all sleep */
#define IDLE_THRESHOLD .9   /* minimum mean number of idle threads for which it is printed */
#define QUEUE_APART    1.25 /* minimum ratio of two classes' run queues for printing both */
#define QUEUE_MIN      .5   /* minimum waiting threads, if those of the workload are unknown */
#define UNKNOWN_MIN    .02  /* minimum share of the threads' time that is printed as unknown */

#define IO_MIN_BYTES 10e6 /* minimum bytes read or written that are printed */

/* If the longest time of a line has at least this many seconds, the line uses minutes or hours. */
#define MINUTES_FROM_S 600
#define HOURS_FROM_S   36000

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

/* --- lines ------------------------------------------------------------------------------------ */

struct line {
    char *text;
    size_t size, used;
    double unit_s; /* unit of all times of the line */
    const char *unit;
    int decimals;
};

/* Begin a line. All times of the line have the same unit. */
static struct line begin_line(char *ret, size_t size, double longest_s, double elapsed_s)
{
    struct line line = {ret, size, 0, 1, "s", elapsed_s >= 1 ? 1 : 3};

    if (longest_s >= HOURS_FROM_S)
        line.unit_s = 3600, line.unit = "h";
    else if (longest_s >= MINUTES_FROM_S)
        line.unit_s = 60, line.unit = "min";
    ret[0] = '\0';
    return line;
}

__attribute__((format(printf, 2, 3))) static void append(struct line *line, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(line->text + line->used, line->size - line->used, format, args);
    va_end(args);
    line->used += strlen(line->text + line->used);
}

static double rounded(const struct line *line, double seconds)
{
    double scale = pow(10, line->decimals) / line->unit_s;

    return round(seconds * scale) / scale;
}

static void append_time(struct line *line, const char *before, double seconds, const char *after)
{
    append(line, "%s%.*f %s%s", before, line->decimals, seconds / line->unit_s, line->unit, after);
}

/* Append the reasons for sleep, most frequent first. A single reason is appended as ", in timers".
 * Each of several reasons is appended with its time. */
static void append_sleeps(struct line *line, const struct rps_system_time *time, double asleep_s)
{
    double rest_s = asleep_s;
    int order[RPS_SLEEPS], count = 0;

    for (int i = 0; i < RPS_SLEEPS; i++) {
        int at = count;

        if (!(time->asleep_in_s[i] > SLEEPS_MIN * time->asleep_s))
            continue;
        for (; at > 0 && time->asleep_in_s[i] > time->asleep_in_s[order[at - 1]]; at--)
            order[at] = order[at - 1];
        order[at] = i;
        count++;
    }
    for (int i = 0; i < count; i++) {
        const double reason_s = time->asleep_in_s[order[i]];

        if (count > 1)
            append_time(line, i > 0 ? ", " : ": ", reason_s, " in ");
        else
            append(line, ", %sin ", reason_s < (1 - SLEEPS_MIN) * asleep_s ? "mostly " : "");
        append(line, "%s", rps_sleep_words[order[i]]);
        rest_s -= rounded(line, reason_s);
    }
    if (count > 1 && rounded(line, rest_s) > 0)
        append_time(line, ", ", rest_s, " for other reasons");
}

/* Return the time for which the state of threads is unknown (waiting or sleeping). Return 0 if this
 * time is short. In a run of one thread, the time outside the thread's readings is unknown too,
 * unless the thread waited for a child. */
static double unknown_of(const struct rps_system_time *time)
{
    double unknown_s = rps_system_time_is_of_one(time)
                           ? fmax(0, fmax(time->elapsed_s - time->child_s, time->threads_s) -
                                         time->on_s - time->wait_s - time->asleep_s)
                           : time->unknown_s;

    return unknown_s > UNKNOWN_MIN * time->threads_s ? unknown_s : 0;
}

static int is_limited(const struct rps_report *report)
{
    return rps_run_system_throttled_s(&report->system) >
           LIMIT_MIN * report->system.length_s[RPS_SYSTEM_GROUP];
}

static void append_idle(struct line *line, const char *before, const struct rps_system_time *time)
{
    const double idle = time->idle_s / time->elapsed_s;

    if (idle >= IDLE_THRESHOLD)
        append(line, "%s%.0f idle thread%s", before, idle, idle < 1.5 ? "" : "s");
    else
        append_time(line, before, time->idle_s, " of idle threads");
}

/* Append the times that the total does not include. */
static void append_left_out(struct line *line, const struct rps_system_time *time, double total_s)
{
    const char *before = ", not counting ";

    if (time->child_s > UNKNOWN_MIN * total_s) {
        append_time(line, before, time->child_s, " waiting for children");
        before = " and ";
    }
    if (time->idle_s > UNKNOWN_MIN * total_s)
        append_idle(line, before, time);
}

char *rps_report_threads(const struct rps_report *report, char *ret, size_t size)
{
    enum { RUNNING, WAITING, ASLEEP, UNKNOWN, STATES };
    static const char *const name[] = {" running (", " waiting for a CPU (", " asleep (",
                                       " unknown ("};
    const struct rps_system_time time = time_of(report);
    const int is_one = rps_system_time_is_of_one(&time);
    const int others_ran = is_one && !is_limited(report) &&
                           rps_system_time_waited(&time) > WAITED_MIN &&
                           time.wait_s > WAIT_MIN * time.elapsed_s;
    double total_s = fmax(time.elapsed_s - (is_one ? time.child_s : 0), time.threads_s);
    struct line line = begin_line(ret, size, total_s, time.elapsed_s);
    double state_s[STATES] = {rounded(&line, time.on_s), rounded(&line, time.wait_s),
                              rounded(&line, time.asleep_s), rounded(&line, unknown_of(&time))};

    if (is_one) /* the printed states of one thread must add up to the thread's time */
        state_s[ASLEEP] = fmax(0, rounded(&line, total_s) - state_s[RUNNING] - state_s[WAITING] -
                                      state_s[UNKNOWN]);
    total_s = state_s[RUNNING] + state_s[WAITING] + state_s[ASLEEP] + state_s[UNKNOWN];
    if (!(time.elapsed_s > 0))
        return ret;
    if (!(total_s > 0)) {
        if (time.child_s > 0)
            append_time(&line, "Threads: ", time.child_s, " waiting for children (100 %)");
        if (time.idle_s > 0)
            append_idle(&line, time.child_s > 0 ? ", not counting " : "Threads: ", &time);
        return ret;
    }
    for (int s = 0; s < STATES; s++) {
        if (s == UNKNOWN && state_s[s] <= 0)
            continue;
        append_time(&line,
                    s == 0                                                 ? "Threads: "
                    : s == WAITING && rps_system_time_waits_at_most(&time) ? ", at most "
                                                                           : ", ",
                    state_s[s], name[s]);
        append(&line, "%.0f %%%s", 100 * state_s[s] / total_s,
               s == WAITING && others_ran ? ", others used it"
               : s == UNKNOWN && time.unknown_s > (1 - SLEEPS_MIN) * state_s[s]
                   ? ", exited between readings"
                   : "");
        if (s == ASLEEP && state_s[s] > 0)
            append_sleeps(&line, &time, state_s[s]);
        append(&line, ")");
    }
    append_time(&line, /* threads that no reading found may also have slept */
                !is_one && time.unseen_s > UNKNOWN_MIN * total_s ? "; total at least " : "; total ",
                total_s, "");
    append_left_out(&line, &time, total_s);
    return ret;
}

/* Return a total of a counter in bytes, or NaN. */
static double bytes_of(const struct rps_report *report, enum rps_system_source source, int slot)
{
    const struct rps_system_sum *sum = &report->system.slot[source][slot];

    return sum->length_s > 0 ? 1024 * sum->sum : NAN;
}

char *rps_report_io(const struct rps_report *report, char *ret, size_t size)
{
    double read = bytes_of(report, RPS_SYSTEM_TREE, RPS_TREE_READ),
           written = bytes_of(report, RPS_SYSTEM_TREE, RPS_TREE_WRITTEN),
           disk_read = bytes_of(report, RPS_SYSTEM_TREE, RPS_TREE_DISK_READ),
           disk_written = bytes_of(report, RPS_SYSTEM_TREE, RPS_TREE_DISK_WRITTEN);
    char text[4][RPS_TEXT_NUMBER_SIZE];

    ret[0] = '\0';
    if (fmax(read, written) >= IO_MIN_BYTES && isfinite(disk_read + disk_written))
        snprintf(ret, size, "I/O: read %s (%s from disks), wrote %s (%s to disks)",
                 rps_text_size(text[0], sizeof(text[0]), (uint64_t)read),
                 rps_text_size(text[1], sizeof(text[1]), (uint64_t)disk_read),
                 rps_text_size(text[2], sizeof(text[2]), (uint64_t)written),
                 rps_text_size(text[3], sizeof(text[3]), (uint64_t)disk_written));
    if (isfinite(read + written))
        return ret;
    disk_read = bytes_of(report, RPS_SYSTEM_MACHINE, RPS_MACHINE_DISK_READ);
    disk_written = bytes_of(report, RPS_SYSTEM_MACHINE, RPS_MACHINE_DISK_WRITTEN);
    if (fmax(disk_read, disk_written) >= IO_MIN_BYTES)
        snprintf(ret, size, "I/O: the machine read %s from disks and wrote %s to disks",
                 rps_text_size(text[0], sizeof(text[0]), (uint64_t)disk_read),
                 rps_text_size(text[1], sizeof(text[1]), (uint64_t)disk_written));
    return ret;
}

char *rps_report_deadlock(const struct rps_report *report, char *ret, size_t size)
{
    const struct rps_system_time time = time_of(report);
    double threads = (time.threads_s + fmax(0, time.idle_s)) / time.elapsed_s;
    double ran = 100 * time.on_s / time.elapsed_s;
    struct line line = begin_line(ret, size, 0, 0);

    if (!rps_system_time_is_stuck(&time))
        return ret;
    append(&line, "Note: possible deadlock (no thread ran");
    if (ran >= .05)
        append(&line, " for %.1f %% of the elapsed time", 100 - ran);
    append(&line, "; threads asleep in futex: %.0f)", threads);
    return ret;
}

char *rps_report_limit(const struct rps_report *report, char *ret, size_t size)
{
    const struct rps_system_time time = time_of(report);
    const double throttled_s = rps_run_system_throttled_s(&report->system);
    const int is_of_one = time.elapsed_s > 0 && rps_system_time_is_of_one(&time) &&
                          throttled_s <= report->system.length_s[RPS_SYSTEM_GROUP];
    struct line line = begin_line(ret, size, throttled_s, time.elapsed_s);

    if (!is_limited(report))
        return ret;
    append_time(&line, "CPU limit: the control group's limit stopped it for ", throttled_s,
                is_of_one ? "" : " (sum over CPUs)");
    return ret;
}

char *rps_report_steal(const struct rps_report *report, char *ret, size_t size)
{
    const double stolen = rps_run_system_stolen(&report->system, report->run.cpu_count);

    ret[0] = '\0';
    if (stolen > STEAL_MIN)
        snprintf(ret, size, "Steal time: %.0f %% of all CPUs' time (taken by the hypervisor)",
                 100 * stolen);
    return ret;
}

/* Return how many threads of the machine waited for a CPU. Return 0 if the waiting threads of the
 * workload itself are known. */
static double queue_of(const struct rps_report *report)
{
    const double queue = rps_run_system_mean(&report->system, RPS_SYSTEM_MACHINE, RPS_MACHINE_WAIT);

    return !(time_of(report).elapsed_s > 0) && queue > QUEUE_MIN ? queue : 0;
}

/* Format how many threads of the machine waited for a CPU, and the classes with most and fewest. */
char *rps_report_queue(const struct rps_report *report, char *ret, size_t size)
{
    const struct rps_profile *profile = report->profile;
    const double queue = queue_of(report);
    double own, most = queue, fewest = queue;
    int most_label = -1, fewest_label = -1;
    char letter[RPS_PHASE_LABEL_SIZE], other[RPS_PHASE_LABEL_SIZE];
    struct line line = begin_line(ret, size, 0, 0);

    for (int l = 0; profile->system && l < profile->label_count; l++) {
        own = rps_run_system_mean(&profile->system[l], RPS_SYSTEM_MACHINE, RPS_MACHINE_WAIT);
        if (own > most)
            most = own, most_label = l;
        if (own < fewest)
            fewest = own, fewest_label = l;
    }
    if (!(queue > 0))
        return ret;
    append(&line, "Run queue: %.1f threads of the machine waiting for a CPU (mean", queue);
    if (most_label >= 0 && fewest_label >= 0 && most > QUEUE_APART * fewest)
        append(&line, "; %.1f in %s, %.1f in %s", most, rps_phase_label(most_label, letter), fewest,
               rps_phase_label(fewest_label, other));
    append(&line, ")");
    return ret;
}

char *rps_report_waiting(const struct rps_report *report, char *ret, size_t size)
{
    const char *no_wait = report->shares.sampling.no_wait;
    char text[512];

    ret[0] = '\0';
    if (!(queue_of(report) > 0))
        return ret;
    if (report->shares.wait_us == 0)
        snprintf(ret, size, "Waiting programs: not recorded%s%s%s", no_wait[0] ? " (" : "", no_wait,
                 no_wait[0] ? ")" : "");
    else if (rps_report_is_part(report))
        snprintf(ret, size, "Waiting programs: unknown (known for the whole run only)");
    else
        snprintf(ret, size, "Waiting programs: %s (share of the waiting time)",
                 rps_report_waits(report, text, sizeof(text)));
    return ret;
}

char *rps_report_packages(const struct rps_report *report, char *ret, size_t size)
{
    struct line line = begin_line(ret, size, 0, 0);

    for (int f = 0; f < RPS_PACKAGE_FIGURES; f++) {
        const struct rps_package_figure_name *of = &rps_package_figures[f];
        const double value = rps_run_system_package(&report->system, (enum rps_package_figure)f);
        char number[RPS_TEXT_NUMBER_SIZE];

        if (!isfinite(value))
            continue;
        rps_text_number_of(number, sizeof(number), value, of->unit);
        append(&line, "%s%c%s %s%s%s",
               line.used > 0 ? ", " : "Packages: ", tolower((unsigned char)of->label[0]),
               of->label + 1, number, strchr(number, ' ') ? "" : " ", of->unit);
    }
    return ret;
}

/* --- for programs ----------------------------------------------------------------------------- */

/* Add one column per system metric that is a JSON member. are_columns 0: put the values instead. */
static void each_member(struct rps_report *report, struct rps_block *block, int are_columns)
{
    static const char *const parts[] = {"", "_low", "_high"};

    for (int source = 0; source < RPS_SYSTEM_SOURCES; source++) {
        for (int s = 0; s < rps_system_metric_count[source]; s++) {
            const struct rps_system_metric *signal = &rps_system_metrics[source][s];
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
    block = rps_document_block(report->document, "system", columns, RPS_COUNT(columns));
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
