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

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert((int)RPS_EVENT_HARDWARE == (int)PERF_TYPE_HARDWARE, "the kernel's number");
_Static_assert((int)RPS_EVENT_SOFTWARE == (int)PERF_TYPE_SOFTWARE, "the kernel's number");
_Static_assert((int)RPS_EVENT_TRACEPOINT == (int)PERF_TYPE_TRACEPOINT, "the kernel's number");
_Static_assert((int)RPS_EVENT_HW_CACHE == (int)PERF_TYPE_HW_CACHE, "the kernel's number");
_Static_assert((int)RPS_EVENT_RAW == (int)PERF_TYPE_RAW, "the kernel's number");

#define PERF_TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

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

struct perf {
    int hardware;
    int group_reads;        /* PERF_FORMAT_GROUP works together with inherit */
    struct rps_event clock; /* the clock event that was chosen */
    const struct rps_plan *plan;
    int clock_fd;
    int clock_leads; /* the clock event is the leader of the only group */
    struct group *group;
};

/* --- opening one event ---------------------------------------------------------------------- */

static int open_attr(struct perf_event_attr *attr, pid_t pid, int group_fd)
{
    return (int)syscall(SYS_perf_event_open, attr, pid, -1, group_fd, PERF_FLAG_FD_CLOEXEC);
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
 * Open the event on pid (0: this thread). A refusal is tried again without the kernel's part, which
 * more users may count; *ret_user_only (may be NULL) says so. Returns a descriptor or -errno, that
 * of the first try.
 */
static int open_event(const struct rps_event *event, pid_t pid, int group_fd, unsigned flags,
                      int *ret_user_only)
{
    struct perf_event_attr attr;
    int fd, number;

    fill_attr(&attr, event, flags);
    fd = open_attr(&attr, pid, group_fd);
    if (ret_user_only)
        *ret_user_only = 0;
    if (fd >= 0)
        return fd;
    number = errno;
    if ((number != EACCES && number != EPERM) || attr.exclude_kernel || attr.exclude_user)
        return -number;
    attr.exclude_kernel = attr.exclude_hv = 1;
    fd = open_attr(&attr, pid, group_fd);
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
    fd = open_event(event, 0, -1, OPEN_DISABLED | OPEN_INHERIT, &user_only);
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
    int fd = open_event(event, 0, -1, 0, NULL);

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
        fd[opened] = open_event(one, 0, opened ? fd[0] : -1,
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

static int attach_failed(struct rps_error *err, const struct rps_event *event, int number)
{
    char reason[RPS_REASON_SIZE];

    explain_errno(number, reason, sizeof(reason));
    return rps_error_set(err, RPS_FAILED, "cannot count %s on the workload: %s", event->spec,
                         reason);
}

/* Open the measured events of a set; those that cannot join the group are counted on their own. */
static int attach_set(struct perf *perf, int number, pid_t pid, struct rps_error *err)
{
    const struct rps_event_set *set = &perf->plan->set[number];
    struct group *group = &perf->group[number];
    unsigned start = OPEN_INHERIT | OPEN_DISABLED | (number == 0 ? OPEN_ON_EXEC : 0);

    if (perf->clock_leads) {
        group->leader_fd = perf->clock_fd;
        group->members = 1;
    }
    for (int s = 0; s < set->event_count; s++) {
        const struct rps_event *event = &set->event[s];
        struct slot *slot = &group->slot[s];

        if (event->state != RPS_EVENT_MEASURED)
            continue;
        if (group->leader_fd >= 0) {
            slot->fd = open_event(event, pid, group->leader_fd, OPEN_INHERIT, NULL);
            if (slot->fd >= 0) {
                slot->position = group->members++;
                continue;
            }
        }
        slot->fd =
            open_event(event, pid, -1,
                       start | (group->leader_fd < 0 && perf->group_reads ? OPEN_GROUP : 0), NULL);
        if (slot->fd < 0)
            return attach_failed(err, event, -slot->fd);
        if (group->leader_fd < 0 && perf->group_reads) {
            group->leader_fd = slot->fd;
            slot->position = group->members++;
        }
    }
    return 0;
}

static int perf_attach(void *self, const struct rps_plan *plan, pid_t pid, struct rps_error *err)
{
    struct perf *perf = self;
    int alone = plan->set_count == 1 && perf->group_reads;
    int rc = 0;

    perf->plan = plan;
    perf->group = calloc((size_t)plan->set_count, sizeof(*perf->group));
    if (!perf->group)
        return rps_error_memory(err);
    for (int n = 0; n < plan->set_count; n++) {
        perf->group[n].leader_fd = -1;
        for (int s = 0; s < RPS_SLOT_MAX; s++)
            perf->group[n].slot[s] = (struct slot){-1, -1};
    }
    perf->clock_fd =
        open_event(&plan->clock, pid, -1,
                   OPEN_INHERIT | OPEN_DISABLED | OPEN_ON_EXEC | (alone ? OPEN_GROUP : 0), NULL);
    if (perf->clock_fd < 0)
        return attach_failed(err, &plan->clock, -perf->clock_fd);
    perf->clock_leads = alone;
    for (int n = 0; rc == 0 && n < plan->set_count; n++)
        rc = attach_set(perf, n, pid, err);
    return rc;
}

/* --- switching and reading -----------------------------------------------------------------------
 */

static int switch_group(struct perf *perf, int number, unsigned long request, struct rps_error *err)
{
    struct group *group = &perf->group[number];
    int failed = 0;

    if (perf->clock_leads) /* the clock never stops */
        return 0;
    if (group->leader_fd >= 0)
        failed |= ioctl(group->leader_fd, request, 0) < 0;
    for (int s = 0; s < RPS_SLOT_MAX; s++)
        if (group->slot[s].fd >= 0 && group->slot[s].position < 0)
            failed |= ioctl(group->slot[s].fd, request, 0) < 0;
    if (failed)
        return rps_error_set(err, RPS_FAILED, "cannot switch event set %s: %s",
                             perf->plan->set[number].name, strerror(errno));
    return 0;
}

static int perf_enable(void *self, int set, struct rps_error *err)
{
    return switch_group(self, set, PERF_EVENT_IOC_ENABLE, err);
}

static int perf_disable(void *self, int set, struct rps_error *err)
{
    return switch_group(self, set, PERF_EVENT_IOC_DISABLE, err);
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

static void read_alone(const struct slot *slot, int s, struct rps_reading *ret)
{
    uint64_t value[3];

    if (read_counter(slot->fd, value, sizeof(value)) != (ssize_t)sizeof(value))
        return;
    ret->value[s] = value[0];
    ret->valid |= UINT32_C(1) << s;
    if (value[2] > ret->running_ns)
        ret->running_ns = value[2];
}

static void read_group(const struct perf *perf, const struct group *group, struct rps_reading *ret)
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

static int perf_read(void *self, int set, struct rps_reading *ret, struct rps_error *err)
{
    struct perf *perf = self;
    struct rps_reading reading;
    uint64_t clock[3];

    memset(&reading, 0, sizeof(reading));
    read_group(perf, &perf->group[set], &reading);
    if (!perf->clock_leads) {
        if (read_counter(perf->clock_fd, clock, sizeof(clock)) != (ssize_t)sizeof(clock))
            return rps_error_set(err, RPS_FAILED, "cannot read the clock event: %s",
                                 strerror(errno));
        reading.clock = clock[0];
        reading.enabled_ns = clock[1];
    }
    *ret = reading;
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
    for (int n = 0; perf->group && n < perf->plan->set_count; n++)
        for (int s = 0; s < RPS_SLOT_MAX; s++)
            close_fd(&perf->group[n].slot[s].fd);
    close_fd(&perf->clock_fd);
    free(perf->group);
    free(perf);
}

static int group_reads_work(const struct rps_event *event)
{
    int fd = open_event(event, 0, -1, OPEN_DISABLED | OPEN_INHERIT | OPEN_GROUP, NULL);

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
    perf->clock_fd = -1;
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
    .width = perf_width,
    .read_within_ns = perf_read_within_ns,
    .enable = perf_enable,
    .disable = perf_disable,
    .read = perf_read,
    .close = perf_close,
};
