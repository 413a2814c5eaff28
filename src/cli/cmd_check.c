/* `rpistat check`: check a store, and save the readable data of a damaged one. */
#include <inttypes.h>
#include <string.h>

#include "cli.h"
#include "rpistat/check.h"
#include "rpistat/text.h"

struct settings {
    int repair;
    enum rps_format format;
};

struct check {
    struct rps_cli *cli;
    struct rps_document document;
    struct rps_block *findings;
};

#define COUNTS_SIZE 80

#define AT(member) RPS_AT(struct settings, member)

static const struct rps_option options[] = {
    {"repair", 0, NULL, "save everything readable to a new store (-o)", NULL, RPS_OPTION_FLAG,
     AT(repair), .is_once = 1},
    RPS_FORMAT_OPTION(AT(format)),
    {NULL},
};

static int check_settings(struct rps_cli *cli)
{
    const struct settings *settings = cli->settings;

    if (settings->repair && (cli->output == NULL || strcmp(cli->output, "-") == 0))
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--repair needs a name for the new store; add -o FILE (the damaged "
                             "store stays as it is)");
    cli->no_stream = settings->repair;
    return 0;
}

static void put_finding(void *context, enum rps_finding_kind kind, const char *sentence)
{
    static const char *const word[][2] = {
        [RPS_FINDING_WRONG] = {"wrong", "error: "},
        [RPS_FINDING_WARNING] = {"odd", "warning: "},
        [RPS_FINDING_NOTE] = {"note", ""},
    };
    const struct check *check = context;

    if (check->cli->quiet && kind != RPS_FINDING_WRONG)
        return;
    rps_put_texts(check->findings, 2, word[kind][0], sentence);
    rps_block_line(check->findings, "%s%s", word[kind][1], sentence);
}

static void put_count(struct check *check, const char *name, uint64_t count)
{
    rps_put_int(rps_document_field(&check->document, name, RPS_VALUE_INT), (int64_t)count, 1);
}

/* Put a text such as "3 runs, 1 period". */
static char *format_counts(const struct rps_cli *cli, char ret[COUNTS_SIZE], uint64_t runs,
                           uint64_t periods)
{
    const struct settings *settings = cli->settings;
    locale_t before = uselocale(rps_format_locale(cli, settings->format));
    char number[2][RPS_TEXT_NUMBER_SIZE];

    snprintf(ret, COUNTS_SIZE, "%s run%s, %s period%s",
             rps_text_count(number[0], sizeof(number[0]), runs), runs == 1 ? "" : "s",
             rps_text_count(number[1], sizeof(number[1]), periods), periods == 1 ? "" : "s");
    uselocale(before);
    return ret;
}

static void put_check(struct check *check, const struct rps_check_result *result)
{
    const char *input = check->cli->input;
    char counts[COUNTS_SIZE];

    format_counts(check->cli, counts, result->runs, result->periods);
    if (check->cli->quiet) {
        return;
    } else if (result->wrong == 0) {
        rps_block_line(check->findings, "%s: OK (%s)", input, counts);
    } else {
        rps_block_line(check->findings, "%s: damaged (%s, %" PRIu64 " error%s)", input, counts,
                       result->wrong, result->wrong == 1 ? "" : "s");
        rps_block_line(check->findings,
                       "Save the readable data with `rpistat check --repair -i %s -o NEW`", input);
    }
}

static int check_store(struct check *check)
{
    const struct rps_finding_sink sink = {check, put_finding};
    struct rps_cli *cli = check->cli;
    struct rps_check_result result;

    rps_progress_begin(cli, "checking");
    if (rps_store_check(cli->input, &sink, &result, &cli->err) < 0)
        return RPS_FAILED;
    put_check(check, &result);
    rps_put_int(rps_document_field(&check->document, "sound", RPS_VALUE_BOOL), result.wrong == 0,
                1);
    put_count(check, "run_count", result.runs);
    put_count(check, "periods", result.periods);
    put_count(check, "wrong", result.wrong);
    put_count(check, "odd", result.odd);
    return result.wrong > 0;
}

static int repair_store(struct check *check)
{
    const struct rps_finding_sink sink = {check, put_finding};
    struct rps_cli *cli = check->cli;
    struct rps_repair_result result;
    char counts[COUNTS_SIZE];

    rps_progress_begin(cli, "saving readable data");
    if (rps_store_repair(cli->input, cli->output, &sink, &result, &cli->err) < 0)
        return RPS_FAILED;
    if (!cli->quiet)
        rps_block_line(check->findings, "%s: saved (%s)", cli->output,
                       format_counts(cli, counts, result.runs, result.periods));
    rps_put_text(rps_document_field(&check->document, "new_store", RPS_VALUE_TEXT), cli->output);
    put_count(check, "run_count", result.runs);
    put_count(check, "periods", result.periods);
    put_count(check, "dropped", result.dropped);
    put_count(check, "lost_stretches", result.lost_stretches);
    return 0;
}

/* Run the check or the repair. Text is written even if the operation failed, because the text shows
 * the progress. For a repair, the file of -o is the new store. */
static int run(struct rps_cli *cli)
{
    static const struct rps_column columns[] = {{.name = "kind"}, {.name = "finding"}};
    const struct settings *settings = cli->settings;
    struct check check = {.cli = cli, .document = {.arena = cli->arena}};
    int result;

    rps_put_text(rps_document_field(&check.document, "store", RPS_VALUE_TEXT), cli->input);
    check.findings = rps_document_block(&check.document, "findings", columns, 2);
    result = settings->repair ? repair_store(&check) : check_store(&check);
    rps_progress_end(cli);
    if (result >= 0 || settings->format == RPS_FORMAT_TEXT)
        rps_format_document(cli, &check.document, settings->format);
    return result;
}

const struct rps_command rps_command_check = {
    .name = "check",
    .summary = "check a store for damage, and repair it",
    .answers = "Is the store damaged, and where?",
    .usage = "[OPTIONS]",
    .description = "Check a whole store: its file, its tables, and the periods and totals of its\n"
                   "runs. The exit status is 0 if there is no damage. --repair saves everything\n"
                   "that can be read to a new store.",
    .examples = "  rpistat check\n"
                "  rpistat check --format json\n"
                "  rpistat check --repair -i rpistat.data -o saved.data",
    .input = RPS_INPUT_PATH,
    .output_help = "file to write, or the new store",
    .options = RPS_OPTIONS(options),
    .settings_size = sizeof(struct settings),
    .check = check_settings,
    .run = run,
};
