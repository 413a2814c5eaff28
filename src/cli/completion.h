/* Completion of the command line by shells. */
#ifndef RPISTAT_CLI_COMPLETION_H
#define RPISTAT_CLI_COMPLETION_H

#include "cli.h"

/*
 * Print the completions of the last word after `rpistat`, one per line: the whole word, and after a
 * tab its meaning. A line with a colon makes the shell complete the word: ":file", ":folder", or
 * ":command N". In the last one, the words from N on (from 0) are another program's line.
 */
void rps_completion_answer(FILE *out, int count, char **word);

/* Print the script for bash, zsh or fish; RPS_USAGE for another shell. */
int rps_completion_print(FILE *out, const char *shell, struct rps_error *err);

#endif
