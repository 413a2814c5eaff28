/*
 * CPU series: the selected periods of a run, to be walked (rpistat/walk.h) CPU by CPU or added up.
 */
#ifndef RPISTAT_CPU_SERIES_H
#define RPISTAT_CPU_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/cpus.h"

struct rps_error;
struct rps_reader;

#define RPS_CPU_SERIES_TEXT_SIZE 256

/* Up to so many periods of all CPUs together are read as measured; more at a coarser level. */
#define RPS_CPU_SERIES_FINE_PERIODS UINT64_C(2000000)

/* Disjoint time ranges, in order of time. */
struct rps_spans {
    size_t count;
    struct rps_span {
        int64_t start_ns, end_ns;
    } * span; /* owned by the owner of this */
};

/* Return 1 if [start_ns, end_ns) lies wholly in one of the spans. */
int rps_spans_hold(const struct rps_spans *spans, int64_t start_ns, int64_t end_ns);

struct rps_cpu_series {
    struct rps_reader *reader; /* borrowed */
    int64_t run_id, from_ns, to_ns;
    int resolution;                 /* level that walks read, see rps_cursor_open; 0 at first */
    const struct rps_spans *within; /* borrowed; only rows that lie wholly inside are walked; NULL:
                                       all */
    int by_cpu;                     /* 0: one series, that of the whole workload */
    int count;                      /* requested CPUs that have periods in that part */
    int32_t *cpu;                   /* owned; ascending */
    uint64_t first, last;           /* numbers of their periods, and of the rotations of these */
    uint64_t first_rotation, last_rotation;
    uint64_t periods; /* of all CPUs */
    int set_count;    /* event sets of the run */
    int widened;      /* 1: because of downsampled blocks, the part reaches from ... to ... */
    int64_t widened_from_ns, widened_to_ns;
};

/*
 * Find the CPUs of the part [from_ns, to_ns) of a run, and how many periods they have. Reads the
 * coarsest level. RPS_FAILED: the store's errors; requested CPUs that were not recorded; a part of
 * the run (not all of it) without a period.
 */
int rps_cpu_series_open(struct rps_arena *arena, struct rps_cpu_series *series,
                        struct rps_reader *reader, int64_t run_id, int64_t from_ns, int64_t to_ns,
                        const struct rps_cpus *cpus, struct rps_error *err);

/* Return RPS_FAILED with the sentence that the series has no period. It is for callers that need a
 * period in a whole run, too. */
int rps_cpu_series_none(const struct rps_cpu_series *series, struct rps_error *err);

/*
 * Choose the resolution for a chart of so many bins. It is 0 for up to RPS_CPU_SERIES_FINE_PERIODS,
 * otherwise the coarsest level that still gives eight blocks per bin.
 */
void rps_cpu_series_choose_bins(struct rps_cpu_series *series, size_t bins);

/* Choose the resolution to hold so many signals of each row, as a detection of phases does. It is
 * the finest level at which they are less than 512 MiB. */
void rps_cpu_series_choose_signals(struct rps_cpu_series *series, int signals);

/* Choose a resolution no finer than the coarsest to which any CPU of the part was downsampled. Then
 * all of the part is read alike: means over blocks have less noise than periods. */
int rps_cpu_series_choose_thinned(struct rps_cpu_series *series, struct rps_error *err);

/* Format the blocks that were read: "in blocks of 16 rotations"; "" for resolution 0. Needs
 * RPS_CPU_SERIES_TEXT_SIZE bytes; returns ret. */
char *rps_cpu_series_level_text(char *ret, const struct rps_cpu_series *series);

/* Format "CPU 2", "CPUs 0-3,8"; "" for the series of a workload. Needs RPS_CPU_SERIES_TEXT_SIZE
 * bytes; returns ret. */
char *rps_cpu_series_name(char *ret, const struct rps_cpu_series *series);

#endif
