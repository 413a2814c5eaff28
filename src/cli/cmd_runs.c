/* `rpistat runs`: lists the contents of a store, one line per run. */
#include "cli.h"
#include "runs_edit.h"
#include "rpistat/report.h"
#include "rpistat/store.h"

static int put_run(struct rps_cli *cli, int64_t run_id, struct rps_block *block)
{
    struct rps_run_summary summary;
    struct rps_run run;
    int result = rps_reader_run(cli->arena, cli->reader, run_id, &run, &cli->err);

    if (result == 0)
        result = rps_reader_summary(cli->reader, run_id, &summary, &cli->err);
    if (result == 0)
        rps_run_block_put(block, &run, &summary);
    return result;
}

static int list_runs(struct rps_cli *cli, int is_named, const int64_t *run_id, size_t count)
{
    const struct rps_runs_settings *settings = cli->settings;
    struct rps_document document = {.arena = cli->arena};
    struct rps_block *block;
    int result = 0;

    rps_put_text(rps_document_field(&document, "store", RPS_VALUE_TEXT), cli->input);
    block = rps_run_block(&document, "runs");
    for (size_t i = 0; i < count && result == 0; i++)
        result = put_run(cli, run_id[i], block);
    rps_block_sort(block, settings->sort.column, settings->sort.is_descending);
    if (count == 0)
        rps_block_line(block, "The store %s holds no %s.", cli->input,
                       is_named ? "such run" : "runs");
    if (result == 0)
        rps_format_document(cli, &document, settings->format);
    return result;
}

static int run(struct rps_cli *cli)
{
    const struct rps_runs_settings *settings = cli->settings;
    int is_named = cli->argc + settings->run.count > 0 || rps_runs_is_filtered(settings);
    int64_t *run_id = NULL;
    size_t count = 0;
    int result = rps_runs_choose(cli, &run_id, &count);

    if (result == 0 && rps_runs_is_change(settings))
        result = rps_runs_change(cli, is_named, run_id, count);
    else if (result == 0)
        result = list_runs(cli, is_named, run_id, count);
    return result;
}

const struct rps_command rps_command_runs = {
    .name = "runs",
    .summary = "list, label, tag or delete the runs of a store",
    .answers = "Which runs does a store have, with which labels, tags and exit statuses?",
    .usage = "[OPTIONS] [RUN...]",
    .description = "List the runs of a store. RUN is a number, a label, a tag KEY=VALUE, last or\n"
                   "last-N. If no option and no RUN selects runs, all are listed. The selected\n"
                   "runs can also be labelled, tagged or deleted.",
    .examples = "  rpistat runs\n"
                "  rpistat runs -i naive.data --tag build=42 --since 2d\n"
                "  rpistat runs 3 --set-label before --set-tag host=a\n"
                "  rpistat runs --delete 1 2\n"
                "  rpistat runs --format json",
    .input = RPS_INPUT_STORE,
    .operand_max = -1,
    .options = rps_runs_options,
    .settings_size = sizeof(struct rps_runs_settings),
    .run = run,
};
