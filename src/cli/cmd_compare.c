/* `rpistat compare`: the changes between two runs, or two groups of runs. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "compare.h"
#include "format.h"
#include "phases.h"
#include "picture_options.h"
#include "rpistat/comparison.h"
#include "rpistat/store.h"

/* For limits; no other command ends with these. */
#define STATUS_FAILS     3
#define STATUS_UNDECIDED 4

struct settings {
    struct rps_texts input; /* of side A, of side B */
    const char *against;    /* NULL: not given */
    int format;             /* its word */
    int all;
    int undecided; /* the answer that it counts as */
    struct rps_comparison_options find;
    struct rps_texts fail_if;
    struct rps_comparison_limit limit[RPS_TEXTS_MAX]; /* the same, parsed */
    struct rps_names metric;
    enum rps_theme theme;
    const char *size, *keep; /* NULL: not given */
    int width, height;
};

#define AT(member) RPS_AT(struct settings, member)

static const struct rps_option options[] = {
    {"against", 0, "RUNS", "baseline: use these runs as A", NULL, RPS_OPTION_TEXT, AT(against)},
    {"format", 0, "NAME", "one of text json csv markdown html", "text", RPS_OPTION_CHOICE,
     AT(format), .words = RPS_DOCUMENT_FORMATS},
    {"all", 0, NULL, "show all metrics of all phases, also unchanged ones", NULL, RPS_OPTION_FLAG,
     AT(all)},
    {"level", 0, "N", "use the level of N phases, or fine (default readable)", NULL,
     RPS_OPTION_OTHER, AT(find.level), .set = rps_phases_level, .words = "fine"},
    {"no-phases", 0, NULL, "compare whole runs only", NULL, RPS_OPTION_FLAG, AT(find.no_phases)},
    {"no-samples", 0, NULL, "compare counters only, not code", NULL, RPS_OPTION_FLAG,
     AT(find.no_samples)},
    {"fail-if", 0, "LIMIT", "exit 3 if beyond it, 4 if undecided: 'C:cpi>+3%'", NULL,
     RPS_OPTION_LIST, AT(fail_if)},
    {"undecided", 0, "HOW", "exit status of an undecided limit: pass or fail", NULL,
     RPS_OPTION_CHOICE, AT(undecided), RPS_CHANGE_HOLDS, .words = "pass fail"},
    {"metric", 0, "LIST", "in pictures: show these metrics, separated by commas", NULL,
     RPS_OPTION_NAMES, AT(metric)},
    {"theme", 0, "THEME", "in pictures: light or dark", NULL, RPS_OPTION_CHOICE, AT(theme),
     RPS_THEME_LIGHT, .words = "light dark"},
    {"size", 0, "WxH", "in pictures: size in pixels", NULL, RPS_OPTION_TEXT, AT(size)},
    {"keep", 0, "DIR", "keep gnuplot's script and data in directory DIR", NULL, RPS_OPTION_TEXT,
     AT(keep), 1},
    {"input", 'i', "FILE", "store to read; twice: A's and B's", RPS_STORE_DEFAULT_PATH,
     RPS_OPTION_LIST, AT(input), .max = 2},
    {NULL},
};

/* --- options ---------------------------------------------------------------------------------- */

/* The store of a side: a single one is for both. */
static const char *input_of(const struct settings *settings, int side)
{
    return settings->input.text[side < settings->input.count ? side : 0];
}

/* An option for pictures on the command line; NULL: none. */
static const char *find_of_picture(const struct rps_cli *cli)
{
    static const char *const names[] = {"metric", "theme", "size", "keep"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (rps_options_source(cli, names[i]) == RPS_SOURCE_COMMAND_LINE)
            return names[i];
    }
    return NULL;
}

/* Return 1 if -o names a picture or a page. */
static int is_picture(const struct rps_cli *cli)
{
    static const char *const endings[] = {".png", ".svg", ".pdf", ".html"};
    const char *ending = cli->output ? strrchr(cli->output, '.') : NULL;

    for (size_t i = 0; ending && i < sizeof(endings) / sizeof(endings[0]); i++) {
        if (strcasecmp(ending, endings[i]) == 0)
            return 1;
    }
    return 0;
}

static int check_compare(struct rps_cli *cli)
{
    struct settings *settings = cli->settings;
    const char *of_picture = find_of_picture(cli);

    for (int i = 0; i < settings->fail_if.count; i++) {
        if (rps_compare_limit_parse(settings->fail_if.text[i], &settings->limit[i], &cli->err) < 0)
            return RPS_USAGE;
    }
    if (rps_options_source(cli, "undecided") == RPS_SOURCE_COMMAND_LINE &&
        settings->fail_if.count == 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--undecided is of --fail-if, which is not given");
    if (of_picture && !is_picture(cli))
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--%s is of pictures: name one with -o, as in -o compare.png",
                             of_picture);
    if (is_picture(cli) && settings->format != RPS_FORMAT_TEXT &&
        rps_options_source(cli, "format") == RPS_SOURCE_COMMAND_LINE)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "-o %s is a picture, and --format is of text: leave one of them out",
                             cli->output);
    for (int side = 0; side < 2; side++) {
        if (rps_output_differs(input_of(settings, side), cli->output, &cli->err) < 0)
            return RPS_USAGE;
    }
    cli->no_stream = is_picture(cli);
    return rps_picture_size(settings->size, &rps_picture_pixels, &settings->width,
                            &settings->height, &cli->err);
}

/* --- sides ------------------------------------------------------------------------------------ */

struct side {
    const char *store;
    const char *text; /* as the user wrote it */
    struct rps_reader *reader;
    size_t count;
    int64_t *run_id; /* owned; ascending */
};

struct job {
    struct side side[2];
    int is_one_store; /* A and B have the same reader */
    struct rps_comparison comparison;
};

static void job_free(struct job *job)
{
    rps_comparison_free(&job->comparison);
    for (int i = 0; i < 2; i++) {
        free(job->side[i].run_id);
        if (i == 0 || !job->is_one_store)
            rps_reader_close(job->side[i].reader);
    }
}

static int is_same_file(const char *a, const char *b)
{
    struct stat first, second;

    return strcmp(a, b) == 0 || (stat(a, &first) == 0 && stat(b, &second) == 0 &&
                                 first.st_dev == second.st_dev && first.st_ino == second.st_ino);
}

/* Set the sides from the operands and --against, or from the last runs. */
static int name_sides(struct rps_cli *cli, struct job *job)
{
    const struct settings *settings = cli->settings;
    struct side *a = &job->side[RPS_SIDE_A], *b = &job->side[RPS_SIDE_B];
    char **text = cli->argv;

    if (settings->against && cli->argc > 1)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--against names side A, and so does '%s': leave one of them out",
                             text[0]);
    a->store = input_of(settings, RPS_SIDE_A);
    b->store = input_of(settings, RPS_SIDE_B);
    job->is_one_store = is_same_file(a->store, b->store);
    a->text = settings->against ? settings->against
              : *text           ? *text++
                                : (job->is_one_store ? "last-1" : "last");
    b->text = *text ? *text : "last";
    return 0;
}

/* Remove the runs of `other`, which is in the same store, from a side. */
static void leave_out(struct side *side, const struct side *other)
{
    size_t kept = 0;

    for (size_t i = 0, k = 0; i < side->count; i++) {
        while (k < other->count && other->run_id[k] < side->run_id[i])
            k++;
        if (k == other->count || other->run_id[k] != side->run_id[i])
            side->run_id[kept++] = side->run_id[i];
    }
    side->count = kept;
}

static int find_sides(struct rps_cli *cli, struct job *job)
{
    const struct settings *settings = cli->settings;
    struct side *a = &job->side[RPS_SIDE_A], *b = &job->side[RPS_SIDE_B];
    int result = rps_reader_open(&a->reader, a->store, &cli->err);

    if (result == 0 && job->is_one_store)
        b->reader = a->reader;
    else if (result == 0)
        result = rps_reader_open(&b->reader, b->store, &cli->err);
    for (int i = 0; i < 2 && result == 0; i++)
        result = rps_reader_find_group(job->side[i].reader, job->side[i].text, &job->side[i].run_id,
                                       &job->side[i].count, &cli->err);
    if (result == 0 && settings->against && job->is_one_store)
        leave_out(a, b);
    if (result == 0 && a->count == 0)
        result = rps_error_set(&cli->err, RPS_FAILED,
                               "--against %s: all runs that it means are on side B, %s", a->text,
                               b->text);
    return result;
}

static int find_comparison(struct rps_cli *cli, struct job *job)
{
    const struct settings *settings = cli->settings;
    size_t count = job->side[0].count + job->side[1].count, at = 0;
    struct rps_comparison_choice *choice = rps_arena_get(cli->arena, count, sizeof(*choice));
    int result;

    for (int i = 0; i < 2; i++) {
        for (size_t n = 0; n < job->side[i].count; n++)
            choice[at++] = (struct rps_comparison_choice){
                .reader = job->side[i].reader,
                .store = job->side[i].store,
                .run_id = job->side[i].run_id[n],
                .side = (enum rps_comparison_side)i,
            };
    }
    rps_progress_begin(cli, "comparing");
    result = rps_comparison_find(cli->arena, choice, count, &settings->find, &job->comparison,
                                 &cli->err);
    rps_progress_end(cli);
    return result;
}

/* --- output ----------------------------------------------------------------------------------- */

static int draw_comparison(struct rps_cli *cli, const struct job *job)
{
    const struct settings *settings = cli->settings;
    const struct rps_comparison_plot plot = {
        .comparison = &job->comparison,
        .path = cli->output,
        .metric = settings->metric.count > 0 ? settings->metric.name : NULL,
        .metric_count = settings->metric.count,
        .theme = settings->theme,
        .width = settings->width,
        .height = settings->height,
        .keep = settings->keep,
        .script_folder = rps_output_scripts(),
        .temporary_folder = getenv("TMPDIR"),
    };
    int result;

    rps_progress_begin(cli, "drawing");
    result = rps_comparison_draw(&plot, &cli->err);
    rps_progress_end(cli);
    return result;
}

/* Numbers in text use the decimal sign of the user's locale. */
static void put_document(struct rps_cli *cli, const struct job *job, struct rps_document *document)
{
    const struct settings *settings = cli->settings;
    const struct rps_comparison_output output = {
        .comparison = &job->comparison,
        .all = settings->all,
        .limit = settings->limit,
        .limit_count = (size_t)settings->fail_if.count,
    };
    locale_t before = uselocale(rps_format_locale(cli, settings->format));

    rps_comparison_put(document, &output);
    uselocale(before);
}

static int write_text(struct rps_cli *cli, const struct job *job)
{
    const struct settings *settings = cli->settings;
    struct rps_document document = {.arena = cli->arena, .width = RPS_DOCUMENT_WIDTH};

    put_document(cli, job, &document);
    rps_format_document(cli, &document, settings->format);
    return 0;
}

/* Return the exit status. Print the failed limits, unless a text with them is on a terminal. */
static int status_of(struct rps_cli *cli, const struct rps_comparison *comparison)
{
    const struct settings *settings = cli->settings;
    int is_told = !cli->output && rps_output_terminal(NULL, NULL);
    enum rps_change_answer answer = rps_compare_limits_answer(
        comparison, settings->limit, (size_t)settings->fail_if.count, is_told);

    if (answer == RPS_CHANGE_UNDECIDED &&
        rps_options_source(cli, "undecided") != RPS_SOURCE_DEFAULT)
        answer = (enum rps_change_answer)settings->undecided;
    return answer == RPS_CHANGE_FAILS       ? STATUS_FAILS
           : answer == RPS_CHANGE_UNDECIDED ? STATUS_UNDECIDED
                                            : 0;
}

static int run_compare(struct rps_cli *cli)
{
    struct settings *settings = cli->settings;
    struct job job = {0};
    int result = name_sides(cli, &job);

    if (result == 0)
        result = find_sides(cli, &job);
    if (result == 0)
        result = find_comparison(cli, &job);
    if (result == 0)
        result = rps_compare_limits_check(&job.comparison, settings->limit,
                                          (size_t)settings->fail_if.count, &cli->err);
    if (result == 0)
        result = is_picture(cli) ? draw_comparison(cli, &job) : write_text(cli, &job);
    if (result == 0)
        result = status_of(cli, &job.comparison);
    job_free(&job);
    return result;
}

const struct rps_command rps_command_compare = {
    .name = "compare",
    .summary = "show what changed between two runs, or groups of runs",
    .usage = "[OPTIONS] [A] [B]",
    .description =
        "Show what changed from A to B, for the whole run and for each phase, with\n"
        "confidence intervals. A and B are runs: a number, several (1,3,5 or 1-5), last,\n"
        "last-N, or a label or a tag KEY=VALUE, which means all runs that have it. B is\n"
        "the last run by default, and A the run before it. To separate a change from\n"
        "chance, record several runs of each: 'rpistat record --repeat 5'.",
    .examples = "  rpistat compare\n"
                "  rpistat compare 1 2,3 --all\n"
                "  rpistat compare --against run1 --format markdown\n"
                "  rpistat compare 1-2 last --no-phases --fail-if 'elapsed>+3%'\n"
                "  rpistat compare 1 3 -o compare.html",
    .input = RPS_INPUT_NONE,
    .output = RPS_OUTPUT_STREAM,
    .output_help = "as its ending says: .csv, .png",
    .operand_max = 2,
    .options = options,
    .settings_size = sizeof(struct settings),
    .check = check_compare,
    .run = run_compare,
};
