/* Declarations shared by the files that create a comparison: the counts of each run, and the
 * metrics of each run in every row. */
#pragma once

#include "rpistat/comparison.h"
#include "rpistat/formula.h"
#include "rpistat/run_part.h"

struct rps_run_system;
struct rps_system_time;

/* The system readings of a row, from which some metrics are computed. */
struct rps_compared_system {
    const struct rps_run_system *system;
    const struct rps_system_time *time;
    double elapsed_s;
    int cpu_count;
    int package; /* package metric to compute (enum rps_package_figure) */
};

/* A metric of one run. */
struct rps_compared_figure {
    struct rps_comparison_figure is;
    struct rps_formula formula; /* formula over the plan's operands; empty: use `system` */
    double (*system)(const struct rps_compared_system *of); /* function for a metric of readings;
                                                               returns NaN if unknown */
    int package;
};

/* Work data of one run, in the comparison's arena. */
struct rps_compared_run {
    struct rps_plan *plan; /* plan of the run */
    size_t offered_count;
    struct rps_compared_figure *offered; /* all metrics of the run that can be compared */
    size_t *figure;                      /* index in `offered` of each compared metric */
    struct rps_change_value *value;      /* value[row * figure_count + figure] */
    struct rps_run_system *system;       /* system readings of each row */
    struct rps_system_time *time;        /* times by state in the whole run */
    double coverage;                     /* share of time for which the rarest set was counted */
    double unmatched;                    /* share of the run's time in phases that have no row */
    int64_t thinned_ns;                  /* time before which periods were downsampled */
    const char *builds;                  /* from rps_reader_builds */
};

struct rps_comparison_work {
    struct rps_comparison comparison; /* the comparison that is made (owned) */
    const struct rps_comparison_options *options;
    struct rps_compared_run *run; /* work data, one per run of the comparison */
    struct rps_run_phases phases; /* phases of all runs, detected together (owned) */
};

/* Add a remark (printf style). The remark is a sentence. */
#define rps_comparison_remark(comparison, ...)                                                     \
    rps_comparison_add_remark((comparison), rps_arena_print((comparison)->arena, __VA_ARGS__))
void rps_comparison_add_remark(struct rps_comparison *comparison, char *text);

/* Name the sides by their labels. Without labels, use the numbers of their runs. */
void rps_comparison_name_sides(struct rps_comparison *comparison);

/* Fill `offered` with all metrics of run->plan, without those of system readings. */
int rps_comparison_offer_counts(struct rps_arena *arena, struct rps_compared_run *run,
                                struct rps_error *err);

/* Return the run's metric that equals another run's metric, or offered_count if there is none. */
size_t rps_comparison_find_same(const struct rps_compared_run *run,
                                const struct rps_compared_run *other,
                                const struct rps_compared_figure *figure);

/* Find the metrics that all runs share. A shared metric has the same name in all runs, and is
 * computed in the same way from the same events. */
int rps_comparison_find_figures(struct rps_comparison_work *work, struct rps_error *err);

/* Compute the values of one run in one pass. The labels of the run's phases must be row numbers. */
int rps_comparison_measure(struct rps_comparison_work *work, size_t run, struct rps_error *err);

/* Return the number of rows to show, without the row of a class that is the whole run. */
size_t rps_comparison_shown_rows(const struct rps_comparison *comparison);

/* Call `family` for each group of rows from ... to - 1 whose p values are corrected together.
 * Normally all rows form one group. If the only phase class is the whole run, the row of this class
 * is a separate group. */
typedef void rps_comparison_family(struct rps_comparison *comparison, size_t from, size_t to);
void rps_comparison_each_family(struct rps_comparison *comparison, rps_comparison_family *family);

/* Return the whole run as a part with one group per row. Group 0 is the time in phases without a
 * row. phases[].label must be row numbers. The part is in the arena. */
struct rps_run_part rps_comparison_part(struct rps_arena *arena, const struct rps_phases *phases,
                                        size_t rows);

/* Find the functions of each row, and correct the p values of their changes. */
int rps_comparison_find_functions(struct rps_comparison *comparison, struct rps_error *err);

/* Add remarks on facts about the environment and the command that differ between two runs. The
 * comparison needs no other members than the arena and the remarks. */
int rps_comparison_remark_pair(struct rps_comparison *comparison, struct rps_reader *reader,
                               const struct rps_run *before, const struct rps_run *after,
                               struct rps_error *err);

/* Add all remarks: on what could not be compared, and on reasons for doubt. */
void rps_comparison_remark_all(struct rps_comparison_work *work);
