/*
 * The page of a run for a browser that asks for its data again and again, and these data.
 */
#ifndef RPISTAT_EXCHANGE_LIVE_DATA_H
#define RPISTAT_EXCHANGE_LIVE_DATA_H

#include <stdint.h>
#include <stdio.h>

#include "rpistat/error.h"
#include "rpistat/run.h"

struct rps_reader;

/* The page, with nothing of a run in it: its script plot/live.js asks for that. RPS_FAILED when a
 * part of it cannot be read. */
int rps_live_write_live(FILE *out, const char *script_folder, struct rps_error *err);

/* Up to where a run can be drawn: the state it is in, and the end of its last whole rotation, or of
 * the run; 0 when there is none yet. */
struct rps_live_end {
    enum rps_run_state state;
    int64_t end_ns;
};

int rps_live_find_end(struct rps_reader *reader, int64_t run_id, struct rps_live_end *ret,
                      struct rps_error *err);

/*
 * All data of the page up to there, with phases, as JSON: {"after", "recording", "page"}. The time
 * this takes grows with the run, since phases are looked for. Code is left out as long as a run is
 * recorded: it has no names yet. RPS_FAILED: the store's errors, no memory; what was written then
 * is to be thrown away.
 */
int rps_live_write_data(FILE *out, struct rps_reader *reader, int64_t run_id,
                        const struct rps_live_end *end, struct rps_error *err);

/*
 * What comes after after_ns (an "after" of data or rows before), up to there, in bins about as wide
 * as those of all data would be: {"after", "recording", "data", "rows"}, with "data" as given.
 * Rows that follow one another hold each period once. Errors: as above.
 */
int rps_live_write_rows(FILE *out, struct rps_reader *reader, int64_t run_id, int64_t after_ns,
                        const struct rps_live_end *end, int64_t data, struct rps_error *err);

#endif
