/* Runs of every shape, as lists of periods, and what the store may say of stretches of them. */
#ifndef RPISTAT_TEST_STORE_SHAPES_H
#define RPISTAT_TEST_STORE_SHAPES_H

#include "fixture.h"

#include <stdbool.h>

struct shape_options {
    uint64_t seed;
    int sets, cpus;
    uint64_t rotations;
    unsigned int gaps; /* of a thousand periods: so many have one before them */
    bool shuffled;     /* the sets of a rotation come in random order */
    bool sleeps;       /* for long stretches the cycle count stands still */
    bool changes;      /* what could be counted changes now and then */
    bool strange;      /* a set comes twice in a rotation, and another one not at all */
    bool cpus_go_away; /* each CPU has fewer rotations than the one before */
};

/* In the order in which they were measured. */
struct shape {
    struct shape_options options;
    size_t count;
    struct rps_period *period; /* owned */
};

void shape_make(struct shape *ret, const struct shape_options *options);
void shape_free(struct shape *shape);

/* Options of every kind, the same for the same seed; up to so many periods of a CPU. */
struct shape_options shape_options_of(uint64_t seed, uint64_t periods);

/* May period `after` be in one block with `before`, the one before it of its CPU? */
bool shape_follows(const struct rps_period *before, const struct rps_period *after);

/*
 * Fails the test unless the row is exactly the sum of the periods of its set and CPU whose numbers
 * lie from its first to its last; marks them in seen[], an entry a period, and fails when one is
 * marked already.
 */
void shape_expect_row(const struct shape *shape, const struct rps_period *row, uint8_t *seen);

/* A random number below range of the sequence that *state stands in. */
uint64_t shape_random(uint64_t *state, uint64_t range);

#endif
