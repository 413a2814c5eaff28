/* `rpistat merge`: puts the runs of other stores into one. */
#include <inttypes.h>
#include <string.h>

#include "cli.h"
#include "format.h"
#include "rpistat/columns.h"
#include "rpistat/store.h"
#include "rpistat/run.h"

struct settings {
    const char *store; /* -i */
    const char *run;   /* -r; NULL: all */
    int is_wait;       /* --wait */
    enum rps_format format;
};

/* The report about the runs. */
struct merge {
    struct rps_cli *cli;
    struct rps_document document;
    struct rps_block *runs;
    const char *other;
    uint64_t count;   /* runs of `other` */
    uint64_t present; /* those that were already in the store */
    int unsound;      /* 1: a damaged run, in either store, was left out */
};

#define AT(member) RPS_AT(struct settings, member)

static const struct rps_option options[] = {
    {"input", 'i', "FILE", "store that receives the runs", RPS_STORE_DEFAULT_PATH, RPS_OPTION_TEXT,
     AT(store)},
    {"run", 'r', "RUN", "copy only this run of OTHER", NULL, RPS_OPTION_TEXT, AT(run),
     .is_once = 1},
    {"wait", 0, NULL, "first wait until no recorder writes to the store", NULL, RPS_OPTION_FLAG,
     AT(is_wait), .is_once = 1},
    RPS_FORMAT_OPTION(AT(format)),
    {NULL},
};

static void say_run(struct merge *merge, const struct rps_merge_run *run)
{
    const struct settings *settings = merge->cli->settings;
    struct rps_arena *arena = merge->cli->arena;
    int64_t from = run->run->run_id;
    const char *how = "";

    if (run->result == RPS_MERGE_PRESENT || run->result == RPS_MERGE_UNSOUND)
        return;
    if (run->result == RPS_MERGE_RECORDING) {
        if (run->run->state != RPS_RUN_RECORDING)
            how =
                rps_arena_print(arena, ", as run %" PRId64 " of %s", run->run_id, settings->store);
        rps_block_line(merge->runs,
                       "run %" PRId64 " of %s was left out: it is still being recorded%s", from,
                       merge->other, how);
        return;
    }
    if (run->result == RPS_MERGE_REPLACED)
        how = rps_arena_print(arena, ", in the place of run %" PRId64 ", which was its beginning",
                              run->replaced_run_id);
    else if (run->result == RPS_MERGE_COPIED)
        how = rps_arena_print(
            arena, ", a copy beside run %" PRId64 ", which has its uuid and differs from it",
            run->differing_run_id);
    rps_block_line(merge->runs,
                   "run %" PRId64 " of %s is run %" PRId64 " now%s: %" PRIu64 " period%s", from,
                   merge->other, run->run_id, how, run->summary->periods,
                   run->summary->periods == 1 ? "" : "s");
}

/* Report a damaged run on standard error. */
static void say_unsound(struct merge *merge, const struct rps_merge_run *run)
{
    merge->unsound = 1;
    rps_output_say("run %" PRId64 " of %s was left out, since it is not sound (%s): `rpistat check"
                   " -i %s` says more, and with --repair -o NEW saves what can be merged",
                   run->run->run_id, merge->other, run->why, merge->other);
}

/* Report the runs that had no line of their own. */
static void say_rest(struct merge *merge, int result)
{
    if (merge->count == 0 && result == 0)
        rps_block_line(merge->runs, "%s holds no runs: there is nothing to merge", merge->other);
    if (merge->present > 0)
        rps_block_line(merge->runs, "%" PRIu64 " run%s of %s %s there already", merge->present,
                       merge->present == 1 ? "" : "s", merge->other,
                       merge->present == 1 ? "was" : "were");
}

#define COLUMNS(CELL, BY)                                                                          \
    CELL(TEXT, (merge->other), "from_store")                                                       \
    CELL(INT, (run->run->run_id, 1), "from_run")                                                   \
    CELL(TEXT, (results[run->result]), "result")                                                   \
    CELL(INT, (run->run_id, run->run_id >= 0), "run")                                              \
    CELL(INT, (run->replaced_run_id, run->replaced_run_id >= 0), "replaced_run")                   \
    CELL(INT, (run->differing_run_id, run->differing_run_id >= 0), "differing_run")                \
    CELL(TEXT, (run->run->uuid), "uuid")                                                           \
    CELL(TEXT, (run->run->host), "host")                                                           \
    CELL(TEXT, (run->run->label), "label")                                                         \
    CELL(INT, (run->summary->periods, 1), "periods")

static void put_run(struct merge *merge, const struct rps_merge_run *run)
{
    static const char *const results[] = {
        [RPS_MERGE_ADDED] = "added",         [RPS_MERGE_REPLACED] = "replaced",
        [RPS_MERGE_COPIED] = "copied",       [RPS_MERGE_PRESENT] = "present",
        [RPS_MERGE_RECORDING] = "recording", [RPS_MERGE_UNSOUND] = "unsound",
    };
    struct rps_block *block = merge->runs;

    COLUMNS(RPS_PUT, RPS_PUT_BY)
}

static int tell(void *context, const struct rps_merge_run *run)
{
    struct merge *merge = context;

    merge->count++;
    merge->present += run->result == RPS_MERGE_PRESENT;
    put_run(merge, run);
    if (!merge->cli->quiet)
        say_run(merge, run);
    if (run->result == RPS_MERGE_UNSOUND) {
        rps_progress_end(merge->cli);
        say_unsound(merge, run);
        rps_progress_begin(merge->cli, "merging");
    }
    return 0;
}

/* The exit status: a store that cannot be merged is reported, and the next ones follow. */
static int merge_stores(struct merge *merge)
{
    const struct settings *settings = merge->cli->settings;
    struct rps_error err, said = {""};
    int status = 0;

    for (char **other = merge->cli->argv; *other; other++) {
        int result;

        merge->other = *other;
        merge->count = merge->present = 0;
        rps_progress_begin(merge->cli, "merging");
        result = rps_store_merge(settings->store, *other, settings->run, tell, merge, &err);
        rps_progress_end(merge->cli);
        if (!merge->cli->quiet)
            say_rest(merge, result);
        if (result == 0)
            continue;
        status = 1;
        if (strcmp(err.message, said.message) != 0) { /* of the store of -i it is the same */
            rps_output_message(err.message);
        }
        said = err;
    }
    return merge->unsound ? 1 : status;
}

static int run(struct rps_cli *cli)
{
    static const struct rps_column columns[] = {COLUMNS(RPS_COLUMN, RPS_COLUMN)};
    const struct settings *settings = cli->settings;
    struct merge merge = {.cli = cli, .document = {.arena = cli->arena}};
    int result;

    if (cli->argc == 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "which store is to be merged? name it, as in 'rpistat merge"
                             " other.data'");
    if (settings->is_wait) {
        rps_progress_begin(cli, "waiting for the recording to end");
        result = rps_store_wait(settings->store, &cli->err);
        rps_progress_end(cli);
        if (result < 0)
            return result;
    }
    rps_put_text(rps_document_field(&merge.document, "store", RPS_VALUE_TEXT), settings->store);
    merge.runs =
        rps_document_block(&merge.document, "runs", columns, sizeof(columns) / sizeof(columns[0]));
    result = merge_stores(&merge);
    rps_format_document(cli, &merge.document, settings->format);
    return result;
}

const struct rps_command rps_command_merge = {
    .name = "merge",
    .summary = "copy runs from other stores into one store",
    .usage = "[OPTIONS] OTHER...",
    .description =
        "Copy the runs of the stores OTHER, with everything that belongs to them, into\n"
        "the store of -i. A run that is in this store already is not copied again. A\n"
        "longer copy of a run replaces the shorter one; if two copies differ, both are\n"
        "kept. Runs that are being recorded are left out. The exit status is 1 if a run\n"
        "or a store has errors; the others are merged.",
    .examples = "  rpistat merge naive.data\n"
                "  rpistat merge -i all.data rpistat.data naive.data long.data\n"
                "  rpistat merge -r last naive.data\n"
                "  rpistat merge --format json naive.data",
    .input = RPS_INPUT_NONE,
    .output = RPS_OUTPUT_STREAM,
    .output_help = "file to write",
    .operand_max = -1,
    .options = options,
    .settings_size = sizeof(struct settings),
    .run = run,
};
