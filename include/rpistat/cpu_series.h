/* CPU series: the selected periods of a run. rpistat/walk.h reads them by CPU, or as sums. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/cpus.h"

struct rps_reader;

#define RPS_CPU_SERIES_TEXT_SIZE 256

/* If all CPUs together have more periods than this, their periods are read at a coarser level. */
#define RPS_CPU_SERIES_FINE_PERIODS UINT64_C(2000000)

/* Disjoint time ranges in ascending order. */
struct rps_spans {
    size_t count;
    struct rps_span {
        int64_t start_ns, end_ns;
    } * span; /* Array that belongs to the owner of the struct rps_spans */
};

/* Return 1 if [start_ns, end_ns) lies wholly in one of the spans. */
int rps_spans_hold(const struct rps_spans *spans, int64_t start_ns, int64_t end_ns);

struct rps_cpu_series {
    struct rps_arena *arena;
    struct rps_reader *reader; /* borrowed */
    int64_t run_id, from_ns, to_ns;
    int resolution;                 /* Level that walks read (initially 0), see rps_cursor_open */
    const struct rps_spans *within; /* Read only rows that lie wholly inside these spans
                                       (borrowed; NULL: all rows) */
    int by_cpu;                     /* 0: one series for the whole workload */
    int count;                      /* Number of requested CPUs with periods in the part */
    int32_t *cpu;                   /* CPUs in ascending order (in the arena) */
    uint64_t first, last;           /* First and last period, then first and last rotation */
    uint64_t first_rotation, last_rotation;
    uint64_t periods; /* Number of periods of all CPUs */
    int set_count;    /* Number of event sets of the run */
    int widened;      /* 1: the part cuts a block, and was widened to widened_*_ns */
    int64_t widened_from_ns, widened_to_ns;
};

/* Find the CPUs in the part [from_ns, to_ns) of a run, and count their periods. The periods are
 * read at the coarsest level. Return RPS_FAILED with errors of the store, or if a requested CPU was
 * not recorded. Also return RPS_FAILED if the part is not the whole run and has no period. */
int rps_cpu_series_open(struct rps_arena *arena, struct rps_cpu_series *series,
                        struct rps_reader *reader, int64_t run_id, int64_t from_ns, int64_t to_ns,
                        const struct rps_cpus *cpus, struct rps_error *err);

/* Return RPS_FAILED with the message that the series has no period. Callers that need a period even
 * in a whole run use this function. */
int rps_cpu_series_none(const struct rps_cpu_series *series, struct rps_error *err);

/* Choose the resolution for a chart with `bins` bins. The resolution is 0 for up to
 * RPS_CPU_SERIES_FINE_PERIODS periods, otherwise the coarsest level with at least eight blocks per
 * bin. */
void rps_cpu_series_choose_bins(struct rps_cpu_series *series, size_t bins);

/* Choose the resolution for a detection of phases with `signals` signals. The resolution is the
 * finest level at which the signals' values need less than 512 MiB. */
void rps_cpu_series_choose_signals(struct rps_cpu_series *series, int signals);

/* Choose the resolution so that it is not finer than the coarsest level to which any CPU of the
 * part was downsampled. The whole part is then read at one level, because means over blocks have
 * less noise than periods. */
int rps_cpu_series_choose_downsampled(struct rps_cpu_series *series, struct rps_error *err);

/* Format the level that was read: "in blocks of 16 rotations", or "" for resolution 0. ret needs
 * RPS_CPU_SERIES_TEXT_SIZE bytes and is returned. */
char *rps_cpu_series_level_text(char *ret, const struct rps_cpu_series *series);

/* Format the CPUs of the series: "CPU 2", "CPUs 0-3,8", or "" if the run recorded a workload. ret
 * needs RPS_CPU_SERIES_TEXT_SIZE bytes and is returned. */
char *rps_cpu_series_name(char *ret, const struct rps_cpu_series *series);
