/* Completion of command lines. The shells' scripts (rpistat.bash, _rpistat, rpistat.fish) run
 * `rpistat --complete WORDS...` to complete the last word; the answers come from the rows of
 * options.
 *
 * The shell itself completes files, directories and the recorded program's command line. A line
 * that begins with a colon requests such a completion. */
#include "cli.h"

#include <string.h>

#include "embed.h"
#include "rpistat/store.h"
#include "rpistat/period.h"

extern const struct rps_embedded rps_embedded_completions[];

/* Only labels and tags of these characters are offered; shells accept the characters unquoted. */
#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.,@%+-"

/* The word to complete. */
struct asked {
    FILE *out;
    const char *word;
    int before;        /* number of bytes before the part to complete, such as "--format=" */
    const char *store; /* store of -i; NULL if not given */
};

static void offer(const struct asked *asked, const char *text, const char *help)
{
    if (strncmp(text, asked->word, strlen(asked->word)) == 0)
        fprintf(asked->out, "%.*s%s%s%s\n", asked->before, asked->word - asked->before, text,
                help != NULL ? "\t" : "", help != NULL ? help : "");
}

static void offer_plain(const struct asked *asked, const char *text, const char *accepted)
{
    if (text[0] != '\0' && text[strspn(text, accepted)] == '\0')
        offer(asked, text, NULL);
}

/* Offer the numbers, labels and tags of the store's runs; nothing if the store cannot be read. */
static void offer_runs(const struct asked *asked)
{
    struct rps_cli cli = {.command = &rps_command_runs, .to_ns = INT64_MAX};
    char name[] = "runs", option[] = "-i";
    char *argv[] = {name, option, (char *)(uintptr_t)asked->store, NULL};
    char text[2 * RPS_RUN_TEXT_SIZE];
    int64_t *run_id = NULL;
    size_t count = 0;
    int operands;

    offer(asked, "last", NULL);
    cli.arena = rps_arena_new();
    cli.settings = rps_arena_get(cli.arena, 1, cli.command->settings_size);
    if (rps_options_parse(&cli, asked->store != NULL ? 3 : 1, argv, &operands) == 0 &&
        rps_reader_open(&cli.reader, cli.input, &cli.err) == 0)
        rps_reader_runs(cli.arena, cli.reader, &run_id, &count, &cli.err);
    for (size_t i = 0; i < count; i++) {
        struct rps_run run;

        if (rps_reader_run(cli.arena, cli.reader, run_id[i], &run, &cli.err) < 0)
            continue;
        snprintf(text, sizeof(text), "%lld", (long long)run_id[i]);
        offer(asked, text, NULL);
        offer_plain(asked, run.label, PLAIN);
        for (int t = 0; t < run.tag_count; t++) {
            snprintf(text, sizeof(text), "%s=%s", run.tag[t].key, run.tag[t].value);
            offer_plain(asked, text, PLAIN "=");
        }
    }
    rps_reader_close(cli.reader);
    rps_arena_free(cli.arena);
}

/* Offer completions for an argument or operand that the help calls `name`: "RUN", "FILE". */
static void offer_kind(const struct asked *asked, const char *name)
{
    if (strncmp(name, "RUN", 3) == 0)
        offer_runs(asked);
    else if (strcmp(name, "FILE") == 0 || strcmp(name, "PATH") == 0)
        fputs(":file\n", asked->out);
    else if (strcmp(name, "DIR") == 0)
        fputs(":folder\n", asked->out);
}

static void offer_argument(const struct asked *asked, const struct rps_option *row)
{
    const char *const *names = row->names != NULL ? row->names() : NULL;
    char word[RPS_NAME_SIZE];

    for (; names != NULL && *names != NULL; names++)
        offer(asked, *names, NULL);
    /* do not offer single characters, because shells interpret them */
    for (const char *at = row->kind != RPS_OPTION_CHAR ? row->words : NULL; at && *at;) {
        int length = (int)strcspn(at, " ");

        snprintf(word, sizeof(word), "%.*s", length, at);
        offer(asked, word, NULL);
        at += length + (at[length] == ' ');
    }
    offer_kind(asked, strcmp(row->name, "sets") == 0 ? "FILE" : row->argument);
}

static void offer_options(const struct asked *asked, const struct rps_option *row, int count)
{
    char name[64];

    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "--%s%s", row[i].name,
                 row[i].argument != NULL && row[i].argument[0] != '[' ? "=" : "");
        offer(asked, name, row[i].help);
        snprintf(name, sizeof(name), "-%c", row[i].letter);
        if (row[i].letter != 0)
            offer(asked, name, row[i].help);
    }
}

static void offer_operand(const struct asked *asked, const struct rps_command *command)
{
    if (strstr(command->usage, "[RUN...]") != NULL || strstr(command->usage, "[A] [B]") != NULL ||
        strstr(command->usage, "RUNS ") != NULL)
        offer_kind(asked, "RUN");
    else if (strstr(command->usage, "FILE...") != NULL ||
             strstr(command->usage, "OTHER...") != NULL)
        offer_kind(asked, "FILE");
}

/* Return the option in `word`, if that option takes an argument; otherwise NULL. *ret_argument is
 * the argument in the same word, or NULL if the next word is the argument. */
static const struct rps_option *find_taking(const struct rps_option *row, int count,
                                            const char *word, const char **ret_argument)
{
    size_t length = strcspn(word, "=");
    int is_long = strncmp(word, "--", 2) == 0;
    char name[64];

    snprintf(name, sizeof(name), "%.*s", (int)length, word);

    for (int i = 0; i < count; i++) {
        if (row[i].argument == NULL || (row[i].argument[0] == '[' && word[length] != '='))
            continue;
        if (is_long && rps_options_is_name(&row[i], name + 2)) {
            *ret_argument = word[length] == '=' ? word + length + 1 : NULL;
            return &row[i];
        }
        if (!is_long && row[i].letter != 0 && word[0] == '-' && word[1] == row[i].letter) {
            *ret_argument = word[2] != '\0' ? word + 2 : NULL;
            return &row[i];
        }
    }
    return NULL;
}

/* Complete the last word. `first` words precede the command's own words. */
static void complete(struct asked *asked, const struct rps_command *command, int first, int count,
                     char **word)
{
    struct rps_option_list list;
    const struct rps_option *taking = NULL; /* option whose argument is the next word */
    const char *argument = NULL, *last = word[count - 1];

    rps_options_collect(command, &list);
    for (int i = first; i < count - 1; i++) {
        int is_end = strcmp(word[i], "--") == 0;

        if (taking == NULL && command->runs_workload && (word[i][0] != '-' || is_end)) {
            fprintf(asked->out, ":command %d\n", i + is_end);
            return;
        }
        argument = word[i];
        if (taking == NULL)
            taking = find_taking(list.row, list.count, word[i], &argument);
        if (taking != NULL && argument != NULL) {
            asked->store = taking->letter == 'i' ? argument : asked->store;
            taking = NULL;
        }
    }
    if (taking == NULL && strncmp(last, "--", 2) == 0 && strchr(last, '=') != NULL) {
        taking = find_taking(list.row, list.count, last, &asked->word);
        asked->before = (int)(asked->word - last);
    }
    if (taking != NULL)
        offer_argument(asked, taking);
    else if (last[0] == '-')
        offer_options(asked, list.row, list.count);
    else if (command->runs_workload)
        fprintf(asked->out, ":command %d\n", count - 1);
    else
        offer_operand(asked, command);
}

void rps_completion_answer(FILE *out, int count, char **word)
{
    const struct rps_command *command = count > 1 ? rps_names_command(word[0]) : NULL;
    struct asked asked = {.out = out, .word = count > 0 ? word[count - 1] : ""};
    int is_begun = 0; /* 1: the word is the only one, and a command's name begins with it */

    for (int i = 0; rps_commands[i] != NULL && count == 1; i++) {
        is_begun |= strncmp(rps_commands[i]->name, word[0], strlen(word[0])) == 0;
        offer(&asked, rps_commands[i]->name, rps_commands[i]->summary);
    }
    if (count > 0 && !is_begun)
        complete(&asked, command != NULL ? command : &rps_command_record, command != NULL, count,
                 word);
}

int rps_completion_print(FILE *out, const char *shell, struct rps_error *err)
{
    static const char shells[] = "bash zsh fish"; /* names of the shells, in the order of the
                                                     embedded scripts */
    int number = rps_options_word(shells, shell);

    if (number < 0)
        return rps_error_set(err, RPS_USAGE,
                             "--completion: '%s' is not supported; choose 'bash', 'zsh' or 'fish'",
                             shell);
    fputs(rps_embedded_completions[number].text, out);
    return 0;
}
