/* `record --repeat`: several runs in a row. */
#ifndef RPISTAT_CLI_RECORD_SERIES_H
#define RPISTAT_CLI_RECORD_SERIES_H

#include "cli.h"

/*
 * Record as often as the settings say, one run after the other, until one fails or a signal comes.
 * Returns the exit status, that of the last run, or of the signal where that is 0; negative with
 * cli->err. Returns in each run's own process too, as rps_record_once does.
 */
int rps_record_series(struct rps_cli *cli, int argc, char **argv);

#endif
