/* Which segments are alike. */
#ifndef RPISTAT_ANALYSE_LABELS_H
#define RPISTAT_ANALYSE_LABELS_H

#include "prepared.h"
#include "search.h"

/*
 * Give segments that are alike one label: k-means++ on the segments' means weighted by length, k
 * from 1 to label_max, and the smallest k whose BIC reaches 90 % of the way from the worst to the
 * best (SimPoint's rule: Sherwood, Hamerly, Calder 2002). `deviation` is that of the noise in
 * prepared units. *ret_label is a new array, a label a segment. RPS_FAILED without memory.
 */
int rps_label_segments(const struct rps_prepared *prepared, const struct rps_cuts *cuts,
                       int label_max, double deviation, int **ret_label, int *ret_label_count,
                       struct rps_error *err);

/*
 * Number labels by first appearance, count them, and say in a new array how sure each segment's is:
 * 1 at the label's mean, 0.5 half way to another's.
 */
int rps_label_grade(const struct rps_prepared *prepared, const struct rps_cuts *cuts, int *label,
                    int *ret_label_count, double **ret_confidence, struct rps_error *err);

#endif
