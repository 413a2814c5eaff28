/* Samples over time: how often each stack or task was seen in each bin of a picture.
 *
 * Bins are a grid, with the boundaries of the picture's phases and longer gaps as additional edges.
 * So the values of a phase are exact however wide the bins are. */
#pragma once

#include "rpistat/picture.h"
#include "rpistat/code.h"

struct rps_code_cell {
    uint32_t bin, id; /* Number of the bin, and number of the stack or task. */
    uint64_t samples;
};

struct rps_code_bins {
    size_t bin_count;           /* 0 if the run has no samples. */
    int64_t *edge_ns;           /* bin_count + 1 ascending times. */
    uint8_t *is_phase;          /* 1 for each edge at which a phase or a gap begins or ends. */
    struct rps_code_cell *cell; /* Cells in order of bin and id. */
    size_t cell_count;
};

/* Read the counts of stacks or of tasks into the arena, in about bin_count bins of the picture's
 * time. ids: number of stacks or tasks. Stacks and tasks have the same bins. Returns the error if
 * reading the store fails. */
int rps_code_bins_read(struct rps_arena *arena, const struct rps_picture *picture, size_t bin_count,
                       enum rps_code_counted what, size_t ids, struct rps_code_bins *ret,
                       struct rps_error *err);

/* Replace the id of each cell by the array element id[i], where i is the old id, and add up cells
 * that are now equal. The element SIZE_MAX removes a cell. */
void rps_code_bins_rename(struct rps_code_bins *bins, const size_t *id);

/* Merge neighbouring bins in pairs. Two bins on different sides of a phase boundary are not merged.
 * Returns 0 if nothing was merged. */
int rps_code_bins_widen(struct rps_code_bins *bins);

/* Return the number of samples in all bins. */
uint64_t rps_code_bins_samples(const struct rps_code_bins *bins);

/* Return the number of samples in a bin if one CPU is always busy. In a recording by CPU, every CPU
 * is assumed to be busy. Returns 0 if the number is unknown because samples were triggered by a
 * threshold. */
double rps_code_bins_expected(const struct rps_picture *picture, const struct rps_code_bins *bins,
                              const struct rps_sampling *sampling, size_t bin);
