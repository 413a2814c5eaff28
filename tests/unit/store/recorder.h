/* A recorder in the tests of the writer: what it says, what it has done, what the store holds. */
#ifndef RPISTAT_TEST_STORE_RECORDER_H
#define RPISTAT_TEST_STORE_RECORDER_H

#include "fixture.h"

/* The writer's notices, through a pipe. */
struct notices {
    int pipe[2];
    struct rps_writer_options options; /* with them, and the smallest ring */
};

void recorder_start_notices(struct notices *notices);
void recorder_stop_notices(struct notices *notices);

/* Wait for the next notice, which must say `text`. */
void recorder_expect_notice(struct notices *notices, const char *text);

/* Hand over fixture_period(first ... end - 1, 2). */
void recorder_write(struct rps_writer *writer, uint64_t first, uint64_t end);

/* How often the writer commits, from now on: 0, or so seldom that only the end does. */
void recorder_commit_each(struct rps_writer *writer, int64_t ns);

/* Keep everybody from writing. */
sqlite3 *recorder_hold_lock(const char *path);
void recorder_release_lock(sqlite3 *db);

/* From now on the writer can make no file beside its store. */
void recorder_lose_directory(struct rps_writer *writer);

/* The run holds exactly the periods of these numbers, as written; its rollups are sums of them. */
void recorder_expect(const char *path, int64_t run_id, uint64_t first, uint64_t end);

#endif
