/* Segmentation of the observations, and the search for the best segmentation at a penalty per
 * change. Private to the detector. */
#pragma once

#include "detect_standardize.h"

/* A segmentation, allocated in an arena. */
struct rps_segmentation {
    size_t count; /* number of segments */
    size_t free;  /* number of boundaries that are not forced */
    size_t sloped_count;
    size_t *first;   /* first observation of each segment; first[count]: number of observations */
    uint8_t *sloped; /* 1: a line describes the segment, 0: a constant */
    uint8_t *forced; /* 1: the boundary at the segment's first observation is forced */
};

struct rps_penalties {
    double change;     /* penalty of a boundary that is not forced */
    double slope;      /* penalty of a segment that is a line */
    size_t min_length; /* minimum length of a segment; a block that is shorter is one segment */
};

/* Return the segmentation with the least squares plus penalties. All boundaries are at candidates.
 * The search is exact: PELT (Killick, Fearnhead, Eckley 2012). Lines are tried if the candidates
 * have sums for lines. */
struct rps_segmentation rps_segmentation_search(struct rps_arena *arena,
                                                const struct rps_candidates *candidates,
                                                const struct rps_penalties *penalties);

/* Best place of a boundary between the neighbouring boundaries. */
struct rps_boundary_place {
    size_t best;
    size_t earliest, latest; /* first and last place whose excess cost is at most the slack */
};

/* Move each free boundary to its best place between its neighbours, in `rounds` rounds. `penalties`
 * are those of the search. After these rounds, fill `place` (one per segment; may be NULL) with the
 * first and last place whose cost exceeds the least cost by at most `slack`. */
void rps_segmentation_refine(const struct rps_observed *observed,
                             const struct rps_penalties *penalties, int rounds, double slack,
                             struct rps_segmentation *segmentation,
                             struct rps_boundary_place *place);

/* The fit of a signal in segment k: level + slope * observation. */
struct rps_fit {
    double level, slope;
};
struct rps_fit rps_segmentation_fit(const struct rps_observed *observed,
                                    const struct rps_segmentation *segmentation, size_t k,
                                    size_t signal);

/* Return a segmentation into constants. The boundaries are the places (0 ... count) where `keep` is
 * 1, and the block boundaries. If `keep` is NULL, use only the block boundaries. */
struct rps_segmentation rps_segmentation_at(struct rps_arena *arena,
                                            const struct rps_observed *observed,
                                            const uint8_t *keep);

/* Return the boundaries of a segmentation as candidates. */
struct rps_candidates rps_segmentation_candidates(struct rps_arena *arena,
                                                  struct rps_observed *observed,
                                                  const struct rps_segmentation *segmentation,
                                                  int lines);

/* These functions merge each dropped segment with the previous kept segment. First call
 * rps_segmentation_move for each kept segment in order. This call moves the segment to the front.
 * Then call rps_segmentation_shorten with the number of kept segments. */
void rps_segmentation_move(struct rps_segmentation *segmentation, size_t from, size_t to);
void rps_segmentation_shorten(struct rps_segmentation *segmentation, size_t count);

/* Choose the number of changes over a path of penalties. The criterion allows for autocorrelated
 * noise. Private to the detector. */

/* Minimum of variance / variance without changes. Smaller values are rounding errors. */
#define RPS_NOISE_VARIANCE_MIN 1e-12

/* Residuals of one signal in a segmentation. The parameter `noise` has one struct per signal. */
struct rps_noise {
    double count;           /* number of seen values */
    double fitted;          /* number of parameters that were fitted to seen values: of a signal
                               that is only seen while the workload runs, not those of its sleep */
    double variance;        /* variance of the residuals, not below the signal's floor */
    double raw;             /* variance of the residuals, even if it is below the signal's floor */
    double autocorrelation; /* autocorrelation of neighbours within segments, 0 ... 0.9999 */
    double product;         /* sum of the products of consecutive residuals / sum of squares */
    double inner;           /* sum of the inner squares (without the first and last residual of
                               each segment) / sum of squares */
};

void rps_noise_measure(const struct rps_observed *observed,
                       const struct rps_segmentation *segmentation, struct rps_noise *noise);

/* Return 1 if a signal varies and has more values than parameters. Any segmentation fits other
 * signals. `none` is the noise of the segmentation without changes. */
int rps_noise_counts(const struct rps_noise *none, const struct rps_noise *noise);

/* Return twice the negative log-likelihood of autoregressive innovations, minus the value of a
 * segmentation without changes. The result is scaled to the number of independent signals. */
double rps_noise_fit(const struct rps_observed *observed, const struct rps_noise *none,
                     const struct rps_noise *noise);

/* Return the variance of one signal's innovations under first-order autoregression with correlation
 * `a`. No floor is applied. */
double rps_noise_innovation(const struct rps_noise *noise, double a);

/* Return how much fitting `fitted` numbers to `count` values of noise gains by chance. The usual
 * gain of one per number is subtracted. Fitting many numbers to few values makes the residuals look
 * too small. For example, in 100 series of noise with 40 values, a quarter of the values was seen.
 * Changes were found in 36 series without this correction, and in 9 with it. A second term is
 * needed because the mean logarithm of a variance is below the logarithm of its mean. */
double rps_noise_overfit(double count, double fitted);

/* Return 1 if means of recent values describe the signals better than the segmentation, whose
 * residuals are `noise`. In a table, also return 1 if polynomials or random walks do. */
int rps_noise_drifts(const struct rps_observed *observed, const struct rps_noise *none,
                     const struct rps_noise *noise, const struct rps_segmentation *segmentation);

/* Scale each signal so that the signal's residuals have the variance `unit`. Scaling is needed
 * because differences of neighbours underestimate the noise of some signals. */
void rps_noise_set_gains(const struct rps_noise *none, const struct rps_noise *noise,
                         struct rps_observed *observed);

/* Return the signals' median autocorrelation, or 0 without signals. `noise` keeps its order. */
double rps_noise_autocorrelation(const struct rps_observed *observed,
                                 const struct rps_noise *noise);

/* Return the penalty of the criterion for the `number`-th change (from 1) in white noise of
 * variance 1. The penalty per change falls with the number of changes, because there are fewer
 * possible places per change (Birge and Massart 2001; Lebarbier 2005). */
double rps_choose_penalty(const struct rps_observed *observed, size_t number);

struct rps_model_choice {
    struct rps_penalties penalties;
    int none;         /* 1: the choice has no changes */
    double criterion; /* criterion of the choice; lower is better */
};

/* Choose the penalties for candidates. Lines are tried if the candidates have sums for lines. Set
 * the gains of the signals, and compute the sums of the candidates again. `none` is the noise
 * without changes. Store in *ret_few the candidates that any tried segmentation may have used. */
struct rps_model_choice rps_choose(struct rps_arena *arena, struct rps_candidates *candidates,
                                   const struct rps_noise *none, size_t min_length,
                                   struct rps_candidates *ret_few);
