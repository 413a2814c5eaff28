/* Events of whole packages: counts of a PMU that is outside the cores, such as energy or memory
 * traffic. For each package, sysfs lists the CPU on which the PMU is read (`cpumask`). sysfs also
 * has the scale and unit of a count (`events/NAME.scale`, `events/NAME.unit`). */
#pragma once

#include "rpistat/error.h"
#include "rpistat/plan.h"

#define RPS_PACKAGE_CPUS_MAX 512

/* An event of one PMU, on all packages. */
struct rps_package_event {
    struct rps_event event; /* Encoding of the event */
    double scale;           /* Factor that converts a count to the event's unit */
    int cpu_count;
    int cpu[RPS_PACKAGE_CPUS_MAX]; /* CPUs on which the event is opened, one per package */
};

/* A search through the matching PMUs that have the event. */
struct rps_package_search {
    const char *sys;          /* Directory of sysfs, usually "/sys" */
    const char *pmu;          /* Name of a PMU, in which * stands for any text */
    const char *name;         /* Name of the event, such as "energy-pkg" */
    const char *unit;         /* Required unit, such as "Joules" */
    char last[RPS_SPEC_SIZE]; /* PMU that was found last ("" at first) */
};

/* Find the event of the next PMU, in *ret. Return 1, or 0 if no further PMU has the event. Return
 * RPS_FAILED, with a sentence of less than 80 bytes, if a PMU has the event but sysfs does not
 * define its counts. Without this error, a sum over the PMUs would be wrong. */
int rps_package_next(struct rps_package_search *search, struct rps_package_event *ret,
                     struct rps_error *err);
