/* `rpistat check`: is a store sound, and saving what can be read of one that is not. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "rpistat/check.h"
#include "rpistat/text.h"

enum {
    OPTION_REPAIR = RPS_OPTION_OWN,
};

struct settings {
    int repair;
};

static const struct rps_option options[] = {
    {"repair", OPTION_REPAIR, NULL, "save what can be read into the new store of -o", NULL, NULL,
     1},
    {NULL, 0, NULL, NULL, NULL},
};

static int set_option(struct rps_cli *cli, int letter, const char *argument)
{
    struct settings *settings = cli->settings;

    (void)letter;
    (void)argument;
    settings->repair = 1;
    return 0;
}

static int check(struct rps_cli *cli)
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
        [RPS_FINDING_WRONG] = "wrong: ",
        [RPS_FINDING_ODD] = "odd: ",
        [RPS_FINDING_NOTE] = "",
    };
    struct rps_cli *cli = context;

    rps_progress_end(cli);
    if (cli->quiet && kind != RPS_FINDING_WRONG)
        return;
    fputs(word[kind], cli->out);
    rps_text_print(cli->out, sentence);
    fputc('\n', cli->out);
}

/* "3 runs", "1 run". */
static void print_count(FILE *out, uint64_t count, const char *noun)
{
    fprintf(out, "%" PRIu64 " %s%s", count, noun, count == 1 ? "" : "s");
}

static int check_store(struct rps_cli *cli)
{
    const struct rps_finding_sink sink = {cli, tell};
    struct rps_check_result result;

    rps_progress_begin(cli, "checking");
    if (rps_store_check(cli->input, &sink, &result, &cli->err) < 0)
        return RPS_FAILED;
    rps_progress_end(cli);
    if (cli->quiet)
        return result.wrong > 0;
    rps_text_print(cli->out, cli->input);
    fprintf(cli->out, " is %ssound: ", result.wrong > 0 ? "not " : "");
    print_count(cli->out, result.runs, "run");
    fputs(", ", cli->out);
    print_count(cli->out, result.periods, "period");
    if (result.wrong > 0) {
        fprintf(cli->out, ", %" PRIu64 " thing%s wrong\n", result.wrong,
                result.wrong == 1 ? "" : "s");
        fputs("'rpistat check --repair -i ", cli->out);
        rps_text_print(cli->out, cli->input);
        fputs(" -o NEW' saves what can be read into a new store\n", cli->out);
    } else {
        fputc('\n', cli->out);
    }
    return result.wrong > 0;
}

static int repair_store(struct rps_cli *cli)
{
    const struct rps_finding_sink sink = {cli, tell};
    struct rps_repair_result result;

    cli->out = stdout;
    rps_progress_begin(cli, "saving what can be read");
    if (rps_store_repair(cli->input, cli->output, &sink, &result, &cli->err) < 0)
        return RPS_FAILED;
    rps_progress_end(cli);
    if (cli->quiet)
        return 0;
    rps_text_print(cli->out, cli->output);
    fputs(" holds what could be read: ", cli->out);
    print_count(cli->out, result.runs, "run");
    fputs(", ", cli->out);
    print_count(cli->out, result.periods, "period");
    fputc('\n', cli->out);
    return 0;
}

static int run(struct rps_cli *cli, int argc, char **argv)
{
    const struct settings *settings = cli->settings;
    struct rps_output output = {0};
    int result;

    (void)argc;
    (void)argv;
    if (settings->repair)
        return repair_store(cli);
    if (rps_output_open(&output, cli->output, &cli->err) < 0)
        return RPS_FAILED;
    cli->out = output.file;
    result = check_store(cli);
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
                "  rpistat check --repair -i rpistat.data -o saved.data",
    .input = RPS_INPUT_PATH,
    .output = RPS_OUTPUT_PATH,
    .output_help = "file to write, or the new store",
    .options = options,
    .settings_size = sizeof(struct settings),
    .option = set_option,
    .check = check,
    .run = run,
};
