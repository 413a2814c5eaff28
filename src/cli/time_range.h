/* The time range of a run that --from and --to select. */
#ifndef RPISTAT_CLI_TIME_RANGE_H
#define RPISTAT_CLI_TIME_RANGE_H

#include "cli.h"

/* Parse the argument of --from or --to. A time is put into *ret_ns. A phase ("phase:B",
 * "phase:B.2"), an iteration ("turn:12", "turn:3.2"), a mark ("mark:warm", "mark:warm.2") or a
 * moment (rpistat/wall.h) is checked and put into *ret_phase. RPS_USAGE for any other text. */
int rps_time_range_parse(const char *option, const char *text, int64_t *ret_ns,
                         const char **ret_phase, struct rps_error *err);

/* Parse a moment: a duration back from now ("2d"), a date, or a text for rps_moment_parse. A time
 * of day is the last one. RPS_USAGE for any other text. *ret is an int64_t: options set it. */
int rps_time_ago_parse(const char *option, const char *text, void *ret_realtime_ns,
                       struct rps_error *err);

/* Return RPS_USAGE if --from is not before --to. */
int rps_time_range_check(struct rps_cli *cli);

/* Convert cli->from_phase and cli->to_phase to times; the run is known. RPS_FAILED for a phase or a
 * mark that it does not have, or a moment outside it. */
int rps_time_range_resolve(struct rps_cli *cli);

#endif
