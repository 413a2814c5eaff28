/*
 * Run near the workload. A counter of a thread on another CPU is switched and read there, by an
 * interrupt, while this thread waits. On the workload's own CPU the context switch has just taken
 * its counters off, and switching them is arithmetic. If a virtual machine traps each access to a
 * counter, that is 15 us instead of 200, though the context switch costs some of it again. The
 * policy (affinity_policy.c) finds by trying whether it pays.
 */
#include "affinity.h"
#include "rpistat/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Maximum number of descendants of the workload to check. */
#define PROCESSES_MAX 64

/* The shortest time slice that can be requested. */
#define TURN_SHORT_NS 100000

/* Return the CPU of a thread that runs and shares its CPU, or -1. */
static int shared_cpu(pid_t pid, const char *tid)
{
    char text[1024];
    int policy;

    rps_proc_read(text, sizeof(text), "/proc/%ld/task/%s/stat", (long)pid, tid);
    policy = atoi(rps_proc_stat_field(text, 41));
    if (*rps_proc_stat_field(text, 3) != 'R' || policy == SCHED_FIFO || policy == SCHED_RR)
        return -1;
    return atoi(rps_proc_stat_field(text, 39));
}

/* The CPU of a running thread of the process that shares its CPU; -1: none. */
static int running_cpu(pid_t pid)
{
    _Alignas(struct dirent) char entries[4096];
    char path[64];
    ssize_t got = 0;
    int fd, cpu = -1;

    snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd >= 0 && cpu < 0 && (got = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0)
        for (ssize_t at = 0; at < got && cpu < 0;) {
            const struct dirent *entry = (const void *)&entries[at];

            cpu = entry->d_name[0] == '.' ? -1 : shared_cpu(pid, entry->d_name);
            at += entry->d_reclen;
        }
    if (fd >= 0)
        close(fd);
    return cpu;
}

/* Append the children of the process's first thread to the list. */
static int add_children(pid_t pid, pid_t *list, int count)
{
    char text[PROCESSES_MAX * 12], *at = text, *end;

    rps_proc_read(text, sizeof(text), "/proc/%ld/task/%ld/children", (long)pid, (long)pid);
    for (; count < PROCESSES_MAX; at = end) {
        long child = strtol(at, &end, 10);

        if (end == at || *end != ' ') /* the last one may have been cut off */
            break;
        list[count++] = (pid_t)child;
    }
    return count;
}

/* The kernel's layout; glibc has it only since 2.41. */
struct sched_attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

/*
 * Request short time slices. The scheduler (EEVDF, Linux 6.12 and later) then lets this thread
 * interrupt a busy one as soon as it wakes up, instead of 3 ms later at the end of its slice. Older
 * kernels refuse, or ignore it.
 */
static void ask_for_short_turns(void)
{
    struct sched_attributes attributes = {.size = sizeof(attributes)};

    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) < 0 ||
        attributes.policy != SCHED_OTHER)
        return;
    attributes.runtime = TURN_SHORT_NS;
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void rps_affinity_init(struct rps_affinity *affinity)
{
    affinity->cpu = -1;
    CPU_ZERO(&affinity->home);
    sched_getaffinity(0, sizeof(affinity->home), &affinity->home);
    ask_for_short_turns();
}

int rps_affinity_move(struct rps_affinity *affinity, pid_t pid)
{
    pid_t list[PROCESSES_MAX] = {pid};
    int count = 1, cpu = -1;
    cpu_set_t one;

    for (int i = 0; i < count && cpu < 0; i++) {
        cpu = running_cpu(list[i]);
        if (cpu < 0)
            count = add_children(list[i], list, count);
    }
    if (cpu < 0 || cpu >= CPU_SETSIZE || cpu == affinity->cpu || !CPU_ISSET(cpu, &affinity->home))
        return 0;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) < 0)
        return 0;
    affinity->cpu = cpu;
    return 1;
}

void rps_affinity_leave(struct rps_affinity *affinity)
{
    if (affinity->cpu >= 0)
        sched_setaffinity(0, sizeof(affinity->home), &affinity->home);
    affinity->cpu = -1;
}
