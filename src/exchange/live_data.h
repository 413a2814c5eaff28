/*
 * The page of a run for a browser that requests its data repeatedly, and these data.
 */
#ifndef RPISTAT_EXCHANGE_LIVE_DATA_H
#define RPISTAT_EXCHANGE_LIVE_DATA_H

#include <stdint.h>
#include <stdio.h>

#include "rpistat/error.h"
#include "rpistat/run.h"

struct rps_reader;

/* Write the page without any data: its script plot/live.js requests them. RPS_FAILED if a part of
 * it cannot be read. */
int rps_live_write_live(FILE *out, const char *script_folder, struct rps_error *err);

/* The end of the part that can be drawn. It has the run's state, and the end of its last whole
 * rotation or of the run, 0 if none. */
struct rps_live_end {
    enum rps_run_state state;
    int64_t end_ns;
};

int rps_live_find_end(struct rps_reader *reader, int64_t run_id, struct rps_live_end *ret,
                      struct rps_error *err);

/*
 * Write all data of the page up to that end, with phases, as JSON: {"after", "recording", "page"}.
 * The time grows with the run, since phases are detected. A running recording has no code: symbols
 * are not found yet. RPS_FAILED: the store's errors, no memory; then discard the output.
 */
int rps_live_write_data(FILE *out, struct rps_reader *reader, int64_t run_id,
                        const struct rps_live_end *end, struct rps_error *err);

/*
 * Write the data from after_ns (an "after" of earlier data or rows) to that end: {"after",
 * "recording", "data", "rows"}, with "data" as given. The bins are about as wide as those of all
 * data. Successive rows contain each period once. Errors: as above.
 */
int rps_live_write_rows(FILE *out, struct rps_reader *reader, int64_t run_id, int64_t after_ns,
                        const struct rps_live_end *end, int64_t data, struct rps_error *err);

#endif
