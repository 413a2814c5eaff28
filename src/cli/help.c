/* `rpistat help`: print the help of rpistat or of a command, as text or as JSON for programs. The
 * texts come from the rows of the commands and of their options. */
#include <string.h>

#include "cli.h"
#include "config.h"

enum { HELP_TEXT, HELP_JSON };
static const char formats[] = "text json";

static const struct rps_column option_columns[] = {
    {"name"}, {"letter"}, {"argument"}, {"help"}, {"default"}, {"choices", .kind = RPS_VALUE_BLOCK},
};

static const struct rps_column command_columns[] = {
    {"name"},  {"summary"},     {"answers"},
    {"usage"}, {"description"}, {"options", .kind = RPS_VALUE_BLOCK},
};

/* Put the words that completion offers for the argument of an option. */
static void put_choices(struct rps_block *block, const struct rps_option *option)
{
    struct rps_block *list = rps_put_block(block, &(struct rps_column){.name = ""}, 1);
    const char *const *names = option->names ? option->names() : NULL;
    const char *words = option->words ? option->words : "";

    for (size_t length; *words != '\0'; words += length + (words[length] == ' ')) {
        length = strcspn(words, " ");
        rps_put_text(list, rps_arena_print(list->document->arena, "%.*s", (int)length, words));
    }
    for (; names && *names; names++)
        rps_put_text(list, *names);
}

static void put_command(struct rps_block *block, const struct rps_command *command)
{
    struct rps_option_list list;
    struct rps_block *options;

    rps_options_collect(command, &list);
    rps_put_text(block, command->name);
    rps_put_text(block, command->summary);
    rps_put_text(block, command->answers);
    rps_put_text(block, command->usage);
    rps_put_text(block, command->description);
    options = rps_put_block(block, option_columns, RPS_COUNT(option_columns));
    for (const struct rps_option *row = list.row; row < list.row + list.count; row++) {
        rps_put_text(options, row->name);
        rps_put_text(options, row->letter ? (char[]){(char)row->letter, '\0'} : NULL);
        rps_put_text(options, row->argument);
        rps_put_text(options, row->help);
        rps_put_text(options, row->value);
        put_choices(options, row);
    }
}

/* Print one command, or all commands if it is NULL. */
static void print_json(const struct rps_command *command)
{
    struct rps_document document = {.arena = rps_arena_new()};
    struct rps_block *block;

    rps_put_text(rps_document_field(&document, "version", RPS_VALUE_TEXT), RPS_VERSION);
    block = rps_document_block(&document, "commands", command_columns, RPS_COUNT(command_columns));
    for (int c = 0; rps_commands[c]; c++) {
        if (!command || command == rps_commands[c])
            put_command(block, rps_commands[c]);
    }
    rps_document_write(&document, stdout, RPS_FORMAT_JSON, 0);
    rps_arena_free(document.arena);
}

/* Take --format FORMAT or --format=FORMAT at argv[0], which may be NULL. *ret is HELP_TEXT or
 * HELP_JSON. Returns the number of words taken. */
static int take_format(char **argv, int *ret, struct rps_error *err)
{
    static const char name[] = "--format";
    const char *word = argv[0] && strncmp(argv[0], name, sizeof(name) - 1) == 0
                           ? argv[0] + sizeof(name) - 1
                           : NULL;
    int count = 1;

    if (!word || (*word != '\0' && *word != '='))
        return 0;
    if (*word == '=')
        word++;
    else if ((word = argv[count++]) == NULL)
        return rps_error_set(err, RPS_USAGE, "--format needs an argument; write text or json");
    *ret = rps_options_word(formats, word);
    if (*ret < 0)
        return rps_error_set(err, RPS_USAGE, "--format: '%s' is unknown; write text or json", word);
    return count;
}

int rps_help_run(char **argv, struct rps_error *err)
{
    const struct rps_command *command = NULL;
    const char *name = NULL;
    char question[128];
    int format = HELP_TEXT, taken;

    while (*argv) {
        taken = take_format(argv, &format, err);
        if (taken < 0)
            return taken;
        if (taken == 0 && name)
            return rps_error_set(err, RPS_USAGE, "help takes one command, not '%s'; leave it out",
                                 *argv);
        if (taken == 0)
            name = argv[taken++];
        argv += taken;
    }
    if (name && strcmp(name, "help") != 0 && name[0] != '-') {
        command = rps_names_command(name);
        if (!command)
            return rps_error_set(err, RPS_USAGE,
                                 "there is no command '%s'; %s`rpistat help` lists the commands",
                                 name, rps_names_question(name, question, sizeof(question)));
    }
    if (format == HELP_JSON)
        print_json(command);
    else if (command)
        rps_options_help(stdout, command);
    else
        rps_options_help_all(stdout);
    return 0;
}
