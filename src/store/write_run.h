/* The rows of a run other than its periods, written at the beginning of the run and completed at
 * its end. */
#pragma once

#include <stdint.h>

#include <sqlite3.h>

#include "rpistat/period.h"
#include "rpistat/run.h"

struct rps_plan;

/* Sums over the periods of one event set. */
struct rps_set_sum {
    uint64_t periods, cycles, enabled_ns, running_ns;
    uint64_t count[RPS_SLOT_MAX];
    uint64_t counted[RPS_SLOT_MAX]; /* number of periods in which the slot was counted */
};

/* Add a period of the set. Bit s of `measured` is set if slot s should have been counted. */
void rps_set_sum_add(struct rps_set_sum *sum, const struct rps_period *period, uint32_t measured);

/* Insert run and plan, and a heartbeat, in one transaction. *ret_run_id is the assigned number.
 * Returns an SQLite code. A failure leaves the store unchanged. */
int rps_write_run_begin(sqlite3 *db, const struct rps_run *run, const struct rps_plan *plan,
                        int64_t *ret_run_id);

/* Insert only the metrics and their steps. The caller may have begun a transaction. */
int rps_write_run_metrics(sqlite3 *db, int64_t run_id, const struct rps_plan *plan);

/* Complete run `run_id` in the caller's transaction: write the values in `run` that are known at
 * the end, and the sums of the event sets. Returns an SQLite code. */
int rps_write_run_end(sqlite3 *db, int64_t run_id, const struct rps_run *run, int set_count,
                      const struct rps_set_sum *sum);

/* Write the first two readings of each event, from the periods of the run's first two rotations, in
 * the caller's transaction. Downsampling deletes these periods, but the intervals of the whole run
 * need the readings. Returns an SQLite code. */
int rps_write_run_start(sqlite3 *db, int64_t run_id);

/* Write all events' and metrics' estimates in the caller's transaction. Returns an SQLite code. */
int rps_write_run_estimates(sqlite3 *db, int64_t run_id, const struct rps_plan *plan);

/* Write the sums as rps_write_run_end does, but not the end, in the caller's transaction. */
int rps_write_run_sums(sqlite3 *db, int64_t run_id, int set_count, const struct rps_set_sum *sum);
