/*
 * Declarations shared by picture and page of a comparison: the runs over time, and the axis on
 * which matched phases are aligned.
 */
#ifndef RPISTAT_COMPARE_PARTS_H
#define RPISTAT_COMPARE_PARTS_H

#include "rpistat/comparison.h"
#include "rpistat/series.h"

struct rps_plan;

/* A phase of a run, in order of time. A run without phases has one, all of it, with label -1. */
struct rps_comparison_stretch {
    double from, to; /* s since the run's start */
    size_t slot;     /* its place on the axis by phase; SIZE_MAX: none, the representing run lacks
                        it */
    int label;       /* as in comparison->run[].phases: rows - 1, or -1 */
};

/* A place on the axis by phase. */
struct rps_comparison_slot {
    double from, to; /* s: mean width of both sides; for one side alone, its own width */
    int label;
    int sides; /* bits 1 << RPS_SIDE_A and 1 << RPS_SIDE_B: the sides that have it */
};

/* A run. */
struct rps_comparison_line {
    double length;             /* s */
    struct rps_series *series; /* of each metric, each owned; positions are s since the run's start;
                                  empty if the run has no such metric */
    size_t stretch_count;
    struct rps_comparison_stretch *stretch;
};

/* Members that are not owned are in the comparison's arena. */
struct rps_comparison_series {
    size_t figure_count;
    size_t *figure;        /* indices into comparison->figure */
    struct rps_plan *plan; /* owned; of the first run, with the compared metrics as its metrics */
    struct rps_metric
        *metric; /* borrowed from it: label, unit, panel, explanation of each metric */
    size_t run_count;
    struct rps_comparison_line *run; /* in the order of comparison->run */
    double length;                   /* s, of the longest run */
    size_t slot_count;
    struct rps_comparison_slot *slot; /* in order, one after another from 0 on */
    double phase_length;              /* s, of all slots */
};

/*
 * Read the series of the metrics that plot->metric names. If it is NULL, use at most `most`: CPU
 * use, and metrics with the most significant change in any row. Metrics that are always zero are
 * left out. bin_count: across the longest run, fewer for shorter ones. Release *ret with
 * rps_comparison_series_free in any case. Errors: RPS_USAGE for an unknown metric; those of the
 * store.
 */
int rps_comparison_series_read(const struct rps_comparison_plot *plot, size_t most,
                               size_t bin_count, struct rps_comparison_series *ret,
                               struct rps_error *err);
void rps_comparison_series_free(struct rps_comparison_series *series);

/* Write the page (page.c). */
int rps_comparison_page(const struct rps_comparison_plot *plot, struct rps_error *err);

#endif
