/*
 * A comparison of two runs, or two groups of runs: the whole and each kind of phase, figure by
 * figure, and the functions where samples were taken. Side A is what was, side B what is.
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

/* A run that takes part. */
struct rps_comparison_run {
    struct rps_reader *reader; /* borrowed */
    int64_t run_id;
    enum rps_comparison_side side;
    const char *store;        /* borrowed: its path */
    struct rps_run run;       /* owned */
    struct rps_phases phases; /* owned; labels are rows - 1, in the order of rows; -1: of no row */
};

/* What a figure is. */
enum rps_comparison_kind {
    RPS_FIGURE_TIME,   /* elapsed time, seconds: of the whole, of all phases of a row */
    RPS_FIGURE_CPU,    /* CPU time, seconds */
    RPS_FIGURE_METRIC, /* of the plan: a ratio or a rate, and CPU use */
    RPS_FIGURE_TOTAL,  /* an event's estimated count */
    RPS_FIGURE_SYSTEM, /* what others did to it: waiting for a CPU, steal */
};

struct rps_comparison_figure {
    enum rps_comparison_kind kind;
    char name[RPS_NAME_SIZE];  /* "elapsed", "cpu_time", "cpi", "instructions" */
    char label[RPS_NAME_SIZE]; /* for people: "Elapsed", "CPI" */
    char unit[RPS_NAME_SIZE];  /* "s", "%", "/s"; "" */
};

/* A function, or all code of a module without names, in a row. */
struct rps_comparison_function {
    struct rps_share_name name; /* borrowed, from the shares of the comparison */
    double a_share, b_share;    /* of the row's samples, 0 ... 1 */
    struct rps_change seconds;  /* CPU time in it: a total */
};

/* The whole, or a kind of phase. */
struct rps_comparison_row {
    int label;                      /* 0: A; of this comparison; -1: the whole */
    size_t a_times, b_times;        /* phases of the kind in the runs that stand for the sides; 0:
                                      went, came; 1 for the whole */
    int64_t a_start_ns, b_start_ns; /* of the first of them; -1: none */
    struct rps_change *change;      /* of each figure */
    size_t function_count;
    struct rps_comparison_function *function; /* by how much their time changed; none without
                                                 samples on both sides */
};

/* What is not owned lies in the arena, or is borrowed where it says so. */
struct rps_comparison {
    struct rps_arena *arena; /* borrowed */
    size_t run_count;
    struct rps_comparison_run *run; /* side A first */
    size_t a_count, b_count;
    const char *name[2];  /* of the sides, for people: their label, or "run 3", "runs 1-3,7" */
    const char *label[2]; /* the same where it is a label; NULL: it is not */
    size_t standing[2];   /* the run that stands for each side: whose phases the rows are of */
    size_t figure_count;
    struct rps_comparison_figure *figure; /* elapsed, CPU time, metrics, CPU use, totals,
                                             waiting */
    size_t row_count;
    struct rps_comparison_row *row; /* the whole, then kinds of phases by their label */
    size_t remark_count;
    char **remark; /* sentences on what could not be compared and what makes it doubtful:
                      other machines, other event sets, no samples on a side, time without phases */
    struct rps_part_shares
        *shares; /* each owned; of each run, a group each row, 0 being what is in no
                                       other; names of functions borrow from them. NULL: samples
                                       were not looked at */
};

struct rps_comparison_options {
    struct rps_level_choice level;
    int no_phases;  /* 1: the whole alone */
    int no_samples; /* 1: neither for phases nor as functions */
};

/* What takes part, as the caller chose it. */
struct rps_comparison_choice {
    struct rps_reader *reader; /* borrowed, for as long as the comparison lives */
    const char *store;         /* borrowed, likewise: its path */
    int64_t run_id;
    enum rps_comparison_side side;
};

/*
 * Compare. Values of a row are of all its phases in a run together; p values are corrected (Holm)
 * over rows and figures, those of functions over rows and functions: without the figures of which
 * both sides have 0, and where the runs are one phase, for the whole and for it apart. A row in
 * which a side has nothing has no tests. Figures are those that all runs have by name, made in one
 * way of the same events. *ret is for rps_comparison_free in any case, and lives no longer than the
 * arena. Errors: the store's; a side without runs; one run on both sides, or twice on one
 * (RPS_USAGE); a run that is still being recorded.
 */
int rps_comparison_find(struct rps_arena *arena, const struct rps_comparison_choice *choice,
                        size_t count, const struct rps_comparison_options *options,
                        struct rps_comparison *ret, struct rps_error *err);
void rps_comparison_free(struct rps_comparison *comparison);

/* 1: all runs lie in one store. */
int rps_comparison_has_one_store(const struct rps_comparison *comparison);

/* The figure by its name, or -1. */
int rps_comparison_figure(const struct rps_comparison *comparison, const char *name);

/* In words: what the change is worth. */
enum rps_comparison_verdict {
    RPS_VERDICT_NONE,         /* no test, or no value */
    RPS_VERDICT_SAME,         /* no difference is shown */
    RPS_VERDICT_PERHAPS_LESS, /* p below .05; but adjusted p is not, or a side has too few runs */
    RPS_VERDICT_PERHAPS_MORE,
    RPS_VERDICT_LESS, /* adjusted p below .05, with enough runs */
    RPS_VERDICT_MORE,
};
enum rps_comparison_verdict rps_comparison_verdict(const struct rps_change *change);

/* --- what it says to people, in pull requests (Markdown) and to programs (JSON, CSV) ------------- */

/* A limit that the user set to a change, and whether it is kept. */
struct rps_comparison_limit {
    const char *text;             /* as it was written: "C:cpi>+3%" */
    char name[2 * RPS_NAME_SIZE]; /* of the figure, with its phase: "C:cpi" */
    int is_above;                 /* 1: fails above `change`; 0: below it */
    double change;                /* .03 is 3 % more */
    size_t row, figure;
    enum rps_change_answer answer;
};

/* How many runs a side would decide a limit that is undecided, more than there are: as
 * rps_change_runs has it. NaN likewise, and of one that is not undecided. */
double rps_comparison_limit_runs(const struct rps_comparison *comparison,
                                 const struct rps_comparison_limit *limit);

/*
 * The answer in a sentence without its full stop: "'elapsed>+3%' undecided: +34 % (-7 to +91 %);
 * about 20 runs of each would decide it". It lies in the comparison's arena.
 */
const char *rps_comparison_limit_text(const struct rps_comparison *comparison,
                                      const struct rps_comparison_limit *limit);

struct rps_comparison_output {
    const struct rps_comparison *comparison;
    int all; /* 1: people read every figure of every row; 0: of phases time and what changed */
    const struct rps_comparison_limit *limit; /* in JSON: "limits" */
    size_t limit_count;
};

/*
 * The answer in one sentence without its full stop: how much longer or shorter side B takes (or that
 * no difference is shown, and how large it may be), which phase has most of it, and what changed
 * there: a figure, a function. One run against one: "these runs differ", never that a change did
 * it. Printable, whatever the names; numbers are in the thread's locale. It lies in the comparison's
 * arena.
 */
const char *rps_comparison_answer(const struct rps_comparison *comparison);

/*
 * Put all there is to say: the answer, what was compared, how long the phases are with what came and
 * went, the figures, functions, remarks; to programs every figure of every row (the table of the
 * CSV). Numbers in texts are in the thread's locale.
 */
void rps_comparison_put(struct rps_document *document, const struct rps_comparison_output *output);

/* --- pictures: both sides over time, with their phases -------------------------------------------- */

struct rps_comparison_plot {
    const struct rps_comparison *comparison;
    const char *path; /* .png, .svg, .pdf by gnuplot; .html an interactive page */
    const char *const
        *metric; /* figures by name; NULL: CPU use and the metrics that changed most */
    size_t metric_count;
    enum rps_theme theme;
    int width, height;         /* in pixels; 0: as suits */
    const char *keep;          /* folder that gnuplot's script and data are left in; NULL: none */
    const char *script_folder; /* of the gnuplot scripts and the page's parts, as for rps_plot */
    const char *temporary_folder; /* where gnuplot's folder is made; NULL or "": P_tmpdir */
};

/* Draw. All runs of a side thin, the one that stands for it bold; strips of the phases of both
 * below. Errors: RPS_USAGE for an extension or metric that is not there; gnuplot's; the store's. */
int rps_comparison_draw(const struct rps_comparison_plot *plot, struct rps_error *err);

#endif
