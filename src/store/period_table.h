/*
 * The table `period` as a writer fills it: rows short, pages full. See period_table.c.
 */
#ifndef RPISTAT_STORE_PERIOD_TABLE_H
#define RPISTAT_STORE_PERIOD_TABLE_H

#include <stdint.h>

#include <sqlite3.h>

#include "rpistat/period.h"

struct rps_period_table;

/*
 * Prepare for periods of sets with at most `slots` events (1 ... RPS_SLOT_MAX). Returns an SQLite
 * code. db must outlive the table, and may not be in a transaction.
 */
int rps_period_table_open(sqlite3 *db, int slots, struct rps_period_table **ret);
void rps_period_table_close(struct rps_period_table *table);

/*
 * Insert a period into the open transaction: bit s of `measured` clear, or slot s not counted,
 * gives NULL. Returns an SQLite code.
 */
int rps_period_table_insert(struct rps_period_table *table, int64_t run_id,
                            const struct rps_period *period, uint32_t measured);

/*
 * Pack the pages of the run's periods of one CPU, from the period (cycle, period) on, in a
 * transaction of its own. What they hold does not change. Returns an SQLite code; on failure
 * nothing has happened.
 */
int rps_period_table_settle(struct rps_period_table *table, int64_t run_id, int32_t cpu,
                            uint64_t cycle, uint64_t period);

/* 1 when rows are written without the columns behind the widest set. */
int rps_period_table_is_narrow(const struct rps_period_table *table);

#endif
