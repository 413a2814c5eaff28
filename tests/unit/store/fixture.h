/* Functions that the tests of the store share: temporary directories, a plan, a run, periods. */
#ifndef RPISTAT_TEST_STORE_FIXTURE_H
#define RPISTAT_TEST_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "rpistat/store.h"

/* Time that connections of the tests wait for a committing writer. */
#define FIXTURE_BUSY_MS 10000

/* Setup and teardown functions for cmocka. *state is the path of a new directory; each test has a
 * new arena. */
extern struct rps_arena *fixture_arena;
int fixture_make_folder(void **state);
int fixture_remove_folder(void **state);

/* Return FOLDER/NAME in a static buffer. Four buffers are reused in rotation. */
const char *fixture_path(void **state, const char *name);

/* Return a plan with two sets of two events (a, b; c, d) and the metrics
 *     a_per_clock = a / clock, c_share = 100 * c / (a + c), b_rate = b / seconds,
 *     d_per_cpu_s = d / cpu_seconds, nested = -(a - 2) * 3 + b, by_zero = a / (a - a)
 * Event d is not permitted. Free the plan with rps_plan_free. */
struct rps_plan *fixture_plan(void);

/* Set every member of a run. The recorder is this process. Free the run with rps_run_free. */
void fixture_run(struct rps_run *run);

/* Return period number n of a run with `sets` sets of two events. A period lasts 100 ms and has
 * realistic numbers. */
struct rps_period fixture_period(uint64_t n, unsigned int sets);

/* Return a writer with a begun run. Any error fails the test. */
struct rps_writer *fixture_writer(const char *path, const struct rps_writer_options *options,
                                  struct rps_run *run);

/* Hand over everything that a recorder with samples writes after period n. Call with n = 0 first,
 * and once more after the last period. The data are modules 0 and 1, new frames, stacks and task
 * names, and the counts of period n - 1. Sampling totals grow by FIXTURE_SAMPLES per period. */
#ifdef RPS_HAS_CODE
#define FIXTURE_SAMPLES 3
#else
#define FIXTURE_SAMPLES 0 /* Without the code extension, no samples are handed over. */
#endif
#define FIXTURE_STACKS 40
void fixture_code(struct rps_writer *writer, uint64_t n);

/* Hand over the system metrics that a recorder writes after period n, first with n = 0. Each call
 * adds a reading of the process tree, every fifth with its memory. Every tenth call adds a reading
 * of the group and one of the machine, whose m_steal is not supported. */
void fixture_system(struct rps_writer *writer, uint64_t n);

/* Wait until `periods` periods are committed. */
void fixture_wait_committed(struct rps_writer *writer, uint64_t periods);

/* End the run, close the writer, and free the run. */
void fixture_end(struct rps_writer *writer, struct rps_run *run);

/* Open a store for reading. Any error fails the test. */
struct rps_reader *fixture_reader(const char *path);

/* Open a store for reading or writing and close it. Returns 0 or the error. */
int fixture_try_read(const char *path, struct rps_error *err);
int fixture_try_write(const char *path, struct rps_error *err);

/* Write a store of one run with three periods. */
void fixture_store(const char *path);

void fixture_write_text(const char *path, const char *text);

/* Call fork(). In the child, a failed check ends the process and not only the current test. */
pid_t fixture_fork(void);

/* Return the first column of the first row of `sql` on the file at path. */
int64_t fixture_number(const char *path, const char *sql);
double fixture_real(const char *path, const char *sql);
/* Return the first column of the first row as text in a static buffer, or "(null)" for NULL. */
const char *fixture_text(const char *path, const char *sql);
/* Run SQL on the file at path. */
void fixture_exec(const char *path, const char *sql);

/* Return 1 if RPISTAT_TEST_QUARTER is not set, or is the remainder of the number and 4. */
int fixture_is_in_quarter(uint64_t number);

/* Expect that the error is one sentence and contains each of the texts. NULL ends the list. */
void fixture_says(const struct rps_error *err, ...) __attribute__((sentinel));

#endif
