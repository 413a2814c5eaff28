/*
 * Running gnuplot.
 */
#ifndef RPISTAT_DRAW_GNUPLOT_H
#define RPISTAT_DRAW_GNUPLOT_H

#include "rpistat/error.h"

/* Its messages go into this file of its directory. */
#define RPS_GNUPLOT_LOG       "gnuplot.log"
#define RPS_GNUPLOT_SAID_SIZE 600

/* Run a script with one argument in the directory; the drawing goes to out_fd. gnuplot is killed
 * when stop_fd (0: none) is readable. RPS_FAILED with its message, or the package to install. */
int rps_gnuplot_run(int folder_fd, const char *script, const char *argument, int out_fd,
                    int stop_fd, struct rps_error *err);

/* Return the last meaningful line of its log. */
void rps_gnuplot_said(int folder_fd, char ret[RPS_GNUPLOT_SAID_SIZE]);

#endif
