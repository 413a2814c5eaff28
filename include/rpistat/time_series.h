/* A run as labelled time series, as in Prometheus. The series are totals of raw counts since the
 * start of the run. Queries can scale these counts. `push` sends the series. The export format
 * openmetrics writes these series under the same names.
 *
 *   rpistat_events_total{event}                   raw count, also of the clock event (its label)
 *   rpistat_event_running_seconds_total{event}    time in which the event was counted
 *   rpistat_gauge{event}                          for an import's gauge, instead of both: its mean
 *                                                 since the previous sample
 *   rpistat_enabled_seconds_total                 time in which events could have been counted
 *   rpistat_cpu_seconds_total                     enabled time minus idle time of CPUs; left out if
 *                                                 unknown
 *   rpistat_run_info{...}                         1: host, command, label, tags, ...
 *   rpistat_phase{label}                          1 while the run is in the phase, otherwise 0
 *
 * All series have the labels instance (the host) and run (the uuid). All series but the last two
 * have the label cpu (a number, or "all" for a workload's counts). The scaled estimate of an event
 * is events x enabled seconds / running seconds. An event that is in two sets has one series. An
 * event with the clock event's name becomes NAME_event, as in CSV. If an event was not counted in a
 * row, the row adds nothing to its series. An event that was never counted has no series. If the
 * idle time of a row is unknown, rpistat_cpu_seconds_total has no more samples. Tags become labels
 * tag_KEY, with _ for invalid characters.
 *
 * Values are doubles: totals above 2^53 lose their last digits. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/period.h"
#include "rpistat/phase.h"
#include "rpistat/run.h"

#define RPS_TIME_JOB "rpistat"

struct rps_plan;
struct rps_reader;

struct rps_time_label {
    const char *name, *value; /* name and value of a label; the name fits [a-zA-Z_][a-zA-Z0-9_]* */
};

/* A time series. Its address is valid as long as the struct rps_time_totals. */
struct rps_time_series {
    size_t number;      /* number of the series, from 0, in the order of first appearance */
    const char *metric; /* name of the metric, for example "rpistat_events_total" */
    size_t label_count;
    const struct rps_time_label *label; /* labels in ascending order of their names */
};

/* Return METRIC{NAME="VALUE",...}, as in OpenMetrics and PromQL, for free(); NULL if memory runs
 * out. */
char *rps_time_series_text(const struct rps_time_series *series);

/* The receiver of totals. The receiver gets a value of a series with a Unix time in ms. Times of
 * one series ascend. If the result is not 0, the function that called the receiver ends. */
struct rps_time_sink {
    int (*sample)(void *context, const struct rps_time_series *series, int64_t time_ms,
                  double value, struct rps_error *err);
    void *context;
};

struct rps_time_totals;

/* Return 0, or RPS_FAILED if samples have no times because the run's start is unknown. */
int rps_time_check_start(const struct rps_run *run, struct rps_error *err);

/* Begin at the run's start, with totals of 0. In each interval of `every_ns` (at least 10 ms,
 * because times are in ms), each series gets a sample at the first row that ends after the
 * interval. Rows of a block overlap in time, so that samples are made only after all rows of the
 * block were added. run and plan are borrowed. Errors come from rps_time_check_start. */
int rps_time_totals_open(struct rps_time_totals **ret, const struct rps_run *run,
                         const struct rps_plan *plan, int64_t every_ns,
                         const struct rps_time_sink *sink, struct rps_error *err);

/* Add a row (a period or a block), and pass on the samples that are due. Rows of a CPU must be in
 * order of time; CPUs may be in any order. Before the first samples of a CPU, the value 0 is passed
 * on for the start of the CPU's first row. If a series begins later, its value 0 has the time of
 * the CPU's previous samples. If the total of a series has not grown since the series' previous
 * sample, there is no new sample. With is_quiet 1, no samples are passed on, because they were
 * passed on earlier. Errors are those of the sink. */
int rps_time_totals_add(struct rps_time_totals *totals, const struct rps_period *row, int is_quiet,
                        struct rps_error *err);

/* Pass on the remaining totals, as at the end of a run. If there are already samples for the last
 * millisecond, the samples have the time of the next millisecond. */
int rps_time_totals_flush(struct rps_time_totals *totals, struct rps_error *err);

/* Pass on rpistat_run_info at a time of the run. */
int rps_time_totals_info(struct rps_time_totals *totals, int64_t time_ns, struct rps_error *err);

/* Pass on the phases of a level once; `phases` must have start_ns and end_ns. The value is 1 at the
 * start of each phase. The value is 0 at a phase's end, unless the next phase has the same label.
 */
int rps_time_totals_phases(struct rps_time_totals *totals, const struct rps_phases *phases,
                           struct rps_error *err);

/* Pass on once, as series, for what threads of the run waited in [from_ns, to_ns). If there are no
 * readings, there are no series. Errors come from the store and the sink. */
int rps_time_totals_waiting(struct rps_time_totals *totals, struct rps_reader *reader,
                            int64_t from_ns, int64_t to_ns, struct rps_error *err);

/* Free the totals, which may be NULL. */
void rps_time_totals_close(struct rps_time_totals *totals);
