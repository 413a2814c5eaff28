/*
 * The phases of several series of one set of signals, detected together: the pure functions of
 * run_phases.h.
 */
#ifndef RPISTAT_JOINT_H
#define RPISTAT_JOINT_H

#include <stddef.h>

#include "rpistat/detect.h"
#include "rpistat/error.h"
#include "rpistat/phases.h"

/* Phases of each series; labels mean the same in all. */
struct rps_joint {
    size_t run_count;
    struct rps_phases *run; /* owned; of each: its own observations, without outliers */
    int label_count;
    double *distance; /* owned; distance[x * label_count + y]: 0 alike ... 1 as far as any two */
};

/*
 * Concatenate the series, with boundaries between them that no level merges away, and find their
 * phases. Signal s is the same in all; if its resolution or noise floor differs, the larger one
 * counts. All series have one level: its number of phases is that of the run that has the most.
 * *ret is for rps_joint_free. Errors: those of rps_phases_find.
 *
 * The distance of two labels is the root of the mean square difference of signals, relative to the
 * largest distance of any two labels. A signal's difference is that of its means. The unit is its
 * standard deviation over all of the series, or its resolution if that is larger. A signal that one
 * of them never has counts as one deviation; one that neither has does not count. The mix of a
 * table is one signal; mixes with nothing in common are two deviations apart.
 */
int rps_joint_find(const struct rps_signals *const *run, size_t count,
                   const struct rps_phases_options *options, struct rps_joint *ret,
                   struct rps_error *err);
void rps_joint_free(struct rps_joint *joint);

#endif
