/* The rows of a run other than its periods: written at its beginning, completed at its end. */
#ifndef RPISTAT_STORE_WRITE_RUN_H
#define RPISTAT_STORE_WRITE_RUN_H

#include <stdint.h>

#include <sqlite3.h>

#include "rpistat/period.h"
#include "rpistat/run.h"

struct rps_plan;

/* Sums over the periods of one event set. */
struct rps_set_sum {
    uint64_t periods, cycles, enabled_ns, running_ns;
    uint64_t count[RPS_SLOT_MAX];
    uint64_t counted[RPS_SLOT_MAX]; /* periods in which the slot was counted */
};

/* Add a period of the set; bit s of `measured` is set when slot s was to be counted. */
void rps_set_sum_add(struct rps_set_sum *sum, const struct rps_period *period, uint32_t measured);

/*
 * Insert run and plan, and a heartbeat, in one transaction. *ret_run_id: the assigned number.
 * Returns an SQLite code; after a failure the store is unchanged.
 */
int rps_write_run_begin(sqlite3 *db, const struct rps_run *run, const struct rps_plan *plan,
                        int64_t *ret_run_id);

/* Insert only the metrics and their steps, with or without a transaction of the caller. */
int rps_write_run_metrics(sqlite3 *db, int64_t run_id, const struct rps_plan *plan);

/*
 * Complete run `run_id` with the end in `run` and the sums of its sets, in the caller's
 * transaction. Returns an SQLite code.
 */
int rps_write_run_end(sqlite3 *db, int64_t run_id, const struct rps_run *run, int set_count,
                      const struct rps_set_sum *sum);

/* Write the first two readings of each event, from the periods of the run's first two rotations, in
 * the caller's transaction. Downsampling deletes them, and the intervals of the whole run need
 * them. Returns an SQLite code. */
int rps_write_run_start(sqlite3 *db, int64_t run_id);

/* Write the estimates of the plan's events and metrics, if they have one, in the caller's
 * transaction. Returns an SQLite code. */
int rps_write_run_estimates(sqlite3 *db, int64_t run_id, const struct rps_plan *plan);

/* Write only the sums of rps_write_run_end, in the caller's transaction. */
int rps_write_run_sums(sqlite3 *db, int64_t run_id, int set_count, const struct rps_set_sum *sum);

#endif
