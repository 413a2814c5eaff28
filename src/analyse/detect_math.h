/* Functions that the detector's files share. The results use only IEEE arithmetic and no functions
 * of the C library, so that they are the same on every system. */
#pragma once

#include <stddef.h>

/* Limit of noise, in robust deviations. Differences above this limit are changes or outliers. */
#define RPS_CLIP_DEVIATIONS 4

/* A boundary may lie where its likelihood is at least 1/20 of the maximum: 2 log 20 = 6.0. */
#define RPS_PLACE_SLACK 6.0

/* Return the value of the given rank (0: smallest). Reorders the values. Needs count > rank. */
double rps_select_rank(double *value, size_t count, size_t rank);

/* Return the median. For an even count, return the mean of both middle values. Reorders the values.
 * Needs count > 0. */
double rps_select_median(double *value, size_t count);

/* Return the value of rank count / 2. Replace values by their distances from the returned value. */
double rps_select_middle(double *value, size_t count);

/* Return a standard deviation that outliers hardly affect: 1.4826 times the median of |value|. If
 * more than half of the values are 0, return 1.2533 times the mean of |value|. Return 0 for no
 * values. Reorders the values. */
double rps_robust_deviation(double *value, size_t count);

/* Return an upper limit for a sum of `dof` squares of noise. The probability that noise exceeds the
 * limit is at most exp(-level) (Laurent and Massart 2000). */
double rps_noise_bound(double dof, double level);

/* Return the exact value that a sum of `dof` squares of noise exceeds with probability exp(-level).
 * `level` is above 0. `dof` need not be a whole number. */
double rps_chi_square(double dof, double level);

/* Return a lower limit of noise: a tenth of the standard deviation of the finite values. */
double rps_noise_floor(const double *value, size_t count);
