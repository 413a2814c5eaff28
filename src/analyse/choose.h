/*
 * How many changes: a path of penalties, and the criterion that picks a segmentation on it.
 */
#ifndef RPISTAT_ANALYSE_CHOOSE_H
#define RPISTAT_ANALYSE_CHOOSE_H

#include "rpistat/detect.h"
#include "search.h"

struct rps_choice_of_cuts {
    struct rps_cuts cuts;                 /* owned */
    double penalty;                       /* that led to them */
    double objective;                     /* costs and penalties of the segmentation */
    int linear;                           /* 1: of linear segments */
    double autocorrelation;               /* of the residuals, median of the signals */
    double phi[RPS_PREPARED_SIGNALS_MAX]; /* that of each signal */
    double deviation; /* of the residuals' long-run noise against the prepared unit, median */
};

/*
 * Choose by a BIC that knows of AR(1) residuals:
 *     n/2 sum_j log(innovation variance_j) + c K (d + 1) log n
 * over a path of penalties, with constant and, for series that are not too long, linear segments.
 * `options` as rps_detect has them, its min_length chosen.
 */
int rps_choose_cuts(struct rps_prepared *prepared, const struct rps_detect_options *options,
                    struct rps_choice_of_cuts *ret, struct rps_error *err);

#endif
