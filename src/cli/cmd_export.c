/* `rpistat export`: a run for other programs. The formats themselves are rows of
 * rps_export_formats. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cpus.h"
#include "rpistat/export.h"

enum {
    OPTION_FORMAT = RPS_OPTION_OWN,
    OPTION_RATES,
    OPTION_LONG,
    OPTION_SEPARATOR,
    OPTION_DECIMAL,
    OPTION_CRLF,
    OPTION_BOM,
    OPTION_CPU,
};

struct settings {
    const struct rps_export_format *format;
    struct rps_export_options export;
    const char *cpus;
};

static const struct rps_option options[] = {
    {"format", OPTION_FORMAT, "NAME", "wide, rates or long", "wide", "wide rates long"},
    {"rates", OPTION_RATES, NULL, "the same as --format rates", NULL},
    {"long", OPTION_LONG, NULL, "the same as --format long", NULL},
    {"separator", OPTION_SEPARATOR, "C", "character between cells, or tab", ","},
    {"decimal", OPTION_DECIMAL, "C", "decimal mark, a point or a comma", "."},
    {"crlf", OPTION_CRLF, NULL, "end lines with CR LF", NULL},
    {"bom", OPTION_BOM, NULL, "begin with a UTF-8 byte order mark", NULL},
    {"cpu", OPTION_CPU, "CPUS", "of a recording by CPU: each (default), sum or a list", NULL,
     "each sum"},
    {NULL, 0, NULL, NULL, NULL},
};

static int set_format(struct rps_cli *cli, const char *name)
{
    struct settings *settings = cli->settings;
    char names[128] = "";

    settings->format = rps_export_find(name);
    if (settings->format != NULL)
        return 0;
    for (const struct rps_export_format *const *row = rps_export_formats; *row != NULL; row++) {
        size_t length = strlen(names);

        snprintf(names + length, sizeof(names) - length, "%s%s", length > 0 ? ", " : "",
                 (*row)->name);
    }
    return rps_error_set(&cli->err, RPS_USAGE, "--format: there is no format '%s'; there are %s",
                         name, names);
}

/* A byte that can stand in no number and no quoting. */
static int set_separator(struct rps_cli *cli, const char *text)
{
    struct settings *settings = cli->settings;

    if (strcmp(text, "tab") == 0)
        text = "\t";
    if (strlen(text) != 1 || strchr(",;:|\t !#/&~^", text[0]) == NULL)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--separator: '%s' cannot separate cells; use one of , ; : | or tab",
                             text);
    settings->export.separator = text[0];
    return 0;
}

static int set_decimal(struct rps_cli *cli, const char *text)
{
    struct settings *settings = cli->settings;

    if (strcmp(text, ".") != 0 && strcmp(text, ",") != 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--decimal: '%s' is no decimal mark; use a point or a comma", text);
    settings->export.decimal = text[0];
    return 0;
}

static int set_option(struct rps_cli *cli, int letter, const char *argument)
{
    struct settings *settings = cli->settings;

    switch (letter) {
    case OPTION_FORMAT:
        return set_format(cli, argument);
    case OPTION_RATES:
        return set_format(cli, "rates");
    case OPTION_LONG:
        return set_format(cli, "long");
    case OPTION_SEPARATOR:
        return set_separator(cli, argument);
    case OPTION_DECIMAL:
        return set_decimal(cli, argument);
    case OPTION_CRLF:
        settings->export.crlf = 1;
        return 0;
    case OPTION_BOM:
        settings->export.bom = 1;
        return 0;
    default:
        settings->cpus = argument;
        return rps_cpus_check(argument, &cli->err);
    }
}

static int check(struct rps_cli *cli)
{
    const struct settings *settings = cli->settings;

    if (settings->export.separator == settings->export.decimal)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "'%c' cannot be both the separator and the decimal mark; add "
                             "--separator ';'",
                             settings->export.decimal);
    return 0;
}

static int run(struct rps_cli *cli, int argc, char **argv)
{
    struct settings *settings = cli->settings;
    int *list = NULL;
    int result = settings->cpus
                     ? rps_cpus_choose(cli, settings->cpus, &settings->export.cpus, &list)
                     : 0; /* each */

    (void)argc;
    (void)argv;
    settings->export.from_ns = cli->from_ns;
    settings->export.to_ns = cli->to_ns;
    if (rps_output_is_file(fileno(cli->out)))
        rps_progress_begin(cli, "exporting");
    if (result == 0)
        result = rps_export_run(settings->format, cli->out, cli->reader, cli->run_id,
                                &settings->export, &cli->err);
    free(list);
    return result;
}

const struct rps_command rps_command_export = {
    .name = "export",
    .summary = "a run as CSV, for other programs",
    .usage = "[OPTIONS]",
    .description = "Write a run as CSV, one header row first. Formats:\n"
                   "  wide   a row a measurement period, a column an event\n"
                   "  rates  a row a rotation of the event sets, a column a derived figure\n"
                   "  long   a row an event and period",
    .examples = "  rpistat export -o run.csv\n"
                "  rpistat export --rates --separator ';' --decimal , --bom -o rates.csv",
    .input = RPS_INPUT_RUN,
    .output = RPS_OUTPUT_STREAM,
    .output_help = "file to write",
    .options = options,
    .settings_size = sizeof(struct settings),
    .option = set_option,
    .check = check,
    .run = run,
};
