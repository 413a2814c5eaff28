/* Totals of a run's finest rows, for check and repair: the sums of its sets, and the blocks that a
 * recorder would have made. */
#ifndef RPISTAT_STORE_SUMS_H
#define RPISTAT_STORE_SUMS_H

#include <stdint.h>

#include "reader.h"
#include "rollup.h"
#include "write_run.h"

struct rps_run_sums {
    int set_count;           /* rows of event_set */
    uint64_t periods;        /* that the rows represent, of all CPUs together */
    uint64_t most;           /* ... of the CPU with the most: the run's measurement periods */
    int64_t end_ns;          /* of the last one, -1 none */
    uint64_t last_period;    /* the highest number */
    struct rps_set_sum *sum; /* owned; by set, free() */
};

/* Read a run with valid rows (questions.h), and pass its blocks to the sink. Returns 0 or
 * RPS_FAILED; free *ret in any case. */
int rps_run_sums(struct rps_reader *reader, int64_t run_id, const struct rps_rollup_sink *sink,
                 struct rps_run_sums *ret, struct rps_error *err);

#endif
