/* perf_event: kinds of core.
 *
 * A hybrid processor has one PMU per kind of core. A generic event names its PMU in the upper half
 * of its number, a raw event in its type. An event that names no PMU belongs to one kind and does
 * not count on the others. All events of a group must belong to one PMU.
 *
 * Raw numbers on Intel's hybrid processors are those of the performance cores, whose PMU has the
 * type of raw events. On the efficient cores most raw numbers count something different, or
 * nothing. (tools/perf/Documentation/intel-hybrid.txt) */
#include "pmu_perf.h"
#include "rpistat/proc.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int rps_perf_kinds(const struct rps_perf *perf)
{
    return perf->core_count > 1 ? perf->core_count : 1;
}

/* Return the only kind of core that can count the event, or -1 if all kinds can count it. */
static int only_kind(const struct rps_perf *perf, const struct rps_event *event)
{
    for (int k = 0; k < perf->core_count; k++) {
        if (event->type == perf->core[k].type)
            return k;
    }
    return -1;
}

int rps_perf_needs_counter(const struct rps_perf *perf, const struct rps_event *event)
{
    return event->type == RPS_EVENT_HARDWARE || event->type == RPS_EVENT_HW_CACHE ||
           event->type == RPS_EVENT_RAW || only_kind(perf, event) >= 0;
}

int rps_perf_counts_on(const struct rps_perf *perf, const struct rps_event *event, int kind)
{
    int only = perf->core_count > 1 ? only_kind(perf, event) : -1;

    return only < 0 || only == kind;
}

struct rps_event rps_perf_event_on(const struct rps_perf *perf, const struct rps_event *event,
                                   int kind)
{
    struct rps_event copy = *event;

    if (perf->core_count < 2)
        return copy;
    if (event->type == RPS_EVENT_HARDWARE || event->type == RPS_EVENT_HW_CACHE)
        copy.config |= (uint64_t)perf->core[kind].type << 32; /* shift by PERF_PMU_TYPE_SHIFT */
    else if (event->type == RPS_EVENT_RAW)
        copy.type = perf->core[kind].type;
    return copy;
}

/* Return 1 if cpu is in a list like "0-3,8". */
static int list_has(const char *list, int cpu)
{
    while (*list) {
        char *end;
        long first = strtol(list, &end, 10), last = first;

        if (end == list)
            return 0;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        if (cpu >= first && cpu <= last)
            return 1;
        list = *end == ',' ? end + 1 : "";
    }
    return 0;
}

int rps_perf_kind_of_cpu(const struct rps_perf *perf, int cpu)
{
    int found = 0;

    for (int kind = 1; kind < perf->core_count; kind++)
        if (list_has(perf->core[kind].cpus, cpu))
            found = kind;
    return found;
}

int rps_perf_go_to(const struct rps_perf_core *core)
{
    cpu_set_t mask, wanted;

    CPU_ZERO(&wanted);
    if (sched_getaffinity(0, sizeof(mask), &mask) < 0)
        return 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &mask) && list_has(core->cpus, cpu))
            CPU_SET(cpu, &wanted);
    return CPU_COUNT(&wanted) > 0 && sched_setaffinity(0, sizeof(wanted), &wanted) == 0;
}

/* List the kinds of core: PMUs of sysfs with a file "cpus" that is not empty. Only core PMUs have
 * this file. All CPUs of a kind may be offline. */
static void list_cores(struct rps_perf *perf)
{
    static const char folder_path[] = "/sys/bus/event_source/devices";
    DIR *folder = opendir(folder_path);
    struct dirent *entry;
    char type[16];

    while (folder && perf->core_count < RPS_PERF_CORE_MAX && (entry = readdir(folder))) {
        struct rps_perf_core *core = &perf->core[perf->core_count];

        if (rps_proc_read(core->cpus, sizeof(core->cpus), "%s/%s/cpus", folder_path,
                          entry->d_name) == 0 ||
            core->cpus[0] == '\n' ||
            rps_proc_read(type, sizeof(type), "%s/%s/type", folder_path, entry->d_name) == 0)
            continue;
        core->type = (unsigned)strtoul(type, NULL, 10);
        snprintf(core->name, sizeof(core->name), "%.63s", entry->d_name);
        perf->core_count++;
    }
    if (folder)
        closedir(folder);
}

/* Check that the kernel can select the kind of core for a generic event. Older kernels (ARM before
 * Linux 6.6) cannot select the kind. Such a kernel chooses one kind, and the event's running time
 * shows this kind's share of the run. */
static void check_kinds(struct rps_perf *perf, const struct rps_event *event)
{
    struct rps_event one = rps_perf_event_on(perf, event, 0);
    int fd = rps_perf_open_event(&one, NULL, -1, RPS_PERF_DISABLED, NULL);

    if (fd >= 0)
        close(fd);
    else if (fd == -ENOENT || fd == -EINVAL)
        perf->core_count = 0;
}

void rps_perf_find_cores(struct rps_perf *perf, const struct rps_event *probe)
{
    list_cores(perf);
    if (perf->core_count > 1)
        check_kinds(perf, probe);
}
