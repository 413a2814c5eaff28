/* `rpistat merge`: puts the runs of other stores into one. */
#include <inttypes.h>
#include <string.h>

#include "cli.h"
#include "format.h"
#include "rpistat/text.h"

struct settings {
    const char *store; /* -i */
    const char *run;   /* -r; NULL: all */
    int is_wait;       /* --wait */
    enum rps_format format;
};

/* What is told of the runs. */
struct merge {
    struct rps_cli *cli;
    struct rps_rows *rows; /* NULL: lines */
    const char *other;
    uint64_t count;   /* runs of `other` */
    uint64_t present; /* those that were there already */
    int unsound;      /* 1: a run was left out, in whatever store, since it is not sound */
};

#define AT(member) RPS_AT(struct settings, member)

static const struct rps_option options[] = {
    {"input", 'i', "FILE", "store that gets the runs", RPS_STORE_DEFAULT_PATH, RPS_OPTION_TEXT,
     AT(store)},
    {"run", 'r', "RUN", "only this run of OTHER", NULL, RPS_OPTION_TEXT, AT(run), .is_once = 1},
    {"wait", 0, NULL, "first wait until nobody records into the store", NULL, RPS_OPTION_FLAG,
     AT(is_wait), .is_once = 1},
    {"format", 0, "FORMAT", "text, json or csv", "text", RPS_OPTION_CHOICE, AT(format),
     .words = RPS_FORMATS},
    {NULL},
};

/* --- lines ------------------------------------------------------------------------------------ */

static void print_run(struct merge *merge, const struct rps_merge_run *run)
{
    const struct settings *settings = merge->cli->settings;
    FILE *out = merge->cli->out;

    merge->present += run->result == RPS_MERGE_PRESENT;
    if (run->result == RPS_MERGE_PRESENT || run->result == RPS_MERGE_UNSOUND)
        return;
    fprintf(out, "run %" PRId64 " of ", run->run->run_id);
    rps_text_print(out, merge->other);
    if (run->result == RPS_MERGE_RECORDING && run->run->state == RPS_RUN_RECORDING) {
        fputs(" was left out: it is still being recorded\n", out);
    } else if (run->result == RPS_MERGE_RECORDING) {
        fprintf(out, " was left out: it is still being recorded, as run %" PRId64 " of ",
                run->run_id);
        rps_text_print(out, settings->store);
        fputc('\n', out);
    } else {
        fprintf(out, " is run %" PRId64 " now", run->run_id);
        if (run->result == RPS_MERGE_REPLACED)
            fprintf(out, ", in the place of run %" PRId64 ", which was its beginning",
                    run->replaced_run_id);
        else if (run->result == RPS_MERGE_COPIED)
            fprintf(out, ", a copy beside run %" PRId64 ", which has its uuid and differs from it",
                    run->differing_run_id);
        fprintf(out, ": %" PRIu64 " period%s\n", run->summary->periods,
                run->summary->periods == 1 ? "" : "s");
    }
}

/* A run that is not sound, on standard error. */
static void say_unsound(struct merge *merge, const struct rps_merge_run *run)
{
    struct rps_error err;

    merge->unsound = 1;
    rps_error_set(&err, RPS_FAILED,
                  "run %" PRId64 " of %s was left out, since it is not sound (%s): `rpistat check"
                  " -i %s` says more, and with --repair -o NEW saves what can be merged",
                  run->run->run_id, merge->other, run->why, merge->other);
    fflush(merge->cli->out);
    rps_output_message(err.message);
}

/* What became of those that had no line of their own. */
static void print_rest(const struct merge *merge, int result)
{
    FILE *out = merge->cli->out;

    if (merge->count == 0 && result == 0) {
        rps_text_print(out, merge->other);
        fputs(" holds no runs: there is nothing to merge\n", out);
    }
    if (merge->present == 0)
        return;
    fprintf(out, "%" PRIu64 " run%s of ", merge->present, merge->present == 1 ? "" : "s");
    rps_text_print(out, merge->other);
    fputs(merge->present == 1 ? " was there already\n" : " were there already\n", out);
}

/* --- for programs ----------------------------------------------------------------------------- */

static void put_run(struct rps_rows *rows, const char *other, const struct rps_merge_run *run)
{
    static const char *const results[] = {
        [RPS_MERGE_ADDED] = "added",         [RPS_MERGE_REPLACED] = "replaced",
        [RPS_MERGE_COPIED] = "copied",       [RPS_MERGE_PRESENT] = "present",
        [RPS_MERGE_RECORDING] = "recording", [RPS_MERGE_UNSOUND] = "unsound",
    };

    rps_rows_row(rows);
    rps_rows_text(rows, "from_store", other);
    rps_rows_int(rows, "from_run", run->run->run_id, 1);
    rps_rows_text(rows, "result", results[run->result]);
    rps_rows_int(rows, "run", run->run_id, run->run_id >= 0);
    rps_rows_int(rows, "replaced_run", run->replaced_run_id, run->replaced_run_id >= 0);
    rps_rows_int(rows, "differing_run", run->differing_run_id, run->differing_run_id >= 0);
    rps_rows_text(rows, "uuid", run->run->uuid);
    rps_rows_text(rows, "host", run->run->host);
    rps_rows_text(rows, "label", run->run->label);
    rps_rows_uint(rows, "periods", run->summary->periods, 1);
    rps_rows_end_row(rows);
}

static int tell(void *context, const struct rps_merge_run *run)
{
    struct merge *merge = context;

    merge->count++;
    rps_progress_end(merge->cli);
    if (merge->rows)
        put_run(merge->rows, merge->other, run);
    else if (!merge->cli->quiet)
        print_run(merge, run);
    if (run->result == RPS_MERGE_UNSOUND)
        say_unsound(merge, run);
    rps_progress_begin(merge->cli, "merging");
    return 0;
}

/* The exit status: a store that cannot be merged is said, and those after it go on. */
static int merge_stores(struct merge *merge, int count, char **other)
{
    const struct settings *settings = merge->cli->settings;
    struct rps_error err, said = {""};
    int status = 0;

    for (int i = 0; i < count; i++) {
        int result;

        merge->other = other[i];
        merge->count = merge->present = 0;
        rps_progress_begin(merge->cli, "merging");
        result = rps_store_merge(settings->store, other[i], settings->run, tell, merge, &err);
        rps_progress_end(merge->cli);
        if (!merge->rows && !merge->cli->quiet)
            print_rest(merge, result);
        if (result == 0)
            continue;
        status = 1;
        if (strcmp(err.message, said.message) != 0) { /* of the store of -i it is the same */
            fflush(merge->cli->out);
            rps_output_message(err.message);
        }
        said = err;
    }
    return merge->unsound ? 1 : status;
}

static int run(struct rps_cli *cli, int argc, char **argv)
{
    const struct settings *settings = cli->settings;
    struct rps_run no_run;
    const struct rps_run_summary no_summary = {.plan = ""};
    const struct rps_merge_run no_merge = {.run = &no_run, .summary = &no_summary};
    struct merge merge = {.cli = cli};
    struct rps_rows rows;
    int result;

    if (argc == 0)
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
    if (settings->format == RPS_FORMAT_TEXT)
        return merge_stores(&merge, argc, argv);
    if (rps_rows_open(&rows, cli->out, settings->format, &cli->err) < 0)
        return RPS_FAILED;
    rps_run_init(&no_run);
    rps_rows_text(&rows, "store", settings->store);
    if (rps_rows_begin(&rows, "runs"))
        put_run(&rows, "", &no_merge);
    merge.rows = &rows;
    result = merge_stores(&merge, argc, argv);
    rps_rows_end(&rows);
    return rps_rows_close(&rows, result, &cli->err);
}

const struct rps_command rps_command_merge = {
    .name = "merge",
    .summary = "put the runs of other stores into one",
    .usage = "[OPTIONS] OTHER...",
    .description =
        "Copy the runs of the stores OTHER, with all that belongs to them, into the store\n"
        "of -i, which is created when it is not there. A run that is there already is\n"
        "left; one of which the beginning is there takes the place of that, and one that\n"
        "differs from what is there comes in beside it, as a copy. A run that is still\n"
        "being recorded is left out: merge again when it has ended. A run that is not\n"
        "sound, or a store that cannot be merged, is said, the others are merged, and the\n"
        "exit status is 1.",
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
