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
 * - What could not be read keeps its last value, so that totals never go back.
 * - A process is attached to again and again until no thread was started meanwhile: what a thread
 * inherited cannot be asked for, and one that is opened as well would be counted twice. Adding
 * newcomers was tried: with threads coming and going it doubled counts and did not come to an end.
 */
#include "rpistat/pmu.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "rpistat/clock.h"

_Static_assert((int)RPS_EVENT_HARDWARE == (int)PERF_TYPE_HARDWARE, "the kernel's number");
_Static_assert((int)RPS_EVENT_SOFTWARE == (int)PERF_TYPE_SOFTWARE, "the kernel's number");
_Static_assert((int)RPS_EVENT_TRACEPOINT == (int)PERF_TYPE_TRACEPOINT, "the kernel's number");
_Static_assert((int)RPS_EVENT_HW_CACHE == (int)PERF_TYPE_HW_CACHE, "the kernel's number");
_Static_assert((int)RPS_EVENT_RAW == (int)PERF_TYPE_RAW, "the kernel's number");

#define PERF_TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

/* Descriptors that stay free for everything else. */
#define DESCRIPTORS_FREE 64

/* Copies of one event that are tried at once. */
#define COPIES_MAX 16

/* Kinds of core that one machine may have. */
#define CORE_MAX 4

/* A group read that meets a thread in the middle of its exit is tried again so often, after such
 * pauses. */
#define READ_TRIES    20
#define READ_PAUSE_NS 20000

/* Attaching to a process is tried again so often, and for so long. */
#define ATTACH_TRIES 1000
#define ATTACH_NS    (3 * RPS_NS_PER_S)

/* How often the start of counting, and its end, are asked for. */
#define SETTLE_TIMES 3

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
    /* What was read last; what cannot be read stays as it was, so that totals never go back. */
    uint64_t running_ns;
    uint64_t value[RPS_SLOT_MAX];
    uint32_t valid; /* slots that the latest read gave */
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
    uint64_t clock, enabled_ns; /* as last read */
    struct group *group;        /* owned; a set each */
};

/* A kind of core on a hybrid processor. */
struct core {
    char name[64];   /* of its PMU: "cpu_atom" */
    uint32_t type;   /* of its PMU */
    char cpus[4096]; /* its CPUs, as sysfs lists them */
};

struct perf {
    int hardware;
    int group_reads; /* PERF_FORMAT_GROUP works together with inherit */
    int limit;       /* events that really count beside the clock event; INT_MAX: no limit known */
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

/* What to do about a refusal; root is refused only where something shuts it in. */
static const char *permission_advice(void)
{
    return geteuid() == 0
               ? ", even to root: a container or sandbox forbids perf_event_open; start it with "
                 "CAP_PERFMON and a seccomp profile that allows perf_event_open"
               : ": run as root, give rpistat CAP_PERFMON, or set 'sysctl "
                 "kernel.perf_event_paranoid=1'; in a container perf_event_open may be forbidden "
                 "altogether";
}

/* Sort the errno of a failed open into a state, and say in words what it means here. */
static enum rps_event_state explain_errno(int number, char *reason, size_t size)
{
    switch (number) {
    case EACCES:
    case EPERM:
        snprintf(reason, size, "not permitted (kernel.perf_event_paranoid is %d)%s",
                 read_paranoid(), permission_advice());
        return RPS_EVENT_NOT_PERMITTED;
    case ENOSYS:
        snprintf(reason, size,
                 "there is no perf_event_open here: the kernel was built without performance "
                 "events, or a sandbox hides them");
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

/* --- kinds of core -------------------------------------------------------------------------------
 *
 * A hybrid processor has a PMU for each kind of core. A generic event names one of them in the
 * upper half of its number, a raw one in its type; otherwise it belongs to one kind and stands
 * still on the others. Events of a group must all be of one PMU.
 * (tools/perf/Documentation/intel-hybrid.txt)
 */

static int kinds_of(const struct perf *perf)
{
    return perf->core_count > 1 ? perf->core_count : 1;
}

/* The only kind of core that can count the event, or -1: each can, in its own way. By name too: the
 * type of Intel's "cpu_core" is that of raw events. */
static int only_kind(const struct perf *perf, const struct rps_event *event)
{
    for (int k = 0; k < perf->core_count; k++) {
        size_t length = strlen(perf->core[k].name);

        if (event->type == perf->core[k].type && event->type != RPS_EVENT_RAW)
            return k;
        if (strncmp(event->spec, perf->core[k].name, length) == 0 && event->spec[length] == '/')
            return k;
    }
    return -1;
}

static int needs_counter(const struct perf *perf, const struct rps_event *event)
{
    return event->type == RPS_EVENT_HARDWARE || event->type == RPS_EVENT_HW_CACHE ||
           event->type == RPS_EVENT_RAW || only_kind(perf, event) >= 0;
}

/* Can the event be counted on this kind of core? */
static int counts_on(const struct perf *perf, const struct rps_event *event, int kind)
{
    int only = perf->core_count > 1 ? only_kind(perf, event) : -1;

    return only < 0 || only == kind;
}

/* The event as it is opened on one kind of core. */
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

/* Move this thread to one kind of core; 0 when it may not go there. */
static int go_to(const struct core *core)
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

/* Open the event to see whether that works, on every kind of core that counts it. Returns 0 or
 * -errno; *ret_kind is where it failed. */
static int try_open(const struct perf *perf, const struct rps_event *event, int *ret_kind,
                    int *ret_user_only)
{
    for (int kind = 0; kind < kinds_of(perf); kind++) {
        struct rps_event one = event_on(perf, event, kind);
        int fd, user_only = 0;

        if (!counts_on(perf, event, kind))
            continue;
        *ret_kind = kind;
        fd = open_event(&one, NULL, -1, OPEN_DISABLED | OPEN_INHERIT, &user_only);
        if (fd < 0)
            return fd;
        close(fd);
        *ret_user_only |= user_only;
    }
    return 0;
}

static int perf_try_event(void *self, struct rps_event *event, struct rps_error *err)
{
    const struct perf *perf = self;
    int rc = rps_event_resolve(event, "/sys", err);
    int user_only = 0, kind = 0, number;

    if (rc < 0 || event->state != RPS_EVENT_MEASURED)
        return rc;
    number = -try_open(perf, event, &kind, &user_only);
    if (number != 0) {
        event->state = explain_errno(number, event->reason, sizeof(event->reason));
        if (perf->core_count > 1 && event->state == RPS_EVENT_UNSUPPORTED)
            snprintf(event->reason, sizeof(event->reason),
                     "the %s cores of this processor cannot count it (%s)", perf->core[kind].name,
                     strerror(number));
    } else if (user_only && happens_in_kernel(event)) {
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
 * that opens and stands still. Pinned: a recording may hold the counters of this process already.
 */
static int counts_now(const struct rps_event *event)
{
    uint64_t value[3] = {0, 0, 0};
    volatile unsigned spin = 0;
    int fd = open_event(event, NULL, -1, OPEN_PINNED, NULL);

    if (fd < 0)
        return -fd;
    while (spin < 10000)
        spin++;
    ssize_t got = read(fd, value, sizeof(value));
    close(fd);
    return got == (ssize_t)sizeof(value) && value[0] > 0 ? 0 : ENODATA;
}

/* The same on any kind of core: this thread is on one of them. */
static int counts_here(const struct perf *perf, const struct rps_event *event)
{
    int number = ENODATA;

    for (int kind = 0; number != 0 && kind < kinds_of(perf); kind++) {
        struct rps_event one = event_on(perf, event, kind);

        number = counts_now(&one);
    }
    return number;
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
        if (event.state == RPS_EVENT_MEASURED && counts_here(perf, &event) == 0) {
            *clock = perf->clock = event;
            return 0;
        }
    }
    return rps_error_set(err, RPS_FAILED,
                         "nothing can be counted: not even the task clock can be opened");
}

/* --- fitting -----------------------------------------------------------------------------------
 */

/*
 * Grow a group of the clock event and copies of one event while it can be placed; all copies must
 * count alike. Returns how many do, or INT_MAX when every copy that was placed did. Not
 * asked on hybrid processors, where a generic event may be for the other kind of core.
 */
static int find_limit(void)
{
    struct rps_event cycles = {.type = RPS_EVENT_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES};
    struct rps_event copy = {.type = RPS_EVENT_HARDWARE,
                             .config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS};
    uint64_t buffer[3 + COPIES_MAX + 1];
    int fd[COPIES_MAX + 1], opened = 0, limit = INT_MAX;

    fd[0] = open_event(&cycles, NULL, -1, OPEN_PINNED | OPEN_GROUP | OPEN_DISABLED, NULL);
    while (limit == INT_MAX && fd[opened] >= 0 && ++opened <= COPIES_MAX) {
        volatile unsigned spin = 0;

        fd[opened] = open_event(&copy, NULL, fd[0], 0, NULL);
        if (fd[opened] < 0 || ioctl(fd[0], PERF_EVENT_IOC_ENABLE, 0) < 0)
            break;
        while (spin < 20000)
            spin++;
        if (ioctl(fd[0], PERF_EVENT_IOC_DISABLE, 0) < 0 ||
            read(fd[0], buffer, sizeof(buffer)) <= 0 || buffer[2] == 0)
            break;
        if (buffer[3 + opened] >= 10000) /* the newest copy; each turn has a branch */
            continue;
        if (opened == 1) /* branches are not counted at all: nothing is learnt */
            break;
        limit = opened - 1;
    }
    for (int i = 0; i <= opened && i <= COPIES_MAX; i++)
        close_fd(&fd[i]);
    return limit;
}

/* Can the events that this kind of core counts be on its counters all together? Asked on the core
 * that this thread is on. */
static int fits_on(const struct perf *perf, const struct rps_event *const *event, int count,
                   int kind)
{
    uint64_t buffer[3 + 2 * (RPS_SLOT_MAX + 16)];
    int fd[RPS_SLOT_MAX + 16], opened = 0, counters = 0, fits = 1;
    volatile unsigned spin = 0;

    for (int i = -1; i < count && fits; i++) {
        const struct rps_event *asked = i < 0 ? &perf->clock : event[i];
        struct rps_event one = event_on(perf, asked, kind);

        if (!needs_counter(perf, asked) || !counts_on(perf, asked, kind))
            continue;
        if (i >= 0 && ++counters > perf->limit) {
            fits = 0;
            break;
        }
        fd[opened] = open_event(&one, NULL, opened ? fd[0] : -1,
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

/* A kind of core that this thread may not go to is not asked. */
static int perf_fits(void *self, const struct rps_event *const *event, int count)
{
    const struct perf *perf = self;
    cpu_set_t before;
    int fits = 1;

    if (count > RPS_SLOT_MAX + 15)
        return 0;
    if (perf->core_count < 2)
        return fits_on(perf, event, count, 0);
    if (sched_getaffinity(0, sizeof(before), &before) < 0)
        return 0;
    for (int kind = 0; fits && kind < perf->core_count; kind++) {
        if (go_to(&perf->core[kind]))
            fits = fits_on(perf, event, count, kind);
        sched_setaffinity(0, sizeof(before), &before);
    }
    return fits;
}

/* --- attaching ----------------------------------------------------------------------------------
 */

/* The event could be counted on rpistat itself: what is refused here is the target. */
static int attach_failed(struct rps_error *err, const struct rps_event *event,
                         const struct place *place, int number)
{
    char reason[RPS_REASON_SIZE];

    if ((number == EACCES || number == EPERM) && place->cpu >= 0)
        return rps_error_set(err, RPS_FAILED,
                             "cannot count everything on CPU %d: not permitted "
                             "(kernel.perf_event_paranoid is %d): run as root, give rpistat "
                             "CAP_PERFMON, or set 'sysctl kernel.perf_event_paranoid=0'",
                             place->cpu, read_paranoid());
    if (number == EACCES || number == EPERM)
        return rps_error_set(err, RPS_FAILED,
                             "cannot count process %ld: it is another user's, or has privileges; "
                             "run as root, or give rpistat CAP_PERFMON and CAP_SYS_PTRACE",
                             (long)place->pid);
    explain_errno(number, reason, sizeof(reason));
    if (place->cpu >= 0)
        return rps_error_set(err, RPS_FAILED, "cannot count %s on CPU %d: %s", event->spec,
                             place->cpu, reason);
    return rps_error_set(err, RPS_FAILED, "cannot count %s of process %ld: %s", event->spec,
                         (long)place->pid, reason);
}

/* Is the event counted at this place? What needs no counter is counted once a thread, not once more
 * for each kind of core. */
static int is_counted_at(const struct perf *perf, const struct rps_event *event,
                         const struct place *place)
{
    if (event->state != RPS_EVENT_MEASURED || !counts_on(perf, event, place->kind))
        return 0;
    return place->kind == 0 || place->cpu >= 0 || needs_counter(perf, event);
}

/* What opening answers when the thread has ended or the CPU is offline. */
static int has_gone(int fd)
{
    return fd == -ESRCH || fd == -ENODEV;
}

/* Open the measured events of a set; those that cannot join the group are counted on their own.
 * 1: the thread has gone, or the CPU is offline. */
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

        if (!is_counted_at(perf, &set->event[s], place))
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
            return has_gone(slot->fd) ? 1 : attach_failed(err, &event, place, -slot->fd);
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
    if (has_gone(place->clock_fd))
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

/* Forget places from this one on. */
static void drop_places(struct perf *perf, int first)
{
    while (perf->place_count > first)
        close_place(perf, &perf->place[--perf->place_count]);
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

/* --- targets --------------------------------------------------------------------------------- */

static int add_thread(struct perf *perf, pid_t tid, int start_at_exec, struct rps_error *err)
{
    int rc = 0;

    for (int kind = 0; rc == 0 && kind < kinds_of(perf); kind++) {
        struct place place = {.pid = tid, .cpu = -1, .kind = kind};

        rc = add_place(perf, &place, start_at_exec, err);
    }
    return rc;
}

/* Threads of a process, by number. */
struct threads {
    pid_t *tid; /* owned */
    size_t count;
};

static int compare_tids(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

    return (x > y) - (x < y);
}

/* List a process's threads; none when there is no such process. */
static int list_threads(pid_t pid, struct threads *ret, struct rps_error *err)
{
    struct threads list = {NULL, 0};
    size_t room = 0;
    char path[64];
    struct dirent *entry;
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
    folder = opendir(path);
    while (folder && (entry = readdir(folder))) {
        pid_t tid = (pid_t)atoi(entry->d_name);

        if (tid <= 0)
            continue;
        if (list.count == room) {
            pid_t *grown = realloc(list.tid, (room = room * 2 + 64) * sizeof(*grown));

            if (!grown) {
                free(list.tid);
                closedir(folder);
                return rps_error_memory(err);
            }
            list.tid = grown;
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

/* Open every thread of a process; *ret_late is how many of the *ret_count that it then has were
 * started meanwhile. */
static int open_threads(struct perf *perf, pid_t pid, size_t *ret_count, size_t *ret_late,
                        struct rps_error *err)
{
    struct threads before = {NULL, 0}, after = {NULL, 0};
    int rc = list_threads(pid, &before, err);

    for (size_t i = 0; rc >= 0 && i < before.count; i++)
        rc = add_thread(perf, before.tid[i], 0, err);
    if (rc >= 0)
        rc = list_threads(pid, &after, err);
    *ret_count = after.count;
    *ret_late = 0;
    for (size_t i = 0; rc >= 0 && i < after.count; i++)
        *ret_late += before.count == 0 || !bsearch(&after.tid[i], before.tid, before.count,
                                                   sizeof(*before.tid), compare_tids);
    free(before.tid);
    free(after.tid);
    return rc < 0 ? rc : 0;
}

/*
 * Open a running process. `inherit` covers what a thread starts once it is open. Of a thread that
 * was started while its siblings were being opened nobody can tell whether it inherited counters,
 * all or a part of them; so everything is closed and opened again until no thread was started
 * meanwhile. With thousands of threads one in a hundred may be in doubt: it is left out.
 */
static int add_process(struct perf *perf, pid_t pid, struct rps_error *err)
{
    int64_t until_ns = rps_clock_monotonic_ns() + ATTACH_NS;
    int first = perf->place_count;
    size_t count = 0, late = 0;

    for (int tries = 1;; tries++) {
        int rc = open_threads(perf, pid, &count, &late, err);

        if (rc < 0)
            return rc;
        if (late == 0)
            break;
        if (tries < ATTACH_TRIES && rps_clock_monotonic_ns() < until_ns) {
            drop_places(perf, first);
            continue;
        }
        if (late * 100 <= count)
            break;
        return rps_error_set(err, RPS_FAILED,
                             "cannot count process %ld: it starts threads faster than their "
                             "counters can be opened; record it from its start, or all CPUs (-a)",
                             (long)pid);
    }
    if (perf->place_count == first)
        return rps_error_set(err, RPS_FAILED, "process %ld has ended", (long)pid);
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

/* --- descriptors ----------------------------------------------------------------------------- */

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
        if (!perf->place[i].gone)
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

/*
 * Groups first when stopping, and last when starting: what a set counts, its clock counts too.
 *
 * A thread that is being started at that very moment can keep the state of before, and hand it on:
 * Linux swaps the counters of a thread and of those it started rather than switch them. With a
 * process that starts thousands of threads a second one recording in forty counted nothing. Asking
 * again finds those threads; where counting was started at exec there is nothing to ask.
 */
static int perf_start(void *self, int set, struct rps_error *err)
{
    struct perf *perf = self;
    int rc = 0;

    for (int i = 0; rc == 0 && i < SETTLE_TIMES; i++) {
        if (!perf->clock_leads && switch_clocks(perf, PERF_EVENT_IOC_ENABLE))
            return rps_error_set(err, RPS_FAILED, "cannot start the clock event: %s",
                                 strerror(errno));
        rc = perf_enable(self, set, err);
    }
    return rc;
}

static int perf_stop(void *self, int set, struct rps_error *err)
{
    struct perf *perf = self;
    int rc = 0;

    for (int i = 0; rc == 0 && i < SETTLE_TIMES; i++) {
        rc = perf_disable(self, set, err);
        if (rc == 0 && !perf->clock_leads && switch_clocks(perf, PERF_EVENT_IOC_DISABLE))
            return rps_error_set(err, RPS_FAILED, "cannot stop the clock event: %s",
                                 strerror(errno));
    }
    return rc;
}

/* Read one descriptor. A thread that is just leaving answers ECHILD until it has taken its counters
 * apart; it may be waiting for the very CPU that we are on, so each try lets it run. */
static ssize_t read_counter(int fd, void *buffer, size_t size)
{
    const struct timespec pause = {.tv_nsec = READ_PAUSE_NS};
    ssize_t got = -1;

    for (int tries = 0; tries < READ_TRIES; tries++) {
        got = read(fd, buffer, size);
        if (got >= 0 || (errno != EINTR && errno != ECHILD))
            break;
        nanosleep(&pause, NULL);
    }
    return got;
}

static void read_alone(struct group *group, int s)
{
    uint64_t value[3];

    if (read_counter(group->slot[s].fd, value, sizeof(value)) != (ssize_t)sizeof(value))
        return;
    group->value[s] = value[0];
    group->valid |= UINT32_C(1) << s;
    if (value[2] > group->running_ns)
        group->running_ns = value[2];
}

/* Read a place's group, and with it the clock event that leads it. */
static void read_group(const struct perf *perf, struct place *place, struct group *group)
{
    uint64_t buffer[3 + RPS_SLOT_MAX + 1]; /* how many, enabled, running, values */
    ssize_t got = -1;
    int grouped = 0;

    if (group->leader_fd >= 0) {
        got = read_counter(group->leader_fd, buffer, sizeof(buffer));
        grouped = got >= (ssize_t)((3 + (size_t)group->members) * sizeof(uint64_t));
    }
    if (grouped) {
        group->running_ns = buffer[2];
        if (perf->clock_leads) {
            place->enabled_ns = buffer[1];
            place->clock = buffer[3];
        }
    }
    group->valid = 0;
    for (int s = 0; s < RPS_SLOT_MAX; s++) {
        const struct slot *slot = &group->slot[s];

        if (slot->fd < 0)
            continue;
        if (grouped && slot->position >= 0) {
            group->value[s] = buffer[3 + slot->position];
            group->valid |= UINT32_C(1) << s;
        } else if (slot->fd != group->leader_fd) {
            read_alone(group, s);
        }
    }
}

static int read_clock(struct place *place, struct rps_error *err)
{
    uint64_t clock[3];
    ssize_t got = read_counter(place->clock_fd, clock, sizeof(clock));

    if (got == 0 || (got < 0 && errno == ENODEV))
        return 1;
    if (got != (ssize_t)sizeof(clock))
        return rps_error_set(err, RPS_FAILED, "cannot read the clock event: %s",
                             got < 0 ? strerror(errno) : "the kernel gives only a part of it");
    place->clock = clock[0];
    place->enabled_ns = clock[1];
    return 0;
}

/* Read a place. 1: its CPU has gone: the counters of an offline CPU can be read for ever, but time
 * stands still for them. */
static int read_place(const struct perf *perf, struct place *place, int set, struct rps_error *err)
{
    uint64_t before_ns = place->enabled_ns;
    int rc = 0;

    read_group(perf, place, &place->group[set]);
    if (!perf->clock_leads)
        rc = read_clock(place, err);
    if (rc == 0 && place->cpu >= 0 && place->pid == -1 && place->enabled_ns == before_ns)
        rc = 1;
    return rc;
}

/* Add what was read of a place; a slot that is not read at one of a track's places is not valid. */
static void add_reading(const struct place *place, int set, struct rps_reading *sum)
{
    const struct group *group = &place->group[set];

    sum->clock += place->clock;
    sum->running_ns += group->running_ns;
    if (place->kind == 0 || place->cpu >= 0) /* a thread is enabled once, on all kinds of core */
        sum->enabled_ns += place->enabled_ns;
    for (int s = 0; s < RPS_SLOT_MAX; s++) {
        sum->value[s] += group->value[s];
        if (!place->gone && group->slot[s].fd >= 0 && !(group->valid & UINT32_C(1) << s))
            sum->valid &= ~(UINT32_C(1) << s);
    }
}

static int perf_read(void *self, int track, int set, struct rps_reading *ret, struct rps_error *err)
{
    struct perf *perf = self;
    struct rps_reading sum = {.valid = ~UINT32_C(0)};
    int places = 0;

    for (int i = 0; i < perf->place_count; i++) {
        struct place *place = &perf->place[i];
        int rc;

        if (place->track != track)
            continue;
        rc = place->gone ? 1 : read_place(perf, place, set, err);
        if (rc < 0)
            return rc;
        place->gone = rc;
        places += !place->gone;
        add_reading(place, set, &sum);
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

/* --- begin and end --------------------------------------------------------------------------- */

static void perf_close(void *self)
{
    struct perf *perf = self;

    if (!perf)
        return;
    drop_places(perf, 0);
    free(perf->place);
    free(perf->track_cpu);
    free(perf);
}

/* The kinds of core: PMUs of sysfs with a file "cpus", which core PMUs alone have, and CPUs in it:
 * those of a kind may all be offline. */
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
            snprintf(core->name, sizeof(core->name), "%.63s", entry->d_name);
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

/* Older kernels cannot be told which kind of core a generic event is for (ARM before Linux 6.6):
 * they choose one kind, and the time it counted for shows how much of the run that was. */
static void check_kinds(struct perf *perf, const struct rps_event *event)
{
    struct rps_event one = event_on(perf, event, 0);
    int fd = open_event(&one, NULL, -1, OPEN_DISABLED, NULL);

    if (fd >= 0)
        close(fd);
    else if (fd == -ENOENT || fd == -EINVAL)
        perf->core_count = 0;
}

/* Does the event that every machine of this kind has count? */
static int check_probe(const struct perf *perf, const struct rps_event *probe, const char *what,
                       struct rps_error *err)
{
    char reason[RPS_REASON_SIZE];
    int number = counts_here(perf, probe);

    if (number == 0)
        return 0;
    if (number == ENODATA)
        return rps_error_set(
            err, RPS_FAILED, "%s cannot be used: they open but do not count%s", what,
            is_virtual_machine() ? " in this virtual machine" : " on this machine");
    if (perf->hardware && (number == ENOENT || number == ENODEV || number == ENXIO ||
                           number == EOPNOTSUPP || number == EINVAL))
        return rps_error_set(err, RPS_FAILED,
                             "%s cannot be used: this is a virtual machine without them, or its "
                             "kernel has no driver for them (%s)",
                             what, strerror(number));
    explain_errno(number, reason, sizeof(reason));
    return rps_error_set(err, RPS_FAILED, "%s cannot be used: %s", what, reason);
}

static int perf_open(void **ret, int hardware, const char *spec, const char *what,
                     struct rps_error *err)
{
    struct rps_event probe;
    struct perf *perf;

    set_clock(&probe, spec, spec, "", "");
    if (rps_event_resolve(&probe, "/sys", err) < 0)
        return RPS_FAILED;
    perf = calloc(1, sizeof(*perf));
    if (!perf)
        return rps_error_memory(err);
    perf->hardware = hardware;
    if (hardware) {
        find_cores(perf);
        if (perf->core_count > 1)
            check_kinds(perf, &probe);
    }
    if (check_probe(perf, &probe, what, err) < 0) {
        free(perf);
        return RPS_FAILED;
    }
    perf->limit = hardware && perf->core_count < 2 ? find_limit() : INT_MAX;
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
