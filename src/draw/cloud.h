/*
 * Clouds: many labelled points, reduced to the resolution of a picture. If thousands overlap, one
 * dot represents all of a label within a few pixels, and its opacity shows their number. No point
 * is left out because others came first.
 */
#ifndef RPISTAT_DRAW_CLOUD_H
#define RPISTAT_DRAW_CLOUD_H

#include "rpistat/picture.h"

struct rps_cloud {
    size_t count;
    float *x, *y; /* the arena's */
    uint16_t *label;
};

/* Add a point; values that are not finite are ignored. */
void rps_cloud_add(struct rps_cloud *cloud, struct rps_arena *arena, double x, double y, int label);

/*
 * Choose an axis for the points' coordinate x or y, here `values` (cloud->x or cloud->y). It shows
 * all, except a few that are far away from all others. With may_log, if nearly all would be at one
 * end, the values become their decimal logarithms.
 */
void rps_cloud_scale(struct rps_chart *chart, float *values, size_t count, int tics, int may_log,
                     struct rps_scale *ret);

/* Draw the points into a panel with axes, one layer per label, and, if `named`, the labels in the
 * middles of their points. Returns the number of points beyond the axes. */
size_t rps_cloud_draw(const struct rps_cloud *cloud, struct rps_chart *chart,
                      struct rps_panel *panel, int named);

#endif
