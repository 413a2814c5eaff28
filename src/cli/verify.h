/*
 * Shared declarations of `rpistat verify`: cmd_verify.c (the command and the backends),
 * verify_count.c (one run of a microbenchmark) and verify_compare.c (the comparisons).
 */
#ifndef RPISTAT_CLI_VERIFY_H
#define RPISTAT_CLI_VERIFY_H

#include <stdint.h>

#include "cli.h"
#include "rpistat/document.h"
#include "rpistat/micro.h"
#include "rpistat/pmu.h"
#include "rpistat/tally.h"

/* A measured event of a run against its prediction, or an estimate from a rotation against the
 * full-time count. */
struct rps_verify_comparison {
    int slot;
    int in_turns;
    double expected, measured, error, tolerance;
    struct rps_interval interval; /* of an estimate from a rotation */
};

/* A verification, of one backend after the other. */
struct rps_verify {
    struct rps_cli *cli;
    struct rps_document document;
    struct rps_block *pmus, *not_compared, *comparisons; /* comparisons: the table being filled */
    const struct rps_pmu *pmu;
    struct rps_plan *plan; /* fitted */
    uint32_t *judged;      /* one per set, bit s: slot s had a prediction */
    /* So far, of all backends. */
    int rows, right;
    int intervals, held; /* of rotations, and those that contain the full-time count */
};

/*
 * Count one run of a microbenchmark. *tally is one of the plan, and is added to. Returns 0; 1 if
 * this machine cannot run it; or negative.
 */
int rps_verify_count_run(const struct rps_pmu *pmu, const struct rps_plan *plan,
                         const struct rps_micro *micro, uint64_t turns, int64_t period_ns,
                         struct rps_tally *tally, struct rps_micro_result *result,
                         struct rps_error *err);

/* Compare the predictions of microbenchmarks for the plan's events with measurements, each event
 * set counted all the time. Sets `judged` to the compared events. */
int rps_verify_predictions(struct rps_verify *verify, struct rps_error *err);

/* Compare full-time counts with estimates from events in rotation. For backends that may rotate
 * events in a recording: events counted by the kernel never rotate. */
int rps_verify_rotation(struct rps_verify *verify, struct rps_error *err);

#endif
