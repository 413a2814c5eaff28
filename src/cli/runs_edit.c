/* `rpistat runs`: chooses runs, deletes runs, and changes their labels and tags. */
#include "runs_edit.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "rpistat/store.h"
#include "rpistat/text.h"

#define AT(member) RPS_AT(struct rps_runs_settings, member)

/* Parse --sort: a column, such as "start", or "-start" for descending order. */
static int parse_sort(const char *option, const char *text, void *ret, struct rps_error *err)
{
    static const char *const name[] = {"run",       "label",   "start", "state",
                                       "elapsed_s", "periods", "host",  "command"};
    int is_descending = text[0] == '-';
    int column = rps_options_word(RPS_RUNS_COLUMNS, text + is_descending);

    if (column < 0)
        return rps_error_set(err, RPS_USAGE, "%s: '%s' is not a column; choose from %s", option,
                             text, RPS_RUNS_COLUMNS);
    *(struct rps_runs_order *)ret = (struct rps_runs_order){name[column], is_descending};
    return 0;
}

const struct rps_option rps_runs_options[] = {
    {"run", 'r', "RUN", "select this run, like RUN; may be repeated", NULL, RPS_OPTION_LIST,
     AT(run), .is_once = 1},
    {"label", 0, "TEXT", "select runs with this label", NULL, RPS_OPTION_TEXT, AT(label),
     .is_once = 1},
    {"tag", 0, "KEY=VALUE", "select runs with this tag; may be repeated", NULL, RPS_OPTION_LIST,
     AT(tag), .check = rps_tag_check, .is_once = 1},
    {"host", 0, "PATTERN", "select runs of this host ('web*'); may be repeated", NULL,
     RPS_OPTION_LIST, AT(host), .is_once = 1},
    {"since", 0, "T", "select runs that started since 2d, 14:30, 2026-11-21", NULL,
     RPS_OPTION_OTHER, AT(since_ns), .set = rps_time_ago_parse, .is_once = 1},
    {"until", 0, "T", "select runs that started before T", NULL, RPS_OPTION_OTHER, AT(until_ns),
     .set = rps_time_ago_parse, .is_once = 1},
    {"sort", 0, "COLUMN", "sort by COLUMN; -COLUMN: descending", "run", RPS_OPTION_OTHER, AT(sort),
     .set = parse_sort, .words = RPS_RUNS_COLUMNS},
    {"set-label", 0, "TEXT", "set the label of the runs", NULL, RPS_OPTION_TEXT, AT(set_label), 0,
     RPS_RUN_TEXT_SIZE - 1, .is_once = 1},
    {"set-tag", 0, "KEY=VALUE", "add a tag to the runs; may be repeated", NULL, RPS_OPTION_LIST,
     AT(set_tag), .check = rps_tag_check, .is_once = 1},
    {"unset-tag", 0, "KEY", "remove a tag from the runs; may be repeated", NULL, RPS_OPTION_LIST,
     AT(unset_tag), .is_once = 1},
    {"delete", 0, NULL, "delete the selected runs", NULL, RPS_OPTION_FLAG, AT(is_delete),
     .excludes = "set-label set-tag unset-tag", .is_once = 1},
    {"shrink", 0, NULL, "return free space of the store to the disk", NULL, RPS_OPTION_FLAG,
     AT(is_shrink), .is_once = 1},
    {"wait", 0, NULL, "first wait until no recorder writes to the store", NULL, RPS_OPTION_FLAG,
     AT(is_wait), .is_once = 1},
    RPS_FORMAT_OPTION(AT(format)),
    {NULL},
};
RPS_OPTIONS_FIT(rps_runs_options);

static int is_edit(const struct rps_runs_settings *settings)
{
    return settings->set_label != NULL || settings->set_tag.count > 0 ||
           settings->unset_tag.count > 0;
}

int rps_runs_is_change(const struct rps_runs_settings *settings)
{
    return settings->is_delete || settings->is_shrink || settings->is_wait || is_edit(settings);
}

/* --- choosing --------------------------------------------------------------------------------- */

static int has_tags(const struct rps_run *run, const struct rps_texts *wanted)
{
    int found = 0;

    for (int i = 0; i < wanted->count; i++)
        found += rps_tag_is(run, wanted->text[i]);
    return found == wanted->count;
}

static int is_of_host(const struct rps_run *run, const struct rps_texts *wanted)
{
    int found = wanted->count == 0;

    for (int i = 0; i < wanted->count && !found; i++)
        found =
            strcmp(wanted->text[i], run->host) == 0 || fnmatch(wanted->text[i], run->host, 0) == 0;
    return found;
}

int rps_runs_is_filtered(const struct rps_runs_settings *settings)
{
    return settings->label != NULL || settings->since_ns != 0 || settings->until_ns != 0 ||
           settings->tag.count + settings->host.count > 0;
}

static int matches(struct rps_cli *cli, int64_t run_id)
{
    const struct rps_runs_settings *settings = cli->settings;
    struct rps_run run;
    int result;

    if (!rps_runs_is_filtered(settings))
        return 1;
    result = rps_reader_run(cli->arena, cli->reader, run_id, &run, &cli->err);
    if (result == 0)
        result = (settings->label == NULL || strcmp(run.label, settings->label) == 0) &&
                 has_tags(&run, &settings->tag) && is_of_host(&run, &settings->host) &&
                 (settings->since_ns == 0 || run.start_realtime_ns >= settings->since_ns) &&
                 (settings->until_ns == 0 ||
                  (run.start_realtime_ns >= 0 && run.start_realtime_ns < settings->until_ns));
    return result;
}

/* Mark the run that the text selects. `run_id` is in ascending order. */
static int mark(struct rps_cli *cli, const char *text, const int64_t *run_id, size_t count,
                char *chosen)
{
    int64_t found;
    int result = rps_reader_find(cli->reader, text, &found, &cli->err);

    for (size_t i = 0; i < count && result == 0; i++)
        chosen[i] |= run_id[i] == found;
    return result;
}

int rps_runs_choose(struct rps_cli *cli, int64_t **ret_run_id, size_t *ret_count)
{
    const struct rps_texts *list = &((const struct rps_runs_settings *)cli->settings)->run;
    int64_t *run_id = NULL;
    size_t count = 0, kept = 0;
    int result = rps_reader_runs(cli->arena, cli->reader, &run_id, &count, &cli->err);
    char *chosen = rps_arena_get(cli->arena, count, 1);

    for (int i = 0; i < list->count && result == 0; i++)
        result = mark(cli, list->text[i], run_id, count, chosen);
    for (int i = 0; i < cli->argc && result == 0; i++)
        result = mark(cli, cli->argv[i], run_id, count, chosen);
    for (size_t i = 0; i < count && result >= 0; i++) {
        result = chosen[i] || list->count + cli->argc == 0 ? matches(cli, run_id[i]) : 0;
        if (result > 0)
            run_id[kept++] = run_id[i];
    }
    if (result < 0)
        return result;
    *ret_run_id = run_id;
    *ret_count = kept;
    return 0;
}

/* --- changing --------------------------------------------------------------------------------- */

/* Read the run, and describe it as rps_format_run does. */
static int describe(struct rps_cli *cli, int64_t run_id, struct rps_run *run, char *ret,
                    size_t size)
{
    int result = rps_reader_run(cli->arena, cli->reader, run_id, run, &cli->err);

    if (result == 0)
        rps_format_run(ret, size, run);
    return result;
}

static int check_ended(struct rps_cli *cli, const int64_t *run_id, size_t count)
{
    int result = 0;

    for (size_t i = 0; i < count && result == 0; i++) {
        struct rps_run run;
        char text[512];

        result = describe(cli, run_id[i], &run, text, sizeof(text));
        if (result == 0 && run.state == RPS_RUN_RECORDING)
            result =
                rps_error_set(&cli->err, RPS_FAILED,
                              "%s is being recorded; stop it first (nothing was deleted)", text);
    }
    return result;
}

static int delete_run(struct rps_cli *cli, int64_t run_id)
{
    struct rps_run_summary summary;
    struct rps_run run;
    char text[512];
    int result = describe(cli, run_id, &run, text, sizeof(text));

    if (result == 0)
        result = rps_reader_summary(cli->reader, run_id, &summary, &cli->err);
    if (result == 0)
        result = rps_store_delete_run(cli->input, run_id, &cli->err);
    if (result == 0 && !cli->quiet)
        fprintf(cli->out, "Deleted %s: %" PRIu64 " period%s.\n", text, summary.periods,
                summary.periods == 1 ? "" : "s");
    return result;
}

static int edit_run(struct rps_cli *cli, int64_t run_id)
{
    const struct rps_runs_settings *settings = cli->settings;
    struct rps_run_edit edit = {.label = settings->set_label,
                                .unset_count = settings->unset_tag.count,
                                .unset = settings->unset_tag.text};
    struct rps_run run;
    char text[512];
    int result;

    rps_run_init(&run);
    run.arena = cli->arena;
    rps_tag_add(&run, &settings->set_tag);
    edit.tag_count = run.tag_count;
    edit.tag = run.tag;
    result = rps_store_edit_run(cli->input, run_id, &edit, &cli->err);
    if (result < 0 || cli->quiet)
        return result;
    result = describe(cli, run_id, &run, text, sizeof(text));
    if (result == 0)
        fprintf(cli->out, "Changed %s; %s", text, run.tag_count > 0 ? "tags" : "no tags");
    for (int i = 0; i < run.tag_count && result == 0; i++) {
        fputs(i > 0 ? ", " : " ", cli->out);
        rps_text_print(cli->out, run.tag[i].key);
        fputc('=', cli->out);
        rps_text_print(cli->out, run.tag[i].value);
    }
    if (result == 0)
        fputs(".\n", cli->out);
    return result;
}

static int report_space(struct rps_cli *cli)
{
    char size[RPS_TEXT_NUMBER_SIZE], room[RPS_TEXT_NUMBER_SIZE];
    uint64_t bytes = 0, unused = 0;
    int64_t *run_id = NULL;
    size_t count = 0;
    int result = rps_reader_runs(cli->arena, cli->reader, &run_id, &count, &cli->err);

    if (result == 0)
        result = rps_reader_space(cli->reader, &bytes, &unused, &cli->err);
    if (result < 0 || cli->quiet)
        return result;
    rps_text_print(cli->out, cli->input);
    fprintf(cli->out, " has %zu run%s, and %s", count, count == 1 ? "" : "s",
            rps_text_size(size, sizeof(size), bytes));
    if (unused > 0)
        fprintf(cli->out, ", of which %s are free for new runs (--shrink returns them to the disk)",
                rps_text_size(room, sizeof(room), unused));
    fputs(".\n", cli->out);
    return 0;
}

int rps_runs_change(struct rps_cli *cli, int is_named, const int64_t *run_id, size_t count)
{
    const struct rps_runs_settings *settings = cli->settings;
    int is_of_runs = settings->is_delete || is_edit(settings);
    int result = 0;

    if (is_of_runs && !is_named)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "no runs chosen; name them, as in `rpistat runs 3 --%s`, or choose "
                             "them with --label, --tag, --host, --since or --until",
                             settings->is_delete ? "delete" : "set-label new");
    if (is_named && !is_of_runs)
        return rps_error_set(
            &cli->err, RPS_USAGE,
            "--shrink is for the whole store; leave the runs out, or add --delete");
    if (settings->is_wait && !settings->is_delete && !settings->is_shrink)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--wait belongs to --delete and --shrink; add one of them");
    if (is_of_runs && count == 0)
        return rps_error_set(&cli->err, RPS_FAILED,
                             "%s has no such run, so nothing was changed; see `rpistat runs`",
                             cli->input);
    if (settings->is_wait) {
        rps_progress_begin(cli, "waiting for the recording to end");
        result = rps_store_wait(cli->input, &cli->err);
        rps_progress_end(cli);
    }
    if (settings->is_delete && result == 0)
        result = check_ended(cli, run_id, count);
    for (size_t i = 0; i < count && is_of_runs && result == 0; i++)
        result = settings->is_delete ? delete_run(cli, run_id[i]) : edit_run(cli, run_id[i]);
    if (result == 0 && settings->is_shrink)
        result = rps_store_shrink(cli->input, &cli->err);
    if (result == 0 && (settings->is_delete || settings->is_shrink))
        result = report_space(cli);
    return result;
}
