/* The common part of profiles of runs and of tables: spreads, and statistics from them. */
#ifndef RPISTAT_QUERY_PROFILE_PARTS_H
#define RPISTAT_QUERY_PROFILE_PARTS_H

#include "rpistat/profile.h"

/* Mean and sum of squared differences of a stream of numbers (Welford 1962), and of the means of
 * its blocks, of 16 and of 64. */
struct rps_spread {
    uint64_t count;
    double mean, squares;
    struct {
        uint64_t count;
        double sum, mean, squares;
    } block[2];
};

struct rps_spreads {
    struct rps_spread *label; /* label[label * figure_count + figure] */
    struct rps_spread *whole; /* of each figure */
};

void rps_spread_add(struct rps_spread *spread, double value);

/* Make the arrays of a profile for so many metrics, all NaN, and count the labels. Return its
 * spreads, which live as long as the profile. */
struct rps_spreads rps_profile_init(struct rps_arena *arena, struct rps_profile *profile,
                                    size_t figure_count, const struct rps_phases *phases);

/* Fill the spreads, coefficients of variation and order of a profile that has its metrics, phases
 * and means. */
void rps_profile_finish(struct rps_profile *profile, const struct rps_spreads *spreads);

#endif
