/* Running the measurement loop in a unit test, with an array as the sink. */
#ifndef RPISTAT_TEST_RUN_H
#define RPISTAT_TEST_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rpistat/loop.h"
#include "rpistat/plan.h"
#include "rpistat/pmu.h"
#include "rpistat/system_reader.h"

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

struct test_run {
    struct rps_plan *plan;
    struct rps_fitting fitting;
    struct rps_order order;
    struct rps_period *period;
    size_t count;
    struct rps_system_reading *reading;
    size_t reading_count;
    char mark[256]; /* text of the last mark; mark_count counts all */
    int mark_count;
    int64_t mark_ns;
    char gap[128]; /* reason of the last gap */
    int gap_count;
    int64_t gap_ns, gap_start_ns; /* length of all gaps; start of the last gap */
    enum rps_loop_end end;
    int64_t elapsed_ns;
};

static inline void test_keep_period(void *context, const struct rps_period *period)
{
    struct test_run *run = context;

    if ((run->count & (run->count - 1)) == 0) { /* The array is full; double its size. */
        run->period = realloc(run->period, (2 * run->count + 1) * sizeof(*period));
        assert_non_null(run->period);
    }
    run->period[run->count++] = *period;
}

static inline void test_keep_mark(void *context, int64_t time_ns, const char *text)
{
    struct test_run *run = context;

    run->mark_count++;
    run->mark_ns = time_ns;
    snprintf(run->mark, sizeof(run->mark), "%s", text);
}

static inline void test_keep_gap(void *context, int32_t cpu, int64_t start_ns, int64_t length_ns,
                                 const char *reason)
{
    struct test_run *run = context;

    (void)cpu;
    run->gap_count++;
    run->gap_start_ns = start_ns;
    run->gap_ns += length_ns;
    snprintf(run->gap, sizeof(run->gap), "%s", reason);
}

static inline void test_keep_reading(void *context, const struct rps_system_reading *reading)
{
    struct test_run *run = context;

    run->reading = realloc(run->reading, (run->reading_count + 1) * sizeof(*reading));
    assert_non_null(run->reading);
    run->reading[run->reading_count++] = *reading;
}

static inline void test_run_free(struct test_run *run)
{
    rps_plan_free(run->plan);
    free(run->period);
    free(run->reading);
    memset(run, 0, sizeof(*run));
}

/* Write text into a new temporary file whose name is put into path (64 bytes). */
static inline void test_file(char *path, const char *text, size_t size)
{
    int fd;

    strcpy(path, "/tmp/rpistat-test-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, size), (ssize_t)size);
    close(fd);
}

struct test_options {
    int merge;
    int64_t period_ns; /* period length; 0: 100 ms */
    int64_t duration_ns;
    struct rps_order order;
    const char *plan;      /* NULL: use the plan arm1176 */
    const char *events[2]; /* -e options, used instead of a plan */
    int64_t delay_ns;
    int (*approach)(void *self, int closer);            /* approach function of the event loop;
                                                           NULL: none */
    void (*clocks)(void *self, struct rps_clocks *ret); /* clock function of the event loop;
                                                           NULL: none */
    void (*adapt)(struct rps_event_loop *event_loop);   /* further changes to the event loop; may
                                                           be NULL */
    const struct rps_sampler *sampler;                  /* NULL: no sampler */
    const struct rps_system_reader *system;             /* NULL: no reader of system metrics */
    const struct rps_sample_sink *sample_sink;          /* NULL: no sample sink */
    const struct rps_system_options *signals;           /* options of the backend's own system
                                                           metrics; NULL: none */
    int paused;
};

/* Total of a slot over all periods of its set. */
static inline uint64_t test_total(const struct test_run *run, unsigned set, int slot)
{
    uint64_t total = 0;

    for (size_t i = 0; i < run->count; i++)
        if (run->period[i].set_no == set)
            total += run->period[i].count[slot];
    return total;
}

/* Check the properties of every recording. Numbered periods follow each other without a hole, sets
 * are in order, and the cycle timestamp is the sum of cycles. */
static inline void test_check_contiguous(const struct test_run *run)
{
    size_t sets = (size_t)run->plan->set_count;
    int64_t time_ns = 0;
    uint64_t cycle = 0;

    for (size_t i = 0; i < run->count; i++) {
        const struct rps_period *p = &run->period[i];

        assert_int_equal(p->period, i);
        assert_int_equal(p->set_no, rps_order_set(&run->order, (int)sets, i));
        assert_int_equal(p->rotation, i / sets);
        assert_int_equal(p->start_ns, time_ns);
        assert_true(p->length_ns >= 0);
        time_ns += p->length_ns;
        cycle += p->cycles;
        assert_int_equal(p->cycle, cycle);
        if (p->running_ns > p->enabled_ns)
            fail_msg("period %d of set %d of %d: running %llu of %llu ns", (int)i, (int)p->set_no,
                     (int)sets, (unsigned long long)p->running_ns,
                     (unsigned long long)p->enabled_ns);
    }
    assert_int_equal(time_ns, run->elapsed_ns);
}

#endif
