/*
 * Where the time of a run went, beside what was counted: on a CPU, waiting for one, asleep. Nothing
 * is said of what was not read.
 */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "parts.h"

#define ONE_THREAD  1.05 /* threads on average: it is said of one */
#define UNSEEN_TOLD .01  /* of the threads' time, not seen: it is told */
#define STEAL_TOLD  .02  /* of the CPUs, taken by a hypervisor */
#define LIMIT_TOLD  .05  /* of the time, stopped by a limit */
#define SLEEPS_TOLD .1   /* of the sleep, in one thing */
#define QUEUE_TOLD  .5   /* threads of the machine that wait, where its own are not known */
#define KIB_PER_MIB 1024

int rps_report_read_system(struct rps_report *report, struct rps_error *err)
{
    const struct rps_report_options *options = report->options;
    const struct rps_part_choice choice = {
        .from_ns = options->from_ns, .to_ns = options->to_ns, .region = options->region};
    struct rps_arena *arena = rps_arena_new();
    struct rps_run_part part = {0};
    struct rps_run_system *system;
    int result = rps_run_part_choose(arena, report->cpu_series.reader, report->run.run_id, &choice,
                                     &part, err);

    if (result == 0)
        result = rps_run_system_read(arena, report->cpu_series.reader, report->run.run_id,
                                     options->from_ns, options->to_ns,
                                     options->region ? 0 : RPS_LEVELS, &part, &system, err);
    if (result == 0)
        report->system = system[part.group_count];
    rps_arena_free(arena);
    return result;
}

static struct rps_system_time time_of(const struct rps_report *report)
{
    return rps_run_system_time(&report->system, report->operand[RPS_OPERAND_CPU_SECONDS]);
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

/* What it was asleep in, the most first. */
static void say_sleeps(struct sentences *to, const struct rps_system_time *time)
{
    int said = 0;

    for (int turn = 0; turn < RPS_SLEEPS; turn++) {
        int most = -1;

        for (int i = 0; i < RPS_SLEEPS; i++) {
            if (!(said & 1 << i) && time->asleep_in_s[i] > SLEEPS_TOLD * time->asleep_s &&
                (most < 0 || time->asleep_in_s[i] > time->asleep_in_s[most]))
                most = i;
        }
        if (most < 0)
            break;
        say(to, "%s%.*f s in %s", said ? ", " : ". Asleep: ", to->decimals, time->asleep_in_s[most],
            rps_sleep_words[most]);
        said |= 1 << most;
    }
    if (!isfinite(time->asleep_in_s[0]))
        say(to, ". Asleep: %.*f s; in what could not be read", to->decimals, time->asleep_s);
}

static void say_one_thread(struct sentences *to, const struct rps_system_time *time)
{
    int sleep = rps_system_time_sleep(time);

    say(to, "Of %.*f s: %.*f s on a CPU, %.*f s waiting for one%s, %.*f s asleep", to->decimals,
        time->elapsed_s, to->decimals, time->on_s, to->decimals, time->wait_s,
        rps_system_time_waited(time) > SLEEPS_TOLD ? " (others had it)" : "", to->decimals,
        time->asleep_s);
    if (sleep >= 0)
        say(to, " (in %s)", rps_sleep_words[sleep]);
}

static void say_threads(struct sentences *to, const struct rps_system_time *time)
{
    double wanted_s = time->on_s + time->wait_s;

    say(to,
        "Its threads wanted a CPU for %.*f s: they had one for %.*f s (%.0f %%) and waited %.*f s",
        to->decimals, wanted_s, to->decimals, time->on_s, 100 * time->on_s / wanted_s, to->decimals,
        time->wait_s);
    if (time->asleep_s > SLEEPS_TOLD * time->threads_s)
        say_sleeps(to, time);
}

char *rps_report_time(const struct rps_report *report, char *ret, size_t size)
{
    struct sentences to = {.text = ret, .size = size};
    struct rps_system_time time = time_of(report);
    double stolen = rps_run_system_stolen(&report->system, report->run.cpu_count);
    double queue = rps_run_system_mean(&report->system, RPS_SYSTEM_MACHINE, RPS_MACHINE_WAIT);
    double limited_s = report->system.length_s[RPS_SYSTEM_GROUP];
    double throttled_s = rps_run_system_throttled_s(&report->system);
    int is_one = time.threads_s <= ONE_THREAD * time.elapsed_s;

    ret[0] = '\0';
    to.decimals = time.elapsed_s >= 100 ? 0 : time.elapsed_s >= 1 ? 1 : 3;
    if (time.elapsed_s > 0 && is_one)
        say_one_thread(&to, &time);
    else if (time.elapsed_s > 0 && time.on_s + time.wait_s > 0)
        say_threads(&to, &time);
    if (time.elapsed_s > 0 && time.unseen_s > UNSEEN_TOLD * time.threads_s)
        say(&to, ". %.*f s of threads' time were not seen, %.*f of them on a CPU", to.decimals,
            time.unseen_s, to.decimals, time.unseen_on_s);
    if (!(time.elapsed_s > 0) && queue > QUEUE_TOLD)
        say(&to, "On average %.1f threads of the machine waited for a CPU", queue);
    if (throttled_s > LIMIT_TOLD * limited_s)
        say(&to, "%sIts control group's CPU limit stopped it for %.*f s%s", to.used > 0 ? ". " : "",
            to.decimals, throttled_s,
            is_one && throttled_s <= limited_s ? "" : ", all CPUs added up");
    if (stolen > STEAL_TOLD)
        say(&to, "%sThe hypervisor took %.0f %% of the CPUs", to.used > 0 ? ". " : "",
            100 * stolen);
    return ret;
}

/* --- for programs ----------------------------------------------------------------------------- */

static void put_mib(struct rps_block *block, double kib)
{
    rps_put_number(block, kib / KIB_PER_MIB);
}

void rps_report_system(struct rps_report *report)
{
    static const struct rps_column columns[] = {
        {"on_cpu_s", .kind = RPS_VALUE_NUMBER},        {"wait_s", .kind = RPS_VALUE_NUMBER},
        {"asleep_s", .kind = RPS_VALUE_NUMBER},        {"in_io_s", .kind = RPS_VALUE_NUMBER},
        {"in_lock_s", .kind = RPS_VALUE_NUMBER},       {"in_message_s", .kind = RPS_VALUE_NUMBER},
        {"in_timer_s", .kind = RPS_VALUE_NUMBER},      {"in_other_s", .kind = RPS_VALUE_NUMBER},
        {"threads_s", .kind = RPS_VALUE_NUMBER},       {"unseen_s", .kind = RPS_VALUE_NUMBER},
        {"unseen_on_cpu_s", .kind = RPS_VALUE_NUMBER}, {"rss_mib", .kind = RPS_VALUE_NUMBER},
        {"rss_low_mib", .kind = RPS_VALUE_NUMBER},     {"rss_high_mib", .kind = RPS_VALUE_NUMBER},
        {"read_mib_s", .kind = RPS_VALUE_NUMBER},      {"written_mib_s", .kind = RPS_VALUE_NUMBER},
        {"m_wait", .kind = RPS_VALUE_NUMBER},          {"stolen", .kind = RPS_VALUE_SHARE},
        {"throttled_s", .kind = RPS_VALUE_NUMBER},
    };
    const struct rps_run_system *system = &report->system;
    const struct rps_system_sum *rss = &system->slot[RPS_SYSTEM_TREE][RPS_TREE_RSS];
    struct rps_block *block;
    struct rps_system_time time;

    if (system->length_s[RPS_SYSTEM_TREE] <= 0 && system->length_s[RPS_SYSTEM_MACHINE] <= 0 &&
        system->length_s[RPS_SYSTEM_GROUP] <= 0)
        return;
    rps_tally_operands(&report->tally, report->plan, report->operand);
    time = time_of(report);
    block = rps_document_block(report->document, "system", columns,
                               sizeof(columns) / sizeof(columns[0]));
    block->is_object = 1;
    rps_put_number(block, time.elapsed_s > 0 ? time.on_s : NAN);
    rps_put_number(block, time.elapsed_s > 0 ? time.wait_s : NAN);
    rps_put_number(block, time.elapsed_s > 0 ? time.asleep_s : NAN);
    for (int i = 0; i < RPS_SLEEPS; i++)
        rps_put_number(block, time.asleep_in_s[i]);
    rps_put_number(block, time.elapsed_s > 0 ? time.threads_s : NAN);
    rps_put_number(block, time.elapsed_s > 0 ? time.unseen_s : NAN);
    rps_put_number(block, time.elapsed_s > 0 ? time.unseen_on_s : NAN);
    put_mib(block, rps_run_system_mean(system, RPS_SYSTEM_TREE, RPS_TREE_RSS));
    put_mib(block, rss->length_s > 0 ? rss->low : NAN);
    put_mib(block, rss->length_s > 0 ? rss->high : NAN);
    put_mib(block, rps_run_system_mean(system, RPS_SYSTEM_TREE, RPS_TREE_READ));
    put_mib(block, rps_run_system_mean(system, RPS_SYSTEM_TREE, RPS_TREE_WRITTEN));
    rps_put_number(block, rps_run_system_mean(system, RPS_SYSTEM_MACHINE, RPS_MACHINE_WAIT));
    rps_put_number(block, rps_run_system_stolen(system, report->run.cpu_count));
    rps_put_number(block, rps_run_system_throttled_s(system));
}
