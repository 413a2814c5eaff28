/* `rpistat check`: is a store sound, and saving what can be read of one that is not. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "format.h"
#include "rpistat/check.h"
#include "rpistat/text.h"

struct settings {
    int repair;
    enum rps_format format;
};

/* A check, or a repair, that is being told of. */
struct check {
    struct rps_cli *cli;
    struct rps_rows *rows; /* NULL: as text */
};

#define AT(member) RPS_AT(struct settings, member)

static const struct rps_option options[] = {
    {"repair", 0, NULL, "save what can be read into the new store of -o", NULL, RPS_OPTION_FLAG,
     AT(repair), .is_once = 1},
    {"format", 0, "FORMAT", "text, json or csv", "text", RPS_OPTION_CHOICE, AT(format),
     .words = RPS_FORMATS},
    {NULL},
};

static int check_settings(struct rps_cli *cli)
{
    const struct settings *settings = cli->settings;

    if (settings->repair && (cli->output == NULL || strcmp(cli->output, "-") == 0))
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--repair: say with -o FILE where the new store shall be; the damaged "
                             "one is not changed");
    return 0;
}

static void tell(void *context, enum rps_finding_kind kind, const char *sentence)
{
    static const char *const word[] = {
        [RPS_FINDING_WRONG] = "wrong",
        [RPS_FINDING_ODD] = "odd",
        [RPS_FINDING_NOTE] = "note",
    };
    const struct check *check = context;

    rps_progress_end(check->cli);
    if (check->cli->quiet && kind != RPS_FINDING_WRONG)
        return;
    if (check->rows) {
        rps_rows_row(check->rows);
        rps_rows_text(check->rows, "kind", word[kind]);
        rps_rows_text(check->rows, "finding", sentence);
        rps_rows_end_row(check->rows);
        return;
    }
    if (kind != RPS_FINDING_NOTE)
        fprintf(check->cli->out, "%s: ", word[kind]);
    rps_text_print(check->cli->out, sentence);
    fputc('\n', check->cli->out);
}

/* "3 runs", "1 run". */
static void print_count(FILE *out, uint64_t count, const char *noun)
{
    fprintf(out, "%" PRIu64 " %s%s", count, noun, count == 1 ? "" : "s");
}

static void print_check(const struct rps_cli *cli, const struct rps_check_result *result)
{
    rps_text_print(cli->out, cli->input);
    fprintf(cli->out, " is %ssound: ", result->wrong > 0 ? "not " : "");
    print_count(cli->out, result->runs, "run");
    fputs(", ", cli->out);
    print_count(cli->out, result->periods, "period");
    if (result->wrong > 0) {
        fprintf(cli->out, ", %" PRIu64 " thing%s wrong\n", result->wrong,
                result->wrong == 1 ? "" : "s");
        fputs("'rpistat check --repair -i ", cli->out);
        rps_text_print(cli->out, cli->input);
        fputs(" -o NEW' saves what can be read into a new store\n", cli->out);
    } else {
        fputc('\n', cli->out);
    }
}

static int check_store(struct check *check)
{
    const struct rps_finding_sink sink = {check, tell};
    struct rps_cli *cli = check->cli;
    struct rps_check_result result;

    rps_progress_begin(cli, "checking");
    if (rps_store_check(cli->input, &sink, &result, &cli->err) < 0)
        return RPS_FAILED;
    rps_progress_end(cli);
    if (check->rows) {
        rps_rows_end(check->rows);
        rps_rows_bool(check->rows, "sound", result.wrong == 0, 1);
        rps_rows_uint(check->rows, "run_count", result.runs, 1);
        rps_rows_uint(check->rows, "periods", result.periods, 1);
        rps_rows_uint(check->rows, "wrong", result.wrong, 1);
        rps_rows_uint(check->rows, "odd", result.odd, 1);
    } else if (!cli->quiet) {
        print_check(cli, &result);
    }
    return result.wrong > 0;
}

static void print_repair(const struct rps_cli *cli, const struct rps_repair_result *result)
{
    rps_text_print(cli->out, cli->output);
    fputs(" holds what could be read: ", cli->out);
    print_count(cli->out, result->runs, "run");
    fputs(", ", cli->out);
    print_count(cli->out, result->periods, "period");
    fputc('\n', cli->out);
}

static int repair_store(struct check *check)
{
    const struct rps_finding_sink sink = {check, tell};
    struct rps_cli *cli = check->cli;
    struct rps_repair_result result;

    rps_progress_begin(cli, "saving what can be read");
    if (rps_store_repair(cli->input, cli->output, &sink, &result, &cli->err) < 0)
        return RPS_FAILED;
    rps_progress_end(cli);
    if (check->rows) {
        rps_rows_end(check->rows);
        rps_rows_text(check->rows, "new_store", cli->output);
        rps_rows_uint(check->rows, "run_count", result.runs, 1);
        rps_rows_uint(check->rows, "periods", result.periods, 1);
        rps_rows_uint(check->rows, "dropped", result.dropped, 1);
        rps_rows_uint(check->rows, "lost_stretches", result.lost_stretches, 1);
    } else if (!cli->quiet) {
        print_repair(cli, &result);
    }
    return 0;
}

static int write_rows(struct check *check, int (*work)(struct check *check), enum rps_format format)
{
    if (rps_rows_open(check->rows, check->cli->out, format, &check->cli->err) < 0)
        return RPS_FAILED;
    rps_rows_text(check->rows, "store", check->cli->input);
    if (rps_rows_begin(check->rows, "findings"))
        tell(check, RPS_FINDING_WRONG, "");
    return rps_rows_close(check->rows, work(check), &check->cli->err);
}

static int run(struct rps_cli *cli, int argc, char **argv)
{
    const struct settings *settings = cli->settings;
    int (*work)(struct check * check) = settings->repair ? repair_store : check_store;
    struct rps_rows rows = {.json = NULL};
    struct check check = {.cli = cli, .rows = settings->format == RPS_FORMAT_TEXT ? NULL : &rows};
    struct rps_output output = {0};
    int result;

    (void)argc;
    (void)argv;
    /* Of a repair the output is the new store. */
    if (rps_output_open(&output, settings->repair ? NULL : cli->output, &cli->err) < 0)
        return RPS_FAILED;
    cli->out = output.file;
    result = check.rows ? write_rows(&check, work, settings->format) : work(&check);
    if (result >= 0 && rps_output_close(&output, &cli->err) < 0)
        result = RPS_FAILED;
    rps_output_abandon(&output);
    return result;
}

const struct rps_command rps_command_check = {
    .name = "check",
    .summary = "whether a store is sound, and its repair",
    .usage = "[OPTIONS]",
    .description =
        "Look at a whole store, and say what is wrong with it: its file, its tables, and\n"
        "whether the periods of its runs follow one another and come to their totals.\n"
        "The exit status is 0 when it is sound. With --repair, save what can be read.",
    .examples = "  rpistat check\n"
                "  rpistat check --format json\n"
                "  rpistat check --repair -i rpistat.data -o saved.data",
    .input = RPS_INPUT_PATH,
    .output = RPS_OUTPUT_PATH,
    .output_help = "file to write, or the new store",
    .options = options,
    .settings_size = sizeof(struct settings),
    .check = check_settings,
    .run = run,
};
