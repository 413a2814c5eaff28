/*
 * A model: the phases as constants, or as constants and lines, each found as well as possible.
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
    struct rps_noise *noise;              /* after the segmentation */
    double autocorrelation, inflation;    /* of it: at lag one; of long means, times white noise */
    double objective;                     /* least squares plus penalties of the search's result */
    double criterion;                     /* of everything, including labels; lower is better */
    struct rps_segmentation segmentation; /* count 0: the model was abandoned */
    struct rps_labels labels;
    struct rps_boundary_place *place; /* one per segment */
    double *confidence;               /* of the boundary at the start of each segment */
};

/*
 * Find the model of constants (constants NULL), or the model with lines; constants are then the
 * candidates of the former. The signals are the input of observed and show which segments are
 * alike. A model is abandoned if its criterion is not below `beat` after the choice of penalties.
 * Sets observed's gains to those of the model. *ret_few: the candidates that any of the
 * segmentations on the path may have used.
 */
struct rps_model rps_model_find(struct rps_arena *arena, struct rps_observed *observed,
                                const struct rps_signals *signals,
                                const struct rps_detect_options *options,
                                const struct rps_candidates *constants, double beat,
                                struct rps_candidates *ret_few);

#endif
