/* Joint detection of phases in several series with the same signals. rpistat/run_phases.h reads
 * runs from stores; the functions here are pure. */
#pragma once

#include <stddef.h>

#include "rpistat/detect.h"
#include "rpistat/error.h"
#include "rpistat/phases.h"

/* Phases of several series. A label has the same meaning in all series. */
struct rps_joint {
    size_t run_count;
    struct rps_phases *run; /* Phases by each series' own observations, without outliers */
    int label_count;
    double *distance; /* Distance of labels x and y, at [x * label_count + y]: 0 (alike)
                         ... 1 (largest distance) */
};

/* Concatenate the series and find the phases. Between two series is a boundary that exists at every
 * level. Signal s must be the same in all series. If a signal's resolutions or noise floors differ,
 * the largest one is used. The phases of all series have the same level. Its number of phases is
 * that of the series with most phases. *ret is in the arena. Errors come from rps_phases_find.
 *
 * The distance of two labels is the root of the mean square difference of signals, relative to the
 * largest distance of any two labels. The difference of a signal is the difference of its means.
 * The unit is the signal's standard deviation over all series, or the signal's resolution if that
 * is larger. If only one of the two labels has a signal, the signal adds a difference of one unit.
 * If neither label has a signal, the signal adds nothing. The shares of symbols in a table are one
 * signal; if two labels have no symbol in common, the difference is two units. */
int rps_joint_find(struct rps_arena *arena, const struct rps_signals *const *run, size_t count,
                   const struct rps_phases_options *options, struct rps_joint *ret,
                   struct rps_error *err);

/* Principal components of signals, for runs that count many events. A few components describe how
 * many signals vary together. Signals are first standardised, so that their weights do not depend
 * on units. LAPACK (dsyevr) computes the eigenvectors of the correlation matrix. */

/* Maximum number of signals. For more signals, the correlation matrix would need more than 8 MB. */
#define RPS_COMPONENTS_SIGNALS_MAX 1000

/* Principal components, in an arena. */
struct rps_components {
    size_t count;           /* Number of observations */
    size_t signal_count;    /* number of input signals */
    size_t component_count; /* Number of components, at most the number of signals that vary */
    double *share;          /* Share of the total variance that each component explains, 0 ... 1 */
    double *loading;        /* Correlation of signal and component, at [component * signal_count
                               + signal]. A signal that does not vary has 0. The largest
                               correlation per component is positive. */
    double *score;          /* Score at [component * count + observation], with mean 0 and
                               variance 1. NaN: most signals are unknown in the observation. */
};

/* Find up to component_max principal components. An unknown value is replaced by the mean of its
 * signal. Return RPS_FAILED for fewer than two signals that vary, fewer than three observations,
 * more than RPS_COMPONENTS_SIGNALS_MAX signals, or no LAPACK. */
int rps_components_find(struct rps_arena *arena, const struct rps_signals *signals,
                        size_t component_max, struct rps_components *ret, struct rps_error *err);
