/* `rpistat history`: the metrics of a group of runs over time, and when they changed. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "rpistat/history.h"

struct settings {
    int format;
    int inconclusive;
    struct rps_texts fail_if;
    struct rps_comparison_limit limit[RPS_TEXTS_MAX]; /* parsed values of fail_if */
};

#define AT(member) RPS_AT(struct settings, member)

static const struct rps_option options[] = {
    RPS_FORMAT_OPTION(AT(format)),
    {"fail-if", 0, "LIMIT", "exit 3 if beyond it, 4 if inconclusive: 'elapsed>+3%'", NULL,
     RPS_OPTION_LIST, AT(fail_if)},
    {"inconclusive", 0, "HOW", "exit status of an inconclusive limit: pass or fail", NULL,
     RPS_OPTION_CHOICE, AT(inconclusive), RPS_CHANGE_HOLDS, .words = "pass fail"},
    {NULL},
};

static int check_history(struct rps_cli *cli)
{
    struct settings *settings = cli->settings;

    cli->no_stream = cli->output && rps_gnuplot_format(cli->output) != NULL;
    return rps_limits_parse(cli, &settings->fail_if, settings->limit);
}

static int run_history(struct rps_cli *cli)
{
    struct settings *settings = cli->settings;
    size_t limits = (size_t)settings->fail_if.count;
    struct rps_document document = {.arena = cli->arena, .width = RPS_DOCUMENT_WIDTH};
    struct rps_history history;
    int result;

    if (cli->argc == 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "no runs are named; name a label, a tag, or runs such as 1-40");
    rps_progress_begin(cli, "reading runs");
    result = rps_history_find(cli->arena, cli->reader, cli->argv[0], cli->argv + 1,
                              (size_t)cli->argc - 1, &history, &cli->err);
    rps_progress_end(cli);
    if (result == 0)
        result = rps_limits_check(&history.latest, settings->limit, limits, &cli->err);
    if (result == 0 && cli->no_stream) {
        const struct rps_gnuplot_picture picture = {.chart = rps_history_chart(&history),
                                                    .format = rps_gnuplot_format(cli->output),
                                                    .script_folder = rps_output_scripts(),
                                                    .temporary_folder = getenv("TMPDIR")};

        result = rps_gnuplot_draw_file(&picture, cli->output, &cli->err);
    } else if (result == 0) {
        locale_t before = uselocale(rps_format_locale(cli, settings->format));

        rps_history_put(&document, &history, settings->limit, limits);
        uselocale(before);
        rps_format_document(cli, &document, settings->format);
    }
    if (result == 0)
        result = rps_limits_status(cli, &history.latest, settings->limit, limits,
                                   settings->inconclusive);
    rps_history_free(&history);
    return result;
}

const struct rps_command rps_command_history = {
    .name = "history",
    .summary = "show how metrics changed over many runs",
    .answers = "Since which run did a metric of a label or tag change, and by how much?",
    .usage = "[OPTIONS] RUNS [METRIC...]",
    .description =
        "Show the levels of each metric over many runs, and the runs that begin a level.\n"
        "RUNS is a label, a tag KEY=VALUE, or runs such as 1-40 or 3,5,8. The key of a\n"
        "tag means all runs that have the tag. A run whose tags equal those of the run\n"
        "before is a repeat.",
    .examples = "  rpistat history main\n"
                "  rpistat history commit elapsed cpu_time\n"
                "  rpistat history main --fail-if 'elapsed>+3%'\n"
                "  rpistat history main -o history.svg",
    .input = RPS_INPUT_STORE,
    .output = RPS_OUTPUT_STREAM,
    .output_help = "by its ending: .csv, .png",
    .operand_max = -1,
    .options = RPS_OPTIONS(options),
    .settings_size = sizeof(struct settings),
    .check = check_history,
    .run = run_history,
};
