/*
 * A picture by gnuplot: a folder is filled with a figure's files and the scripts, and gnuplot draws
 * there.
 */
#ifndef RPISTAT_GNUPLOT_FOLDER_H
#define RPISTAT_GNUPLOT_FOLDER_H

#include <stdio.h>

#include "rpistat/chart.h"
#include "rpistat/error.h"

struct rps_gnuplot_format {
    const char *ending, *name; /* of the file; for the script */
    const char *tail;          /* what the last bytes of a whole picture hold */
    size_t tail_size;
};

extern const struct rps_gnuplot_format rps_gnuplot_sixel;

/* The format that a file's ending means: .png, .svg or .pdf; NULL: another. */
const struct rps_gnuplot_format *rps_gnuplot_format(const char *path);

struct rps_gnuplot_picture {
    const struct rps_gnuplot_format *format;
    const struct rps_chart *chart;
    const char *script_folder;    /* where the script is that draws it */
    const char *keep;             /* the folder, which stays then; NULL: a temporary one */
    const char *temporary_folder; /* where that is made; NULL or "": P_tmpdir */
    int out_fd;                   /* gnuplot writes the picture there */
};

/*
 * Draw a chart. A signal that ends the program does so when gnuplot has been ended and its folder removed.
 * Errors: gnuplot's, which may be missing; a folder or file that cannot be made,
 * or that others can write.
 */
int rps_gnuplot_draw(const struct rps_gnuplot_picture *picture, struct rps_error *err);

/* Copy what is left of a stream. Negative with errno. */
int rps_gnuplot_copy(FILE *from, FILE *to);

#endif
