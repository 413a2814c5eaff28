/* Runs of every shape that a recorder can leave, as lists of periods and in a store, for tests that
 * compare sums. */
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
    bool whole;                                   /* all events are counted all the time */
    bool sleeps;                                  /* sometimes the workload does not run for a
                                                     while */
    bool clock_lacks;                             /* sometimes the clock event has no counter */
    bool idle_unknown;                            /* some periods of a CPU have no idle time */
    bool cpus_go;                                 /* CPUs go away, and some come back */
    bool thinned;                                 /* blocks replace the older periods */
    bool killed;                                  /* the run has no end */
    unsigned int gaps, pauses, failures, starved; /* Numbers per thousand periods: lost periods,
                                                     pauses before a period, slots not read,
                                                     periods without a counter. */
};

struct random_run {
    struct random_options options;
    struct fixture fixture; /* After random_run_make, the store is written and open for reading. */
    size_t count;
    struct rps_period *period; /* owned; the written periods, in order of time, CPUs interleaved */
    int64_t end_ns;
};

/* Return a random number below range. range must be positive. */
uint64_t random_below(uint64_t *state, uint64_t range);

/* Make a random run. Equal seeds give equal runs. The caller frees the run with random_run_free. */
void random_run_make(struct random_run *ret, uint64_t seed);
void random_run_free(struct random_run *run);

#endif
