/* System metrics of whole packages: counters that belong to no thread. Each counter is opened once
 * per package, on the CPU that the kernel names. The counter is opened alone and permanently, so
 * that the kernel does not multiplex it.
 *
 * If another tool holds a counter, the whole metric is missing, because a sum without that counter
 * would be wrong. If a counter could not be read for some time, its increase during that time is in
 * no reading. */
#include "system_proc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pmu_perf.h"
#include "rpistat/arena.h"
#include "rpistat/clock.h"
#include "rpistat/package.h"

#define BIT(slot) (UINT32_C(1) << (slot))

/* Names of events. For each metric, the first event that some PMUs have is used. A unit of sysfs
 * has `parts` parts, and a unit of the metric has `stored` of these parts. */
static const struct {
    enum rps_package_slot slot;
    const char *pmu, *name, *unit;
    double parts;
    int64_t stored;
} choices[] = {
    {RPS_PACKAGE_ENERGY, "power", "energy-pkg", "Joules", 1e9, 1000},
    {RPS_PACKAGE_ENERGY_RAM, "power", "energy-ram", "Joules", 1e9, 1000},
    {RPS_PACKAGE_READ, "uncore_imc*", "cas_count_read", "MiB", 1 << 20, 1024},
    {RPS_PACKAGE_READ, "uncore_imc*", "data_reads", "MiB", 1 << 20, 1024},
    {RPS_PACKAGE_READ, "uncore_imc_free_running*", "data_read", "MiB", 1 << 20, 1024},
    {RPS_PACKAGE_WRITTEN, "uncore_imc*", "cas_count_write", "MiB", 1 << 20, 1024},
    {RPS_PACKAGE_WRITTEN, "uncore_imc*", "data_writes", "MiB", 1 << 20, 1024},
    {RPS_PACKAGE_WRITTEN, "uncore_imc_free_running*", "data_write", "MiB", 1 << 20, 1024},
};

#define CLOCKS_NS (RPS_NS_PER_S - 50 * RPS_NS_PER_MS) /* interval; each reading wakes all CPUs */

#define PARTS_MAX 1e17 /* more than any counter can reach */

#define CHOICES ((int)RPS_COUNT(choices))

/* Read a counter: value, enabled, running. A counter that is not running returns end of file. */
static int read_counter(const struct rps_package_counter *counter, uint64_t *ret)
{
    uint64_t buffer[3];

    if (read(counter->fd, buffer, sizeof(buffer)) != (ssize_t)sizeof(buffer))
        return 1;
    *ret = buffer[0];
    return 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

static struct rps_package_counter *add_counter(struct rps_system_package *package)
{
    struct rps_package_counter *counter =
        rps_array_add(&package->counter, package->count, sizeof(*counter));

    if (!counter)
        return NULL;
    package->count++;
    counter->fd = -1;
    return counter;
}

/* Close all counters from index `first` on. */
static void drop_counters(struct rps_system_package *package, size_t first)
{
    while (package->count > first)
        rps_perf_close_fd(&package->counter[--package->count].fd);
}

/* Open an event for all code on a CPU, as long as enough descriptors are left. */
static int open_on(const struct rps_event *event, int cpu, int group_fd, unsigned flags,
                   int *ret_fd, struct rps_error *err)
{
    const struct rps_perf_place place = {.pid = -1, .cpu = cpu};
    char reason[RPS_REASON_SIZE];
    int fd = rps_perf_open_event(event, &place, group_fd, flags, NULL);

    *ret_fd = fd;
    if (fd >= 0 &&
        rps_perf_reserve_descriptors((unsigned long long)fd + RPS_PERF_DESCRIPTORS_FREE) > 0)
        return rps_error_set(err, RPS_FAILED, "too few file descriptors; raise ulimit -n");
    if (fd >= 0)
        return 0;
    rps_perf_explain(-fd, reason, sizeof(reason));
    return rps_error_set(err, RPS_FAILED, "%.79s", reason);
}

/* Open the event on each of its PMU's CPUs. */
static int open_event(struct rps_system_package *package, int choice,
                      const struct rps_package_event *event, struct rps_error *err)
{
    for (int i = 0; i < event->cpu_count; i++) {
        struct rps_package_counter *counter = add_counter(package);
        uint64_t value;

        if (!counter)
            return rps_error_memory(err);
        counter->choice = choice;
        counter->scale = event->scale * choices[choice].parts;
        if (open_on(&event->event, event->cpu[i], -1, RPS_PERF_PINNED, &counter->fd, err) < 0)
            return RPS_FAILED;
        if (read_counter(counter, &value) != 0)
            return rps_error_set(err, RPS_FAILED, "another program uses these counters");
    }
    return 0;
}

/* Open an event for all matching PMUs, or for none. Returns 1 if there are such PMUs. */
static int open_choice(struct rps_system_package *package, int choice, struct rps_error *err)
{
    struct rps_package_search search = {.sys = package->sys,
                                        .pmu = choices[choice].pmu,
                                        .name = choices[choice].name,
                                        .unit = choices[choice].unit};
    struct rps_package_event event;
    const size_t first = package->count;
    int result;

    while ((result = rps_package_next(&search, &event, err)) > 0 &&
           (result = open_event(package, choice, &event, err)) == 0)
        ;
    if (result < 0)
        drop_counters(package, first);
    return result < 0 ? result : package->count > first;
}

/* Open the counters for the clock of CPUs: three counters per CPU, read together. */
static int open_frequency(struct rps_system_package *package, const struct rps_target *target,
                          struct rps_error *err)
{
    static const char *const spec[RPS_PACKAGE_CLOCKS] = {"msr/mperf/", "msr/aperf/", "msr/tsc/"};
    struct rps_event event[RPS_PACKAGE_CLOCKS] = {{.name = ""}};

    for (int k = 0; k < RPS_PACKAGE_CLOCKS; k++) {
        strcpy(event[k].spec, spec[k]);
        if (rps_event_resolve(&event[k], package->sys, err) < 0)
            return RPS_FAILED;
        if (event[k].state != RPS_EVENT_MEASURED)
            return 0;
    }
    package->clock = calloc((size_t)target->cpu_count, sizeof(*package->clock));
    for (int i = 0; package->clock && i < target->cpu_count; i++) {
        struct rps_package_clock *clock = &package->clock[package->clock_count++];

        memset(clock->fd, -1, sizeof(clock->fd));
        for (int k = 0; k < RPS_PACKAGE_CLOCKS; k++) {
            const int leader_fd = k > 0 ? clock->fd[0] : -1;
            const unsigned flags = k > 0 ? 0 : RPS_PERF_PINNED | RPS_PERF_GROUP;

            if (open_on(&event[k], target->cpu[i], leader_fd, flags, &clock->fd[k], err) < 0)
                return RPS_FAILED;
        }
    }
    return package->clock_count > 0;
}

static void drop_clocks(struct rps_system_package *package)
{
    while (package->clock_count > 0) {
        package->clock_count--;
        for (int k = 0; k < RPS_PACKAGE_CLOCKS; k++)
            rps_perf_close_fd(&package->clock[package->clock_count].fd[k]);
    }
    free(package->clock);
    package->clock = NULL;
}

void rps_system_package_init(struct rps_system_package *package, const char *root,
                             const struct rps_target *target)
{
    struct rps_error err;
    int result;

    *package = (struct rps_system_package){.sys = ""};
    snprintf(package->sys, sizeof(package->sys), "%s/sys", root);
    for (int s = 0; s < RPS_PACKAGE_SLOTS; s++)
        snprintf(package->reason[s], sizeof(package->reason[s]), "no PMU here counts it");
    for (int i = 0; i < CHOICES; i++) {
        if (package->supported & BIT(choices[i].slot))
            continue;
        result = open_choice(package, i, &err);
        if (result > 0)
            package->supported |= BIT(choices[i].slot);
        if (result < 0)
            snprintf(package->reason[choices[i].slot], sizeof(package->reason[0]), "%.79s",
                     err.message);
    }
    result = open_frequency(package, target, &err);
    if (result > 0)
        package->supported |= BIT(RPS_PACKAGE_FREQUENCY);
    else
        drop_clocks(package);
    if (package->supported)
        package->supported |= BIT(RPS_PACKAGE_COUNTERS);
    if (result < 0)
        snprintf(package->reason[RPS_PACKAGE_FREQUENCY], sizeof(package->reason[0]), "%.79s",
                 err.message);
}

void rps_system_package_free(struct rps_system_package *package)
{
    drop_counters(package, 0);
    drop_clocks(package);
    free(package->counter);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void read_counters(struct rps_system_package *package)
{
    int64_t total[RPS_PACKAGE_SLOTS] = {0};

    for (size_t i = 0; i < package->count; i++) {
        const struct rps_package_counter *counter = &package->counter[i];
        const enum rps_package_slot slot = choices[counter->choice].slot;
        uint64_t value = 0;
        double parts;

        if (read_counter(counter, &value) != 0 ||
            !((parts = (double)value * counter->scale) < PARTS_MAX))
            package->valid &= ~BIT(slot);
        else
            total[slot] += (int64_t)parts;
    }
    for (size_t i = 0; i < package->count; i++) {
        const int choice = package->counter[i].choice;

        if (package->valid & BIT(choices[choice].slot))
            rps_signal_count(&package->sum[choices[choice].slot], total[choices[choice].slot],
                             choices[choice].stored);
    }
}

/* Add up the clocks of all CPUs. A CPU that hardly ran contributes little. */
static void read_clocks(struct rps_system_package *package)
{
    double came[RPS_PACKAGE_CLOCKS] = {0}, on_ns = 0;

    for (int i = 0; i < package->clock_count; i++) {
        struct rps_package_clock *clock = &package->clock[i];
        uint64_t buffer[3 + RPS_PACKAGE_CLOCKS];

        if (read(clock->fd[0], buffer, sizeof(buffer)) != (ssize_t)sizeof(buffer))
            continue;
        on_ns += (double)(buffer[2] - clock->running_ns);
        clock->running_ns = buffer[2];
        for (int k = 0; k < RPS_PACKAGE_CLOCKS; k++) {
            came[k] += (double)(buffer[3 + k] - clock->value[k]);
            clock->value[k] = buffer[3 + k];
        }
    }
    package->mhz = rps_system_mhz(came, on_ns);
}

int64_t rps_system_mhz(const double came[RPS_PACKAGE_CLOCKS], double on_ns)
{
    double ratio = came[RPS_PACKAGE_APERF] / came[RPS_PACKAGE_MPERF];
    double mhz = ratio * came[RPS_PACKAGE_TSC] / on_ns * 1e3;

    return mhz > 0 && mhz < 1e6 ? llround(mhz) : -1;
}

void rps_system_package_read(struct rps_system_package *package, int64_t time_ns, int begins)
{
    const uint32_t before = begins ? 0 : package->valid;
    const int64_t now_ns = rps_clock_monotonic_ns();

    package->valid = package->supported & ~(BIT(RPS_PACKAGE_FREQUENCY) | BIT(RPS_PACKAGE_COUNTERS));
    read_counters(package);
    package->length_us = (now_ns - package->read_ns) / RPS_NS_PER_US;
    package->read_ns += package->length_us * RPS_NS_PER_US;
    if (begins)
        package->read_ns = now_ns;
    package->told = (package->valid & before) | BIT(RPS_PACKAGE_COUNTERS);
    if (package->clock_count == 0 || (!begins && time_ns - package->clocks_ns < CLOCKS_NS))
        return;
    read_clocks(package);
    if (!begins && package->mhz >= 0)
        package->told |= BIT(RPS_PACKAGE_FREQUENCY);
    package->clocks_ns = time_ns;
}

void rps_system_package_report(struct rps_system_package *package, struct rps_system_reading *ret)
{
    ret->valid = package->told;
    ret->length_us = package->length_us;
    for (int i = 0; i < CHOICES; i++) {
        const enum rps_package_slot slot = choices[i].slot;

        if (i == 0 || choices[i - 1].slot != slot)
            ret->value[slot] = rps_system_sum_read(&package->sum[slot], choices[i].stored);
    }
    ret->value[RPS_PACKAGE_FREQUENCY] = package->mhz;
    ret->value[RPS_PACKAGE_COUNTERS] = (int64_t)package->count + package->clock_count;
}

void rps_system_package_state(const struct rps_system_package *package,
                              struct rps_system_state *ret)
{
    ret->supported = package->supported;
    for (int s = 0; s < RPS_PACKAGE_SLOTS; s++)
        if (!(package->supported & BIT(s)))
            memcpy(ret->reason[s], package->reason[s], sizeof(ret->reason[s]));
}
