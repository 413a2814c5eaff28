/*
 * A run as time series with labels, as Prometheus and its relatives keep them: running totals from
 * the run's start, of raw counts, so that scaling is done where they are asked for. `push` sends
 * them and the format openmetrics writes them, so that both have the same names.
 *
 *   rpistat_events_total{event}                   raw count; the clock event too, by its label
 *   rpistat_event_running_seconds_total{event}    of that, the time in which it was counted
 *   rpistat_gauge{event}                          in place of both, of an import's gauge: its mean
 *                                                 since the sample before
 *   rpistat_enabled_seconds_total                 time in which it could have been counted
 *   rpistat_cpu_seconds_total                     enabled time less the idle time of CPUs; left out
 *                                                 where that is not known
 *   rpistat_run_info{...}                         1: host, command, label, tags, ...
 *   rpistat_phase{label}                          1 while the run is in the phase, else 0
 *
 * All have the labels instance (the host), run (its uuid) and, but for the last two, cpu (a number,
 * or "all" for a workload's counts). The scaled estimate of an event is
 * events x enabled seconds / running seconds. An event that is in two sets is one series; one that
 * has the clock event's name becomes NAME_event, as in CSV. An event that was not counted in a row
 * gets nothing from it, and one that never was has no series. Where the idle time of a row is not
 * known, rpistat_cpu_seconds_total ends. Tags are tag_KEY, with _ for what no name may have.
 *
 * Values are doubles: totals above 2^53 lose their last digits.
 */
#ifndef RPISTAT_TIME_SERIES_H
#define RPISTAT_TIME_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/period.h"
#include "rpistat/phase.h"
#include "rpistat/run.h"

struct rps_plan;

struct rps_time_label {
    const char *name, *value; /* the name fits [a-zA-Z_][a-zA-Z0-9_]* */
};

/* One series; it stays where it is as long as its totals do. */
struct rps_time_series {
    size_t number;      /* in the order in which they were first seen, from 0 */
    const char *metric; /* "rpistat_events_total" */
    size_t label_count;
    const struct rps_time_label *label; /* by name, ascending */
};

/* METRIC{NAME="VALUE",...}, as OpenMetrics and PromQL have it; for free(). NULL without memory. */
char *rps_time_series_text(const struct rps_time_series *series);

/* What the totals are written into: a value of a series at a time, Unix time in ms. The times of a
 * series ascend. Returned through when it is not 0. */
struct rps_time_sink {
    int (*sample)(void *context, const struct rps_time_series *series, int64_t time_ms,
                  double value, struct rps_error *err);
    void *context;
};

struct rps_time_totals;

/* 0; RPS_FAILED for a run of which it is not known when it began: its samples have no times. */
int rps_time_check_start(const struct rps_run *run, struct rps_error *err);

/* Begin at the run's start, with totals of 0. A sample of each series comes with the first row that
 * ends past each `every_ns`, which is at least 10 ms, since times are in ms; of blocks, whose rows
 * overlap, when a block is whole. run and plan are borrowed. Errors: that of rps_time_check_start.
 */
int rps_time_totals_open(struct rps_time_totals **ret, const struct rps_run *run,
                         const struct rps_plan *plan, int64_t every_ns,
                         const struct rps_time_sink *sink, struct rps_error *err);

/*
 * Add a row, a period or a block, and hand over the samples that are due. Rows of one CPU come in
 * order of time, and CPUs in any order. Before the first sample of a CPU come zeros at its first
 * row's start; of a series that begins later, at the time of the CPU's last samples before it.
 * Series that nothing was added to since their last sample have none. is_quiet: nothing is handed
 * over (it was, earlier). Errors: the sink's.
 */
int rps_time_totals_add(struct rps_time_totals *totals, const struct rps_period *row, int is_quiet,
                        struct rps_error *err);

/* The totals so far that were not handed over, as at a run's end: where their millisecond has
 * samples already, in the next. */
int rps_time_totals_flush(struct rps_time_totals *totals, struct rps_error *err);

/* rpistat_run_info at a time of the run. */
int rps_time_totals_info(struct rps_time_totals *totals, int64_t time_ns, struct rps_error *err);

/* The phases of a level (`phases` has start_ns and end_ns): 1 at the start of each, 0 at its end
 * unless the next has the same label. Once. */
int rps_time_totals_phases(struct rps_time_totals *totals, const struct rps_phases *phases,
                           struct rps_error *err);

/* NULL is harmless. */
void rps_time_totals_close(struct rps_time_totals *totals);

#endif
