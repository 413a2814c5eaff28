/* `rpistat merge`: copies the runs of other stores into one store. */
#include <inttypes.h>
#include <string.h>

#include "cli.h"
#include "rpistat/document.h"
#include "rpistat/store.h"
#include "rpistat/run.h"

struct settings {
    const char *store; /* -i: the store that receives the runs */
    const char *run;   /* argument of -r, the number of a run; NULL: all runs */
    int is_wait;       /* 1: --wait is given */
    enum rps_format format;
};

struct merge {
    struct rps_cli *cli;
    struct rps_document document;
    struct rps_block *runs;
    const char *other;
    uint64_t count;   /* number of runs in the store `other` */
    uint64_t present; /* number of runs that were already in the destination store */
    int unsound;      /* 1: a damaged run of either store was left out */
};

#define AT(member) RPS_AT(struct settings, member)

static const struct rps_option options[] = {
    {"input", 'i', "FILE", "store that receives the runs", RPS_STORE_DEFAULT_PATH, RPS_OPTION_TEXT,
     AT(store)},
    {"run", 'r', "RUN", "copy only this run of OTHER", NULL, RPS_OPTION_TEXT, AT(run),
     .is_once = 1},
    {"from", 0, "T", "copy only the part of one run from T on", NULL, RPS_OPTION_OTHER, RPS_AT_CLI,
     .set = rps_time_range_set, .words = "phase: mark:"},
    {"to", 0, "T", "copy only the part of one run up to T", NULL, RPS_OPTION_OTHER, RPS_AT_CLI,
     .set = rps_time_range_set, .words = "phase: mark:"},
    {"wait", 0, NULL, "first wait until no recorder writes to the store", NULL, RPS_OPTION_FLAG,
     AT(is_wait), .is_once = 1},
    RPS_FORMAT_OPTION(AT(format)),
    {NULL},
};

static void report_run(struct merge *merge, const struct rps_merge_run *run)
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
        how = rps_arena_print(arena, ", in the place of run %" PRId64 ", which had less data",
                              run->replaced_run_id);
    else if (run->result == RPS_MERGE_COPIED)
        how = rps_arena_print(
            arena, ", in addition to run %" PRId64 ", which has the same uuid but other data",
            run->differing_run_id);
    rps_block_line(merge->runs,
                   "run %" PRId64 " of %s is run %" PRId64 " now%s: %" PRIu64 " period%s", from,
                   merge->other, run->run_id, how, run->summary->periods,
                   run->summary->periods == 1 ? "" : "s");
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
        report_run(merge, run);
    if (run->result == RPS_MERGE_UNSOUND) {
        rps_progress_end(merge->cli);
        /* Report a damaged run on standard error. */
        merge->unsound = 1;
        rps_output_print("run %" PRId64
                         " of %s was not merged, because it is damaged (%s); save it with "
                         "`rpistat check --repair -i %s -o NEW` and merge NEW",
                         run->run->run_id, merge->other, run->why, merge->other);
        rps_progress_begin(merge->cli, "merging");
    }
    return 0;
}

/* Merge the stores. A store that cannot be merged is reported, and the next one follows. Returns
 * the exit status. */
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
        result = rps_store_merge(settings->store, *other, settings->run, merge->cli->from_ns,
                                 merge->cli->to_ns, tell, merge, &err);
        rps_progress_end(merge->cli);
        /* Report that the store has no runs, or how many of its runs were already present. */
        if (!merge->cli->quiet) {
            if (merge->count == 0 && result == 0)
                rps_block_line(merge->runs, "%s holds no runs: there is nothing to merge",
                               merge->other);
            if (merge->present > 0)
                rps_block_line(merge->runs, "%" PRIu64 " run%s of %s %s there already",
                               merge->present, merge->present == 1 ? "" : "s", merge->other,
                               merge->present == 1 ? "was" : "were");
        }
        if (result == 0)
            continue;
        status = 1;
        if (strcmp(err.message, said.message) != 0) /* do not repeat an error of the store of -i */
            rps_output_message(err.message);
        said = err;
    }
    return merge->unsound ? 1 : status;
}

/* Find the one run whose time range (--from, --to) is copied, and convert the range to times. */
static int find_part(struct rps_cli *cli)
{
    struct settings *settings = cli->settings;
    int result;

    if (cli->argc > 1)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--from and --to copy a part of one run; name one store");
    settings->run = settings->run ? settings->run : "last";
    result = rps_reader_open(&cli->reader, cli->argv[0], &cli->err);
    if (result == 0)
        result = rps_reader_find(cli->reader, settings->run, &cli->run_id, &cli->err);
    return result == 0 ? rps_time_range_resolve(cli) : result;
}

static int run(struct rps_cli *cli)
{
    static const struct rps_column columns[] = {COLUMNS(RPS_COLUMN, RPS_COLUMN)};
    const struct settings *settings = cli->settings;
    struct merge merge = {.cli = cli, .document = {.arena = cli->arena}};
    int result;

    if (cli->argc == 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "no store to merge; name one, as in `rpistat merge other.data`");
    if ((cli->from_ns > 0 || cli->to_ns < INT64_MAX || cli->from_phase || cli->to_phase) &&
        (result = find_part(cli)) < 0)
        return result;
    if (settings->is_wait) {
        rps_progress_begin(cli, "waiting for the recording to end");
        result = rps_store_wait(settings->store, &cli->err);
        rps_progress_end(cli);
        if (result < 0)
            return result;
    }
    rps_put_text(rps_document_field(&merge.document, "store", RPS_VALUE_TEXT), settings->store);
    merge.runs = rps_document_block(&merge.document, "runs", columns, RPS_COUNT(columns));
    result = merge_stores(&merge);
    rps_format_document(cli, &merge.document, settings->format);
    return result;
}

const struct rps_command rps_command_merge = {
    .name = "merge",
    .summary = "copy runs from other stores into one store",
    .answers = "How do the runs of several stores get into one store?",
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
                "  rpistat merge -i part.data --from 10s --to 20s rpistat.data\n"
                "  rpistat merge --format json naive.data",
    .operand_max = -1,
    .options = RPS_OPTIONS(options),
    .settings_size = sizeof(struct settings),
    .run = run,
};
