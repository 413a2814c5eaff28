/* Names that users of other tools try. The names of rpistat's commands and of programs have
 * priority. An explanation is printed only for a word that is neither a command nor a program. */

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "rpistat/text.h"

/* Words of other tools, and their equivalents in rpistat. */
static const struct {
    const char *meant, *words;
} habits[] = {
    {"runs", " list history "},
    {"record", " stat run trace attach profile "},
    {"report", " show print summary stats "},
    {"plot", " graph chart draw picture view "},
    {"export", " csv dump script convert "},
    {"push", " send upload remote-write "},
    {"watch", " top live follow monitor "},
    {"check", " fsck repair validate "},
    {"verify", " test "},
    {"status", " ps who daemon "},
    {"stop", " kill end quit "},
    {"events", " counters sets "},
    {"phases", " segments "},
    {"compare", " diff cmp versus "},
    {"--version", " version -V "},
    {"--period", " -I --interval --interval-print "},
    {"--duration", " --timeout --time "},
    {"--label", " --name "},
    {"--input", " --file --store --input -i "},
    {"--format", " --csv --json --wide "},
    {"--cpu", " --cpus "},
};

const struct rps_command *const *rps_commands;

const struct rps_command *rps_names_command(const char *name)
{
    for (int i = 0; rps_commands[i]; i++) {
        if (strcmp(rps_commands[i]->name, name) == 0)
            return rps_commands[i];
    }
    return NULL;
}

const char *rps_names_habit(const char *word)
{
    char alone[64];

    snprintf(alone, sizeof(alone), " %.60s ", word);
    for (size_t i = 0; i < RPS_COUNT(habits); i++) {
        if (strstr(habits[i].words, alone))
            return habits[i].meant;
    }
    return NULL;
}

char *rps_names_question(const char *word, char *ret, unsigned size)
{
    const char *habit = rps_names_habit(word);
    struct rps_suggestion suggestion = {.typed = habit ? habit : word};

    for (int i = 0; rps_commands[i]; i++)
        rps_suggestion_consider(&suggestion, rps_commands[i]->name);
    rps_suggestion_consider(&suggestion, "help");
    rps_suggestion_consider(&suggestion, "--version");
    return rps_suggestion_question(&suggestion, ret, size);
}

int rps_names_not_found(const char *word, struct rps_error *err)
{
    char question[256];

    if (rps_names_command(word)) /* the command comes too late, as in `rpistat -q report` */
        return rps_error_set(err, RPS_CANNOT_FIND,
                             "%s: command not found in PATH; to use the command of rpistat, write "
                             "it first, as in `rpistat %s ...`",
                             word, word);
    if (faccessat(AT_FDCWD, word, X_OK, AT_EACCESS) == 0)
        snprintf(question, sizeof(question), "did you mean ./%.200s? ", word);
    else
        rps_names_question(word, question, sizeof(question));
    return rps_error_set(err, RPS_CANNOT_FIND,
                         "%s: command not found in PATH, nor among rpistat's commands; %s`rpistat "
                         "help` lists the commands",
                         word, question);
}
