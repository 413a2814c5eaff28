/* Scores of the labels of observations against the true labels. The file also declares a decoder
 * that uses the true phase parameters, as no detector can. */
#ifndef BENCH_PHASE_SCORE_H
#define BENCH_PHASE_SCORE_H

#include "phase_series.h"

struct phase_score {
    double f1;      /* F1 score of the boundaries, within a margin */
    double cover;   /* cover: sum over true segments of length x best Jaccard overlap, as a share */
    double rand;    /* adjusted Rand index of the labels */
    double changes; /* number of changes found */
};

void phase_score(const struct phase_series *truth, const int *label, size_t margin,
                 struct phase_score *ret);

/* Return the most likely labels (Viterbi), given the means, the noise with its correlation, and the
 * mean and minimum length of a segment. A change costs the same for every next label, which
 * improves boundaries and cover. */
void phase_decode(const struct phase_series *series, int *label);

#endif
