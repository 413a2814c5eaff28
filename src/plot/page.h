/* The interactive page: one file that needs no other files and sends no network requests. */
#pragma once

#include <stdio.h>

#include "rpistat/picture.h"

/* The hashes of all scripts that pages run, computed by hashes.py. */
extern const char rps_page_hashes[];

/* Write the page of an open picture. The error message names the input or output that failed. */
int rps_page_write(FILE *out, struct rps_picture *picture, struct rps_reader *reader,
                   const struct rps_plot_options *options, struct rps_error *err);
