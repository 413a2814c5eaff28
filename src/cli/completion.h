/* Scripts with which shells complete the command line. */
#ifndef RPISTAT_CLI_COMPLETION_H
#define RPISTAT_CLI_COMPLETION_H

#include "cli.h"

/* Print the script for bash, zsh or fish; RPS_USAGE for another shell. */
int rps_completion_print(FILE *out, const char *shell, struct rps_error *err);

#endif
