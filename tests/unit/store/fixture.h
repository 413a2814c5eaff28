/* What the tests of the store share: folders that are removed again, a plan, a run, periods. */
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

/* How long the tests' own connections wait for a writer that is committing. */
#define FIXTURE_BUSY_MS 10000

/* cmocka setup and teardown: *state is the path of a new folder. */
int fixture_make_folder(void **state);
int fixture_remove_folder(void **state);

/* FOLDER/NAME in a static buffer (four are used in turn). */
const char *fixture_path(void **state, const char *name);

/*
 * Two sets of two events (a, b; c, d) and metrics:
 *     a_per_clock = a / clock, c_share = 100 * c / (a + c), b_rate = b / seconds,
 *     d_per_cpu_s = d / cpu_seconds, nested = -(a - 2) * 3 + b, by_zero = a / (a - a)
 * Event d is not permitted. free with rps_plan_free.
 */
struct rps_plan *fixture_plan(void);

/* A run with every member set; free with rps_run_free. The recorder is this process. */
void fixture_run(struct rps_run *run);

/* Period number n of a run with `sets` sets of two events, 100 ms each, realistic numbers. */
struct rps_period fixture_period(uint64_t n, unsigned int sets);

/* A writer with a begun run; fails the test on any error. */
struct rps_writer *fixture_writer(const char *path, const struct rps_writer_options *options,
                                  struct rps_run *run);

/*
 * What a recorder with samples hands over behind period n, the first with 0, the last when n
 * periods were handed over: modules 0 and 1, frames, stacks and names of tasks as they come, counts
 * of the period before n, and what sampling came to: FIXTURE_SAMPLES a period.
 */
#ifdef RPS_HAS_CODE
#define FIXTURE_SAMPLES 3
#else
#define FIXTURE_SAMPLES 0 /* there is no wing, and nothing is handed over */
#endif
#define FIXTURE_STACKS 40
void fixture_code(struct rps_writer *writer, uint64_t n);

/* What a recorder hands over of system signals behind period n, the first with 0: a reading of the
 * tree, its memory each fifth time; each tenth time one of the group and one of the machine, whose
 * m_steal is not supported. */
void fixture_system(struct rps_writer *writer, uint64_t n);

/* Wait until so many periods are committed. */
void fixture_wait_committed(struct rps_writer *writer, uint64_t periods);

/* End the run, close, free the run. */
void fixture_end(struct rps_writer *writer, struct rps_run *run);

/* A store of one run with three periods. */
void fixture_store(const char *path);

void fixture_write_text(const char *path, const char *text);

/* fork(), with a child in which a failed check ends the process and not only the test. */
pid_t fixture_fork(void);

/* The first column of the first row of sql on the file at path. */
int64_t fixture_number(const char *path, const char *sql);
double fixture_real(const char *path, const char *sql);
/* The same as text, "(null)" for NULL; static buffer. */
const char *fixture_text(const char *path, const char *sql);
/* Run SQL on the file at path. */
void fixture_exec(const char *path, const char *sql);

/* The error must say each of the texts (NULL ends) and be one sentence. */
void fixture_says(const struct rps_error *err, ...) __attribute__((sentinel));

#endif
