/* What `rpistat phases` may be asked. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cpus.h"
#include "format.h"
#include "phases.h"
#include "rpistat/parse.h"

enum {
    OPTION_METRIC = RPS_OPTION_OWN,
    OPTION_LEVEL,
    OPTION_AT_MOST,
    OPTION_MIN_LENGTH,
    OPTION_SENSITIVITY,
    OPTION_EXACT,
    OPTION_MAX_PHASES,
    OPTION_VARIANCE,
    OPTION_CPU,
    OPTION_FORMAT,
    OPTION_PCA,
    OPTION_NO_SAMPLES,
    OPTION_CSV,
    OPTION_SEPARATOR,
    OPTION_DECIMAL,
};

const struct rps_option rps_phases_options[] = {
    {"metric", OPTION_METRIC, "LIST", "look at these only (default all that vary)", NULL},
    {"level", OPTION_LEVEL, "N", "the level of N phases, or fine (default: readable)", NULL,
     "fine"},
    {"at-most", OPTION_AT_MOST, "N", "the finest level of at most N phases", NULL},
    {"min-length", OPTION_MIN_LENGTH, "N", "shortest phase: 5 (periods), 500ms (default auto)",
     NULL},
    {"sensitivity", OPTION_SENSITIVITY, "N", "finer (to 12) or coarser (to -12) levels", "0"},
    {"max-phases", OPTION_MAX_PHASES, "N", "most kinds of phases that are told apart", "20"},
    {"exact", OPTION_EXACT, NULL, "exact search; slow for long runs", NULL},
    {"variance", OPTION_VARIANCE, NULL, "a change of the spread is a new phase too", NULL},
    {"no-samples", OPTION_NO_SAMPLES, NULL, "look at what was counted alone", NULL},
    {"cpu", OPTION_CPU, "CPUS", "of a recording by CPU: each, sum or a list", "sum", "each sum"},
    {"pca", OPTION_PCA, NULL, "principal components of the metrics too", NULL},
    {"format", OPTION_FORMAT, "NAME", "text, json or csv", "text", "text json csv"},
    {"csv", OPTION_CSV, "FILE", "phases of any CSV file, - is standard input", NULL},
    {"separator", OPTION_SEPARATOR, "C", "of --csv: between cells (default found)", NULL},
    {"decimal", OPTION_DECIMAL, "C", "of --csv: decimal mark (default found)", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static int set_format(struct rps_cli *cli, const char *name)
{
    static rps_phases_format *const write[] = {
        [RPS_FORMAT_TEXT] = rps_phase_output_text,
        [RPS_FORMAT_JSON] = rps_phase_output_json,
        [RPS_FORMAT_CSV] = rps_phase_output_csv,
    };
    struct rps_phases_settings *settings = cli->settings;
    enum rps_format format = RPS_FORMAT_TEXT;
    int result = rps_format_parse(name, "", &format, &cli->err);

    settings->format = write[format];
    return result;
}

/* A number of periods, or a duration with its unit. */
static int set_min_length(struct rps_cli *cli, const char *text)
{
    struct rps_phases_settings *settings = cli->settings;
    uint64_t periods = 0;

    settings->find.detect.min_length = 0;
    settings->min_length_ns = 0;
    if (strcmp(text, "auto") == 0)
        return 0;
    if (rps_parse_uint64("--min-length", text, 1, INT32_MAX, &periods, NULL) == 0) {
        settings->find.detect.min_length = (size_t)periods;
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
    struct rps_phases_settings *settings = cli->settings;
    uint64_t steps = 0;
    int negative = text[0] == '-';

    if (rps_parse_uint64("--sensitivity", text + (text[0] == '-' || text[0] == '+'), 0,
                         RPS_LEVELS_STEPS, &steps, NULL) < 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--sensitivity: '%s' is no whole number from -12 to 12", text);
    settings->find.level.steps = negative ? -(int)steps : (int)steps;
    return 0;
}

int rps_phases_level(const char *text, struct rps_level_choice *ret, struct rps_error *err)
{
    uint64_t size = 0;

    ret->fine = strcmp(text, "fine") == 0;
    ret->size = 0;
    if (ret->fine)
        return 0;
    if (rps_parse_uint64("--level", text, 1, INT32_MAX, &size, NULL) < 0)
        return rps_error_set(err, RPS_USAGE,
                             "--level: '%s' is neither a number of phases, as in 12, nor 'fine'",
                             text);
    ret->size = (size_t)size;
    return 0;
}

static int set_at_most(struct rps_cli *cli, const char *text)
{
    struct rps_phases_settings *settings = cli->settings;
    uint64_t most = 0;

    if (rps_parse_uint64("--at-most", text, 1, INT32_MAX, &most, &cli->err) < 0)
        return RPS_USAGE;
    settings->find.level.at_most = (size_t)most;
    return 0;
}

static int set_max_phases(struct rps_cli *cli, const char *text)
{
    struct rps_phases_settings *settings = cli->settings;
    uint64_t most = 0;

    if (rps_parse_uint64("--max-phases", text, 1, 1000, &most, &cli->err) < 0)
        return RPS_USAGE;
    settings->find.detect.label_max = (int)most;
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

int rps_phases_set_option(struct rps_cli *cli, int letter, const char *argument)
{
    struct rps_phases_settings *settings = cli->settings;

    switch (letter) {
    case OPTION_METRIC:
        settings->metrics = argument;
        return 0;
    case OPTION_LEVEL:
        return rps_phases_level(argument, &settings->find.level, &cli->err);
    case OPTION_AT_MOST:
        return set_at_most(cli, argument);
    case OPTION_MIN_LENGTH:
        return set_min_length(cli, argument);
    case OPTION_SENSITIVITY:
        return set_sensitivity(cli, argument);
    case OPTION_MAX_PHASES:
        return set_max_phases(cli, argument);
    case OPTION_EXACT:
        settings->find.detect.exact = 1;
        return 0;
    case OPTION_VARIANCE:
        settings->find.detect.variance = 1;
        return 0;
    case OPTION_CPU:
        settings->cpus = argument;
        return rps_cpus_check(argument, &cli->err);
    case OPTION_FORMAT:
        return set_format(cli, argument);
    case OPTION_PCA:
        settings->components = 1;
        return 0;
    case OPTION_NO_SAMPLES:
        settings->no_samples = 1;
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

int rps_phases_check(struct rps_cli *cli)
{
    struct rps_phases_settings *settings = cli->settings;

    if ((settings->find.level.fine || settings->find.level.size > 0) &&
        settings->find.level.at_most > 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--level and --at-most both say which level: give one of them");

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

int rps_phases_split_metrics(struct rps_phases_settings *settings, struct rps_error *err)
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
