/*
 * A comparison of two runs, or two groups of runs: the whole and each phase class, by metric; with
 * samples, functions too. Side A is the earlier state, side B the later one.
 */
#ifndef RPISTAT_COMPARISON_H
#define RPISTAT_COMPARISON_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/change.h"
#include "rpistat/document.h"
#include "rpistat/error.h"
#include "rpistat/part_shares.h"
#include "rpistat/phase.h"
#include "rpistat/plot.h"
#include "rpistat/run.h"
#include "rpistat/run_phases.h"

struct rps_plan;
struct rps_reader;

enum rps_comparison_side { RPS_SIDE_A, RPS_SIDE_B };

/* A run in a comparison. */
struct rps_comparison_run {
    struct rps_reader *reader; /* borrowed */
    int64_t run_id;
    enum rps_comparison_side side;
    const char *store;        /* borrowed: its path */
    struct rps_run run;       /* owned */
    struct rps_phases phases; /* owned; labels are rows - 1, in the order of rows; -1: no row */
};

/* Kinds of metrics. */
enum rps_comparison_kind {
    RPS_FIGURE_TIME,   /* elapsed time, seconds: of the whole, of all phases of a row */
    RPS_FIGURE_CPU,    /* CPU time, seconds */
    RPS_FIGURE_METRIC, /* of the plan: a ratio or a rate, and CPU use */
    RPS_FIGURE_TOTAL,  /* an event's estimated count */
    RPS_FIGURE_SYSTEM, /* effects of other work: waiting for a CPU, steal */
};

struct rps_comparison_figure {
    enum rps_comparison_kind kind;
    char name[RPS_NAME_SIZE];  /* "elapsed", "cpu_time", "cpi", "instructions" */
    char label[RPS_NAME_SIZE]; /* in the text: "Elapsed", "CPI" */
    char unit[RPS_NAME_SIZE];  /* "s", "%", "/s"; "" */
};

/* A function, or all code of a module without names, in a row. */
struct rps_comparison_function {
    struct rps_share_name name; /* borrowed, from the shares of the comparison */
    double a_share, b_share;    /* shares of the row's samples, 0 ... 1 */
    struct rps_change seconds;  /* CPU time in it: a total */
};

/* The whole, or a phase class. */
struct rps_comparison_row {
    int label;                      /* 0: A; of this comparison; -1: the whole */
    size_t a_times, b_times;        /* phases of the class in the representing runs; 0: gone, new; 1
                                       for the whole */
    int64_t a_start_ns, b_start_ns; /* of the first of them; -1: none */
    struct rps_change *change;      /* of each metric */
    size_t function_count;
    struct rps_comparison_function *function; /* by how much their time changed; none without
                                                 samples on both sides */
};

/* Members that are not owned are in the arena, or borrowed if noted. */
struct rps_comparison {
    struct rps_arena *arena; /* borrowed */
    size_t run_count;
    struct rps_comparison_run *run; /* side A first */
    size_t a_count, b_count;
    const char *name[2];  /* of the sides, for the text: their label, or "run 3", "runs 1-3,7" */
    const char *label[2]; /* likewise if it is a label; NULL: it is not */
    size_t standing[2];   /* the run that represents each side: the rows are of its phases */
    size_t figure_count;
    struct rps_comparison_figure *figure; /* elapsed, CPU time, metrics, CPU use, totals,
                                             waiting */
    size_t row_count;
    struct rps_comparison_row *row; /* the whole, then phase classes by their label */
    size_t remark_count;
    char **remark; /* sentences on what could not be compared and on doubts: other machines, other
                      event sets, no samples on a side, time without phases */
    struct rps_part_shares
        *shares; /* each owned; of each run, one group per row, 0 being the remainder; names of
                    functions borrow from them. NULL: samples were not read */
};

struct rps_comparison_options {
    struct rps_level_choice level;
    int no_phases;  /* 1: only the whole */
    int no_samples; /* 1: neither for phases nor as functions */
};

/* The runs to compare, as the caller chose them. */
struct rps_comparison_choice {
    struct rps_reader *reader; /* borrowed, for as long as the comparison lives */
    const char *store;         /* borrowed, likewise: its path */
    int64_t run_id;
    enum rps_comparison_side side;
};

/*
 * Compare. Values of a row are of all its phases in a run together. p values are corrected (Holm)
 * over rows and metrics, those of functions over rows and functions. Metrics that are 0 on both
 * sides are excluded. If the runs are one phase, the whole and it are corrected separately. A row
 * that a side lacks has no tests. Metrics are those that all runs have by name, computed alike from
 * the same events. Release *ret with rps_comparison_free in any case; it lives no longer than the
 * arena. Errors: those of the store; a side without runs; a run on both sides, or twice on one
 * (RPS_USAGE); a run still being recorded.
 */
int rps_comparison_find(struct rps_arena *arena, const struct rps_comparison_choice *choice,
                        size_t count, const struct rps_comparison_options *options,
                        struct rps_comparison *ret, struct rps_error *err);
void rps_comparison_free(struct rps_comparison *comparison);

/* Return 1 if all runs are in one store. */
int rps_comparison_has_one_store(const struct rps_comparison *comparison);

/* Return the metric's index by its name; -1: none. */
int rps_comparison_figure(const struct rps_comparison *comparison, const char *name);

/* The verdict on a change. */
enum rps_comparison_verdict {
    RPS_VERDICT_NONE,         /* no test, or no value */
    RPS_VERDICT_SAME,         /* no difference shown */
    RPS_VERDICT_PERHAPS_LESS, /* p below .05, but adjusted p is not, or a side has too few runs */
    RPS_VERDICT_PERHAPS_MORE,
    RPS_VERDICT_LESS, /* adjusted p below .05, with enough runs */
    RPS_VERDICT_MORE,
};
enum rps_comparison_verdict rps_comparison_verdict(const struct rps_change *change);

/* --- output: for users, in pull requests (Markdown) and for programs (JSON, CSV) ----------------- */

/* A limit that the user set for a change, and whether it is kept. */
struct rps_comparison_limit {
    const char *text;             /* as it was written: "C:cpi>+3%" */
    char name[2 * RPS_NAME_SIZE]; /* of the metric, with its phase: "C:cpi" */
    int is_above;                 /* 1: fails above `change`; 0: below it */
    double change;                /* .03 is 3 % more */
    size_t row, figure;
    enum rps_change_answer answer;
};

/* Return the runs per side, more than there are, that would decide an inconclusive limit; see
 * rps_change_runs. NaN likewise, and if the limit is not inconclusive. */
double rps_comparison_limit_runs(const struct rps_comparison *comparison,
                                 const struct rps_comparison_limit *limit);

/*
 * Return the answer in a sentence without its full stop, in the comparison's arena: "'elapsed>+3%'
 * undecided: +34 % (-7 to +91 %); about 20 runs of each would decide it".
 */
const char *rps_comparison_limit_text(const struct rps_comparison *comparison,
                                      const struct rps_comparison_limit *limit);

struct rps_comparison_output {
    const struct rps_comparison *comparison;
    int all; /* 1: the text has every metric of every row; 0: for phases, time and changes */
    const struct rps_comparison_limit *limit; /* in JSON: "limits" */
    size_t limit_count;
};

/*
 * Return the answer in one sentence without its full stop: how much more or less time side B takes,
 * or that no difference is shown. Then follow the phase with most of it, and what changed there: a
 * metric, a function; without a difference, how large it may be. One run against one: "these runs
 * differ", never that a change caused it. Printable for any names; numbers are in the thread's
 * locale. It is in the comparison's arena.
 */
const char *rps_comparison_answer(const struct rps_comparison *comparison);

/*
 * Put everything: the answer, the sides, the lengths of the phases with new and missing ones, the
 * metrics, functions, remarks. Programs get every metric of every row (the table of the CSV).
 * Numbers in texts are in the thread's locale.
 */
void rps_comparison_put(struct rps_document *document, const struct rps_comparison_output *output);

/* --- pictures: both sides over time, with their phases -------------------------------------------- */

struct rps_comparison_plot {
    const struct rps_comparison *comparison;
    const char *path; /* .png, .svg, .pdf by gnuplot; .html an interactive page */
    const char *const
        *metric; /* metrics by name; NULL: CPU use and the metrics that changed most */
    size_t metric_count;
    enum rps_theme theme;
    int width, height;            /* in pixels; 0: automatic */
    const char *keep;             /* where gnuplot's script and data are left; NULL: nowhere */
    const char *script_folder;    /* of the gnuplot scripts and the page's parts, as for rps_plot */
    const char *temporary_folder; /* where gnuplot's directory is created; NULL or "": P_tmpdir */
};

/* Draw all runs of a side thin, the representing one bold, and strips of both sides' phases below.
 * Errors: RPS_USAGE for an unknown extension or metric; those of gnuplot and the store. */
int rps_comparison_draw(const struct rps_comparison_plot *plot, struct rps_error *err);

#endif
