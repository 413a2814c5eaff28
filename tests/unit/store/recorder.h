/* A recorder for tests of the writer: its notices, its progress, and the contents of the store. */
#ifndef RPISTAT_TEST_STORE_RECORDER_H
#define RPISTAT_TEST_STORE_RECORDER_H

#include "fixture.h"

/* Notices of the writer, received through a pipe. */
struct notices {
    int pipe[2];
    struct rps_writer_options options; /* Writer options with these notices and the smallest
                                          ring. */
};

void recorder_start_notices(struct notices *notices);
void recorder_stop_notices(struct notices *notices);

/* Wait for the next notice, which must contain `text`. */
void recorder_expect_notice(struct notices *notices, const char *text);

/* Hand over the periods from fixture_period(first, 2) to fixture_period(end - 1, 2). */
void recorder_write(struct rps_writer *writer, uint64_t first, uint64_t end);

/* Set the interval of commits from now on. 0 commits at once; a large value commits only at the
 * end. */
void recorder_commit_each(struct rps_writer *writer, int64_t ns);

/* Lock the store against all writers. */
sqlite3 *recorder_hold_lock(const char *path);
void recorder_release_lock(sqlite3 *db);

/* From now on the writer cannot create a file in the directory of its store. */
void recorder_lose_directory(struct rps_writer *writer);

/* Expect that the run holds exactly these periods, unchanged, and that its rollups are sums of the
 * periods. */
void recorder_expect(const char *path, int64_t run_id, uint64_t first, uint64_t end);

#endif
