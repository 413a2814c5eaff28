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

/* Draw the history to the descriptor, or to the file of -o if `fd` is negative. */
static int draw(struct rps_cli *cli, const struct rps_history *history, int fd)
{
    const char *path = fd < 0 ? cli->output : ".svg";
    const struct rps_gnuplot_picture picture = {.chart = rps_history_chart(history),
                                                .format = rps_gnuplot_format(path),
                                                .script_folder = rps_output_scripts(),
                                                .temporary_folder = getenv("TMPDIR"),
                                                .out_fd = fd};

    return fd < 0 ? rps_gnuplot_draw_file(&picture, path, &cli->err)
                  : rps_gnuplot_draw(&picture, &cli->err);
}

/* Return the picture as an element of a page, or NULL with a note if gnuplot cannot draw it. */
static const char *picture_of(struct rps_cli *cli, const struct rps_history *history)
{
    FILE *file = tmpfile();
    const char *element = NULL;
    char *text;
    long size;

    if (file && draw(cli, history, fileno(file)) == 0 && fseek(file, 0, SEEK_END) == 0 &&
        (size = ftell(file)) > 0) {
        text = rps_arena_get(cli->arena, (size_t)size + 1, 1);
        rewind(file);
        if (fread(text, 1, (size_t)size, file) == (size_t)size)
            element = strstr(text, "<svg");
    }
    if (file)
        fclose(file);
    if (!element)
        snprintf(cli->note, sizeof(cli->note), "the page has no picture: %.200s", cli->err.message);
    return element;
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
        result = draw(cli, &history, -1);
    } else if (result == 0) {
        locale_t before = uselocale(rps_format_locale(cli, settings->format));

        rps_history_put(&document, &history, settings->limit, limits);
        uselocale(before);
        if (settings->format == RPS_FORMAT_HTML)
            document.picture = picture_of(cli, &history);
        rps_format_document(cli, &document, settings->format);
    }
    if (result == 0)
        result = rps_limits_status(cli, &history.latest, settings->limit, limits,
                                   settings->inconclusive);
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
    .output_help = "file; suffix sets the format",
    .operand_max = -1,
    .options = RPS_OPTIONS(options),
    .settings_size = sizeof(struct settings),
    .check = check_history,
    .run = run_history,
};
