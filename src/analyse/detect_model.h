/*
 * A model: the phases as constants, or as constants and lines, each found as well as it can be.
 * Private to the detector.
 */
#ifndef RPISTAT_ANALYSE_DETECT_MODEL_H
#define RPISTAT_ANALYSE_DETECT_MODEL_H

#include "detect_choose.h"
#include "detect_segmentation.h"
#include "detect_decode.h"

/* In an arena. */
struct rps_model {
    struct rps_arena *arena;
    int linear;
    int recurring; /* 1: the segments of a label have one mean */
    int wanders;   /* 1: recent values explain the series better than these phases do */
    struct rps_model_choice choice;
    struct rps_noise *noise;              /* that the segmentation leaves */
    double autocorrelation, inflation;    /* of it: at lag one; of long means, times white noise */
    double objective;                     /* least squares plus penalties of the search's outcome */
    double criterion;                     /* of everything, labels included; the lower the better */
    struct rps_segmentation segmentation; /* none (count 0): the model was given up */
    struct rps_labels labels;
    struct rps_boundary_place *place; /* a segment each */
    double *confidence;               /* of the boundary at the start of each segment */
};

/*
 * Find the model of constants (constants NULL), or with lines; constants are then the candidates
 * that the former used. signals, of which observed was made, tell which segments are alike. A model
 * whose criterion is not below `beat` after the choice of penalties is given up. observed's gains
 * are the model's afterwards. *ret_few: the candidates that any of the segmentations on the path may
 * have used.
 */
struct rps_model rps_model_find(struct rps_arena *arena, struct rps_observed *observed,
                                const struct rps_signals *signals,
                                const struct rps_detect_options *options,
                                const struct rps_candidates *constants, double beat,
                                struct rps_candidates *ret_few);

#endif
