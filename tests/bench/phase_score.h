/*
 * How good labels of observations are, against the true ones; and the labels of the decoder that
 * knows the truth about the phases, which no detector can know.
 */
#ifndef BENCH_PHASE_SCORE_H
#define BENCH_PHASE_SCORE_H

#include "phase_series.h"

struct phase_score {
    double f1;      /* of the boundaries, within a margin */
    double cover;   /* share of the truth that the segments found cover: sum over true segments of
                       length x best Jaccard overlap */
    double rand;    /* adjusted Rand index of the labels */
    double changes; /* found */
};

void phase_score(const struct phase_series *truth, const int *label, size_t margin,
                 struct phase_score *ret);

/*
 * The likeliest labels (Viterbi), given the means, the noise with its correlation, and the mean
 * and the shortest length of a segment. A change costs that it comes, not which of the others
 * comes: boundaries and cover get better.
 */
void phase_decode(const struct phase_series *series, int *label);

#endif
