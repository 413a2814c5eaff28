/* Series with known phases for the tests of the detector. Every run of the tests gets the same
 * numbers. */
#ifndef DETECT_SERIES_H
#define DETECT_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/detect.h"

/* Return an approximately standard normal number: the sum of twelve uniform numbers. */
double series_normal(uint64_t *state);

/* Make signals whose values are all 0 and all observed. The arrays weight, resolution and broken
 * are NULL. */
struct rps_signals series_make(size_t count, size_t signal_count);

/* Make a series of levels: `length` observations around each level, with normal noise of deviation
 * `scale`. */
struct rps_signals series_levels(const double *levels, size_t level_count, size_t length,
                                 size_t signal_count, double scale, uint64_t seed);

/* Make drifting signals. Each signal is the sum of three autoregressions of different speeds. */
struct rps_signals series_drifting(size_t count, size_t signal_count, uint64_t *state);

#endif
