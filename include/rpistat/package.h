/*
 * Events of whole packages: what a PMU beside the cores counts, as energy or memory traffic. sysfs
 * says on which CPU of each package it is read (`cpumask`), and what a count is worth
 * (`events/NAME.scale`, `events/NAME.unit`).
 */
#ifndef RPISTAT_PACKAGE_H
#define RPISTAT_PACKAGE_H

#include "rpistat/error.h"
#include "rpistat/plan.h"

#define RPS_PACKAGE_CPUS_MAX 512

/* An event of one PMU. */
struct rps_package_event {
    struct rps_event event; /* its encoding */
    double scale;           /* of a count, in its unit */
    int cpu_count;
    int cpu[RPS_PACKAGE_CPUS_MAX]; /* that it is opened on: one in each package */
};

/* A walk through the PMUs of a name that have the event. */
struct rps_package_search {
    const char *sys;          /* folder of sysfs, "/sys" */
    const char *pmu;          /* a PMU's name; a * in it stands for any text */
    const char *name;         /* of the event, "energy-pkg" */
    const char *unit;         /* that it must have, "Joules" */
    char last[RPS_SPEC_SIZE]; /* PMU that was looked at last; "" at first */
};

/*
 * The next PMU's event in *ret. Returns 1; 0: no more PMU has it; RPS_FAILED and a sentence of less
 * than 80 bytes where one has it and sysfs does not say what its counts mean, so that no sum of all
 * is right.
 */
int rps_package_next(struct rps_package_search *search, struct rps_package_event *ret,
                     struct rps_error *err);

#endif
