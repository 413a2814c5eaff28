/* Options of the commands that draw: `plot` and `compare`. */
#ifndef RPISTAT_CLI_PICTURE_OPTIONS_H
#define RPISTAT_CLI_PICTURE_OPTIONS_H

#include <stddef.h>

#include "rpistat/error.h"
#include "rpistat/plot.h"

#define RPS_PICTURE_METRIC_MAX 64

/* The names of --metric, zeroed before the first. */
struct rps_picture_metrics {
    size_t count;
    const char *name[RPS_PICTURE_METRIC_MAX]; /* in text */
    char text[4096];                          /* cut at its commas */
    size_t used;
};

/* What makes a picture rather than a smudge, or a file too large to open. */
struct rps_picture_size {
    const char *unit;
    unsigned width_min, height_min, width_max, height_max;
    const char *example;
};

extern const struct rps_picture_size rps_picture_pixels;

/* --metric, names between commas; it may be given again. All of these: RPS_USAGE for what makes no
 * sense. */
int rps_picture_metrics(struct rps_picture_metrics *metrics, const char *text,
                        struct rps_error *err);

/* --theme */
int rps_picture_theme(const char *text, enum rps_theme *ret, struct rps_error *err);

/* --size "WxH" within limits; NULL: not given, and nothing is done. */
int rps_picture_size(const char *text, const struct rps_picture_size *limits, int *ret_width,
                     int *ret_height, struct rps_error *err);

/* --keep */
int rps_picture_keep(const char *text, const char **ret, struct rps_error *err);

#endif
