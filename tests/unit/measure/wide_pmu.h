/* Counters of 64 bits that do not wrap, for tests of the multiplexer alone. */
#ifndef TESTS_UNIT_MEASURE_WIDE_PMU_H
#define TESTS_UNIT_MEASURE_WIDE_PMU_H

#include "rpistat/pmu.h"

static unsigned test_wide_width(void *self, int set, int slot)
{
    (void)self;
    (void)set;
    (void)slot;
    return 64;
}

static int64_t test_wide_read_within_ns(void *self)
{
    (void)self;
    return INT64_MAX;
}

static const struct rps_pmu test_wide_pmu = {.width = test_wide_width,
                                             .read_within_ns = test_wide_read_within_ns};

#endif
