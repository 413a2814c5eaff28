/* What a recording counts: from -e, --metric, --sets and --scenario to a plan. */
#ifndef RPISTAT_CLI_RECORD_PLAN_H
#define RPISTAT_CLI_RECORD_PLAN_H

#include "cli.h"
#include "rpistat/plan.h"
#include "rpistat/pmu.h"

/*
 * The plan that the settings ask for, or, when they do not, the one for this machine and backend;
 * for rps_plan_free. `note` says why it is not the processor's counters that count, "" when they
 * do or were not wanted. RPS_USAGE for what cannot be understood, RPS_FAILED when the sets are for
 * another processor than the one whose counters are used.
 */
int rps_record_plan_load(const struct rps_record_settings *settings, const struct rps_pmu *pmu,
                         struct rps_plan **ret, const char *note, struct rps_error *err);

#endif
