/* A small recording through the store's doors, for the programs here: as far as it gets. */
#ifndef RPISTAT_TEST_RECORDING_H
#define RPISTAT_TEST_RECORDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rpistat/check.h"
#include "rpistat/pmu.h"
#include "rpistat/store.h"

/* What a recording has come to; may lie in memory that outlives its process. */
struct recording_progress {
    atomic_bool begun, ended;
    atomic_uint_fast64_t handed;    /* periods given to the writer */
    atomic_uint_fast64_t committed; /* of them: seen to be committed */
};

struct recording {
    const char *path;
    struct rps_writer_options options;
    uint64_t periods;
    uint64_t each;       /* so many at once, then a mark; 1: no marks. Waits for each commit, where
                            each is committed */
    int64_t patience_ns; /* of the end */
    bool elsewhere;      /* the run's machine has been started again since */
    struct recording_progress *progress;
    void (*committed)(void *context, uint64_t periods); /* NULL: nobody wants to know */
    void *context;
};

/* Open, begin, hand over the periods, end, close. 0, or negative with the sentence of what failed
 * first. */
int recording_make(const struct recording *recording, struct rps_error *err);

/*
 * What rps_store_check says of the store at path: 0 when it is sound and *ret; 1 when there is no
 * store yet (no file, or an empty one). Fails the test, with all that was found, when it is
 * neither.
 */
int recording_check(const char *path, const char *what, struct rps_check_result *ret);

/* Make another recording into the store, which works and leaves it sound; `before` periods are in
 * it. */
void recording_add(const char *path, const char *what, uint64_t before);

/* Remove the store at path with the files beside it. */
void recording_remove(const char *path);

/* The simulated processor, attached and with its plan; free with recording_end_simulation. */
struct recording_simulation {
    const struct rps_pmu *pmu;
    void *self;
    struct rps_plan *plan;
};

/* Of a script, which is written into a file at path. */
void recording_simulate(struct recording_simulation *ret, const char *path, const char *script);
void recording_end_simulation(struct recording_simulation *simulation);

/* A random number of the sequence that *state (any number) stands in; the same for the same. */
uint64_t recording_random(uint64_t *state, uint64_t range);

#endif
