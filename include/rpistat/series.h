/*
 * One quantity over time, with gaps. This type is common to all that read the store.
 */
#ifndef RPISTAT_SERIES_H
#define RPISTAT_SERIES_H

#include <stddef.h>

#include "rpistat/arena.h"

struct rps_series {
    size_t count;       /* points */
    double *position;   /* middle of each point on the axis: s, or clock ticks */
    double *value;      /* NaN: not observed */
    double *min, *max;  /* smallest and largest value inside the point; NaN if value is */
    double *low, *high; /* 95 % interval of the value; NaN where there is none */
};

/* Return a series without points that can hold `points` of them. */
struct rps_series rps_series_new(struct rps_arena *arena, size_t points);

/* Append a point, which must fit. min and max are widened to hold value; there is no interval. */
void rps_series_add(struct rps_series *series, double position, double value, double min,
                    double max);

/* Return 1 if neither neighbour of a point has a value, so that no line can show it. */
int rps_series_is_lone(const struct rps_series *series, size_t i);

#endif
