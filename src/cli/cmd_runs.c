/* `rpistat runs`: what a store holds, one line a run. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "list.h"
#include "runs_edit.h"
#include "rpistat/text.h"

#define LABEL_MAX 24 /* columns a label, tags or a host may take on a terminal */

static const struct rps_list_column columns[] = {
    {"RUN", .is_right = 1},
    {"LABEL", .width_max = LABEL_MAX},
    {"TAGS", .is_optional = 1, .width_max = LABEL_MAX, .drop = 4},
    {"START"},
    {"HOST", .is_optional = 1, .width_max = LABEL_MAX, .drop = 5},
    {"STATE"},
    {"ELAPSED", .is_right = 1, .drop = 3},
    {"PERIODS", .is_right = 1, .drop = 2},
    {"COUNTED", .drop = 1},
    {"COMMAND"},
};

enum {
    COLUMN_RUN,
    COLUMN_LABEL,
    COLUMN_TAGS,
    COLUMN_START,
    COLUMN_HOST, /* "-" in all rows where all are of one host */
    COLUMN_STATE,
    COLUMN_ELAPSED,
    COLUMN_PERIODS,
    COLUMN_COUNTED,
    COLUMN_COMMAND,
    COLUMN_COUNT
};

/* "build=42 host=a", or "-". */
static void format_tags(char *ret, size_t size, const struct rps_run *run)
{
    char text[RPS_LIST_CELL_SIZE] = "-";
    size_t used = 0;

    for (int i = 0; i < run->tag_count && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s=%s", i > 0 ? " " : "",
                                 run->tag[i].key, run->tag[i].value);
    rps_text_printable(ret, size, text);
}

/* A run, to be freed in any case, and its summary. */
static int read_run(struct rps_cli *cli, int64_t run_id, struct rps_run *run,
                    struct rps_run_summary *summary)
{
    int result;

    rps_run_init(run);
    result = rps_reader_run(cli->reader, run_id, run, &cli->err);
    return result == 0 ? rps_reader_summary(cli->reader, run_id, summary, &cli->err) : result;
}

static int add_row(struct rps_list *list, struct rps_cli *cli, int64_t run_id)
{
    char text[COLUMN_COUNT][RPS_LIST_CELL_SIZE], counted[RPS_RUN_TEXT_SIZE];
    struct rps_run_summary summary;
    struct rps_run run;
    int result = read_run(cli, run_id, &run, &summary);

    if (result == 0) {
        snprintf(text[COLUMN_RUN], RPS_LIST_CELL_SIZE, "%" PRId64, run_id);
        rps_text_printable(text[COLUMN_LABEL], RPS_LIST_CELL_SIZE,
                           run.label[0] != '\0' ? run.label : "-");
        format_tags(text[COLUMN_TAGS], RPS_LIST_CELL_SIZE, &run);
        rps_format_start(text[COLUMN_START], RPS_LIST_CELL_SIZE, run.start_realtime_ns);
        rps_text_printable(text[COLUMN_HOST], RPS_LIST_CELL_SIZE,
                           run.host[0] != '\0' ? run.host : "-");
        snprintf(text[COLUMN_STATE], RPS_LIST_CELL_SIZE, "%s", rps_run_states[run.state]);
        rps_text_duration(text[COLUMN_ELAPSED], RPS_LIST_CELL_SIZE,
                          run.elapsed_ns > 0 ? run.elapsed_ns : 0);
        snprintf(text[COLUMN_PERIODS], RPS_LIST_CELL_SIZE, "%" PRIu64, summary.periods);
        snprintf(counted, sizeof(counted), "%s", run.pmu);
        if (strcmp(run.pmu, summary.plan) != 0)
            snprintf(counted, sizeof(counted), "%s %s", run.pmu, summary.plan);
        rps_text_printable(text[COLUMN_COUNTED], RPS_LIST_CELL_SIZE, counted);
        rps_run_title(text[COLUMN_COMMAND], RPS_LIST_CELL_SIZE, &run);
        result = rps_list_add(list, text, &cli->err);
    }
    rps_run_free(&run);
    return result;
}

/* Where all runs are of one host, it is not said. */
static void leave_out_host(struct rps_list *list)
{
    char **host = list->cell + COLUMN_HOST;

    for (size_t i = 1; i < list->row_count; i++) {
        if (strcmp(host[i * COLUMN_COUNT], host[0]) != 0)
            return;
    }
    for (size_t i = 0; i < list->row_count; i++)
        strcpy(host[i * COLUMN_COUNT], "-"); /* no cell is shorter */
}

static int print_runs(struct rps_cli *cli, int is_named, const int64_t *run_id, size_t count)
{
    struct rps_list list = {.column = columns, .column_count = COLUMN_COUNT};
    int result = 0;

    for (size_t i = 0; i < count && result == 0; i++)
        result = add_row(&list, cli, run_id[i]);
    if (result == 0 && count == 0) {
        fputs("The store ", cli->out);
        rps_text_print(cli->out, cli->input);
        fputs(is_named ? " holds no such run.\n" : " holds no runs.\n", cli->out);
    } else if (result == 0) {
        leave_out_host(&list);
        rps_list_print(cli->out, &list);
    }
    rps_list_free(&list);
    return result;
}

/* --- for programs ----------------------------------------------------------------------------- */

static void put_run(struct rps_rows *rows, const struct rps_run *run,
                    const struct rps_run_summary *summary)
{
    rps_rows_row(rows);
    rps_rows_run(rows, run, summary);
    rps_rows_end_row(rows);
}

static int write_run(struct rps_cli *cli, int64_t run_id, struct rps_rows *rows)
{
    struct rps_run_summary summary;
    struct rps_run run;
    int result = read_run(cli, run_id, &run, &summary);

    if (result == 0)
        put_run(rows, &run, &summary);
    rps_run_free(&run);
    return result;
}

static int write_runs(struct rps_cli *cli, enum rps_format format, const int64_t *run_id,
                      size_t count)
{
    struct rps_run_summary no_summary = {.plan = ""};
    struct rps_run no_run;
    struct rps_rows rows;
    int result = 0;

    if (rps_rows_open(&rows, cli->out, format, &cli->err) < 0)
        return RPS_FAILED;
    rps_run_init(&no_run);
    rps_rows_text(&rows, "store", cli->input);
    if (rps_rows_begin(&rows, "runs"))
        put_run(&rows, &no_run, &no_summary);
    for (size_t i = 0; i < count && result == 0; i++)
        result = write_run(cli, run_id[i], &rows);
    rps_rows_end(&rows);
    return rps_rows_close(&rows, result, &cli->err);
}

static int run(struct rps_cli *cli, int argc, char **argv)
{
    const struct rps_runs_settings *settings = cli->settings;
    int is_named = argc + settings->run.count > 0 || rps_runs_is_filtered(settings);
    int64_t *run_id = NULL;
    size_t count = 0;
    int result = rps_runs_choose(cli, argc, argv, &run_id, &count);

    if (result == 0 && rps_runs_is_change(settings))
        result = rps_runs_change(cli, is_named, run_id, count);
    else if (result == 0 && settings->format == RPS_FORMAT_TEXT)
        result = print_runs(cli, is_named, run_id, count);
    else if (result == 0)
        result = write_runs(cli, settings->format, run_id, count);
    free(run_id);
    return result;
}

const struct rps_command rps_command_runs = {
    .name = "runs",
    .summary = "what a store holds; delete, label and tag runs",
    .usage = "[OPTIONS] [RUN...]",
    .description =
        "List the runs of a store, with their start in local time: those that are named\n"
        "(a number, a label, a tag KEY=VALUE, last or last-N) or chosen by label, tag,\n"
        "host or start, else all. Or delete them, or give them another label or other\n"
        "tags.",
    .examples = "  rpistat runs\n"
                "  rpistat runs -i naive.data --tag build=42 --since 2d\n"
                "  rpistat runs 3 --set-label before --set-tag host=a\n"
                "  rpistat runs --delete 1 2\n"
                "  rpistat runs --format json",
    .input = RPS_INPUT_STORE,
    .output = RPS_OUTPUT_STREAM,
    .output_help = "file to write",
    .operand_max = -1,
    .options = rps_runs_options,
    .settings_size = sizeof(struct rps_runs_settings),
    .run = run,
};
