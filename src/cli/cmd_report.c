/* `rpistat report`: the report of a run. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cpus.h"
#include "format.h"
#include "rpistat/report.h"

enum {
    OPTION_EXPLAIN = RPS_OPTION_OWN,
    OPTION_CPU,
    OPTION_FORMAT,
    OPTION_REGION,
};

struct settings {
    int explain;
    const char *cpus, *region;
    enum rps_report_layout layout;
};

static const struct rps_option options[] = {
    {"explain", OPTION_EXPLAIN, NULL, "say what each event and figure means", NULL},
    {"cpu", OPTION_CPU, "CPUS", "of a recording by CPU: each, sum or a list", "sum", "each sum"},
    {"format", OPTION_FORMAT, "FORMAT", "text, json, csv, or 2013: no intervals", "text",
     "text json csv 2013"},
    {"region", OPTION_REGION, "NAME", "only the periods wholly inside that region", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static int set_format(struct settings *settings, const char *name, struct rps_error *err)
{
    static const enum rps_report_layout layout[] = {
        [RPS_FORMAT_TEXT] = RPS_REPORT_INTERVALS,
        [RPS_FORMAT_JSON] = RPS_REPORT_JSON,
        [RPS_FORMAT_CSV] = RPS_REPORT_CSV,
    };
    enum rps_format format = RPS_FORMAT_TEXT;

    if (strcmp(name, "2013") == 0) {
        settings->layout = RPS_REPORT_2013;
        return 0;
    }
    if (rps_format_parse(name, ", 2013", &format, err) < 0)
        return RPS_USAGE;
    settings->layout = layout[format];
    return 0;
}

static int set_option(struct rps_cli *cli, int letter, const char *argument)
{
    struct settings *settings = cli->settings;

    if (letter == OPTION_CPU) {
        settings->cpus = argument;
        return rps_cpus_check(argument, &cli->err);
    }
    if (letter == OPTION_FORMAT)
        return set_format(settings, argument, &cli->err);
    if (letter == OPTION_REGION)
        settings->region = argument;
    else
        settings->explain = 1;
    return 0;
}

static int run(struct rps_cli *cli, int argc, char **argv)
{
    const struct settings *settings = cli->settings;
    struct rps_report_options report = {
        .layout = settings->layout,
        .from_ns = cli->from_ns,
        .to_ns = cli->to_ns,
        .locale = cli->locale,
        .explain = settings->explain,
        .region = settings->region,
    };

    int *list = NULL;
    int result = rps_cpus_choose(cli, settings->cpus, &report.cpus, &list);

    (void)argc;
    (void)argv;
    if (result == 0)
        result = rps_report_write(cli->out, cli->reader, cli->run_id, &report, &cli->err);
    free(list);
    return result;
}

const struct rps_command rps_command_report = {
    .name = "report",
    .summary = "the text report of a run",
    .usage = "[OPTIONS]",
    .description = "Write the report of a run: what was counted, and the figures that follow. In\n"
                   "text, numbers are separated as the locale asks (LC_NUMERIC).",
    .examples = "  rpistat report\n"
                "  rpistat report -r last-1 --from 10s --to 1m30s -o part.txt\n"
                "  rpistat report --format json | jq '.figures[] | {name, value, unit}'",
    .input = RPS_INPUT_RUN,
    .output = RPS_OUTPUT_STREAM,
    .output_help = "file to write",
    .options = options,
    .settings_size = sizeof(struct settings),
    .option = set_option,
    .run = run,
};
