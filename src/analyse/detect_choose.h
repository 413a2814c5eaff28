/*
 * Choosing the number of changes: a criterion that allows for autocorrelated noise, over a path of
 * penalties. Private to the detector.
 */
#ifndef RPISTAT_ANALYSE_DETECT_CHOOSE_H
#define RPISTAT_ANALYSE_DETECT_CHOOSE_H

#include "detect_segmentation.h"

/* Variances below this share of the variance without changes are rounding errors. */
#define RPS_NOISE_VARIANCE_MIN 1e-12

/* Residuals of a signal in a segmentation. An argument `noise` has one such struct per signal. */
struct rps_noise {
    double count;           /* values that were seen */
    double variance;        /* at least the assumed minimum for the signal */
    double raw;             /* the variance as it is */
    double autocorrelation; /* of neighbours, those across boundaries left out; 0 ... 0.9999 */
    double product;         /* sum of their products, per sum of squares */
    double inner;           /* the same of squares without each segment's first and last */
};

void rps_noise_measure(const struct rps_observed *observed,
                       const struct rps_segmentation *segmentation, struct rps_noise *noise);

/* Return twice the negative log-likelihood of autoregressive innovations, less that of no changes.
 * It is for as many independent signals as the used ones are worth. `fitted` numbers were fitted to
 * each signal. */
double rps_noise_fit(const struct rps_observed *observed, const struct rps_noise *none,
                     const struct rps_noise *noise, size_t fitted);

/* Return the variance of one signal's innovations under first-order autoregression with correlation
 * `a`, without floors. */
double rps_noise_innovation(const struct rps_noise *noise, double a);

/* Return the gain from fitting so many numbers to `count` values of noise, beyond one for each.
 * Fitting many numbers to few values makes the rest look calm. For noise of 40 values, each seen
 * one time in four, 36 of 100 series have changes without this, and 9 with it. The second part is
 * how much smaller the logarithm of a variance is than that of its expectation. */
double rps_noise_overfit(double count, double fitted);

/* Return 1 if means of recent values describe signals better than a segmentation with the residuals
 * `noise`, or if the segments' levels add less to them than a change must. */
int rps_noise_wanders(const struct rps_observed *observed, const struct rps_noise *none,
                      const struct rps_noise *noise, const struct rps_segmentation *segmentation);

/* Bring each signal's residuals to the variance of the unit. Differences make some noise look
 * smaller than it is. */
void rps_noise_set_gains(const struct rps_noise *none, const struct rps_noise *noise,
                         struct rps_observed *observed);

/* Return the median of the signals' autocorrelations; 0: no signals. Reorders nothing. */
double rps_noise_autocorrelation(const struct rps_observed *observed,
                                 const struct rps_noise *noise);

/* Return the charge of the criterion for the `number`-th change, from 1, in white noise of variance
 * 1. There are many ways to place many changes, but fewer for each of them (Birge and Massart 2001;
 * Lebarbier 2005). */
double rps_choose_penalty(const struct rps_observed *observed, size_t number);

struct rps_model_choice {
    struct rps_penalties penalties;
    int none;         /* 1: no changes at all */
    double criterion; /* lower is better */
};

/* Choose penalties for candidates; lines are tried if candidates have their sums. Set the gains of
 * the signals and add up the candidates again. none is the noise without changes. *ret_few are the
 * candidates that any of the segmentations may have used. */
struct rps_model_choice rps_choose(struct rps_arena *arena, struct rps_candidates *candidates,
                                   const struct rps_noise *none, size_t min_length,
                                   struct rps_candidates *ret_few);

#endif
