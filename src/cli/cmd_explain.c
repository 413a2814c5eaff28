/* `rpistat explain`: how a time range of a run differs from the rest of the run, or from another
 * one. */
#include <string.h>

#include "cli.h"
#include "rpistat/error.h"
#include "rpistat/report.h"
#include "rpistat/run_window.h"
#include "rpistat/store.h"

struct settings {
    const char *against; /* argument of --against; NULL: the rest of the run */
    int format;          /* an enum rps_format */
};

#define AT(member) RPS_AT(struct settings, member)

static const struct rps_option options[] = {
    {"against", 0, "FROM,TO", "compare with this time range, not the rest of the run", NULL,
     RPS_OPTION_TEXT, AT(against)},
    RPS_FORMAT_OPTION(AT(format)),
    {NULL},
};

/* Find the times of --against, which are read as those of --from and --to. */
static int read_against(struct rps_cli *cli, struct rps_run_window *ret)
{
    const struct settings *settings = cli->settings;
    const char *text = settings->against, *comma = text ? strchr(text, ',') : NULL;
    struct rps_cli copy = *cli;
    int result;

    if (!text)
        return 0;
    if (!comma || strchr(comma + 1, ','))
        return rps_error_set(
            &cli->err, RPS_USAGE,
            "--against: '%s' is not a time range; write its start and its end, as in "
            "10s,20s or phase:B,phase:B",
            text);
    result = rps_time_range_set(
        "--from", rps_arena_print(cli->arena, "%.*s", (int)(comma - text), text), &copy, &copy.err);
    if (result == 0)
        result = rps_time_range_set("--to", comma + 1, &copy, &copy.err);
    if (result == 0)
        result = rps_time_range_resolve(&copy);
    if (result == 0)
        result = rps_time_range_check(&copy);
    if (result < 0) {
        cli->err = copy.err;
        return rps_error_prefix(&cli->err, result, "--against %s", text);
    }
    memcpy(cli->note, copy.note, sizeof(cli->note));
    ret->from_ns[1] = copy.from_ns;
    ret->to_ns[1] = copy.to_ns;
    return 0;
}

static int run_explain(struct rps_cli *cli)
{
    const struct settings *settings = cli->settings;
    struct rps_document document = {.arena = cli->arena,
                                    .locale = rps_format_locale(cli, settings->format)};
    struct rps_run_window window = {.from_ns = {cli->from_ns}, .to_ns = {cli->to_ns}};
    struct rps_run run;
    int result = read_against(cli, &window);

    rps_progress_begin(cli, "comparing the time range");
    if (result == 0)
        result = rps_reader_run(cli->arena, cli->reader, cli->run_id, &run, &cli->err);
    if (result == 0)
        result = rps_run_window_find(cli->arena, cli->reader, &run, &window, &cli->err);
    if (result == 0) {
        rps_window_document(&document, &run, &window);
        rps_progress_end(cli);
        rps_format_document(cli, &document, settings->format);
    }
    return result;
}

const struct rps_command rps_command_explain = {
    .name = "explain",
    .summary = "show how a time range of a run differs from the rest",
    .answers = "How does a time range of a run differ from the rest?",
    .usage = "[OPTIONS] [RUN]",
    .description =
        "Compare a time range of a run (--from, --to) with the rest of the run, or with\n"
        "another time range: metrics, waiting, I/O, programs and functions. Metrics are\n"
        "listed if chance does not explain their difference.",
    .examples = "  rpistat explain --from 3.2s --to 5s\n"
                "  rpistat explain --from phase:B --to phase:B\n"
                "  rpistat explain last-1 --from 10s --to 20s --against 30s,40s",
    .input = RPS_INPUT_RUN,
    .output = RPS_OUTPUT_STREAM,
    .output_help = "file to write",
    .operand_max = 1,
    .operand_is_run = 1,
    .options = RPS_OPTIONS(options),
    .settings_size = sizeof(struct settings),
    .run = run_explain,
};
