/* A small recording through the public interface of the store, for the fault tests. A failure ends
 * the recording early. */
#ifndef RPISTAT_TEST_RECORDING_H
#define RPISTAT_TEST_RECORDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rpistat/check.h"
#include "rpistat/pmu.h"
#include "rpistat/store.h"

/* Progress of a recording. May be in memory that lives longer than the process. */
struct recording_progress {
    atomic_bool begun, ended;
    atomic_uint_fast64_t handed;    /* periods given to the writer */
    atomic_uint_fast64_t committed; /* number of periods seen to be committed */
};

struct recording {
    const char *path;
    struct rps_writer_options options;
    uint64_t periods;
    uint64_t each;       /* Periods handed over at once, followed by a mark (1: no marks). Waits
                            for each commit if every period is committed. */
    int64_t patience_ns; /* how long rps_writer_end tries to finish */
    bool elsewhere;      /* The machine of the run has been rebooted since. */
    struct recording_progress *progress;
    void (*committed)(void *context, uint64_t periods); /* called after commits; may be NULL */
    void *context;
};

/* Make a recording: open, begin, hand over the periods, end, close. Return 0, or a negative value
 * with the message of the first failure. */
int recording_make(const struct recording *recording, struct rps_error *err);

/* Check the store at path with rps_store_check. Return 0 and *ret if the store is valid, and 1 if
 * there is no store yet (no file, or an empty one). Any finding fails the test and is printed. */
int recording_check(const char *path, const char *what, struct rps_check_result *ret);

/* Make another recording into the store, which must succeed and leave the store valid. The store
 * holds `before` periods. */
void recording_add(const char *path, const char *what, uint64_t before);

/* Remove the store at path and the files alongside it. */
void recording_remove(const char *path);

/* The simulated processor, attached, with its plan. Free the simulation with
 * recording_end_simulation. */
struct recording_simulation {
    const struct rps_pmu *pmu;
    void *self;
    struct rps_plan *plan;
};

/* Open a simulation of a script, which is written to a file at path. */
void recording_simulate(struct recording_simulation *ret, const char *path, const char *script);
void recording_end_simulation(struct recording_simulation *simulation);

/* Return a random number below range. *state is any number and holds the state of the sequence.
 * Equal states give equal sequences. */
uint64_t recording_random(uint64_t *state, uint64_t range);

#endif
