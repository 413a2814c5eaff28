/*
 * Samples over time: how often each stack, or each task, was seen in each bin of a picture.
 *
 * Bins are a grid with the boundaries of the picture's phases between its lines, so that what a
 * phase has is exact however wide the bins are.
 */
#ifndef RPISTAT_CODE_BINS_H
#define RPISTAT_CODE_BINS_H

#include "rpistat/picture.h"
#include "rpistat/code.h"

struct rps_code_cell {
    uint32_t bin, id; /* of the stack, or the task */
    uint64_t samples;
};

struct rps_code_bins {
    size_t bin_count;           /* 0: the run has no samples */
    int64_t *edge_ns;           /* bin_count + 1 times, ascending */
    uint8_t *is_phase;          /* of each edge: 1 where a phase begins or ends */
    struct rps_code_cell *cell; /* in order of bin and id */
    size_t cell_count;
};

/* The bins of a picture, about so many, in the arena: of a kind of counts, of which the run has
 * `ids`. Those of one picture and number are the same of all kinds. Errors: the store's. */
int rps_code_bins_read(struct rps_arena *arena, const struct rps_picture *picture, size_t bin_count,
                       enum rps_code_counted what, size_t ids, struct rps_code_bins *ret, struct rps_error *err);

/* Give each cell another id, of the array, and add up those that are the same now; those of
 * SIZE_MAX go. */
void rps_code_bins_rename(struct rps_code_bins *bins, const size_t *id);

/* Make one bin of two, but for those that a phase's boundary is between. 0 where none was left. */
int rps_code_bins_widen(struct rps_code_bins *bins);

/* Of all bins together. */
uint64_t rps_code_bins_samples(const struct rps_code_bins *bins);

/* Samples that a bin would have if one CPU (of a recording by CPU: each) ran all the time; 0: not
 * known, as they were taken by a threshold. */
double rps_code_bins_expected(const struct rps_picture *picture, const struct rps_code_bins *bins,
                              const struct rps_sampling *sampling, size_t bin);

#endif
