/* The option --cpu of the reading commands. */
#ifndef RPISTAT_CLI_CPUS_H
#define RPISTAT_CLI_CPUS_H

#include "rpistat/cpus.h"
#include "rpistat/error.h"

/*
 * Parse "each", "sum", a list of CPUs such as "0-3,8", or both such as "sum,0-3". *ret_list is a
 * new array for free(), and ret->cpu points to it; NULL without a list. RPS_USAGE quotes the text.
 */
int rps_cpus_parse(const char *text, struct rps_cpus *ret, int **ret_list, struct rps_error *err);

struct rps_cli;

/* Do the same for the run of a reading command; its arena has the list. A run not recorded by CPU
 * is shown as a whole for "each", with a note in cli->note. text NULL: *ret stays. */
int rps_cpus_choose(struct rps_cli *cli, const char *text, struct rps_cpus *ret);

/* Check the argument of an option in the same way. */
int rps_cpus_check(const char *option, const char *text, struct rps_error *err);

#endif
