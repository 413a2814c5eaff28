/*
 * Collecting: turn a run's periods into signals for the detector and for principal components. The
 * run is read once, as a stream. The result is a matrix, transformed so that noise is the same at
 * all levels.
 *
 * The signals are the plan's metrics and the workload's CPU use (`cpu_use`). If event sets rotate,
 * a metric is seen in the periods of the set that has its events. A metric over events of several
 * sets is seen only once per rotation. Unless it is requested by name, the rates of its events per
 * clock tick replace it; they are seen in every period of their sets.
 *
 * Rates are per second of CPU time. Other programs change how much is counted per second, but not
 * what the workload does. The weight of a rate is the share of the period that the workload ran
 * for; below 1 % the rate is unknown. Only CPU use separates sleeping from working. Rates that are
 * requested by name, and those of principal components, are per elapsed time, as shown to users,
 * and 0 while the workload sleeps.
 *
 * Transforms of values make the noise the same at all levels, by the counts in the value:
 *   rates    2 / 0.05 asinh(0.05 sqrt(n)): a count of n has a variance of n + (0.05 n)^2. Context
 *            switches and migrations, which other programs cause too, come in lumps of four.
 *            Resolution: 1.
 *   ratios   The same, of the counts above the fraction line, with v in place of 0.05. v is three
 *            times the ratio's own drift between ranges of eight periods, in 0.03 ... 0.15. It is
 *            0.03 for blocks, whose ranges of eight are longer than phases. Resolution: 1.
 *   CPU use  log1p(percent / 0.1), also for all shares of elapsed time. No column separates waiting
 *            for a CPU from sleeping, but the CPU time of other programs drifts. Resolution: four
 *            times the noise of its differences from period to period, between 0.1 and 0.35. A
 *            workload that falls asleep changes far more.
 *
 * A ratio whose denominator is n events has the weight n / (n + 44). A ratio whose denominator is
 * usually below ten ("CPU time per call") is left out unless it is requested by name.
 */
#ifndef RPISTAT_COLLECT_H
#define RPISTAT_COLLECT_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/detect.h"
#include "rpistat/error.h"
#include "rpistat/period.h"

struct rps_plan;

#define RPS_COLLECT_CPU_USE "cpu_use"

struct rps_collect_options {
    const struct rps_plan *plan; /* kept by reference */
    const char *const *name;     /* signals: metrics, events (per clock tick) or cpu_use */
    size_t name_count;           /* 0: all that vary */
    int by_rotation;             /* 1: one observation per rotation, with all metrics; 0: one per
                                    period, or per block of a coarser level */
    int level;                   /* level to read the run at, rpistat/period.h; above 0 with
                                    by_rotation only */
    int as_shown;                /* 1: rates per second of elapsed time, as shown to users */
    int64_t period_ns;           /* nominal length of a period; 0: 100 ms */
    int64_t least_ns;   /* 0, or rps_rotation_least_ns for one period: shorter periods at the start
                           are added up to observations of this length */
    const int32_t *cpu; /* tracks put side by side, one signal per metric and CPU */
    int cpu_count;      /* 0 or 1: one track */
    int together;       /* 1: ended together with others, in order of the signals' names */
    uint64_t first, last; /* for several tracks: the lowest and highest number of a period, or by
                             rotation of a rotation */
};

/* Identity of a signal. */
struct rps_collected_signal {
    char name[RPS_NAME_SIZE * 2]; /* "cpi"; "cpi of CPU 2" */
    int metric;                   /* of the plan, or -1 */
    int32_t cpu;                  /* RPS_CPU_ALL: the only track */
};

/* One observation. */
struct rps_collect_row {
    uint64_t first, last;     /* numbers of its periods */
    int64_t start_ns, end_ns; /* since the start of the run */
    uint64_t cycle;           /* cycle timestamp at its end */
    double cpu_s;             /* time on a CPU in it */
    uint64_t merged; /* number of periods or rotations in it, one after the other; 0: nothing was
                        added */
};

struct rps_collected {
    struct rps_signals signals; /* owned; without the signals that never vary, except one */
    struct rps_collected_signal *signal; /* owned; one per signal */
    struct rps_collect_row *row;         /* owned; one per observation */
    uint8_t *wild; /* owned; one per block, 1: one of its rotations differs, by an event or CPU use;
                      NULL: not blocks, or signals chosen by name */
    int set_count; /* event sets that rotate */
    int level, by_rotation; /* of the options */
};

struct rps_collect;

/*
 * Return a new collect in *ret. RPS_USAGE: the plan lacks a name; the message lists its names.
 * RPS_FAILED: no memory, or too many periods in first ... last.
 */
int rps_collect_new(struct rps_collect **ret, const struct rps_collect_options *options,
                    struct rps_error *err);
void rps_collect_free(struct rps_collect *collect);

/* Add the next period of track 0 ... cpu_count - 1: one track after the other, periods in order. */
int rps_collect_add(struct rps_collect *collect, int track, const struct rps_period *period,
                    struct rps_error *err);

/*
 * End the adding and give ret[i], what collect[i] has, to the caller for rps_collected_free. Call
 * it only once. Several runs have one track each and were made with `together`. There may be no
 * observation. Signal s is the same in all ret[i]. Kept are the signals that all runs have by name
 * and formula, and that vary in one run or between runs. They are transformed by the data of all
 * runs.
 */
int rps_collect_end_together(struct rps_collect *const *collect, size_t count,
                             struct rps_collected *ret, struct rps_error *err);

/* Set *ret to the name of source `at` of another collect. Return 1 if this collect lacks it by name
 * and formula, 0 if it has it, -1 if there are no more sources. */
int rps_collect_lacks(const struct rps_collect *collect, const struct rps_collect *other, size_t at,
                      const char **ret);

/* Add a transformed signal of as many observations; it is copied. Its noise is at least a quarter
 * of its resolution. */
void rps_collected_add_signal(struct rps_collected *collected, const char *name,
                              const double *value, const float *weight, double resolution);

/* Add a table of counts of as many observations. The collected signals own it from then on. */
void rps_collected_add_table(struct rps_collected *collected, const struct rps_count_table *table);

/* Release what the struct points to and zero it. */
void rps_collected_free(struct rps_collected *collected);

#endif
