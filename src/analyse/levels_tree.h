/* The tree of levels of phases: segments of fine phases, the cost of each segment, and the order in
 * which neighbouring segments merge. Private to levels*.c. */
#pragma once

#include "counts.h"

/* Moments of a signal in a segment. */
struct rps_moments3 {
    double weight, sum, squares;
};

/* A tree of levels, allocated in an arena. */
struct rps_level_tree {
    size_t count;    /* number of leaves, which are fine phases */
    size_t runs;     /* number of runs; above 1 if several runs were combined */
    uint8_t *broken; /* broken[leaf]: RPS_BROKEN_ value of the boundary before the leaf, or 0;
                        leaves of different runs never merge */
    struct rps_phase *leaf;
    size_t width; /* number of columns: signals; per table its symbols (weight: count) and
                     RPS_LEVEL_CLUMPS columns; the share of signals that was seen */
    size_t signals;
    size_t memory_signal, use_signal; /* numbers of signals, as in struct rps_signals */
    double idle;                      /* as in struct rps_signals */
    size_t mix_count;
    size_t edge;         /* observations at an end of a leaf that may be beyond the boundary */
    int in_blocks;       /* 1: each observation is a block */
    struct rps_mix *mix; /* mix of each table */
    struct rps_moments3 *before; /* before[leaf * width + signal]: moments of all leaves before
                                    this leaf; count + 1 leaves */
    double *centre;              /* centre of each signal, subtracted from the values in `before` */
    double *floor;               /* floor of each signal, added to the variance of a segment */
    double *worth;               /* weight of each signal: 1 / (2 tau) */
    size_t *rank;     /* rank[leaf]: the boundary before the leaf exists in levels of at least
                         this many segments; 1 for the first leaf of a run */
    double *increase; /* increase[n]: cost of the merge that leaves n segments; [0] is not used.
                         Merges of idle and busy segments count several times */
    double once;      /* sum of `increase` if all merges count once, divided by this sum */
};

/* Number of columns after the symbols of a table, one per block length. In such a column, `sum` is
 * the chi2 of the differences between blocks of samples and the blocks' leaf. `weight` is the
 * number of degrees of freedom (levels_samples.c). */
#define RPS_LEVEL_CLUMPS 3

static inline size_t rps_level_table_width(const struct rps_mix *mix)
{
    return mix->width + RPS_LEVEL_CLUMPS;
}

/* Add a table's RPS_LEVEL_CLUMPS columns to each leaf, from column `to` on (levels_samples.c). */
void rps_level_clumps_add(struct rps_level_tree *tree, const struct rps_count_table *table,
                          size_t to);

/* Return 1 if at least half of the samples of two clusters with these moments are in other
 * functions or programs, beyond chance. */
int rps_level_samples_differ(const struct rps_level_tree *tree, const struct rps_moments3 *x,
                             const struct rps_moments3 *y);

/* Return 1 if a leaf is the first of a run. */
static inline int rps_level_tree_begins_run(const struct rps_level_tree *tree, size_t leaf)
{
    return tree->broken[leaf] == RPS_BROKEN_RUN;
}

/* Make the leaves, and compute floor and worth of each signal. The members rank, increase and once
 * are 0 until rps_level_tree_merge. */
struct rps_level_tree rps_level_tree_make(struct rps_arena *arena,
                                          const struct rps_signals *signals,
                                          const struct rps_phases *fine);

/* Store the moments of the leaves from ... to - 1 in ret, one per signal. */
void rps_level_tree_moments(const struct rps_level_tree *tree, size_t from, size_t to,
                            struct rps_moments3 *ret);

/* Return 1 if the workload was idle in a segment with these moments; 0 also for runs without
 * samples, because their signals show the difference. */
int rps_level_tree_is_idle(const struct rps_level_tree *tree, const struct rps_moments3 *moments);

/* Return the cost of a segment with these moments. */
double rps_level_tree_cost(const struct rps_level_tree *tree, const struct rps_moments3 *moments);

/* Return the share of a table's counts that differs in its symbols between two segments, beyond
 * chance: 0 ... 1. a and b point to the moments of the table's first symbol in each segment. */
double rps_level_tree_share_apart(const struct rps_mix *mix, const struct rps_moments3 *a,
                                  const struct rps_moments3 *b);

/* Merge all segments, pair by pair. Fills rank, increase and once. */
void rps_level_tree_merge(struct rps_level_tree *tree);

/* Label `count` segments that begin at the leaves first[0] ... (first[count] is tree->count).
 * Labels are numbered by first appearance. The segments that differ least get one label first,
 * regardless of their positions. This ends when segments differ by `alike` of the usual difference
 * of neighbours (by .25 if there are several runs). Neighbours always get different labels. The
 * difference of two segments is the cost increase by a merge, per observation of the smaller
 * segment. The increase is divided by this length for two reasons. Recurring phases are never
 * exactly the same, and long phases show small differences more clearly. The confidence in the
 * label of segment k is stored in sure[k]. If is_split[k] is 1, the samples of segment k may split
 * its label (NULL: no samples may). Returns the number of labels. */
int rps_level_tree_label(const struct rps_level_tree *tree, const size_t *first, size_t count,
                         double alike, const uint8_t *is_split, int *label, double *sure);
