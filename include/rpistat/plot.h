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

/* Kinds of pictures: the name in C, the word of `--kind`, its help; draw/fill_NAME.c makes it. */
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

/* The words of `--kind`. */
extern const char *const rps_plot_kind_names[RPS_PLOT_KIND_COUNT];

/* The contents of the panel "Code" of a run with samples. */
enum rps_plot_code {
    RPS_PLOT_CODE_CHOSEN, /* functions, or programs (rpistat/run_code.h); no panel if metrics or
                             panels are named */
    RPS_PLOT_CODE_FUNCTION,
    RPS_PLOT_CODE_MODULE,
    RPS_PLOT_CODE_THREAD,
    RPS_PLOT_CODE_PROGRAM,
    RPS_PLOT_CODE_CGROUP,
    RPS_PLOT_CODE_NONE,
    RPS_PLOT_CODE_COUNT,
};

/* The words of `--code`. */
extern const char *const rps_plot_code_names[RPS_PLOT_CODE_COUNT];

struct rps_plot_options {
    int64_t from_ns, to_ns; /* time range; 0 and INT64_MAX: the whole run */
    struct rps_cpus cpus;   /* of a recording by CPU; kinds except RPS_PLOT_TIME add them up */
    enum rps_plot_kind kind;
    enum rps_axis axis;
    int clock; /* 1: the time axis shows the time of day (rpistat/wall.h) */
    enum rps_theme theme;
    int no_phases;                   /* 1: phases are neither detected nor drawn */
    const struct rps_phases *phases; /* borrowed: known phases of the drawn time range; NULL: detect
                                        them */
    const char *const *metric;       /* borrowed: names of the only metrics to draw. The two of
                                        RPS_PLOT_SCATTER: to the right, and upwards */
    size_t metric_count;             /* 0: all that have a panel */
    const char *const *panel;  /* borrowed: texts that occur in panel titles, in any case; other
                                  panels are not drawn */
    size_t panel_count;        /* 0: all */
    enum rps_plot_code code;   /* for RPS_PLOT_TIME; for RPS_PLOT_HEAT, if given, one row each */
    const char *output;        /* file; its suffix (.png .svg .pdf .html) selects the format; "-": a
                                  drawing in characters, into `out` */
    const char *keep;          /* directory that keeps script and data, or NULL */
    const char *script_folder; /* directory of the gnuplot scripts, and of the page's parts */
    int width, height; /* pixels (characters for "-"); 0: automatic. Panels that do not fit into a
                          given height are left out, and the picture says so */
    FILE *out;         /* for "-": destination of the drawing */
    int colour;        /* ... 1: colours are allowed */
    int ascii;         /* ... 1: only ASCII characters are allowed */
    int untitled;      /* ... 1: no line of the run's host, time and length */
    int sixel;         /* ... 1: gnuplot's sixels; width and height are pixels */
    const char *temporary_folder; /* parent of gnuplot's directory; NULL or "": P_tmpdir */
};

/*
 * Draw a run. Errors, one sentence each: the store's; an unknown suffix; gnuplot missing or
 * failing; a directory or file that cannot be written. Also a run without periods, or without
 * phases if the kind needs them. RPS_USAGE: options that exclude each other, or an unknown metric
 * or panel, with a list of the known ones. The output appears complete or not at all. A signal that
 * ends the program takes effect after gnuplot has been ended and its directory removed.
 */
int rps_plot_draw(struct rps_reader *reader, int64_t run_id, const struct rps_plot_options *options,
                  struct rps_error *err);

#endif
