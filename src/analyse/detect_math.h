/*
 * Functions that the detector's files share. Results depend on IEEE arithmetic and not on the C
 * library, so that they are the same everywhere.
 */
#ifndef RPISTAT_ANALYSE_DETECT_MATH_H
#define RPISTAT_ANALYSE_DETECT_MATH_H

#include <stddef.h>

/* Differences beyond this many deviations are changes and outliers. */
#define RPS_CLIP_DEVIATIONS 4

/* A boundary may lie where its likelihood is at least a twentieth of the largest: 2 log 20. */
#define RPS_PLACE_SLACK 6.0

/* Return the value of the given rank (0: smallest); reorders the values. count > rank. */
double rps_select_rank(double *value, size_t count, size_t rank);

/* Return the median, which is the mean of both middle values if the count is even; reorders the
 * values. count > 0. */
double rps_select_median(double *value, size_t count);

/* Return the middle value, of rank count / 2, and replace each value by its distance from it. */
double rps_select_middle(double *value, size_t count);

/* Return a standard deviation that outliers hardly affect: 1.4826 times the median of |value|. If
 * more than half are 0, it is 1.2533 times their mean. Reorders the values; 0 for none. */
double rps_robust_deviation(double *value, size_t count);

/* Return an upper limit for a sum of `dof` squares of noise by chance in exp(level) tries (Laurent
 * and Massart 2000). */
double rps_noise_bound(double dof, double level);

/* Return exactly the value that a sum of `dof` squares of noise exceeds with probability
 * exp(-level). Level is above 0; `dof` need not be a whole number. */
double rps_chi_square(double dof, double level);

#endif
