/* Outliers of a series of values. Private to the detector. */
#ifndef RPISTAT_ANALYSE_DETECT_CLIP_H
#define RPISTAT_ANALYSE_DETECT_CLIP_H

#include <stddef.h>
#include <stdint.h>

/* So many values in a row are outliers, and no phase. */
#define RPS_CLIP_REACH 3

/* The median of the seven values around one; of fewer near the ends. */
double rps_clip_median(const double *value, size_t count, size_t at);

/*
 * Draw outliers in, into clean, which are further than `limit` from the running median: to that when
 * they are rare, to the limit when they are not, since then their number may be what changes.
 * is_wild, a value each: 1 where it is further than `wild`.
 */
void rps_clip(const double *value, size_t count, double limit, double wild, double *clean,
              uint8_t *is_wild);

#endif
