/* A store in its own directory, written and read through the real store, for tests of query, plot
 * and report. */
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
    struct rps_run run; /* may be changed between begin and write */
    struct rps_plan *plan;
    struct rps_writer *writer;
    struct rps_reader *reader; /* reader, valid after fixture_read */
    int64_t run_id;
    struct rps_period next; /* template of the next period for fixture_period */
};

/* Make the directory, the embedded plan with every event measured, and a run with known metadata.
 */
void fixture_begin(struct fixture *fixture, const char *plan_name);

/* Begin the run in the store. fixture_write_with uses other writer options. */
void fixture_write(struct fixture *fixture);
void fixture_write_with(struct fixture *fixture, const struct rps_writer_options *options);

/* Add one period: the next set of the rotation, with all slots counted and these counts. */
void fixture_period(struct fixture *fixture, uint64_t cycles, const uint64_t *count);

/* End the run and open the store for reading. */
void fixture_read(struct fixture *fixture);

/* Return a path in the directory, valid until the next call. */
const char *fixture_file(struct fixture *fixture, const char *name);

/* Close everything and remove the directory with its contents. */
void fixture_end(struct fixture *fixture);

#endif
