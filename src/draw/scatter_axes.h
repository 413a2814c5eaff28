/* The two metrics of a scatter plot that distinguish its phases. */
#ifndef RPISTAT_DRAW_SCATTER_AXES_H
#define RPISTAT_DRAW_SCATTER_AXES_H

#include <stddef.h>
#include <stdint.h>

/* Points with a value per metric, and a label. */
struct rps_scatter_points {
    size_t count, metric_count;
    float *value;    /* value[point * metric_count + metric]; NaN: unknown */
    uint16_t *label; /* of each point */
};

/* Choose the metric whose ranks the labels explain best, then the one that adds most to it. ret
 * gets their numbers, or -1 for a missing one. */
void rps_scatter_choose_axes(const struct rps_scatter_points *points, int ret[2]);

#endif
