/* The signals of runs: what a detection of phases, and principal components, look at. */
#ifndef RPISTAT_QUERY_RUN_SIGNALS_H
#define RPISTAT_QUERY_RUN_SIGNALS_H

#include <stddef.h>

#include "rpistat/arena.h"
#include "rpistat/collect.h"
#include "rpistat/run.h"
#include "rpistat/run_phases.h"
#include "rpistat/signal.h"
#include "rpistat/walk.h"

/* A run that takes part. */
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
    const struct rps_signal_provider *provider; /* of signals beside the counters; NULL: none */
    struct rps_chosen_signals samples;
    int has_sleep; /* 1: behind their tables is one of what threads sleep for */
};

/*
 * Collect the signals of the runs: of one those that were asked for, of several those that all have
 * by name and formula, and functions of samples that matter in any. Where one is so long, or
 * thinned, that it is read at a level, all are. as_shown: by rotation, and rates as they are shown;
 * not for the detector, and without samples. *ret, whose arrays are the arena's, is for
 * rps_run_signals_free in any case. Errors: the store's; RPS_USAGE for an unknown metric; a run
 * without periods; CPUs that were not recorded.
 */
int rps_run_signals_collect(struct rps_arena *arena, const struct rps_run_at *run, size_t count,
                            const struct rps_run_phases_options *options, int as_shown,
                            struct rps_run_signals *ret, struct rps_error *err);
void rps_run_signals_free(struct rps_run_signals *signals);

/* --- system signals as signals of phases, beside the counters. Private to query --------------- */

#define RPS_SLEEP_TABLE "sleep" /* what the table of reasons is called */

/*
 * Add what the tree's readings say to what was collected of each run, where all have them: threads,
 * memory, bytes read and written, each where it moves by more than its resolution; and what threads
 * sleep for, as a table of counts. Waiting is others' doing: it is left out. Errors: the store's.
 */
int rps_system_series_add(struct rps_run_signals *signals, struct rps_error *err);

#endif
