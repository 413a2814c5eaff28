/* The counters of one thread.
 *
 * Self-measurement does not use the PMU interface of recordings. The PMU interface switches event
 * sets. It counts threads and their children from another process, with inherited counters.
 * Self-measurement counts one set in one thread, without system calls. The kernel permits reading
 * without system calls only if a thread reads its own counters, and only if the counters are not
 * inherited. Self-measurement and recordings share only the steps before counting: the backends
 * choose the clock event, try the events and fit the sets.
 *
 * SAFETY: for each event, the kernel maps a page, which has the number of the event's current
 * hardware counter. The page is read under its sequence lock, as linux/perf_event.h specifies. A
 * count is the value that the kernel has saved in the page, plus the increase of the hardware
 * counter since then. Enabled and running time of the group come from the page of the group's
 * leader. In virtual machines, the page often lacks the times. As long as the page's lock is
 * unchanged, the thread has run without interruption, so that the times advance like the clock.
 * After a change of the lock, a system call reads the times. */
#include "counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user_read.h"
#include "rpistat/clock.h"
#include "rpistat/plan.h"

#define READ_TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

/* Value of config1 with which an event of an ARMv8 PMU can be read without a system call. */
#define ARMV8_USER_READ 2

/* Number of attempts to read a page. It fails if the kernel meanwhile switches threads. */
#define USER_READ_TRIES 3

/* --- opening ---------------------------------------------------------------------------------- */

static int is_hardware(const struct rps_event *event)
{
    return event->type == RPS_EVENT_HARDWARE || event->type == RPS_EVENT_HW_CACHE ||
           event->type == RPS_EVENT_RAW;
}

static int open_attr(struct perf_event_attr *attr, int group_fd)
{
    return (int)syscall(SYS_perf_event_open, attr, 0, -1, group_fd, PERF_FLAG_FD_CLOEXEC);
}

/* Open an event. Return a descriptor, or -errno. */
static int open_event(const struct rps_event *event, int group_fd)
{
    struct perf_event_attr attr;
    int fd = -1, number;

    memset(&attr, 0, sizeof(attr));
    attr.size = sizeof(attr);
    attr.type = event->type;
    attr.config = event->config;
    attr.config1 = event->config1;
    attr.config2 = event->config2;
    attr.disabled = group_fd < 0;
    attr.read_format = READ_TIMES | (group_fd < 0 ? PERF_FORMAT_GROUP : 0);
    attr.exclude_kernel = attr.exclude_hv = strcmp(event->modifiers, "u") == 0;
    attr.exclude_user = strcmp(event->modifiers, "k") == 0;
#if defined(__aarch64__)
    if (is_hardware(event)) {
        attr.config1 |= ARMV8_USER_READ;
        fd = open_attr(&attr, group_fd);
        attr.config1 = event->config1;
    }
#endif
    if (fd < 0)
        fd = open_attr(&attr, group_fd);
    number = errno;
    if (fd < 0 && (number == EACCES || number == EPERM) && !attr.exclude_kernel &&
        !attr.exclude_user) {
        attr.exclude_kernel = attr.exclude_hv = 1;
        fd = open_attr(&attr, group_fd);
    }
    return fd >= 0 ? fd : -number;
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Map the kernel's page of a counter; NULL if the counter needs a system call. */
static const volatile void *map_page(const struct rps_event *event, int fd)
{
    const volatile struct perf_event_mmap_page *page;
    void *memory;

    if (!RPS_USER_READ || !is_hardware(event))
        return NULL;
    memory = mmap(NULL, page_size(), PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return NULL;
    page = memory;
    if (page->cap_user_rdpmc)
        return page;
    munmap(memory, page_size());
    return NULL;
}

/* Open an event as the next counter. Return 0 or an errno value. */
static int add_counter(struct rps_counters *counters, const struct rps_event *event, int index)
{
    struct rps_counter *counter = &counters->counter[index];
    int leader_fd = index > 0 ? counters->counter[0].fd : -1;
    int fd = open_event(event, leader_fd);

    if (fd < 0 && leader_fd >= 0) {
        fd = open_event(event, -1);
        if (fd >= 0)
            ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
        counters->alone += fd >= 0;
    } else if (fd >= 0) {
        counters->member[counters->members++] = index;
        counters->group_bits |= UINT32_C(1) << index;
        counter->in_group = 1;
    }
    if (fd < 0)
        return -fd;
    counter->fd = fd;
    counter->page = counter->in_group ? map_page(event, fd) : NULL;
    if (!counter->page)
        counters->from_user = 0;
    return 0;
}

static const volatile struct perf_event_mmap_page *leader_page(const struct rps_counters *counters)
{
    return counters->counter[0].page;
}

static void clear(struct rps_counters *counters)
{
    memset(counters, 0, sizeof(*counters));
    for (int i = 0; i < RPS_COUNTERS_MAX; i++)
        counters->counter[i].fd = -1;
}

/* Find out if the counters are readable without a system call. The page may indicate that they are,
 * even if the kernel does not allow the reading (ARMv8 without kernel.perf_user_access). */
static void try_user_read(struct rps_counters *counters)
{
    struct rps_counters_sample sample;

    for (int i = 0; counters->from_user && i < USER_READ_TRIES; i++) {
        rps_counters_read_system(counters, &sample);
        if (sample.running_ns < sample.enabled_ns || rps_counters_read_user(counters, &sample) == 0)
            return;
    }
    counters->from_user = 0;
}

int rps_counters_open(struct rps_counters *counters, const struct rps_plan *plan, int set,
                      struct rps_error *err)
{
    const struct rps_event_set *chosen = &plan->set[set];
    int number;

    clear(counters);
    counters->from_user = RPS_USER_READ;
    number = add_counter(counters, &plan->clock, 0);
    if (number != 0) {
        clear(counters);
        return rps_error_set(err, RPS_FAILED, "cannot count %s in this thread: %s%s",
                             plan->clock.spec, strerror(number),
                             number == EMFILE ? "; raise ulimit -n" : "");
    }
    counters->count = 1 + chosen->event_count;
    for (int s = 0; s < chosen->event_count; s++)
        if (chosen->event[s].state == RPS_EVENT_MEASURED && !chosen->event[s].by_clock)
            add_counter(counters, &chosen->event[s], s + 1);
    counters->user_time = counters->from_user && leader_page(counters)->cap_user_time;
    ioctl(counters->counter[0].fd, PERF_EVENT_IOC_ENABLE, 0);
    try_user_read(counters);
    return 0;
}

void rps_counters_close(struct rps_counters *counters, int forked)
{
    for (int i = RPS_COUNTERS_MAX - 1; i >= 0; i--) {
        struct rps_counter *counter = &counters->counter[i];

        if (counters->count == 0 || counter->fd < 0)
            continue;
        if (counter->page && !forked)
            munmap((void *)(uintptr_t)counter->page, page_size());
        close(counter->fd);
    }
    clear(counters);
}

/* --- reading without a system call ------------------------------------------------------------ */

/* Return the time that has passed since the page's times were set. */
static uint64_t time_since(const volatile struct perf_event_mmap_page *page)
{
    uint64_t ticks = rps_user_time();
    uint64_t mask, whole, rest;

    if (page->cap_user_time_short)
        ticks = page->time_cycles + ((ticks - page->time_cycles) & page->time_mask);
    mask = (UINT64_C(1) << page->time_shift) - 1;
    whole = ticks >> page->time_shift;
    rest = ticks & mask;
    return page->time_offset + whole * page->time_mult +
           ((rest * page->time_mult) >> page->time_shift);
}

/* The contents of a page at one moment. */
struct reading {
    uint32_t lock;
    uint64_t value, enabled_ns, running_ns;
};

/* Read a counter. Return -1 if the event has no hardware counter at this moment. SAFETY: if two
 * readings of the lock are equal, the kernel has not changed the page between them on this
 * processor. Therefore, only the compiler must be prevented from reordering reads. */
static int read_page(const volatile struct perf_event_mmap_page *page, int with_times,
                     struct reading *ret)
{
    do {
        uint32_t index;
        unsigned unused;

        ret->lock = page->lock;
        atomic_signal_fence(memory_order_seq_cst);
        index = page->index;
        if (index == 0 || !page->cap_user_rdpmc)
            return -1;
        unused = 64 - page->pmc_width;
        ret->value = (uint64_t)page->offset +
                     (uint64_t)((int64_t)(rps_user_counter(index - 1) << unused) >> unused);
        if (with_times) {
            uint64_t since_ns = time_since(page);

            ret->enabled_ns = page->time_enabled + since_ns;
            ret->running_ns = page->time_running + since_ns;
        }
        atomic_signal_fence(memory_order_seq_cst);
    } while (page->lock != ret->lock);
    return 0;
}

/* Compute times that the page lacks from those of the latest system call (-1: unknown). */
static int continue_times(const struct rps_counters *counters, struct reading *leader)
{
    uint64_t since_ns = (uint64_t)(rps_clock_monotonic_ns() - counters->sync.time_ns);

    if (!counters->sync.good || counters->sync.lock != leader->lock)
        return -1;
    leader->enabled_ns = counters->sync.enabled_ns + since_ns;
    leader->running_ns = counters->sync.running_ns + since_ns;
    return 0;
}

int rps_counters_read_user(struct rps_counters *counters, struct rps_counters_sample *ret)
{
    struct reading reading = {0};

    if (!counters->from_user)
        return -1;
    ret->valid = 0;
    for (int i = 0; i < counters->count; i++) {
        if (counters->counter[i].fd < 0)
            continue;
        if (read_page(counters->counter[i].page, i == 0 && counters->user_time, &reading) < 0)
            return -1;
        if (i == 0) {
            if (!counters->user_time && continue_times(counters, &reading) < 0)
                return -1;
            ret->enabled_ns = reading.enabled_ns;
            ret->running_ns = reading.running_ns;
        }
        ret->value[i] = reading.value;
        ret->valid |= UINT32_C(1) << i;
    }
    return 0;
}

/* --- reading with a system call --------------------------------------------------------------- */

/* Store the times that a system call read, as the times at before_ns, when the call began. As long
 * as the lock is unchanged, current times are computed from these times. */
static void synchronise(struct rps_counters *counters, uint32_t lock, int64_t before_ns,
                        const struct rps_counters_sample *sample)
{
    counters->sync.good = sample->running_ns > 0;
    counters->sync.lock = lock;
    counters->sync.time_ns = before_ns;
    counters->sync.enabled_ns = sample->enabled_ns;
    counters->sync.running_ns = sample->running_ns;
}

/* Read the counters that the kernel did not accept as members of the group, one by one. */
static void read_alone(const struct rps_counters *counters, struct rps_counters_sample *ret)
{
    uint64_t alone[3 + 1]; /* number of values, enabled time, running time, value */

    for (int i = 0; i < counters->count; i++) {
        const struct rps_counter *counter = &counters->counter[i];

        if (counter->fd < 0 || counter->in_group ||
            read(counter->fd, alone, sizeof(alone)) != (ssize_t)sizeof(alone))
            continue;
        ret->value[i] = alone[3];
        ret->valid |= UINT32_C(1) << i;
    }
}

void rps_counters_read_system(struct rps_counters *counters, struct rps_counters_sample *ret)
{
    int keep_time = counters->from_user && !counters->user_time;
    uint32_t lock = keep_time ? leader_page(counters)->lock : 0;
    int64_t before_ns = keep_time ? rps_clock_monotonic_ns() : 0;
    uint64_t group[3 + RPS_COUNTERS_MAX]; /* number of values, enabled time, running time, values */

    ret->valid = 0;
    ret->enabled_ns = ret->running_ns = 0;
    if (counters->count == 0 || read(counters->counter[0].fd, group, sizeof(group)) <
                                    (ssize_t)((3 + (size_t)counters->members) * sizeof(group[0])))
        return;
    ret->enabled_ns = group[1];
    ret->running_ns = group[2];
    if (keep_time)
        synchronise(counters, lock, before_ns, ret);
    for (int m = 0; m < counters->members; m++)
        ret->value[counters->member[m]] = group[3 + m];
    ret->valid = counters->group_bits;
    if (counters->alone > 0)
        read_alone(counters, ret);
}

void rps_counters_read(struct rps_counters *counters, struct rps_counters_sample *ret)
{
    if (rps_counters_read_user(counters, ret) < 0)
        rps_counters_read_system(counters, ret);
}
