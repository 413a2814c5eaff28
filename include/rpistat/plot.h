/*
 * Pictures of a run: one figure, panels under a common axis, drawn by gnuplot with the scripts of
 * `plot/`.
 */
#ifndef RPISTAT_PLOT_H
#define RPISTAT_PLOT_H

#include <stdint.h>

#include "rpistat/bins.h"
#include "rpistat/cpus.h"
#include "rpistat/error.h"
#include "rpistat/store.h"

struct rps_plot_options {
    int64_t from_ns, to_ns;   /* the part of the run; 0 and INT64_MAX for all of it */
    struct rps_cpus cpus;     /* of a recording by CPU */
    enum rps_axis axis;
    const char *output;       /* file; its ending (.png .svg .pdf) chooses the format; "-": a drawing
                                 in characters on standard output */
    const char *keep;         /* folder to leave script and data in, or NULL */
    const char *script_folder;/* folder of the gnuplot scripts */
    int width, height;        /* pixels (characters for "-"); 0: chosen */
    int colour;               /* for "-": 1 when colours may be used */
};

/*
 * Draw a run. Errors, one sentence each: the store's; an ending that is no known format; gnuplot
 * missing or failing; a folder or file that cannot be written; a run without periods. The output
 * appears whole or not at all.
 */
int rps_plot_draw(struct rps_reader *reader, int64_t run_id,
                  const struct rps_plot_options *options, struct rps_error *err);

#endif
