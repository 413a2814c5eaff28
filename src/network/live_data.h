/* The live page of a run, and the data that a browser requests repeatedly for the page. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "rpistat/error.h"
#include "rpistat/run.h"

struct rps_reader;

/* Write the page without any data. The page's script plot/live.js requests the data. RPS_FAILED if
 * a part of the page cannot be read. */
int rps_live_write_live(FILE *out, const char *script_folder, struct rps_error *err);

/* How far a run can be drawn. end_ns: end of the last whole rotation or of the run; 0: none. */
struct rps_live_end {
    enum rps_run_state state;
    int64_t end_ns;
};

int rps_live_find_end(struct rps_reader *reader, int64_t run_id, struct rps_live_end *ret,
                      struct rps_error *err);

/* Write all data of the page, with phases, up to `end` as JSON: {"after", "recording", "page"}. The
 * time for this call grows with the length of the run, because phases are detected. The data of a
 * running recording contain no code, because symbols are not found yet. RPS_FAILED: an error of the
 * store, or no memory; then discard the output. */
int rps_live_write_data(FILE *out, struct rps_reader *reader, int64_t run_id,
                        const struct rps_live_end *end, struct rps_error *err);

/* Write the data from after_ns (an "after" of earlier data or rows) to `end`: {"after",
 * "recording", "data", "rows"}, where "data" is the argument `data`. The bins are about as wide as
 * the bins of rps_live_write_data. Each period is in exactly one of several successive rows. Errors
 * are those of rps_live_write_data. */
int rps_live_write_rows(FILE *out, struct rps_reader *reader, int64_t run_id, int64_t after_ns,
                        const struct rps_live_end *end, int64_t data, struct rps_error *err);
