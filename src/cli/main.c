/* rpistat: finds the command, prepares its input and output, and prints the result.
 *
 * `rpistat ./program`, the command line of 2013, is still supported: if the first word is not the
 * name of a command, rpistat starts a recording. */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "registry.h"
#include "screen.h"
#include "rpistat/code_store.h"
#include "rpistat/code_output.h"
#include "rpistat/process.h"
#include "rpistat/error.h"
#include "rpistat/phase.h"
#include "rpistat/rights.h"
#include "rpistat/store.h"
#include "rpistat/workload.h"

#define STACK_BYTES ((size_t)1 << 20)

/* clang-format off */ /* one row per line */
static const struct rps_command *const commands[] = {
    &rps_command_record,
    &rps_command_runs,
    &rps_command_report,
    &rps_command_phases,
#ifdef RPS_HAS_CODE
    &rps_command_code,
#endif
    &rps_command_explain,
    &rps_command_compare,
    &rps_command_history,
    &rps_command_plot,
    &rps_command_watch,
    &rps_command_export,
    &rps_command_import,
    &rps_command_merge,
    &rps_command_push,
    &rps_command_status,
    &rps_command_stop,
    &rps_command_events,
    &rps_command_verify,
    &rps_command_check,
    NULL,
};
/* clang-format on */

/* Return 1 for `rpistat help`, if no program has the name "help". */
static int asks_for_help(char **argv)
{
    char *path = NULL;
    int is_program;

    if (strcmp(argv[1], "help") != 0)
        return 0;
    is_program = rps_workload_check(argv[1], getenv("PATH"), &path, NULL) == 0;
    free(path);
    return !is_program;
}

static int open_files(struct rps_cli *cli, struct rps_output *output)
{
    const struct rps_command *command = cli->command;
    enum rps_command_input input = cli->no_store ? RPS_INPUT_NONE : command->input;
    int result = 0;

    if (input != RPS_INPUT_NONE)
        result = rps_output_differs(cli->input, cli->output, &cli->err);
    if (result == 0 && input >= RPS_INPUT_STORE)
        result = rps_reader_open(&cli->reader, cli->input, &cli->err);
    if (result == 0 && input == RPS_INPUT_RUN)
        result = rps_reader_find(cli->reader, cli->run_text, &cli->run_id, &cli->err);
    if (result < 0 && cli->reader && command->operand_is_run && cli->argc > 0 &&
        rps_phase_label_parse(cli->run_text) >= 0)
        result = rps_error_set(&cli->err, RPS_FAILED,
                               "'%s' is not a run; for the first phase %s, write --from phase:%s "
                               "--to phase:%s",
                               cli->run_text, cli->run_text, cli->run_text, cli->run_text);
    if (result == 0 && input == RPS_INPUT_RUN)
        result = rps_time_range_resolve(cli);
    if (result == 0 && command->output == RPS_OUTPUT_STREAM && !cli->no_stream)
        result = rps_output_open(output, cli->output, &cli->err);
    cli->out = output->file ? output->file : stdout;
    return result;
}

/* Run the command argv[0]. Returns the exit status, or a negative value with cli->err. */
static int run_command(struct rps_cli *cli, int argc, char **argv)
{
    struct rps_output output = {0};
    int operand = 0, result;

    cli->settings = rps_arena_get(cli->arena, 1, cli->command->settings_size);
    result = rps_options_parse(cli, argc, argv, &operand);
    if (result != 0) {
        result = result > 0 ? 0 : result;
        goto out;
    }
    cli->argc = argc - operand;
    cli->argv = argv + operand;
    if (cli->command->operand_is_run && cli->argc > 0 &&
        rps_options_set(cli, "run", RPS_SOURCE_COMMAND_LINE)) {
        result = rps_error_set(&cli->err, RPS_USAGE,
                               "'%s' and -r both name a run; leave one of them out", cli->argv[0]);
        goto out;
    }
    if (cli->command->operand_is_run && cli->argc > 0)
        cli->run_text = cli->argv[0];
    result = open_files(cli, &output);
    if (result == 0)
        result = cli->command->run(cli);
    /* A command that failed and wrote nothing leaves the file of -o as it was. */
    if (result > 0 && output.target.path && ftello(output.file) == 0)
        rps_output_abandon(&output);
    if (result >= 0 && rps_output_close(&output, &cli->err) < 0)
        result = RPS_FAILED;
out:
    rps_progress_end(cli);
    rps_output_abandon(&output);
    rps_reader_close(cli->reader);
    return result;
}

static struct rps_cli *running; /* for end_early(), which has no parameter for this pointer */

/* End a command that only reads, if it gets no memory, or if another program damaged the store. */
static void end_early(const struct rps_error *why)
{
    rps_screen_restore();
    rps_progress_end(running);
    rps_output_message(why->message);
    exit(1);
}

/* Run the command with its files. The command may end early, through end_early(). */
static int run_to_end(struct rps_cli *cli, int argc, char **argv)
{
    locale_t base = duplocale(LC_GLOBAL_LOCALE);
    int result;

    running = cli;
    rps_arena_on_exhaustion(end_early);
    rps_fault_begin();
    cli->arena = rps_arena_new();
    cli->locale = newlocale(LC_NUMERIC_MASK, "", base);
    if (cli->locale == (locale_t)0 && base != (locale_t)0)
        freelocale(base); /* the locale of the environment is not installed */
    result = run_command(cli, argc, argv);
    if (cli->locale != (locale_t)0)
        freelocale(cli->locale);
    rps_arena_free(cli->arena);
    return result;
}

/* Reduce the address space of threads. By default each thread takes 8 MiB of address space for its
 * stack, and a malloc arena. These sizes are too large if address space is limited. */
static void limit_threads(void)
{
    pthread_attr_t attributes;

    if (rps_memory_limit() == SIZE_MAX || pthread_attr_init(&attributes) != 0)
        return;
#ifdef M_ARENA_MAX
    mallopt(M_ARENA_MAX, 1);
#endif
    if (pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0)
        pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}

int main(int argc, char **argv)
{
    struct rps_cli cli = {.to_ns = INT64_MAX};
    struct rps_output standard = {.file = stdout};
    int result;

#ifdef RPS_HAS_CODE
    rps_store_use(&rps_code_store, &rps_code_hooks);
#endif
    rps_store_ask_recorders(rps_registry_is_dead);
    rps_commands = commands;
    rps_output_guard_streams();
    rps_signals_begin(&cli.before);
    limit_threads();
    if (rps_rights_begin(&cli.err) < 0) {
        rps_output_message(cli.err.message);
        return 1;
    }
    if (!setlocale(LC_CTYPE, "C.UTF-8")) /* text is UTF-8, and wcwidth depends on the locale */
        setlocale(LC_CTYPE, "");
    if (argc < 2) {
        rps_options_help_all(stderr);
        return 2;
    }
    if (argc == 3 && strcmp(argv[1], "--completion") == 0) {
        result = rps_completion_print(stdout, argv[2], &cli.err);
        goto out;
    }
    if (strcmp(argv[1], "--complete") == 0) {
        result = rps_rights_end(&cli.err);
        if (result == 0)
            rps_completion_answer(stdout, argc - 2, argv + 2);
        goto out;
    }
    cli.command = rps_names_command(argv[1]);
    cli.implicit = cli.command == NULL;
#ifndef RPS_HAS_CODE
    if (strcmp(argv[1], "code") == 0) {
        rps_output_message(RPS_CLI_NO_CODE);
        return 1;
    }
#endif
    if (cli.implicit && asks_for_help(argv)) {
        result = rps_help_run(argv + 2, &cli.err);
        goto out;
    }
    if (cli.implicit)
        cli.command = &rps_command_record;
    if (!cli.command->counts && rps_rights_end(&cli.err) < 0) {
        rps_output_message(cli.err.message);
        return 1;
    }
    result = run_to_end(&cli, argc - !cli.implicit, argv + !cli.implicit);
out:
    if (result >= 0 && rps_output_close(&standard, &cli.err) < 0)
        result = RPS_FAILED;
    if (result >= 0 && cli.note[0] != '\0' && !cli.quiet)
        rps_output_message(cli.note);
    if (result < 0 && cli.err.message[0] != '\0')
        rps_output_message(cli.err.message);
    return result == RPS_USAGE                                      ? 2
           : result == RPS_CANNOT_EXEC || result == RPS_CANNOT_FIND ? -result
           : result < 0                                             ? 1
                                                                    : result;
}
