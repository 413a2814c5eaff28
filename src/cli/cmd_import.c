/* `rpistat import`: stores recordings of other tools as runs. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "rpistat/import.h"
#include "rpistat/store.h"
#include "zone.h"

struct settings {
    struct rps_import_options import;
    struct rps_texts tag;
    const char *zone;
};

#define AT(member) RPS_AT(struct settings, member)

#define WORD(object, name, help) " " name
#define HELP(object, name, help) "\n  " help

static const struct rps_option options[] = {
    {"format", 0, "NAME", "format of FILE, see above (default detected)", NULL, RPS_OPTION_TEXT,
     AT(import.format), .words = &RPS_IMPORT_FORMATS(WORD)[1]},
    {"map", 0, "LIST", "columns of a table: COLUMN=KIND[:UNIT],...", NULL, RPS_OPTION_TEXT,
     AT(import.map)},
    {"skip-bad", 0, NULL, "leave out bad cells, and rows without a time", NULL, RPS_OPTION_FLAG,
     AT(import.skip_bad)},
    {"separator", 0, "C", "cell separator (default detected)", NULL, RPS_OPTION_CHAR,
     AT(import.separator), .words = ", ; | tab"},
    {"decimal", 0, "C", "decimal mark (default detected)", NULL, RPS_OPTION_CHAR,
     AT(import.decimal), .words = ". ,"},
    {"zone", 0, "ZONE", "time zone of FILE, such as Europe/Paris or +01:00", NULL, RPS_OPTION_TEXT,
     AT(zone), .check = rps_zone_check},
    {"label", 0, "TEXT", "label of the run, for --run in other commands", NULL, RPS_OPTION_TEXT,
     AT(import.label), .max = RPS_RUN_TEXT_SIZE - 1, .is_once = 1},
    {"tag", 0, "KEY=VALUE", "tag of the run; may be repeated", NULL, RPS_OPTION_LIST, AT(tag),
     .check = rps_tag_check, .is_once = 1},
    {"start", 0, "TIME", "when FILE begins: 14:30 or 2026-11-21T14:30", NULL, RPS_OPTION_OTHER,
     AT(import.start_realtime_ns), .set = rps_time_ago_parse, .is_once = 1},
    {NULL},
};

static int check_import(struct rps_cli *cli)
{
    if (cli->output && strcmp(cli->output, "-") == 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "-o -: a store is changed in place and cannot be a pipe; name a file");
    return 0;
}

static int import_file(struct rps_cli *cli, const char *path)
{
    struct settings *settings = cli->settings;
    struct rps_import_outcome outcome;
    char each[64] = "", runs[64], *zone;
    int result;

    if (rps_output_differs(path, cli->output, &cli->err) < 0)
        return RPS_USAGE;
    rps_progress_begin(cli, "importing");
    zone = rps_zone_enter(settings->zone);
    result = rps_import_file(path, cli->output, &settings->import, &outcome, &cli->err);
    rps_zone_leave(zone);
    if (result < 0)
        return result;
    rps_progress_end(cli);
    if (outcome.periods_each > 1)
        snprintf(each, sizeof(each), " in each of %d event sets", outcome.periods_each);
    if (outcome.runs > 1)
        snprintf(runs, sizeof(runs), "are runs %lld to %lld",
                 (long long)outcome.run_id - outcome.runs + 1, (long long)outcome.run_id);
    else
        snprintf(runs, sizeof(runs), "is run %lld", (long long)outcome.run_id);
    if (!cli->quiet)
        rps_output_print("%s (%s) %s of %s: %llu period%s%s",
                         strcmp(path, "-") == 0 ? "standard input" : path, outcome.format, runs,
                         cli->output, (unsigned long long)outcome.intervals,
                         outcome.intervals == 1 ? "" : "s", each);
    return 0;
}

static int run_import(struct rps_cli *cli)
{
    struct settings *settings = cli->settings;
    int result = 0;

    if (cli->argc == 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "no file to import; name one, or - for standard input");
    if (settings->import.start_realtime_ns == 0)
        settings->import.start_realtime_ns = -1;
    settings->import.tag = settings->tag.text;
    settings->import.tag_count = settings->tag.count;
    settings->import.note = cli->quiet ? NULL : rps_output_message;
    settings->import.set_zone = settings->zone ? NULL : rps_zone_set;
    for (int i = 0; i < cli->argc && result == 0; i++)
        result = import_file(cli, cli->argv[i]);
    return result;
}

const struct rps_command rps_command_import = {
    .name = "import",
    .summary = "add recordings of other tools to a store",
    .answers = "How does a recording of another tool become a run of a store?",
    .usage = "[OPTIONS] FILE...",
    .description =
        "Add files to a store as runs, for report, phases, plot and compare. A file with\n"
        "an error is not imported at all; - is standard input. Formats:" RPS_IMPORT_FORMATS(
            HELP) "\nRecipes for other formats (perf stat -j, toplev): examples/README.md.",
    .examples = "  rpistat import run.csv     of perf stat -I 100 -x, -o run.csv ./program\n"
                "  rpistat import --map Timestamp=time,requests=count load.csv\n"
                "  rpistat import --label busy --start 2026-11-21T14:30 load.csv",
    .output = RPS_OUTPUT_PATH,
    .output_help = "store to add the run to",
    .output_value = RPS_STORE_DEFAULT_PATH,
    .operand_max = -1,
    .options = RPS_OPTIONS(options),
    .settings_size = sizeof(struct settings),
    .check = check_import,
    .run = run_import,
};
