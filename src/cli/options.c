/* Options. One table per command yields getopt_long's array, the texts of --help and the values, so
 * that these cannot differ.
 *
 * The parser is getopt_long because users expect its abbreviations, `-ofile` and `--name=value`.
 * The messages of getopt_long are not used, because they offer no remedy. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "config.h"
#include "rpistat/text.h"
#include "rpistat/store.h"

#define LONG_ONLY 256 /* getopt_long's value of an option without a letter: LONG_ONLY + row */

static int print_text(const char *option, const char *text, void *member, struct rps_error *err)
{
    const struct rps_cli *cli = member;

    (void)text;
    (void)err;
    if (strcmp(option, "--version") == 0)
        fputs("rpistat " RPS_VERSION "\n", stdout);
    else if (cli->implicit)
        rps_options_help_all(stdout);
    else
        rps_options_help(stdout, cli->command);
    return 1;
}

static const struct rps_option run_options[] = {
    {"run", 'r', "RUN", "number, label, KEY=VALUE, last or last-N", "last", RPS_OPTION_TEXT,
     RPS_AT_COMMON(run_text)},
    {"from", 0, "T", "start at 90, 04:03.2, 14:30, phase:B, turn:3.2, mark:M", NULL,
     RPS_OPTION_OTHER, RPS_AT_CLI, .set = rps_time_range_set, .words = "phase: mark:"},
    {"to", 0, "T", "end at T", NULL, RPS_OPTION_OTHER, RPS_AT_CLI, .set = rps_time_range_set,
     .words = "phase: mark:"},
    {NULL},
};

static const struct rps_option store_options[] = {
    {"input", 'i', "FILE", "store to read", RPS_STORE_DEFAULT_PATH, RPS_OPTION_TEXT,
     RPS_AT_COMMON(input)},
    {NULL},
};

static const struct rps_option common_options[] = {
    /* the command defines help and default of -o */
    {"output", 'o', "FILE", NULL, NULL, RPS_OPTION_TEXT, RPS_AT_COMMON(output), 1},
    {"quiet", 'q', NULL, "print errors only", NULL, RPS_OPTION_FLAG, RPS_AT_COMMON(quiet)},
    {"help", 'h', NULL, "print this help", NULL, RPS_OPTION_OTHER, RPS_AT_CLI, .set = print_text,
     .is_once = 1},
    {"version", 0, NULL, "print the version", NULL, RPS_OPTION_OTHER, RPS_AT_CLI, .set = print_text,
     .is_once = 1},
    {NULL},
};

_Static_assert(sizeof(run_options) + sizeof(store_options) + sizeof(common_options) ==
                   (RPS_OPTION_SHARED + 3) * sizeof(struct rps_option),
               "RPS_OPTION_SHARED is not their number");

static void append_options(struct rps_option_list *list, const struct rps_option *table)
{
    for (; table != NULL && table->name != NULL; table++)
        list->row[list->count++] = *table;
}

void rps_options_collect(const struct rps_command *command, struct rps_option_list *list)
{
    int own_count;

    memset(list, 0, sizeof(*list));
    append_options(list, command->options);
    own_count = list->count;
    if (command->input == RPS_INPUT_RUN)
        append_options(list, run_options);
    if (command->input != RPS_INPUT_NONE)
        append_options(list, store_options);
    append_options(list, common_options);
    for (int i = own_count; i < list->count; i++) {
        if (list->row[i].letter == 'o') {
            list->row[i].help = command->output_help ? command->output_help : "file to write";
            list->row[i].value = command->output_value;
        }
    }
}

int rps_options_is_name(const struct rps_option *option, const char *name)
{
    return strcmp(option->name, name) == 0 ||
           (option->old_name != NULL && strcmp(option->old_name, name) == 0);
}

static const struct rps_option *find_name(const struct rps_option_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++) {
        if (rps_options_is_name(&list->row[i], name))
            return &list->row[i];
    }
    return NULL;
}

const char *rps_options_set(const struct rps_cli *cli, const char *names,
                            enum rps_option_source from)
{
    struct rps_option_list list;

    rps_options_collect(cli->command, &list);
    for (int i = 0; i < list.count; i++) {
        if (cli->source[i] >= from && rps_options_word(names, list.row[i].name) >= 0)
            return list.row[i].name;
    }
    return NULL;
}

/* --- help ------------------------------------------------------------------------------------- */

static int takes(const struct rps_option *option)
{
    return option->argument == NULL     ? no_argument
           : option->argument[0] == '[' ? optional_argument
                                        : required_argument;
}

/* Put a text such as "-o, --output FILE", without the letter if the option has no letter. */
static int option_heading(char *ret, size_t size, const struct rps_option *option)
{
    char letter[8] = "    ";

    if (option->letter != 0)
        snprintf(letter, sizeof(letter), "-%c, ", option->letter);
    return snprintf(ret, size, "%s--%s%s%s", letter, option->name,
                    takes(option) == required_argument ? " " : "",
                    option->argument != NULL ? option->argument : "");
}

void rps_options_help(FILE *out, const struct rps_command *command)
{
    struct rps_option_list list;
    char heading[80];
    int width = 0;

    rps_options_collect(command, &list);
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
    for (int i = 0; rps_commands[i] != NULL; i++)
        fprintf(out, "       rpistat %s %s\n", rps_commands[i]->name, rps_commands[i]->usage);
    fputs("       rpistat help [COMMAND] [--format json]\n"
          "\nRecord how a program behaves over time, find its phases, and show which code\n"
          "each phase runs. 'rpistat ./program' works like 'time ./program'. It writes\n"
          "the store rpistat.data, and a short report to rpistat.txt; 'rpistat report'\n"
          "prints more.\n"
          "\nCommands:\n",
          out);
    for (int i = 0; rps_commands[i] != NULL; i++)
        fprintf(out, "  %-8s  %s\n", rps_commands[i]->name, rps_commands[i]->summary);
    fputs("\n'rpistat help COMMAND' lists the options of COMMAND, and\n"
          "'man rpistat-COMMAND' is its manual page.\n",
          out);
}

/* --- tags ------------------------------------------------------------------------------------- */

int rps_tag_check(const char *option, const char *text, struct rps_error *err)
{
    const char *equals = strchr(text, '=');

    if (equals != NULL && equals != text)
        return 0;
    return rps_error_set(err, RPS_USAGE, "%s: '%s' is not a pair; write KEY=VALUE", option, text);
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

void rps_tag_add(struct rps_run *run, const struct rps_texts *texts)
{
    char key[RPS_RUN_TEXT_SIZE];

    for (int i = 0; i < texts->count; i++) {
        int length = (int)strcspn(texts->text[i], "=");

        snprintf(key, sizeof(key), "%.*s", length, texts->text[i]);
        rps_run_add_tag(run, key, texts->text[i] + length + 1);
    }
}

/* --- values ----------------------------------------------------------------------------------- */

int rps_options_word(const char *words, const char *word)
{
    size_t size = strlen(word);

    for (int number = 0; *words != '\0'; number++) {
        size_t length = strcspn(words, " ");

        if (length == size && strncmp(words, word, length) == 0)
            return number;
        words += length + (words[length] == ' ');
    }
    return -1;
}

static int set_int(const struct rps_option *row, const char *option, const char *text, void *member,
                   struct rps_error *err)
{
    uint64_t value = 0;
    int result =
        rps_parse_uint64(option, text, (uint64_t)row->min, (uint64_t)row->max, &value, err);

    if (result == 0 && row->size == sizeof(int))
        *(int *)member = (int)value;
    else if (result == 0)
        *(uint64_t *)member = value;
    return result;
}

static int set_size(const struct rps_option *row, const char *option, const char *text,
                    uint64_t *member, struct rps_error *err)
{
    uint64_t bytes = 0;
    int result = rps_parse_size(option, text, &bytes, err);

    if (result == 0 && bytes < (uint64_t)row->min)
        return rps_error_set(err, RPS_USAGE, "%s: '%s' is too small; write at least %dM", option,
                             text, (int)(row->min >> 20));
    if (result == 0)
        *member = bytes;
    return result;
}

static int set_choice(const struct rps_option *row, const char *option, const char *text,
                      int *member, struct rps_error *err)
{
    int is_old = row->old_word != NULL && strcmp(row->old_word, text) == 0;
    int number = rps_options_word(row->words, is_old ? strrchr(row->words, ' ') + 1 : text);
    char words[256];
    size_t used = 0;

    if (number >= 0) {
        *member = (int)row->min + number;
        return 0;
    }
    if (row->gone_word != NULL && strcmp(row->gone_word, text) == 0)
        return rps_error_set(err, RPS_USAGE, "%s: %s", option, row->gone_text);
    for (const char *at = row->words; *at != '\0' && used < sizeof(words) - 2; at++) {
        if (*at == ' ')
            words[used++] = ',';
        words[used++] = *at;
    }
    words[used] = '\0';
    return rps_error_set(err, RPS_USAGE, "%s: '%s' is unknown; write one of %s", option, text,
                         words);
}

static int set_char(const struct rps_option *row, const char *option, const char *text,
                    char *member, struct rps_error *err)
{
    if (rps_options_word(row->words, text) < 0)
        return rps_error_set(err, RPS_USAGE, "%s: '%s' is unknown; write one of %s", option, text,
                             row->words);
    *member = strcmp(text, "tab") == 0 ? '\t' : text[0];
    return 0;
}

static int check_text(const struct rps_option *row, const char *option, const char *text,
                      struct rps_error *err)
{
    size_t length = strlen(text);

    if (length < (size_t)row->min)
        return rps_error_set(err, RPS_USAGE, "%s: the text is empty; leave the option out", option);
    if (row->kind == RPS_OPTION_TEXT && row->max > 0 && length > (size_t)row->max)
        return rps_error_set(err, RPS_USAGE, "%s: the text has %zu bytes; use at most %d", option,
                             length, (int)row->max);
    return row->check != NULL ? row->check(option, text, err) : 0;
}

static int add_text(const struct rps_option *row, const char *option, const char *text,
                    struct rps_texts *texts, struct rps_error *err)
{
    int max = row->max > 0 ? (int)row->max : RPS_TEXTS_MAX;

    if (texts->count == max)
        return rps_error_set(err, RPS_USAGE, "%s can be given at most %d times; leave out '%s'",
                             option, max, text);
    texts->text[texts->count++] = text;
    return 0;
}

static int add_names(const char *option, const char *text, struct rps_names *names,
                     struct rps_error *err)
{
    char *copy = names->text + names->used;
    size_t size = strlen(text) + 1;

    if (size > sizeof(names->text) - names->used)
        return rps_error_set(err, RPS_USAGE, "%s: the names are too long; name fewer", option);
    memcpy(copy, text, size);
    names->used += size;
    for (char *name; (name = strsep(&copy, ",")) != NULL;) {
        if (name[0] == '\0')
            return rps_error_set(err, RPS_USAGE, "%s: '%s' has an empty name; remove it", option,
                                 text);
        if (names->count == RPS_TEXTS_MAX)
            return rps_error_set(err, RPS_USAGE, "%s: name at most %d", option, RPS_TEXTS_MAX);
        names->name[names->count++] = name;
    }
    return 0;
}

/* Put the option's short or long name, such as "-i" or "--format". Returns ret. */
static char *name_of_option(const struct rps_option *row, char *ret, size_t size)
{
    if (row->letter != 0)
        snprintf(ret, size, "-%c", row->letter);
    else
        snprintf(ret, size, "--%s", row->name);
    return ret;
}

static int set_member(const struct rps_option *row, const char *text, void *member, int source,
                      struct rps_error *err)
{
    char option[64];

    name_of_option(row, option, sizeof(option));
    switch (row->kind) {
    case RPS_OPTION_FLAG:
        *(int *)member = row->min != 0 ? (int)row->min : 1;
        return 0;
    case RPS_OPTION_INT:
        return set_int(row, option, text, member, err);
    case RPS_OPTION_DURATION:
        return rps_parse_duration_ns(option, text, row->min, row->max, member, err);
    case RPS_OPTION_SIZE:
        return set_size(row, option, text, member, err);
    case RPS_OPTION_CHOICE:
        if (text != NULL)
            return set_choice(row, option, text, member, err);
        *(int *)member = (int)row->min - 1;
        return 0;
    case RPS_OPTION_CHAR:
        return set_char(row, option, text, member, err);
    case RPS_OPTION_TEXT:
        *(const char **)member = text;
        return check_text(row, option, text, err);
    case RPS_OPTION_LIST:
        if (((struct rps_texts *)member)->source != source)
            *(struct rps_texts *)member = (struct rps_texts){.source = source};
        return check_text(row, option, text, err) < 0 ? RPS_USAGE
                                                      : add_text(row, option, text, member, err);
    case RPS_OPTION_NAMES:
        if (((struct rps_names *)member)->source != source)
            *(struct rps_names *)member = (struct rps_names){.source = source};
        return add_names(option, text, member, err);
    case RPS_OPTION_OTHER:
        break;
    }
    return row->set(option, text, member, err);
}

/* --- parsing ---------------------------------------------------------------------------------- */

/* Return the name of the command whose help describes this call. */
static const char *help_name(const struct rps_cli *cli)
{
    return cli->implicit ? "record" : cli->command->name;
}

static int set_option(struct rps_cli *cli, const struct rps_option_list *list, int number,
                      const char *text, enum rps_option_source source)
{
    const struct rps_option *row = &list->row[number];
    char *base = row->is_common ? (char *)cli : cli->settings;

    cli->source[number] = source;
    return set_member(row, text, base + row->offset, source, &cli->err);
}

static int set_defaults(struct rps_cli *cli, const struct rps_option_list *list)
{
    int result = 0;

    for (int i = 0; i < list->count && result == 0; i++) {
        if (list->row[i].value != NULL)
            result = set_option(cli, list, i, list->row[i].value, RPS_SOURCE_DEFAULT);
    }
    return result;
}

/* Return the option that the word, "--abc" or "--abc=...", abbreviates. Returns NULL for no option
 * or several. If the first matching name is a prefix of the others, the result is that option:
 * --sam means --sample, not --sample-on. ret lists the matches: "--abcd, --abce". */
static const struct rps_option *find_abbreviated(const struct rps_option_list *list,
                                                 const char *word, char *ret, size_t size)
{
    size_t length = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0, used = 0;
    const struct rps_option *row, *found = NULL;
    int is_one = 1;

    ret[0] = '\0';
    for (row = list->row; row < list->row + list->count && length > 0 && used < size; row++) {
        if (strncmp(row->name, word + 2, length) != 0 &&
            (row->old_name == NULL || strncmp(row->old_name, word + 2, length) != 0))
            continue;
        used += (size_t)snprintf(ret + used, size - used, "%s--%s", used ? ", " : "", row->name);
        if (found == NULL)
            found = row;
        else if (strncmp(row->name, found->name, strlen(found->name)) != 0)
            is_one = 0;
    }
    return is_one ? found : NULL;
}

/* Suggest a replacement for an option that the command does not have: "did you mean --period? ", or
 * the command that has the option, or "". */
static char *guess(const struct rps_cli *cli, const struct rps_option_list *list, const char *word,
                   char *ret, size_t size)
{
    char typed[RPS_SUGGESTION_SIZE], name[RPS_SUGGESTION_SIZE];
    struct rps_suggestion suggestion = {.typed = typed};
    const char *habit;

    snprintf(typed, sizeof(typed), "%.*s", (int)strcspn(word, "="), word);
    habit = rps_names_habit(typed);
    if (habit && strcmp(habit, "--input") == 0 && !find_name(list, "input"))
        habit = "--output"; /* suggest -o, because this command writes the store */
    for (int c = 0; rps_commands[c] != NULL && !habit; c++) {
        const struct rps_option *row = rps_commands[c]->options;

        for (; row != NULL && row->name != NULL; row++) {
            if (strncmp(typed, "--", 2) != 0 || !rps_options_is_name(row, typed + 2) ||
                rps_commands[c] == cli->command)
                continue;
            snprintf(ret, size, "`rpistat %s` has it; ", rps_commands[c]->name);
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

/* Return the table row for a result of getopt_long; -1: none. */
static int find_number(const struct rps_option_list *list, int answer)
{
    for (int i = 0; i < list->count; i++) {
        if (answer != 0 && (answer == LONG_ONLY + i || answer == list->row[i].letter))
            return i;
    }
    return -1;
}

/* Set the error message for a result of getopt_long: ':' (no argument) or '?' (any other error).
 * The rejected word is the last word read, except for a letter inside a word like -qx. */
static int refuse(struct rps_cli *cli, const struct rps_option_list *list, int answer,
                  const char *word)
{
    int number = find_number(list, optopt);
    const struct rps_option *row = number >= 0 ? &list->row[number] : NULL;
    char text[RPS_SUGGESTION_SIZE], names[256], question[128] = "";
    const char *problem = "is unknown; ", *what = "";

    snprintf(text, sizeof(text), "%s", word);
    if (row != NULL) {
        problem = answer == ':' ? "needs an argument, " : "takes no argument; ";
        what = answer == ':' ? row->argument : "";
        snprintf(text, sizeof(text), "--%s", row->name);
    } else if (optopt != 0) {
        snprintf(text, sizeof(text), "-%c", optopt);
    } else if (!find_abbreviated(list, word, names, sizeof(names)) && names[0] != '\0') {
        return rps_error_set(&cli->err, RPS_USAGE, "option '%s' is ambiguous: %s; write it in full",
                             text, names);
    }
    if (row == NULL)
        guess(cli, list, text, question, sizeof(question));
    return rps_error_set(&cli->err, RPS_USAGE, "option '%s' %s%s%s%ssee `rpistat %s --help`", text,
                         problem, what, *what ? "; " : "", question, help_name(cli));
}

static void fill_getopt(const struct rps_cli *cli, const struct rps_option_list *list,
                        struct option *long_option, char *short_option)
{
    if (cli->command->runs_workload)
        *short_option++ = '+';
    *short_option++ = ':';
    for (int i = 0; i < list->count; i++) {
        const struct rps_option *row = &list->row[i];

        long_option->name = row->name;
        long_option->has_arg = takes(row);
        long_option->val = row->letter != 0 ? row->letter : LONG_ONLY + i;
        if (row->old_name != NULL) { /* if both names have equal values, a prefix of both is not
                                        ambiguous */
            long_option[1] = long_option[0];
            (++long_option)->name = row->old_name;
        }
        long_option++;
        if (row->letter != 0) {
            *short_option++ = (char)row->letter;
            if (row->argument != NULL)
                *short_option++ = ':';
        }
    }
}

/* Find the options of the command line, and expand abbreviations that getopt_long calls ambiguous.
 * A second pass sets the values. Returns 1 if an option prints a text and ends the command. */
static int find_given(struct rps_cli *cli, int argc, char **argv,
                      const struct rps_option_list *list, const struct option *long_option,
                      const char *short_option, unsigned char *ret_given)
{
    const struct rps_option *row;
    char names[256];
    int answer, number, is_end = 0;

    optind = 0; /* makes getopt_long of glibc and musl start again */
    while ((answer = getopt_long(argc, argv, short_option, long_option, NULL)) != -1) {
        row = answer == '?' && optopt == 0
                  ? find_abbreviated(list, argv[optind - 1], names, sizeof(names))
                  : NULL;
        if (row != NULL) {
            optind--; /* read the expanded word again */
            argv[optind] = rps_arena_print(cli->arena, "--%s%s", row->name,
                                           argv[optind] + strcspn(argv[optind], "="));
        }
        number = find_number(list, answer);
        if (number >= 0)
            ret_given[number] = 1;
        is_end |= number >= 0 && list->row[number].set == print_text;
    }
    return is_end;
}

/* Find the option that a configuration line names. A line in a section names an option of that
 * command, any other line an option of any command. Returns NULL with the error in cli->err. */
static const struct rps_option *find_configured(struct rps_cli *cli,
                                                const struct rps_config_line *line,
                                                struct rps_option_list *list)
{
    const struct rps_option *row = NULL;
    int is_command = 0;

    for (int i = 0; rps_commands[i] != NULL && row == NULL; i++) {
        if (line->section != NULL && strcmp(line->section, rps_commands[i]->name) != 0)
            continue;
        is_command = 1;
        rps_options_collect(rps_commands[i], list);
        row = find_name(list, line->name);
    }
    if (row != NULL && row->letter == 'o' && line->section == NULL)
        rps_config_error(
            &cli->config, line, &cli->err,
            "'%s' means a store for some commands, and another file for others; write it "
            "below a line [COMMAND]",
            line->name);
    else if (row != NULL && !row->is_once &&
             (takes(row) == optional_argument || (row->argument != NULL) == (line->value != NULL)))
        return row;
    else if (!is_command)
        rps_config_error(&cli->config, line, &cli->err, "rpistat has no command '%s'",
                         line->section);
    else if (row == NULL && line->section == NULL)
        rps_config_error(&cli->config, line, &cli->err,
                         "no command has an option '%s'; 'rpistat help COMMAND' lists options",
                         line->name);
    else if (row == NULL)
        rps_config_error(&cli->config, line, &cli->err,
                         "%s has no option '%s'; 'rpistat %s --help' lists them", line->section,
                         line->name, line->section);
    else if (row->is_once)
        rps_config_error(&cli->config, line, &cli->err,
                         "'%s' is allowed only on the command line; remove it from the file",
                         line->name);
    else
        rps_config_error(&cli->config, line, &cli->err,
                         row->argument != NULL ? "'%s' needs a value: %s = VALUE"
                                               : "'%s' takes no value: write %s alone",
                         line->name, line->name);
    return NULL;
}

/* Set this command's options from the configuration file, unless the command line sets them.
 * *ret_used is the number of options set. All lines are parsed, so that every command reports an
 * error in the file. */
static int configure(struct rps_cli *cli, const struct rps_option_list *list,
                     const unsigned char *given, int *ret_used)
{
    int result = rps_config_read(cli->arena, &cli->config, &cli->err);

    for (int i = 0; i < cli->config.count && result == 0; i++) {
        const struct rps_config_line *line = &cli->config.line[i];
        const struct rps_option *row = find_name(list, line->name);
        struct rps_option_list any;
        const struct rps_option *found = find_configured(cli, line, &any);

        if (found == NULL)
            return RPS_USAGE;
        if (row == NULL || row->is_once || given[row - list->row] ||
            (line->section != NULL && strcmp(line->section, cli->command->name) != 0))
            continue;
        if (line->section == NULL && strcmp(row->name, found->name) != 0)
            continue; /* "keep" in the file is the option of record, not the earlier name of
                         --keep-script */
        result = set_option(cli, list, (int)(row - list->row), line->value, RPS_SOURCE_FILE);
        if (result < 0)
            rps_error_prefix(&cli->err, result, "%s, line %d", cli->config.path, line->number);
        ++*ret_used;
    }
    return result;
}

/* If the variable RPISTAT_STORE is set, use its store instead of the default rpistat.data. */
static int take_environment(struct rps_cli *cli, const struct rps_option_list *list,
                            const unsigned char *given)
{
    const char *store = getenv("RPISTAT_STORE");
    int result = 0;

    for (int i = 0; i < list->count && store != NULL && store[0] != '\0' && result == 0; i++) {
        if (!given[i] && list->row[i].value != NULL &&
            strcmp(list->row[i].value, RPS_STORE_DEFAULT_PATH) == 0)
            result = set_option(cli, list, i, store, RPS_SOURCE_ENVIRONMENT);
    }
    return result;
}

/* Refuse options that exclude each other, wherever they are set. */
static int check_excludes(struct rps_cli *cli, const struct rps_option_list *list)
{
    char one[64], other[64];

    for (int i = 0; i < list->count; i++) {
        const char *words = list->row[i].excludes;

        for (int n = 0; n < list->count && words != NULL && cli->source[i]; n++) {
            if (cli->source[n] != RPS_SOURCE_DEFAULT &&
                rps_options_word(words, list->row[n].name) >= 0)
                return rps_error_set(&cli->err, RPS_USAGE,
                                     "%s and %s exclude each other; leave one of them out",
                                     name_of_option(&list->row[i], one, sizeof(one)),
                                     name_of_option(&list->row[n], other, sizeof(other)));
        }
    }
    return 0;
}

/* Select the format from the suffix of -o FILE ("x.csv") if the call has no --format. */
static int take_ending(struct rps_cli *cli, const struct rps_option_list *list)
{
    const struct rps_option *format = find_name(list, "format");
    const char *ending = cli->output != NULL ? strrchr(cli->output, '.') : NULL;

    if (ending == NULL || format == NULL || format->kind == RPS_OPTION_TEXT ||
        cli->source[format - list->row] == RPS_SOURCE_COMMAND_LINE)
        return 0;
    ending = strcmp(ending, ".md") == 0 ? "markdown" : ending + 1;
    if (rps_options_word(format->words, ending) < 0)
        return 0;
    return set_option(cli, list, (int)(format - list->row), ending, RPS_SOURCE_FILE);
}

static int check_operands(struct rps_cli *cli, const struct rps_option_list *list,
                          int operand_count, const char *last)
{
    const struct rps_command *command = cli->command;

    if (command->operand_max >= 0 && operand_count > command->operand_max &&
        rps_names_command(last) != NULL)
        return rps_error_set(
            &cli->err, RPS_USAGE,
            "%s takes no argument '%s'; give one command at a time, as in `rpistat %s`",
            command->name, last, last);
    if (command->operand_max >= 0 && operand_count > command->operand_max)
        return rps_error_set(
            &cli->err, RPS_USAGE, "%s takes no argument '%s'%s (see `rpistat %s --help`)",
            command->name, last,
            command->operand_is_run            ? "; name one run"
            : command->input == RPS_INPUT_RUN  ? "; name a run with -r, a store with -i, and the "
                                                 "output file with -o"
            : command->input != RPS_INPUT_NONE ? "; name a store with -i"
                                               : "",
            help_name(cli));
    if (rps_time_range_check(cli) < 0 || check_excludes(cli, list) < 0)
        return RPS_USAGE;
    return command->check != NULL ? command->check(cli) : 0;
}

int rps_options_parse(struct rps_cli *cli, int argc, char **argv, int *ret_operands)
{
    struct option long_option[2 * RPS_OPTION_MAX + 1] = {{NULL, 0, NULL, 0}};
    char short_option[2 * RPS_OPTION_MAX + 3] = "";
    unsigned char given[RPS_OPTION_MAX] = {0};
    struct rps_option_list list;
    int answer, result, used = 0;

    opterr = 0;
    rps_options_collect(cli->command, &list);
    fill_getopt(cli, &list, long_option, short_option);
    result = set_defaults(cli, &list);
    if (!find_given(cli, argc, argv, &list, long_option, short_option, given) && result == 0)
        result = configure(cli, &list, given, &used);
    if (result == 0)
        result = take_environment(cli, &list, given);
    optind = 0;
    while (result == 0 && (answer = getopt_long(argc, argv, short_option, long_option, NULL)) != -1)
        result = answer == '?' || answer == ':' ? refuse(cli, &list, answer, argv[optind - 1])
                                                : set_option(cli, &list, find_number(&list, answer),
                                                             optarg, RPS_SOURCE_COMMAND_LINE);
    if (result == 0)
        result = take_ending(cli, &list);
    if (result == 0) {
        result = check_operands(cli, &list, argc - optind, argv[argc - 1]);
        if (result == RPS_USAGE && used > 0)
            rps_error_prefix(&cli->err, result, "with the options of %s", cli->config.path);
    }
    if (result == 0)
        *ret_operands = optind;
    return result;
}
