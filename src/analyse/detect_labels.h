/*
 * Labels: segments that are alike get one. Private to the detector.
 */
#ifndef RPISTAT_ANALYSE_DETECT_LABELS_H
#define RPISTAT_ANALYSE_DETECT_LABELS_H

#include "detect_segmentation.h"

/* Most labels that are told apart, and most segments' means compared. */
#define RPS_LABELS_MAX 20

/* In an arena. */
struct rps_labels {
    int count;          /* of distinct labels */
    int *label;         /* one a segment; numbered by first appearance */
    double *confidence; /* one a segment; 0 ... 1 */
    double *apart;      /* one a segment: what it takes at least, in squares of noise, to give it
                      the label of the one before, or that one its label */
};

/*
 * Label segments by their means (and slopes, and with `variance` set their variances), at most
 * RPS_LABELS_MAX labels; how sure they are is not asked yet. confidence: of the boundary before
 * each segment; neighbours on both sides of one beyond doubt get different labels while there are
 * any. inflation: how much more than white noise the noise of long means is.
 */
struct rps_labels rps_labels_find(struct rps_arena *arena, const struct rps_observed *observed,
                                  const struct rps_segmentation *segmentation,
                                  const double *confidence, int variance, double inflation);

/* After segments and labels changed: number the labels by first appearance again, and find how sure
 * they are. */
void rps_labels_grade(struct rps_arena *arena, const struct rps_observed *observed,
                      const struct rps_segmentation *segmentation, int variance, double inflation,
                      struct rps_labels *labels);

#endif
