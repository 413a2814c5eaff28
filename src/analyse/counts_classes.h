/* Phase classes that recur in a run. Private to counts*.c. */
#pragma once

#include "levels_tree.h"

/* A class for each leaf of a tree. */
struct rps_count_classes {
    size_t count;  /* number of classes */
    size_t *class; /* class of each leaf, from 0; in the arena */
    double cost;   /* cost of the run with these classes; can be compared with the cost of a path */
};

/* Find the classes that describe the run at the least cost. Each class costs `price`. A boundary
 * between two classes costs at most `price`. */
struct rps_count_classes rps_counts_find_classes(struct rps_arena *arena,
                                                 const struct rps_level_tree *tree, double price);
