/*
 * Events of whole packages: counts of a PMU outside the cores, such as energy or memory traffic. In
 * sysfs are the CPU that reads it in each package (`cpumask`), and the scale and unit of a count
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
    int cpu[RPS_PACKAGE_CPUS_MAX]; /* on which it is opened: one per package */
};

/* A walk through the matching PMUs that have the event. */
struct rps_package_search {
    const char *sys;          /* directory of sysfs, "/sys" */
    const char *pmu;          /* a PMU's name; a * in it stands for any text */
    const char *name;         /* of the event, "energy-pkg" */
    const char *unit;         /* required one, "Joules" */
    char last[RPS_SPEC_SIZE]; /* the last PMU; "" at first */
};

/*
 * Find the next PMU's event in *ret. Returns 1, or 0 if no more PMU has it. RPS_FAILED and a
 * sentence of less than 80 bytes: one has it but sysfs does not define its counts, so that no sum
 * of all is right.
 */
int rps_package_next(struct rps_package_search *search, struct rps_package_event *ret,
                     struct rps_error *err);

#endif
