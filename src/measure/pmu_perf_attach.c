/* perf_event: attach to a target. This code finds the target's places (threads, CPUs, a control
 * group's CPUs), and opens the plan's counters at each place. These decisions follow from trials:
 *
 * - A single event set is never switched. The clock event then leads the set's group, so that one
 *   system call per period is enough.
 * - Siblings have their own read format, so that each can still be read alone if a group read
 *   returns ECHILD (threads with incomplete groups, Linux 6.5 and later).
 * - Attaching to a process is repeated until no thread was started in between. A thread's inherited
 *   counters cannot be queried, and a thread with inherited counters would be counted twice if it
 *   were also opened. Opening only the new threads was tried: if threads start and end often,
 *   counts were doubled, and the opening did not end. */
#include "pmu_perf.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rpistat/arena.h"
#include "rpistat/clock.h"

/* Limits for retries of attaching to a process: number and time. */
#define ATTACH_TRIES 1000
#define ATTACH_NS    (3 * RPS_NS_PER_S)

/* --- places ----------------------------------------------------------------------------------- */

/* Set the error for a directory that is not a control group, or whose hierarchy (version 1) does
 * not have the controller perf_event. */
static int group_failed(struct rps_error *err, int fd)
{
    static const char *const places[] = {"/sys/fs/cgroup/perf_event", "/sys/fs/cgroup/unified",
                                         "/sys/fs/cgroup"};
    char link[64], path[PATH_MAX + 1] = "";
    size_t i = 0;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (readlink(link, path, PATH_MAX) < 0)
        path[0] = '\0';
    while (i + 1 < RPS_COUNT(places) && access(places[i], F_OK) < 0)
        i++;
    return rps_error_set(err, RPS_FAILED,
                         "cannot count the control group %s: this directory is not in the cgroup "
                         "hierarchy that can count events; name a directory below %s",
                         path, places[i]);
}

/* Set the error for a target that was refused although rpistat could count the event on itself. */
static int attach_failed(struct rps_error *err, const struct rps_event *event,
                         const struct rps_perf_place *place, int number)
{
    char reason[RPS_REASON_SIZE];

    if ((number == EBADF || number == ENOENT) && place->flags & PERF_FLAG_PID_CGROUP)
        return group_failed(err, (int)place->pid);
    if ((number == EACCES || number == EPERM) && place->cpu >= 0)
        return rps_error_set(
            err, RPS_FAILED,
            "cannot count everything on CPU %d: not permitted (kernel.perf_event_paranoid is %d); "
            "run as root, set sysctl kernel.perf_event_paranoid=0, or, where it is at most 2, give "
            "rpistat CAP_PERFMON",
            place->cpu, rps_perf_paranoid());
    if (number == EACCES || number == EPERM)
        return rps_error_set(
            err, RPS_FAILED,
            "cannot count process %ld: it belongs to another user or has privileges; run as root, "
            "or give rpistat CAP_PERFMON and CAP_SYS_PTRACE",
            (long)place->pid);
    rps_perf_explain(number, reason, sizeof(reason));
    if (place->cpu >= 0)
        return rps_error_set(err, RPS_FAILED, "cannot count %s on CPU %d: %s", event->spec,
                             place->cpu, reason);
    return rps_error_set(err, RPS_FAILED, "cannot count %s of process %ld: %s", event->spec,
                         (long)place->pid, reason);
}

/* Return 1 if the event is counted at this place. An event that needs no counter is counted once
 * per thread, not once per kind of core. */
static int is_counted_at(const struct rps_perf *perf, const struct rps_event *event,
                         const struct rps_perf_place *place)
{
    if (event->state != RPS_EVENT_MEASURED || event->by_clock ||
        !rps_perf_counts_on(perf, event, place->kind))
        return 0;
    return place->kind == 0 || place->cpu >= 0 || rps_perf_needs_counter(perf, event);
}

/* Return 1 if errno means that the thread has ended or the CPU is offline. */
static int has_gone(int fd)
{
    return fd == -ESRCH || fd == -ENODEV;
}

/* Open the measured events of a set. Events that cannot join the group are counted alone. Returns 1
 * if the thread has ended or the CPU is offline. */
static int attach_set(struct rps_perf *perf, struct rps_perf_place *place, int number,
                      unsigned start, struct rps_error *err)
{
    const struct rps_event_set *set = &perf->plan->set[number];
    struct rps_perf_group *group = &place->group[number];

    if (perf->clock_leads) {
        group->leader_fd = place->clock_fd;
        group->members = 1;
    }
    for (int s = 0; s < set->event_count; s++) {
        struct rps_event event = rps_perf_event_on(perf, &set->event[s], place->kind);
        struct rps_perf_slot *slot = &group->slot[s];

        if (!is_counted_at(perf, &set->event[s], place))
            continue;
        if (group->leader_fd >= 0) {
            slot->fd = rps_perf_open_event(&event, place, group->leader_fd,
                                           start & RPS_PERF_INHERIT, NULL);
            if (slot->fd >= 0) {
                slot->position = group->members++;
                continue;
            }
        }
        slot->fd = rps_perf_open_event(
            &event, place, -1,
            start | (group->leader_fd < 0 && perf->group_reads ? RPS_PERF_GROUP : 0), NULL);
        if (slot->fd < 0)
            return has_gone(slot->fd) ? 1 : attach_failed(err, &event, place, -slot->fd);
        if (group->leader_fd < 0 && perf->group_reads) {
            group->leader_fd = slot->fd;
            slot->position = group->members++;
        }
    }
    return 0;
}

/* Open all counters at a place. Returns 1 if the thread has ended or the CPU is offline. */
static int attach_place(struct rps_perf *perf, struct rps_perf_place *place, int start_at_exec,
                        struct rps_error *err)
{
    unsigned start = RPS_PERF_DISABLED | (place->cpu < 0 ? RPS_PERF_INHERIT : 0);
    unsigned first = start | (start_at_exec ? RPS_PERF_ON_EXEC : 0);
    struct rps_event clock = rps_perf_event_on(perf, &perf->plan->clock, place->kind);
    int rc = 0;

    place->clock_fd = rps_perf_open_event(&clock, place, -1,
                                          first | (perf->clock_leads ? RPS_PERF_GROUP : 0), NULL);
    if (has_gone(place->clock_fd))
        return 1;
    if (place->clock_fd < 0)
        return attach_failed(err, &clock, place, -place->clock_fd);
    for (int n = 0; rc == 0 && n < perf->plan->set_count; n++)
        rc = attach_set(perf, place, n, n == perf->first_set ? first : start, err);
    return rc;
}

static void close_place(struct rps_perf *perf, struct rps_perf_place *place)
{
    for (int n = 0; place->group && n < perf->plan->set_count; n++)
        for (int s = 0; s < RPS_SLOT_MAX; s++)
            rps_perf_close_fd(&place->group[n].slot[s].fd);
    rps_perf_close_fd(&place->clock_fd);
    free(place->group);
}

/* Remove the places from index `first` on. */
static void drop_places(struct rps_perf *perf, int first)
{
    while (perf->place_count > first)
        close_place(perf, &perf->place[--perf->place_count]);
}

/* Add a place and open its counters, for every kind of core that the place may use. */
static int add_place(struct rps_perf *perf, const struct rps_perf_place *wanted, int start_at_exec,
                     struct rps_error *err)
{
    size_t sets = (size_t)perf->plan->set_count;
    struct rps_perf_place *place =
        rps_array_add(&perf->place, (size_t)perf->place_count, sizeof(*place));
    int rc;

    if (!place)
        return rps_error_memory(err);
    *place = *wanted;
    place->clock_fd = -1;
    place->group = calloc(sets, sizeof(*place->group));
    if (!place->group)
        return rps_error_memory(err);
    for (size_t n = 0; n < sets; n++) {
        place->group[n].leader_fd = -1;
        for (int s = 0; s < RPS_SLOT_MAX; s++)
            place->group[n].slot[s] = (struct rps_perf_slot){-1, -1};
    }
    rc = attach_place(perf, place, start_at_exec, err);
    if (rc == 0)
        perf->place_count++;
    else
        close_place(perf, place);
    return rc;
}

void rps_perf_detach(struct rps_perf *perf)
{
    drop_places(perf, 0);
    rps_idle_close(&perf->idle);
    free(perf->place);
    free(perf->track_cpu);
}

/* --- targets ---------------------------------------------------------------------------------- */

static int add_thread_counters(struct rps_perf *perf, pid_t tid, int start_at_exec,
                               struct rps_error *err)
{
    int rc = 0;

    for (int kind = 0; rc == 0 && kind < rps_perf_kinds(perf); kind++) {
        struct rps_perf_place place = {.pid = tid, .cpu = -1, .kind = kind};

        rc = add_place(perf, &place, start_at_exec, err);
    }
    return rc;
}

struct threads {
    pid_t *tid; /* owned */
    size_t count;
};

RPS_ARRAY_ORDER(compare_tids, pid_t, )

/* List a process's threads. The list is empty if there is no such process. */
static int list_threads(pid_t pid, struct threads *ret, struct rps_error *err)
{
    struct threads list = {NULL, 0};
    char path[64];
    struct dirent *entry;
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
    folder = opendir(path);
    while (folder && (entry = readdir(folder))) {
        pid_t tid = (pid_t)atoi(entry->d_name);

        if (tid <= 0)
            continue;
        if (!rps_array_add(&list.tid, list.count, sizeof(*list.tid))) {
            free(list.tid);
            closedir(folder);
            return rps_error_memory(err);
        }
        list.tid[list.count++] = tid;
    }
    if (folder)
        closedir(folder);
    if (list.count > 0)
        qsort(list.tid, list.count, sizeof(*list.tid), compare_tids);
    *ret = list;
    return 0;
}

/* Open every thread of a process. *ret_opened is the number of opened threads, *ret_count that of
 * present threads, and *ret_late that of threads started during the opening. */
static int open_threads(pid_t pid, const struct rps_perf_opener *opener, size_t *ret_opened,
                        size_t *ret_count, size_t *ret_late, struct rps_error *err)
{
    struct threads before = {NULL, 0}, after = {NULL, 0};
    int rc = list_threads(pid, &before, err);

    *ret_opened = *ret_late = 0;
    for (size_t i = 0; rc >= 0 && i < before.count; i++) {
        rc = opener->open(opener->context, before.tid[i], err);
        *ret_opened += rc == 0;
    }
    if (rc >= 0)
        rc = list_threads(pid, &after, err);
    *ret_count = after.count;
    for (size_t i = 0; rc >= 0 && i < after.count; i++)
        *ret_late += before.count == 0 || !bsearch(&after.tid[i], before.tid, before.count,
                                                   sizeof(*before.tid), compare_tids);
    free(before.tid);
    free(after.tid);
    return rc < 0 ? rc : 0;
}

int rps_perf_open_process(pid_t pid, const struct rps_perf_opener *opener, struct rps_error *err)
{
    int64_t until_ns = rps_clock_monotonic_ns() + ATTACH_NS;
    size_t opened = 0, count = 0, late = 0;

    for (int tries = 1;; tries++) {
        int rc = open_threads(pid, opener, &opened, &count, &late, err);

        if (rc < 0)
            return rc;
        if (late == 0)
            break;
        if (tries < ATTACH_TRIES && rps_clock_monotonic_ns() < until_ns) {
            opener->drop(opener->context);
            continue;
        }
        if (late * 100 <= count)
            break;
        return rps_error_set(err, RPS_FAILED,
                             "cannot count process %ld: it starts threads faster than counters can "
                             "be opened; record it from its start, or all CPUs (-a)",
                             (long)pid);
    }
    if (opened == 0)
        return rps_error_set(err, RPS_FAILED, "process %ld has ended; name a running one",
                             (long)pid);
    return 0;
}

/* The places of a process while the process is being opened. */
struct process {
    struct rps_perf *perf;
    int first;
};

static int open_thread(void *context, pid_t tid, struct rps_error *err)
{
    const struct process *process = context;

    return add_thread_counters(process->perf, tid, 0, err);
}

static void drop_process(void *context)
{
    const struct process *process = context;

    drop_places(process->perf, process->first);
}

static int add_process(struct rps_perf *perf, pid_t pid, struct rps_error *err)
{
    struct process process = {perf, perf->place_count};
    const struct rps_perf_opener opener = {&process, open_thread, drop_process};

    return rps_perf_open_process(pid, &opener, err);
}

/* Add a CPU with a separate track. If cgroup_fd is not -1, add only this control group's part of
 * the CPU, to track 0. An offline CPU is left out. */
static int add_cpu(struct rps_perf *perf, int cgroup_fd, int cpu, struct rps_error *err)
{
    int cgroup = cgroup_fd >= 0;
    struct rps_perf_place place = {
        .pid = cgroup_fd,
        .cpu = cpu,
        .flags = cgroup ? PERF_FLAG_PID_CGROUP : 0,
        .track = cgroup ? 0 : perf->track_count,
        .kind = rps_perf_kind_of_cpu(perf, cpu),
    };
    int rc = add_place(perf, &place, 0, err);

    if (rc != 0)
        return rc < 0 ? rc : 0;
    if (!cgroup)
        perf->track_cpu[perf->track_count++] = cpu;
    return 0;
}

static int attach_target(struct rps_perf *perf, const struct rps_target *target,
                         struct rps_error *err)
{
    int rc = 0;

    if (target->kind == RPS_TARGET_LAUNCH) {
        rc = add_thread_counters(perf, target->pid[0], target->start_at_exec, err);
        return rc > 0 ? rps_error_set(err, RPS_FAILED, "the workload ended before it began to run")
                      : rc;
    }
    for (int i = 0; rc == 0 && target->kind == RPS_TARGET_ATTACH && i < target->pid_count; i++)
        rc = add_process(perf, target->pid[i], err);
    for (int i = 0; rc == 0 && target->kind == RPS_TARGET_CPUS && i < target->cpu_count; i++)
        rc = add_cpu(perf, -1, target->cpu[i], err);
    for (int i = 0; rc == 0 && i < target->cgroup_count * target->cpu_count; i++)
        rc = add_cpu(perf, target->cgroup_fd[i / target->cpu_count],
                     target->cpu[i % target->cpu_count], err);
    if (rc == 0 && perf->place_count == 0)
        rc = rps_error_set(err, RPS_FAILED,
                           "no CPU of the list is online; choose CPUs that are online");
    return rc;
}

int rps_perf_count_threads(const struct rps_target *target, size_t *ret, struct rps_error *err)
{
    *ret = target->kind == RPS_TARGET_LAUNCH;
    for (int i = 0; target->kind == RPS_TARGET_ATTACH && i < target->pid_count; i++) {
        struct threads threads;

        if (list_threads(target->pid[i], &threads, err) < 0)
            return RPS_FAILED;
        *ret += threads.count;
        free(threads.tid);
    }
    return 0;
}

unsigned long long rps_perf_reserve_descriptors(unsigned long long need)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= need)
        return 0;
    if (limit.rlim_max < need)
        return limit.rlim_max;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return 0;
}

/* Check that there are enough descriptors before any counter is opened. */
static int check_descriptors(const struct rps_perf *perf, const struct rps_target *target,
                             struct rps_error *err)
{
    unsigned long long events = 1, places, need, allowed;
    size_t threads;

    for (int n = 0; n < perf->plan->set_count; n++)
        for (int s = 0; s < perf->plan->set[n].event_count; s++)
            events += perf->plan->set[n].event[s].state == RPS_EVENT_MEASURED &&
                      !perf->plan->set[n].event[s].by_clock;
    if (rps_perf_count_threads(target, &threads, err) < 0)
        return RPS_FAILED;
    places = threads + (unsigned long long)(target->cgroup_count > 0
                                                ? target->cpu_count * target->cgroup_count
                                                : target->cpu_count);
    if (target->cpu_count == 0 && perf->core_count > 1)
        places *= (unsigned long long)perf->core_count;
    need = events * places + RPS_PERF_DESCRIPTORS_FREE;
    allowed = rps_perf_reserve_descriptors(need);
    if (allowed > 0)
        return rps_error_set(err, RPS_FAILED,
                             "%llu events on %llu threads or CPUs need %llu file descriptors, and "
                             "%llu are allowed; raise ulimit -Hn, or count fewer events (--sets) "
                             "or CPUs (-C)",
                             events, places, need, allowed);
    return 0;
}

int rps_perf_attach(void *self, const struct rps_plan *plan, const struct rps_target *target,
                    struct rps_error *err)
{
    struct rps_perf *perf = self;
    size_t tracks = target->kind == RPS_TARGET_CPUS ? (size_t)target->cpu_count : 1;
    int rc;

    perf->plan = plan;
    perf->first_set = target->first_set;
    perf->clock_leads = plan->set_count == 1 && perf->group_reads;
    perf->track_cpu = calloc(tracks + 1, sizeof(*perf->track_cpu));
    if (!perf->track_cpu)
        return rps_error_memory(err);
    if ((rc = check_descriptors(perf, target, err)) < 0)
        return rc;
    if (target->kind == RPS_TARGET_CPUS) {
        if ((rc = rps_idle_open(&perf->idle, target->cpu, target->cpu_count, err)) < 0)
            return rc;
    } else {
        perf->track_count = 1;
        perf->track_cpu[0] = RPS_CPU_ALL;
    }
    return attach_target(perf, target, err);
}
