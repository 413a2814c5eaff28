/* The signals of runs, for the detection of phases and for principal components. */
#ifndef RPISTAT_QUERY_RUN_SIGNALS_H
#define RPISTAT_QUERY_RUN_SIGNALS_H

#include <stddef.h>

#include "rpistat/arena.h"
#include "rpistat/collect.h"
#include "rpistat/run.h"
#include "rpistat/run_phases.h"
#include "rpistat/signal.h"
#include "rpistat/walk.h"

/* One of the runs. */
struct rps_run_member {
    struct rps_reader *reader; /* borrowed */
    struct rps_run run;
    struct rps_plan *plan;
    struct rps_cpu_series cpu_series;
    struct rps_collect *collect;
};

struct rps_run_signals {
    size_t count;
    struct rps_run_member *member;   /* of each run */
    struct rps_collected *collected; /* of each run; signal s means the same in all of them */
    const struct rps_signal_provider *provider; /* of signals besides the counters; NULL: none */
    struct rps_chosen_signals samples;
    int has_sleep; /* 1: a table of sleep reasons follows their tables */
};

/*
 * Collect the signals of the runs. One run has the requested ones. Several have those that all have
 * by name and formula, and functions of samples that matter in any. If one run is so long, or
 * downsampled, that it is read at a level, all are. With as_shown, signals are by rotation, with
 * rates as shown; not for the detector, and without samples. Always release *ret by
 * rps_run_signals_free; its arrays are the arena's. Errors: the store's; RPS_USAGE: unknown metric;
 * no periods; unrecorded CPUs.
 */
int rps_run_signals_collect(struct rps_arena *arena, const struct rps_run_at *run, size_t count,
                            const struct rps_run_phases_options *options, int as_shown,
                            struct rps_run_signals *ret, struct rps_error *err);
void rps_run_signals_free(struct rps_run_signals *signals);

/* --- system metrics as signals of phases, next to the counters. Private to query -------------- */

#define RPS_SLEEP_TABLE "sleep" /* name of the table of reasons */

/*
 * Add the tree's readings to the signals of each run, if all have them. These are threads, memory,
 * bytes read and written, each if it changes by more than its resolution, and a table of counts of
 * sleep reasons. Waiting is left out, since others cause it. Errors: the store's.
 */
int rps_system_series_add(struct rps_run_signals *signals, struct rps_error *err);

#endif
