/* Collecting turns a run's periods into signals for the detector and for principal components. The
 * run is read once, as a stream. The result is a matrix, transformed so that noise is equal at all
 * levels.
 *
 * The signals are the plan's metrics and the workload's CPU use (`cpu_use`). If event sets rotate,
 * a metric is known only in the periods of the set that contains the metric's events. A metric over
 * events of several sets is known only once per rotation. If such a metric is not requested by
 * name, it is replaced by the rates of its events per clock tick. The rate of an event per clock
 * tick is known in every period of the event's set.
 *
 * Rates are per second of CPU time. Rates per second of elapsed time would change with the activity
 * of other programs, even if the workload did not change. The weight of a rate is the share of the
 * period in which the workload ran. A rate with a weight below 1 % is unknown. Only the signal
 * cpu_use distinguishes whether the workload sleeps or works. Rates that are requested by name, and
 * rates for principal components, are per elapsed time, as shown to users. Rates per elapsed time
 * are 0 while the workload sleeps. If the workload sleeps nearly all the time, all rates are per
 * elapsed time: other programs hardly affect them, and rates per CPU time would be unknown.
 *
 * Transforms make the noise equal for small and large values, by the counts in a value:
 *   rates    2 / 0.05 asinh(0.05 sqrt(n)): a count of n has a variance of n + (0.05 n)^2. Context
 *            switches and migrations, which other programs cause too, often come in groups of four.
 *            The resolution is 1. If the workload sleeps nearly all the time, it is the size of a
 *            change of the mean count by a tenth, limited to 0.25 ... 1.
 *   ratios   The transform of rates, with the counts of the numerator, and with v in place of 0.05.
 *            v is three times the ratio's drift between ranges of eight periods, limited to
 *            0.03 ... 0.15. For blocks, v is 0.03, because eight blocks may be longer than a phase.
 *            The resolution is 1.
 *   CPU use  log1p(percent / 0.1), also for all shares of elapsed time. Waiting for
 *            a CPU looks like sleeping, because no column separates them, and the CPU time of
 *            other programs drifts. Therefore, the resolution is four times the noise of the
 *            differences between periods, limited to 0.1 ... 0.35. A workload that falls asleep
 *            changes its CPU use by far more than this.
 *
 * A ratio whose denominator is n events has the weight n / (n + 44). If the denominator is usually
 * below ten ("CPU time per call"), the ratio is used only if it is requested by name. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/detect.h"
#include "rpistat/error.h"
#include "rpistat/period.h"

struct rps_plan;

#define RPS_COLLECT_CPU_USE "cpu_use"

struct rps_collect_options {
    const struct rps_plan *plan; /* Plan of the run (borrowed) */
    const char *const *name;     /* Names of signals: metrics, events (per clock tick) or cpu_use */
    size_t name_count;           /* Number of names (0: all signals that vary) */
    int by_rotation;             /* 1: one observation per rotation, with all metrics; 0: one
                                    observation per period, or per block of a coarser level */
    int level;                   /* Level at which the run is read (rpistat/period.h). A level
                                    above 0 needs by_rotation. */
    int as_shown;                /* 1: rates per second of elapsed time, as shown to users */
    int as_table;                /* 1: the run is an imported table */
    int64_t period_ns;           /* Nominal length of a period (0: 100 ms) */
    int64_t least_ns;     /* Minimum length of an observation, as from rps_rotation_least_ns for
                             one period. Shorter periods at the start are added up. 0: none */
    const int32_t *cpu;   /* CPUs whose tracks give separate signals: one signal per metric and
                             CPU */
    int cpu_count;        /* Number of tracks (0 or 1: one track) */
    int sleeps;           /* 1: the workload sleeps nearly all the time; rates are per second of
                             elapsed time */
    int together;         /* 1: collected together with other runs; signals are sorted by name */
    uint64_t first, last; /* Lowest and highest period number over all tracks, needed only for
                             several tracks; with by_rotation, rotation numbers */
};

/* Name and origin of a signal. */
struct rps_collected_signal {
    char name[RPS_NAME_SIZE * 2]; /* Name of the signal, such as "cpi" or "cpi of CPU 2" */
    int metric;                   /* Metric of the plan, or -1 */
    int32_t cpu;                  /* CPU of the track (RPS_CPU_ALL: only one track) */
};

/* One observation of all signals. */
struct rps_collect_row {
    uint64_t first, last;     /* Numbers of the first and last period */
    int64_t start_ns, end_ns; /* Start and end of the observation, since the start of the run */
    uint64_t cycle;           /* Cycle timestamp at the end of the observation */
    double cpu_s;             /* CPU time of the workload in the observation, in s */
    uint64_t merged; /* Number of successive periods or rotations added up (0: none were added) */
};

struct rps_collected {
    struct rps_signals signals; /* Signals that vary, or one signal if none varies (owned) */
    struct rps_collected_signal *signal; /* Identity of each signal (owned) */
    struct rps_collect_row *row;         /* Times and cycles of each observation (owned) */
    uint8_t *wild;          /* 1 for each block in which one rotation differs much from the
                               block's mean, in an event or in CPU use (owned). NULL:
                               observations are not blocks, or signals were chosen by name. */
    int set_count;          /* Number of event sets that rotate */
    int level, by_rotation; /* Options `level` and `by_rotation` that were used */
    int is_table;           /* 1: values are columns of a table, without weights and resolutions */
    double late; /* Share of the periods that became part of longer periods because the recorder
                     woke up late; meaningless for blocks */
};

struct rps_collect;

/* Create a collector in *ret. Return RPS_USAGE if the plan lacks a name; the message lists the
 * plan's names. Return RPS_FAILED if memory runs out, or if first ... last has too many periods. */
int rps_collect_new(struct rps_collect **ret, const struct rps_collect_options *options,
                    struct rps_error *err);
void rps_collect_free(struct rps_collect *collect);

/* Add the next period of track 0 ... cpu_count - 1. Tracks follow one another, each in order. */
int rps_collect_add(struct rps_collect *collect, int track, const struct rps_period *period,
                    struct rps_error *err);

/* Finish adding, and give the result of each collect[i] to the caller in ret[i], for
 * rps_collected_free. Call this function only once. Several runs must have one track each and the
 * option `together`. A result may have no observation. Signal s is the same in all ret[i]. A signal
 * is kept only if all runs have a signal with this name and formula, and if the signal varies in a
 * run or between runs. The data of all runs determine the transforms. */
int rps_collect_end_together(struct rps_collect *const *collect, size_t count,
                             struct rps_collected *ret, struct rps_error *err);

/* Set *ret to the name of source number `at` in `other`. Return 1 if `collect` has no source with
 * that name and formula, 0 if it has one, and -1 if `other` has no source `at`. */
int rps_collect_lacks(const struct rps_collect *collect, const struct rps_collect *other, size_t at,
                      const char **ret);

/* Add a copy of a transformed signal with one value per observation. The signal's noise is set to
 * at least a quarter of its resolution. */
void rps_collected_add_signal(struct rps_collected *collected, const char *name,
                              const double *value, const float *weight, double resolution);

/* Add a table of counts that has as many observations as the signals. The collected signals then
 * own the table. */
void rps_collected_add_table(struct rps_collected *collected, const struct rps_count_table *table);

/* Release the memory that the struct points to, and zero the struct. */
void rps_collected_free(struct rps_collected *collected);
