/* `rpistat report`: prints the report of a run. */
#include "cli.h"
#include "rpistat/report.h"

/* Index of the word for the format of 2013 in --format, after the words of document formats. */
#define FORMAT_2013 (RPS_FORMAT_MARKDOWN + 2)

struct settings {
    int explain;
    const char *cpus, *region;
    int format; /* index of the word of --format */
};

#define AT(member) RPS_AT(struct settings, member)

static const struct rps_option options[] = {
    {"explain", 0, NULL, "explain each event and metric", NULL, RPS_OPTION_FLAG, AT(explain)},
    {"cpu", 0, "CPUS", "CPUs: each, sum or a list", "sum", RPS_OPTION_TEXT, AT(cpus),
     .check = rps_cpus_check, .words = "each sum"},
    {"format", 0, "FORMAT", RPS_DOCUMENT_FORMATS ", or classic", "text", RPS_OPTION_CHOICE,
     AT(format), .words = RPS_DOCUMENT_FORMATS " classic", .old_word = "2013"},
    {"region", 0, "NAME", "use only periods completely inside this region", NULL, RPS_OPTION_TEXT,
     AT(region)},
    {NULL},
};

static int write_report(struct rps_cli *cli, struct rps_report_options *report,
                        enum rps_format format)
{
    struct rps_document document = {.arena = cli->arena, .width = RPS_DOCUMENT_WIDTH};

    if (format == FORMAT_2013)
        return rps_report_write_2013(cli->out, cli->reader, cli->run_id, report, &cli->err);
    report->figures = format == RPS_FORMAT_CSV;
    document.locale = report->locale = rps_format_locale(cli, format);
    if (rps_report_fill(&document, cli->reader, cli->run_id, report, &cli->err) < 0)
        return RPS_FAILED;
    rps_format_document(cli, &document, format);
    return 0;
}

static int run_report(struct rps_cli *cli)
{
    const struct settings *settings = cli->settings;
    struct rps_report_options report = {
        .from_ns = cli->from_ns,
        .to_ns = cli->to_ns,
        .locale = cli->locale,
        .explain = settings->explain,
        .region = settings->region,
    };
    int result = rps_cpus_choose(cli, settings->cpus, &report.cpus);

    return result < 0 ? result : write_report(cli, &report, settings->format);
}

const struct rps_command rps_command_report = {
    .name = "report",
    .summary = "print the report of a run",
    .answers = "What are the counts and metrics of a run, and how exact are they?",
    .usage = "[OPTIONS]",
    .description =
        "Print the report of a run: its counts and metrics. Text uses the number format\n"
        "of the locale (LC_NUMERIC).",
    .examples = "  rpistat report\n"
                "  rpistat report -r last-1 --from 10s --to 1m30s -o part.txt\n"
                "  rpistat report --format json | jq '.figures[] | {name, value, unit}'",
    .input = RPS_INPUT_RUN,
    .output = RPS_OUTPUT_STREAM,
    .output_help = "file to write",
    .options = RPS_OPTIONS(options),
    .settings_size = sizeof(struct settings),
    .run = run_report,
};
