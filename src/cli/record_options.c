/*
 * The options of `record`: everything the user may ask of a recording, checked before anything is
 * started. What is done with it is in cmd_record.c.
 */
#include <string.h>

#include "cli.h"
#include "rpistat/clock.h"
#include "rpistat/parse.h"
#include "rpistat/random.h"
#include "rpistat/store.h"

#define HOUR_NS (3600 * RPS_NS_PER_S)
#define YEAR_NS (366 * 24 * HOUR_NS)

/* --keep: less makes no sense, the periods of the last minutes are rewritten anyway. */
#define KEEP_MIN_NS (60 * RPS_NS_PER_S)

/* --repeat: far more than tell anything new. */
#define REPEAT_MAX 1000

enum {
    OPTION_PERIOD = RPS_OPTION_OWN,
    OPTION_DURATION,
    OPTION_LABEL,
    OPTION_TAG,
    OPTION_SETS,
    OPTION_PMU,
    OPTION_NO_MERGE,
    OPTION_ORDER,
    OPTION_COMMIT,
    OPTION_DURABILITY,
    OPTION_KEEP,
    OPTION_MAX_SIZE,
    OPTION_DELAY,
    OPTION_CONTROL,
    OPTION_METRIC,
    OPTION_SCENARIO,
    OPTION_NO_SAMPLES,
    OPTION_SAMPLE,
    OPTION_FREQUENCY,
    OPTION_STACKS,
    OPTION_REPEAT,
};

static const struct rps_option options[] = {
    {"period", OPTION_PERIOD, "T", "measurement period, 1ms to 1h", "100ms"},
    {"duration", OPTION_DURATION, "T", "stop recording after T; the workload goes on", NULL},
    {"repeat", OPTION_REPEAT, "N", "record COMMAND N times in a row, as runs of one group", NULL},
    {"delay", OPTION_DELAY, "T", "count from T on; off: when --control says enable", NULL, "off"},
    {"control", OPTION_CONTROL, "PIPE", "take commands from a pipe, fifo:PATH", NULL, "fifo:"},
    {"pid", 'p', "LIST", "record running processes, PID,PID..., all threads", NULL},
    {"all-cpus", 'a', NULL, "record the whole machine, CPU by CPU", NULL},
    {"cpu", 'C', "LIST", "record these CPUs: 0-3,8", NULL},
    {"cgroup", 'G', "NAME", "record a control group", NULL},
    {"label", OPTION_LABEL, "TEXT", "name of the run, for --run of the other commands", ""},
    {"tag", OPTION_TAG, "KEY=VALUE", "a note kept with the run; may be given again", NULL},
    {"sets", OPTION_SETS, "NAME", "event sets: a name of 'rpistat events', or a .ini file", NULL},
    {"scenario", OPTION_SCENARIO, "NAME", "of them l1, l2, tlb, ipc, branches, topdown, syscalls",
     NULL},
    {"event", 'e', "LIST", "count these events, EVENT,EVENT...; again for a set", NULL},
    {"metric", OPTION_METRIC, "TEXT", "a figure to derive, [NAME=]FORMULA; may be repeated", NULL},
    {"pmu", OPTION_PMU, "NAME", "auto, hardware, software or sim:SCRIPT", "auto",
     "auto hardware software sim:"},
    {"no-merge", OPTION_NO_MERGE, NULL, "rotate the sets even if all could count at once", NULL},
    {"order", OPTION_ORDER, "HOW", "of the sets: fixed, random, random:SEED", "fixed",
     "fixed random random:"},
    {"no-samples", OPTION_NO_SAMPLES, NULL, "take no samples of the code that runs", NULL},
    {"frequency", OPTION_FREQUENCY, "HZ", "samples a second and CPU, 1 to 5000", "99"},
    {"sample", OPTION_SAMPLE, "EVENT", "what samples are taken by; EVENT:N: one each N of it",
     NULL},
    {"stacks", OPTION_STACKS, "HOW", "callers by fp, dwarf or lbr; or none", "fp",
     "fp dwarf lbr none"},
    {"commit", OPTION_COMMIT, "T", "time between commits, 0: every period", "1s"},
    {"durability", OPTION_DURABILITY, "HOW", "normal, or full: sync at every commit", "normal",
     "normal full"},
    {"keep", OPTION_KEEP, "T", "merge periods older than T, 16 to a row, then 256, ...", NULL},
    {"max-size", OPTION_MAX_SIZE, "SIZE", "merge old periods to keep the store below SIZE", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static int add_tag(struct rps_record_settings *settings, const char *text, struct rps_error *err)
{
    if (rps_tag_check("--tag", text, err) < 0)
        return RPS_USAGE;
    if (settings->tag_count == RPS_RECORD_LIST_MAX)
        return rps_error_set(err, RPS_USAGE, "--tag: a run can have %d tags; leave out '%s'",
                             RPS_RECORD_LIST_MAX, text);
    settings->tag[settings->tag_count++] = text;
    return 0;
}

static int set_durability(struct rps_record_settings *settings, const char *text,
                          struct rps_error *err)
{
    if (strcmp(text, "normal") != 0 && strcmp(text, "full") != 0)
        return rps_error_set(err, RPS_USAGE, "--durability: '%s' is neither normal nor full", text);
    settings->durability_full = strcmp(text, "full") == 0;
    return 0;
}

/* --order fixed, random or random:SEED. A seed that is drawn is short, so that it can be typed. */
static int set_order(struct rps_order *order, const char *text, struct rps_error *err)
{
    static const char seeded[] = "random:";
    uint32_t drawn = 0;

    *order = (struct rps_order){.is_random = strcmp(text, "fixed") != 0};
    if (strncmp(text, seeded, strlen(seeded)) == 0)
        return rps_parse_uint64("--order random:SEED", text + strlen(seeded), 0, INT64_MAX,
                                &order->seed, err);
    if (order->is_random && strcmp(text, "random") != 0)
        return rps_error_set(err, RPS_USAGE,
                             "--order: '%s' is neither fixed, random nor random:SEED", text);
    if (order->is_random && rps_random_bytes(&drawn, sizeof(drawn), err) < 0)
        return rps_error_prefix(err, RPS_FAILED, "--order random");
    order->seed = drawn;
    return 0;
}

static int set_max_size(struct rps_record_settings *settings, const char *text,
                        struct rps_error *err)
{
    uint64_t bytes = 0;
    int rc = rps_parse_size("--max-size", text, &bytes, err);

    if (rc < 0)
        return rc;
    if (bytes < RPS_MAX_BYTES_LEAST)
        return rps_error_set(err, RPS_USAGE,
                             "--max-size: '%s' is less than 4M, the least that a store can be kept "
                             "below",
                             text);
    settings->max_bytes = bytes;
    return 0;
}

/* An option whose argument must be some text. */
static int set_text(const char **ret, const char *what, const char *text, struct rps_error *err)
{
    if (text[0] == '\0')
        return rps_error_set(err, RPS_USAGE, "%s: the name is empty; leave the option out", what);
    *ret = text;
    return 0;
}

/* --delay T, or "off": not before --control says enable. */
static int set_delay(struct rps_record_settings *settings, const char *text, struct rps_error *err)
{
    if (strcmp(text, "off") == 0) {
        settings->delay_ns = -1;
        return 0;
    }
    return rps_parse_duration_ns("--delay", text, 0, YEAR_NS, &settings->delay_ns, err);
}

static int add_text(const char **list, int *count, const char *what, const char *text,
                    struct rps_error *err)
{
    if (*count == RPS_RECORD_LIST_MAX)
        return rps_error_set(err, RPS_USAGE, "%s: can be given %d times; leave out '%s'", what,
                             RPS_RECORD_LIST_MAX, text);
    list[(*count)++] = text;
    return 0;
}

static int set_stacks(enum rps_stacks *ret, const char *text, struct rps_error *err)
{
    static const char *const names[] = {
        [RPS_STACKS_FP] = "fp",
        [RPS_STACKS_DWARF] = "dwarf",
        [RPS_STACKS_LBR] = "lbr",
        [RPS_STACKS_NONE] = "none",
    };

    for (int i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret = (enum rps_stacks)i;
            return 0;
        }
    }
    return rps_error_set(err, RPS_USAGE, "--stacks: '%s' is none of fp, dwarf, lbr and none", text);
}

/* How samples are taken. */
static int set_sampling(struct rps_record_settings *settings, int letter, const char *argument,
                        struct rps_error *err)
{
    settings->asks_for_samples = 1;
    switch (letter) {
    case OPTION_SAMPLE:
        return set_text(&settings->sample, "--sample", argument, err);
    case OPTION_FREQUENCY:
        return rps_parse_uint64("--frequency", argument, 1, RPS_SAMPLE_FREQUENCY_MAX,
                                &settings->frequency, err);
    default:
        return set_stacks(&settings->stacks, argument, err);
    }
}

/* What is counted, and when. */
static int set_target(struct rps_record_settings *settings, int letter, const char *argument,
                      struct rps_error *err)
{
    switch (letter) {
    case 'p':
        return add_text(settings->pid, &settings->pid_count, "-p", argument, err);
    case 'e':
        return add_text(settings->events, &settings->event_count, "-e", argument, err);
    case OPTION_METRIC:
        return add_text(settings->metric, &settings->metric_count, "--metric", argument, err);
    case OPTION_SCENARIO:
        return set_text(&settings->scenario, "--scenario", argument, err);
    case 'a':
        settings->all_cpus = 1;
        return 0;
    case 'C':
        return set_text(&settings->cpus, "-C", argument, err);
    case 'G':
        return set_text(&settings->cgroup, "-G", argument, err);
    case OPTION_DELAY:
        return set_delay(settings, argument, err);
    default:
        return set_text(&settings->control, "--control", argument, err);
    }
}

static int set_option(struct rps_cli *cli, int letter, const char *argument)
{
    struct rps_record_settings *settings = cli->settings;
    struct rps_error *err = &cli->err;

    switch (letter) {
    case OPTION_PERIOD:
        return rps_parse_duration_ns("--period", argument, RPS_NS_PER_MS, HOUR_NS,
                                     &settings->period_ns, err);
    case OPTION_DURATION:
        return rps_parse_duration_ns("--duration", argument, RPS_NS_PER_MS, YEAR_NS,
                                     &settings->duration_ns, err);
    case OPTION_REPEAT:
        return rps_parse_uint64("--repeat", argument, 1, REPEAT_MAX, &settings->repeat, err);
    case OPTION_LABEL:
        settings->label = argument;
        return rps_label_check("--label", argument, err);
    case OPTION_TAG:
        return add_tag(settings, argument, err);
    case OPTION_SETS:
        return set_text(&settings->sets, "--sets", argument, err);
    case OPTION_PMU:
        return set_text(&settings->pmu, "--pmu", argument, err);
    case OPTION_NO_SAMPLES:
        settings->no_samples = 1;
        return 0;
    case OPTION_SAMPLE:
    case OPTION_FREQUENCY:
    case OPTION_STACKS:
        return set_sampling(settings, letter, argument, err);
    case OPTION_NO_MERGE:
        settings->no_merge = 1;
        return 0;
    case OPTION_ORDER:
        return set_order(&settings->order, argument, err);
    case OPTION_COMMIT:
        return rps_parse_duration_ns("--commit", argument, 0, HOUR_NS, &settings->commit_ns, err);
    case OPTION_DURABILITY:
        return set_durability(settings, argument, err);
    case OPTION_KEEP:
        return rps_parse_duration_ns("--keep", argument, KEEP_MIN_NS, 100 * YEAR_NS,
                                     &settings->keep_ns, err);
    case OPTION_MAX_SIZE:
        return set_max_size(settings, argument, err);
    default:
        return set_target(settings, letter, argument, err);
    }
}

static int check(struct rps_cli *cli)
{
    const struct rps_record_settings *settings = cli->settings;
    int targets = (settings->pid_count > 0) + (settings->cgroup != NULL) + settings->all_cpus;

    if (targets > 1 || (settings->pid_count > 0 && settings->cpus))
        return rps_error_set(&cli->err, RPS_USAGE,
                             "-p, -a and -G exclude each other, and -p takes no -C; choose one");
    if (settings->repeat > 0 && (targets > 0 || settings->cpus))
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--repeat runs one command again and again; leave out -p, -a, -C and "
                             "-G");
    if (settings->event_count > 0 && (settings->sets || settings->scenario))
        return rps_error_set(&cli->err, RPS_USAGE,
                             "-e names the events itself; leave out --sets and --scenario");
    if (settings->delay_ns < 0 && !settings->control)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--delay off: nothing would ever be counted without --control");
    if (strcmp(cli->output, "-") == 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "-o -: a store must be a file; name one, and see 'rpistat export' for "
                             "text");
    return 0;
}

const struct rps_command rps_command_record = {
    .name = "record",
    .summary = "record a program; the word 'record' may be left out",
    .usage = "[OPTIONS] [--] [COMMAND [ARG...]]",
    .description =
        "Run COMMAND, count processor events period by period into a store, and write\n"
        "the report beside it, to rpistat.txt. The exit status is COMMAND's own. With -p\n"
        "running processes are recorded until they end, with -a, -C or -G processors or a\n"
        "control group for as long as COMMAND runs; without it until Ctrl-C.",
    .examples = "  rpistat ./naive\n"
                "  rpistat --period 10ms --label first -o naive.data ./naive\n"
                "  rpistat record --repeat 5 --label before ./naive\n"
                "  rpistat -- plot          a program that is named like a command\n"
                "  rpistat -e instructions,branches -e r04,sched:sched_switch ./naive\n"
                "  rpistat -e page-faults,syscalls:sys_enter_futex ./naive\n"
                "  rpistat record -p 1234 --duration 1m\n"
                "  rpistat record -a        the machine, until Ctrl-C",
    .input = RPS_INPUT_NONE,
    .counts = 1,
    .output = RPS_OUTPUT_PATH,
    .output_help = "store to add the run to",
    .output_value = RPS_STORE_DEFAULT_PATH,
    .operand_max = -1,
    .runs_workload = 1,
    .options = options,
    .settings_size = sizeof(struct rps_record_settings),
    .option = set_option,
    .check = check,
    .run = rps_cmd_record,
};
