/* The option --cpu of the reading commands. */
#ifndef RPISTAT_CLI_CPUS_H
#define RPISTAT_CLI_CPUS_H

#include "rpistat/cpus.h"
#include "rpistat/error.h"

/*
 * Parse "each", "sum", a list of CPUs as in "0-3,8", or both as in "sum,0-3". *ret_list is a new
 * array for free(), and ret->cpu points to it; NULL without a list. RPS_USAGE quotes the text.
 */
int rps_cpus_parse(const char *text, struct rps_cpus *ret, int **ret_list, struct rps_error *err);

struct rps_cli;

/* The same for the run of a reading command, whose arena has the list. "each" of a run that was not
 * recorded by CPU shows it as a whole, and cli->note says so. text NULL: *ret stays. */
int rps_cpus_choose(struct rps_cli *cli, const char *text, struct rps_cpus *ret);

/* The same, to see whether it is right; of an option. */
int rps_cpus_check(const char *option, const char *text, struct rps_error *err);

#endif
