/* A valid store whose periods follow one another, for tests of check and repair. */
#ifndef RPISTAT_TEST_STORE_SOUND_H
#define RPISTAT_TEST_STORE_SOUND_H

#include "fixture.h"

#include "rpistat/check.h"

#define SOUND_LENGTH_NS INT64_C(100000000)

/* Return period n of a run that began at 0 and never paused. Every fifth rotation has its two sets
 * in reverse order. */
struct rps_period sound_period(uint64_t n);

/* Write a store of `runs` complete runs of `periods` periods each, without a log. Periods older
 * than keep_ns are downsampled (0: none). */
void sound_store(const char *path, int runs, uint64_t periods, int64_t keep_ns);

/* Findings, as lines "wrong: ...", "odd: ..." and "note: ...". */
struct findings {
    char text[65536];
    struct rps_check_result check;
    struct rps_repair_result repair;
};

/* Check the store by rps_store_check. The test fails if the store cannot be checked. */
void sound_check(struct findings *ret, const char *path);

/* Call rps_store_repair into a new file, which must be valid afterwards. Return a negative value if
 * the repair is refused. */
int sound_try_repair(struct findings *ret, const char *path, const char *new_path,
                     struct rps_error *err);

/* Repair a store into a new file. A refused repair fails the test. */
void sound_repair(struct findings *ret, const char *path, const char *new_path);

/* Return the whole file in a new buffer. The caller frees the buffer. */
unsigned char *sound_read(const char *path, size_t *ret_size);

/* Replace the file. */
void sound_write(const char *path, const unsigned char *data, size_t size);

/* Choose the part of each list that a program `test_... [FIRST STEP]` tests: every *ret_step-th
 * entry from number *ret_first on, or a quarter of these if RPISTAT_TEST_QUARTER is set. Return
 * FIRST, which is 0 for the program that also has the tests without lists. */
size_t sound_part(int argc, char **argv, size_t *ret_first, size_t *ret_step);

#endif
