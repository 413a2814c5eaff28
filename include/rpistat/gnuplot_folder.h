/*
 * A picture by gnuplot: a directory is filled with a chart's files and the scripts, and gnuplot
 * draws there.
 */
#ifndef RPISTAT_GNUPLOT_FOLDER_H
#define RPISTAT_GNUPLOT_FOLDER_H

#include <stdio.h>

#include "rpistat/chart.h"
#include "rpistat/error.h"

struct rps_gnuplot_format {
    const char *ending, *name; /* suffix of the file; name for the script */
    const char *tail;          /* contained in the last bytes of a complete picture */
    size_t tail_size;
};

extern const struct rps_gnuplot_format rps_gnuplot_sixel;

/* Return the format for a file's suffix: .png, .svg or .pdf; NULL: another. */
const struct rps_gnuplot_format *rps_gnuplot_format(const char *path);

struct rps_gnuplot_picture {
    const struct rps_gnuplot_format *format;
    const struct rps_chart *chart;
    const char *script_folder;    /* directory of the script that draws it */
    const char *keep;             /* the directory, which then stays; NULL: a temporary one */
    const char *temporary_folder; /* its parent; NULL or "": P_tmpdir */
    int out_fd;                   /* gnuplot writes the picture there */
};

/*
 * Draw a chart. A signal that ends the program takes effect after gnuplot has been ended and its
 * directory removed. Errors: gnuplot's, which may be missing; a directory or file that cannot be
 * created, or that others can write.
 */
int rps_gnuplot_draw(const struct rps_gnuplot_picture *picture, struct rps_error *err);

/* Copy the rest of a stream. Negative with errno. */
int rps_gnuplot_copy(FILE *from, FILE *to);

#endif
