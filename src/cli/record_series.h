/* `record --repeat`: several runs in a row, also of two commands in turn. */
#ifndef RPISTAT_CLI_RECORD_SERIES_H
#define RPISTAT_CLI_RECORD_SERIES_H

#include "cli.h"

/* A command, and its runs. */
struct rps_series_side {
    int argc; /* 0: a simulation */
    char **argv;
    char label[RPS_RUN_TEXT_SIZE]; /* of its runs; "" */
    size_t count;
    int64_t *run_id; /* owned by the series; of those that were recorded */
};

/*
 * Record as often as the settings say, one run after the other, until one fails or a signal comes.
 * Returns the exit status, that of the last run, or of the signal where that is 0; negative with
 * cli->err. Returns in each run's own process too, as rps_record_once does.
 */
int rps_record_series(struct rps_cli *cli);

/*
 * Say at the end on standard error which runs these are, of each side how long they took and how
 * much they vary, which are odd, what others took of the CPUs meanwhile, and, of a whole series,
 * how they are compared. A store that cannot be read has nothing to say.
 */
void rps_series_summary(struct rps_cli *cli, const struct rps_series_side *side, size_t count,
                        int is_whole);

#endif
