/* Runs of every shape, as lists of periods, and the values that a store may have for segments of a
 * run. */
#ifndef RPISTAT_TEST_STORE_SHAPES_H
#define RPISTAT_TEST_STORE_SHAPES_H

#include "fixture.h"

#include <stdbool.h>

struct shape_options {
    uint64_t seed;
    int sets, cpus;
    uint64_t rotations;
    unsigned int gaps; /* number of gaps per thousand periods */
    bool shuffled;     /* the sets of a rotation come in random order */
    bool sleeps;       /* The cycle count often stops for a long time. */
    bool changes;      /* The set of countable events changes occasionally. */
    bool strange;      /* One set comes twice in a rotation, and another one is missing. */
    bool cpus_go_away; /* each CPU has fewer rotations than the one before */
};

/* Periods of a run, in the order in which they were measured. */
struct shape {
    struct shape_options options;
    size_t count;
    struct rps_period *period; /* periods; owned by the struct */
};

void shape_make(struct shape *ret, const struct shape_options *options);
void shape_free(struct shape *shape);

/* Return options of every kind, with at most `periods` periods per CPU. Equal seeds give equal
 * options. */
struct shape_options shape_options_of(uint64_t seed, uint64_t periods);

/* Return whether the two periods may be in one block. `before` is the previous period of the same
 * CPU. */
bool shape_follows(const struct rps_period *before, const struct rps_period *after);

/* Expect that the row is exactly the sum of the periods of its set and CPU from its first to its
 * last number. Mark these periods in seen[], which has one entry per period. A period that is
 * already marked fails the test. */
void shape_expect_row(const struct shape *shape, const struct rps_period *row, uint8_t *seen);

/* Return a random number below `range`. *state holds the state of the sequence. */
uint64_t shape_random(uint64_t *state, uint64_t range);

#endif
