/*
 * A run as labelled time series, like those of Prometheus: running totals of raw counts from the
 * run's start, so that queries do the scaling. `push` sends them and the format openmetrics writes
 * them, so that both have the same names.
 *
 *   rpistat_events_total{event}                   raw count; the clock event too, by its label
 *   rpistat_event_running_seconds_total{event}    of that, the time in which it was counted
 *   rpistat_gauge{event}                          instead of both, for an import's gauge: its mean
 *                                                 since the previous sample
 *   rpistat_enabled_seconds_total                 time in which it could have been counted
 *   rpistat_cpu_seconds_total                     enabled time minus idle time of CPUs; left out if
 *                                                 unknown
 *   rpistat_run_info{...}                         1: host, command, label, tags, ...
 *   rpistat_phase{label}                          1 while the run is in the phase, otherwise 0
 *
 * All have the labels instance (the host), run (its uuid) and, except the last two, cpu (a number,
 * or "all" for a workload's counts). The scaled estimate of an event is
 * events x enabled seconds / running seconds. An event in two sets is one series; one with the
 * clock event's name becomes NAME_event, as in CSV. A row adds nothing to an event that was not
 * counted in it, and an event that was never counted has no series. If the idle time of a row is
 * unknown, rpistat_cpu_seconds_total ends. Tags are tag_KEY, with _ for invalid characters.
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

/* One series; its address is valid as long as its totals. */
struct rps_time_series {
    size_t number;      /* in the order of first appearance, from 0 */
    const char *metric; /* "rpistat_events_total" */
    size_t label_count;
    const struct rps_time_label *label; /* by name, ascending */
};

/* Return METRIC{NAME="VALUE",...}, as in OpenMetrics and PromQL; for free(). NULL: no memory. */
char *rps_time_series_text(const struct rps_time_series *series);

/* The destination of the totals: a value of a series at a time, Unix time in ms. The times of a
 * series ascend. A result other than 0 ends the call. */
struct rps_time_sink {
    int (*sample)(void *context, const struct rps_time_series *series, int64_t time_ms,
                  double value, struct rps_error *err);
    void *context;
};

struct rps_time_totals;

/* Return 0, or RPS_FAILED for a run with unknown start: its samples have no times. */
int rps_time_check_start(const struct rps_run *run, struct rps_error *err);

/* Begin at the run's start, with totals of 0. A sample of each series comes with the first row that
 * ends after each `every_ns`, at least 10 ms, since times are in ms. Blocks, whose rows overlap,
 * give samples when complete. run and plan are borrowed. Errors: that of rps_time_check_start. */
int rps_time_totals_open(struct rps_time_totals **ret, const struct rps_run *run,
                         const struct rps_plan *plan, int64_t every_ns,
                         const struct rps_time_sink *sink, struct rps_error *err);

/*
 * Add a row, a period or a block, and pass on the samples that are due. Rows of one CPU come in
 * order of time, and CPUs in any order. A CPU's first sample follows zeros at its first row's
 * start. A series that begins later has its zero at the time of the CPU's last samples before it.
 * Series without additions since their last sample have none. is_quiet: nothing is passed on (it
 * was, earlier). Errors: the sink's.
 */
int rps_time_totals_add(struct rps_time_totals *totals, const struct rps_period *row, int is_quiet,
                        struct rps_error *err);

/* Pass on the remaining totals, as at a run's end: if their millisecond has samples already, in the
 * next. */
int rps_time_totals_flush(struct rps_time_totals *totals, struct rps_error *err);

/* Pass on rpistat_run_info at a time of the run. */
int rps_time_totals_info(struct rps_time_totals *totals, int64_t time_ns, struct rps_error *err);

/* Pass on the phases of a level (`phases` has start_ns and end_ns), once. The value is 1 at the
 * start of each, 0 at its end unless the next has the same label. */
int rps_time_totals_phases(struct rps_time_totals *totals, const struct rps_phases *phases,
                           struct rps_error *err);

/* Free the totals. NULL is harmless. */
void rps_time_totals_close(struct rps_time_totals *totals);

#endif
