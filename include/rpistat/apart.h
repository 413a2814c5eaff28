/*
 * The name that distinguishes a group of samples: a function or program of a phase class. Its share
 * of these samples is larger (or smaller) than of all others, beyond chance. Pure functions.
 */
#ifndef RPISTAT_APART_H
#define RPISTAT_APART_H

#include <stddef.h>
#include <stdint.h>

/* Blocks per group, and the number of neighbouring blocks in a longer block. */
#define RPS_APART_BLOCKS 40
#define RPS_APART_LONG   4

/* A name is reported only if its shares differ by at least this much. */
#define RPS_APART_SHARE_MIN .03

/* The larger share must be at least this many times the smaller one. */
#define RPS_APART_FACTOR_MIN 1.5

/* Samples of names, block by block: group g has the blocks g * RPS_APART_BLOCKS and following. */
struct rps_apart_counts {
    size_t group_count, name_count;
    const uint64_t *seen; /* seen[block * name_count + name] */
    const uint64_t *of;   /* of each block, all samples, also those of names that are not listed */
};

/* A second name is reported if both names have at least this share of the group's samples. */
#define RPS_APART_SECOND_MIN .2

struct rps_apart {
    int is_tested; /* 0: unknown; the group or the others had too few samples or blocks */
    struct rps_apart_name {
        int is_found; /* 0: no name, or no second one, differs beyond chance */
        size_t name;
        double share, rest; /* of the samples of the group, and of all other groups, 0 ... 1 */
    } name[2];
};

/* Return the number of periods per block, for a group of this many periods. */
uint64_t rps_apart_block_length(uint64_t periods);

/* Find a name for each group, and a second one with a larger share, into ret[group_count]. */
void rps_apart_find(const struct rps_apart_counts *counts, struct rps_apart *ret);

#endif
