/* `rpistat compare`: the changes between two runs, or two groups of runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "phases.h"
#include "rpistat/comparison.h"
#include "rpistat/store.h"
#include "rpistat/text.h"

/* Exit statuses if a limit fails or is inconclusive. No other command ends with status 3 or 4. */
#define STATUS_FAILS        3
#define STATUS_INCONCLUSIVE 4

struct settings {
    struct rps_texts input; /* stores of side A and of side B */
    const char *baseline;   /* NULL if --baseline is not given */
    int format;             /* index of the word of --format */
    int all;
    int inconclusive; /* answer that replaces the answer "inconclusive" */
    struct rps_comparison_options find;
    struct rps_texts fail_if;
    struct rps_comparison_limit limit[RPS_TEXTS_MAX]; /* parsed values of fail_if */
    struct rps_names metric;
    struct rps_comparison_plot plot;
    const char *size; /* NULL if the option is not given */
};

#define AT(member) RPS_AT(struct settings, member)

static const struct rps_option options[] = {
    {"baseline", 0, "RUNS", "use these runs as A", NULL, RPS_OPTION_TEXT, AT(baseline),
     .old_name = "against"},
    {"format", 0, "NAME", "one of text json csv markdown html", "text", RPS_OPTION_CHOICE,
     AT(format), .words = RPS_DOCUMENT_FORMATS},
    {"all", 0, NULL, "show all metrics of all phases, also unchanged ones", NULL, RPS_OPTION_FLAG,
     AT(all)},
    {"level", 0, "N", "divide runs into N phases, or fine (default automatic)", NULL,
     RPS_OPTION_OTHER, AT(find.level), .set = rps_phases_level, .words = "fine"},
    {"no-phases", 0, NULL, "compare whole runs only", NULL, RPS_OPTION_FLAG, AT(find.no_phases)},
    {"no-samples", 0, NULL, "compare counters only, not code", NULL, RPS_OPTION_FLAG,
     AT(find.no_samples)},
    {"latency", 0, NULL, "compare functions by latency, as `code --latency`", NULL, RPS_OPTION_FLAG,
     AT(find.is_latency)},
    {"statistic", 0, "NAME", "compare medians or geometric means", "mean", RPS_OPTION_CHOICE,
     AT(find.statistic), .words = "mean median"},
    {"fail-if", 0, "LIMIT", "exit 3 if beyond it, 4 if inconclusive: 'C:cpi>+3%'", NULL,
     RPS_OPTION_LIST, AT(fail_if)},
    {"inconclusive", 0, "HOW", "exit status of an inconclusive limit: pass or fail", NULL,
     RPS_OPTION_CHOICE, AT(inconclusive), RPS_CHANGE_HOLDS, .words = "pass fail",
     .old_name = "undecided"},
    {"metric", 0, "LIST", "in pictures: show these metrics, separated by commas", NULL,
     RPS_OPTION_NAMES, AT(metric)},
    {"theme", 0, "THEME", "in pictures: light or dark", NULL, RPS_OPTION_CHOICE, AT(plot.theme),
     RPS_THEME_LIGHT, .words = "light dark"},
    {"size", 0, "WxH", "in pictures: size in pixels", NULL, RPS_OPTION_TEXT, AT(size)},
    {"keep-script", 0, "DIR", "keep gnuplot's script and data in DIR", NULL, RPS_OPTION_TEXT,
     AT(plot.keep), 1, .old_name = "keep"},
    {"input", 'i', "FILE", "store; twice: A's and B's", RPS_STORE_DEFAULT_PATH, RPS_OPTION_LIST,
     AT(input), .max = 2},
    {NULL},
};

/* Limits of a comparison: --fail-if. */

/* Parse a --fail-if limit, "[PHASE:]FIGURE>+N%" or "FIGURE<-N%". RPS_USAGE for any other text. */
static int parse_limit(const char *text, struct rps_comparison_limit *ret, struct rps_error *err)
{
    size_t length = strcspn(text, "<>"), end = strlen(text);
    struct rps_comparison_limit limit = {.text = text, .is_above = text[length] == '>'};
    char number[32] = "";

    if (length < end && text[end - 1] == '%' && end - length - 2 < sizeof(number))
        snprintf(number, sizeof(number), "%.*s", (int)(end - length - 2), text + length + 1);
    if (length == 0 || length >= sizeof(limit.name) || !strchr("+-", number[0]) ||
        number[1] < '0' || number[1] > '9' ||
        rps_parse_double("--fail-if", number + 1, &limit.change, NULL) < 0)
        return rps_error_set(
            err, RPS_USAGE,
            "--fail-if '%s' is not a limit; write a metric, > or < and a signed percentage, as in "
            "'cpi>+3%%', 'elapsed>-10%%' (must fall by 10 %%) or, for a phase, 'C:cpi>+3%%'",
            text);
    snprintf(limit.name, sizeof(limit.name), "%.*s", (int)length, text);
    limit.change /= number[0] == '+' ? 100 : -100;
    *ret = limit;
    return 0;
}

int rps_limits_parse(struct rps_cli *cli, const struct rps_texts *text,
                     struct rps_comparison_limit *ret)
{
    for (int i = 0; i < text->count; i++) {
        if (parse_limit(text->text[i], &ret[i], &cli->err) < 0)
            return RPS_USAGE;
    }
    if (rps_options_set(cli, "inconclusive", RPS_SOURCE_COMMAND_LINE) && text->count == 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--inconclusive belongs to --fail-if; add --fail-if");
    return 0;
}

/* --- names ------------------------------------------------------------------------------------ */

static int no_figure(const struct rps_comparison *comparison,
                     const struct rps_comparison_limit *limit, const char *name,
                     struct rps_error *err)
{
    struct rps_suggestion suggestion = {.typed = name};
    const char *known = "";
    char question[256];

    for (size_t i = 0; i < comparison->figure_count; i++) {
        rps_suggestion_consider(&suggestion, comparison->figure[i].name);
        known = rps_arena_print(comparison->arena, "%s%s%s", known, i > 0 ? ", " : "",
                                comparison->figure[i].name);
    }
    return rps_error_set(
        err, RPS_USAGE, "--fail-if '%s': not all runs have a metric '%s'; %schoose from %s",
        limit->text, name, rps_suggestion_question(&suggestion, question, sizeof(question)), known);
}

static int no_phase(const struct rps_comparison *comparison,
                    const struct rps_comparison_limit *limit, int length, struct rps_error *err)
{
    char last[RPS_PHASE_LABEL_SIZE];

    if (comparison->row_count < 2)
        return rps_error_set(err, RPS_USAGE,
                             "--fail-if '%s': no phases are compared; leave out the phase",
                             limit->text);
    return rps_error_set(err, RPS_USAGE,
                         "--fail-if '%s': phase '%.*s' does not exist; choose one from A to %s",
                         limit->text, length, limit->name,
                         rps_phase_label(comparison->row[comparison->row_count - 1].label, last));
}

/* Find the metric that a limit names, and the row if the limit names a phase. A colon does not
 * always follow a phase, because names of events may also contain colons. */
static int find_figure(const struct rps_comparison *comparison, struct rps_comparison_limit *limit,
                       struct rps_error *err)
{
    const char *name = limit->name, *colon = strchr(name, ':');
    char phase[RPS_NAME_SIZE];
    int figure = rps_comparison_figure(comparison, name), label;

    limit->row = 0;
    if (figure < 0 && colon) {
        snprintf(phase, sizeof(phase), "%.*s", (int)(colon - name), name);
        label = rps_phase_label_parse(phase);
        for (size_t r = 1; r < comparison->row_count && label >= 0; r++) {
            if (comparison->row[r].label == label)
                limit->row = r;
        }
        figure = rps_comparison_figure(comparison, colon + 1);
        if (limit->row == 0 && figure >= 0)
            return no_phase(comparison, limit, (int)(colon - name), err);
        name = limit->row > 0 ? colon + 1 : name;
    }
    if (figure < 0)
        return no_figure(comparison, limit, name, err);
    limit->figure = (size_t)figure;
    return 0;
}

/* --- changes ---------------------------------------------------------------------------------- */

int rps_limits_check(const struct rps_comparison *comparison, struct rps_comparison_limit *limit,
                     size_t count, struct rps_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct rps_change *change;

        if (find_figure(comparison, &limit[i], err) < 0)
            return RPS_USAGE;
        change = &comparison->row[limit[i].row].change[limit[i].figure];
        if (change->why == RPS_CHANGE_ABSENT)
            return rps_error_set(
                err, RPS_FAILED,
                "--fail-if '%s' cannot be decided: %s has no such value; leave out the limit",
                limit[i].text, comparison->name[!isnan(change->a)]);
        limit[i].answer = rps_change_judge(change, limit[i].change, limit[i].is_above);
    }
    return 0;
}

/* Return the result of all limits: failed if any limit failed, otherwise inconclusive if any is
 * inconclusive. For each limit that does not hold, print a line on standard error, unless the
 * output already shows the limits. */
static enum rps_change_answer answer_limits(const struct rps_comparison *comparison,
                                            const struct rps_comparison_limit *limit, size_t count,
                                            int is_reported)
{
    size_t of[RPS_CHANGE_INCONCLUSIVE + 1] = {0};

    for (size_t i = 0; i < count; i++) {
        of[limit[i].answer]++;
        if (limit[i].answer != RPS_CHANGE_HOLDS && !is_reported)
            rps_output_message(rps_comparison_limit_text(comparison, &limit[i]));
    }
    return of[RPS_CHANGE_FAILS] > 0          ? RPS_CHANGE_FAILS
           : of[RPS_CHANGE_INCONCLUSIVE] > 0 ? RPS_CHANGE_INCONCLUSIVE
                                             : RPS_CHANGE_HOLDS;
}

int rps_limits_status(struct rps_cli *cli, const struct rps_comparison *comparison,
                      const struct rps_comparison_limit *limit, size_t count, int inconclusive)
{
    int is_reported = !cli->output && rps_output_terminal(NULL, NULL);
    enum rps_change_answer answer = answer_limits(comparison, limit, count, is_reported);

    if (answer == RPS_CHANGE_INCONCLUSIVE && rps_options_set(cli, "inconclusive", RPS_SOURCE_FILE))
        answer = (enum rps_change_answer)inconclusive;
    return answer == RPS_CHANGE_FAILS          ? STATUS_FAILS
           : answer == RPS_CHANGE_INCONCLUSIVE ? STATUS_INCONCLUSIVE
                                               : 0;
}

/* --- options ---------------------------------------------------------------------------------- */

/* Return the store of a side. A single store is used for both sides. */
static const char *input_of(const struct settings *settings, int side)
{
    return settings->input.text[side < settings->input.count ? side : 0];
}

/* Return 1 if -o names a picture file or an HTML page. */
static int is_picture(const struct rps_cli *cli)
{
    static const char *const endings[] = {".png", ".svg", ".pdf", ".html"};
    const char *ending = cli->output ? strrchr(cli->output, '.') : NULL;

    for (size_t i = 0; ending && i < RPS_COUNT(endings); i++) {
        if (strcasecmp(ending, endings[i]) == 0)
            return 1;
    }
    return 0;
}

static int check_compare(struct rps_cli *cli)
{
    struct settings *settings = cli->settings;
    const char *of_picture =
        rps_options_set(cli, "metric theme size keep-script", RPS_SOURCE_COMMAND_LINE);

    if (rps_limits_parse(cli, &settings->fail_if, settings->limit) < 0)
        return RPS_USAGE;
    if (settings->find.is_latency && settings->find.no_samples)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--latency needs samples; leave out --no-samples or --latency");
    if (of_picture && !is_picture(cli))
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--%s applies to pictures; name one with -o, as in -o compare.png",
                             of_picture);
    if (is_picture(cli) && settings->format != RPS_FORMAT_TEXT &&
        rps_options_set(cli, "format", RPS_SOURCE_COMMAND_LINE))
        return rps_error_set(&cli->err, RPS_USAGE,
                             "-o %s is a picture, and --format is for text; leave one of them out",
                             cli->output);
    for (int side = 0; side < 2; side++) {
        if (rps_output_differs(input_of(settings, side), cli->output, &cli->err) < 0)
            return RPS_USAGE;
    }
    cli->no_stream = is_picture(cli);
    return rps_picture_size(settings->size, &rps_picture_pixels, &settings->plot.width,
                            &settings->plot.height, &cli->err);
}

/* --- sides ------------------------------------------------------------------------------------ */

struct side {
    const char *store;
    const char *text; /* name of the side as the user wrote it */
    struct rps_reader *reader;
    size_t count;
    int64_t *run_id; /* numbers of the runs, ascending; owned */
};

struct job {
    struct side side[2];
    int is_one_store; /* sides A and B are in one store, so they have the same reader */
    struct rps_comparison comparison;
};

static int is_same_file(const char *a, const char *b)
{
    struct stat first, second;

    return strcmp(a, b) == 0 || (stat(a, &first) == 0 && stat(b, &second) == 0 &&
                                 first.st_dev == second.st_dev && first.st_ino == second.st_ino);
}

/* Set the sides from the operands and --baseline, or without these from the most recent runs. */
static int name_sides(struct rps_cli *cli, struct job *job)
{
    const struct settings *settings = cli->settings;
    struct side *a = &job->side[RPS_SIDE_A], *b = &job->side[RPS_SIDE_B];
    char **text = cli->argv;

    if (settings->baseline && cli->argc > 1)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--baseline names side A, and so does '%s'; leave one of them out",
                             text[0]);
    a->store = input_of(settings, RPS_SIDE_A);
    b->store = input_of(settings, RPS_SIDE_B);
    job->is_one_store = is_same_file(a->store, b->store);
    a->text = settings->baseline ? settings->baseline
              : *text            ? *text++
                                 : (job->is_one_store ? "last-1" : "last");
    b->text = *text ? *text : "last";
    return 0;
}

/* Remove from a side the runs that the side `other` has; both sides use the same store. */
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
    int64_t *run_id;
    size_t count = 0;

    if (result == 0 && job->is_one_store)
        b->reader = a->reader;
    else if (result == 0)
        result = rps_reader_open(&b->reader, b->store, &cli->err);
    if (result == 0 && job->is_one_store && cli->argc == 0 && !settings->baseline)
        result = rps_reader_runs(cli->arena, a->reader, &run_id, &count, &cli->err);
    if (count == 1)
        result = rps_error_set(&cli->err, RPS_FAILED,
                               "%s has only one run; record another run, or name two stores with "
                               "-i A -i B",
                               a->store);
    for (int i = 0; i < 2 && result == 0; i++)
        result = rps_reader_find_group(cli->arena, job->side[i].reader, job->side[i].text,
                                       &job->side[i].run_id, &job->side[i].count, &cli->err);
    if (result == 0 && settings->baseline && job->is_one_store)
        leave_out(a, b);
    if (result == 0 && a->count == 0)
        result =
            rps_error_set(&cli->err, RPS_FAILED,
                          "--baseline %s: all of these runs are on side B (%s); choose other runs",
                          a->text, b->text);
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
    struct settings *settings = cli->settings;
    struct rps_comparison_plot *plot = &settings->plot;
    int result;

    plot->comparison = &job->comparison;
    plot->path = cli->output;
    plot->metric = settings->metric.count > 0 ? settings->metric.name : NULL;
    plot->metric_count = settings->metric.count;
    plot->script_folder = rps_output_scripts();
    plot->temporary_folder = getenv("TMPDIR");
    rps_progress_begin(cli, "drawing");
    result = rps_comparison_draw(plot, &cli->err);
    rps_progress_end(cli);
    return result;
}

/* Write the document. Numbers in text use the decimal sign of the user's locale. */
static void write_text(struct rps_cli *cli, const struct job *job)
{
    const struct settings *settings = cli->settings;
    struct rps_document document = {.arena = cli->arena, .width = RPS_DOCUMENT_WIDTH};
    const struct rps_comparison_output output = {
        .comparison = &job->comparison,
        .all = settings->all,
        .limit = settings->limit,
        .limit_count = (size_t)settings->fail_if.count,
    };
    locale_t before = uselocale(rps_format_locale(cli, settings->format));

    rps_comparison_put(&document, &output);
    uselocale(before);
    rps_format_document(cli, &document, settings->format);
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
        result = rps_limits_check(&job.comparison, settings->limit, (size_t)settings->fail_if.count,
                                  &cli->err);
    if (result == 0 && is_picture(cli))
        result = draw_comparison(cli, &job);
    else if (result == 0)
        write_text(cli, &job);
    if (result == 0)
        result = rps_limits_status(cli, &job.comparison, settings->limit,
                                   (size_t)settings->fail_if.count, settings->inconclusive);
    for (int i = 0; i < 2; i++) {
        if (i == 0 || !job.is_one_store)
            rps_reader_close(job.side[i].reader);
    }
    return result;
}

const struct rps_command rps_command_compare = {
    .name = "compare",
    .summary = "show what changed between two runs, or groups of runs",
    .answers = "What changed between two runs or groups of runs, and with which confidence?",
    .usage = "[OPTIONS] [A] [B]",
    .description =
        "Show what changed from A to B, for the whole run and for each phase, with\n"
        "confidence intervals. A and B are runs: a number, several (1,3,5 or 1-5), last,\n"
        "last-N, or a label or a tag KEY=VALUE, which means all runs that have it. One\n"
        "argument is A (with --baseline, B). By default, B is the last run, and A is the\n"
        "run before it. To separate a change from chance, record several runs of each:\n"
        "'rpistat record --repeat 5'.",
    .examples = "  rpistat compare\n"
                "  rpistat compare 1 2,3 --all\n"
                "  rpistat compare --baseline run1 --format markdown\n"
                "  rpistat compare 1-2 last --no-phases --fail-if 'elapsed>+3%'\n"
                "  rpistat compare 1 3 -o compare.html",
    .input = RPS_INPUT_NONE,
    .output = RPS_OUTPUT_STREAM,
    .output_help = "file; suffix sets the format",
    .operand_max = 2,
    .options = RPS_OPTIONS(options),
    .settings_size = sizeof(struct settings),
    .check = check_compare,
    .run = run_compare,
};
