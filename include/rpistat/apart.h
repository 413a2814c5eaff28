/* Find the function or program that distinguishes a group of samples, such as a phase class. A name
 * is found if its share in the group differs from its share in all other groups by more than chance
 * explains. Pure functions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Number of blocks per group, and of neighbouring blocks that are joined to one longer block. */
#define RPS_APART_BLOCKS 40
#define RPS_APART_LONG   4

/* Minimum difference between a reported name's shares inside and outside its group. */
#define RPS_APART_SHARE_MIN .03

/* Minimum ratio of a reported name's larger share to its smaller share. */
#define RPS_APART_FACTOR_MIN 1.5

/* Chance explains a difference of up to this many standard deviations. Samples come in clusters, so
 * their number has RPS_CHANCE_CLUSTER times the variance of independent draws. */
#define RPS_CHANCE_Z       3.
#define RPS_CHANCE_CLUSTER 2.

/* Number of samples per name and block. Group g starts at block g * RPS_APART_BLOCKS. */
struct rps_apart_counts {
    size_t group_count, name_count;
    const uint64_t *seen; /* Samples per block and name: seen[block * name_count + name] */
    const uint64_t *of;   /* All samples per block, also samples of names not in the list */
};

/* A second name is reported if both names have at least this share of the group's samples. */
#define RPS_APART_SECOND_MIN .2

struct rps_apart {
    int is_tested; /* 1 if the group and the other groups have enough samples and blocks */
    struct rps_apart_name {
        int is_found; /* 1 if a name or a second name was found */
        size_t name;
        double share, rest; /* Share of the name in the group, and in all other groups, 0 ... 1 */
    } name[2], unsure; /* unsure: if no name is found, one that differs, but perhaps by chance */
};

/* Return the number of periods per block for a group of `periods` periods. */
uint64_t rps_apart_block_length(uint64_t periods);

/* Find up to two names per group. A second name is found only if the shares of both names are
 * larger in the group than outside it. */
void rps_apart_find(const struct rps_apart_counts *counts, struct rps_apart *ret);
