/*
 * The phases of several series of one set of signals, detected together: what is pure of
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
 * Put the series one behind the other, with a boundary between them that no level merges away, and
 * find their phases. Signal s is the same in all; where they tell of it differently (resolution,
 * noise floor) the larger counts. The level is one for all: its number of phases is that of the run
 * that has most. *ret is for rps_joint_free. Errors: those of rps_phases_find.
 *
 * The distance of two labels: of the means of each signal in its standard deviation over all of
 * the series, or its resolution if that is larger, the root of the mean square, as a part of the
 * largest of any two labels. A signal that one of them never shows counts as a deviation; one that
 * neither shows not at all. The mixes of a table of counts are as a signal, two deviations apart when
 * they have nothing in common.
 */
int rps_joint_find(const struct rps_signals *const *run, size_t count,
                   const struct rps_phases_options *options, struct rps_joint *ret,
                   struct rps_error *err);
void rps_joint_free(struct rps_joint *joint);

#endif
