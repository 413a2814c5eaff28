/* Draw pictures of a run with gnuplot and the scripts of `plot/`, or as an interactive page. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "rpistat/bins.h"
#include "rpistat/cpus.h"
#include "rpistat/error.h"
#include "rpistat/chart.h"
#include "rpistat/phase.h"

struct rps_reader;

/* Kinds of pictures: name in C, value of `--kind`, help line. The script is plot/fill_NAME.c. */
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

/* Values of the option `--kind`. */
extern const char *const rps_plot_kind_names[RPS_PLOT_KIND_COUNT];

/* Contents of the panel "Code" for a run with samples. */
enum rps_plot_code {
    RPS_PLOT_CODE_CHOSEN, /* Functions or programs, as rpistat/run_code.h chooses; no panel if
                             the user named metrics or panels. */
    RPS_PLOT_CODE_FUNCTION,
    RPS_PLOT_CODE_MODULE,
    RPS_PLOT_CODE_THREAD,
    RPS_PLOT_CODE_PROGRAM,
    RPS_PLOT_CODE_CGROUP,
    RPS_PLOT_CODE_NONE,
    RPS_PLOT_CODE_COUNT,
};

/* Values of the option `--code`. */
extern const char *const rps_plot_code_names[RPS_PLOT_CODE_COUNT];

struct rps_plot_options {
    int64_t from_ns, to_ns; /* drawn time range; 0 and INT64_MAX: the whole run */
    struct rps_cpus cpus;   /* Selected CPUs in a recording by CPU; only RPS_PLOT_TIME can draw
                               each CPU */
    enum rps_plot_kind kind;
    enum rps_axis axis;
    int clock; /* 1 if the time axis shows the time of day (rpistat/clock.h) */
    enum rps_theme theme;
    int no_phases;                   /* 1 if phases are neither detected nor drawn */
    const struct rps_phases *phases; /* Known phases of the drawn time range, borrowed. NULL:
                                        detect the phases. */
    const char *const *metric;       /* Names of the metrics to draw, borrowed. RPS_PLOT_SCATTER
                                        draws the first on the x axis, the second on the y axis. */
    size_t metric_count;             /* number of names; 0: all metrics that have a panel */
    const char *const *panel;        /* Texts that select panels, borrowed. A panel is drawn if
                                        its title contains one of the texts (in any case). */
    size_t panel_count;              /* number of texts; 0: all panels */
    enum rps_plot_code code;         /* contents of the panel "Code"; for RPS_PLOT_HEAT, rows of
                                        the picture */
    const char *const *function;     /* Names of functions to draw, for RPS_PLOT_TIME; borrowed */
    size_t function_count;           /* number of names, at most RPS_PALETTE_LINES */
    int wall;                        /* 1 if functions have shares of the threads' time */
    const char *output;              /* Output file, whose suffix (.png .svg .pdf .html) selects the
                                  format. "-": draw with characters into `out`. */
    const char *keep;                /* directory that keeps script and data; NULL: none */
    const char *script_folder;       /* directory of the gnuplot scripts and of the page's parts */
    int width, height; /* Size in pixels (for "-": in characters); 0: automatic. If the height is
                          too small for all panels, some are left out and the picture reports it. */
    FILE *out;         /* destination of a drawing with characters */
    int colour;        /* 1 if the drawing may use colours */
    int ascii;         /* 1 if the drawing may use only ASCII characters */
    int untitled;      /* 1 to omit the title line with the run's host, time and length */
    int sixel;         /* 1 to draw with gnuplot's sixels; width and height are then pixels */
    const char *temporary_folder; /* parent of the temporary directory; NULL or "": P_tmpdir */
};

/* Draw a picture of a run. The output file is written completely or not at all. If a signal ends
 * the program, gnuplot is first ended and its directory is removed. Return RPS_USAGE for options
 * that exclude each other, or an unknown metric or panel, with a list of the known names. Other
 * errors come from the store, an unknown suffix, a failure of gnuplot, an unwritable directory or
 * file, or a run without periods or phases that the picture needs. */
int rps_plot_draw(struct rps_reader *reader, int64_t run_id, const struct rps_plot_options *options,
                  struct rps_error *err);

/* A file format of gnuplot. To draw a picture, rpistat writes the chart's files and the scripts
 * into a directory, and runs gnuplot there. */

struct rps_gnuplot_format {
    const char *ending, *name; /* suffix of the file; name of the format in the script */
    const char *tail;          /* text that the end of every complete file contains */
    size_t tail_size;
};

extern const struct rps_gnuplot_format rps_gnuplot_sixel;

/* Return the format for a file's suffix: .png, .svg or .pdf. Return NULL for another suffix. */
const struct rps_gnuplot_format *rps_gnuplot_format(const char *path);

struct rps_gnuplot_picture {
    const struct rps_gnuplot_format *format;
    const struct rps_chart *chart;
    const char *script_folder;    /* directory of the script that draws the chart */
    const char *keep;             /* working directory to keep; NULL: a temporary directory */
    const char *temporary_folder; /* parent of the temporary directory; NULL or "": P_tmpdir */
    int out_fd;                   /* descriptor to which gnuplot writes the picture */
};

/* Draw a chart. If a signal ends the program, gnuplot is first ended and its directory is removed.
 * It is an error if gnuplot fails or is missing. It is also an error if a directory or file cannot
 * be created, or other users can write to it. */
int rps_gnuplot_draw(const struct rps_gnuplot_picture *picture, struct rps_error *err);

/* Draw into a file; `out_fd` is not used. Errors also include those of rps_output_file_open. */
int rps_gnuplot_draw_file(const struct rps_gnuplot_picture *picture, const char *path,
                          struct rps_error *err);

/* Copy the rest of a stream to another. Return 0, or a negative value with errno set. */
int rps_gnuplot_copy(FILE *from, FILE *to);
