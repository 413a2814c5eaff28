/* Completion of the command line by shells. */
#ifndef RPISTAT_CLI_COMPLETION_H
#define RPISTAT_CLI_COMPLETION_H

#include "cli.h"

/*
 * Print what the last of the words behind `rpistat` may become, a line each: the whole word, and
 * behind a tab what it means. Lines that begin with a colon ask the shell to complete the word:
 * ":file", ":folder", or ":command N": the words from N on (from 0) are another program's line.
 */
void rps_completion_answer(FILE *out, int count, char **word);

/* Print the script for bash, zsh or fish; RPS_USAGE for another shell. */
int rps_completion_print(FILE *out, const char *shell, struct rps_error *err);

#endif
