/*
 * Clouds: many points, each of a label, brought to a picture. Where thousands lie on one another,
 * one dot stands for all of a label in a few pixels, and its opacity tells how many there are: no
 * point is left out because there were others before it.
 */
#ifndef RPISTAT_SHOW_CLOUD_H
#define RPISTAT_SHOW_CLOUD_H

#include "rpistat/picture.h"

struct rps_cloud {
    size_t count, room;
    float *x, *y;    /* owned */
    uint16_t *label; /* owned */
};

int rps_cloud_add(struct rps_cloud *cloud, double x, double y, int label, struct rps_error *err);
void rps_cloud_free(struct rps_cloud *cloud);

/*
 * The axis that shows the points' x (values = cloud->x) or y well: all of them, unless a few are
 * far away from all others.
 */
struct rps_picture_axis rps_cloud_axis(const float *values, size_t count, int tics);

/*
 * Where nearly all points would lie at one end of the axis, replace the values by their decimal
 * logarithms and return 1; values below the six decades that are drawn get the end of these.
 */
int rps_cloud_take_log(float *values, size_t count);

/*
 * Write NAME.dat, a block of points for each label (x, y, colour; blocks are two empty lines
 * apart), and NAME-middle.dat (x, y, label: the middles of the labels' points). across x up are the
 * pixels of the panel. `numbers` gets NAME_blocks, NAME_label[] and NAME_outside, the points beyond
 * the axes.
 */
int rps_cloud_write(const struct rps_cloud *cloud, const struct rps_picture *picture,
                    const char *name, const struct rps_picture_axis *x,
                    const struct rps_picture_axis *y, double across, double up, int folder_fd,
                    FILE *numbers, struct rps_error *err);

#endif
