/* The history of a group of runs: the levels of each metric over the runs in order of time, and the
 * changes between levels. Only stored estimates of whole runs are read, and no periods. */
#pragma once

#include "rpistat/comparison.h"
#include "rpistat/steps.h"

/* Nominal probability of a false change in a history, over all metrics. In simulations, .9 to 1.6 %
 * of the histories had a false change, and 2.5 % with seven metrics and exponential noise. */
#define RPS_HISTORY_ALPHA .015

struct rps_history_run {
    struct rps_run run; /* owned */
    const char *tags;   /* tags that differ from the run before (NULL: none): "commit=abc123" */
};

struct rps_history_level {
    size_t first, count;      /* first run; number of runs with a value, without outliers */
    struct rps_change change; /* change from the level before; for the first level only `b` */
};

struct rps_history_metric {
    struct rps_comparison_figure is;
    struct rps_step *step; /* value of each run */
    size_t level_count;
    struct rps_history_level *level;
    double found; /* change that is found in 95 of 100 cases if five runs have it (NaN: unknown) */
    double trend; /* as rps_steps_find */
};

/* A history. Members that are not owned are in the arena. */
struct rps_history {
    struct rps_arena *arena; /* borrowed */
    struct rps_reader *reader;
    const char *name; /* text that chose the runs */
    size_t run_count, metric_count;
    struct rps_history_run *run; /* in order of time */
    struct rps_history_metric *metric;
    int has_repeats; /* 1 if tags differ, so that a run with equal tags repeats the run before */
    size_t unfinished, failed;    /* runs left out: not complete, or ended with an error */
    size_t copies;                /* runs left out: copies of other runs (tag copy_of) */
    struct rps_comparison latest; /* for limits: row 0 has the last change of each metric */
};

/* Find the history of the runs that `text` chooses: as rps_reader_find_group, or the key of a tag.
 * `metric` are names of metrics; without names, the metrics are the times, the memory, ratios and
 * totals. The probability of a false change is RPS_HISTORY_ALPHA; half of it is for the first
 * metric. Errors: no such runs, fewer than two runs, an unknown metric (RPS_USAGE), and errors of
 * the store. */
int rps_history_find(struct rps_arena *arena, struct rps_reader *reader, const char *text,
                     char *const *metric, size_t metric_count, struct rps_history *ret,
                     struct rps_error *err);

/* Return the answer in one sentence without full stop, in the arena. */
const char *rps_history_answer(const struct rps_history *history);

/* Put the history into a document: answer, levels, outliers, limits and the values of the runs. */
void rps_history_put(struct rps_document *document, const struct rps_history *history,
                     const struct rps_comparison_limit *limit, size_t limit_count);

/* Return a chart, in the arena: the values of at most eight metrics as points, a line per level. */
struct rps_chart *rps_history_chart(const struct rps_history *history);
