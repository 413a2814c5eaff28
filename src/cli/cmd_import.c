/* `rpistat import`: what other tools recorded, and our own exports, as runs of a store. The formats
 * are rows of a table in exchange/import.c. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "rpistat/import.h"
#include "time_range.h"

#define TAGS_MAX 64

enum {
    OPTION_FORMAT = RPS_OPTION_OWN,
    OPTION_MAP,
    OPTION_LABEL,
    OPTION_TAG,
    OPTION_START,
};

struct settings {
    struct rps_import_options import;
    const char *tag[TAGS_MAX];
};

static const struct rps_option options[] = {
    {"format", OPTION_FORMAT, "NAME", "what FILE is, see above, when it cannot be told", NULL,
     "rpistat perf-csv perf-json toplev pmrep csv"},
    {"map", OPTION_MAP, "LIST", "of a table: COLUMN=KIND[:UNIT],... see the manual", NULL},
    {"label", OPTION_LABEL, "TEXT", "name of the run, for --run of the other commands", NULL, NULL,
     1},
    {"tag", OPTION_TAG, "KEY=VALUE", "a note kept with the run; may be given again", NULL, NULL, 1},
    {"start", OPTION_START, "TIME", "when FILE begins: 14:30 or 2026-11-21T14:30", NULL, NULL, 1},
    {NULL, 0, NULL, NULL, NULL},
};

static int set_option(struct rps_cli *cli, int letter, const char *argument)
{
    struct settings *settings = cli->settings;
    struct rps_import_options *import = &settings->import;

    switch (letter) {
    case OPTION_FORMAT:
        import->format = argument;
        return 0;
    case OPTION_MAP:
        import->map = argument;
        return 0;
    case OPTION_LABEL:
        import->label = argument;
        return rps_label_check("--label", argument, &cli->err);
    case OPTION_TAG:
        if (import->tag_count == TAGS_MAX)
            return rps_error_set(&cli->err, RPS_USAGE, "--tag: more than %d tags", TAGS_MAX);
        settings->tag[import->tag_count++] = argument;
        return rps_tag_check("--tag", argument, &cli->err);
    default:
        return rps_time_ago_parse("--start", argument, &import->start_realtime_ns, &cli->err);
    }
}

static int check(struct rps_cli *cli)
{
    if (cli->output && strcmp(cli->output, "-") == 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "-o -: a store is a file that is changed in place: name one");
    return 0;
}

static int import_file(struct rps_cli *cli, const char *path)
{
    struct settings *settings = cli->settings;
    struct rps_import_outcome outcome;
    char text[4096], each[64] = "";
    int result;

    if (rps_output_differs(path, cli->output, &cli->err) < 0)
        return RPS_USAGE;
    rps_progress_begin(cli, "importing");
    result = rps_import_file(path, cli->output, &settings->import, &outcome, &cli->err);
    if (result < 0)
        return result;
    rps_progress_end(cli);
    if (outcome.periods_each > 1)
        snprintf(each, sizeof(each), " times %d, since one holds eight columns",
                 outcome.periods_each);
    snprintf(text, sizeof(text), "%s (%s) is run %lld of %s: %llu period%s%s",
             strcmp(path, "-") == 0 ? "standard input" : path, outcome.format,
             (long long)outcome.run_id, cli->output, (unsigned long long)outcome.intervals,
             outcome.intervals == 1 ? "" : "s", each);
    if (!cli->quiet)
        rps_output_message(text);
    return 0;
}

static int run(struct rps_cli *cli, int argc, char **argv)
{
    struct settings *settings = cli->settings;
    int result = 0;

    if (argc == 0)
        return rps_error_set(&cli->err, RPS_USAGE, "name the file to import; - is standard input");
    if (settings->import.start_realtime_ns == 0)
        settings->import.start_realtime_ns = -1;
    settings->import.tag = settings->tag;
    settings->import.note = cli->quiet ? NULL : rps_output_message;
    for (int i = 0; i < argc && result == 0; i++)
        result = import_file(cli, argv[i]);
    return result;
}

const struct rps_command rps_command_import = {
    .name = "import",
    .summary = "what other tools recorded, or an export, as a run of a store",
    .usage = "[OPTIONS] FILE...",
    .description =
        "Add files to a store, a run each, for report, phases, plot and compare. A FILE\n"
        "that is wrong leaves nothing behind; - is standard input. Formats:\n"
        "  rpistat     what 'rpistat export' writes: --format full gives the same run\n"
        "  perf-csv    perf stat -I MS -x SEPARATOR; perf-json: perf stat -I MS -j\n"
        "  toplev      toplev.py -I MS -x SEPARATOR, and its --valcsv\n"
        "  pmrep       pmrep -o csv of PCP\n"
        "  csv         any table of numbers, a row a moment; --map says what is what",
    .examples = "  rpistat export --format full | rpistat import -o copy.data -\n"
                "  rpistat import --map Timestamp=time,requests=count load.csv\n"
                "  rpistat import --label busy --start 2026-11-21T14:30 load.csv",
    .output = RPS_OUTPUT_PATH,
    .output_help = "store to add the run to",
    .output_value = RPS_STORE_DEFAULT_PATH,
    .operand_max = -1,
    .options = options,
    .settings_size = sizeof(struct settings),
    .option = set_option,
    .check = check,
    .run = run,
};
