/* Shared declarations of `rpistat verify`: cmd_verify.c (the command and the backends) and
 * verify_compare.c (one run of a microbenchmark, and the comparisons). */
#pragma once

#include <stdint.h>

#include "cli.h"
#include "rpistat/document.h"
#include "rpistat/micro.h"
#include "rpistat/pmu.h"
#include "rpistat/tally.h"

/* An event compared with its prediction, or a rotation's estimate with the full-time count. */
struct rps_verify_comparison {
    int slot;
    int in_rotation;
    double expected, measured, error, tolerance;
    struct rps_interval interval; /* interval of an estimate from a rotation */
};

/* State of a verification, which checks one backend after the other. */
struct rps_verify {
    struct rps_cli *cli;
    struct rps_document document;
    struct rps_block *pmus, *not_compared, *comparisons; /* comparisons: the table being filled */
    const struct rps_pmu *pmu;
    struct rps_plan *plan; /* plan, fitted to the counters */
    uint32_t *judged;      /* one mask per set; bit s: slot s had a prediction */
    /* Totals so far, over all backends. */
    int rows, right;
    int intervals, held; /* number of estimates from rotations that have an interval; number of
                            intervals that contain the full-time count */
};

/* Compare the plan's events with the predictions of microbenchmarks. Each event set is counted all
 * the time, without rotation. Sets `judged` to the events that were compared. */
int rps_verify_predictions(struct rps_verify *verify, struct rps_error *err);

/* Compare full-time counts with estimates from events in rotation. The backend must be able to
 * rotate events in a recording. Events that the kernel itself counts never rotate. */
int rps_verify_rotation(struct rps_verify *verify, struct rps_error *err);
