/* Outliers of a series of values. Private to the detector. */
#ifndef RPISTAT_ANALYSE_DETECT_CLIP_H
#define RPISTAT_ANALYSE_DETECT_CLIP_H

#include <stddef.h>
#include <stdint.h>

/* This many values in a row, or fewer, are outliers and not a phase. */
#define RPS_CLIP_REACH 3

/* Return the median of the seven values around one; of fewer values near the ends. */
double rps_clip_median(const double *value, size_t count, size_t at);

/*
 * Clip outliers, which are further than `limit` from the running median, into `clean`. Rare
 * outliers are set to the median. Frequent ones are set to the limit, since their number may be
 * what changes. If a value is further than `wild` from the median, its is_wild is 1.
 */
void rps_clip(const double *value, size_t count, double limit, double wild, double *clean,
              uint8_t *is_wild);

#endif
