/* Run the measurement loop on the workload's CPU, where switching its counters may be faster. A
 * counter of a thread on another CPU is switched and read on that CPU, by an interrupt, while this
 * thread waits. If this thread runs on the workload's own CPU, the context switch has just removed
 * the workload's counters from the hardware. Switching them is then only arithmetic. If a virtual
 * machine traps each access to a counter, a switch takes 15 us instead of 200 us. The context
 * switch costs a part of the time that is gained. The policy (below) finds by trials whether
 * running on the workload's CPU saves time. */
#include "affinity.h"
#include "rpistat/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Maximum number of descendants of the workload to check. */
#define PROCESSES_MAX 64

/* Shortest time slice that a thread can request. */
#define SLICE_SHORT_NS 100000

/* Return the CPU of a running thread that shares its CPU with other threads, or -1. */
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

/* Find a thread of the process that is running and shares its CPU with other threads. Returns the
 * number of this CPU, or -1 if there is no such thread. */
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

        if (end == at || *end != ' ') /* the last number may be cut off */
            break;
        list[count++] = (pid_t)child;
    }
    return count;
}

/* Argument of sched_setattr in the kernel's layout. glibc has it only since 2.41. */
struct sched_attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

/* Request short time slices. The scheduler (EEVDF, Linux 6.12 and later) then lets this thread
 * interrupt a busy thread as soon as this thread wakes up. Otherwise this thread would wait 3 ms
 * for the end of the busy thread's slice. Older kernels refuse or ignore the request. */
static void request_short_slices(void)
{
    struct sched_attributes attributes = {.size = sizeof(attributes)};

    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) < 0 ||
        attributes.policy != SCHED_OTHER)
        return;
    attributes.runtime = SLICE_SHORT_NS;
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void rps_affinity_init(struct rps_affinity *affinity)
{
    affinity->cpu = -1;
    CPU_ZERO(&affinity->home);
    sched_getaffinity(0, sizeof(affinity->home), &affinity->home);
    request_short_slices();
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

/* Choose where the loop runs. Running near the workload saves time if each access to a counter is
 * trapped (see above). But the scheduler separates two busy threads that share a CPU. It therefore
 * sometimes moves the workload, and the loop must follow. If the loop followed only after a whole
 * row (series) of slow switches, a quarter of all switches in a recording of 20 s was slow. */

/* If the median time of a switch exceeds this limit, the loop tries to run near the workload. The
 * loop continues to run near the workload if the median time becomes at most half as long. The loop
 * leaves the workload's CPU if it wakes up late too often in one row (series) of switches. */
#define SLOW_SWITCH_NS (50 * RPS_NS_PER_US)
#define LATE_NS        RPS_NS_PER_MS
#define LATE_MAX       3

/* Consecutive slow switches after which the loop assumes that the workload was moved. */
#define FOLLOW_AFTER 2

/* A move has saved time if at least PAID_CHEAP switches after the move were cheap. Finding the
 * workload and moving there costs about half a slow switch. After MOVES_MAX moves that saved no
 * time, the loop leaves the workload's CPU for WAIT_FIRST rows of switches. Each time the loop
 * leaves again, the number of rows is doubled. */
#define PAID_CHEAP 4
#define MOVES_MAX  4
#define WAIT_FIRST 8
#define WAIT_MAX   1024

void rps_affinity_policy_init(struct rps_affinity_policy *policy,
                              const struct rps_event_loop *event_loop)
{
    memset(policy, 0, sizeof(*policy));
    policy->event_loop = event_loop && event_loop->approach ? event_loop : NULL;
    policy->next_wait = WAIT_FIRST;
}

void rps_affinity_policy_woke(struct rps_affinity_policy *policy, int64_t late_ns)
{
    policy->late += late_ns > LATE_NS;
}

static int approach(struct rps_affinity_policy *p)
{
    p->cheap = p->dear = 0;
    return p->event_loop->approach(p->event_loop->self, 1);
}

static void go_far(struct rps_affinity_policy *p)
{
    p->event_loop->approach(p->event_loop->self, 0);
    p->close = p->moves = 0;
    p->wait = p->next_wait;
    if (p->next_wait < WAIT_MAX)
        p->next_wait *= 2;
}

/* Record the time of a switch near the workload. If the workload has moved to another CPU, move the
 * loop to that CPU or away from the workload. */
int rps_affinity_policy_switch(struct rps_affinity_policy *p, int64_t switch_ns)
{
    if (!p->close)
        return 0;
    if (switch_ns <= p->far_ns / 2) {
        p->dear = 0;
        p->cheap++;
        return 0;
    }
    if (++p->dear < FOLLOW_AFTER)
        return 0;
    p->moves = p->cheap >= PAID_CHEAP ? 1 : p->moves + 1;
    if (p->moves < MOVES_MAX)
        return approach(p);
    go_far(p);
    return 1;
}

static int try_affinity(struct rps_affinity_policy *p, int64_t median_ns)
{
    if (median_ns <= SLOW_SWITCH_NS)
        return 0;
    p->far_ns = median_ns;
    p->moves = 0;
    p->close = approach(p);
    if (!p->close)
        p->wait = WAIT_FIRST;
    return p->close;
}

int rps_affinity_policy_first(struct rps_affinity_policy *p, int64_t median_ns)
{
    int tried = p->tried;

    p->tried = 1;
    return !tried && p->event_loop && try_affinity(p, median_ns);
}

int rps_affinity_policy_row(struct rps_affinity_policy *p, int64_t median_ns)
{
    int late = p->late;

    p->late = 0;
    if (!p->event_loop)
        return 0;
    if (!p->close && p->wait > 0) {
        p->wait--;
        return 0;
    }
    if (!p->close)
        return try_affinity(p, median_ns);
    if (late >= LATE_MAX || median_ns > p->far_ns / 2) {
        go_far(p);
        return 1;
    }
    p->moves = 0;
    p->next_wait = WAIT_FIRST;
    return 0;
}
