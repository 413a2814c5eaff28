/*
 * Choosing how many changes there are: a criterion that knows autocorrelated noise, over a path of
 * penalties. Private to the detector.
 */
#ifndef RPISTAT_ANALYSE_DETECT_CHOOSE_H
#define RPISTAT_ANALYSE_DETECT_CHOOSE_H

#include "detect_segmentation.h"

/* Variances below this share of that of no changes are rounding. */
#define RPS_NOISE_VARIANCE_MIN 1e-12

/* What the residuals of a signal are like in a segmentation; where `noise` is an argument, there is
 * one for each signal. */
struct rps_noise {
    double count;           /* values that were seen */
    double variance;        /* at least the variance that the signal is taken to have */
    double raw;             /* the variance as it is */
    double autocorrelation; /* of neighbours, those across boundaries left out; 0 ... 0.9999 */
    double product;         /* sum of their products, per sum of squares */
    double inner; /* squares without those of each segment's first and last, the same way */
};

void rps_noise_measure(const struct rps_observed *observed,
                       const struct rps_segmentation *segmentation, struct rps_noise *noise);

/* Twice the negative logarithm of the likelihood of autoregressive innovations, less that of no
 * changes; for as many independent signals as the used ones are worth. fitted: numbers that were
 * fitted to each signal. */
double rps_noise_fit(const struct rps_observed *observed, const struct rps_noise *none,
                     const struct rps_noise *noise, size_t fitted);

/* Variance of one signal's innovations under first-order autoregression with correlation `a`,
 * floors left out. */
double rps_noise_innovation(const struct rps_noise *noise, double a);

/* What fitting so many numbers to `count` values of noise gains, beyond one for each: fitting many
 * to few makes the rest look calm: in noise of 40 values, each seen one time in four, 36 of 100
 * series have changes without it, and 9 with it. The second part is how much smaller the logarithm
 * of a variance is than that of its expectation. */
double rps_noise_overfit(double count, double fitted);

/* Do the means of its last values describe each signal better than a segmentation whose residuals
 * are `noise`, or so well that the levels of the segments add less than a change must? */
int rps_noise_wanders(const struct rps_observed *observed, const struct rps_noise *none,
                      const struct rps_noise *noise, const struct rps_segmentation *segmentation);

/* Bring each signal's residuals to the variance of the unit: noise that looked smaller in
 * differences than it is. */
void rps_noise_set_gains(const struct rps_noise *none, const struct rps_noise *noise,
                         struct rps_observed *observed);

/* Median of the signals' autocorrelations; 0 for no signals. Reorders nothing. */
double rps_noise_autocorrelation(const struct rps_observed *observed,
                                 const struct rps_noise *noise);

/* What the criterion charges for the `number`-th change, from 1, in white noise of variance 1.
 * There are many ways to place many changes, but fewer for each of them (Birge and Massart 2001;
 * Lebarbier 2005). */
double rps_choose_penalty(const struct rps_observed *observed, size_t number);

struct rps_model_choice {
    struct rps_penalties penalties;
    int none;         /* 1: no changes at all */
    double criterion; /* the lower the better */
};

/* Choose penalties for candidates; lines are tried where candidates have their sums. Sets the gains
 * of the signals, which candidates add up again. none is the noise of no changes. *ret_few are the
 * candidates that any of the segmentations may have used. */
struct rps_model_choice rps_choose(struct rps_arena *arena, struct rps_candidates *candidates,
                                   const struct rps_noise *none, size_t min_length,
                                   struct rps_candidates *ret_few);

#endif
