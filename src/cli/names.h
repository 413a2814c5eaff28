/* Names that people try, and what they mean by them. */
#ifndef RPISTAT_CLI_NAMES_H
#define RPISTAT_CLI_NAMES_H

#include "rpistat/error.h"

struct rps_command;

/* The command of this name, or NULL. */
const struct rps_command *rps_names_command(const char *name);

/* What rpistat calls that which other tools call `word`, a command ("list": "runs") or an option
 * ("-I": "--period"); NULL when it is not known as one of theirs. */
const char *rps_names_habit(const char *word);

/* The command nearest to `word`, as the question "did you mean plot? ", or "". Returns ret. */
char *rps_names_question(const char *word, char *ret, unsigned size);

/* The error of `rpistat WORD` where neither a program nor a command has that name: says what may be
 * meant. Returns RPS_CANNOT_FIND. */
int rps_names_not_found(const char *word, struct rps_error *err);

#endif
