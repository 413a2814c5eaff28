/*
 * The phases of several runs, detected together: their signals one behind the other, with a
 * boundary between runs that is always there, and labels that mean the same in all of them.
 */
#ifndef RPISTAT_JOINT_PHASES_H
#define RPISTAT_JOINT_PHASES_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/levels.h"
#include "rpistat/phase.h"
#include "rpistat/run.h"
#include "rpistat/store.h"

struct rps_joint_run {
    struct rps_reader *reader; /* borrowed */
    int64_t run_id;
};

struct rps_joint_options {
    struct rps_level_choice level;
    int no_samples;
};

struct rps_joint_phases {
    size_t run_count;
    struct rps_phases *run; /* owned; of each: its own period numbers and times, without outliers */
    int label_count;
    int level;        /* that all runs were read at, rpistat/period.h; 0: as measured */
    double *distance; /* owned; between labels, as rps_match_labels has it */
    size_t signal_count;
    char (*signal)[RPS_NAME_SIZE * 2];  /* owned; those that all runs have */
    char (*missing)[RPS_NAME_SIZE * 2]; /* owned; those that some lack, which were not looked at */
    size_t missing_count;
};

/*
 * Detect. Signals are those that all runs have by name and formula, functions of samples those
 * that matter in any run (where all runs have samples). Where a run is so long, or thinned, that it is
 * read at a level, all are. CPUs of a recording by CPU are added up. *ret is for rps_joint_phases_free.
 * Errors: the store's; a run without periods; RPS_USAGE for a level that is not there.
 */
int rps_joint_phases_find(const struct rps_joint_run *run, size_t count,
                          const struct rps_joint_options *options, struct rps_joint_phases *ret,
                          struct rps_error *err);
void rps_joint_phases_free(struct rps_joint_phases *joint);

#endif
