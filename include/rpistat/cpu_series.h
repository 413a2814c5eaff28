/*
 * CPU series: the periods of a run that the user wants to look at, to be walked (rpistat/walk.h) CPU
 * by CPU or added up.
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

/* So many periods of all CPUs together are read as they were measured; more at a coarser level. */
#define RPS_CPU_SERIES_FINE_PERIODS UINT64_C(2000000)

/* Stretches that do not touch, in order of time. */
struct rps_spans {
    size_t count;
    struct rps_span {
        int64_t start_ns, end_ns;
    } * span; /* owned by whoever owns this */
};

/* 1 when [start_ns, end_ns) lies wholly in one of the spans. */
int rps_spans_hold(const struct rps_spans *spans, int64_t start_ns, int64_t end_ns);

struct rps_cpu_series {
    struct rps_reader *reader; /* borrowed */
    int64_t run_id, from_ns, to_ns;
    int resolution;                 /* level that walks read, see rps_cursor_open; 0 at first */
    const struct rps_spans *within; /* borrowed; the rows that lie wholly inside alone are walked;
                                       NULL: all */
    int by_cpu;                     /* 0: one series, that of the whole workload */
    int count;                      /* CPUs that were asked for and have periods in that part */
    int32_t *cpu;                   /* owned; ascending */
    uint64_t first, last;           /* numbers of their periods, and of the rotations of these */
    uint64_t first_rotation, last_rotation;
    uint64_t periods; /* of all of them */
    int set_count;    /* event sets of the run */
    int widened;      /* 1: by blocks that were thinned, the part reaches from ... to ... */
    int64_t widened_from_ns, widened_to_ns;
};

/*
 * Find the CPUs of the part [from_ns, to_ns) of a run, and how many periods they have. Reads the
 * coarsest level. RPS_FAILED: the store's errors; CPUs that are asked for and were not recorded; a
 * part of the run (not all of it) without a period.
 */
int rps_cpu_series_open(struct rps_arena *arena, struct rps_cpu_series *series,
                        struct rps_reader *reader, int64_t run_id, int64_t from_ns, int64_t to_ns,
                        const struct rps_cpus *cpus, struct rps_error *err);

/* RPS_FAILED, and the sentence that the series has no period: for those who need one in all of a
 * run too. */
int rps_cpu_series_none(const struct rps_cpu_series *series, struct rps_error *err);

/*
 * Choose the resolution for a picture of so many bins: 0 for up to RPS_CPU_SERIES_FINE_PERIODS,
 * else the coarsest level that still gives eight blocks a bin.
 */
void rps_cpu_series_choose_bins(struct rps_cpu_series *series, size_t bins);

/* The same for what holds so many signals of each row, as a detection of phases does: the finest
 * level of which they are less than 512 MiB. */
void rps_cpu_series_choose_signals(struct rps_cpu_series *series, int signals);

/* Choose no finer resolution than the coarsest that any CPU of the part was thinned to, so that all
 * of it is read alike: means over blocks have less noise than periods. */
int rps_cpu_series_choose_thinned(struct rps_cpu_series *series, struct rps_error *err);

/* "in blocks of 16 rotations": what was read where the resolution is not 0; "" where it is. Needs
 * RPS_CPU_SERIES_TEXT_SIZE bytes; returns ret. */
char *rps_cpu_series_level_text(char *ret, const struct rps_cpu_series *series);

/* "CPU 2", "CPUs 0-3,8"; "" for the series of a workload. Needs RPS_CPU_SERIES_TEXT_SIZE bytes;
 * returns ret. */
char *rps_cpu_series_name(char *ret, const struct rps_cpu_series *series);

#endif
