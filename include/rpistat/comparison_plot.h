/* Pictures of a comparison: both sides over time, with their phases. */
#ifndef RPISTAT_COMPARISON_PLOT_H
#define RPISTAT_COMPARISON_PLOT_H

#include "rpistat/comparison.h"
#include "rpistat/error.h"
#include "rpistat/plot.h"

enum rps_comparison_x {
    RPS_COMPARISON_TIME,  /* as it is: seconds since each run's start */
    RPS_COMPARISON_PHASE, /* phase-relative: matched phases lie over one another, each as
                             wide as the mean of both sides */
};

struct rps_comparison_plot {
    const struct rps_comparison *comparison;
    const char *path; /* .png, .svg, .pdf by gnuplot; .html an interactive page */
    const char *const
        *metric; /* figures by name; NULL: CPU use and the metrics that changed most */
    size_t metric_count;
    enum rps_comparison_x x;
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
