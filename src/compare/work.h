/*
 * Declarations shared by the files that make a comparison: the counts of each run, and its metrics
 * in every row.
 */
#ifndef RPISTAT_COMPARE_WORK_H
#define RPISTAT_COMPARE_WORK_H

#include "rpistat/comparison.h"
#include "rpistat/formula.h"
#include "rpistat/run_part.h"
#include "rpistat/run_system.h"

/* The readings of a row, for the metrics computed from them. */
struct rps_compared_system {
    const struct rps_run_system *system;
    struct rps_system_time time;
    double elapsed_s;
    int cpu_count;
    int package; /* of the metric; enum rps_package_figure */
};

/* A metric in one run. */
struct rps_compared_figure {
    struct rps_comparison_figure is;
    struct rps_formula formula; /* over the plan's operands; without a step: the elapsed time, or */
    double (*system)(const struct rps_compared_system *of); /* NaN: not known */
    int package;
};

/* A run's part of the work; all but the plan is in the comparison's arena. */
struct rps_compared_run {
    struct rps_plan *plan; /* owned */
    size_t offered_count;
    struct rps_compared_figure *offered; /* all metrics that the run could be compared by */
    size_t *figure;                      /* of each of the comparison's metrics, its offer */
    struct rps_change_value *value;      /* value[row * figure_count + figure] */
    struct rps_run_system *system;       /* of each row */
    struct rps_system_time time;         /* of the whole */
    double coverage;                     /* lowest share of its time that a set was counted */
    double unmatched;                    /* share of the time that is in no row but the whole */
    int64_t thinned_ns;                  /* from rps_reader_thinned */
};

struct rps_comparison_work {
    struct rps_comparison comparison; /* owned */
    const struct rps_comparison_options *options;
    struct rps_compared_run *run; /* of each run of the comparison */
    struct rps_run_phases phases; /* owned; of all runs together */
};

/* Add a remark, a sentence (printf style). */
#define rps_comparison_remark(comparison, ...)                                                     \
    rps_comparison_add_remark((comparison), rps_arena_print((comparison)->arena, __VA_ARGS__))
void rps_comparison_add_remark(struct rps_comparison *comparison, char *text);

/* Name the sides by their labels, otherwise by their runs' numbers. */
void rps_comparison_name_sides(struct rps_comparison *comparison);

/* Find the metrics that all runs have: of one name, made alike from the same events. */
int rps_comparison_find_figures(struct rps_comparison_work *work, struct rps_error *err);

/* Walk one run, whose phases have their rows, and compute its values. */
int rps_comparison_measure(struct rps_comparison_work *work, size_t run, struct rps_error *err);

/* Return the number of rows to show: without the only phase class if that is the whole. */
size_t rps_comparison_shown_rows(const struct rps_comparison *comparison);

/* Call `family` for the rows from ... to - 1 that are corrected together. These are all rows,
 * except that a run of one phase does not count twice. */
typedef void rps_comparison_family(struct rps_comparison *comparison, size_t from, size_t to);
void rps_comparison_each_family(struct rps_comparison *comparison, rps_comparison_family *family);

/* Return all of a run, whose phases have their rows, as a part with one group per row; group 0 is
 * the remainder. It is in the arena. */
struct rps_run_part rps_comparison_part(struct rps_arena *arena, const struct rps_phases *phases,
                                        size_t rows);

/* Find the functions of each row, and correct their changes. */
int rps_comparison_find_functions(struct rps_comparison *comparison, struct rps_error *err);

/* Add remarks on what could not be compared, and on reasons for doubt. */
void rps_comparison_remark_all(struct rps_comparison_work *work);

#endif
