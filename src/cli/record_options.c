/* The options of `record`: all settings of a recording, checked before anything is started. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "record.h"
#include "rpistat/clock.h"
#include "rpistat/text.h"
#include "rpistat/plan.h"
#include "rpistat/random.h"
#include "rpistat/store.h"

#define HOUR_NS (3600 * RPS_NS_PER_S)
#define YEAR_NS (366 * 24 * HOUR_NS)

/* Minimum of --keep: the periods of the last minutes are rewritten anyway. */
#define KEEP_MIN_NS (60 * RPS_NS_PER_S)

/* Maximum of --repeat, far above useful values. */
#define REPEAT_MAX 1000

/* Minimum of --system-metrics-budget, as a share of a CPU. */
#define BUDGET_MIN 1e-5

/* Parse --order random, fixed or random:SEED. A random seed is short, so that users can type it. */
static int set_order(const char *option, const char *text, void *member, struct rps_error *err)
{
    static const char seeded[] = "random:";
    struct rps_order *order = member;
    uint32_t drawn = 0;

    *order = (struct rps_order){.is_random = strcmp(text, "fixed") != 0};
    if (strncmp(text, seeded, strlen(seeded)) == 0)
        return rps_parse_uint64("--order random:SEED", text + strlen(seeded), 0, INT64_MAX,
                                &order->seed, err);
    if (order->is_random && strcmp(text, "random") != 0)
        return rps_error_set(err, RPS_USAGE,
                             "%s: '%s' is not an order; write 'random', 'fixed' or 'random:SEED'",
                             option, text);
    if (order->is_random && rps_random_bytes(&drawn, sizeof(drawn), err) < 0)
        return rps_error_prefix(err, RPS_FAILED, "--order random");
    order->seed = drawn;
    return 0;
}

/* Parse --delay T or --delay off. With "off", the recording waits until --control sends enable. */
static int set_delay(const char *option, const char *text, void *member, struct rps_error *err)
{
    int64_t *delay_ns = member;

    if (strcmp(text, "off") != 0)
        return rps_parse_duration_ns(option, text, 0, YEAR_NS, delay_ns, err);
    *delay_ns = -1;
    return 0;
}

/* Parse the percentage P of --system-metrics-budget P% as a share. */
static int set_budget(const char *option, const char *text, void *member, struct rps_error *err)
{
    char number[32];
    double *budget = member;
    size_t length = strlen(text);
    int rc;

    if (length < 2 || length > sizeof(number) || text[length - 1] != '%')
        return rps_error_set(err, RPS_USAGE, "%s: '%s' is not a percentage; write one like 0.1%%",
                             option, text);
    memcpy(number, text, length - 1);
    number[length - 1] = '\0';
    if ((rc = rps_parse_double(option, number, budget, err)) < 0)
        return rc;
    *budget /= 100;
    if (!(*budget >= BUDGET_MIN && *budget <= 1))
        return rps_error_set(err, RPS_USAGE, "%s: '%s' is out of range; write 0.001%% to 100%%",
                             option, text);
    return 0;
}

#define AT(member) RPS_AT(struct rps_record_settings, member)

static const struct rps_option options[] = {
    {"period", 0, "T", "measurement period, 1ms to 1h", "100ms", RPS_OPTION_DURATION, AT(period_ns),
     RPS_NS_PER_MS, HOUR_NS},
    {"fine-start", 0, NULL, "use shorter periods in the first seconds", NULL, RPS_OPTION_FLAG,
     AT(fine_start)},
    {"duration", 0, "T", "stop recording after T; the workload continues", NULL,
     RPS_OPTION_DURATION, AT(duration_ns), RPS_NS_PER_MS, YEAR_NS},
    {"repeat", 0, "N", "record COMMAND N times, as one group of runs", NULL, RPS_OPTION_INT,
     AT(repeat), 1, REPEAT_MAX, .excludes = "pid all-cpus cpu cgroup"},
    {"warmup", 0, "N", "first run COMMAND N times without recording", NULL, RPS_OPTION_INT,
     AT(warmup), 1, REPEAT_MAX, .excludes = "pid all-cpus cpu cgroup"},
    {"prepare", 0, "COMMAND", "run COMMAND with sh before each run", NULL, RPS_OPTION_TEXT,
     AT(prepare), 1, .excludes = "pid all-cpus cpu cgroup"},
    {"alternate", 0, NULL, "with --repeat: alternate two commands, A -- B", NULL, RPS_OPTION_FLAG,
     AT(alternate)},
    {"delay", 0, "T", "start counting after T; off: by --control", NULL, RPS_OPTION_OTHER,
     AT(delay_ns), .set = set_delay, .words = "off"},
    {"control", 0, "PIPE", "read commands from a pipe, fifo:PATH", NULL, RPS_OPTION_TEXT,
     AT(control), 1, .words = "fifo:"},
    {"pid", 'p', "LIST", "record running processes with all threads", NULL, RPS_OPTION_LIST,
     AT(pid), .excludes = "all-cpus cpu cgroup"},
    {"all-cpus", 'a', NULL, "record the whole machine, CPU by CPU", NULL, RPS_OPTION_FLAG,
     AT(all_cpus), .excludes = "cgroup"},
    {"cpu", 'C', "LIST", "record these CPUs: 0-3,8", NULL, RPS_OPTION_TEXT, AT(cpus), 1},
    {"cgroup", 'G', "NAME", "record a control group; may be repeated", NULL, RPS_OPTION_LIST,
     AT(cgroup), 1, RPS_TARGET_CGROUPS_MAX},
    {"label", 0, "TEXT", "label of the run, for --run in other commands", "", RPS_OPTION_TEXT,
     AT(label), 0, RPS_RUN_TEXT_SIZE - 1},
    {"tag", 0, "KEY=VALUE", "tag of the run; may be repeated", NULL, RPS_OPTION_LIST, AT(tag),
     .check = rps_tag_check},
    {"sets", 0, "NAME", "event sets: NAME (rpistat events) or .ini file", NULL, RPS_OPTION_TEXT,
     AT(sets), 1, .names = rps_plan_names},
    {"scenario", 0, "NAME", "l1, l2, tlb, ipc, branches, topdown, syscalls", NULL, RPS_OPTION_TEXT,
     AT(scenario), 1, .names = rps_plan_scenarios},
    {"event", 'e', "LIST", "count these events as one set; may be repeated", NULL, RPS_OPTION_LIST,
     AT(events), .excludes = "sets scenario"},
    {"metric", 0, "TEXT", "add a metric, [NAME=]FORMULA; may be repeated", NULL, RPS_OPTION_LIST,
     AT(metric)},
    {"pmu", 0, "NAME", "hardware, software or sim:SCRIPT", "auto", RPS_OPTION_TEXT, AT(pmu), 1,
     .words = "auto hardware software sim:"},
    {"always-rotate", 0, NULL, "rotate event sets even if all fit the counters", NULL,
     RPS_OPTION_FLAG, AT(always_rotate), .old_name = "no-merge"},
    {"order", 0, "HOW", "random, fixed or random:SEED", "random", RPS_OPTION_OTHER, AT(order),
     .set = set_order, .words = "random fixed random:"},
    {"no-samples", 0, NULL, "do not sample the code", NULL, RPS_OPTION_FLAG, AT(no_samples)},
    {"frequency", 0, "HZ", "samples per second and CPU, 1-5000", "99", RPS_OPTION_INT,
     AT(frequency), 1, RPS_SAMPLE_FREQUENCY_MAX},
    {"sample", 0, "EVENT", "sample by EVENT; EVENT:N: once per N events", NULL, RPS_OPTION_TEXT,
     AT(sample), 1},
    {"sample-on", 0, "WHAT", "sample whole cpus, or only tasks", "auto", RPS_OPTION_CHOICE,
     AT(sample_on), .words = "auto cpus tasks"},
    {"stacks", 0, "HOW", "fp, dwarf, lbr, none or auto", "auto", RPS_OPTION_CHOICE, AT(stacks),
     .words = "auto fp dwarf lbr none"},
    {"jit-names", 0, NULL, "make Java, Node, ... write names of JIT code", NULL, RPS_OPTION_FLAG,
     AT(jit_names)},
    {"wall", 0, NULL, "record where threads sleep (see code --wall)", NULL, RPS_OPTION_FLAG,
     AT(wall), .excludes = "no-samples all-cpus cpu cgroup"},
    {"system-metrics", 0, "WHAT", "tree, machine, package, all, off", "all", RPS_OPTION_CHOICE,
     AT(signals), .words = "off tree machine package all", .old_name = "signals"},
    {"system-metrics-budget", 0, "P", "CPU share for --system-metrics", "0.1%", RPS_OPTION_OTHER,
     AT(system_budget), .set = set_budget, .old_name = "signal-budget"},
    {"commit", 0, "T", "commit every T; 0: every period", "1s", RPS_OPTION_DURATION, AT(commit_ns),
     0, HOUR_NS},
    {"durability", 0, "HOW", "normal; full: sync each commit", "normal", RPS_OPTION_CHOICE,
     AT(durability_full), .words = "normal full"},
    {"keep", 0, "T", "downsample periods that are older than T", NULL, RPS_OPTION_DURATION,
     AT(keep_ns), KEEP_MIN_NS, 100 * YEAR_NS},
    {"max-size", 0, "SIZE", "keep the store below SIZE by downsampling", NULL, RPS_OPTION_SIZE,
     AT(max_bytes), RPS_MAX_BYTES_MIN},
    {NULL},
};

static int check_record(struct rps_cli *cli)
{
    struct rps_record_settings *settings = cli->settings;

    settings->asks_for_samples =
        settings->wall ||
        rps_options_set(cli, "sample frequency sample-on stacks", RPS_SOURCE_FILE);
    settings->needs_system = settings->signals != RPS_RECORD_SYSTEM_OFF &&
                             rps_options_set(cli, "system-metrics", RPS_SOURCE_COMMAND_LINE);
    if (settings->signals == RPS_RECORD_SYSTEM_TREE && (settings->all_cpus || settings->cpus))
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--system-metrics tree: whole CPUs have no tree of processes; use "
                             "--system-metrics machine");
    if (settings->signals == RPS_RECORD_SYSTEM_PACKAGE && !settings->all_cpus &&
        strncmp(settings->pmu, "sim:", strlen("sim:")) != 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--system-metrics package covers whole packages, not a program or "
                             "some CPUs; record with -a");
    if (settings->delay_ns < 0 && !settings->control)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--delay off counts nothing until the command enable; add --control");
    if (settings->alternate && settings->repeat == 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--alternate belongs to --repeat; add --repeat 10, for example");
    if (strcmp(cli->output, "-") == 0)
        return rps_error_set(
            &cli->err, RPS_USAGE,
            "-o -: a store must be a file; name one (`rpistat export` writes text)");
    return 0;
}

/* Set environment variables that the command inherits. They ask runtimes that compile code while a
 * program runs to write the names of this code to /tmp/perf-PID.map. Options that a variable
 * already has are kept. */
static int ask_for_names(struct rps_cli *cli)
{
    static const struct {
        const char *name, *value;
    } variables[] = {
        {"NODE_OPTIONS", "--perf-basic-prof"},
        {"JAVA_TOOL_OPTIONS", "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions "
                              "-XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer"},
        {"PYTHONPERFSUPPORT", "1"},     /* since Python 3.12 */
        {"DOTNET_PerfMapEnabled", "1"}, /* .NET */
    };

    for (size_t i = 0; i < RPS_COUNT(variables); i++) {
        const char *value = variables[i].value, *before = getenv(variables[i].name);

        if (before && value[0] == '-')
            value = rps_arena_print(cli->arena, "%s %s", before, value);
        if (setenv(variables[i].name, value, 1) < 0)
            return rps_error_memory(&cli->err);
    }
    return 0;
}

static int record(struct rps_cli *cli)
{
    const struct rps_record_settings *settings = cli->settings;

    if (settings->jit_names && ask_for_names(cli) < 0)
        return RPS_FAILED;
    return settings->repeat > 0 || settings->warmup > 0 || settings->prepare
               ? rps_record_series(cli)
               : rps_record_once(cli, cli->argc, cli->argv, NULL);
}

const struct rps_command rps_command_record = {
    .name = "record",
    .summary = "record a program, processes, a control group or the machine",
    .answers = "How does a program, a process or a machine behave over time?",
    .usage = "[OPTIONS] [--] [COMMAND [ARG...]]",
    .description =
        "Run COMMAND and record it: write one row per measurement period to the store,\n"
        "and a short report to rpistat.txt (`rpistat report` prints more). The exit\n"
        "status is that of COMMAND. -p records running processes until they end; -a, -C\n"
        "and -G record CPUs or a control group while COMMAND runs, or until Ctrl-C.",
    .examples = "  rpistat ./naive\n"
                "  rpistat --period 10ms --label first -o naive.data ./naive\n"
                "  rpistat record --repeat 5 --label before ./naive\n"
                "  rpistat record --repeat 10 --warmup 1 --alternate ./old -- ./new\n"
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
    .options = RPS_OPTIONS(options),
    .settings_size = sizeof(struct rps_record_settings),
    .check = check_record,
    .run = record,
};
