/* Reads what sysfs states about events of whole packages (CPUs, unit, scale), except the encoding
 * of the events. */
#include "rpistat/package.h"
#include "rpistat/system_reader.h"

#include "resolve.h"

#include "rpistat/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES "bus/event_source/devices"

/* Read a file of the PMU that the search has just found. Return 0 or the errno. */
static int read_file(const struct rps_package_search *search, const char *name,
                     char ret[RPS_RESOLVE_VALUE_SIZE])
{
    char folder[RPS_SPEC_SIZE + sizeof(DEVICES)], path[RPS_RESOLVE_PATH_SIZE];

    snprintf(folder, sizeof(folder), DEVICES "/%s", search->last);
    return rps_resolve_path(path, search->sys, folder, name) ? rps_resolve_read_line(path, ret)
                                                             : ENAMETOOLONG;
}

static int read_event_file(const struct rps_package_search *search, const char *ending,
                           char ret[RPS_RESOLVE_VALUE_SIZE])
{
    char name[RPS_SPEC_SIZE];

    snprintf(name, sizeof(name), "events/%.150s%s", search->name, ending);
    return read_file(search, name, ret);
}

/* Read the list of CPUs. Return 0, or RPS_FAILED if the list is invalid or too long. */
static int read_cpus(const struct rps_package_search *search, struct rps_package_event *ret)
{
    char line[RPS_RESOLVE_VALUE_SIZE];
    int *cpu = NULL, result = RPS_FAILED;

    if (read_file(search, "cpumask", line) == 0 &&
        rps_parse_cpus("cpumask", line, &cpu, &ret->cpu_count, NULL) == 0 &&
        ret->cpu_count <= RPS_PACKAGE_CPUS_MAX) {
        memcpy(ret->cpu, cpu, (size_t)ret->cpu_count * sizeof(*cpu));
        result = 0;
    }
    free(cpu);
    return result;
}

static int read_meaning(const struct rps_package_search *search, struct rps_package_event *ret,
                        struct rps_error *err)
{
    char line[RPS_RESOLVE_VALUE_SIZE];

    if (read_cpus(search, ret) < 0)
        return rps_error_set(err, RPS_FAILED, "PMU %.30s has no file cpumask, which names its CPUs",
                             search->last);
    if (read_event_file(search, ".unit", line) != 0 || strcmp(line, search->unit) != 0)
        return rps_error_set(err, RPS_FAILED, "%.30s/%.20s/ does not have the unit %.10s",
                             search->last, search->name, search->unit);
    if (read_event_file(search, ".scale", line) != 0 ||
        rps_parse_double("scale", line, &ret->scale, NULL) < 0 || !(ret->scale > 0))
        return rps_error_set(err, RPS_FAILED, "%.30s/%.20s/ has no scale", search->last,
                             search->name);
    return 1;
}

int rps_package_next(struct rps_package_search *search, struct rps_package_event *ret,
                     struct rps_error *err)
{
    char line[RPS_RESOLVE_VALUE_SIZE], text[RPS_SPEC_SIZE];
    int result;

    do {
        if (rps_resolve_next_pmu(search->sys, search->pmu, search->last) != 0)
            return 0;
    } while (read_event_file(search, "", line) != 0);
    memset(ret, 0, sizeof(*ret));
    snprintf(text, sizeof(text), "%.100s/%.60s/", search->last, search->name);
    strcpy(ret->event.spec, text);
    result = rps_resolve_pmu(&ret->event, text, search->sys, true, err);
    if (result == 0 && ret->event.state != RPS_EVENT_MEASURED)
        result = rps_error_set(err, RPS_FAILED, "%.79s", ret->event.reason);
    return result < 0 ? RPS_FAILED : read_meaning(search, ret, err);
}

/* The names of system metrics. They are used to read, store and show the metrics. */

#define ROW(slot, ...) {.name = __VA_ARGS__},

static const struct rps_system_metric tree[] = {RPS_TREE_METRICS(ROW)};
static const struct rps_system_metric machine[] = {RPS_MACHINE_METRICS(ROW)};
static const struct rps_system_metric group[] = {RPS_GROUP_METRICS(ROW)};
static const struct rps_system_metric package[] = {RPS_PACKAGE_METRICS(ROW)};

const struct rps_system_metric *const rps_system_metrics[RPS_SYSTEM_SOURCES] = {
    [RPS_SYSTEM_TREE] = tree,
    [RPS_SYSTEM_MACHINE] = machine,
    [RPS_SYSTEM_GROUP] = group,
    [RPS_SYSTEM_PACKAGE] = package,
};

const int rps_system_metric_count[RPS_SYSTEM_SOURCES] = {
    [RPS_SYSTEM_TREE] = RPS_TREE_SLOTS,
    [RPS_SYSTEM_MACHINE] = RPS_MACHINE_SLOTS,
    [RPS_SYSTEM_GROUP] = RPS_GROUP_SLOTS,
    [RPS_SYSTEM_PACKAGE] = RPS_PACKAGE_SLOTS,
};

const char *const rps_system_sources[RPS_SYSTEM_SOURCES] = {
    [RPS_SYSTEM_TREE] = "tree",
    [RPS_SYSTEM_MACHINE] = "machine",
    [RPS_SYSTEM_GROUP] = "group",
    [RPS_SYSTEM_PACKAGE] = "package",
};
