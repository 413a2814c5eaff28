/* Clouds: many labelled points, reduced to the resolution of a picture. If thousands of points
 * overlap, one dot represents all points of a label within a few pixels. The dot's opacity shows
 * the number of these points. Every point has an effect, whatever its position in the arrays. */
#pragma once

#include "rpistat/picture.h"

#include <stddef.h>
#include <stdint.h>

struct rps_cloud {
    size_t count;
    float *x, *y; /* coordinates, in the arena */
    uint16_t *label;
};

/* Add a point; values that are not finite are ignored. */
void rps_cloud_add(struct rps_cloud *cloud, struct rps_arena *arena, double x, double y, int label);

/* Choose an axis for one coordinate of the points: `values` is cloud->x or cloud->y. The axis
 * includes all points, except a few that are far away from all others. If may_log is 1 and nearly
 * all values would be at one end, the values are replaced by their decimal logarithms. */
void rps_cloud_scale(struct rps_chart *chart, float *values, size_t count, int tics, int may_log,
                     struct rps_scale *ret);

/* Draw the points into a panel that has axes, one layer per label. If `named` is set, also draw the
 * name of each label in the middle of its points. Returns the number of points outside the axes. */
size_t rps_cloud_draw(const struct rps_cloud *cloud, struct rps_chart *chart,
                      struct rps_panel *panel, int named);

/* The two metrics of a scatter plot that distinguish its phases. */

/* Points with a value per metric, and a label. */
struct rps_scatter_points {
    size_t count, metric_count;
    float *value;    /* array: value[point * metric_count + metric]; NaN: unknown */
    uint16_t *label; /* label of each point */
};

/* Choose the metric whose ranks the labels explain best. Then choose the metric that improves this
 * explanation most. `ret` is set to the numbers of both metrics, or -1 for a missing one. */
void rps_scatter_choose_axes(const struct rps_scatter_points *points, int ret[2]);
