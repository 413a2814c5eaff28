/*
 * What the files of `rpistat verify` share: cmd_verify.c (the command and the backends),
 * verify_count.c (counting a run of a microbenchmark) and verify_compare.c (the comparisons).
 */
#ifndef RPISTAT_CLI_VERIFY_H
#define RPISTAT_CLI_VERIFY_H

#include <stdint.h>

#include "cli.h"
#include "rpistat/document.h"
#include "rpistat/micro.h"
#include "rpistat/pmu.h"
#include "rpistat/tally.h"

/* A measured event of a run against its prediction, or an estimate in turns against the count of
 * all the time. */
struct rps_verify_comparison {
    int slot;
    int in_turns;
    double expected, measured, error, tolerance;
    struct rps_interval interval; /* of an estimate in turns */
};

/* A verification, of one backend after the other. */
struct rps_verify {
    struct rps_cli *cli;
    struct rps_document document;
    struct rps_block *pmus, *not_compared,
        *comparisons; /* comparisons: the table that is being filled */
    const struct rps_pmu *pmu;
    struct rps_plan *plan; /* fitted */
    uint32_t *judged;      /* a set each, bit s: slot s had a prediction */
    /* So far, of all backends. */
    int rows, right;
    int intervals, held; /* of estimates in turns, and those that hold the count of all the time */
};

/*
 * Count one run of a microbenchmark. *tally is one of the plan, and is added to. Returns 0; 1 when
 * this machine cannot run it; or negative.
 */
int rps_verify_count_run(const struct rps_pmu *pmu, const struct rps_plan *plan,
                         const struct rps_micro *micro, uint64_t turns, int64_t period_ns,
                         struct rps_tally *tally, struct rps_micro_result *result,
                         struct rps_error *err);

/* Compare what microbenchmarks predict of the plan's events with what was measured, each event set
 * counted all the time. Notes in `judged` for which events that was. */
int rps_verify_predictions(struct rps_verify *verify, struct rps_error *err);

/* Compare counts of all the time with estimates from events in turns. For backends whose events
 * may be rotated in a recording: those that the kernel counts never are. */
int rps_verify_rotation(struct rps_verify *verify, struct rps_error *err);

#endif
