/* Series with known phases, for the tests of the detector: the same numbers every time. */
#ifndef DETECT_SERIES_H
#define DETECT_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/detect.h"

/* A standard normal number, nearly (the sum of twelve even ones). */
double series_normal(uint64_t *state);

/* Signals of zeros that were all seen; weight, resolution and broken are NULL. */
struct rps_signals series_make(size_t count, size_t signal_count);

/* Normal noise, `scale` wide, around levels[k] for `length` observations each. */
struct rps_signals series_levels(const double *levels, size_t level_count, size_t length,
                                 size_t signal_count, double scale, uint64_t seed);

/* Each signal the sum of three autoregressions, a quick, a slow and a slower one. */
struct rps_signals series_wandering(size_t count, size_t signal_count, uint64_t *state);

#endif
