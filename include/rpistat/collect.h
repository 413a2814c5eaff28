/*
 * Collecting: the signals that a run's periods make, for the detector and for principal components.
 * A run streams by once; what comes out is a matrix, transformed so that noise is alike at all
 * levels.
 *
 * The signals are the plan's metrics and the workload's CPU use (`cpu_use`). Where event sets take
 * turns, a metric is seen in the periods of the set that holds its events. One whose events are in
 * several sets can be seen only once a rotation; unless it is asked for by name, the rates of its
 * events per clock tick stand in for it, which are seen in every period of their sets.
 *
 * Rates are by second of CPU time: what other programs take of the machine changes how much is
 * counted in a second, but not what the workload does. They weigh by how much of the period it ran
 * for, and below 1 % of it there are none; CPU use alone tells sleeping from working. Rates that
 * are asked for by name, and those of principal components, are by elapsed time, as people are
 * shown them, and 0 while the workload sleeps.
 *
 * Transforms make the noise alike at all levels, by the counts that a value is made of:
 *   rates    2 / 0.05 asinh(0.05 sqrt(n)): a count of n has a variance of n + (0.05 n)^2. What
 *            other programs cause too, context switches and migrations, comes in lumps of four.
 *            Resolution: 1.
 *   ratios   the same, of the counts above their line, with v in place of 0.05: three times what
 *            the ratio wanders by on its own, from one stretch of eight periods to the next, and
 *            between 0.03 and 0.15; 0.03 of blocks, whose stretches of eight are longer than
 *            phases. Resolution: 1.
 *   CPU use  log1p(percent / 0.1), and so all shares of elapsed time. No column tells waiting for a
 *            CPU from sleeping, but what others take wanders. Resolution: four times the noise of
 *            its differences from period to period, between 0.1 and 0.35, which a workload that
 *            falls asleep is far beyond.
 *
 * A ratio whose denominator is n events weighs n / (n + 44); one whose denominator is usually fewer
 * than ten, "CPU time per call", is left out unless it is asked for by name.
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
    int by_rotation;             /* 1: an observation a rotation of the event sets, and all metrics;
                                      0: an observation a period, or a block of a
                                      coarser level */
    int level;                   /* that the run is read at, rpistat/period.h; above 0 with
                                      by_rotation alone */
    int as_shown;                /* 1: rates per second of elapsed time, as people are shown them */
    int64_t period_ns;           /* nominal length of a period; 0: 100 ms */
    int64_t least_ns;   /* 0, or that of rps_rotation_least_ns for one period: in shorter periods at
                         the start, one observation is as many rotations as are so long together */
    const int32_t *cpu; /* tracks that are put side by side, a signal a metric and CPU */
    int cpu_count;      /* 0 or 1: one track */
    int together;       /* 1: to be ended with others, in order of the signals' names */
    uint64_t first, last; /* for several tracks: the lowest and highest number of a period,
                                      or by rotation of a rotation */
};

/* What a signal is. */
struct rps_collected_signal {
    char name[RPS_NAME_SIZE * 2]; /* "cpi"; "cpi of CPU 2" */
    int metric;                   /* of the plan, or -1 */
    int32_t cpu;                  /* RPS_CPU_ALL where there is one track */
};

/* An observation. */
struct rps_collect_row {
    uint64_t first, last;     /* numbers of its periods */
    int64_t start_ns, end_ns; /* since the start of the run */
    uint64_t cycle;           /* cycle timestamp at its end */
    double cpu_s;             /* time on a CPU in it */
    uint64_t merged; /* periods or rotations one after the other in it; 0: nothing was added */
};

struct rps_collected {
    struct rps_signals signals; /* owned; without the signals that never vary, but for one */
    struct rps_collected_signal *signal; /* owned; of each */
    struct rps_collect_row *row;         /* owned; of each observation */
    uint8_t *wild; /* owned; of each block, 1: a rotation in it is unlike the others, by an event or
                      the CPU use; NULL: they are no blocks, or signals were chosen by name */
    int set_count; /* event sets that take turns */
    int level, by_rotation; /* of the options */
};

struct rps_collect;

/*
 * RPS_USAGE for a name that the plan does not have, with those that it has; RPS_FAILED without
 * memory, or when first ... last is more than can be held.
 */
int rps_collect_new(struct rps_collect **ret, const struct rps_collect_options *options,
                    struct rps_error *err);
void rps_collect_free(struct rps_collect *collect);

/* Add the next period of track 0 ... cpu_count - 1; tracks one after the other, periods in
 * order. */
int rps_collect_add(struct rps_collect *collect, int track, const struct rps_period *period,
                    struct rps_error *err);

/*
 * End the adding and give what was collected to the caller, ret[i] for rps_collected_free: of one,
 * or of several runs, of one track each and made with `together`. There may be no observation. Only
 * once. Of several ret[i] is what collect[i] has, and signal s is the same in all of them: those
 * that all have by name and formula and that vary anywhere, or are another constant in one than in
 * another; they are transformed by what was seen in all.
 */
int rps_collect_end_together(struct rps_collect *const *collect, size_t count,
                             struct rps_collected *ret, struct rps_error *err);

/* The name of source `at` of another collect, in *ret: 1 when this one lacks it by name and
 * formula, 0 when it has it, -1 when there are no more. */
int rps_collect_lacks(const struct rps_collect *collect, const struct rps_collect *other, size_t at,
                      const char **ret);

/* Add a signal, transformed, of as many observations; copied. Its noise is a quarter of its
 * resolution at least. */
void rps_collected_add_signal(struct rps_collected *collected, const char *name,
                              const double *value, const float *weight, double resolution);

/* Give a table of counts, which becomes the collected signals', of as many observations. */
void rps_collected_add_table(struct rps_collected *collected, const struct rps_count_table *table);

/* Release what the struct points to and zero it. */
void rps_collected_free(struct rps_collected *collected);

#endif
