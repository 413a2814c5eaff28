/* The run that is meant where none is named: what follows a recording takes one that goes on. */
#ifndef RPISTAT_CLI_RUN_CHOICE_H
#define RPISTAT_CLI_RUN_CHOICE_H

#include "cli.h"

/* The run of -r, else the newest that is being recorded, else the newest. RPS_FAILED, with
 * cli->err, when there is none. */
int rps_run_choice(struct rps_cli *cli, int64_t *ret_run_id);

#endif
