/*
 * Figures: what a picture of a run holds, before anybody draws it. A figure is read from the store,
 * binned to the width of the picture, and written as the files that the scripts of `plot/` load.
 */
#ifndef RPISTAT_SHOW_FIGURE_H
#define RPISTAT_SHOW_FIGURE_H

#include "rpistat/plot.h"
#include "rpistat/series.h"

struct rps_figure {
    struct rps_run run;
    struct rps_plan *plan;
    int32_t cpu; /* the figure is of this CPU's periods */
    enum rps_axis axis;
    double from, to; /* of the axis: s or clock ticks */
    int characters;  /* 1: width and height are characters, not pixels */
    int width, height;
    double scale;              /* of text and lines: 1 for 1200 pixels across */
    struct rps_series *series; /* owned; of each metric of the plan, empty when it is not drawn */
    int panel_count;           /* at least 1 */
    int *panel;                /* owned; panel of each metric, -1 when it is not drawn */
};

/*
 * Read the run into a figure; options->output and keep do not matter here. `characters` as in the
 * struct. RPS_FAILED: the store's errors, a run without periods in that part. Free in both cases.
 */
int rps_figure_read(struct rps_figure *figure, struct rps_reader *reader, int64_t run_id,
                    const struct rps_plot_options *options, int characters, struct rps_error *err);

/* Write figure.gp, text.gp and the data files into the open folder. */
int rps_figure_write(const struct rps_figure *figure, int folder_fd, struct rps_error *err);

/* An all-zero figure is harmless. */
void rps_figure_free(struct rps_figure *figure);

#endif
