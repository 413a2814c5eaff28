/* A store in a folder of its own, written and read through the real store, for the tests of
 * show. */
#ifndef RPISTAT_TEST_SHOW_FIXTURE_H
#define RPISTAT_TEST_SHOW_FIXTURE_H

#include <stdint.h>

#include "rpistat/code_store.h"
#include "rpistat/period.h"
#include "rpistat/run.h"

struct rps_writer_options;
struct rps_plan;

#define FIXTURE_PERIOD_NS INT64_C(100000000)

struct fixture {
    char folder[256], path[512];
    struct rps_run run; /* change it between begin and write */
    struct rps_plan *plan;
    struct rps_writer *writer;
    struct rps_reader *reader; /* from fixture_read on */
    int64_t run_id;
    struct rps_period next; /* what fixture_period continues from */
};

/* Make the folder, the embedded plan with every event measured, and a run with known metadata. */
void fixture_begin(struct fixture *fixture, const char *plan_name);

/* Begin the run in the store; _with: with other options of the writer. */
void fixture_write(struct fixture *fixture);
void fixture_write_with(struct fixture *fixture, const struct rps_writer_options *options);

/* One more period behind the last: its set in turn, all slots counted, counts as given. */
void fixture_period(struct fixture *fixture, uint64_t cycles, const uint64_t *count);

/* End the run and open the store for reading. */
void fixture_read(struct fixture *fixture);

/* A path in the folder; lives until the next call. */
const char *fixture_file(struct fixture *fixture, const char *name);

/* Close everything and remove the folder with what is in it. */
void fixture_end(struct fixture *fixture);

#endif
