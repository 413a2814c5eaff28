/* Phase classes that recur in a run. Private to counts*.c. */
#ifndef RPISTAT_ANALYSE_COUNTS_CLASSES_H
#define RPISTAT_ANALYSE_COUNTS_CLASSES_H

#include "levels_tree.h"

/* A class for each leaf of a tree. */
struct rps_count_classes {
    size_t count;  /* classes */
    size_t *class; /* in the arena; of each leaf, from 0 */
    double cost;   /* of the run in these classes, to be compared with the cost of a path */
};

/* Find the classes that describe the run at the least cost. A class costs `price`, and a boundary
 * between two of them costs at most that. */
struct rps_count_classes rps_counts_find_classes(struct rps_arena *arena,
                                                 const struct rps_level_tree *tree, double price);

#endif
