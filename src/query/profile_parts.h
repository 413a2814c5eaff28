/* What profiles of runs and of tables share: spreads, and what follows from them. */
#ifndef RPISTAT_SHOW_PROFILE_PARTS_H
#define RPISTAT_SHOW_PROFILE_PARTS_H

#include "rpistat/profile.h"

/* Mean and sum of squared differences of a stream of numbers (Welford 1962). */
struct rps_spread {
    uint64_t count;
    double mean, squares;
};

struct rps_spreads {
    struct rps_spread *label; /* owned; label[label * figure_count + figure] */
    struct rps_spread *whole; /* owned; of each figure */
};

void rps_spread_add(struct rps_spread *spread, double value);

/* Make the arrays of a profile for so many figures, all NaN, and count the labels. -1 without
 * memory; the profile is to be freed in any case. */
int rps_profile_init(struct rps_profile *profile, size_t figure_count,
                     const struct rps_phases *phases);

int rps_spreads_init(struct rps_spreads *spreads, const struct rps_profile *profile);
void rps_spreads_free(struct rps_spreads *spreads);

/* Fill spreads, coefficients of variation and the order of a profile whose figures, phases and
 * means are there. -1 without memory. */
int rps_profile_finish(struct rps_profile *profile, const struct rps_spreads *spreads);

#endif
