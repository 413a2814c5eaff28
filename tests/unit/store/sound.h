/* A store whose periods follow one another, for the tests of check and repair. */
#ifndef RPISTAT_TEST_STORE_SOUND_H
#define RPISTAT_TEST_STORE_SOUND_H

#include "fixture.h"

#include "rpistat/check.h"

#define SOUND_LENGTH_NS INT64_C(100000000)

/* Period n of a run that began at 0 and never paused; every fifth rotation takes its two sets the
 * other way round. */
struct rps_period sound_period(uint64_t n);

/* A store of `runs` complete runs of `periods` periods, thinned when older than keep_ns (0: not);
 * without a log beside it. */
void sound_store(const char *path, int runs, uint64_t periods, int64_t keep_ns);

/* What was found, as lines "wrong: ...", "odd: ..." and "note: ...". */
struct findings {
    char text[65536];
    struct rps_check_result check;
    struct rps_repair_result repair;
};

/* rps_store_check; fails the test when the store cannot be looked at. */
void sound_check(struct findings *ret, const char *path);

/* rps_store_repair into a new file, which must be sound afterwards; negative when it is refused. */
int sound_try_repair(struct findings *ret, const char *path, const char *new_path,
                     struct rps_error *err);

/* The same of a store that must not be refused. */
void sound_repair(struct findings *ret, const char *path, const char *new_path);

/* The whole file, in a new buffer (free()). */
unsigned char *sound_read(const char *path, size_t *ret_size);

/* Replace the file. */
void sound_write(const char *path, const unsigned char *data, size_t size);

#endif
