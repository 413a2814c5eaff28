/* `rpistat code`: the code that ran in a run, in a time range, and in each phase. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "rpistat/code_output.h"
#include "rpistat/code_store.h"
#include "rpistat/run_code.h"
#include "rpistat/run_phases.h"
#include "rpistat/store.h"

#define AT_MOST_TEXT 20 /* default number of rows in text output */
#define TITLE_WIDTH  96 /* maximum width of the title on a terminal */
#define FORMATS      RPS_DOCUMENT_FORMATS RPS_EXPORT_SAMPLE_FORMATS(RPS_EXPORT_WORD)

struct settings {
    enum rps_shares_by by;
    int is_tree, is_wall, is_latency, is_resolving;
    uint64_t at_most; /* 0 if --at-most is not given */
    const char *cpus, *region;
    enum rps_format format; /* an enum rps_format, or a larger number for a format that only this
                               command has */
    const struct rps_export_format *export;
    struct rps_texts binary;
};

#define AT(member) RPS_AT(struct settings, member)

#define WORD(by, name) " " name
#define LIST(by, name) ", " name

static const struct rps_option options[] = {
    {"by", 0, "NAME", &RPS_SHARES_BY(LIST)[2], NULL, RPS_OPTION_CHOICE, AT(by),
     .words = &RPS_SHARES_BY(WORD)[1]},
    {"lines", 0, NULL, "the same as --by line", NULL, RPS_OPTION_FLAG, AT(by), RPS_SHARES_LINE},
    {"tree", 0, NULL, "show calls as a tree (1 % of the samples and more)", NULL, RPS_OPTION_FLAG,
     AT(is_tree)},
    {"wall", 0, NULL, "include the time asleep (for runs of record --wall)", NULL, RPS_OPTION_FLAG,
     AT(is_wall)},
    {"latency", 0, NULL, "show for how long code lengthens the run", NULL, RPS_OPTION_FLAG,
     AT(is_latency)},
    {"at-most", 0, "N", "show at most N rows (default 20 in text)", NULL, RPS_OPTION_INT,
     AT(at_most), 1, INT32_MAX},
    {"cpu", 0, "CPUS", "show only these CPUs: 0-3,8", NULL, RPS_OPTION_TEXT, AT(cpus),
     .check = rps_cpus_check},
    {"region", 0, "NAME", "use only periods completely inside this region", NULL, RPS_OPTION_TEXT,
     AT(region)},
    {"format", 0, "NAME", "text json csv markdown html" RPS_EXPORT_SAMPLE_FORMATS(RPS_EXPORT_WORD),
     "text", RPS_OPTION_CHOICE, AT(format), .words = FORMATS, .gone_word = RPS_EXPORT_GONE,
     .gone_text = RPS_EXPORT_GONE_TEXT},
    {"resolve", 0, NULL, "look up symbols again, and store them", NULL, RPS_OPTION_FLAG,
     AT(is_resolving), .is_once = 1},
    {"binaries", 0, "PATH", "with --resolve: a program, or a directory of programs", NULL,
     RPS_OPTION_LIST, AT(binary), .is_once = 1},
    {NULL},
};

static int check_code(struct rps_cli *cli)
{
    static const struct rps_export_format *const exports[] = {
        RPS_EXPORT_SAMPLE_FORMATS(RPS_EXPORT_ROW)};
    struct settings *settings = cli->settings;
    int is_limited = rps_options_set(cli, "at-most", RPS_SOURCE_COMMAND_LINE) != NULL;
    int export = (int)settings->format - rps_options_word(FORMATS, "folded");

    if (export >= 0)
        settings->export = exports[export];
    if (settings->is_wall && settings->is_latency)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--wall adds up the time of all threads, and --latency divides it by "
                             "their number; leave one of them out");
    if (settings->is_wall && settings->by > RPS_SHARES_MODULE)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--wall cannot list off-CPU time by %s; leave out --by",
                             rps_code_by_names[settings->by]);
    if (settings->is_wall && export > 0)
        return rps_error_set(
            &cli->err, RPS_USAGE,
            "--format %s has samples only; leave out --wall, or use --format folded",
            settings->export->name);
    if (settings->is_tree && settings->by != RPS_SHARES_FUNCTION)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--tree shows functions; leave out --tree, or --by and --lines");
    if (settings->is_tree && is_limited)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--at-most applies to tables; leave out --at-most or --tree");
    if (settings->export && (settings->by != RPS_SHARES_FUNCTION || is_limited))
        return rps_error_set(
            &cli->err, RPS_USAGE,
            "--format %s has whole call stacks; leave out --by, --lines and --at-most",
            settings->export->name);
    if (settings->binary.count > 0 && !settings->is_resolving)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--binaries names files for --resolve; add --resolve");
    for (int i = 0; i < settings->binary.count; i++) {
        if (access(settings->binary.text[i], R_OK) < 0)
            return rps_error_set(&cli->err, RPS_FAILED, "--binaries: cannot read '%s': %s",
                                 settings->binary.text[i], strerror(errno));
    }
    if (settings->export && settings->export->is_binary && !cli->output && isatty(STDOUT_FILENO))
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--format %s is not for a terminal; name a file with -o",
                             settings->export->name);
    return 0;
}

/* Return 1 if the output is human-readable. */
static int is_read(const struct settings *settings)
{
    return settings->format != RPS_FORMAT_JSON && settings->format != RPS_FORMAT_CSV;
}

/* --- names ------------------------------------------------------------------------------------ */

static int resolve_names(struct rps_cli *cli, struct rps_code *code)
{
    const struct settings *settings = cli->settings;
    const struct rps_symbolize_options symbolizer = {
        .binary = settings->binary.text, .binary_count = (size_t)settings->binary.count};
    struct rps_error err;
    int result;

    rps_progress_begin(cli, "looking for names of functions");
    result = rps_symbolize(cli->arena, code, &symbolizer, &cli->err);
    if (result > 0 && !cli->quiet)
        rps_output_print("%s", rps_symbolize_refused);
    if (result >= 0 && rps_store_set_locations(cli->input, cli->run_id, code, &err) < 0) {
        rps_progress_end(cli);
        if (!cli->quiet)
            rps_output_print("cannot store the symbols with the run: %s", err.message);
    }
    rps_progress_end(cli);
    return result < 0 ? result : 0;
}

/* --- a time range of a run -------------------------------------------------------------------- */

struct job {
    struct rps_run run;
    struct rps_code code;
    struct rps_part_choice choice;
    struct rps_cpus cpus;
    struct rps_phase_levels levels;
    struct rps_run_part part; /* the arena holds the data of this member and of all members below */
    struct rps_shares shares;
    uint64_t samples, weight; /* number of samples of the part, and sum of their weights */
    uint64_t *cpu;            /* samples of each share, without weights */
    struct rps_calls calls;
    struct rps_off_cpu off_cpu;
    struct rps_off_cpu_share *waits;
    size_t *waiting; /* for each stack: the program's function that waits in it */
    struct rps_shares programs;
    struct rps_part_shares groups;
    struct rps_part_time *time, *groups_time;
};

/* Find the samples of each share without weights. */
static void find_cpu(struct rps_cli *cli, struct job *job, const uint64_t *samples,
                     enum rps_shares_by by)
{
    const struct rps_code *code = &job->code;
    const struct rps_shares shares = rps_shares_find(cli->arena, code, samples, by);
    const size_t items = code->frame_count + code->location_count + code->task_count + 1;
    uint64_t *of = rps_arena_get(cli->arena, items, sizeof(*of)); /* of each item */

    job->cpu = rps_arena_get(cli->arena, job->shares.count, sizeof(*job->cpu));
    for (size_t i = 0; i < shares.count; i++)
        of[shares.share[i].item] = shares.share[i].self;
    for (size_t i = 0; i < job->shares.count; i++)
        job->cpu[i] = of[job->shares.share[i].item];
    if (job->samples < RPS_SHARES_SAMPLES_MIN)
        job->shares.samples = 0; /* too few samples for shares */
}

static int find_time(struct rps_cli *cli, struct job *job)
{
    const struct settings *settings = cli->settings;
    struct rps_off_cpu time, moved;
    int result = rps_off_cpu_read(cli->arena, cli->reader, cli->run_id, &job->part, &job->cpus,
                                  &job->code, &time, &cli->err);

    if (result < 0)
        return result;
    job->waiting = rps_off_cpu_callers(cli->arena, &job->code, RPS_OFF_CPU_FUNCTION);
    moved = rps_off_cpu_move(cli->arena, &job->code, &time, job->waiting);
    job->shares = rps_shares_find(cli->arena, &job->code, moved.time, settings->by);
    job->waits =
        rps_off_cpu_shares(cli->arena, &job->code, &time, job->waiting, settings->by, &job->shares);
    job->off_cpu = moved;
    job->samples = time.samples;
    if (settings->is_tree) {
        job->off_cpu =
            rps_off_cpu_move(cli->arena, &job->code, &time,
                             rps_off_cpu_callers(cli->arena, &job->code, RPS_OFF_CPU_REASON));
        job->calls = rps_shares_calls(cli->arena, &job->code, job->off_cpu.time);
    }
    return 0;
}

/* Find the shares that code tables show. For text output, also find the programs that ran. */
static int find_shares(struct rps_cli *cli, struct job *job)
{
    const struct settings *settings = cli->settings;
    int tasks = settings->by >= RPS_SHARES_PROCESS;
    struct rps_code_counts counts = {0}, programs = {0};
    int result;

    if (settings->is_wall)
        return find_time(cli, job);
    result = rps_code_counts_read(cli->arena, &counts, cli->reader, cli->run_id, &job->part,
                                  &job->cpus, &job->code, tasks, &cli->err);
    if (result < 0)
        return result;
    job->samples = counts.samples_of[0];
    job->weight = counts.of[0];
    job->shares = rps_shares_find(cli->arena, &job->code, counts.id, settings->by);
    if (settings->is_tree)
        job->calls = rps_shares_calls(cli->arena, &job->code, counts.id);
    if (settings->is_latency)
        find_cpu(cli, job, counts.samples_id, settings->by);
    if (tasks || !is_read(settings))
        return 0;
    result = rps_code_counts_read(cli->arena, &programs, cli->reader, cli->run_id, &job->part,
                                  &job->cpus, &job->code, RPS_COUNT_TASKS, &cli->err);
    if (result == 0)
        job->programs = rps_shares_find(cli->arena, &job->code, programs.id, RPS_SHARES_PROGRAM);
    return result;
}

static int find_label_times(struct rps_cli *cli, struct job *job, const struct rps_run_part *labels)
{
    struct rps_off_cpu *time = rps_arena_get(cli->arena, labels->group_count, sizeof(*time));

    if (rps_off_cpu_read(cli->arena, cli->reader, cli->run_id, labels, &job->cpus, &job->code, time,
                         &cli->err) < 0)
        return RPS_FAILED;
    job->groups.group = rps_arena_get(cli->arena, labels->group_count, sizeof(*job->groups.group));
    job->groups.group_count = labels->group_count;
    for (size_t g = 0; g < labels->group_count; g++) {
        struct rps_off_cpu moved = rps_off_cpu_move(cli->arena, &job->code, &time[g], job->waiting);
        struct rps_shares shares =
            rps_shares_find(cli->arena, &job->code, moved.time, RPS_SHARES_FUNCTION);
        struct rps_share_group *group = &job->groups.group[g];

        group->weight = moved.time_us;
        group->waited_s = (double)moved.waited_us / 1e6;
        for (size_t i = 0; i < shares.count && i < RPS_SHARES_TOP; i++)
            group->top[group->count++] =
                (struct rps_share_top){{.name = shares.share[i].name, .module = "", .file = ""},
                                       (double)shares.share[i].self / (double)moved.time_us};
    }
    return 0;
}

/* Find the functions of each phase, for code tables. */
static int find_groups(struct rps_cli *cli, struct job *job)
{
    const struct settings *settings = cli->settings;
    struct rps_run_part labels;
    int result;

    if (job->choice.phase || settings->is_tree || settings->by > RPS_SHARES_MODULE)
        return 0;
    result =
        rps_run_phases_get(cli->arena, cli->reader, cli->run_id, &job->levels, NULL, &cli->err);
    if (result <= 0 || rps_phase_levels_shown(&job->levels)->label_count < 2)
        return result < 0 ? result : 0;
    labels = rps_run_part_of_phases(cli->arena, rps_phase_levels_shown(&job->levels), 1);
    labels = rps_run_part_both(cli->arena, &labels, &job->part);
    if (settings->is_wall)
        return is_read(settings) ? find_label_times(cli, job, &labels) : 0;
    result = rps_code_part_shares(cli->arena, cli->reader, cli->run_id, &labels, 1, &job->cpus,
                                  &job->code, &job->groups, &cli->err);
    if (result == 0)
        result = rps_run_part_time(cli->arena, cli->reader, cli->run_id, &job->choice, &labels,
                                   &job->cpus, &job->groups_time, &cli->err);
    return result;
}

static int find_part_shares(struct rps_cli *cli, struct job *job)
{
    int result;

    rps_progress_begin(cli, "looking at the code");
    result = rps_run_part_choose(cli->arena, cli->reader, cli->run_id, &job->choice, &job->part,
                                 &cli->err);
    if (result == 0)
        result = rps_latency_read(cli->arena, cli->reader, cli->run_id, &job->code, &job->part,
                                  &cli->err);
    if (result == 0 && job->part.count == 0)
        result = rps_run_code_no_period(cli->run_id, &cli->err);
    if (result == 0)
        result = rps_run_part_time(cli->arena, cli->reader, cli->run_id, &job->choice, &job->part,
                                   &job->cpus, &job->time, &cli->err);
    if (result == 0)
        result = find_shares(cli, job);
    if (result == 0)
        result = find_groups(cli, job);
    rps_progress_end(cli);
    return result;
}

/* Return a text such as "phase B, region solve, 10.0 s to 20.0 s", or NULL for the whole run. */
static const char *part_text(struct rps_arena *arena, const struct rps_part_choice *choice)
{
    char *phase = rps_arena_print(arena, "%s", choice->phase ? choice->phase : "");
    const char *text;

    for (char *at = phase; *at; at++) /* the user may have typed a small letter */
        *at = (char)toupper((unsigned char)*at);
    text = *phase ? rps_arena_print(arena, "phase %s", phase) : "";
    if (choice->region)
        text = rps_arena_print(arena, "%s%sregion %s", text, *text ? ", " : "", choice->region);
    if (choice->from_ns > 0)
        text = rps_arena_print(arena, "%s%sfrom %.3f s", text, *text ? ", " : "",
                               (double)choice->from_ns / 1e9);
    if (choice->to_ns < INT64_MAX)
        text = rps_arena_print(arena, "%s%sto %.3f s", text,
                               (choice->from_ns > 0) ? " " : (*text ? ", " : ""),
                               (double)choice->to_ns / 1e9);
    return *text ? text : NULL;
}

static int write_job(struct rps_cli *cli, const struct job *job)
{
    const struct settings *settings = cli->settings;
    int columns = 0;
    struct rps_document document = {.arena = cli->arena, .width = RPS_DOCUMENT_WIDTH};
    locale_t before = uselocale(rps_format_locale(cli, settings->format));
    const char *part = part_text(cli->arena, &job->choice);
    struct rps_unsampled unsampled = rps_code_unsampled(cli->arena, &job->code);
    struct rps_code_output output = {
        .run = &job->run,
        .code = &job->code,
        .part = part,
        .is_tree = settings->is_tree,
        .by = settings->by,
        .shares = &job->shares,
        .calls = &job->calls,
        .at_most = settings->at_most > 0 ? (size_t)settings->at_most
                   : is_read(settings)   ? AT_MOST_TEXT
                                         : 0,
        .programs = &job->programs,
        .time = job->time[0],
        .is_whole = !part && job->cpus.count == 0,
        .unsampled = &unsampled,
        .groups = job->groups.group ? &job->groups : NULL,
        .groups_time = job->groups_time,
        .off_cpu = settings->is_wall ? &job->off_cpu : NULL,
        .waits = job->waits,
        .latency = job->part.latency,
        .is_time = settings->is_wall || settings->is_latency,
        .samples = job->samples,
        .weight = job->weight,
        .cpu = job->cpu,
        .is_read = is_read(settings),
        .width = INT16_MAX,
    };

    if (cli->out == stdout && rps_output_terminal(&columns, NULL))
        output.width = columns < TITLE_WIDTH ? columns : TITLE_WIDTH;
    rps_code_blocks(&document, &output);
    uselocale(before);
    rps_format_document(cli, &document, settings->format);
    return 0;
}

static int run_code(struct rps_cli *cli)
{
    const struct settings *settings = cli->settings;
    struct job job = {.choice = {.from_ns = cli->from_ns,
                                 .to_ns = cli->to_ns,
                                 .phase = cli->argv[0],
                                 .region = settings->region,
                                 .is_latency = settings->is_latency,
                                 .is_wall = settings->is_wall}};
    int result = job.choice.phase ? rps_run_part_check(job.choice.phase, &cli->err) : 0;

    if (result == 0)
        result = rps_cpus_choose(cli, settings->cpus, &job.cpus);
    if (result == 0)
        result = rps_reader_run(cli->arena, cli->reader, cli->run_id, &job.run, &cli->err);
    if (result < 0)
        return result;
    result = rps_reader_code(cli->arena, cli->reader, cli->run_id, &job.code, &cli->err);
    if (result >= 0 && !rps_code_is_sampled(&job.run, &job.code))
        result = rps_run_code_none(cli->run_id, &cli->err);
    if (result > 0 && settings->by == RPS_SHARES_CGROUP &&
        rps_run_code_check_cgroups(cli->run_id, &job.code, &cli->err) < 0)
        result = RPS_FAILED;
    if (result > 0)
        result = settings->is_resolving ? resolve_names(cli, &job.code) : 0;
    if (result == 0 && settings->export) {
        result = rps_export_part(settings->export, cli->out, cli->reader, cli->run_id, &job.choice,
                                 &job.cpus, &cli->err);
    } else if (result == 0) {
        result = find_part_shares(cli, &job);
        if (result == 0)
            result = write_job(cli, &job);
    }
    return result;
}

const struct rps_command rps_command_code = {
    .name = "code",
    .summary = "list functions, lines or threads, by phase",
    .answers = "Which code uses the CPU time of a run or of a phase?",
    .usage = "[OPTIONS] [PHASE]",
    .description =
        "Show which code ran: functions by default, or lines, threads and others (--by).\n"
        "Also show the functions of each phase class. PHASE selects phases: B is every\n"
        "phase B, B.2 is the second one, and 2-4 are numbers from 0, as `phases` prints\n"
        "them in JSON.",
    .examples = "  rpistat code\n"
                "  rpistat code B --lines\n"
                "  rpistat code --tree --from 10s --to 20s\n"
                "  rpistat code --wall\n"
                "  rpistat code --latency --by program\n"
                "  rpistat code --by thread --format csv\n"
                "  rpistat code B --format folded | flamegraph.pl > b.svg\n"
                "  rpistat code --resolve --binaries ./build",
    .input = RPS_INPUT_RUN,
    .output = RPS_OUTPUT_STREAM,
    .output_help = "file to write",
    .operand_max = 1,
    .options = RPS_OPTIONS(options),
    .settings_size = sizeof(struct settings),
    .check = check_code,
    .run = run_code,
};
