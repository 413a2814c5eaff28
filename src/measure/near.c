/*
 * Being near the workload. A counter of a thread that runs on another CPU is switched and read
 * there, by an interrupt, while this thread waits; on the workload's own CPU its counters have just
 * been taken off by the context switch, and switching them is arithmetic. Where a virtual machine
 * traps each access to a counter that is 15 us instead of 200, though the context switch costs some
 * of it again. Whether it pays is found out by trying (placement.c).
 */
#include "near.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Processes below the workload that are looked at. */
#define PROCESSES_MAX 64

/* The shortest turns that can be asked for. */
#define TURN_SHORT_NS 100000

/* What /proc/PID/task/TID/stat says of a thread. */
struct thread_stat {
    char state;
    int cpu, policy;
};

/* Fields 3, 39 and 41; 0 when the thread is gone. */
static int read_stat(pid_t pid, const char *tid, struct thread_stat *ret)
{
    char path[320], text[1024];
    size_t length;
    char *at;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/task/%s/stat", (long)pid, tid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    length = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[length] = '\0';
    at = strrchr(text, ')');
    if (!at || sscanf(at, ") %c", &ret->state) != 1)
        return 0;
    at++;
    for (int field = 3; field <= 41 && at; field++, at = at ? strchr(at, ' ') : NULL) {
        at++;
        if (field == 39)
            ret->cpu = atoi(at);
        else if (field == 41)
            ret->policy = atoi(at);
    }
    return 1;
}

/* The CPU of a running thread of the process that shares its CPU; -1: none. */
static int running_cpu(pid_t pid)
{
    struct thread_stat stat;
    struct dirent *entry;
    char path[64];
    DIR *folder;
    int cpu = -1;

    snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
    folder = opendir(path);
    while (folder && cpu < 0 && (entry = readdir(folder))) {
        memset(&stat, 0, sizeof(stat));
        if (entry->d_name[0] != '.' && read_stat(pid, entry->d_name, &stat) && stat.state == 'R' &&
            stat.policy != SCHED_FIFO && stat.policy != SCHED_RR)
            cpu = stat.cpu;
    }
    if (folder)
        closedir(folder);
    return cpu;
}

/* Append the children of the process's first thread to the list. */
static int add_children(pid_t pid, pid_t *list, int count)
{
    char path[64];
    long child;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", (long)pid, (long)pid);
    file = fopen(path, "re");
    while (file && count < PROCESSES_MAX && fscanf(file, "%ld", &child) == 1)
        list[count++] = (pid_t)child;
    if (file)
        fclose(file);
    return count;
}

/* As the kernel takes it; glibc has had it since 2.41 only. */
struct sched_attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

/*
 * Ask for short turns: with those the scheduler (EEVDF, Linux 6.12 and later) lets this thread
 * interrupt a busy one as soon as it wakes up, and not at the end of that one's turn, 3 ms later.
 * Kernels that know nothing of it refuse, or do nothing.
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

void rps_near_init(struct rps_near *near)
{
    near->cpu = -1;
    CPU_ZERO(&near->home);
    sched_getaffinity(0, sizeof(near->home), &near->home);
    ask_for_short_turns();
}

int rps_near_move(struct rps_near *near, pid_t pid)
{
    pid_t list[PROCESSES_MAX] = {pid};
    int count = 1, cpu = -1;
    cpu_set_t one;

    for (int i = 0; i < count && cpu < 0; i++) {
        cpu = running_cpu(list[i]);
        if (cpu < 0)
            count = add_children(list[i], list, count);
    }
    if (cpu < 0 || cpu >= CPU_SETSIZE || cpu == near->cpu || !CPU_ISSET(cpu, &near->home))
        return 0;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) < 0)
        return 0;
    near->cpu = cpu;
    return 1;
}

void rps_near_leave(struct rps_near *near)
{
    if (near->cpu >= 0)
        sched_setaffinity(0, sizeof(near->home), &near->home);
    near->cpu = -1;
}
