/*
 * Samples over time: how often each stack or task was seen in each bin of a picture.
 *
 * Bins are a grid, with the boundaries of the picture's phases as additional edges. So the values
 * of a phase are exact however wide the bins are.
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
    uint8_t *is_phase;          /* of each edge: 1 if a phase begins or ends there */
    struct rps_code_cell *cell; /* in order of bin and id */
    size_t cell_count;
};

/* Read about bin_count bins of a picture into the arena, of one kind of counts. ids: number of
 * stacks or tasks. Bins do not depend on the kind. Errors: those of the store. */
int rps_code_bins_read(struct rps_arena *arena, const struct rps_picture *picture, size_t bin_count,
                       enum rps_code_counted what, size_t ids, struct rps_code_bins *ret, struct rps_error *err);

/* Give each cell another id, from the array, and add up cells that are now equal. SIZE_MAX removes
 * a cell. */
void rps_code_bins_rename(struct rps_code_bins *bins, const size_t *id);

/* Merge pairs of bins, except across the boundary of a phase. Returns 0 if nothing was merged. */
int rps_code_bins_widen(struct rps_code_bins *bins);

/* Return the samples of all bins. */
uint64_t rps_code_bins_samples(const struct rps_code_bins *bins);

/* Return the samples that a bin would have if one CPU (of a recording by CPU: each) ran all the
 * time. 0: not known, because samples were taken by a threshold. */
double rps_code_bins_expected(const struct rps_picture *picture, const struct rps_code_bins *bins,
                              const struct rps_sampling *sampling, size_t bin);

#endif
