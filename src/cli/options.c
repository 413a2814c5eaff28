/*
 * Options: one table a command, from which getopt_long's array, the texts of --help and the
 * defaults are made, so that none of them can drift from the others.
 *
 * getopt_long itself is kept: its abbreviations, `-ofile` and `--name=value` are what people
 * expect. Its messages are not, since they name no way out.
 */
#include <getopt.h>
#include <string.h>

#include "cli.h"
#include "config.h"
#include "time_range.h"

#define OPTION_MAX 32

static const struct rps_option run_options[] = {
    {"run", 'r', "RUN", "a number, a label, last or last-N", "last"},
    {"from", RPS_OPTION_FROM, "T", "leave out what was before T: 90, 1m30s, phase:B", NULL},
    {"to", RPS_OPTION_TO, "T", "leave out what was from T on", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct rps_option store_options[] = {
    {"input", 'i', "FILE", "store to read", RPS_STORE_DEFAULT_PATH},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct rps_option common_options[] = {
    {"output", 'o', "FILE", NULL, NULL}, /* help and default are the command's */
    {"quiet", 'q', NULL, "no notes, status line or progress, only errors", NULL},
    {"help", 'h', NULL, "print this help", NULL},
    {"version", RPS_OPTION_VERSION, NULL, "print the version", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

/* A command's options, its own first. */
struct option_list {
    int count;
    int own_count;
    struct rps_option row[OPTION_MAX];
};

static void append(struct option_list *list, const struct rps_option *table)
{
    for (; table != NULL && table->name != NULL && list->count < OPTION_MAX; table++)
        list->row[list->count++] = *table;
}

static void collect(struct option_list *list, const struct rps_command *command)
{
    memset(list, 0, sizeof(*list));
    append(list, command->options);
    list->own_count = list->count;
    if (command->input == RPS_INPUT_RUN)
        append(list, run_options);
    if (command->input != RPS_INPUT_NONE)
        append(list, store_options);
    append(list, common_options);
    for (int i = list->own_count; i < list->count; i++) {
        if (list->row[i].letter == 'o') {
            list->row[i].help = command->output_help;
            list->row[i].value = command->output_value;
        }
    }
}

/* --- help ------------------------------------------------------------------------------------- */

/* "-o, --output FILE", without the letter where there is none. */
static int option_heading(char *ret, size_t size, const struct rps_option *option)
{
    char letter[8] = "    ";

    if (option->letter < RPS_OPTION_VERSION)
        snprintf(letter, sizeof(letter), "-%c, ", option->letter);
    return snprintf(ret, size, "%s--%s%s%s", letter, option->name,
                    option->argument != NULL ? " " : "",
                    option->argument != NULL ? option->argument : "");
}

void rps_options_help(FILE *out, const struct rps_command *command)
{
    struct option_list list;
    char heading[80];
    int width = 0;

    collect(&list, command);
    for (int i = 0; i < list.count; i++) {
        int length = option_heading(heading, sizeof(heading), &list.row[i]);

        width = length > width ? length : width;
    }
    fprintf(out, "Usage: rpistat %s %s\n\n%s\n\nOptions:\n", command->name, command->usage,
            command->description);
    for (int i = 0; i < list.count; i++) {
        const struct rps_option *row = &list.row[i];

        option_heading(heading, sizeof(heading), row);
        fprintf(out, "  %-*s  %s", width, heading, row->help);
        if (row->letter == 'o' && row->value == NULL)
            fputs(" (default standard output)", out);
        else if (row->value != NULL && row->value[0] != '\0')
            fprintf(out, " (default %s)", row->value);
        fputc('\n', out);
    }
    fprintf(out, "\nExamples:\n%s\n", command->examples);
}

void rps_options_help_all(FILE *out)
{
    fputs("Usage: rpistat [OPTIONS] [--] COMMAND [ARG...]\n", out);
    for (int i = 1; rps_commands[i] != NULL; i++)
        fprintf(out, "       rpistat %s %s\n", rps_commands[i]->name, rps_commands[i]->usage);
    fputs("\nRecord how a program behaves over time, from the processor's event counters,\n"
          "and look at it. 'rpistat ./program' works like 'time ./program', and leaves\n"
          "rpistat.data, the store, and rpistat.txt, the report.\n"
          "\nCommands:\n",
          out);
    for (int i = 0; rps_commands[i] != NULL; i++)
        fprintf(out, "  %-8s  %s\n", rps_commands[i]->name, rps_commands[i]->summary);
    fputs("\n'rpistat NAME --help' says more about a command, 'man rpistat' about all.\n", out);
}

/* --- parsing ---------------------------------------------------------------------------------- */

/* How the user asks for the help of this call. */
static const char *help_name(const struct rps_cli *cli)
{
    return cli->implicit ? "record" : cli->command->name;
}

static int set_common(struct rps_cli *cli, int letter, const char *argument)
{
    switch (letter) {
    case 'q':
        cli->quiet = 1;
        return 0;
    case 'o':
        cli->output = argument;
        return 0;
    case 'i':
        cli->input = argument;
        return 0;
    case 'r':
        cli->run_text = argument;
        return 0;
    case RPS_OPTION_FROM:
        return rps_time_range_parse("--from", argument, &cli->from_ns, &cli->from_phase, &cli->err);
    case RPS_OPTION_TO:
        return rps_time_range_parse("--to", argument, &cli->to_ns, &cli->to_phase, &cli->err);
    case RPS_OPTION_VERSION:
        fputs("rpistat " RPS_VERSION "\n", stdout);
        return 1;
    default:
        if (cli->implicit)
            rps_options_help_all(stdout);
        else
            rps_options_help(stdout, cli->command);
        return 1;
    }
}

static int set_option(struct rps_cli *cli, const struct option_list *list, int letter,
                      const char *argument)
{
    for (int i = 0; i < list->own_count; i++) {
        if (list->row[i].letter == letter)
            return cli->command->option(cli, letter, argument);
    }
    return set_common(cli, letter, argument);
}

static int set_defaults(struct rps_cli *cli, const struct option_list *list)
{
    int result = 0;

    for (int i = 0; i < list->count && result == 0; i++) {
        if (list->row[i].value != NULL)
            result = set_option(cli, list, list->row[i].letter, list->row[i].value);
    }
    return result;
}

/* How many long options the word, "--abc" or "--abc=...", could be the beginning of. */
static int abbreviates(const struct option_list *list, const char *word)
{
    size_t length = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0;
    int count = 0;

    for (int i = 0; i < list->count && length > 0; i++)
        count += strncmp(list->row[i].name, word + 2, length) == 0;
    return count;
}

static const struct rps_option *find_letter(const struct option_list *list, int letter)
{
    for (int i = 0; i < list->count; i++) {
        if (list->row[i].letter == letter)
            return &list->row[i];
    }
    return NULL;
}

/* The sentence for what getopt_long refused: ':' an option without its argument, '?' anything else.
 * word is what it was looking at, but for letters inside a word like -qx. */
static int refuse(struct rps_cli *cli, const struct option_list *list, int answer, const char *word)
{
    const struct rps_option *row = find_letter(list, optopt);
    const char *problem = "is unknown";
    char text[RPS_NAME_SIZE];

    snprintf(text, sizeof(text), "%s", word);
    if (row != NULL) {
        problem = answer == ':' ? "needs an argument" : "takes no argument";
        snprintf(text, sizeof(text), "--%s", row->name);
    } else if (optopt != 0) {
        snprintf(text, sizeof(text), "-%c", optopt);
    } else if (abbreviates(list, word) > 1) {
        problem = "is the beginning of several";
    }
    return rps_error_set(&cli->err, RPS_USAGE, "option '%s' %s; 'rpistat %s --help' lists them all",
                         text, problem, help_name(cli));
}

/* What getopt_long wants, made of the table. */
static void fill_getopt(const struct rps_cli *cli, const struct option_list *list,
                        struct option *long_option, char *short_option)
{
    if (cli->command->runs_workload)
        *short_option++ = '+';
    *short_option++ = ':';
    for (int i = 0; i < list->count; i++) {
        const struct rps_option *row = &list->row[i];

        long_option[i].name = row->name;
        long_option[i].has_arg = row->argument != NULL ? required_argument : no_argument;
        long_option[i].val = row->letter;
        if (row->letter < RPS_OPTION_VERSION) {
            *short_option++ = (char)row->letter;
            if (row->argument != NULL)
                *short_option++ = ':';
        }
    }
}

static int check(struct rps_cli *cli, int operand_count, const char *last)
{
    const struct rps_command *command = cli->command;

    if (command->operand_max >= 0 && operand_count > command->operand_max)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "%s takes no argument '%s'; see 'rpistat %s --help'", command->name,
                             last, help_name(cli));
    if (rps_time_range_check(cli) < 0)
        return RPS_USAGE;
    if (cli->output != NULL && cli->output[0] == '\0')
        return rps_error_set(&cli->err, RPS_USAGE, "-o: the file name is empty");
    return command->check != NULL ? command->check(cli) : 0;
}

int rps_options_parse(struct rps_cli *cli, int argc, char **argv, int *ret_operands)
{
    struct option long_option[OPTION_MAX + 1] = {{NULL, 0, NULL, 0}};
    char short_option[2 * OPTION_MAX + 3] = "";
    struct option_list list;
    int answer, result;

    collect(&list, cli->command);
    fill_getopt(cli, &list, long_option, short_option);
    result = set_defaults(cli, &list);
    optind = 0; /* glibc and musl start afresh */
    opterr = 0;
    while (result == 0 && (answer = getopt_long(argc, argv, short_option, long_option, NULL)) != -1)
        result = answer == '?' || answer == ':' ? refuse(cli, &list, answer, argv[optind - 1])
                                                : set_option(cli, &list, answer, optarg);
    if (result == 0)
        result = check(cli, argc - optind, argv[argc - 1]);
    if (result == 0)
        *ret_operands = optind;
    return result;
}
