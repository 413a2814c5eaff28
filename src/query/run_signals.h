/* The signals of runs, for the detection of phases and for principal components. */
#pragma once

#include <stddef.h>

#include "rpistat/collect.h"
#include "rpistat/run.h"
#include "rpistat/run_phases.h"
#include "rpistat/signal.h"
#include "rpistat/walk.h"

/* One of the runs whose signals are collected. */
struct rps_run_member {
    struct rps_reader *reader; /* Borrowed reader of the run. */
    struct rps_run run;
    struct rps_plan *plan;
    struct rps_cpu_series cpu_series;
    struct rps_collect *collect;
};

struct rps_run_signals {
    size_t count;
    struct rps_run_member *member;   /* One member per run. */
    struct rps_collected *collected; /* Signals of each run; signal s means the same in all runs. */
    const struct rps_signal_provider *provider; /* Provider of signals other than counters; NULL:
                                                   none. */
    struct rps_chosen_signals samples;
    int has_sleep; /* 1 if a table of sleep reasons is the last table. */
};

/* Collect the signals of the runs. One run has the requested signals. Several runs have the signals
 * that all runs have by name and formula, and functions of samples that matter in any run. If a run
 * must be read at a level, because it is long or downsampled, all runs are read at that level. If
 * as_shown is 1, signals have one value per rotation, and rates are computed as in the output. Such
 * signals are not for the detector, and do not include samples. Always release *ret by
 * rps_run_signals_free; its arrays belong to the arena. Errors are those of the store, or
 * RPS_USAGE: unknown metric, no periods, or unrecorded CPUs. */
int rps_run_signals_collect(struct rps_arena *arena, const struct rps_run_at *run, size_t count,
                            const struct rps_run_phases_options *options, int as_shown,
                            struct rps_run_signals *ret, struct rps_error *err);
void rps_run_signals_free(struct rps_run_signals *signals);

/* --- system metrics as signals of phases, next to the counters. Private to query -------------- */

#define RPS_SLEEP_TABLE "sleep" /* Name of the table of sleep reasons. */

/* Add the readings of the process tree to the signals of each run, if all runs have readings. The
 * signals are threads, memory, bytes read and bytes written, if they change by more than their
 * resolution. A table of counts has the sleep reasons. Waiting for CPUs is left out, since other
 * processes cause it. Errors are those of reading the store. */
int rps_system_series_add(struct rps_run_signals *signals, struct rps_error *err);
