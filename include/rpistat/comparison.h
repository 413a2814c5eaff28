/* A comparison of two runs, or two groups of runs, by metric. The whole run and each phase class
 * are compared. If both sides have samples, functions are also compared. Side A is the earlier
 * state, side B the later state. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/change.h"
#include "rpistat/document.h"
#include "rpistat/error.h"
#include "rpistat/part_shares.h"
#include "rpistat/phase.h"
#include "rpistat/plot.h"
#include "rpistat/run.h"
#include "rpistat/run_phases.h"

enum rps_comparison_side { RPS_SIDE_A, RPS_SIDE_B };

/* One run of a comparison. */
struct rps_comparison_run {
    struct rps_reader *reader; /* Reader of the run's store (borrowed) */
    int64_t run_id;
    enum rps_comparison_side side;
    const char *store;        /* Path of the store (borrowed) */
    struct rps_run run;       /* Properties of the run (owned) */
    int is_outlier;           /* 1 if the elapsed time is too far from the side's other runs */
    struct rps_phases phases; /* Labels are row indices minus 1 (-1: no row). */
};

/* Kinds of metrics. */
enum rps_comparison_kind {
    RPS_FIGURE_TIME,   /* Elapsed time in seconds, of the whole run or of all phases of a row */
    RPS_FIGURE_CPU,    /* CPU time in seconds */
    RPS_FIGURE_METRIC, /* Metric of the plan (a ratio or a rate), or CPU use */
    RPS_FIGURE_TOTAL,  /* Estimated count of an event */
    RPS_FIGURE_SYSTEM, /* Effect of other work: waiting for a CPU, or a hypervisor's steal */
};

struct rps_comparison_figure {
    enum rps_comparison_kind kind;
    char name[RPS_NAME_SIZE];  /* Name of the metric: "elapsed", "cpu_time", "instructions" */
    char label[RPS_NAME_SIZE]; /* Name in the text: "Elapsed", "CPI" */
    char unit[RPS_NAME_SIZE];  /* Unit of the metric: "s", "%", "/s" or "" */
};

/* A function in a row, or all code of a module without names. */
struct rps_comparison_function {
    struct rps_share_name name; /* Name of the function, borrowed from the comparison's shares */
    double a_share, b_share;    /* Shares of the row's samples on both sides, 0 ... 1 */
    struct rps_change seconds;  /* Change of the total CPU time, or latency, of the function */
};

/* A row of the comparison: the whole run or a phase class. */
struct rps_comparison_row {
    int label;                      /* Label of the phase class (0: A), or -1 for the whole run */
    size_t a_times, b_times;        /* Phases of the class in the run that represents each side
                                       (0: the side lacks the class; 1 for the whole run) */
    int64_t a_start_ns, b_start_ns; /* Start of the first phase on each side (-1: none) */
    struct rps_change *change;      /* Change of each metric in the row */
    size_t function_count;
    struct rps_comparison_function *function; /* Functions, sorted by the change of their time,
                                                 if both sides have samples */
};

/* A comparison. Members without the note "owned" or "borrowed" are in the arena. */
struct rps_comparison {
    struct rps_arena *arena; /* borrowed */
    size_t run_count;
    struct rps_comparison_run *run; /* Runs, with side A first */
    size_t a_count, b_count;
    enum rps_change_statistic statistic;
    int is_latency;       /* 1: times of functions are latency (rpistat/latency.h), 0: CPU time */
    const char *name[2];  /* Name of each side for the text: a label, or "run 3", "runs 1-3,7" */
    const char *label[2]; /* Label of each side (NULL: the name is not a label) */
    size_t standing[2];   /* Index of the run that represents each side; the rows have this run's
                             phases */
    size_t figure_count;
    struct rps_comparison_figure *figure; /* Metrics: elapsed, CPU time, plan metrics, CPU use,
                                             totals, waiting */
    size_t row_count;
    struct rps_comparison_row *row; /* The whole run, then phase classes by label */
    double taken; /* Lower limit of the share that other programs used of the CPU time that a side
                     was ready to use; the larger of both sides (0: little or unknown) */
    size_t remark_count;
    char **remark; /* Remarks on doubts and on data that could not be compared: other machines,
                      other event sets, no samples on a side, time without phases */
    struct rps_part_shares
        *shares; /* Shares of each run (owned), with one group per row. Group 0 has the samples
                    outside phases. Names of functions point into the shares. NULL: samples were
                    not read. */
};

struct rps_comparison_options {
    struct rps_level_choice level;
    int no_phases;  /* 1: compare only whole runs, without phases */
    int no_samples; /* 1: use samples neither for phases nor for functions */
    int is_latency; /* as in struct rps_comparison */
    enum rps_change_statistic statistic;
};

/* A run to compare, as the caller chose it. */
struct rps_comparison_choice {
    struct rps_reader *reader; /* Reader, which must stay open as long as the comparison exists */
    const char *store;         /* Path of the store, borrowed as long as the comparison exists */
    int64_t run_id;
    enum rps_comparison_side side;
};

/* Compare the chosen runs. The values of a row are computed over all phases of the row in a run
 * together. p values of metrics are corrected (Holm) over all rows and metrics. p values of
 * functions are corrected over all rows and functions. Metrics that are 0 on both sides are
 * excluded. If the runs have only one phase, the phase and the whole run are corrected separately.
 * There are no tests for a row that one side lacks. A metric is compared only if all runs have a
 * metric of this name and compute it in the same way from the same events. *ret is in the arena.
 * Errors come from the store, a side without runs, an unfinished run, or a run that is chosen twice
 * (RPS_USAGE). */
int rps_comparison_find(struct rps_arena *arena, const struct rps_comparison_choice *choice,
                        size_t count, const struct rps_comparison_options *options,
                        struct rps_comparison *ret, struct rps_error *err);

/* Return 1 if all runs are in one store. */
int rps_comparison_has_one_store(const struct rps_comparison *comparison);

/* Return the index of the metric with this name, or -1. */
int rps_comparison_figure(const struct rps_comparison *comparison, const char *name);

/* Return 1 if all runs of one side have the row's phases, the representing run of the other side
 * lacks them, and there are enough runs: chance alone separates the sides with a probability below
 * RPS_CHANGE_ALPHA. */
int rps_comparison_is_new(const struct rps_comparison *comparison, size_t row);

/* The verdict on a change. */
enum rps_comparison_verdict {
    RPS_VERDICT_NONE,         /* no test, or no value */
    RPS_VERDICT_SAME,         /* The comparison shows no difference. */
    RPS_VERDICT_PERHAPS_LESS, /* p is below .05, but adjusted p is not, or too few runs */
    RPS_VERDICT_PERHAPS_MORE,
    RPS_VERDICT_LESS, /* Adjusted p is below .05, with enough runs. */
    RPS_VERDICT_MORE,
};
enum rps_comparison_verdict rps_comparison_verdict(const struct rps_change *change);

/* --- output: for users, in pull requests (Markdown) and for programs (JSON, CSV) -------------- */

/* A limit that the user set for a change, with its answer. */
struct rps_comparison_limit {
    const char *text;             /* Text of the limit as the user wrote it: "C:cpi>+3%" */
    char name[2 * RPS_NAME_SIZE]; /* Name of the metric with its phase: "C:cpi" */
    int is_above;                 /* 1: changes above `change` fail; 0: changes below */
    double change;                /* Limit of the change: .03 is 3 % more */
    size_t row, figure;
    enum rps_change_answer answer;
};

/* Return how many runs per side would decide an inconclusive limit (see rps_change_runs). The
 * result is larger than the number of runs that the comparison has. Return NaN if the limit is not
 * inconclusive, or if rps_change_runs returns NaN. */
double rps_comparison_limit_runs(const struct rps_comparison *comparison,
                                 const struct rps_comparison_limit *limit);

/* Return the answer as a sentence without full stop, in the comparison's arena: "'elapsed>+3%'
 * inconclusive: +34 % (-7 to +91 %); about 20 runs per side would decide it". */
const char *rps_comparison_limit_text(const struct rps_comparison *comparison,
                                      const struct rps_comparison_limit *limit);

struct rps_comparison_output {
    const struct rps_comparison *comparison;
    int all; /* 1: the text has every metric of every row; 0: only time and changes for phases */
    const struct rps_comparison_limit *limit; /* Limits, in JSON as "limits" */
    size_t limit_count;
};

/* Return the answer in one sentence without full stop, in the comparison's arena. The sentence says
 * how much more or less time side B takes, or that no difference is shown. The sentence then names
 * the phase that causes most of the difference, and the metric or function that changed in this
 * phase. If no difference is shown, the sentence says how large the difference may still be. If
 * each side has one run, the sentence says only "these runs differ", because the runs may differ by
 * chance. The sentence is printable even if names are not. Numbers are in the thread's locale. */
const char *rps_comparison_answer(const struct rps_comparison *comparison);

/* Put the whole comparison into a document: answer, sides, lengths of phases, metrics, functions
 * and remarks. Phases that only one side has are included. Output for programs has every metric of
 * every row (the table of the CSV). Numbers in texts are in the thread's locale. */
void rps_comparison_put(struct rps_document *document, const struct rps_comparison_output *output);

/* --- pictures: both sides over time, with their phases ---------------------------------------- */

struct rps_comparison_plot {
    const struct rps_comparison *comparison;
    const char *path; /* Output file: .png, .svg or .pdf by gnuplot, or an interactive .html page */
    const char *const
        *metric; /* Metrics by name (NULL: CPU use and the metrics that changed most) */
    size_t metric_count;
    enum rps_theme theme;
    int width, height;            /* Size of the picture in pixels (0: automatic) */
    const char *keep;             /* Directory to keep gnuplot's script and data in (NULL: none) */
    const char *script_folder;    /* Directory of gnuplot scripts and page parts, as for rps_plot */
    const char *temporary_folder; /* Parent of gnuplot's directory (NULL or "": P_tmpdir) */
};

/* Draw each side's representing run as a bold line, other runs thin, and both sides' phases below.
 * Return RPS_USAGE for an unknown extension or metric, or errors of gnuplot and the store. */
int rps_comparison_draw(const struct rps_comparison_plot *plot, struct rps_error *err);
