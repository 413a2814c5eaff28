/* A quantity over time, which may have gaps. All code that reads the store uses this type. */
#pragma once

#include <stddef.h>

#include "rpistat/arena.h"

struct rps_series {
    size_t count;       /* number of points */
    double *position;   /* position of each point's middle on the axis: s, or clock ticks */
    double *value;      /* value of each point; NaN: not observed */
    double *min, *max;  /* smallest and largest value inside the point; NaN if the value is NaN */
    double *low, *high; /* 95 % interval of the value; NaN if there is no interval */
    int is_stepped;     /* 1: two points per step, at the step's start and end */
};

/* Return an empty series with space for `points` points. */
struct rps_series rps_series_new(struct rps_arena *arena, size_t points);

/* Append a point without an interval. The series must have space for the point. min and max are
 * widened to include value. */
void rps_series_add(struct rps_series *series, double position, double value, double min,
                    double max);

/* Return 1 if both neighbours of a point have no value, so that a line cannot show the point. */
int rps_series_is_lone(const struct rps_series *series, size_t i);
