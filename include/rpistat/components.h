/*
 * Principal components of signals: the few directions along which many signals vary together, for
 * runs that count many events. Signals are standardised first, so that units do not decide their
 * weights. The eigenvectors of the correlation matrix are LAPACK's (dsyevr).
 */
#ifndef RPISTAT_COMPONENTS_H
#define RPISTAT_COMPONENTS_H

#include <stddef.h>

#include "rpistat/arena.h"
#include "rpistat/detect.h"
#include "rpistat/error.h"

/* More signals than this are refused: the correlation matrix would take more than 8 MB. */
#define RPS_COMPONENTS_SIGNALS_MAX 1000

/* In an arena. */
struct rps_components {
    size_t count;           /* observations */
    size_t signal_count;    /* number of input signals */
    size_t component_count; /* in order of falling share; at most the number of signals that vary */
    double *share;          /* of the signals' variance, 0 ... 1; one per component */
    double *loading;        /* loading[component * signal_count + signal]: the correlation of the
                               signal with the component; 0 for a signal that does not vary. The
                               largest one per component is positive */
    double *score;          /* score[component * count + observation], of mean 0 and variance
                               1; NaN where fewer than half of the signals that vary were seen */
};

/*
 * Find up to component_max components. A value that was not seen counts as its signal's mean.
 * RPS_FAILED: fewer than two signals that vary, fewer than three observations, more than
 * RPS_COMPONENTS_SIGNALS_MAX signals, no LAPACK.
 */
int rps_components_find(struct rps_arena *arena, const struct rps_signals *signals,
                        size_t component_max, struct rps_components *ret, struct rps_error *err);

#endif
