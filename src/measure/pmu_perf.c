/* The perf_event backends, hardware and software: two rows of the table that share one
 * implementation. The two backends differ in their clock event and in their default plan. This file
 * opens and closes the backends; pmu_perf.h lists the other files. */
#include "pmu_perf.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rpistat/run.h"

static void set_clock(struct rps_event *clock, const char *spec, const char *label,
                      const char *unit, const char *explain)
{
    memset(clock, 0, sizeof(*clock));
    snprintf(clock->name, sizeof(clock->name), "clock");
    snprintf(clock->spec, sizeof(clock->spec), "%s", spec);
    snprintf(clock->label, sizeof(clock->label), "%s", label);
    snprintf(clock->role, sizeof(clock->role), "cycles");
    snprintf(clock->unit, sizeof(clock->unit), "%s", unit);
    snprintf(clock->explain, sizeof(clock->explain), "%s", explain);
}

static int perf_choose_clock(void *self, struct rps_event *clock, struct rps_error *err)
{
    static const struct {
        const char *spec, *label, *unit, *explain;
    } choice[] = {
        {"cycles", "Cycles", "cycles", "Cycles of the processor's clock spent in the workload."},
        {"msr/tsc/", "TSC cycles", "cycles",
         "Ticks of the time stamp counter while the workload ran: cycles at the nominal clock."},
        {"task-clock", "Task clock", "ns", "Time the workload spent on a processor."},
    };
    struct rps_perf *perf = self;

    for (size_t i = perf->hardware ? 0 : 1; i < RPS_COUNT(choice); i++) {
        struct rps_event event;
        int rc;

        set_clock(&event, choice[i].spec, choice[i].label, choice[i].unit, choice[i].explain);
        if ((rc = rps_perf_try_event(self, &event, err)) < 0)
            return rc;
        if (event.state == RPS_EVENT_MEASURED && rps_perf_counts_here(perf, &event) == 0) {
            *clock = perf->clock = event;
            return 0;
        }
    }
    return rps_error_set(err, RPS_FAILED,
                         "nothing can be counted: not even the task clock can be opened");
}

static int group_reads_work(const struct rps_event *event)
{
    int fd = rps_perf_open_event(event, NULL, -1,
                                 RPS_PERF_DISABLED | RPS_PERF_INHERIT | RPS_PERF_GROUP, NULL);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Check that counting works, with an event that every machine with this backend supports. */
static int check_probe(const struct rps_perf *perf, const struct rps_event *probe, const char *what,
                       struct rps_error *err)
{
    char reason[RPS_REASON_SIZE];
    int number = rps_perf_counts_here(perf, probe);

    if (number == 0)
        return 0;
    if (number == ENODATA)
        return rps_error_set(
            err, RPS_FAILED, "%s cannot be used: a test event can be opened, but is not counted%s",
            what, rps_perf_is_virtual() ? " in this virtual machine" : " on this machine");
    if (perf->hardware && (number == ENOENT || number == ENODEV || number == ENXIO ||
                           number == EOPNOTSUPP || number == EINVAL))
        return rps_error_set(err, RPS_FAILED,
                             "%s cannot be used: this is a virtual machine without them, or its "
                             "kernel has no driver for them",
                             what);
    rps_perf_explain(number, reason, sizeof(reason));
    return rps_error_set(err, RPS_FAILED, "%s cannot be used: %s", what, reason);
}

static int perf_open(void **ret, int hardware, const char *spec, const char *what,
                     struct rps_error *err)
{
    struct rps_event probe;
    struct rps_perf *perf;

    set_clock(&probe, spec, spec, "", "");
    if (rps_event_resolve(&probe, "/sys", err) < 0)
        return RPS_FAILED;
    perf = calloc(1, sizeof(*perf));
    if (!perf)
        return rps_error_memory(err);
    perf->hardware = hardware;
    if (hardware)
        rps_perf_find_cores(perf, &probe);
    if (check_probe(perf, &probe, what, err) < 0) {
        free(perf);
        return RPS_FAILED;
    }
    perf->limit = hardware && perf->core_count < 2 ? rps_perf_find_limit() : INT_MAX;
    perf->group_reads = group_reads_work(&probe);
    *ret = perf;
    return 0;
}

static void perf_close(void *self)
{
    if (self)
        rps_perf_detach(self);
    free(self);
}

static int refuse_argument(const char *name, const char *argument, struct rps_error *err)
{
    if (!argument)
        return 0;
    return rps_error_set(err, RPS_USAGE, "--pmu %s:%s: %s has no argument; write --pmu NAME alone",
                         name, argument, name);
}

static int hardware_open(void **ret, const char *argument, struct rps_error *err)
{
    int rc = refuse_argument("hardware", argument, err);

    return rc < 0 ? rc : perf_open(ret, 1, "cycles", RPS_RUN_NO_COUNTERS, err);
}

static int software_open(void **ret, const char *argument, struct rps_error *err)
{
    int rc = refuse_argument("software", argument, err);

    return rc < 0 ? rc : perf_open(ret, 0, "task-clock", "the kernel's software events", err);
}

static int perf_track_count(void *self)
{
    const struct rps_perf *perf = self;

    return perf->track_count;
}

static int perf_track_cpu(void *self, int track)
{
    const struct rps_perf *perf = self;

    return perf->track_cpu[track];
}

static unsigned perf_width(void *self, int set, int slot)
{
    (void)self;
    (void)set;
    (void)slot;
    return 64; /* 64 bits, because the kernel keeps virtual counters */
}

static int64_t perf_read_within_ns(void *self)
{
    (void)self;
    return INT64_MAX;
}

/* The functions that both backends share. */
#define PERF_CALLS                                                                                 \
    .choose_clock = perf_choose_clock, .try_event = rps_perf_try_event, .fits = rps_perf_fits,     \
    .attach = rps_perf_attach, .track_count = perf_track_count, .track_cpu = perf_track_cpu,       \
    .start = rps_perf_start, .stop = rps_perf_stop, .width = perf_width,                           \
    .read_within_ns = perf_read_within_ns, .enable = rps_perf_enable, .disable = rps_perf_disable, \
    .read = rps_perf_read, .open_sampler = rps_perf_open_sampler,                                  \
    .open_system = rps_perf_open_system, .close = perf_close

const struct rps_pmu rps_pmu_hardware = {
    .name = "hardware",
    .summary = "the processor's event counters, through perf_event_open",
    .default_plan = "generic",
    .open = hardware_open,
    PERF_CALLS,
};

const struct rps_pmu rps_pmu_software = {
    .name = "software",
    .summary = "events counted by the kernel: page faults, context switches, time, system calls",
    .default_plan = "software",
    .open = software_open,
    PERF_CALLS,
};
