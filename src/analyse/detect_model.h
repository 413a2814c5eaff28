/* A model describes the observations by constants, or by constants and lines. Private to the
 * detector. */
#pragma once

#include "detect_pelt.h"

/* Decoding: find the segments again after the means of the phases are known. Private to the
 * detector. */

/* Labels of segments, allocated in an arena. */
struct rps_labels {
    int count;     /* number of distinct labels */
    int *label;    /* label of each segment, numbered by first appearance */
    double *apart; /* set by decoding, one per segment: least cost of giving it the previous
                      segment's label, or the previous segment its label, in squared noise units */
};

/* Find the sequence of labels that describes all observations best if each label has one mean
 * (Viterbi 1967). The penalty of a change between two unknown means includes the fit of both means
 * in every signal. A change between known means has a lower penalty, so fewer observations are
 * enough to find such a change. If successful, replaces segmentation and labels, and returns 1.
 * Returns 0 if labels have too few segments or if segments are lines. `inflation` is the variance
 * of the mean of a long range, relative to white noise. */
int rps_decode(struct rps_arena *arena, const struct rps_observed *observed, size_t min_length,
               double inflation, struct rps_segmentation *segmentation, struct rps_labels *labels);

/* Return the penalty of a change between known means, from the frequency of changes and labels. */
double rps_decode_penalty(const struct rps_observed *observed,
                          const struct rps_segmentation *segmentation,
                          const struct rps_labels *labels);

/* A model, allocated in an arena. */
struct rps_model {
    struct rps_arena *arena;
    int linear;
    int recurring;   /* 1: all segments with the same label have one mean */
    int is_drifting; /* 1: recent values predict the series better than these phases do */
    struct rps_model_choice choice;
    struct rps_noise *noise;              /* residual noise of the segmentation */
    double autocorrelation, inflation;    /* autocorrelation of the noise at lag one; variance of
                                             the mean of a long range, relative to white noise */
    double objective;                     /* result of the search: least squares plus penalties */
    double criterion;                     /* criterion of the model with labels; lower is better */
    struct rps_segmentation segmentation; /* count is 0 if the search was stopped early */
    struct rps_labels labels;
    struct rps_boundary_place *place; /* best place and possible range of each segment's boundary */
    double *confidence;               /* confidence in the boundary at the start of each segment */
};

/* Find the model of constants if `constants` is NULL. Otherwise find the model with lines;
 * `constants` then has the candidates of the model of constants. `signals` are the signals from
 * which `observed` was made. They are used to label segments. The search stops if the criterion is
 * not below `beat` after the choice of penalties. Sets the gains of `observed`. Stores in *ret_few
 * the candidates that any segmentation on the path of penalties may have used. */
struct rps_model rps_model_find(struct rps_arena *arena, struct rps_observed *observed,
                                const struct rps_signals *signals,
                                const struct rps_detect_options *options,
                                const struct rps_candidates *constants, double beat,
                                struct rps_candidates *ret_few);

/* Confidence in the boundaries of a model. Private to the detector. */

/* Fill model->confidence. If `drop` is 1, remove boundaries with a confidence below .5. Such
 * boundaries exist because the search assumes the same noise everywhere, so it cuts noisy phases.
 */
void rps_confidence_find(struct rps_observed *observed, int drop, struct rps_model *model);
