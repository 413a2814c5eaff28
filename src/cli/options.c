/*
 * Options: one table a command, from which getopt_long's array, the texts of --help and the
 * defaults are made, so that none of them can drift from the others.
 *
 * getopt_long itself is kept: its abbreviations, `-ofile` and `--name=value` are what people
 * expect. Its messages are not, since they name no way out.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "config.h"
#include "names.h"
#include "rpistat/suggestion.h"
#include "time_range.h"

#define OPTION_MAX 32

static const struct rps_option run_options[] = {
    {"run", 'r', "RUN", "a number, a label, last or last-N", "last"},
    {"from", RPS_OPTION_FROM, "T", "without what was before T: 90, 14:30, phase:B, mark:M", NULL,
     "phase: mark:"},
    {"to", RPS_OPTION_TO, "T", "leave out what was from T on", NULL, "phase: mark:"},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct rps_option store_options[] = {
    {"input", 'i', "FILE", "store to read", RPS_STORE_DEFAULT_PATH},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct rps_option common_options[] = {
    {"output", 'o', "FILE", NULL, NULL}, /* help and default are the command's */
    {"quiet", 'q', NULL, "no notes, status line or progress, only errors", NULL},
    {"help", 'h', NULL, "print this help", NULL, NULL, 1},
    {"version", RPS_OPTION_VERSION, NULL, "print the version", NULL, NULL, 1},
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

int rps_options_row(const struct rps_command *command, int number, struct rps_option *ret)
{
    struct option_list list;

    collect(&list, command);
    if (number >= list.count)
        return 0;
    *ret = list.row[number];
    return 1;
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
    fputs("\n'rpistat help NAME' says more about a command, 'man rpistat' about all.\n", out);
}

/* --- labels and tags -------------------------------------------------------------------------- */

int rps_label_check(const char *option, const char *text, struct rps_error *err)
{
    if (strlen(text) < RPS_RUN_TEXT_SIZE)
        return 0;
    return rps_error_set(err, RPS_USAGE, "%s: the text has %zu bytes; use at most %d", option,
                         strlen(text), RPS_RUN_TEXT_SIZE - 1);
}

int rps_tag_check(const char *option, const char *text, struct rps_error *err)
{
    const char *equals = strchr(text, '=');

    if (equals != NULL && equals != text)
        return 0;
    return rps_error_set(err, RPS_USAGE, "%s: '%s' is not of the form KEY=VALUE", option, text);
}

int rps_tag_is(const struct rps_run *run, const char *text)
{
    size_t length = strcspn(text, "=");

    for (int t = 0; t < run->tag_count && text[length] == '='; t++) {
        if (strncmp(run->tag[t].key, text, length) == 0 && run->tag[t].key[length] == '\0' &&
            strcmp(run->tag[t].value, text + length + 1) == 0)
            return 1;
    }
    return 0;
}

int rps_tag_add(struct rps_run *run, int count, const char *const *text, struct rps_error *err)
{
    char key[RPS_RUN_TEXT_SIZE];

    for (int i = 0; i < count; i++) {
        int length = (int)strcspn(text[i], "=");

        snprintf(key, sizeof(key), "%.*s", length, text[i]);
        if (rps_run_add_tag(run, key, text[i] + length + 1) < 0)
            return rps_error_memory(err);
    }
    return 0;
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

/* The long options that the word, "--abc" or "--abc=...", could be the beginning of: how many, and
 * "--abcd, --abce". */
static int abbreviates(const struct option_list *list, const char *word, char *ret, size_t size)
{
    size_t length = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0, used = 0;
    int count = 0;

    for (int i = 0; i < list->count && length > 0 && used < size; i++) {
        if (strncmp(list->row[i].name, word + 2, length) == 0)
            used += (size_t)snprintf(ret + used, size - used, "%s--%s", count++ > 0 ? ", " : "",
                                     list->row[i].name);
    }
    return count;
}

/* What may be meant by an option that the command does not have: "did you mean --period? ", or the
 * command that has it, or "". */
static char *guess(const struct rps_cli *cli, const struct option_list *list, const char *word,
                   char *ret, size_t size)
{
    char typed[RPS_SUGGESTION_SIZE], name[RPS_SUGGESTION_SIZE];
    struct rps_suggestion suggestion = {.typed = typed};
    const char *habit;

    snprintf(typed, sizeof(typed), "%.*s", (int)strcspn(word, "="), word);
    habit = rps_names_habit(typed);
    for (int c = 0; rps_commands[c] != NULL && !habit; c++) {
        const struct rps_option *row = rps_commands[c]->options;

        for (; row != NULL && row->name != NULL; row++) {
            snprintf(name, sizeof(name), "--%s", row->name);
            if (strcmp(name, typed) != 0 || rps_commands[c] == cli->command)
                continue;
            snprintf(ret, size, "'rpistat %s' has it; ", rps_commands[c]->name);
            return ret;
        }
    }
    suggestion.typed = habit ? habit : typed;
    for (int i = 0; i < list->count; i++) {
        snprintf(name, sizeof(name), "--%s", list->row[i].name);
        rps_suggestion_consider(&suggestion, name);
    }
    return rps_suggestion_question(&suggestion, ret, size);
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
    char text[RPS_SUGGESTION_SIZE], names[256], question[128] = "";
    const char *problem = "is unknown: ", *what = "";

    snprintf(text, sizeof(text), "%s", word);
    if (row != NULL) {
        problem = answer == ':' ? "needs an argument, " : "takes no argument; ";
        what = answer == ':' ? row->argument : "";
        snprintf(text, sizeof(text), "--%s", row->name);
    } else if (optopt != 0) {
        snprintf(text, sizeof(text), "-%c", optopt);
    } else if (abbreviates(list, word, names, sizeof(names)) > 1) {
        return rps_error_set(&cli->err, RPS_USAGE, "option '%s' could be any of %s; write it out",
                             text, names);
    }
    if (row == NULL)
        guess(cli, list, text, question, sizeof(question));
    return rps_error_set(&cli->err, RPS_USAGE,
                         "option '%s' %s%s%s%s'rpistat %s --help' lists them all", text, problem,
                         what, *what ? "; " : "", question, help_name(cli));
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

/* Which options stand on the command line, by their letters; the rest is for the second reading. */
static void find_given(int argc, char **argv, const struct option_list *list,
                       const struct option *long_option, const char *short_option,
                       unsigned char *ret_given)
{
    int answer;

    optind = 0; /* glibc and musl start afresh */
    while ((answer = getopt_long(argc, argv, short_option, long_option, NULL)) != -1) {
        for (int i = 0; i < list->count; i++)
            ret_given[i] |= list->row[i].letter == answer;
    }
}

static int is_help_given(const struct option_list *list, const unsigned char *given)
{
    for (int i = 0; i < list->count; i++) {
        if (given[i] && (list->row[i].letter == 'h' || list->row[i].letter == RPS_OPTION_VERSION))
            return 1;
    }
    return 0;
}

static const struct rps_option *find_name(const struct option_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->row[i].name, name) == 0)
            return &list->row[i];
    }
    return NULL;
}

/* The option of a line of the configuration in the command of its section, or else in any. NULL
 * with cli->err. */
static const struct rps_option *
find_configured(struct rps_cli *cli, const struct rps_config_line *line, struct option_list *list)
{
    const struct rps_option *row = NULL;
    int is_command = 0;

    for (int i = 0; rps_commands[i] != NULL && row == NULL; i++) {
        if (line->section != NULL && strcmp(line->section, rps_commands[i]->name) != 0)
            continue;
        is_command = 1;
        collect(list, rps_commands[i]);
        row = find_name(list, line->name);
    }
    if (row != NULL && row->letter == 'o' && line->section == NULL)
        rps_config_error(&cli->config, line, &cli->err,
                         "'%s' is a store to one command and a text to another: write it below "
                         "[COMMAND]",
                         line->name);
    else if (row != NULL && !row->is_once && (row->argument != NULL) == (line->value != NULL))
        return row;
    else if (!is_command)
        rps_config_error(&cli->config, line, &cli->err, "rpistat has no command '%s'",
                         line->section);
    else if (row == NULL && line->section == NULL)
        rps_config_error(&cli->config, line, &cli->err,
                         "no command has an option '%s'; 'man rpistat' lists them", line->name);
    else if (row == NULL)
        rps_config_error(&cli->config, line, &cli->err,
                         "%s has no option '%s'; 'rpistat %s --help' lists them", line->section,
                         line->name, line->section);
    else if (row->is_once)
        rps_config_error(&cli->config, line, &cli->err,
                         "'%s' is for the command line only: take it out", line->name);
    else
        rps_config_error(&cli->config, line, &cli->err,
                         row->argument != NULL ? "'%s' needs a value: %s = VALUE"
                                               : "'%s' takes no value: write %s alone",
                         line->name, line->name);
    return NULL;
}

/* Take from the configuration what is this command's and not given on the command line; *ret_used
 * options of it. All lines are looked at, so that a mistake is told by any command. */
static int configure(struct rps_cli *cli, const struct option_list *list,
                     const unsigned char *given, int *ret_used)
{
    int result = rps_config_read(&cli->config, &cli->err);

    for (int i = 0; i < cli->config.count && result == 0; i++) {
        const struct rps_config_line *line = &cli->config.line[i];
        const struct rps_option *row = find_name(list, line->name);
        struct option_list any;

        if (find_configured(cli, line, &any) == NULL)
            return RPS_USAGE;
        if (row == NULL || row->is_once || given[row - list->row] ||
            (line->section != NULL && strcmp(line->section, cli->command->name) != 0))
            continue;
        result = set_option(cli, list, row->letter, line->value);
        if (result < 0)
            rps_error_prefix(&cli->err, result, "%s, line %d", cli->config.path, line->number);
        ++*ret_used;
    }
    return result;
}

/* RPISTAT_STORE is the store wherever rpistat.data would be. */
static int take_environment(struct rps_cli *cli, const struct option_list *list,
                            const unsigned char *given)
{
    const char *store = getenv("RPISTAT_STORE");
    int result = 0;

    for (int i = 0; i < list->count && store != NULL && store[0] != '\0' && result == 0; i++) {
        if (!given[i] && list->row[i].value != NULL &&
            strcmp(list->row[i].value, RPS_STORE_DEFAULT_PATH) == 0)
            result = set_option(cli, list, list->row[i].letter, store);
    }
    return result;
}

static int check(struct rps_cli *cli, int operand_count, const char *last)
{
    const struct rps_command *command = cli->command;

    if (command->operand_max >= 0 && operand_count > command->operand_max &&
        rps_names_command(last) != NULL)
        return rps_error_set(
            &cli->err, RPS_USAGE,
            "%s takes no argument '%s': give one command at a time, as in 'rpistat "
            "%s'",
            command->name, last, last);
    if (command->operand_max >= 0 && operand_count > command->operand_max)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "%s takes no argument '%s'%s; see 'rpistat %s --help'", command->name,
                             last,
                             command->input == RPS_INPUT_RUN ? ": a run is named with -r, a store "
                                                               "with -i"
                             : command->input != RPS_INPUT_NONE ? ": a store is named with -i"
                                                                : "",
                             help_name(cli));
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
    unsigned char given[OPTION_MAX] = {0};
    struct option_list list;
    int answer, result, used = 0;

    opterr = 0;
    collect(&list, cli->command);
    fill_getopt(cli, &list, long_option, short_option);
    find_given(argc, argv, &list, long_option, short_option, given);
    result = set_defaults(cli, &list);
    if (result == 0 && !is_help_given(&list, given))
        result = configure(cli, &list, given, &used);
    if (result == 0)
        result = take_environment(cli, &list, given);
    optind = 0;
    cli->is_given = 1;
    while (result == 0 && (answer = getopt_long(argc, argv, short_option, long_option, NULL)) != -1)
        result = answer == '?' || answer == ':' ? refuse(cli, &list, answer, argv[optind - 1])
                                                : set_option(cli, &list, answer, optarg);
    if (result == 0) {
        result = check(cli, argc - optind, argv[argc - 1]);
        if (result == RPS_USAGE && used > 0)
            rps_error_prefix(&cli->err, result, "with the options of %s", cli->config.path);
    }
    if (result == 0)
        *ret_operands = optind;
    return result;
}
