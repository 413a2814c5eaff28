/* Options of `rpistat phases`. */
#include <ctype.h>
#include <string.h>

#include "cpus.h"
#include "format.h"
#include "phases.h"
#include "rpistat/parse.h"

/* A number of periods, or a duration with its unit. */
static int set_min_length(const char *option, const char *text, void *member, struct rps_error *err)
{
    struct rps_phases_settings *settings = member;
    uint64_t periods = 0;

    settings->find.detect.min_length = 0;
    settings->min_length_ns = 0;
    if (strcmp(text, "auto") == 0)
        return 0;
    if (rps_parse_uint64(option, text, 1, INT32_MAX, &periods, NULL) == 0) {
        settings->find.detect.min_length = (size_t)periods;
        return 0;
    }
    if (isalpha((unsigned char)text[strlen(text) - (text[0] != '\0')]) &&
        rps_parse_duration_ns(option, text, 1, INT64_MAX, &settings->min_length_ns, NULL) == 0)
        return 0;
    return rps_error_set(err, RPS_USAGE,
                         "%s: '%s' is neither a number of periods, as in 5, nor a time with its "
                         "unit, as in 500ms",
                         option, text);
}

static int set_sensitivity(const char *option, const char *text, void *member,
                           struct rps_error *err)
{
    uint64_t steps = 0;

    if (rps_parse_uint64(option, text + (text[0] == '-' || text[0] == '+'), 0, RPS_LEVELS_STEPS,
                         &steps, NULL) < 0)
        return rps_error_set(err, RPS_USAGE, "%s: '%s' is no whole number from -12 to 12", option,
                             text);
    *(int *)member = text[0] == '-' ? -(int)steps : (int)steps;
    return 0;
}

int rps_phases_level(const char *option, const char *text, void *ret, struct rps_error *err)
{
    struct rps_level_choice *choice = ret;
    uint64_t size = 0;

    choice->fine = strcmp(text, "fine") == 0;
    if (!choice->fine && rps_parse_uint64(option, text, 1, INT32_MAX, &size, NULL) < 0)
        return rps_error_set(err, RPS_USAGE,
                             "%s: '%s' is neither a number of phases, as in 12, nor 'fine'", option,
                             text);
    choice->size = (size_t)size;
    return 0;
}

#define AT(member) RPS_AT(struct rps_phases_settings, member)

const struct rps_option rps_phases_options[] = {
    {"metric", 0, "LIST", "use only these metrics (default all that vary)", NULL, RPS_OPTION_NAMES,
     AT(metric)},
    {"level", 0, "N", "use the level of N phases, or fine (default readable)", NULL,
     RPS_OPTION_OTHER, AT(find.level), .set = rps_phases_level, .words = "fine",
     .excludes = "at-most"},
    {"at-most", 0, "N", "use the finest level of at most N phases", NULL, RPS_OPTION_INT,
     AT(find.level.at_most), 1, INT32_MAX},
    {"min-length", 0, "N", "shortest phase: 5 (periods), 500ms (default auto)", NULL,
     RPS_OPTION_OTHER, RPS_AT_SETTINGS, .set = set_min_length},
    {"sensitivity", 0, "N", "find more (up to 12) or fewer (to -12) phases", "0", RPS_OPTION_OTHER,
     AT(find.level.steps), .set = set_sensitivity},
    {"exact", 0, NULL, "search exactly; slow for long runs", NULL, RPS_OPTION_FLAG,
     AT(find.detect.exact)},
    {"no-samples", 0, NULL, "use counters only, not code", NULL, RPS_OPTION_FLAG, AT(no_samples)},
    {"cpu", 0, "CPUS", "CPUs: each, sum or a list", "sum", RPS_OPTION_TEXT, AT(cpus),
     .check = rps_cpus_check, .words = "each sum"},
    {"pca", 0, NULL, "show principal components of the metrics", NULL, RPS_OPTION_FLAG,
     AT(components)},
    RPS_FORMAT_OPTION(AT(format)),
    {"csv", 0, "FILE", "find phases in a CSV file; - is standard input", NULL, RPS_OPTION_TEXT,
     AT(csv)},
    {"separator", 0, "C", "with --csv: separator of cells (default detected)", NULL,
     RPS_OPTION_CHAR, AT(table.separator), .words = ", ; | tab"},
    {"decimal", 0, "C", "with --csv: decimal mark (default detected)", NULL, RPS_OPTION_CHAR,
     AT(table.decimal), .words = ". ,"},
    {NULL},
};

int rps_phases_check(struct rps_cli *cli)
{
    struct rps_phases_settings *settings = cli->settings;

    cli->no_store = settings->csv != NULL;
    if (!settings->csv) {
        if (settings->table.separator || settings->table.decimal)
            return rps_error_set(&cli->err, RPS_USAGE,
                                 "--separator and --decimal are of tables: add --csv FILE");
        return 0;
    }
    if (cli->from_ns > 0 || cli->to_ns < INT64_MAX || cli->from_phase || cli->to_phase)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--from, --to: a table has no times; use 'rpistat import' first");
    if (settings->min_length_ns > 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--min-length: a table has no times; give a number of rows");
    if (settings->table.separator != '\0' && settings->table.separator == settings->table.decimal)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "'%c' cannot be both the separator and the decimal mark",
                             settings->table.decimal);
    return rps_output_differs(settings->csv, cli->output, &cli->err);
}
