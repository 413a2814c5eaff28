/*
 * Signals made ready for the search: in units of their own noise, outliers clipped, centred, with
 * the sums that give the cost of any segment in constant time.
 */
#ifndef RPISTAT_ANALYSE_PREPARED_H
#define RPISTAT_ANALYSE_PREPARED_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/detect.h"

/* More signals than this are mixed into so many. */
#define RPS_PREPARED_SIGNALS_MAX 64

struct rps_prepared {
    size_t count;           /* observations */
    size_t signal_count;    /* signals that vary */
    double *value;          /* owned; value[observation * signal_count + signal]; 0: not seen */
    double *weight;         /* owned; same places; NULL: all are seen with weight 1 */
    double *sum;            /* owned; sums of weight x value over the observations before i */
    double *weight_sum;     /* owned; of the weights; NULL as weight */
    double *lag_sum;        /* owned; of value[i] x value[i - 1] */
    double *time_sum;       /* owned; of i x weight x value; NULL until rps_prepared_add_times */
    double *weight_time;    /* owned; of i x weight, NULL as weight */
    double *weight_square;  /* owned; of i x i x weight */
    double *square;         /* owned; by signal: sum of weight x value^2 */
    const uint8_t *broken;  /* of the signals; may be NULL */
    double autocorrelation; /* median of the signals, from differences */
    size_t outlier_count;
    uint64_t *outlier; /* owned */
};

/* Prepare signals. *ret is for rps_prepared_free; it may have no signal at all. Returns RPS_FAILED
 * without memory. signals is kept by reference. */
int rps_prepared_make(const struct rps_signals *signals, struct rps_prepared *ret,
                      struct rps_error *err);

/* The sums that linear segments need. */
int rps_prepared_add_times(struct rps_prepared *prepared, struct rps_error *err);

void rps_prepared_free(struct rps_prepared *prepared);

/*
 * What a segment [from, to) costs: the sum of squared distances from its mean, or from its line,
 * over all signals, less the constant sum of squares of all values. An unseen signal adds nothing.
 */
double rps_prepared_cost(const struct rps_prepared *prepared, size_t from, size_t to);
double rps_prepared_cost_linear(const struct rps_prepared *prepared, size_t from, size_t to);

#endif
