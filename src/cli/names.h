/* Names that users try, and their meaning. */
#ifndef RPISTAT_CLI_NAMES_H
#define RPISTAT_CLI_NAMES_H

#include "rpistat/error.h"

struct rps_command;

/* Return the command of this name, or NULL. */
const struct rps_command *rps_names_command(const char *name);

/* Return rpistat's name for a `word` of other tools: a command ("list": "runs") or an option ("-I":
 * "--period"); NULL: unknown. */
const char *rps_names_habit(const char *word);

/* Return the command nearest to `word`, as the question "did you mean plot? ", or "", in ret. */
char *rps_names_question(const char *word, char *ret, unsigned size);

/* Set the error of `rpistat WORD` if WORD is neither a program nor a command, with a suggestion.
 * Returns RPS_CANNOT_FIND. */
int rps_names_not_found(const char *word, struct rps_error *err);

#endif
