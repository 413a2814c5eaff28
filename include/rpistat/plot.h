/*
 * Pictures of a run, drawn by gnuplot with the scripts of `plot/`, and the interactive page.
 */
#ifndef RPISTAT_PLOT_H
#define RPISTAT_PLOT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rpistat/bins.h"
#include "rpistat/cpus.h"
#include "rpistat/error.h"
#include "rpistat/palette.h"
#include "rpistat/phase.h"

struct rps_reader;

/* Kinds of pictures: in C, as `--kind` takes it, its line of the help; draw/fill_NAME.c makes it. */
#define RPS_PLOT_KINDS(KIND)                                                                       \
    KIND(TIME, time, "time     panels of metrics over time, phases shaded")                        \
    KIND(TURN, turn, "turn     one iteration of a loop: the median, and a band")                   \
    KIND(PHASES, phases, "phases   the phase classes side by side, metric by metric")              \
    KIND(SCATTER, scatter, "scatter  two metrics against each other, coloured by phase")           \
    KIND(HEAT, heat, "heat     one row per metric over time, or per function with --code")         \
    KIND(PCA, pca, "pca      principal components over time, and against each other")

enum rps_plot_kind {
#define RPS_PLOT_KIND(kind, name, help) RPS_PLOT_##kind,
    RPS_PLOT_KINDS(RPS_PLOT_KIND)
#undef RPS_PLOT_KIND
        RPS_PLOT_KIND_COUNT,
};

/* As `--kind` takes it. */
extern const char *const rps_plot_kind_names[RPS_PLOT_KIND_COUNT];

/* What the panel "Code" of a run with samples shows shares of. */
enum rps_plot_code {
    RPS_PLOT_CODE_CHOSEN, /* functions, or programs (rpistat/run_code.h); no panel where metrics or
                             panels are named */
    RPS_PLOT_CODE_FUNCTION,
    RPS_PLOT_CODE_MODULE,
    RPS_PLOT_CODE_THREAD,
    RPS_PLOT_CODE_PROGRAM,
    RPS_PLOT_CODE_CGROUP,
    RPS_PLOT_CODE_NONE,
    RPS_PLOT_CODE_COUNT,
};

/* As `--code` takes it. */
extern const char *const rps_plot_code_names[RPS_PLOT_CODE_COUNT];

struct rps_plot_options {
    int64_t from_ns, to_ns; /* the part of the run; 0 and INT64_MAX for all of it */
    struct rps_cpus cpus;   /* of a recording by CPU; kinds but RPS_PLOT_TIME add them up */
    enum rps_plot_kind kind;
    enum rps_axis axis;
    int clock; /* 1: the axis of time shows the clock on the wall (rpistat/wall.h) */
    enum rps_theme theme;
    int no_phases;                   /* 1: phases are neither looked for nor drawn */
    const struct rps_phases *phases; /* borrowed: known already, of the part that is drawn; NULL:
                                        looked for */
    const char *const *metric;       /* borrowed: names of metrics; these only. The two of
                                  RPS_PLOT_SCATTER: to the right, and upwards */
    size_t metric_count;             /* 0: all that have a panel */
    const char *const *panel;  /* borrowed: texts that occur in titles of panels, in any case; these
                                  panels only */
    size_t panel_count;        /* 0: all */
    enum rps_plot_code code;   /* of RPS_PLOT_TIME; of RPS_PLOT_HEAT a row each, where it is said */
    const char *output;        /* file; its ending (.png .svg .pdf .html) chooses the format; "-": a
                                  drawing in characters, into `out` */
    const char *keep;          /* folder to leave script and data in, or NULL */
    const char *script_folder; /* folder of the gnuplot scripts, and of the page's parts */
    int width, height; /* pixels (characters for "-"); 0: chosen. Panels that do not fit into
                          a height that was given are left out, and the picture says so */
    FILE *out;         /* for "-": where the drawing goes */
    int colour;        /* ... 1 when colours may be used */
    int ascii;         /* ... 1 when no other characters may be */
    int untitled;      /* ... 1 without a line of the run's host, time and length */
    int sixel;         /* ... 1 for a picture as gnuplot's sixels; width and height are pixels */
    const char *temporary_folder; /* where gnuplot's folder is made; NULL or "": P_tmpdir */
};

/*
 * Draw a run. Errors, one sentence each: the store's; an ending that is no known format; gnuplot
 * missing or failing; a folder or file that cannot be written; a run without periods, or (kinds
 * that need them) without phases; RPS_USAGE for a metric or panel that the run does not have, with
 * those that it has, or options that exclude each other. The output appears whole or not at all; a
 * signal that ends the program does so when gnuplot has been ended and its folder removed.
 */
int rps_plot_draw(struct rps_reader *reader, int64_t run_id, const struct rps_plot_options *options,
                  struct rps_error *err);

#endif
