/*
 * Figures: what a picture of a run holds, before anybody draws it. A figure is read from the store,
 * binned to the width of the picture, and written as the files that the scripts of `plot/` load.
 */
#ifndef RPISTAT_SHOW_FIGURE_H
#define RPISTAT_SHOW_FIGURE_H

#include "rpistat/plot.h"
#include "rpistat/series.h"
#include "tracks.h"

/* Room in a picture (pixels at scale 1) and in a drawing (characters) that panels do not get. */
#define RPS_FIGURE_MARGIN        92 /* beside a panel */
#define RPS_FIGURE_FRAME_HEIGHT  98 /* title above and axis below the panels */
#define RPS_FIGURE_LEGEND_HEIGHT 17 /* of one row of the CPUs' legend, below the title */
#define RPS_FIGURE_LEGEND_ENTRY  73 /* width of one entry of it */
#define RPS_FIGURE_COLUMN_MARGIN 10
#define RPS_FIGURE_FRAME_LINES   4

struct rps_figure {
    struct rps_run run;
    struct rps_plan *plan;
    int apart;    /* 1: CPUs side by side: a panel a metric, in it a line a CPU */
    int quantile; /* 1: a line is the median of the CPUs, its band reaches from 10 % to 90 % */
    struct rps_tracks tracks;
    enum rps_axis axis;
    double from, to; /* of the axis: s or clock ticks */
    int characters;  /* 1: width and height are characters, not pixels */
    int width, height;
    double scale;              /* of text and lines: 1 for 1200 pixels across */
    int line_count;            /* of each metric: the CPUs that are side by side, or 1 */
    struct rps_series *series; /* owned; of each metric of the plan its lines, one after another;
                                  empty when it is not drawn */
    int panel_count;           /* at least 1 */
    int *panel;                /* owned; panel of each metric, -1 when it is not drawn */
};

/*
 * Read the run into a figure; options->output and keep do not matter here. `characters` as in the
 * struct. RPS_FAILED: the store's errors, a run without periods in that part. Free in both cases.
 */
int rps_figure_read(struct rps_figure *figure, struct rps_reader *reader, int64_t run_id,
                    const struct rps_plot_options *options, int characters, struct rps_error *err);

/* Rows of the CPUs' legend above the panels; 0 when there is none. */
int rps_figure_legend_rows(const struct rps_figure *figure);

/* Line `line` of a metric. */
struct rps_series *rps_figure_series(const struct rps_figure *figure, int metric, int line);

/* Write figure.gp, text.gp and the data files into the open folder. */
int rps_figure_write(const struct rps_figure *figure, int folder_fd, struct rps_error *err);

/* An all-zero figure is harmless. */
void rps_figure_free(struct rps_figure *figure);

#endif
