/*
 * Clouds: many points, each of a label, brought to a picture. Where thousands lie on one another,
 * one dot stands for all of a label in a few pixels, and its opacity tells how many there are: no
 * point is left out because there were others before it.
 */
#ifndef RPISTAT_DRAW_CLOUD_H
#define RPISTAT_DRAW_CLOUD_H

#include "rpistat/picture.h"

struct rps_cloud {
    size_t count;
    float *x, *y; /* the arena's */
    uint16_t *label;
};

/* What is not finite is left out. */
void rps_cloud_add(struct rps_cloud *cloud, struct rps_arena *arena, double x, double y, int label);

/*
 * The axis that shows the points' x (values = cloud->x) or y well: all of them, unless a few are
 * far away from all others. may_log: where nearly all would lie at one end, the values become their
 * decimal logarithms.
 */
void rps_cloud_scale(struct rps_chart *chart, float *values, size_t count, int tics, int may_log,
                     struct rps_scale *ret);

/* Draw the points into a panel with axes, a layer a label, and, where `named`, the labels in the
 * middles of their points. Returns how many points are beyond the axes. */
size_t rps_cloud_draw(const struct rps_cloud *cloud, struct rps_chart *chart,
                      struct rps_panel *panel, int named);

#endif
