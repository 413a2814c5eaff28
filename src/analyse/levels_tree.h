/* The tree of levels of phases: segments of fine phases, their costs, and the order in which
 * neighbours merge. Private to levels*.c. */
#ifndef RPISTAT_ANALYSE_LEVELS_TREE_H
#define RPISTAT_ANALYSE_LEVELS_TREE_H

#include "counts.h"
#include "rpistat/levels.h"

/* Moments of a signal in a segment. */
struct rps_moments3 {
    double weight, sum, squares;
};

/* In an arena. */
struct rps_level_tree {
    size_t count;    /* leaves: fine phases */
    size_t runs;     /* runs that the leaves belong to; above 1 if several were put together */
    uint8_t *broken; /* one per leaf: RPS_BROKEN_ before it, or 0; the first of a run never merges
                        with the one before it */
    struct rps_phase *leaf;
    size_t width; /* signals; of each table its symbols, whose weight is their count, and
                     RPS_LEVEL_CLUMPS; and one more: the share of the signals that was seen */
    size_t signals;
    size_t memory_signal; /* as in struct rps_signals */
    size_t mix_count;
    size_t edge;         /* observations at an end of a leaf that may belong to either side */
    int in_blocks;       /* 1: observations are blocks */
    struct rps_mix *mix; /* one per table */
    struct rps_moments3 *before; /* of the leaves before one: before[leaf * width + signal];
                                    count + 1 leaves */
    double *centre;              /* one per signal: its values are relative to this in `before` */
    double *floor;               /* one per signal: variance that is added to every segment's */
    double *worth;               /* one per signal: 1 / (2 tau) */
    size_t *rank;     /* one per leaf: number of segments from which on the boundary before it
                         exists; 1 for the first of a run */
    double *increase; /* of the cost, by the merge that leaves so many segments; [0] is not used */
};

/* Number of moments after the symbols of a table, by the length of blocks. The sum is the chi2 of
 * blocks of samples against their leaf, the weight its degrees of freedom (levels_samples.c). */
#define RPS_LEVEL_CLUMPS 3

static inline size_t rps_level_table_width(const struct rps_mix *mix)
{
    return mix->width + RPS_LEVEL_CLUMPS;
}

/* Add the clumps of a table in each leaf, at the column `to`. */
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

/* Make the leaves, and set the properties of their signals; rank and increase are still 0. */
struct rps_level_tree rps_level_tree_make(struct rps_arena *arena,
                                          const struct rps_signals *signals,
                                          const struct rps_phases *fine);

/* Put the moments of the leaves from ... to - 1 into ret, one per signal. */
void rps_level_tree_moments(const struct rps_level_tree *tree, size_t from, size_t to,
                            struct rps_moments3 *ret);

/* Return the cost of a segment with these moments. */
double rps_level_tree_cost(const struct rps_level_tree *tree, const struct rps_moments3 *moments);

/* Return how much of a table's counts in one segment are other symbols in another, beyond chance: 0
 * ... 1. a, b: of the table's first symbol in each. */
double rps_level_tree_share_apart(const struct rps_mix *mix, const struct rps_moments3 *a,
                                  const struct rps_moments3 *b);

/* Merge everything; fills rank and increase. */
void rps_level_tree_merge(struct rps_level_tree *tree);

/*
 * Label `count` segments that begin at the leaves first[0] ... (first[count] is tree->count),
 * numbered by first appearance. Segments merge regardless of their place, those that differ least
 * first. They merge until they differ by `alike` of the usual difference of neighbours (several
 * runs: .25); neighbours never merge. The difference is the rise of the cost per observation of the
 * smaller one. Recurring phases are never exactly the same, which shows more in longer ones.
 * Confidence in the label of segment k is put into sure[k]. If is_split[k] is 1, the samples of
 * segment k may split its label (NULL: none may). Returns the number of labels.
 */
int rps_level_tree_label(const struct rps_level_tree *tree, const size_t *first, size_t count,
                         double alike, const uint8_t *is_split, int *label, double *sure);

#endif
