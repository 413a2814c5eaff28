/*
 * The noun right of the store: one quantity over time, with gaps.
 */
#ifndef RPISTAT_SERIES_H
#define RPISTAT_SERIES_H

#include <stddef.h>

#include "rpistat/arena.h"

struct rps_series {
    size_t count;       /* points */
    double *position;   /* middle of each point on the axis: s, or clock ticks */
    double *value;      /* NaN: not observed */
    double *min, *max;  /* smallest and largest value inside the point; NaN as value */
    double *low, *high; /* 95 % interval of the value; NaN where there is none */
};

/* A series without points, and room for so many. */
struct rps_series rps_series_new(struct rps_arena *arena, size_t points);

/* Append a point, for which there must be room. min and max are widened to hold value; there is no
 * interval. */
void rps_series_add(struct rps_series *series, double position, double value, double min,
                    double max);

/* 1 when neither neighbour of a point has a value, so that no line can show it. */
int rps_series_is_lone(const struct rps_series *series, size_t i);

#endif
