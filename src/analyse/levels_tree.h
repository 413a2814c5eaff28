/* The tree behind levels of phases: stretches of fine phases, what they cost, and the order in
 * which neighbours merge. Private to levels*.c. */
#ifndef RPISTAT_ANALYSE_LEVELS_TREE_H
#define RPISTAT_ANALYSE_LEVELS_TREE_H

#include "counts.h"
#include "rpistat/levels.h"

/* Moments of a signal in a stretch. */
struct rps_moments3 {
    double weight, sum, squares;
};

/* In an arena. */
struct rps_level_tree {
    size_t count;    /* leaves: fine phases */
    size_t runs;     /* that the leaves are of: 1, but where several were put together */
    uint8_t *broken; /* a leaf each: RPS_BROKEN_ before it, or 0; the first of a run never merges
                        with the one before it */
    struct rps_phase *leaf;
    size_t width; /* signals; of each table its symbols, whose weight is their count, and its
                               RPS_LEVEL_CLUMPS; and one more: the share of the signals that was seen */
    size_t signals;
    size_t memory_signal; /* as in struct rps_signals */
    size_t mix_count;
    size_t edge;         /* observations at an end of a leaf that may belong to either side */
    int in_blocks;       /* 1: observations are blocks */
    struct rps_mix *mix; /* a table each */
    struct rps_moments3 *before; /* of the leaves before one: before[leaf * width + signal];
                                    count + 1 leaves */
    double *centre;              /* a signal each: what its values are relative to in `before` */
    double *floor;               /* a signal each: variance that is added to every stretch's */
    double *worth;               /* a signal each: 1 / (2 tau) */
    size_t *rank;     /* a leaf each: the boundary before it is there from so many stretches
                         on; 1 for the first of a run */
    double *increase; /* of the cost, by the merge that leaves so many stretches; [0] is not
                         used */
};

/* Moments behind the symbols of a table, by the length of blocks: the chi2 of blocks of samples against
 * their leaf is the sum, its degrees of freedom are the weight (levels_samples.c). */
#define RPS_LEVEL_CLUMPS 3

static inline size_t rps_level_table_width(const struct rps_mix *mix)
{
    return mix->width + RPS_LEVEL_CLUMPS;
}

/* Add the clumps of a table in each leaf, at the column `to`. */
void rps_level_clumps_add(struct rps_level_tree *tree, const struct rps_count_table *table,
                          size_t to);

/* Return 1 if at least half of the samples of two clusters with these moments are in other functions
 * or programs, beyond chance. */
int rps_level_samples_differ(const struct rps_level_tree *tree, const struct rps_moments3 *x,
                             const struct rps_moments3 *y);

/* Is a leaf the first of a run? */
static inline int rps_level_tree_begins_run(const struct rps_level_tree *tree, size_t leaf)
{
    return tree->broken[leaf] == RPS_BROKEN_RUN;
}

/* The leaves, and what their signals are like; rank and increase are still 0. */
struct rps_level_tree rps_level_tree_make(struct rps_arena *arena,
                                          const struct rps_signals *signals,
                                          const struct rps_phases *fine);

/* Moments of the leaves from ... to - 1, one a signal, into ret. */
void rps_level_tree_moments(const struct rps_level_tree *tree, size_t from, size_t to,
                            struct rps_moments3 *ret);

/* The cost of a stretch with these moments. */
double rps_level_tree_cost(const struct rps_level_tree *tree, const struct rps_moments3 *moments);

/* How much of a table's counts in a stretch are other symbols in another one, beyond what chance
 * does: 0 ... 1. a, b: of the table's first symbol in each. */
double rps_level_tree_share_apart(const struct rps_mix *mix, const struct rps_moments3 *a,
                                  const struct rps_moments3 *b);

/* Merge everything; fills rank and increase. */
void rps_level_tree_merge(struct rps_level_tree *tree);

/*
 * Labels, numbered by first appearance, of `count` stretches that begin at the leaves first[0] ...
 * (first[count] is tree->count). Stretches merge wherever they lie, those that differ least first,
 * until they differ by `alike` of what neighbours usually differ by (of several runs .25); neighbours
 * never do. By how much two differ is the rise of the cost for each observation of the smaller:
 * what comes back is never quite the same, and the longer it is, the more its cost tells so.
 * sure[k]: that stretch k is like its own label and like no other. is_split[k]: 1 if the samples of
 * stretch k may split its label, NULL: none may. Returns the number of labels.
 */
int rps_level_tree_label(const struct rps_level_tree *tree, const size_t *first, size_t count,
                         double alike, const uint8_t *is_split, int *label, double *sure);

#endif
