/* The rows that a run has beside its periods: written when it begins, completed when it ends. */
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
 * Insert run and plan, and a heartbeat, in one transaction. *ret_run_id is the number given to it.
 * Returns an SQLite code; nothing is in the store after a failure.
 */
int rps_write_run_begin(sqlite3 *db, const struct rps_run *run, const struct rps_plan *plan,
                        int64_t *ret_run_id);

/* The part of it that inserts the metrics and their steps, inside the caller's transaction or
 * none. */
int rps_write_run_metrics(sqlite3 *db, int64_t run_id, const struct rps_plan *plan);

/*
 * Complete run `run_id` from what `run` says about its end, and the sums of its sets, in the
 * caller's transaction. Returns an SQLite code.
 */
int rps_write_run_end(sqlite3 *db, int64_t run_id, const struct rps_run *run, int set_count,
                      const struct rps_set_sum *sum);

/* Write the first two readings of each event, from the periods of the run's first two rotations, in
 * the caller's transaction: thinned they are lost, and the intervals of the whole run need them. An
 * SQLite code. */
int rps_write_run_start(sqlite3 *db, int64_t run_id);

/* Write the estimates of the plan's events and metrics, of those that have one, in the caller's
 * transaction. An SQLite code. */
int rps_write_run_estimates(sqlite3 *db, int64_t run_id, const struct rps_plan *plan);

/* The part of rps_write_run_end that writes the sums, inside the caller's transaction. */
int rps_write_run_sums(sqlite3 *db, int64_t run_id, int set_count, const struct rps_set_sum *sum);

#endif
