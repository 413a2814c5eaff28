/*
 * The noun right of the store: one quantity over time, with gaps.
 */
#ifndef RPISTAT_SERIES_H
#define RPISTAT_SERIES_H

#include <stddef.h>
#include <stdint.h>

struct rps_series {
    size_t count;       /* points */
    double *position;   /* middle of each point on the axis: s, or clock ticks */
    double *value;      /* NaN: not observed */
    double *min, *max;  /* smallest and largest value inside the point; NaN as value */
};

/* Release what the series points to; the struct itself is the caller's. */
void rps_series_free(struct rps_series *series);

#endif
