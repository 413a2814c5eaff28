/*
 * Decoding: segments found again, now that it is known what the phases are like. Private to the
 * detector.
 */
#ifndef RPISTAT_ANALYSE_DETECT_DECODE_H
#define RPISTAT_ANALYSE_DETECT_DECODE_H

#include "detect_segmentation.h"

/* In an arena. */
struct rps_labels {
    int count;     /* of distinct labels */
    int *label;    /* one a segment; numbered by first appearance */
    double *apart; /* one a segment: what it takes at least, in squares of noise, to give it the
                      label of the one before, or that one its label; where they were decoded */
};

/*
 * Given segments and their labels, find the sequence of labels that describes all observations best
 * when each label has one mean (Viterbi 1967). A change between two unknown means must pay for both
 * in every signal; one between known means need not, and is found in fewer observations.
 * segmentation and labels are replaced by what was found, and 1 is returned; 0 where too little
 * comes back, or segments are lines. inflation: how much more than white noise the noise of long
 * means is.
 */
int rps_decode(struct rps_arena *arena, const struct rps_observed *observed, size_t min_length,
               double inflation, struct rps_segmentation *segmentation, struct rps_labels *labels);

/* Penalty of a change between known means: how rare changes are, and to which label. */
double rps_decode_penalty(const struct rps_observed *observed,
                          const struct rps_segmentation *segmentation,
                          const struct rps_labels *labels);

#endif
