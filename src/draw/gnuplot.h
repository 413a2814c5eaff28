/*
 * Running gnuplot.
 */
#ifndef RPISTAT_DRAW_GNUPLOT_H
#define RPISTAT_DRAW_GNUPLOT_H

#include "rpistat/error.h"

/* What it says goes into this file of its folder. */
#define RPS_GNUPLOT_LOG       "gnuplot.log"
#define RPS_GNUPLOT_SAID_SIZE 600

/* Run a script with one argument in the folder; what it draws goes to out_fd. It is killed when
 * stop_fd (0: none) can be read. RPS_FAILED with what gnuplot says, or what is to be installed. */
int rps_gnuplot_run(int folder_fd, const char *script, const char *argument, int out_fd,
                    int stop_fd, struct rps_error *err);

/* The last line it wrote into its log that says something. */
void rps_gnuplot_said(int folder_fd, char ret[RPS_GNUPLOT_SAID_SIZE]);

#endif
