/* Declarations shared by the picture and the page of a comparison: the runs over time, and the axis
 * by phase. On this axis, matched phases have the same place (slot). */
#pragma once

#include "rpistat/comparison.h"
#include "rpistat/series.h"

/* A phase of a run. Phases are in order of time. A run without phases has a single phase with label
 * -1 that covers the whole run. */
struct rps_comparison_stretch {
    double from, to; /* seconds since the run's start */
    size_t slot;     /* index of the phase's slot on the axis by phase; SIZE_MAX: no slot,
                        because the representing run lacks the phase */
    int label;       /* label as in comparison->run[].phases: row - 1, or -1 */
};

/* A slot: a range on the axis by phase, for a phase and its partner. */
struct rps_comparison_slot {
    double from, to; /* in seconds; the width is the mean length of both sides' phases, or the
                        length of the only phase */
    int label;
    int sides; /* bit mask of the sides that have a phase here: 1 << RPS_SIDE_A, 1 << RPS_SIDE_B */
};

/* A run as a line in the panels. */
struct rps_comparison_line {
    double length;             /* length of the run in seconds */
    struct rps_series *series; /* series of each metric (owned), in seconds since the run's
                                  start; a series is empty if the run lacks the metric */
    size_t stretch_count;
    struct rps_comparison_stretch *stretch;
};

/* The runs of a comparison over time. Members that are not owned are in the comparison's arena. */
struct rps_comparison_series {
    size_t figure_count;
    size_t *figure;        /* index of each metric in comparison->figure */
    struct rps_plan *plan; /* plan of the first run, with only the compared metrics (owned) */
    struct rps_metric
        *metric; /* label, unit, panel and explanation of each metric (borrowed from the plan) */
    size_t run_count;
    struct rps_comparison_line *run; /* in the order of comparison->run */
    double length;                   /* length of the longest run in seconds */
    size_t slot_count;
    struct rps_comparison_slot *slot; /* slots of the axis by phase, in order, without gaps */
    double phase_length;              /* total length of all slots in seconds */
};

/* Read the series of the metrics that plot->metric names. If plot->metric is NULL, use at most
 * `most` metrics. These are CPU use, and the metrics whose change is most significant in some row.
 * Metrics that are always zero are omitted. The longest run has bin_count bins. Shorter runs have
 * fewer bins. Errors: RPS_USAGE for an unknown metric, and errors of the store. */
int rps_comparison_series_read(const struct rps_comparison_plot *plot, size_t most,
                               size_t bin_count, struct rps_comparison_series *ret,
                               struct rps_error *err);

/* Write the HTML page (page.c). */
int rps_comparison_page(const struct rps_comparison_plot *plot, struct rps_error *err);
