/* Segments found again, now that it is known what the phases are like. */
#ifndef RPISTAT_ANALYSE_DECODE_H
#define RPISTAT_ANALYSE_DECODE_H

#include "prepared.h"
#include "search.h"

/*
 * Given segments and their labels, find the sequence of labels that fits all observations best when
 * each label has one mean and each change costs `penalty` (Viterbi 1967). Knowing the means, fewer
 * observations show a change. `cuts` and `label` (owned, an int a segment) are replaced by what was
 * found. They stay as they are where the segments of a label differ by more than noise
 * (`deviation`) explains: there a label is no single mean. RPS_FAILED without memory.
 */
int rps_decode(const struct rps_prepared *prepared, double deviation, double penalty,
               size_t min_length, int label_count, struct rps_cuts *cuts, int **label,
               struct rps_error *err);

#endif
