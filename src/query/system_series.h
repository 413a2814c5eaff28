/* System signals as signals of phases, beside the counters. Private to query. */
#ifndef RPISTAT_QUERY_SYSTEM_SERIES_H
#define RPISTAT_QUERY_SYSTEM_SERIES_H

#include "run_signals.h"

#define RPS_SLEEP_TABLE "sleep" /* what the table of reasons is called */

/*
 * Add what the tree's readings say to what was collected of each run, where all have them: threads,
 * memory, bytes read and written, each where it moves by more than its resolution; and what threads
 * sleep for, as a table of counts. Waiting is others' doing: it is left out. Errors: the store's.
 */
int rps_system_series_add(struct rps_run_signals *signals, struct rps_error *err);

#endif
