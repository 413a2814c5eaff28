/* `rpistat phases`: where a run changes its behaviour, and what its phases are like. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cpus.h"
#include "rpistat/csv_signals.h"
#include "rpistat/parse.h"
#include "rpistat/phase_output.h"
#include "rpistat/run_phases.h"

/* Fewer observations have no phases that anybody could tell. */
#define OBSERVATIONS_MIN 4

#define COMPONENTS_MAX 5

enum {
    OPTION_METRIC = RPS_OPTION_OWN,
    OPTION_MIN_LENGTH,
    OPTION_SENSITIVITY,
    OPTION_EXACT,
    OPTION_MAX_PHASES,
    OPTION_VARIANCE,
    OPTION_CPU,
    OPTION_FORMAT,
    OPTION_PCA,
    OPTION_CSV,
    OPTION_SEPARATOR,
    OPTION_DECIMAL,
};

typedef int format_function(FILE *out, const struct rps_phase_output *output,
                            struct rps_error *err);

struct settings {
    struct rps_detect_options detect;
    int64_t min_length_ns; /* when it is a duration */
    const char *cpus;
    const char *metrics; /* the list as it was typed; NULL: all */
    char *metric_text;   /* owned; cut up into `metric` */
    const char **metric; /* owned */
    size_t metric_count;
    format_function *format;
    const char *csv; /* NULL: a run */
    struct rps_csv_options table;
    int components;
};

static const struct rps_option options[] = {
    {"metric", OPTION_METRIC, "LIST", "look at these only (default all that vary)", NULL},
    {"min-length", OPTION_MIN_LENGTH, "N", "shortest phase: 5 (periods), 500ms (default auto)",
     NULL},
    {"sensitivity", OPTION_SENSITIVITY, "N", "finer (1, 2, ...) or coarser (-1, ...) phases", "0"},
    {"max-phases", OPTION_MAX_PHASES, "N", "most kinds of phases that are told apart", "20"},
    {"exact", OPTION_EXACT, NULL, "exact search; slow for long runs", NULL},
    {"variance", OPTION_VARIANCE, NULL, "a change of the spread is a new phase too", NULL},
    {"cpu", OPTION_CPU, "CPUS", "of a recording by CPU: each, sum or a list", "sum"},
    {"pca", OPTION_PCA, NULL, "principal components of the metrics too", NULL},
    {"format", OPTION_FORMAT, "NAME", "text, csv or json", "text"},
    {"csv", OPTION_CSV, "FILE", "phases of any CSV file, - is standard input", NULL},
    {"separator", OPTION_SEPARATOR, "C", "of --csv: between cells (default found)", NULL},
    {"decimal", OPTION_DECIMAL, "C", "of --csv: decimal mark (default found)", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

/* --- options --------------------------------------------------------------------------------- */

static int set_format(struct rps_cli *cli, const char *name)
{
    static const struct {
        const char *name;
        format_function *write;
    } formats[] = {{"text", rps_phase_output_text},
                   {"csv", rps_phase_output_csv},
                   {"json", rps_phase_output_json}};
    struct settings *settings = cli->settings;

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strcmp(formats[i].name, name) == 0) {
            settings->format = formats[i].write;
            return 0;
        }
    }
    return rps_error_set(&cli->err, RPS_USAGE, "--format: '%s' is neither text nor csv nor json",
                         name);
}

/* A number of periods, or a duration with its unit. */
static int set_min_length(struct rps_cli *cli, const char *text)
{
    struct settings *settings = cli->settings;
    uint64_t periods = 0;

    settings->detect.min_length = 0;
    settings->min_length_ns = 0;
    if (strcmp(text, "auto") == 0)
        return 0;
    if (rps_parse_uint64("--min-length", text, 1, INT32_MAX, &periods, NULL) == 0) {
        settings->detect.min_length = (size_t)periods;
        return 0;
    }
    if (isalpha((unsigned char)text[strlen(text) - (text[0] != '\0')]) &&
        rps_parse_duration_ns("--min-length", text, 1, INT64_MAX, &settings->min_length_ns, NULL) ==
            0)
        return 0;
    return rps_error_set(&cli->err, RPS_USAGE,
                         "--min-length: '%s' is neither a number of periods, as in 5, nor a time "
                         "with its unit, as in 500ms",
                         text);
}

static int set_sensitivity(struct rps_cli *cli, const char *text)
{
    struct settings *settings = cli->settings;
    uint64_t steps = 0;
    int negative = text[0] == '-';

    if (rps_parse_uint64("--sensitivity", text + (text[0] == '-' || text[0] == '+'), 0, 100, &steps,
                         NULL) < 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--sensitivity: '%s' is no whole number from -100 to 100", text);
    settings->detect.sensitivity = negative ? -(int)steps : (int)steps;
    return 0;
}

static int set_max_phases(struct rps_cli *cli, const char *text)
{
    struct settings *settings = cli->settings;
    uint64_t most = 0;

    if (rps_parse_uint64("--max-phases", text, 1, 1000, &most, &cli->err) < 0)
        return RPS_USAGE;
    settings->detect.label_max = (int)most;
    return 0;
}

static int set_mark(struct rps_cli *cli, const char *option, const char *allowed, const char *text,
                    char *ret)
{
    if (strcmp(text, "tab") == 0 && strchr(allowed, '\t'))
        text = "\t";
    if (strlen(text) != 1 || !strchr(allowed, text[0]))
        return rps_error_set(&cli->err, RPS_USAGE, "%s: '%s' is none of %s", option, text,
                             strchr(allowed, '\t') ? ", ; | or tab" : ". and ,");
    *ret = text[0];
    return 0;
}

static int set_option(struct rps_cli *cli, int letter, const char *argument)
{
    struct settings *settings = cli->settings;

    switch (letter) {
    case OPTION_METRIC:
        settings->metrics = argument;
        return 0;
    case OPTION_MIN_LENGTH:
        return set_min_length(cli, argument);
    case OPTION_SENSITIVITY:
        return set_sensitivity(cli, argument);
    case OPTION_MAX_PHASES:
        return set_max_phases(cli, argument);
    case OPTION_EXACT:
        settings->detect.exact = 1;
        return 0;
    case OPTION_VARIANCE:
        settings->detect.variance = 1;
        return 0;
    case OPTION_CPU:
        settings->cpus = argument;
        return rps_cpus_check(argument, &cli->err);
    case OPTION_FORMAT:
        return set_format(cli, argument);
    case OPTION_PCA:
        settings->components = 1;
        return 0;
    case OPTION_SEPARATOR:
        return set_mark(cli, "--separator", ",;|\t", argument, &settings->table.separator);
    case OPTION_DECIMAL:
        return set_mark(cli, "--decimal", ".,", argument, &settings->table.decimal);
    default:
        settings->csv = argument;
        cli->no_store = 1;
        return 0;
    }
}

static int check(struct rps_cli *cli)
{
    const struct settings *settings = cli->settings;

    if (settings->metrics &&
        (settings->metrics[0] == '\0' || strstr(settings->metrics, ",,") ||
         settings->metrics[0] == ',' || settings->metrics[strlen(settings->metrics) - 1] == ','))
        return rps_error_set(&cli->err, RPS_USAGE, "--metric: '%s' has an empty name",
                             settings->metrics);
    if (!settings->csv) {
        if (settings->table.separator || settings->table.decimal)
            return rps_error_set(&cli->err, RPS_USAGE,
                                 "--separator and --decimal are of tables: add --csv FILE");
        return 0;
    }
    if (cli->from_ns > 0 || cli->to_ns < INT64_MAX || cli->from_phase || cli->to_phase)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--from and --to are of recorded runs: a table has no times");
    if (settings->min_length_ns > 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--min-length: a table has no times; give a number of rows");
    if (settings->table.separator != '\0' && settings->table.separator == settings->table.decimal)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "'%c' cannot be both the separator and the decimal mark",
                             settings->table.decimal);
    return rps_output_differs(settings->csv, cli->output, &cli->err);
}

/* Cut the list of --metric into names. */
static int split_metrics(struct settings *settings, struct rps_error *err)
{
    size_t room = 1;
    char *rest = NULL;

    if (!settings->metrics)
        return 0;
    for (const char *at = settings->metrics; *at; at++)
        room += *at == ',';
    settings->metric_text = strdup(settings->metrics);
    settings->metric = calloc(room, sizeof(*settings->metric));
    if (!settings->metric_text || !settings->metric)
        return rps_error_memory(err);
    for (char *name = strtok_r(settings->metric_text, ",", &rest); name;
         name = strtok_r(NULL, ",", &rest))
        settings->metric[settings->metric_count++] = name;
    return 0;
}

/* --- what is written ------------------------------------------------------------------------- */

static void say(const struct rps_cli *cli, const char *sentence)
{
    if (!cli->quiet)
        rps_output_message(sentence);
}

/* Pointers to the rows of an array of names; NULL without memory. */
static const char **pointers(const char *name, size_t size, size_t count)
{
    const char **pointer = calloc(count + 1, sizeof(*pointer));

    for (size_t i = 0; pointer && i < count; i++)
        pointer[i] = name + i * size;
    return pointer;
}

/* The parts that runs and tables have alike, and writing it. */
static int write_output(struct rps_cli *cli, struct rps_phase_output *output,
                        const struct rps_detect_options *detect)
{
    const struct settings *settings = cli->settings;
    char *parameters =
        rps_phase_parameters(detect, output->details, output->has_times ? settings->cpus : NULL,
                             output->signal, output->signal_count);
    int columns = 0, result;

    if (!parameters)
        return rps_error_memory(&cli->err);
    output->method = detect->exact ? "exact" : "screened";
    output->parameters = parameters;
    output->locale = cli->locale;
    if (cli->out == stdout && rps_output_terminal(&columns, NULL))
        output->width = columns;
    result = settings->format(cli->out, output, &cli->err);
    free(parameters);
    return result;
}

/* --- a run ----------------------------------------------------------------------------------- */

struct run_job {
    struct rps_run run;
    struct rps_run_phases_options options;
    int *cpu_list;
    struct rps_run_phases found;
    struct rps_profile profile;
    struct rps_run_components components;
    const char **signal, **component_signal; /* owned; into the names of the above */
};

static void run_job_free(struct run_job *job)
{
    free(job->component_signal);
    free(job->signal);
    rps_run_components_free(&job->components);
    rps_profile_free(&job->profile);
    rps_run_phases_free(&job->found);
    free(job->cpu_list);
    rps_run_free(&job->run);
}

/* Keep the detection with the run, so that other commands find it. Not a reason to fail. */
static int store_detection(struct rps_cli *cli, struct run_job *job,
                           const struct rps_detect_options *detect)
{
    const struct settings *settings = cli->settings;
    struct rps_detection detection = {.phases = job->found.phases};
    struct rps_error err;
    char sentence[sizeof(err.message) + 64];

    snprintf(detection.method, sizeof(detection.method), "%s",
             detect->exact ? "exact" : "screened");
    detection.parameters = rps_phase_parameters(detect, &job->found.details, settings->cpus,
                                                job->signal, job->found.signal_count);
    if (!detection.parameters)
        return rps_error_memory(&cli->err);
    if (rps_store_add_detection(cli->input, cli->run_id, &detection, &err) < 0) {
        snprintf(sentence, sizeof(sentence), "the phases are not kept with the run: %s",
                 err.message);
        say(cli, sentence);
    }
    free(detection.parameters);
    return 0;
}

static int detect_run(struct rps_cli *cli, struct run_job *job)
{
    const struct settings *settings = cli->settings;
    int result = rps_cpus_parse(settings->cpus, &job->options.cpus, &job->cpu_list, &cli->err);

    job->options.from_ns = cli->from_ns;
    job->options.to_ns = cli->to_ns;
    job->options.metric = settings->metric;
    job->options.metric_count = settings->metric_count;
    job->options.min_length_ns = settings->min_length_ns;
    job->options.detect = settings->detect;
    if (result == 0)
        result = rps_reader_run(cli->reader, cli->run_id, &job->run, &cli->err);
    if (result == 0)
        result =
            rps_run_phases_detect(cli->reader, cli->run_id, &job->options, &job->found, &cli->err);
    if (result == 0 && job->found.observation_count < OBSERVATIONS_MIN)
        result = rps_error_set(&cli->err, RPS_FAILED,
                               "run %" PRId64 " has %zu period%s there: phases need %d at least",
                               cli->run_id, job->found.observation_count,
                               job->found.observation_count == 1 ? "" : "s", OBSERVATIONS_MIN);
    if (result == 0)
        result = rps_profile_run(cli->reader, cli->run_id, cli->from_ns, cli->to_ns,
                                 &job->options.cpus, &job->found.phases, &job->profile, &cli->err);
    if (result == 0 && settings->components)
        result = rps_run_components_find(cli->reader, cli->run_id, &job->options, COMPONENTS_MAX,
                                         &job->components, &cli->err);
    if (result < 0)
        return result;
    job->signal =
        pointers(job->found.signal[0], sizeof(job->found.signal[0]), job->found.signal_count);
    job->component_signal =
        pointers((const char *)job->components.name, sizeof(job->components.name[0]),
                 job->components.components.signal_count);
    return job->signal && job->component_signal ? 0 : rps_error_memory(&cli->err);
}

static int write_run(struct rps_cli *cli, struct run_job *job)
{
    const struct settings *settings = cli->settings;
    char title[640], command[512];
    struct rps_phase_output output = {
        .title = title,
        .unit = "period",
        .has_times = 1,
        .period_ns = job->run.period_ns,
        .observations = job->found.observation_count,
        .signal_count = job->found.signal_count,
        .signal = job->signal,
        .phases = &job->found.phases,
        .details = &job->found.details,
        .profile = &job->profile,
        .components = settings->components ? &job->components.components : NULL,
        .component_signal = job->component_signal,
    };
    struct rps_detect_options detect = job->options.detect;
    int result = 0;

    detect.min_length = job->found.min_length;
    snprintf(title, sizeof(title), "run %" PRId64 ", %s", cli->run_id,
             rps_run_title(command, sizeof(command), &job->run));
    if (cli->from_ns == 0 && cli->to_ns == INT64_MAX)
        result = store_detection(cli, job, &detect);
    return result == 0 ? write_output(cli, &output, &detect) : result;
}

static int phases_of_run(struct rps_cli *cli)
{
    struct run_job job = {.cpu_list = NULL};
    int result;

    rps_run_init(&job.run);
    result = detect_run(cli, &job);
    if (result == 0)
        result = write_run(cli, &job);
    run_job_free(&job);
    return result;
}

/* --- a table --------------------------------------------------------------------------------- */

struct table_job {
    struct rps_csv_signals table;
    struct rps_phases phases;
    struct rps_detect_details details;
    struct rps_profile profile;
    struct rps_components components;
    const char **name; /* owned; into those of the table */
};

static void table_job_free(struct table_job *job)
{
    free(job->name);
    rps_components_free(&job->components);
    rps_profile_free(&job->profile);
    rps_phases_free(&job->phases);
    rps_csv_signals_free(&job->table);
}

static int read_table(struct rps_cli *cli, struct table_job *job)
{
    struct settings *settings = cli->settings;
    int is_input = strcmp(settings->csv, "-") == 0;
    FILE *in = is_input ? stdin : fopen(settings->csv, "re");
    int result;

    if (!in)
        return rps_error_set(&cli->err, RPS_FAILED, "cannot read %s: %s", settings->csv,
                             strerror(errno));
    settings->table.origin = is_input ? "standard input" : settings->csv;
    settings->table.name = settings->metric;
    settings->table.name_count = settings->metric_count;
    result = rps_csv_signals_read(in, &settings->table, &job->table, &cli->err);
    if (!is_input)
        fclose(in);
    if (result == 0 && job->table.signals.count < OBSERVATIONS_MIN)
        result = rps_error_set(&cli->err, RPS_FAILED, "%s has %zu row%s: phases need %d at least",
                               settings->table.origin, job->table.signals.count,
                               job->table.signals.count == 1 ? "" : "s", OBSERVATIONS_MIN);
    return result;
}

static int detect_table(struct rps_cli *cli, struct table_job *job)
{
    const struct settings *settings = cli->settings;
    int result = read_table(cli, job);

    if (result < 0)
        return result;
    job->name =
        pointers(job->table.name[0], sizeof(job->table.name[0]), job->table.signals.signal_count);
    if (!job->name)
        return rps_error_memory(&cli->err);
    result =
        rps_detect(&job->table.signals, &settings->detect, &job->phases, &job->details, &cli->err);
    if (result == 0)
        result = rps_profile_signals(&job->table.signals, job->name, &job->phases, &job->profile,
                                     &cli->err);
    if (result == 0 && settings->components)
        result =
            rps_components_find(&job->table.signals, COMPONENTS_MAX, &job->components, &cli->err);
    return result;
}

static int phases_of_table(struct rps_cli *cli)
{
    const struct settings *settings = cli->settings;
    struct table_job job = {.name = NULL};
    int result = detect_table(cli, &job);

    if (result == 0) {
        struct rps_phase_output output = {
            .title = settings->table.origin,
            .unit = "row",
            .observations = job.table.signals.count,
            .signal_count = job.table.signals.signal_count,
            .signal = job.name,
            .phases = &job.phases,
            .details = &job.details,
            .profile = &job.profile,
            .components = settings->components ? &job.components : NULL,
            .component_signal = job.name,
        };

        result = write_output(cli, &output, &settings->detect);
    }
    table_job_free(&job);
    return result;
}

static int run(struct rps_cli *cli, int argc, char **argv)
{
    struct settings *settings = cli->settings;
    int result = split_metrics(settings, &cli->err);

    (void)argc;
    (void)argv;
    if (result == 0)
        result = settings->csv ? phases_of_table(cli) : phases_of_run(cli);
    free(settings->metric);
    free(settings->metric_text);
    return result;
}

const struct rps_command rps_command_phases = {
    .name = "phases",
    .summary = "where a run changes, and what its phases are like",
    .usage = "[OPTIONS]",
    .description =
        "Find the phases of a run: stretches in which its event rates stay alike. A phase\n"
        "that comes back keeps its label. What is found is kept with the run; other\n"
        "commands take --from phase:B and --to phase:B.",
    .examples = "  rpistat phases\n"
                "  rpistat phases --metric cpi,dc_miss_ratio --min-length 2s --format json\n"
                "  rpistat report --from phase:B --to phase:B\n"
                "  rpistat phases --csv sensors.csv --format csv",
    .input = RPS_INPUT_RUN,
    .output = RPS_OUTPUT_STREAM,
    .output_help = "file to write",
    .options = options,
    .settings_size = sizeof(struct settings),
    .option = set_option,
    .check = check,
    .run = run,
};
