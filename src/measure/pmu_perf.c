/*
 * The perf_event backends, hardware and software: two rows of the table over one implementation,
 * which differ in the clock event they choose and in the plan they default to.
 *
 * Each event set is one perf group, so that one read gives all of it. Decided by trying:
 * - The leader switches its group without PERF_IOC_FLAG_GROUP, siblings are opened enabled: with
 * the flag leader and siblings drifted apart when the workload ran on another CPU.
 * - Nothing is ever reset (IOC_RESET forgets neither times nor the counts of exited children).
 * - Whether events fit is asked with a pinned group on the recorder itself: one that cannot be
 * placed reads 0 bytes at once. No waiting child is needed, and no table of counters per processor.
 * - With one event set the clock event leads its group and nothing is ever switched: one system
 * call a period.
 * - Siblings have a read format of their own, so that each can still be read alone when a group
 * read answers ECHILD (threads whose groups are incomplete, Linux 6.5 and later).
 */
#include "rpistat/pmu.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert((int)RPS_EVENT_HARDWARE == (int)PERF_TYPE_HARDWARE, "the kernel's number");
_Static_assert((int)RPS_EVENT_SOFTWARE == (int)PERF_TYPE_SOFTWARE, "the kernel's number");
_Static_assert((int)RPS_EVENT_TRACEPOINT == (int)PERF_TYPE_TRACEPOINT, "the kernel's number");
_Static_assert((int)RPS_EVENT_HW_CACHE == (int)PERF_TYPE_HW_CACHE, "the kernel's number");
_Static_assert((int)RPS_EVENT_RAW == (int)PERF_TYPE_RAW, "the kernel's number");

#define PERF_TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

/* Descriptors that stay free for everything else. */
#define DESCRIPTORS_FREE 64

/* Kinds of core that one machine may have. */
#define CORE_MAX 4

/* A group read that meets a thread in the middle of its exit is tried again so often. */
#define READ_TRIES 20

enum open_flags {
    OPEN_DISABLED = 1, /* count only when enabled */
    OPEN_ON_EXEC = 2,  /* ... or at exec */
    OPEN_PINNED = 4,   /* on a counter always, or never */
    OPEN_GROUP = 8,    /* reads give the whole group */
    OPEN_INHERIT = 16, /* children and threads are counted too */
};

struct slot {
    int fd;       /* -1: not measured */
    int position; /* in the group's values; -1: read alone */
};

struct group {
    int leader_fd; /* of the group read; -1: none */
    int members;   /* values a group read gives */
    struct slot slot[RPS_SLOT_MAX];
};

/* Where counters are opened, with those counters. */
struct place {
    pid_t pid;           /* thread, -1: everything on the CPU, or a control group's descriptor */
    int cpu;             /* -1: wherever the thread runs */
    unsigned long flags; /* of perf_event_open */
    int kind;            /* of core, index into perf->core; 0 where there is one */
    int track;
    int gone; /* its CPU went offline */
    int clock_fd;
    struct group *group; /* owned; a set each */
};

/* A kind of core on a hybrid processor. */
struct core {
    uint32_t type;  /* of its PMU */
    char cpus[256]; /* its CPUs, as sysfs lists them */
};

struct perf {
    int hardware;
    int group_reads;        /* PERF_FORMAT_GROUP works together with inherit */
    struct rps_event clock; /* the clock event that was chosen */
    const struct rps_plan *plan;
    int clock_leads; /* the clock event is the leader of the only group */
    int core_count;  /* more than 1 on hybrid processors */
    struct core core[CORE_MAX];
    int track_count;
    int *track_cpu; /* owned */
    int place_count;
    struct place *place; /* owned */
};

/* --- opening one event ---------------------------------------------------------------------- */

static int open_attr(struct perf_event_attr *attr, const struct place *place, int group_fd)
{
    return (int)syscall(SYS_perf_event_open, attr, place->pid, place->cpu, group_fd,
                        PERF_FLAG_FD_CLOEXEC | place->flags);
}

static void fill_attr(struct perf_event_attr *attr, const struct rps_event *event, unsigned flags)
{
    memset(attr, 0, sizeof(*attr));
    attr->size = sizeof(*attr);
    attr->type = event->type;
    attr->config = event->config;
    attr->config1 = event->config1;
    attr->config2 = event->config2;
    attr->disabled = !!(flags & OPEN_DISABLED);
    attr->enable_on_exec = !!(flags & OPEN_ON_EXEC);
    attr->pinned = !!(flags & OPEN_PINNED);
    attr->inherit = !!(flags & OPEN_INHERIT);
    attr->read_format = PERF_TIMES | (flags & OPEN_GROUP ? PERF_FORMAT_GROUP : 0);
    if (strchr(event->modifiers, 'u') && !strchr(event->modifiers, 'k'))
        attr->exclude_kernel = attr->exclude_hv = 1;
    if (strchr(event->modifiers, 'k') && !strchr(event->modifiers, 'u'))
        attr->exclude_user = 1;
}

/*
 * Open the event at a place (NULL: this thread). A refusal is tried again without the kernel's
 * part, which more users may count; *ret_user_only (may be NULL) says so. Returns a descriptor or
 * -errno, that of the first try.
 */
static int open_event(const struct rps_event *event, const struct place *place, int group_fd,
                      unsigned flags, int *ret_user_only)
{
    static const struct place here = {.pid = 0, .cpu = -1};
    struct perf_event_attr attr;
    int fd, number;

    if (!place)
        place = &here;
    fill_attr(&attr, event, flags);
    fd = open_attr(&attr, place, group_fd);
    if (ret_user_only)
        *ret_user_only = 0;
    if (fd >= 0)
        return fd;
    number = errno;
    if ((number != EACCES && number != EPERM) || attr.exclude_kernel || attr.exclude_user)
        return -number;
    attr.exclude_kernel = attr.exclude_hv = 1;
    fd = open_attr(&attr, place, group_fd);
    if (fd >= 0 && ret_user_only)
        *ret_user_only = 1;
    return fd >= 0 ? fd : -number;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* --- why not -----------------------------------------------------------------------------------
 */

static int read_paranoid(void)
{
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    int level = -100;

    if (file) {
        if (fscanf(file, "%d", &level) != 1)
            level = -100;
        fclose(file);
    }
    return level;
}

static int is_virtual_machine(void)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char *line = NULL;
    size_t size = 0;
    int found = 0;

    while (file && !found && getline(&line, &size, file) > 0)
        found = strncmp(line, "flags", 5) == 0 && strstr(line, " hypervisor");
    free(line);
    if (file)
        fclose(file);
    return found;
}

/* Sort the errno of a failed open into a state, and say in words what it means here. */
static enum rps_event_state explain_errno(int number, char *reason, size_t size)
{
    switch (number) {
    case EACCES:
    case EPERM:
        snprintf(reason, size,
                 "not permitted (kernel.perf_event_paranoid is %d): run as root, give rpistat "
                 "CAP_PERFMON, or set 'sysctl kernel.perf_event_paranoid=1'; in a container "
                 "perf_event_open may be forbidden altogether",
                 read_paranoid());
        return RPS_EVENT_NOT_PERMITTED;
    case ENOSYS:
        snprintf(reason, size, "this kernel was built without performance events");
        return RPS_EVENT_UNSUPPORTED;
    case EBUSY:
        snprintf(reason, size, "another tool has taken the counters for itself");
        return RPS_EVENT_UNSUPPORTED;
    case EBADF:
        snprintf(reason, size, "it is no folder of a cgroup hierarchy that can count events");
        return RPS_EVENT_UNSUPPORTED;
    case EMFILE:
    case ENFILE:
        snprintf(reason, size, "too few file descriptors: raise 'ulimit -n'");
        return RPS_EVENT_UNSUPPORTED;
    default:
        snprintf(reason, size, "not supported here (%s)%s", strerror(number),
                 is_virtual_machine() ? ": this virtual machine does not have it" : "");
        return RPS_EVENT_UNSUPPORTED;
    }
}

/* --- trying --------------------------------------------------------------------------------------
 */

/* Events that happen inside the kernel and would read 0 for ever without it. */
static int happens_in_kernel(const struct rps_event *event)
{
    return event->type == RPS_EVENT_TRACEPOINT ||
           (event->type == RPS_EVENT_SOFTWARE && (event->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
                                                  event->config == PERF_COUNT_SW_CPU_MIGRATIONS));
}

/* Clocks in software count all of the task's time whatever is excluded. */
static int counts_anyway(const struct rps_event *event)
{
    return event->type == RPS_EVENT_SOFTWARE &&
           (event->config == PERF_COUNT_SW_TASK_CLOCK || event->config == PERF_COUNT_SW_CPU_CLOCK);
}

static int perf_try_event(void *self, struct rps_event *event, struct rps_error *err)
{
    int rc = rps_event_resolve(event, "/sys", err);
    int user_only = 0, fd;

    (void)self;
    if (rc < 0 || event->state != RPS_EVENT_MEASURED)
        return rc;
    fd = open_event(event, NULL, -1, OPEN_DISABLED | OPEN_INHERIT, &user_only);
    if (fd < 0) {
        event->state = explain_errno(-fd, event->reason, sizeof(event->reason));
        return 0;
    }
    close(fd);
    if (user_only && happens_in_kernel(event)) {
        event->state = RPS_EVENT_NOT_PERMITTED;
        snprintf(event->reason, sizeof(event->reason),
                 "it happens in the kernel, which may not be counted (kernel.perf_event_paranoid "
                 "is %d): run as root, give rpistat CAP_PERFMON, or set 'sysctl "
                 "kernel.perf_event_paranoid=1'",
                 read_paranoid());
    } else if (user_only && !counts_anyway(event)) {
        snprintf(event->modifiers, sizeof(event->modifiers), "u");
    }
    return 0;
}

/* Does the event count on this thread? Returns 0, or the errno of opening, or ENODATA for an event
 * that opens and stands still. */
static int counts_here(const struct rps_event *event)
{
    uint64_t value[3] = {0, 0, 0};
    volatile unsigned spin = 0;
    int fd = open_event(event, NULL, -1, 0, NULL);

    if (fd < 0)
        return -fd;
    while (spin < 10000)
        spin++;
    ssize_t got = read(fd, value, sizeof(value));
    close(fd);
    return got == (ssize_t)sizeof(value) && value[0] > 0 ? 0 : ENODATA;
}

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
    struct perf *perf = self;

    for (size_t i = perf->hardware ? 0 : 1; i < sizeof(choice) / sizeof(choice[0]); i++) {
        struct rps_event event;
        int rc;

        set_clock(&event, choice[i].spec, choice[i].label, choice[i].unit, choice[i].explain);
        if ((rc = perf_try_event(self, &event, err)) < 0)
            return rc;
        if (event.state == RPS_EVENT_MEASURED && counts_here(&event) == 0) {
            *clock = perf->clock = event;
            return 0;
        }
    }
    return rps_error_set(err, RPS_FAILED,
                         "nothing can be counted: not even the task clock can be opened");
}

/* --- fitting -----------------------------------------------------------------------------------
 */

static int needs_counter(const struct rps_event *event)
{
    return event->type == RPS_EVENT_HARDWARE || event->type == RPS_EVENT_HW_CACHE ||
           event->type == RPS_EVENT_RAW;
}

static int perf_fits(void *self, const struct rps_event *const *event, int count)
{
    uint64_t buffer[3 + 2 * (RPS_SLOT_MAX + 16)];
    int fd[RPS_SLOT_MAX + 16], opened = 0, fits = 1;
    const struct perf *perf = self;
    volatile unsigned spin = 0;

    if (count > RPS_SLOT_MAX + 15)
        return 0;
    for (int i = -1; i < count && fits; i++) {
        const struct rps_event *one = i < 0 ? &perf->clock : event[i];

        if (!needs_counter(one))
            continue;
        fd[opened] = open_event(one, NULL, opened ? fd[0] : -1,
                                opened ? 0 : OPEN_PINNED | OPEN_GROUP | OPEN_DISABLED, NULL);
        if (fd[opened] < 0)
            fits = 0;
        else
            opened++;
    }
    if (fits && opened > 0) {
        fits = ioctl(fd[0], PERF_EVENT_IOC_ENABLE, 0) == 0;
        while (fits && spin < 1000)
            spin++;
        if (fits)
            fits = read(fd[0], buffer, sizeof(buffer)) > 0 && buffer[2] > 0;
    }
    while (opened > 0)
        close(fd[--opened]);
    return fits;
}

/* --- attaching ----------------------------------------------------------------------------------
 */

static int attach_failed(struct rps_error *err, const struct rps_event *event,
                         const struct place *place, int number)
{
    char reason[RPS_REASON_SIZE], where[64];

    explain_errno(number, reason, sizeof(reason));
    if (place->cpu >= 0)
        snprintf(where, sizeof(where), "CPU %d", place->cpu);
    else
        snprintf(where, sizeof(where), "process %ld", (long)place->pid);
    return rps_error_set(err, RPS_FAILED, "cannot count %s on %s: %s", event->spec, where, reason);
}

/* The event as it is opened on one kind of core of a hybrid processor. */
static struct rps_event event_on(const struct perf *perf, const struct rps_event *event, int kind)
{
    struct rps_event copy = *event;

    if (perf->core_count < 2)
        return copy;
    if (event->type == RPS_EVENT_HARDWARE || event->type == RPS_EVENT_HW_CACHE)
        copy.config |= (uint64_t)perf->core[kind].type << 32; /* PERF_PMU_TYPE_SHIFT */
    else if (event->type == RPS_EVENT_RAW)
        copy.type = perf->core[kind].type;
    return copy;
}

/* Events that the kernel counts are counted once, whatever the kinds of core. */
static int is_counted_at(const struct rps_event *event, const struct place *place)
{
    return event->state == RPS_EVENT_MEASURED && (place->kind == 0 || needs_counter(event));
}

/* Open the measured events of a set; those that cannot join the group are counted on their own. */
static int attach_set(struct perf *perf, struct place *place, int number, unsigned start,
                      struct rps_error *err)
{
    const struct rps_event_set *set = &perf->plan->set[number];
    struct group *group = &place->group[number];

    if (perf->clock_leads) {
        group->leader_fd = place->clock_fd;
        group->members = 1;
    }
    for (int s = 0; s < set->event_count; s++) {
        struct rps_event event = event_on(perf, &set->event[s], place->kind);
        struct slot *slot = &group->slot[s];

        if (!is_counted_at(&event, place))
            continue;
        if (group->leader_fd >= 0) {
            slot->fd = open_event(&event, place, group->leader_fd, start & OPEN_INHERIT, NULL);
            if (slot->fd >= 0) {
                slot->position = group->members++;
                continue;
            }
        }
        slot->fd =
            open_event(&event, place, -1,
                       start | (group->leader_fd < 0 && perf->group_reads ? OPEN_GROUP : 0), NULL);
        if (slot->fd < 0)
            return attach_failed(err, &event, place, -slot->fd);
        if (group->leader_fd < 0 && perf->group_reads) {
            group->leader_fd = slot->fd;
            slot->position = group->members++;
        }
    }
    return 0;
}

/* Open everything at a place. 1: the thread has gone, or the CPU is offline. */
static int attach_place(struct perf *perf, struct place *place, int start_at_exec,
                        struct rps_error *err)
{
    unsigned start = OPEN_DISABLED | (place->cpu < 0 ? OPEN_INHERIT : 0);
    unsigned first = start | (start_at_exec ? OPEN_ON_EXEC : 0);
    struct rps_event clock = event_on(perf, &perf->plan->clock, place->kind);
    int rc = 0;

    place->clock_fd =
        open_event(&clock, place, -1, first | (perf->clock_leads ? OPEN_GROUP : 0), NULL);
    if (place->clock_fd == -ESRCH || place->clock_fd == -ENODEV)
        return 1;
    if (place->clock_fd < 0)
        return attach_failed(err, &clock, place, -place->clock_fd);
    for (int n = 0; rc == 0 && n < perf->plan->set_count; n++)
        rc = attach_set(perf, place, n, n == 0 ? first : start, err);
    return rc;
}

static void close_place(struct perf *perf, struct place *place)
{
    for (int n = 0; place->group && n < perf->plan->set_count; n++)
        for (int s = 0; s < RPS_SLOT_MAX; s++)
            close_fd(&place->group[n].slot[s].fd);
    close_fd(&place->clock_fd);
    free(place->group);
}

/* Add a place and open its counters, for every kind of core that it may use. */
static int add_place(struct perf *perf, const struct place *wanted, int start_at_exec,
                     struct rps_error *err)
{
    size_t sets = (size_t)perf->plan->set_count;
    struct place *place = realloc(perf->place, (size_t)(perf->place_count + 1) * sizeof(*place));
    int rc;

    if (!place)
        return rps_error_memory(err);
    perf->place = place;
    place += perf->place_count;
    *place = *wanted;
    place->clock_fd = -1;
    place->group = calloc(sets, sizeof(*place->group));
    if (!place->group)
        return rps_error_memory(err);
    for (size_t n = 0; n < sets; n++) {
        place->group[n].leader_fd = -1;
        for (int s = 0; s < RPS_SLOT_MAX; s++)
            place->group[n].slot[s] = (struct slot){-1, -1};
    }
    rc = attach_place(perf, place, start_at_exec, err);
    if (rc == 0)
        perf->place_count++;
    else
        close_place(perf, place);
    return rc;
}

/* --- targets
 * --------------------------------------------------------------------------------------- */

/* Is cpu in a list like "0-3,8"? */
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

static int add_thread(struct perf *perf, pid_t tid, int start_at_exec, struct rps_error *err)
{
    int rc = 0;

    for (int kind = 0; rc == 0 && kind < (perf->core_count > 1 ? perf->core_count : 1); kind++) {
        struct place place = {.pid = tid, .cpu = -1, .kind = kind};

        rc = add_place(perf, &place, start_at_exec, err);
    }
    return rc;
}

static int has_thread(const struct perf *perf, pid_t tid)
{
    for (int i = 0; i < perf->place_count; i++)
        if (perf->place[i].pid == tid)
            return 1;
    return 0;
}

/*
 * Open every thread of a running process. `inherit` covers what a thread starts from then on, not
 * its siblings, so the list is read again until it holds nothing new: a thread that was started
 * meanwhile is either in it or was inherited. Being both is no matter: perf_event_open of an
 * inherited thread would count it twice, so threads started by one that is already open are left
 * out by their age.
 */
static int add_process(struct perf *perf, pid_t pid, struct rps_error *err)
{
    char path[64];
    int found, any = 0;

    snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
    do {
        DIR *folder = opendir(path);
        struct dirent *entry;

        found = 0;
        while (folder && (entry = readdir(folder))) {
            pid_t tid = (pid_t)atoi(entry->d_name);
            int rc;

            if (tid <= 0 || has_thread(perf, tid))
                continue;
            rc = add_thread(perf, tid, 0, err);
            if (rc < 0) {
                closedir(folder);
                return rc;
            }
            found |= rc == 0;
        }
        if (folder)
            closedir(folder);
        any |= found;
    } while (found);
    if (!any)
        return rps_error_set(err, RPS_FAILED, "there is no process %ld", (long)pid);
    return 0;
}

/* A CPU, of a track of its own or of track 0. An offline one is left out. */
static int add_cpu(struct perf *perf, const struct rps_target *target, int cpu,
                   struct rps_error *err)
{
    int cgroup = target->kind == RPS_TARGET_CGROUP;
    struct place place = {
        .pid = cgroup ? target->cgroup_fd : -1,
        .cpu = cpu,
        .flags = cgroup ? PERF_FLAG_PID_CGROUP : 0,
        .track = cgroup ? 0 : perf->track_count,
    };
    int rc;

    for (int kind = 1; kind < perf->core_count; kind++)
        if (list_has(perf->core[kind].cpus, cpu))
            place.kind = kind;
    rc = add_place(perf, &place, 0, err);
    if (rc != 0)
        return rc < 0 ? rc : 0;
    if (!cgroup)
        perf->track_cpu[perf->track_count++] = cpu;
    return 0;
}

/* --- descriptors
 * ------------------------------------------------------------------------------------- */

static int threads_of(pid_t pid)
{
    char path[64];
    int count = 0;
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
    folder = opendir(path);
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count > 2 ? count - 2 : 0;
}

/* Make sure that there are descriptors enough, before any is opened. */
static int check_descriptors(const struct perf *perf, const struct rps_target *target,
                             struct rps_error *err)
{
    rlim_t events = 1, places = (rlim_t)target->cpu_count, need;
    struct rlimit limit;

    for (int n = 0; n < perf->plan->set_count; n++)
        for (int s = 0; s < perf->plan->set[n].event_count; s++)
            events += perf->plan->set[n].event[s].state == RPS_EVENT_MEASURED;
    if (target->kind == RPS_TARGET_LAUNCH)
        places = 1;
    for (int i = 0; target->kind == RPS_TARGET_ATTACH && i < target->pid_count; i++)
        places += (rlim_t)threads_of(target->pid[i]);
    if (target->cpu_count == 0 && perf->core_count > 1)
        places *= (rlim_t)perf->core_count;
    need = events * places + DESCRIPTORS_FREE;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= need)
        return 0;
    if (limit.rlim_max < need)
        return rps_error_set(err, RPS_FAILED,
                             "counting %llu events at %llu places takes %llu file descriptors, and "
                             "%llu are allowed: raise 'ulimit -Hn', or count fewer events (--sets) "
                             "or fewer CPUs (-C)",
                             (unsigned long long)events, (unsigned long long)places,
                             (unsigned long long)need, (unsigned long long)limit.rlim_max);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return 0;
}

static int attach_target(struct perf *perf, const struct rps_target *target, struct rps_error *err)
{
    int rc = 0;

    if (target->kind == RPS_TARGET_LAUNCH) {
        rc = add_thread(perf, target->pid[0], target->start_at_exec, err);
        return rc > 0 ? rps_error_set(err, RPS_FAILED, "the workload has gone before it began")
                      : rc;
    }
    for (int i = 0; rc == 0 && target->kind == RPS_TARGET_ATTACH && i < target->pid_count; i++)
        rc = add_process(perf, target->pid[i], err);
    for (int i = 0; rc == 0 && target->kind != RPS_TARGET_ATTACH && i < target->cpu_count; i++)
        rc = add_cpu(perf, target, target->cpu[i], err);
    if (rc == 0 && perf->place_count == 0)
        rc = rps_error_set(err, RPS_FAILED,
                           "there is nothing to count: no CPU of the list is "
                           "online");
    return rc;
}

static int perf_attach(void *self, const struct rps_plan *plan, const struct rps_target *target,
                       struct rps_error *err)
{
    struct perf *perf = self;
    size_t tracks = target->kind == RPS_TARGET_CPUS ? (size_t)target->cpu_count : 1;
    int rc;

    perf->plan = plan;
    perf->clock_leads = plan->set_count == 1 && perf->group_reads;
    perf->track_cpu = calloc(tracks + 1, sizeof(*perf->track_cpu));
    if (!perf->track_cpu)
        return rps_error_memory(err);
    if ((rc = check_descriptors(perf, target, err)) < 0)
        return rc;
    if (target->kind != RPS_TARGET_CPUS) {
        perf->track_count = 1;
        perf->track_cpu[0] = RPS_CPU_ALL;
    }
    return attach_target(perf, target, err);
}

static int perf_track_count(void *self)
{
    const struct perf *perf = self;

    return perf->track_count;
}

static int perf_track_cpu(void *self, int track)
{
    const struct perf *perf = self;

    return perf->track_cpu[track];
}

/* --- switching and reading -----------------------------------------------------------------------
 */

/* Switch the clock event of all places, where it does not lead the group. */
static int switch_clocks(struct perf *perf, unsigned long request)
{
    int failed = 0;

    for (int i = 0; i < perf->place_count; i++)
        failed |= ioctl(perf->place[i].clock_fd, request, 0) < 0;
    return failed;
}

static int switch_place(const struct group *group, unsigned long request)
{
    int failed = 0;

    if (group->leader_fd >= 0)
        failed |= ioctl(group->leader_fd, request, 0) < 0;
    for (int s = 0; s < RPS_SLOT_MAX; s++)
        if (group->slot[s].fd >= 0 && group->slot[s].position < 0)
            failed |= ioctl(group->slot[s].fd, request, 0) < 0;
    return failed;
}

static int switch_groups(struct perf *perf, int number, unsigned long request,
                         struct rps_error *err)
{
    int failed = 0;

    for (int i = 0; i < perf->place_count; i++)
        if (!perf->place[i].gone)
            failed |= switch_place(&perf->place[i].group[number], request);
    if (failed)
        return rps_error_set(err, RPS_FAILED, "cannot switch event set %s: %s",
                             perf->plan->set[number].name, strerror(errno));
    return 0;
}

static int perf_enable(void *self, int set, struct rps_error *err)
{
    return switch_groups(self, set, PERF_EVENT_IOC_ENABLE, err);
}

static int perf_disable(void *self, int set, struct rps_error *err)
{
    return switch_groups(self, set, PERF_EVENT_IOC_DISABLE, err);
}

/* Groups first when stopping, and last when starting: what a set counts, its clock counts too. */
static int perf_start(void *self, int set, struct rps_error *err)
{
    struct perf *perf = self;

    if (!perf->clock_leads && switch_clocks(perf, PERF_EVENT_IOC_ENABLE))
        return rps_error_set(err, RPS_FAILED, "cannot start the clock event: %s", strerror(errno));
    return perf_enable(self, set, err);
}

static int perf_stop(void *self, int set, struct rps_error *err)
{
    struct perf *perf = self;
    int rc = perf_disable(self, set, err);

    if (rc == 0 && !perf->clock_leads && switch_clocks(perf, PERF_EVENT_IOC_DISABLE))
        return rps_error_set(err, RPS_FAILED, "cannot stop the clock event: %s", strerror(errno));
    return rc;
}

/* Read one descriptor; a thread that is just leaving answers ECHILD for a moment. */
static ssize_t read_counter(int fd, void *buffer, size_t size)
{
    ssize_t got = -1;

    for (int tries = 0; tries < READ_TRIES; tries++) {
        got = read(fd, buffer, size);
        if (got >= 0 || (errno != EINTR && errno != ECHILD))
            break;
    }
    return got;
}

/* What one place gives. */
struct sample {
    uint64_t clock, enabled_ns, running_ns;
    uint64_t value[RPS_SLOT_MAX];
    uint32_t valid;
};

static void read_alone(const struct slot *slot, int s, struct sample *ret)
{
    uint64_t value[3];

    if (read_counter(slot->fd, value, sizeof(value)) != (ssize_t)sizeof(value))
        return;
    ret->value[s] = value[0];
    ret->valid |= UINT32_C(1) << s;
    if (value[2] > ret->running_ns)
        ret->running_ns = value[2];
}

static void read_group(const struct perf *perf, const struct group *group, struct sample *ret)
{
    uint64_t buffer[3 + RPS_SLOT_MAX + 1]; /* how many, enabled, running, values */
    ssize_t got = -1;
    int grouped = 0;

    if (group->leader_fd >= 0) {
        got = read_counter(group->leader_fd, buffer, sizeof(buffer));
        grouped = got >= (ssize_t)((3 + (size_t)group->members) * sizeof(uint64_t));
    }
    if (grouped) {
        ret->running_ns = buffer[2];
        if (perf->clock_leads) {
            ret->enabled_ns = buffer[1];
            ret->clock = buffer[3];
        }
    }
    for (int s = 0; s < RPS_SLOT_MAX; s++) {
        const struct slot *slot = &group->slot[s];

        if (slot->fd < 0)
            continue;
        if (grouped && slot->position >= 0) {
            ret->value[s] = buffer[3 + slot->position];
            ret->valid |= UINT32_C(1) << s;
        } else if (slot->fd != group->leader_fd) {
            read_alone(slot, s, ret);
        }
    }
}

/* Read a place. 1: its CPU has gone. */
static int read_place(const struct perf *perf, const struct place *place, int set,
                      struct sample *ret, struct rps_error *err)
{
    uint64_t clock[3];
    ssize_t got;

    memset(ret, 0, sizeof(*ret));
    read_group(perf, &place->group[set], ret);
    if (perf->clock_leads)
        return 0;
    got = read_counter(place->clock_fd, clock, sizeof(clock));
    if (got == 0 || (got < 0 && errno == ENODEV))
        return 1;
    if (got != (ssize_t)sizeof(clock))
        return rps_error_set(err, RPS_FAILED, "cannot read the clock event: %s", strerror(errno));
    ret->clock = clock[0];
    ret->enabled_ns = clock[1];
    return 0;
}

/* Slots of the set that the place counts. */
static uint32_t slots_at(const struct place *place, int set)
{
    uint32_t slots = 0;

    for (int s = 0; s < RPS_SLOT_MAX; s++)
        if (place->group[set].slot[s].fd >= 0)
            slots |= UINT32_C(1) << s;
    return slots;
}

/* The places of a track are added up; a slot that one of them could not read is not valid. */
static int perf_read(void *self, int track, int set, struct rps_reading *ret, struct rps_error *err)
{
    struct perf *perf = self;
    struct rps_reading sum = {.valid = ~UINT32_C(0)};
    int places = 0;

    for (int i = 0; i < perf->place_count; i++) {
        struct place *place = &perf->place[i];
        struct sample sample;
        int rc;

        if (place->track != track || place->gone)
            continue;
        rc = read_place(perf, place, set, &sample, err);
        if (rc < 0)
            return rc;
        place->gone = rc;
        if (rc > 0)
            continue;
        places++;
        sum.clock += sample.clock;
        sum.running_ns += sample.running_ns;
        if (place->kind == 0 ||
            place->cpu >= 0) /* a thread is enabled once, on all kinds of core */
            sum.enabled_ns += sample.enabled_ns;
        for (int s = 0; s < RPS_SLOT_MAX; s++)
            sum.value[s] += sample.value[s];
        sum.valid &= sample.valid | ~slots_at(place, set);
    }
    if (places == 0)
        return 1;
    *ret = sum;
    return 0;
}

static unsigned perf_width(void *self, int set, int slot)
{
    (void)self;
    (void)set;
    (void)slot;
    return 64; /* the kernel keeps virtual counters of its own */
}

static int64_t perf_read_within_ns(void *self)
{
    (void)self;
    return INT64_MAX;
}

/* --- begin and end
 * -------------------------------------------------------------------------------- */

static void perf_close(void *self)
{
    struct perf *perf = self;

    if (!perf)
        return;
    for (int i = 0; i < perf->place_count; i++)
        close_place(perf, &perf->place[i]);
    free(perf->place);
    free(perf->track_cpu);
    free(perf);
}

/* The kinds of core: PMUs of sysfs that list their CPUs the way core PMUs do. */
static void find_cores(struct perf *perf)
{
    static const char folder_path[] = "/sys/bus/event_source/devices";
    DIR *folder = opendir(folder_path);
    struct dirent *entry;
    char path[512];

    while (folder && perf->core_count < CORE_MAX && (entry = readdir(folder))) {
        struct core *core = &perf->core[perf->core_count];
        FILE *file;
        unsigned type = 0;

        snprintf(path, sizeof(path), "%s/%s/cpus", folder_path, entry->d_name);
        file = fopen(path, "re");
        if (!file)
            continue;
        if (!fgets(core->cpus, sizeof(core->cpus), file))
            core->cpus[0] = '\0';
        fclose(file);
        snprintf(path, sizeof(path), "%s/%s/type", folder_path, entry->d_name);
        file = fopen(path, "re");
        if (file && fscanf(file, "%u", &type) == 1 && core->cpus[0] && core->cpus[0] != '\n') {
            core->type = type;
            perf->core_count++;
        }
        if (file)
            fclose(file);
    }
    if (folder)
        closedir(folder);
}

static int group_reads_work(const struct rps_event *event)
{
    int fd = open_event(event, NULL, -1, OPEN_DISABLED | OPEN_INHERIT | OPEN_GROUP, NULL);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static int perf_open(void **ret, int hardware, const char *spec, const char *what,
                     struct rps_error *err)
{
    struct rps_event probe;
    struct perf *perf;
    char reason[RPS_REASON_SIZE];
    int number;

    set_clock(&probe, spec, spec, "", "");
    if (rps_event_resolve(&probe, "/sys", err) < 0)
        return RPS_FAILED;
    number = counts_here(&probe);
    if (number == ENODATA)
        return rps_error_set(
            err, RPS_FAILED, "%s cannot be used: they open but do not count%s", what,
            is_virtual_machine() ? " in this virtual machine" : " on this machine");
    if (number != 0) {
        explain_errno(number, reason, sizeof(reason));
        return rps_error_set(err, RPS_FAILED, "%s cannot be used: %s", what, reason);
    }
    perf = calloc(1, sizeof(*perf));
    if (!perf)
        return rps_error_memory(err);
    perf->hardware = hardware;
    find_cores(perf);
    perf->group_reads = group_reads_work(&probe);
    *ret = perf;
    return 0;
}

static int refuse_argument(const char *name, const char *argument, struct rps_error *err)
{
    if (!argument)
        return 0;
    return rps_error_set(err, RPS_USAGE, "--pmu %s:%s: %s takes no argument", name, argument, name);
}

static int hardware_open(void **ret, const char *argument, struct rps_error *err)
{
    int rc = refuse_argument("hardware", argument, err);

    return rc < 0 ? rc : perf_open(ret, 1, "cycles", "the processor's counters", err);
}

static int software_open(void **ret, const char *argument, struct rps_error *err)
{
    int rc = refuse_argument("software", argument, err);

    return rc < 0 ? rc : perf_open(ret, 0, "task-clock", "the kernel's software events", err);
}

const struct rps_pmu rps_pmu_hardware = {
    .name = "hardware",
    .summary = "the processor's event counters, through perf_event_open",
    .default_plan = "generic",
    .open = hardware_open,
    .choose_clock = perf_choose_clock,
    .try_event = perf_try_event,
    .fits = perf_fits,
    .attach = perf_attach,
    .track_count = perf_track_count,
    .track_cpu = perf_track_cpu,
    .start = perf_start,
    .stop = perf_stop,
    .width = perf_width,
    .read_within_ns = perf_read_within_ns,
    .enable = perf_enable,
    .disable = perf_disable,
    .read = perf_read,
    .close = perf_close,
};

const struct rps_pmu rps_pmu_software = {
    .name = "software",
    .summary = "events counted by the kernel: page faults, context switches, time, system calls",
    .default_plan = "software",
    .open = software_open,
    .choose_clock = perf_choose_clock,
    .try_event = perf_try_event,
    .fits = perf_fits,
    .attach = perf_attach,
    .track_count = perf_track_count,
    .track_cpu = perf_track_cpu,
    .start = perf_start,
    .stop = perf_stop,
    .width = perf_width,
    .read_within_ns = perf_read_within_ns,
    .enable = perf_enable,
    .disable = perf_disable,
    .read = perf_read,
    .close = perf_close,
};
