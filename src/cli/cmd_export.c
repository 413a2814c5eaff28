/* `rpistat export`: writes a run for other programs. The formats are rows of rps_export_formats. */
#include <fnmatch.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "rpistat/export.h"
#include "rpistat/clock.h"
#include "rpistat/store.h"
#include "rpistat/text.h"
#include "rpistat/code_hooks.h"

#define LOOK_MS 250 /* interval between two readings of a running recording */

struct settings {
    const struct rps_export_format *format;
    int is_rates, is_long, follow;
    int is_default; /* 1: --format is not given, so the format depends on the run */
    int is_locale;
    struct rps_export_options export;
    const char *cpus;
};

static int set_format(const char *option, const char *name, void *member, struct rps_error *err)
{
    const struct rps_code_hooks *hooks = rps_store_used_hooks();
    const struct rps_export_format *const *const tables[] = {rps_export_formats,
                                                             hooks ? hooks->formats : NULL};
    struct settings *settings = member;
    char names[160] = "";

    if (strcmp(name, RPS_EXPORT_GONE) == 0)
        return rps_error_set(err, RPS_USAGE, "%s: " RPS_EXPORT_GONE_TEXT, option);
    if (strcmp(name, "jsonl") == 0) {
        settings->export.csv.json = 1;
        return 0;
    }
    for (int t = 0; t < 2; t++) {
        for (const struct rps_export_format *const *row = tables[t]; row && *row; row++) {
            if (strcmp((*row)->name, name) == 0) {
                settings->format = *row;
                return 0;
            }
            rps_text_list(names, sizeof(names), (*row)->name);
        }
    }
    return rps_error_set(err, RPS_USAGE, "%s: '%s' is not a format; choose from %s, jsonl", option,
                         name, names);
}

/* Set the format that spreadsheets in the user's language expect. */
static int set_locale(const char *option, const char *text, void *member, struct rps_error *err)
{
    const struct rps_cli *cli = member;
    struct settings *settings = cli->settings;
    int comma;

    (void)text;
    if (cli->locale == (locale_t)0)
        return rps_error_set(err, RPS_USAGE,
                             "%s: the locale of LC_ALL, LC_NUMERIC or LANG is not installed; use "
                             "--separator ';' --decimal ',' instead",
                             option);
    settings->is_locale = 1;
    comma = strcmp(nl_langinfo_l(RADIXCHAR, cli->locale), ",") == 0;
    settings->export.csv.decimal = comma ? ',' : '.';
    settings->export.csv.separator = comma ? ';' : ',';
    return 0;
}

#define AT(member) RPS_AT(struct settings, member)

static const struct rps_option options[] = {
    {"format", 0, "NAME", "format, see above", NULL, RPS_OPTION_OTHER, RPS_AT_SETTINGS,
     .set = set_format,
     .words = &RPS_EXPORT_FORMATS(RPS_EXPORT_WORD)
                  RPS_EXPORT_SAMPLE_FORMATS(RPS_EXPORT_WORD) " jsonl"[1]},
    {"rates", 0, NULL, "the same as --format rates", NULL, RPS_OPTION_FLAG, AT(is_rates)},
    {"long", 0, NULL, "the same as --format long; also with --rates", NULL, RPS_OPTION_FLAG,
     AT(is_long)},
    {"every", 0, "T", "one row, or one sample of each series, per T", NULL, RPS_OPTION_DURATION,
     AT(export.every_ns), RPS_NS_PER_MS, 366 * 24 * 3600 * RPS_NS_PER_S},
    {"follow", 0, NULL, "follow a recording until the run ends", NULL, RPS_OPTION_FLAG, AT(follow)},
    {"clock", 0, "[=FORM]", "add date and time; FORM: offset (default) or local", NULL,
     RPS_OPTION_CHOICE, AT(export.clock), RPS_EXPORT_CLOCK_OFFSET, .words = "offset local"},
    {"locale", 0, NULL, "write for spreadsheets of the locale, with local time", NULL,
     RPS_OPTION_OTHER, RPS_AT_CLI, .set = set_locale},
    {"separator", 0, "C", "cell separator, or tab", ",", RPS_OPTION_CHAR, AT(export.csv.separator),
     .words = ", ; : | tab ! # / & ~ ^"},
    {"decimal", 0, "C", "decimal mark, a point or a comma", ".", RPS_OPTION_CHAR,
     AT(export.csv.decimal), .words = ". ,"},
    {"crlf", 0, NULL, "end lines with CR LF", NULL, RPS_OPTION_FLAG, AT(export.csv.crlf)},
    {"bom", 0, NULL, "begin with a UTF-8 byte order mark", NULL, RPS_OPTION_FLAG,
     AT(export.csv.bom)},
    {"cpu", 0, "CPUS", "CPUs: each (default), sum or a list", NULL, RPS_OPTION_TEXT, AT(cpus),
     .check = rps_cpus_check, .words = "each sum"},
    {"region", 0, "NAME", "use only periods completely inside this region", NULL, RPS_OPTION_TEXT,
     AT(export.region)},
    {"explain", 0, NULL, "describe the columns of this export instead", NULL, RPS_OPTION_FLAG,
     AT(export.explain)},
    {NULL},
};

static int choose_format(struct rps_cli *cli)
{
    struct settings *settings = cli->settings;
    const char *name = settings->format->name;
    int every = settings->export.every_ns > 0 || strcmp(name, "every") == 0;

    if (settings->format->own_form)
        return 0;
    if (strcmp(name, "table") == 0 && (every || settings->is_rates || settings->is_long))
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--format table exports an imported table unchanged; leave out "
                             "--every, --rates and --long, or --format");
    settings->is_rates |= strcmp(name, "rates") == 0 || strcmp(name, "long-rates") == 0;
    settings->is_long |= strncmp(name, "long", 4) == 0;
    if (every && settings->export.every_ns == 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--format every needs the length of a row; add it, as in --every 10s");
    if (every && (settings->is_long || settings->follow))
        return rps_error_set(
            &cli->err, RPS_USAGE,
            "--every writes one row per finished interval and one column per metric; leave out %s",
            settings->is_long ? "--long" : "--follow");
    if (every)
        settings->format = rps_export_find("every");
    else if (settings->is_rates)
        settings->format = rps_export_find(settings->is_long ? "long-rates" : "rates");
    else if (settings->is_long)
        settings->format = rps_export_find("long");
    return 0;
}

/* Check the options of formats that are neither CSV nor JSON lines. */
static int check_own_form(struct rps_cli *cli)
{
    const struct settings *settings = cli->settings;
    const struct rps_export_options *export = &settings->export;
    const struct rps_export_format *format = settings->format;

    if (!format->own_form)
        return 0;
    if (settings->follow && format->takes_every)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--format %s is written series by series at the end; leave out "
                             "--follow, or use `rpistat push --follow`",
                             format->name);
    if (settings->is_rates || settings->is_long || export->csv.json || export->clock ||
        settings->is_locale || export->explain || export->csv.separator != ',' ||
        export->csv.decimal != '.' || export->csv.crlf || export->csv.bom ||
        (export->every_ns > 0 && !format->takes_every) || (settings->follow && !format->follows))
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--format %s is neither CSV nor JSON lines; leave out --rates, "
                             "--long, --clock, --explain%s%s and their options",
                             format->name, format->takes_every ? "" : ", --every",
                             format->follows ? "" : ", --follow");
    if (format->is_binary && !cli->output && isatty(STDOUT_FILENO))
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--format %s is not for a terminal; name a file with -o",
                             format->name);
    return 0;
}

/* Check the options for system metrics. Options for rows or columns of periods are refused, because
 * readings of system metrics do not have the times of periods. */
static int check_signals(struct rps_cli *cli)
{
    const struct settings *settings = cli->settings;
    const struct rps_export_options *export = &settings->export;

    if (strcmp(settings->format->name, "signals") != 0)
        return 0;
    if (settings->is_rates || settings->is_long || settings->follow || export->every_ns > 0 ||
        export->clock || export->region || settings->cpus)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--format signals writes one row per reading; leave out --rates, "
                             "--long, --every, --clock, --region, --cpu and --follow");
    return 0;
}

static int check_follow(struct rps_cli *cli)
{
    const struct settings *settings = cli->settings;

    if (!settings->follow)
        return 0;
    if (cli->to_ns < INT64_MAX || cli->to_phase != NULL)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--follow continues until the run ends; leave out --to or --follow");
    if (settings->export.region != NULL)
        return rps_error_set(
            &cli->err, RPS_USAGE,
            "--follow: the end of a region is known only later; leave out --region or --follow");
    if (cli->output != NULL && strcmp(cli->output, "-") != 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--follow: the file of -o appears when the run has ended; write > %s "
                             "to get rows as they arrive",
                             cli->output);
    return 0;
}

static int check_export(struct rps_cli *cli)
{
    struct settings *settings = cli->settings;

    settings->is_default = !settings->format;
    if (!settings->format && !settings->export.csv.json && cli->output &&
        fnmatch("*.json", cli->output, 0) == 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "-o %s: without --format the output is CSV; add --format jsonl, "
                             "or perfetto, or name a .csv file",
                             cli->output);
    if (!settings->format)
        settings->format = rps_export_find("wide");
    if (check_own_form(cli) < 0 || check_signals(cli) < 0 || choose_format(cli) < 0 ||
        check_follow(cli) < 0)
        return RPS_USAGE;
    if (settings->export.csv.json &&
        (settings->export.csv.separator != ',' || settings->export.csv.decimal != '.' ||
         settings->export.csv.crlf || settings->export.csv.bom))
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--format jsonl: JSON does not depend on the locale; leave out "
                             "--locale, --separator, --decimal, --crlf and --bom");
    if (settings->export.csv.separator == settings->export.csv.decimal)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "'%c' cannot be both the separator and the decimal mark; add "
                             "--separator ';'",
                             settings->export.csv.decimal);
    return 0;
}

/* Wait until the next reading. A closed output pipe ends rpistat, as a write to the pipe would. */
static int wait_for_more(void *context)
{
    struct pollfd out = {.fd = fileno(context)};

    if (poll(&out, 1, LOOK_MS) > 0 && (out.revents & POLLERR))
        raise(SIGPIPE);
    return (out.revents & POLLERR) != 0;
}

/* Choose the original format for an imported run. */
static int choose_by_run(struct rps_cli *cli)
{
    struct settings *settings = cli->settings;
    struct rps_run run;
    int result;

    if (!settings->is_default || settings->format != rps_export_find("wide"))
        return 0;
    result = rps_reader_run(cli->arena, cli->reader, cli->run_id, &run, &cli->err);
    if (result == 0 && rps_run_is_import(&run))
        settings->format = rps_export_find("table");
    return result;
}

static int run_export(struct rps_cli *cli)
{
    struct settings *settings = cli->settings;
    /* By default, each CPU is exported separately. */
    int result = rps_cpus_choose(cli, settings->cpus, &settings->export.cpus);

    settings->export.from_ns = cli->from_ns;
    settings->export.to_ns = cli->to_ns;
    settings->export.note = cli->quiet ? NULL : rps_output_message;
    if (settings->follow)
        (void)!nice(RPS_CLI_NICENESS);
    else if (rps_output_is_file(fileno(cli->out)))
        rps_progress_begin(cli, "exporting");
    if (result == 0)
        result = choose_by_run(cli);
    if (settings->is_locale && settings->export.clock <= RPS_EXPORT_CLOCK &&
        settings->format != rps_export_find("table"))
        settings->export.clock = RPS_EXPORT_CLOCK_LOCAL;
    if (result == 0)
        result = settings->follow
                     ? rps_export_follow(settings->format, cli->out, cli->reader, cli->run_id,
                                         &settings->export, wait_for_more, cli->out, &cli->err)
                     : rps_export_run(settings->format, cli->out, cli->reader, cli->run_id,
                                      &settings->export, &cli->err);
    return result;
}

const struct rps_command rps_command_export = {
    .name = "export",
    .summary = "write a run as CSV, JSON lines or a trace",
    .answers = "What are the values of each period of a run?",
    .usage = "[OPTIONS]",
    .description = "Write a run for other programs, by default as CSV. Formats:" RPS_EXPORT_FORMATS(
        RPS_EXPORT_HELP)
        RPS_EXPORT_SAMPLE_FORMATS(
            RPS_EXPORT_HELP) "\n  jsonl          JSON lines, one object per row of another format",
    .examples = "  rpistat export --locale -o run.csv            for a spreadsheet\n"
                "  rpistat export --every 10s --clock -o day.csv\n"
                "  rpistat export --every 10s --explain          what its columns mean\n"
                "  rpistat export --follow --rates               follow a recording\n"
                "  rpistat export --format openmetrics --every 10s -o run.om\n"
                "  rpistat export --format perfetto -o run.json   for ui.perfetto.dev",
    .input = RPS_INPUT_RUN,
    .options = RPS_OPTIONS(options),
    .settings_size = sizeof(struct settings),
    .check = check_export,
    .run = run_export,
};
