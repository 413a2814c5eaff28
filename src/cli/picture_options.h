/* Options of the commands that draw: `plot` and `compare`. */
#ifndef RPISTAT_CLI_PICTURE_OPTIONS_H
#define RPISTAT_CLI_PICTURE_OPTIONS_H

#include "rpistat/error.h"
#include "rpistat/plot.h"

/* Limits for a readable picture whose file is not too large to open. */
struct rps_picture_size {
    const char *unit;
    unsigned width_min, height_min, width_max, height_max;
    const char *example;
};

extern const struct rps_picture_size rps_picture_pixels;

/* --size "WxH" within limits; NULL: not given, and nothing is done. */
int rps_picture_size(const char *text, const struct rps_picture_size *limits, int *ret_width,
                     int *ret_height, struct rps_error *err);

#endif
