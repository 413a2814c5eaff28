/* Options of `rpistat phases`. */
#include <ctype.h>
#include <string.h>

#include "cli.h"
#include "phases.h"
#include "rpistat/text.h"
#include "zone.h"

/* Parse --min-length: a number of periods, or a duration with its unit. */
static int set_min_length(const char *option, const char *text, void *member, struct rps_error *err)
{
    struct rps_phases_settings *settings = member;
    uint64_t periods = 0;

    settings->of.find.detect.min_length = 0;
    settings->of.min_length_ns = 0;
    if (strcmp(text, "auto") == 0)
        return 0;
    if (rps_parse_uint64(option, text, 1, INT32_MAX, &periods, NULL) == 0) {
        settings->of.find.detect.min_length = (size_t)periods;
        return 0;
    }
    if (isalpha((unsigned char)text[strlen(text) - (text[0] != '\0')]) &&
        rps_parse_duration_ns(option, text, 1, INT64_MAX, &settings->of.min_length_ns, NULL) == 0)
        return 0;
    return rps_error_set(err, RPS_USAGE,
                         "%s: '%s' is not a length; write a number of periods, as in 5, or a time "
                         "with its unit, as in 500ms",
                         option, text);
}

static int set_sensitivity(const char *option, const char *text, void *member,
                           struct rps_error *err)
{
    uint64_t steps = 0;

    if (rps_parse_uint64(option, text + (text[0] == '-' || text[0] == '+'), 0, RPS_LEVELS_STEPS,
                         &steps, NULL) < 0)
        return rps_error_set(err, RPS_USAGE, "%s: '%s' is not a whole number from -12 to 12",
                             option, text);
    *(int *)member = text[0] == '-' ? -(int)steps : (int)steps;
    return 0;
}

int rps_phases_level(const char *option, const char *text, void *ret, struct rps_error *err)
{
    struct rps_level_choice *choice = ret;
    uint64_t size = 0;

    choice->fine = strcmp(text, "fine") == 0;
    if (!choice->fine && rps_parse_uint64(option, text, 1, INT32_MAX, &size, NULL) < 0)
        return rps_error_set(
            err, RPS_USAGE,
            "%s: '%s' is not a level; write a number of phases, as in 12, or 'fine'", option, text);
    choice->size = (size_t)size;
    return 0;
}

#define AT(member) RPS_AT(struct rps_phases_settings, member)

const struct rps_option rps_phases_options[] = {
    {"metric", 0, "LIST", "use only these metrics (default all that vary)", NULL, RPS_OPTION_NAMES,
     AT(metric)},
    {"level", 0, "N", "divide the run into N phases, or fine (default automatic)", NULL,
     RPS_OPTION_OTHER, AT(of.find.level), .set = rps_phases_level, .words = "fine",
     .excludes = "at-most"},
    {"at-most", 0, "N", "use the finest level that has at most N phases", NULL, RPS_OPTION_INT,
     AT(of.find.level.at_most), 1, INT32_MAX},
    {"min-length", 0, "N", "shortest phase, in periods or as a time (default auto)", NULL,
     RPS_OPTION_OTHER, RPS_AT_SETTINGS, .set = set_min_length},
    {"sensitivity", 0, "N", "find more (up to 12) or fewer (to -12) phases", "0", RPS_OPTION_OTHER,
     AT(of.find.level.steps), .set = set_sensitivity},
    {"exact", 0, NULL, "search exactly; slow for long runs", NULL, RPS_OPTION_FLAG,
     AT(of.find.detect.exact)},
    {"no-samples", 0, NULL, "use counters only, not code", NULL, RPS_OPTION_FLAG,
     AT(of.no_samples)},
    {"cpu", 0, "CPUS", "CPUs: each, sum or a list", "sum", RPS_OPTION_TEXT, AT(cpus),
     .check = rps_cpus_check, .words = "each sum"},
    {"pca", 0, NULL, "show principal components of the metrics", NULL, RPS_OPTION_FLAG,
     AT(components)},
    RPS_FORMAT_OPTION(AT(format)),
    {"csv", 0, "FILE", "find phases in a table; - is standard input", NULL, RPS_OPTION_TEXT,
     AT(csv)},
    {"separator", 0, "C", "with --csv: cell separator (default detected)", NULL, RPS_OPTION_CHAR,
     AT(table.separator), .words = ", ; | tab"},
    {"decimal", 0, "C", "with --csv: decimal mark (default detected)", NULL, RPS_OPTION_CHAR,
     AT(table.decimal), .words = ". ,"},
    {"map", 0, "LIST", "with --csv: columns, COLUMN=KIND[:UNIT],...", NULL, RPS_OPTION_TEXT,
     AT(table.map)},
    {"skip-bad", 0, NULL, "with --csv: leave out cells that are not numbers", NULL, RPS_OPTION_FLAG,
     AT(table.skip_bad)},
    {"zone", 0, "ZONE", "with --csv: time zone of FILE, such as Europe/Paris", NULL,
     RPS_OPTION_TEXT, AT(zone), .check = rps_zone_check},
    {NULL},
};
RPS_OPTIONS_FIT(rps_phases_options);

int rps_phases_check(struct rps_cli *cli)
{
    struct rps_phases_settings *settings = cli->settings;

    cli->no_store = settings->csv != NULL;
    if (!settings->csv) {
        if (settings->table.separator || settings->table.decimal || settings->table.map ||
            settings->table.skip_bad || settings->zone)
            return rps_error_set(&cli->err, RPS_USAGE,
                                 "--separator, --decimal, --map, --skip-bad and --zone apply to "
                                 "tables; add --csv FILE");
        return 0;
    }
    if (cli->from_ns > 0 || cli->to_ns < INT64_MAX || cli->from_phase || cli->to_phase)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--from, --to: a table has no times; use `rpistat import` first");
    if (settings->of.min_length_ns > 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--min-length: a table has no times; write a number of rows");
    if (settings->table.separator != '\0' && settings->table.separator == settings->table.decimal)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "'%c' cannot be both separator and decimal mark; change one",
                             settings->table.decimal);
    return rps_output_differs(settings->csv, cli->output, &cli->err);
}
