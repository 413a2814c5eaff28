/*
 * Decoding: find the segments again after the means of the phases are known. Private to the
 * detector.
 */
#ifndef RPISTAT_ANALYSE_DETECT_DECODE_H
#define RPISTAT_ANALYSE_DETECT_DECODE_H

#include "detect_segmentation.h"

/* In an arena. */
struct rps_labels {
    int count;     /* of distinct labels */
    int *label;    /* one per segment; numbered by first appearance */
    double *apart; /* one per segment, if decoded: least cost, in squares of noise, of giving it the
                      label of the one before, or that one its label */
};

/*
 * Given segments and their labels, find the sequence of labels that describes all observations best
 * if each label has one mean (Viterbi 1967). A change between two unknown means must pay for both
 * in every signal. A change between known means need not, and is found in fewer observations.
 * Replaces segmentation and labels and returns 1; returns 0 if too little recurs, or segments are
 * lines. The noise of long means is `inflation` times white noise.
 */
int rps_decode(struct rps_arena *arena, const struct rps_observed *observed, size_t min_length,
               double inflation, struct rps_segmentation *segmentation, struct rps_labels *labels);

/* Return the penalty of a change between known means: how rare changes are, and to which label. */
double rps_decode_penalty(const struct rps_observed *observed,
                          const struct rps_segmentation *segmentation,
                          const struct rps_labels *labels);

#endif
