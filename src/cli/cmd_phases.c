/* `rpistat phases`: the times at which a run changes its behaviour, and its phases' properties. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "phases.h"
#include "rpistat/error.h"
#include "rpistat/profile.h"
#include "rpistat/run_phases.h"
#include "rpistat/store.h"
#include "zone.h"

#define OBSERVATIONS_MIN 4

#define COMPONENTS_MAX 5

/* --- output ----------------------------------------------------------------------------------- */

/* Return an array of pointers to the rows of an array of names. */
static const char **pointers(struct rps_cli *cli, const char *name, size_t size, size_t count)
{
    const char **pointer = rps_arena_get(cli->arena, count, sizeof(*pointer));

    for (size_t i = 0; i < count; i++)
        pointer[i] = name + i * size;
    return pointer;
}

static const struct rps_phases *shown_of(const struct rps_found_phases *found)
{
    return rps_phase_levels_shown(&found->levels);
}

/* Store the detected phases with the run for other commands. On failure, the command continues. */
static void store_detection(struct rps_cli *cli, const struct rps_phase_output *output,
                            const struct rps_found_phases *found)
{
    struct rps_detection detection = {.parameters = (char *)output->parameters,
                                      .remark = (char *)output->remark,
                                      .levels = found->levels};
    struct rps_error err;

    snprintf(detection.method, sizeof(detection.method), "%s", output->method);
    if (rps_store_add_detection(cli->input, cli->run_id, &detection, &err) < 0) {
        rps_progress_end(cli);
        if (!cli->quiet)
            rps_output_print("cannot store the phases with the run: %s", err.message);
    }
}

/* Write the phases that were found in a run or a table. */
static int write_found(struct rps_cli *cli, struct rps_phase_output *output,
                       const struct rps_found_phases *found, const struct rps_phases_options *find)
{
    const struct rps_phases_settings *settings = cli->settings;
    struct rps_document document = {.arena = cli->arena,
                                    .locale = rps_format_locale(cli, settings->format)};
    char *parameters =
        rps_phase_output_parameters(find, &found->details, output->run ? settings->cpus : NULL,
                                    output->signal, output->signal_count);

    if (!parameters)
        return rps_error_memory(&cli->err);
    output->parameters = parameters;
    output->method = find->detect.exact ? "exact" : "screened";
    output->phases = shown_of(found);
    output->fine = &found->levels.level[found->levels.count - 1];
    output->level_count = found->tree_count;
    output->level = found->tree;
    output->level_shown = found->tree_shown;
    output->level_usual = found->tree_usual;
    output->unfolded = settings->of.find.level.fine;
    output->is_passing =
        rps_options_set(cli, "level at-most sensitivity", RPS_SOURCE_COMMAND_LINE) != NULL;
    if (output->remark && !output->remark[0])
        output->remark = NULL;
    if (output->run && cli->from_ns == 0 && cli->to_ns == INT64_MAX && !output->is_passing)
        store_detection(cli, output, found);
    rps_phase_document(&document, output);
    rps_progress_end(cli);
    rps_format_document(cli, &document, settings->format);
    free(parameters);
    return 0;
}

/* --- a run ------------------------------------------------------------------------------------ */

struct run_job {
    struct rps_run run;
    struct rps_run_phases_options *options;
    struct rps_run_phases found;
    struct rps_profile profile;
    struct rps_run_components components;
    struct rps_part_shares shares; /* shares of the labels; empty without samples */
    struct rps_run_bursts bursts;
    const char **signal, **component_signal; /* pointers to the names in the members above */
    char remark[RPS_PHASE_REMARK_SIZE];
};

/* Profile the phases, the bursts, and the tenths for the remark. */
static int profile_phases(struct rps_cli *cli, struct run_job *job)
{
    struct rps_phases phases[3] = {*shown_of(&job->found.found)};
    struct rps_profile profile[3];
    int result;

    job->bursts = rps_run_bursts_find(cli->arena, &phases[0]);
    phases[1] = job->bursts.described;
    phases[2] = rps_profile_tenths(cli->arena, &job->found.found);
    result = rps_profile_run(cli->arena, cli->reader, cli->run_id, cli->from_ns, cli->to_ns,
                             &job->options->cpus, phases, 3, 2, profile, &cli->err);
    if (result < 0)
        return result;
    job->profile = profile[0];
    rps_profile_remark(&job->found.found, &job->found.observing, &profile[2], job->remark);
    if (rps_profile_remark_memory(cli->arena, cli->reader, cli->run_id, &phases[0], job->remark,
                                  &cli->err) < 0)
        return RPS_FAILED;
    return rps_run_bursts_describe(cli->arena, cli->reader, cli->run_id, &job->options->cpus,
                                   &phases[0], &profile[1], &job->shares, &job->bursts, &cli->err);
}

static int detect_run(struct rps_cli *cli, struct run_job *job)
{
    struct rps_phases_settings *settings = cli->settings;
    struct rps_run_phases_options *options = job->options = &settings->of;
    const struct rps_run_at at = {cli->reader, cli->run_id};
    const int is_part = cli->from_ns > 0 || cli->to_ns < INT64_MAX;
    int result = rps_cpus_choose(cli, settings->cpus, &options->cpus);

    options->from_ns = cli->from_ns;
    options->to_ns = cli->to_ns;
    options->metric = settings->metric.name;
    options->metric_count = settings->metric.count;
    if (result == 0)
        result = rps_reader_run(cli->arena, cli->reader, cli->run_id, &job->run, &cli->err);
    if (result == 0)
        result = rps_run_phases_detect(cli->arena, &at, 1, options, &job->found, &cli->err);
    if (result == 0 && job->found.observation_count < OBSERVATIONS_MIN)
        result = rps_error_set(
            &cli->err, RPS_FAILED,
            "run %" PRId64 " has %zu measurement period%s%s; phases need at least %d: %s",
            cli->run_id, job->found.observation_count, job->found.observation_count == 1 ? "" : "s",
            is_part ? " in this range" : "", OBSERVATIONS_MIN,
            is_part ? "choose a longer range" : "record again with a shorter --period");
    if (result == 0)
        result = profile_phases(cli, job);
    if (result == 0 && !settings->of.no_samples)
        rps_profile_code(&job->profile, &job->shares);
    if (result == 0 && settings->components)
        result = rps_run_components_find(cli->arena, &at, options, COMPONENTS_MAX, &job->components,
                                         &cli->err);
    if (result < 0)
        return result;
    job->signal =
        pointers(cli, job->found.signal[0], sizeof(job->found.signal[0]), job->found.signal_count);
    job->component_signal =
        pointers(cli, (const char *)job->components.name, sizeof(job->components.name[0]),
                 job->components.components.signal_count);
    return 0;
}

static int write_run(struct rps_cli *cli, struct run_job *job)
{
    const struct rps_phases_settings *settings = cli->settings;
    char title[640], command[512];
    struct rps_phase_output output = {
        .title = title,
        .unit = rps_run_is_import(&job->run) ? "row" : "period",
        .block = job->found.resolution > 0 ? 1 << (RPS_LEVEL_BITS * job->found.resolution) : 0,
        .periods_from_ns = job->found.periods_from_ns,
        .run = &job->run,
        .observations = job->found.observation_count,
        .signal_count = job->found.signal_count,
        .signal = job->signal,
        .profile = &job->profile,
        .bursts = &job->bursts,
        .shares = job->shares.group_count > 0 ? &job->shares : NULL,
        .components = settings->components ? &job->components.components : NULL,
        .component_signal = job->component_signal,
        .remark = job->remark,
    };
    struct rps_phases_options find = job->options->find;

    find.detect.min_length = job->found.min_length;
    snprintf(title, sizeof(title), "run %" PRId64 ", %s", cli->run_id,
             rps_run_title(command, sizeof(command), &job->run));
    return write_found(cli, &output, &job->found.found, &find);
}

static int phases_of_run(struct rps_cli *cli)
{
    struct run_job job = {0};
    int result = detect_run(cli, &job);

    return result == 0 ? write_run(cli, &job) : result;
}

/* --- a table ---------------------------------------------------------------------------------- */

struct table_job {
    struct rps_csv_signals table;
    struct rps_found_phases found;
    struct rps_profile profile;
    struct rps_components components;
    const char **name; /* pointers to the column names of the table */
};

static const char *table_name(const struct rps_phases_settings *settings)
{
    return strcmp(settings->csv, "-") == 0 ? "standard input" : settings->csv;
}

static int read_table(struct rps_cli *cli, struct table_job *job)
{
    struct rps_phases_settings *settings = cli->settings;
    char *zone;
    int result;

    settings->table.metric = settings->metric.name;
    settings->table.metric_count = settings->metric.count;
    settings->table.note = cli->quiet ? NULL : rps_output_message;
    settings->table.set_zone = settings->zone ? NULL : rps_zone_set;
    zone = rps_zone_enter(settings->zone);
    result = rps_import_signals_read(cli->arena, settings->csv, &settings->table, &job->table,
                                     &cli->err);
    rps_zone_leave(zone);
    if (result == 0 && job->table.signals.count < OBSERVATIONS_MIN)
        result =
            rps_error_set(&cli->err, RPS_FAILED, "%s has %zu row%s; use a table of at least %d",
                          table_name(settings), job->table.signals.count,
                          job->table.signals.count == 1 ? "" : "s", OBSERVATIONS_MIN);
    return result;
}

static int find_in_table(struct rps_cli *cli, struct table_job *job)
{
    const struct rps_phases_settings *settings = cli->settings;
    struct rps_phases_options find = settings->of.find;
    struct rps_signals even = rps_csv_signals_even(cli->arena, &job->table.signals);
    int result;

    find.detect.min_length =
        (find.detect.min_length + job->table.rows_per - 1) / job->table.rows_per;
    result = rps_phases_find(cli->arena, &even, &find, &job->found, &cli->err);
    if (result == 0)
        rps_csv_signals_set_rows(&job->table, &job->found);
    return result;
}

static int detect_table(struct rps_cli *cli, struct table_job *job)
{
    const struct rps_phases_settings *settings = cli->settings;
    int result = read_table(cli, job);

    if (result < 0)
        return result;
    job->name = pointers(cli, job->table.name[0], sizeof(job->table.name[0]),
                         job->table.signals.signal_count);
    result = find_in_table(cli, job);
    if (result == 0)
        job->profile = rps_profile_signals(cli->arena, &job->table.signals, job->name,
                                           job->table.rows_per, shown_of(&job->found));
    if (result == 0 && settings->components)
        result = rps_components_find(cli->arena, &job->table.signals, COMPONENTS_MAX,
                                     &job->components, &cli->err);
    return result;
}

static int phases_of_table(struct rps_cli *cli)
{
    const struct rps_phases_settings *settings = cli->settings;
    struct table_job job = {.name = NULL};
    char remark[RPS_PHASE_REMARK_SIZE];
    int result = detect_table(cli, &job);

    if (result == 0) {
        struct rps_phase_output output = {
            .title = table_name(settings),
            .unit = "row",
            .periods_from_ns = -1,
            .observations = job.table.rows,
            .rows_per = job.table.rows_per,
            .signal_count = job.table.signals.signal_count,
            .signal = job.name,
            .profile = &job.profile,
            .components = settings->components ? &job.components : NULL,
            .component_signal = job.name,
            .remark = remark,
        };
        struct rps_phases tenths = rps_profile_tenths(cli->arena, &job.found);
        struct rps_profile profile = rps_profile_signals(cli->arena, &job.table.signals, job.name,
                                                         job.table.rows_per, &tenths);

        rps_profile_remark(&job.found, &(struct rps_observing){0}, &profile, remark);
        result = write_found(cli, &output, &job.found, &settings->of.find);
    }
    return result;
}

static int run_phases(struct rps_cli *cli)
{
    struct rps_phases_settings *settings = cli->settings;

    if (!settings->csv || strcmp(settings->csv, "-") != 0) /* no progress line while the user may
                                                              be typing the table */
        rps_progress_begin(cli, "looking for phases");
    return settings->csv ? phases_of_table(cli) : phases_of_run(cli);
}

const struct rps_command rps_command_phases = {
    .name = "phases",
    .summary = "find the phases of a run",
    .answers = "Which phases does a run have, when, and how do they differ?",
    .usage = "[OPTIONS]",
    .description =
        "Find the phases of a run: segments in which event rates and code stay similar.\n"
        "Phases that behave alike have the same letter. The result is stored with the\n"
        "run; other commands accept --from phase:B and --to phase:B.",
    .examples = "  rpistat phases\n"
                "  rpistat phases --metric cpi,dc_miss_ratio --min-length 2s --format json\n"
                "  rpistat report --from phase:B --to phase:B\n"
                "  rpistat phases --csv sensors.csv --format csv",
    .input = RPS_INPUT_RUN,
    .output = RPS_OUTPUT_STREAM,
    .output_help = "file to write",
    .options = rps_phases_options,
    .settings_size = sizeof(struct rps_phases_settings),
    .check = rps_phases_check,
    .run = run_phases,
};
