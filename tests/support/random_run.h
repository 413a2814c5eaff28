/* Runs of every shape that a recorder can leave, as lists of periods and written to a store, for
 * tests that compare sums. */
#ifndef RPISTAT_TEST_SHOW_RANDOM_RUN_H
#define RPISTAT_TEST_SHOW_RANDOM_RUN_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#include "support/fixture.h"

struct rps_period;

struct random_options {
    int sets, cpus; /* cpus 0: the workload as a whole */
    uint64_t rotations;
    bool shuffled;                                /* the sets of a rotation come in random order */
    bool whole;                                   /* all that is counted is counted all the time */
    bool sleeps;                                  /* for stretches the workload does not run */
    bool clock_lacks;                             /* the clock event has no counter now and then */
    bool idle_unknown;                            /* of some periods of a CPU */
    bool cpus_go;                                 /* CPUs go away, and some come back */
    bool thinned;                                 /* blocks stand for the older periods */
    bool killed;                                  /* the run has no end */
    unsigned int gaps, pauses, failures, starved; /* of a thousand periods: lost, behind a pause,
                                                     with slots not read, without a counter */
};

struct random_run {
    struct random_options options;
    struct fixture fixture; /* from random_run_make on the store is written, and open for reading */
    size_t count;
    struct rps_period *period; /* owned; what was written, in the order of time, CPUs in turns */
    int64_t end_ns;
};

/* A number below range; range > 0. */
uint64_t random_below(uint64_t *state, uint64_t range);

/* The same run for the same seed; free it with random_run_free. */
void random_run_make(struct random_run *ret, uint64_t seed);
void random_run_free(struct random_run *run);

#endif
