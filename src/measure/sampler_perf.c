/* perf_event: open a sampler on the target that is being counted.
 *
 * - If whole CPUs may be sampled, one event per CPU is opened, and other programs' samples are
 *   dropped. Otherwise inherited events are opened, one per running thread and CPU: events can be
 *   mapped only if they belong to one CPU (otherwise EINVAL).
 * - Two more inherited events are opened for each thread and CPU, and count nothing. The first
 *   event is always enabled, and records maps, names, forks and exits, which the sampling event
 *   would not record while it is stopped. The second event is enabled with the sampling event, and
 *   reports the CPU time of each ended thread. This CPU time includes the time since the last
 *   sample.
 * - Three more events are opened if waits off the CPU are recorded. The first event samples a
 *   stack for each switch, in some windows. The second event samples the place of each switch in
 *   the other windows. The third event records all switches.
 * - All events of a kind and CPU write into one ring. The ring belongs to a separate event that
 *   is never enabled, so that any other event can be closed. SAFETY: the kernel leaves rings out
 *   of core dumps, because rings contain other programs' addresses if CPUs are sampled.
 * - The kernel wakes no thread up; the loop reads the rings often enough (drain_within_ns).
 * - A CPU that goes offline has no more samples. A CPU that comes online later has none at all. */
#include "sampler_perf.h"
#include "sampler_perf_event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"
#include "rpistat/random.h"

/* Sizes of the rings. If the user may not lock enough memory (by default 516 KiB per CPU), all
 * rings are halved together. For root the rings are doubled if samples are frequent and large. */
static const size_t ring_bytes[] = {
    [RPS_PERF_SAMPLES] = (size_t)256 * 1024,  [RPS_PERF_HEARD] = (size_t)512 * 1024,
    [RPS_PERF_TIMES] = (size_t)128 * 1024,    [RPS_PERF_WAITS] = (size_t)512 * 1024,
    [RPS_PERF_SWITCHES] = (size_t)128 * 1024, [RPS_PERF_PLACES] = (size_t)128 * 1024,
};
#define RING_BYTES_MAX ((size_t)4096 * 1024)
#define RING_BYTES_MIN ((size_t)16 * 1024)
#define RING_TIMES_MAX (RING_BYTES_MAX / RING_BYTES_MIN)

/* Maximum, desired and minimum time between two readings of the rings. If the rings must be read
 * more often than once per DRAIN_COPIES_NS, stacks are not copied, unless the user requested
 * copies. */
#define DRAIN_MAX_NS    RPS_NS_PER_S
#define DRAIN_WANTED_NS (500 * RPS_NS_PER_MS) /* because other programs may delay the recorder */
#define DRAIN_COPIES_NS (25 * RPS_NS_PER_MS)
#define DRAIN_MIN_NS    (10 * RPS_NS_PER_MS)

/* Bytes per second in a ring if many processes start: maps, names and ends, and times. */
#define HEARD_BYTES_PER_S ((uint64_t)128 * 1024)
#define TIMES_BYTES_PER_S ((uint64_t)32 * 1024)

/* Size of the records for the begin and the end of a switch. */
#define SWITCH_BYTES 64

/* Size of the record of a "place" (innermost part of a stack), with some 20 kernel addresses. */
#define PLACE_BYTES 256
/* Bytes per second for records of names and ends, if maps are not recorded. This is also the size
 * of the ring, which is small, because a page costs memory even if it is not used. */
#define THREADS_BYTES_PER_S ((uint64_t)32 * 1024)
#define THREADS_BYTES       ((size_t)64 * 1024)

/* The sampling interval is varied at random by this share of its length. Otherwise a workload that
 * repeats in the interval would be sampled at the same point. On CPUs the interval is drawn again
 * each second or each hundred intervals, whichever is longer, since the interval in progress is
 * then lost. An inherited event keeps its first interval, which is drawn once per run. The range
 * for this interval is so small that time can still be computed from the number of samples. */
#define JITTER_CPUS      .1
#define JITTER_TASKS     .005
#define JITTER_INTERVALS 100
#define GOLDEN_RATIO     .6180339887498949

struct descriptors {
    int *fd; /* owned */
    size_t count;
};

struct sampler {
    struct rps_perf_sampled what;
    int tells_times;  /* 1 if the target consists of threads: their times are reported */
    double drawn;     /* random number in [0, 1) for the interval */
    int64_t drawn_ns; /* event loop's time at which `drawn` was drawn */
    struct perf_event_attr attr[RPS_PERF_RING_KINDS];
    struct descriptors open[RPS_PERF_RING_KINDS];
    size_t first[RPS_PERF_RING_KINDS]; /* first descriptors of the process that is being opened */
    pid_t pid;                         /* process that is being opened */
    struct rps_perf_tree tree;
    struct rps_perf_rings rings; /* rings of each CPU, one per kind */
    struct rps_perf_wall wall;
    struct rps_perf_queue queue; /* queue of records of the machine */
    int reads_switches;          /* 1 if all switches are being read */
    long online;                 /* number of online CPUs at the last check; 0: not yet checked */
    int is_on;                   /* 1 after the sampler was started */
};

static const char *const stacks_name[] = {
    [RPS_STACKS_AUTO] = "auto", [RPS_STACKS_FP] = "fp",     [RPS_STACKS_DWARF] = "dwarf",
    [RPS_STACKS_LBR] = "lbr",   [RPS_STACKS_NONE] = "none",
};

/* Fill attr for an event that counts nothing and only owns a ring. */
static void fill_dummy(struct perf_event_attr *attr)
{
    attr->size = sizeof(*attr);
    attr->type = PERF_TYPE_SOFTWARE;
    attr->config = PERF_COUNT_SW_DUMMY;
    attr->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    attr->sample_id_all = attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
    attr->exclude_kernel = attr->exclude_hv = 1;
}

/* Fill attr for an event that records names, forks, exits, and (if sampling) maps. */
static void fill_hearing(struct perf_event_attr *attr, int inherits, int hears_maps)
{
    fill_dummy(attr);
    attr->inherit = inherits;
    attr->mmap = attr->mmap2 = attr->build_id = hears_maps;
    attr->comm = attr->comm_exec = attr->task = 1;
}

static void fill_timing(struct perf_event_attr *attr, int starts_at_exec)
{
    fill_dummy(attr);
    attr->inherit = attr->inherit_stat = attr->disabled = 1;
    attr->enable_on_exec = starts_at_exec;
    attr->read_format = PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID;
}

/* Fill the events for switches: one samples the stack of each switch, one records each switch, and
 * one samples the place of each switch. */
static void fill_switches(struct sampler *sampler, const struct rps_target *target)
{
    struct perf_event_attr *attr = &sampler->attr[RPS_PERF_WAITS];
    const struct perf_event_attr *sampling = &sampler->attr[RPS_PERF_SAMPLES];
    const int at_exec = target->kind == RPS_TARGET_LAUNCH && target->start_at_exec;

    fill_timing(attr, at_exec);
    attr->inherit_stat = 0;
    attr->read_format = 0;
    sampler->attr[RPS_PERF_SWITCHES] = *attr;
    sampler->attr[RPS_PERF_SWITCHES].context_switch = 1;
    attr->config = PERF_COUNT_SW_CONTEXT_SWITCHES;
    attr->sample_period = 1;
    attr->exclude_kernel = 0; /* switches occur in the kernel */
    attr->sample_type = sampling->sample_type;
    attr->sample_max_stack = sampling->sample_max_stack;
    attr->sample_regs_user = sampling->sample_regs_user;
    attr->sample_stack_user = sampling->sample_stack_user;
    sampler->attr[RPS_PERF_PLACES] = *attr;
    attr = &sampler->attr[RPS_PERF_PLACES];
    attr->enable_on_exec = 0; /* the first window takes stacks */
    if (sampler->rings.registers == 0)
        return; /* use stacks instead of places, because stacks cost no more */
    attr->sample_type &= ~(uint64_t)PERF_SAMPLE_STACK_USER;
    attr->sample_stack_user = 0;
    attr->sample_regs_user = rps_perf_place_registers();
    attr->exclude_callchain_user = 1;
}

static int is_by_clock(const struct sampler *sampler)
{
    const struct rps_event *event = &sampler->what.event;

    return sampler->what.options.threshold == 0 && event->type == RPS_EVENT_SOFTWARE &&
           (event->config == PERF_COUNT_SW_CPU_CLOCK || event->config == PERF_COUNT_SW_TASK_CLOCK);
}

/* Draw the next interval of a clock in ns. Frequencies near the desired one are equally likely. */
static uint64_t draw_interval(struct sampler *sampler)
{
    const double jitter = sampler->attr[RPS_PERF_SAMPLES].inherit ? JITTER_TASKS : JITTER_CPUS;
    double part = 1 + jitter * (2 * sampler->drawn - 1);

    sampler->drawn += GOLDEN_RATIO;
    sampler->drawn -= sampler->drawn >= 1;
    return (uint64_t)((double)RPS_NS_PER_S / ((double)sampler->what.options.frequency * part));
}

static int fill_attrs(struct sampler *sampler, const struct rps_target *target,
                      struct rps_error *err)
{
    struct perf_event_attr *sampling = &sampler->attr[RPS_PERF_SAMPLES];
    uint64_t seed;

    if (sampler->what.options.hears_only) {
        fill_hearing(&sampler->attr[RPS_PERF_HEARD], 1, 0);
        return 0;
    }
    rps_perf_fill_sampling(&sampler->what, target, sampling);
    fill_hearing(&sampler->attr[RPS_PERF_HEARD], sampler->tells_times, 1);
    fill_timing(&sampler->attr[RPS_PERF_TIMES],
                target->kind == RPS_TARGET_LAUNCH && target->start_at_exec);
    if (rps_random_bytes(&seed, sizeof(seed), err) < 0)
        return RPS_FAILED;
    sampler->drawn = rps_random_unit(&seed);
    if (is_by_clock(sampler)) { /* set a period, because the kernel would convert a frequency */
        sampling->freq = 0;
        sampling->sample_period = draw_interval(sampler);
    }
    return 0;
}

/* --- rings ------------------------------------------------------------------------------------ */

/* Return the number of kinds of rings in use, which are the first kinds of the enum. */
static int count_kinds(const struct sampler *sampler)
{
    if (sampler->what.options.waits)
        return RPS_PERF_RING_KINDS;
    return sampler->tells_times ? RPS_PERF_WAITS : RPS_PERF_TIMES;
}

/* Return the time in which records fill half a ring. The other half must hold the records until the
 * next reading, because records newer than the previous reading stay in the ring. */
static int64_t fills_half_in_ns(const struct sampler *sampler, enum rps_perf_ring_kind kind,
                                size_t bytes)
{
    const struct rps_perf_rings *rings = &sampler->rings;
    uint64_t rate = sampler->what.options.threshold > 0 ? RPS_SAMPLE_FREQUENCY_MAX
                                                        : sampler->what.options.frequency;
    const uint64_t cpus = (uint64_t)(rings->count / count_kinds(sampler));
    /* Highest sample rate of a CPU: at first the maximum of all CPUs, then the rate of one CPU. */
    const uint64_t most = sampler->wall.rate > 0 ? (uint64_t)sampler->wall.rate
                                                 : RPS_PERF_SWITCHES_MAX / (cpus > 0 ? cpus : 1);
    const uint64_t switches = most > RPS_PERF_WAITS_PER_S ? most : RPS_PERF_WAITS_PER_S;
    const uint64_t sample_bytes =
        rps_perf_sample_bytes(rings->stacks, rings->registers, rings->depth_max);
    const uint64_t bytes_per_s[] = {
        [RPS_PERF_SAMPLES] = rate * sample_bytes,
        [RPS_PERF_HEARD] =
            sampler->what.options.hears_only ? THREADS_BYTES_PER_S : HEARD_BYTES_PER_S,
        [RPS_PERF_TIMES] = TIMES_BYTES_PER_S,
        [RPS_PERF_WAITS] = switches * sample_bytes,
        [RPS_PERF_SWITCHES] = (uint64_t)RPS_PERF_SWITCHES_MAX * SWITCH_BYTES,
        [RPS_PERF_PLACES] = switches * (rings->registers ? PLACE_BYTES : sample_bytes),
    };

    return (int64_t)(bytes / 2 * (uint64_t)RPS_NS_PER_S / bytes_per_s[kind]);
}

static size_t choose_ring_bytes(const struct sampler *sampler, enum rps_perf_ring_kind kind)
{
    size_t bytes = sampler->what.options.hears_only ? THREADS_BYTES : ring_bytes[kind];

    while (geteuid() == 0 && bytes < RING_BYTES_MAX &&
           fills_half_in_ns(sampler, kind, bytes) < DRAIN_WANTED_NS)
        bytes *= 2;
    return bytes;
}

static int map_scratch(struct rps_perf_rings *rings, struct rps_error *err)
{
    void *memory = mmap(NULL, RPS_PERF_RECORD_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return rps_error_memory(err);
    madvise(memory, RPS_PERF_RECORD_BYTES, MADV_DONTDUMP);
    rings->scratch = memory;
    return 0;
}

static void unmap_ring(struct rps_perf_ring *ring)
{
    if (ring->page)
        munmap(ring->page, (size_t)(ring->data - (const uint8_t *)ring->page) + ring->bytes);
    ring->page = NULL;
}

/* Map all rings, `times` times smaller than desired. Returns 0, or -errno with no ring mapped. */
static int map_rings(struct sampler *sampler, size_t times)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct rps_perf_rings *rings = &sampler->rings;

    for (int i = 0; i < rings->count; i++) {
        struct rps_perf_ring *ring = &rings->ring[i];
        size_t bytes = choose_ring_bytes(sampler, ring->kind) / times;
        void *memory;

        if (bytes < RING_BYTES_MIN || bytes < page)
            bytes = page > RING_BYTES_MIN ? page : RING_BYTES_MIN;
        memory = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
        if (memory == MAP_FAILED) {
            int number = errno;

            while (i-- > 0)
                unmap_ring(&rings->ring[i]);
            return -number;
        }
        ring->page = memory;
        ring->data = (const uint8_t *)memory + page;
        ring->bytes = bytes;
    }
    return 0;
}

/* Open the ring of a kind and CPU. Returns 1 if the CPU is offline. */
static int add_ring(struct sampler *sampler, enum rps_perf_ring_kind kind, int cpu,
                    struct rps_error *err)
{
    struct rps_perf_rings *rings = &sampler->rings;
    struct rps_perf_ring *ring = rps_array_add(&rings->ring, (size_t)rings->count, sizeof(*ring));
    const struct rps_perf_place own = {.cpu = cpu};
    struct perf_event_attr attr = {.disabled = 1};

    if (!ring)
        return rps_error_memory(err);
    ring->kind = kind;
    ring->cpu = cpu;
    fill_dummy(&attr);
    ring->fd = rps_perf_open_attr(&attr, &own, -1);
    if (ring->fd == -ENODEV)
        return 1;
    if (ring->fd < 0)
        return rps_perf_cannot_sample(&sampler->what.event, -ring->fd, err);
    rings->count++;
    return 0;
}

/* Open and map all rings. The rings shrink together, so that none takes the memory of others. */
static int add_rings(struct sampler *sampler, const struct rps_target *target,
                     struct rps_error *err)
{
    const int listed = target->cpu_count > 0;
    const int count = listed ? target->cpu_count : (int)sysconf(_SC_NPROCESSORS_CONF);
    const int first = sampler->what.options.hears_only ? RPS_PERF_HEARD : 0;
    const int kinds = count_kinds(sampler);
    size_t bytes = 0, times = 1;
    int rc = 0;

    for (int i = 0; i < count; i++) {
        rc = 0;
        for (int kind = first; rc == 0 && kind < kinds; kind++)
            rc = add_ring(sampler, kind, listed ? target->cpu[i] : i, err);
        if (rc < 0)
            return rc;
    }
    for (int i = 0; i < sampler->rings.count; i++)
        bytes += choose_ring_bytes(sampler, sampler->rings.ring[i].kind);
    while (bytes / times > rps_memory_limit() / 4)
        times *= 2;
    rc = map_rings(sampler, times);
    while ((rc == -EPERM || rc == -ENOMEM) && (times *= 2) <= RING_TIMES_MAX)
        rc = map_rings(sampler, times);
    if (rc < 0)
        return rps_error_set(err, RPS_FAILED,
                             "cannot sample: no memory for samples can be locked (%s); raise "
                             "ulimit -l or kernel.perf_event_mlock_kb",
                             strerror(-rc));
    return 0;
}

/* --- the target ------------------------------------------------------------------------------- */

static int keep(struct descriptors *list, int fd, struct rps_error *err)
{
    if (!rps_array_add(&list->fd, list->count, sizeof(*list->fd))) {
        close(fd);
        return rps_error_memory(err);
    }
    list->fd[list->count++] = fd;
    return 0;
}

static void drop(struct descriptors *list, size_t first)
{
    while (list->count > first)
        close(list->fd[--list->count]);
}

/* Open an event that writes into the CPU's ring of its kind. Returns 1 if the thread has ended. */
static int open_event(struct sampler *sampler, pid_t pid, unsigned long flags,
                      const struct rps_perf_ring *ring, struct rps_error *err)
{
    const struct rps_perf_place place = {.pid = pid, .cpu = ring->cpu, .flags = flags};
    struct perf_event_attr *attr = &sampler->attr[ring->kind];
    const int is_of_switches = ring->kind == RPS_PERF_WAITS || ring->kind == RPS_PERF_PLACES;
    char reason[RPS_REASON_SIZE];
    int fd = rps_perf_open_attr(attr, &place, -1);

    if (fd == -EINVAL && attr->build_id) { /* Linux before 5.12 has no build_id */
        attr->build_id = 0;
        fd = rps_perf_open_attr(attr, &place, -1);
    }
    if (fd == -ESRCH || fd == -ENODEV) /* ENODEV: the CPU is offline */
        return fd == -ESRCH;
    if (fd >= 0 && is_of_switches && attr->exclude_kernel) {
        close(fd); /* switches occur in the kernel, so none would be recorded without kernel code */
        fd = -EACCES;
    }
    if (fd < 0 && is_of_switches) {
        rps_perf_explain(-fd, reason, sizeof(reason));
        return rps_error_set(err, RPS_FAILED, "--wall: cannot sample context switches: %s", reason);
    }
    if (fd < 0)
        return rps_perf_cannot_sample(&sampler->what.event, -fd, err);
    if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0) {
        close(fd);
        return rps_perf_cannot_sample(&sampler->what.event, errno, err);
    }
    return keep(&sampler->open[ring->kind], fd, err);
}

/* Open the sampling event, at a place with one kind of core. */
static int open_sampling(struct sampler *sampler, pid_t pid, unsigned long flags,
                         const struct rps_perf_ring *ring, struct rps_error *err)
{
    const int kind = rps_perf_kind_of_cpu(sampler->what.perf, ring->cpu);
    struct rps_event event = rps_perf_event_on(sampler->what.perf, &sampler->what.event, kind);

    if (!rps_perf_counts_on(sampler->what.perf, &sampler->what.event, kind))
        return 0;
    sampler->attr[RPS_PERF_SAMPLES].type = event.type;
    sampler->attr[RPS_PERF_SAMPLES].config = event.config;
    return open_event(sampler, pid, flags, ring, err);
}

/* Open the event that reports times, for a thread. */
static int open_timing(struct sampler *sampler, pid_t tid, const struct rps_perf_ring *ring,
                       struct rps_error *err)
{
    struct rps_perf_rings *rings = &sampler->rings;
    struct descriptors *list = &sampler->open[RPS_PERF_TIMES];
    const size_t before = list->count;
    struct rps_perf_timer *timer;
    int rc = open_event(sampler, tid, 0, ring, err);

    if (rc != 0 || list->count == before)
        return rc;
    timer = rps_array_add(&rings->timer, rings->timer_count, sizeof(*timer));
    if (!timer)
        return rps_error_memory(err);
    *timer = (struct rps_perf_timer){
        .fd = list->fd[before], .cpu = ring->cpu, .pid = sampler->pid, .tid = tid};
    if (ioctl(timer->fd, PERF_EVENT_IOC_ID, &timer->id) < 0)
        return rps_perf_cannot_sample(&sampler->what.event, errno, err);
    rings->timer_count++;
    return 0;
}

/* Open a thread on all CPUs. Function of struct rps_perf_opener. */
static int open_thread(void *context, pid_t tid, struct rps_error *err)
{
    struct sampler *sampler = context;
    int rc = 0;

    for (int i = 0; rc == 0 && i < sampler->rings.count; i++) {
        const struct rps_perf_ring *ring = &sampler->rings.ring[i];

        if (ring->kind == RPS_PERF_TIMES)
            rc = open_timing(sampler, tid, ring, err);
        else if (ring->kind != RPS_PERF_SAMPLES)
            rc = open_event(sampler, tid, 0, ring, err);
        else if (!sampler->what.is_wide)
            rc = open_sampling(sampler, tid, 0, ring, err);
    }
    return rc;
}

static void drop_process(void *context)
{
    struct sampler *sampler = context;

    for (int kind = 0; kind < RPS_PERF_RING_KINDS; kind++)
        drop(&sampler->open[kind], sampler->first[kind]);
    sampler->rings.timer_count = sampler->open[RPS_PERF_TIMES].count;
    sampler->tree.is_in_doubt = 1; /* it is unknown where the thread's earlier records end */
}

/* Open a running thread of a known process. A launched thread enters the tree with its exec. */
static int open_running(void *context, pid_t tid, struct rps_error *err)
{
    struct sampler *sampler = context;
    int rc = open_thread(sampler, tid, err);

    if (rc == 0)
        rps_perf_tree_add(&sampler->tree, sampler->pid, tid);
    return rc;
}

static int open_process(struct sampler *sampler, pid_t pid, struct rps_error *err)
{
    const struct rps_perf_opener opener = {sampler, open_running, drop_process};

    for (int kind = 0; kind < RPS_PERF_RING_KINDS; kind++)
        sampler->first[kind] = sampler->open[kind].count;
    sampler->pid = pid;
    return rps_perf_open_process(pid, &opener, err);
}

/* Open CPUs. If cgroup_fd is not -1, open only this control group's part of the CPUs. */
static int open_cpus(struct sampler *sampler, int cgroup_fd, struct rps_error *err)
{
    const pid_t pid = cgroup_fd;
    const unsigned long flags = cgroup_fd >= 0 ? PERF_FLAG_PID_CGROUP : 0;
    int rc = 0;

    for (int i = 0; rc >= 0 && i < sampler->rings.count; i++) {
        const struct rps_perf_ring *ring = &sampler->rings.ring[i];

        if (ring->kind == RPS_PERF_SAMPLES)
            rc = open_sampling(sampler, pid, flags, ring, err);
        else if (!sampler->tells_times)
            rc = open_event(sampler, pid, flags, ring, err);
    }
    return rc;
}

static int open_target(struct sampler *sampler, const struct rps_target *target,
                       struct rps_error *err)
{
    int rc = 0;

    if (target->kind == RPS_TARGET_LAUNCH) {
        sampler->pid = target->pid[0];
        rc = open_thread(sampler, sampler->pid, err);
    }
    for (int i = 0; rc == 0 && target->kind == RPS_TARGET_ATTACH && i < target->pid_count; i++)
        rc = open_process(sampler, target->pid[i], err);
    for (int i = 0; rc >= 0 && i < target->cgroup_count; i++)
        rc = open_cpus(sampler, target->cgroup_fd[i], err);
    if (rc >= 0 && target->cgroup_count == 0 && (target->cpu_count > 0 || sampler->what.is_wide))
        rc = open_cpus(sampler, -1, err);
    if (rc >= 0 && !sampler->what.options.hears_only && sampler->open[RPS_PERF_SAMPLES].count == 0)
        return rps_error_set(err, RPS_FAILED, "cannot sample %s: no thread or CPU is left",
                             sampler->what.event.spec);
    return rc < 0 ? rc : 0;
}

static int check_descriptors(const struct sampler *sampler, const struct rps_target *target,
                             struct rps_error *err)
{
    const unsigned long long rings = (unsigned long long)sampler->rings.count;
    const unsigned long long cpus = rings / (unsigned long long)count_kinds(sampler);
    unsigned long long need, allowed;
    size_t threads;

    if (rings == 0)
        return 0;
    if (rps_perf_count_threads(target, &threads, err) < 0)
        return RPS_FAILED;
    threads += (size_t)target->cgroup_count;
    /* The number of the newest descriptor shows how many descriptors are already open. */
    need = rings * (threads > 0 ? threads : 1) + RPS_PERF_DESCRIPTORS_FREE +
           (unsigned long long)sampler->rings.ring[rings - 1].fd;
    allowed = rps_perf_reserve_descriptors(need);
    if (allowed > 0)
        return rps_error_set(err, RPS_FAILED,
                             "sampling %zu threads on %llu CPUs needs %llu file descriptors, and "
                             "%llu are allowed; raise ulimit -Hn, or sample all CPUs (-a)",
                             threads, cpus, need, allowed);
    return 0;
}

/* --- the sampler ------------------------------------------------------------------------------ */

/* Switch the events of one thread or CPU, of the kinds from `first` on. Events are switched off
 * before others are switched on: if two events with different registers sample the same context
 * switch, Linux writes one of the samples too short (README.md). */
static int switch_kinds(const struct sampler *sampler, size_t i, int first, const int *is_on)
{
    int failed = 0;

    for (int turn_on = 0; turn_on <= 1; turn_on++)
        for (int kind = first; kind < RPS_PERF_RING_KINDS; kind++)
            if (kind != RPS_PERF_HEARD && i < sampler->open[kind].count && is_on[kind] == turn_on)
                failed |= ioctl(sampler->open[kind].fd[i],
                                turn_on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) < 0;
    return failed;
}

/* Switch events on or off. rps_perf_start explains why the request is repeated. */
static int switch_events(struct sampler *sampler, int first, const int *is_on,
                         struct rps_error *err)
{
    /* If there are too many switches, they are only counted, to detect when their number falls. */
    const int reads =
        sampler->what.options.waits && is_on[RPS_PERF_SWITCHES] && sampler->wall.of > 0;
    size_t most = 0;
    int failed = 0;

    for (int kind = first; kind < RPS_PERF_RING_KINDS; kind++)
        if (most < sampler->open[kind].count)
            most = sampler->open[kind].count;
    if (sampler->reads_switches && !reads)
        sampler->rings.deaf_ns = rps_clock_monotonic_ns();
    for (int turn = 0; turn < RPS_PERF_SETTLE_TIMES; turn++)
        for (size_t i = 0; i < most; i++)
            failed |= switch_kinds(sampler, i, first, is_on);
    if (reads && !sampler->reads_switches)
        sampler->rings.complete_ns = rps_clock_monotonic_ns();
    sampler->reads_switches = reads;
    if (failed)
        return rps_error_set(err, RPS_FAILED, "cannot switch sampling of %s: %s",
                             sampler->what.event.spec, strerror(errno));
    return 0;
}

/* Start the kinds of events from `first` on, as the window requires. */
static int start_kinds(struct sampler *sampler, int first, struct rps_error *err)
{
    const int is_on[RPS_PERF_RING_KINDS] = {
        [RPS_PERF_SAMPLES] = 1,
        [RPS_PERF_TIMES] = 1,
        [RPS_PERF_WAITS] = sampler->wall.takes_stacks,
        [RPS_PERF_SWITCHES] = sampler->wall.hears_switches,
        [RPS_PERF_PLACES] = sampler->wall.of > 0 && !sampler->wall.takes_stacks,
    };

    return switch_events(sampler, first, is_on, err);
}

static int sampler_start(void *self, struct rps_error *err)
{
    struct sampler *sampler = self;

    if (!sampler->is_on)
        rps_perf_wall_resume(&sampler->wall, rps_clock_monotonic_ns());
    rps_perf_queue_drain(&sampler->queue, 1, 0, NULL);
    sampler->is_on = 1;
    sampler->rings.is_paused = 0;
    return start_kinds(sampler, RPS_PERF_SAMPLES, err);
}

static int sampler_stop(void *self, struct rps_error *err)
{
    struct sampler *sampler = self;
    const int is_on[RPS_PERF_RING_KINDS] = {0};

    sampler->is_on = 0;
    sampler->rings.is_paused = 1;
    return switch_events(sampler, RPS_PERF_SAMPLES, is_on, err);
}

/* Draw a new interval. Inherited events keep their interval: the kernel does not update them. */
static void vary_interval(struct sampler *sampler)
{
    const int64_t now_ns = rps_clock_monotonic_ns();
    const int64_t interval_ns = RPS_NS_PER_S / (int64_t)sampler->what.options.frequency;
    int64_t within_ns = RPS_NS_PER_S;

    if (within_ns < JITTER_INTERVALS * interval_ns)
        within_ns = JITTER_INTERVALS * interval_ns;
    if (sampler->attr[RPS_PERF_SAMPLES].inherit || !is_by_clock(sampler) ||
        now_ns - sampler->drawn_ns < within_ns)
        return;
    sampler->drawn_ns = now_ns;
    for (size_t i = 0; i < sampler->open[RPS_PERF_SAMPLES].count; i++) {
        uint64_t interval = draw_interval(sampler);

        ioctl(sampler->open[RPS_PERF_SAMPLES].fd[i], PERF_EVENT_IOC_PERIOD, &interval);
    }
}

/* Find the thread whose time the event of an opened thread reports. Usually this is the opened
 * thread. If another thread's event has already reported the opened thread's time, the opened
 * thread's event reports the time of an ended thread instead. A thread of the same process is
 * preferred. */
static struct rps_perf_ended find_owner(const struct rps_perf_rings *rings,
                                        const struct rps_perf_timer *timer)
{
    struct rps_perf_ended owner = {timer->pid, timer->tid};
    int found = 0;

    for (size_t i = 0; timer->is_reported && i < rings->silent_count; i++) {
        const struct rps_perf_ended *one = &rings->silent[i];
        int is_opened = 0;

        for (size_t k = 0; k < rings->timer_count; k++)
            is_opened |= rings->timer[k].tid == one->tid;
        if (!is_opened && (!found || one->pid == timer->pid))
            owner = *one;
        found |= !is_opened;
    }
    return owner;
}

/* Report the CPU time of the opened threads. The time of an event includes started threads that
 * have ended, so their times are subtracted. */
static void report_times(struct sampler *sampler, const struct rps_sample_sink *sink)
{
    for (size_t i = 0; i < sampler->rings.timer_count; i++) {
        struct rps_perf_timer *timer = &sampler->rings.timer[i];
        struct rps_perf_ended owner = find_owner(&sampler->rings, timer);
        struct rps_sample sample = {.kind = RPS_SAMPLE_TIME,
                                    .time_ns = rps_clock_monotonic_ns(),
                                    .cpu = timer->cpu,
                                    .pid = owner.pid,
                                    .tid = owner.tid};
        uint64_t value[3]; /* unused, time, id */

        if (read(timer->fd, value, sizeof(value)) != sizeof(value) || value[1] <= timer->told_ns)
            continue;
        sample.cpu_time_ns = (int64_t)(value[1] - timer->told_ns);
        timer->told_ns = value[1];
        sink->sample(sink->context, &sample);
    }
}

/* Check whether a CPU went offline or online. A CPU's records end when the CPU goes offline, and
 * may not continue later. So all waits are ended; schedstat shows which threads still sleep. */
static void check_online(struct sampler *sampler)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);

    if (sampler->online > 0 && online != sampler->online && sampler->reads_switches) {
        sampler->rings.deaf_ns = rps_clock_monotonic_ns();
        sampler->rings.complete_ns = sampler->rings.deaf_ns + 1;
    }
    sampler->online = online;
}

static int sampler_drain(void *self, int64_t until_ns, const struct rps_sample_sink *sink,
                         struct rps_error *err)
{
    struct sampler *sampler = self;

    vary_interval(sampler);
    if (sampler->what.options.waits)
        check_online(sampler);
    rps_perf_rings_drain(&sampler->rings, until_ns, sink);
    if (sampler->what.options.waits && sampler->is_on && until_ns < INT64_MAX &&
        rps_perf_wall_step(&sampler->wall, sampler->rings.switches, until_ns,
                           rps_clock_monotonic_ns()) &&
        start_kinds(sampler, RPS_PERF_WAITS, err) < 0)
        return RPS_FAILED;
    if (sampler->rings.tree)
        rps_perf_tree_check(&sampler->tree, until_ns);
    if (until_ns == INT64_MAX)
        report_times(sampler, sink);
    rps_perf_queue_drain(&sampler->queue, sampler->is_on, until_ns == INT64_MAX, sink);
    return 0;
}

static int64_t sampler_drain_within_ns(void *self)
{
    const struct sampler *sampler = self;
    const struct rps_perf_rings *rings = &sampler->rings;
    int64_t within_ns = sampler->what.options.waits ? RPS_PERF_WINDOW_NS : DRAIN_MAX_NS;

    for (int i = 0; i < rings->count; i++) {
        int64_t ns = fills_half_in_ns(sampler, rings->ring[i].kind, rings->ring[i].bytes);

        if (ns < within_ns && (rings->ring[i].kind != RPS_PERF_WAITS || sampler->wall.takes_stacks))
            within_ns = ns;
    }
    return within_ns < DRAIN_MIN_NS ? DRAIN_MIN_NS : within_ns;
}

static void sampler_status(void *self, struct rps_sampling *ret)
{
    const struct sampler *sampler = self;

    memset(ret, 0, sizeof(*ret));
    snprintf(ret->event, sizeof(ret->event), "%.60s%s", sampler->what.event.spec,
             sampler->attr[RPS_PERF_SAMPLES].exclude_kernel &&
                     !strchr(sampler->what.event.spec, ':')
                 ? ":u"
                 : "");
    ret->frequency = sampler->what.options.threshold > 0 ? 0 : sampler->what.options.frequency;
    ret->threshold = sampler->what.options.threshold;
    snprintf(ret->stacks, sizeof(ret->stacks), "%s", stacks_name[sampler->what.options.stacks]);
    ret->lost = rps_perf_rings_lost(&sampler->rings);
    ret->throttled = sampler->rings.throttled;
    ret->is_wide = sampler->what.is_wide;
    ret->is_fixed = sampler->attr[RPS_PERF_SAMPLES].inherit && is_by_clock(sampler);
    ret->lookups = sampler->tree.lookups;
    ret->has_waits = sampler->what.options.waits;
    ret->switches_lost = sampler->rings.switches_lost;
    ret->blocked_of = sampler->wall.of;
    snprintf(ret->no_wait, sizeof(ret->no_wait), "%s",
             sampler->queue.failure ? sampler->queue.failure : "");
}

static void sampler_close(void *self)
{
    struct sampler *sampler = self;

    if (!sampler)
        return;
    for (int kind = 0; kind < RPS_PERF_RING_KINDS; kind++) {
        drop(&sampler->open[kind], 0);
        free(sampler->open[kind].fd);
    }
    for (int i = 0; i < sampler->rings.count; i++) {
        struct rps_perf_ring *ring = &sampler->rings.ring[i];

        unmap_ring(ring);
        close(ring->fd);
    }
    if (sampler->rings.scratch)
        munmap(sampler->rings.scratch, RPS_PERF_RECORD_BYTES);
    free(sampler->rings.ring);
    free(sampler->rings.timer);
    free(sampler->rings.silent);
    rps_perf_tree_free(&sampler->tree);
    rps_perf_queue_close(&sampler->queue);
    free(sampler);
}

/* Make samples small if little memory may be locked. */
static void fit_into_rings(struct sampler *sampler)
{
    struct perf_event_attr *sampling = &sampler->attr[RPS_PERF_SAMPLES];

    if (sampler->rings.stacks != RPS_STACKS_AUTO ||
        sampler_drain_within_ns(sampler) >= DRAIN_COPIES_NS)
        return;
    rps_perf_leave_out_registers(&sampler->what);
    sampler->rings.stacks = sampler->what.options.stacks;
    sampler->rings.registers = 0;
    sampling->sample_type = rps_perf_sample_type(sampler->rings.stacks, 0);
    sampling->sample_regs_user = 0;
    sampling->sample_stack_user = 0;
}

static int choose_nothing(struct rps_perf *perf, const struct rps_target *target,
                          struct rps_perf_sampled *ret, struct rps_error *err)
{
    if (target->cpu_count > 0)
        return rps_error_set(err, RPS_USAGE,
                             "thread events are available only when processes are recorded");
    ret->perf = perf;
    ret->options =
        (struct rps_sampling_options){.frequency = 1, .stacks = RPS_STACKS_NONE, .hears_only = 1};
    snprintf(ret->event.spec, sizeof(ret->event.spec), "threads");
    return 0;
}

int rps_perf_open_sampler(void *self, const struct rps_sampling_options *options,
                          const struct rps_target *target, struct rps_sampler *ret,
                          struct rps_error *err)
{
    struct sampler *sampler = calloc(1, sizeof(*sampler));
    struct rps_perf_rings *rings;
    int rc;

    if (!sampler)
        return rps_error_memory(err);
    rc = options->hears_only ? choose_nothing(self, target, &sampler->what, err)
                             : rps_perf_choose_sampled(self, options, target, &sampler->what, err);
    rings = &sampler->rings;
    rings->stacks = sampler->what.options.stacks;
    rings->registers = sampler->what.registers;
    rings->depth_max = sampler->what.depth_limit < RPS_SAMPLE_DEPTH_MAX ? sampler->what.depth_limit
                                                                        : RPS_SAMPLE_DEPTH_MAX;
    if (rc == 0)
        rc = map_scratch(rings, err);
    if (rc == 0 && options->waits && options->stacks == RPS_STACKS_LBR)
        rc = rps_error_set(err, RPS_USAGE,
                           "--wall: the processor keeps no branch records (lbr) of threads that "
                           "leave their CPU; use --stacks auto or fp");
    sampler->tells_times = !options->hears_only &&
                           (target->kind == RPS_TARGET_LAUNCH || target->kind == RPS_TARGET_ATTACH);
    rps_perf_tree_init(&sampler->tree);
    rings->tree = sampler->what.is_wide ? &sampler->tree : NULL;
    if (rc == 0 && (rc = fill_attrs(sampler, target, err)) == 0 &&
        (rc = add_rings(sampler, target, err)) == 0)
        fit_into_rings(sampler);
    fill_switches(sampler, target);
    sampler->reads_switches =
        options->waits && target->kind == RPS_TARGET_LAUNCH; /* from the workload's exec on */
    rps_perf_wall_init(&sampler->wall, (uint64_t)(sampler->drawn * 4294967296.), 0);
    if (rc < 0 || (rc = check_descriptors(sampler, target, err)) < 0 ||
        (rc = open_target(sampler, target, err)) < 0) {
        sampler_close(sampler);
        return rc;
    }
    if (target->kind == RPS_TARGET_CPUS)
        rps_perf_queue_open(&sampler->queue);
    *ret = (struct rps_sampler){
        .self = sampler,
        .start = sampler_start,
        .stop = sampler_stop,
        .drain = sampler_drain,
        .drain_within_ns = sampler_drain_within_ns,
        .status = sampler_status,
        .close = sampler_close,
    };
    return 0;
}
