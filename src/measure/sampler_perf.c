/*
 * perf_event: opening a sampler, on the target that is being counted.
 *
 * - Events that are inherited can be mapped only where they belong to one CPU (EINVAL else): a
 *   workload is sampled by an event for each CPU, and a running process by one for each of its
 *   threads and CPUs. All those of a CPU write into one ring. The ring belongs to an event of our
 *   own that is never switched on, so that any of the others can be closed.
 * - A second event beside each, which counts nothing and is always on, hears of maps, names, forks
 *   and exits: the sampling event would not, while it stands still.
 * - Nobody is woken up by the kernel; the loop looks often enough (drain_within_ns).
 * - A CPU that goes offline has no more samples; one that comes online later has none at all.
 */
#include "sampler_perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "pmu_perf.h"
#include "rpistat/array.h"
#include "rpistat/clock.h"

/* A ring's size, which is doubled for samples that are many and large, and to what it is halved
 * where a user may not lock as much memory. */
#define RING_BYTES     ((size_t)512 * 1024)
#define RING_BYTES_MAX ((size_t)4096 * 1024)
#define RING_BYTES_MIN ((size_t)16 * 1024)

/* Time between two looks at the rings at most, as it should be, and at least. Rings that want more
 * than the last but one are for no copies of stacks, unless these were asked for. */
#define DRAIN_MAX_NS    RPS_NS_PER_S
#define DRAIN_WANTED_NS (100 * RPS_NS_PER_MS)
#define DRAIN_COPIES_NS (25 * RPS_NS_PER_MS)
#define DRAIN_MIN_NS    (10 * RPS_NS_PER_MS)

/* What maps, names and ends of processes put into a ring each second, where many are started. */
#define OTHER_BYTES_PER_S ((uint64_t)128 * 1024)

struct descriptors {
    int *fd; /* owned */
    size_t count;
};

struct sampler {
    struct rps_perf_sampled what;
    struct perf_event_attr sampling, hearing;
    struct descriptors samplers, hearers;
    size_t sampler_first, hearer_first; /* of the process that is being opened */
    struct rps_perf_rings rings;
};

static const char *const stacks_name[] = {
    [RPS_STACKS_AUTO] = "auto", [RPS_STACKS_FP] = "fp",     [RPS_STACKS_DWARF] = "dwarf",
    [RPS_STACKS_LBR] = "lbr",   [RPS_STACKS_NONE] = "none",
};

static void fill_hearing(struct sampler *sampler)
{
    struct perf_event_attr *attr = &sampler->hearing;

    attr->size = sizeof(*attr);
    attr->type = PERF_TYPE_SOFTWARE;
    attr->config = PERF_COUNT_SW_DUMMY;
    attr->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    attr->inherit = sampler->sampling.inherit;
    attr->sample_id_all = attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
    attr->mmap = attr->mmap2 = attr->build_id = 1;
    attr->comm = attr->comm_exec = attr->task = 1;
    attr->exclude_kernel = attr->exclude_hv = 1;
}

/* --- rings ------------------------------------------------------------------------------------ */

/* Half a ring must hold what comes until the next look: what is younger than the look before stays
 * in it. */
static int64_t fills_half_in_ns(const struct sampler *sampler, size_t bytes)
{
    const struct rps_perf_rings *rings = &sampler->rings;
    uint64_t rate = sampler->what.options.threshold > 0 ? RPS_SAMPLE_FREQUENCY_MAX
                                                        : sampler->what.options.frequency;
    uint64_t bytes_per_s =
        OTHER_BYTES_PER_S +
        rate * rps_perf_sample_bytes(rings->stacks, rings->registers, rings->depth_max);

    return (int64_t)(bytes / 2 * (uint64_t)RPS_NS_PER_S / bytes_per_s);
}

static int map_ring(const struct sampler *sampler, struct rps_perf_ring *ring,
                    struct rps_error *err)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = RING_BYTES;
    void *memory = MAP_FAILED;

    while (bytes < RING_BYTES_MAX && fills_half_in_ns(sampler, bytes) < DRAIN_WANTED_NS)
        bytes *= 2;
    for (; bytes >= RING_BYTES_MIN && bytes >= page; bytes /= 2) {
        memory = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
        if (memory != MAP_FAILED) {
            ring->page = memory;
            ring->data = (const uint8_t *)memory + page;
            ring->bytes = bytes;
            return 0;
        }
        if (errno != EPERM && errno != ENOMEM)
            break;
    }
    return rps_error_set(err, RPS_FAILED,
                         "cannot sample: no memory for samples may be locked (%s): raise "
                         "'ulimit -l' or kernel.perf_event_mlock_kb",
                         strerror(errno));
}

/* Make the ring of a CPU. 1: it is offline. */
static int add_ring(struct sampler *sampler, int cpu, struct rps_error *err)
{
    struct rps_perf_rings *rings = &sampler->rings;
    struct rps_perf_ring *ring = rps_array_grow(rings->ring, (size_t)rings->count, sizeof(*ring));
    const struct rps_perf_place own = {.cpu = cpu};
    struct perf_event_attr attr = sampler->hearing;

    if (!ring)
        return rps_error_memory(err);
    rings->ring = ring;
    ring += rings->count;
    memset(ring, 0, sizeof(*ring));
    ring->cpu = cpu;
    attr.disabled = 1;
    attr.inherit = 0;
    ring->fd = rps_perf_open_attr(&attr, &own, -1);
    if (ring->fd == -EINVAL && attr.build_id) { /* Linux before 5.12 */
        attr.build_id = sampler->hearing.build_id = 0;
        ring->fd = rps_perf_open_attr(&attr, &own, -1);
    }
    if (ring->fd == -ENODEV)
        return 1;
    if (ring->fd < 0)
        return rps_perf_cannot_sample(&sampler->what.event, -ring->fd, err);
    rings->count++;
    return map_ring(sampler, ring, err);
}

static int add_rings(struct sampler *sampler, const struct rps_target *target,
                     struct rps_error *err)
{
    const int listed = target->cpu_count > 0;
    const int count = listed ? target->cpu_count : (int)sysconf(_SC_NPROCESSORS_CONF);
    int rc = 0;

    for (int i = 0; rc >= 0 && i < count; i++)
        rc = add_ring(sampler, listed ? target->cpu[i] : i, err);
    return rc < 0 ? rc : 0;
}

/* --- the target ------------------------------------------------------------------------------- */

static int keep(struct descriptors *list, int fd, struct rps_error *err)
{
    int *grown = rps_array_grow(list->fd, list->count, sizeof(*grown));

    if (!grown) {
        close(fd);
        return rps_error_memory(err);
    }
    list->fd = grown;
    list->fd[list->count++] = fd;
    return 0;
}

static void drop(struct descriptors *list, size_t first)
{
    while (list->count > first)
        close(list->fd[--list->count]);
}

/* Open an event that writes into the CPU's ring. 1: the thread has gone. */
static int open_event(struct sampler *sampler, struct perf_event_attr *attr, pid_t pid,
                      unsigned long flags, const struct rps_perf_ring *ring,
                      struct descriptors *list, struct rps_error *err)
{
    const struct rps_perf_place place = {.pid = pid, .cpu = ring->cpu, .flags = flags};
    int fd = rps_perf_open_attr(attr, &place, -1);

    if (fd == -ESRCH || fd == -ENODEV) /* ENODEV: the CPU is offline */
        return fd == -ESRCH;
    if (fd < 0)
        return rps_perf_cannot_sample(&sampler->what.event, -fd, err);
    if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0) {
        close(fd);
        return rps_perf_cannot_sample(&sampler->what.event, errno, err);
    }
    return keep(list, fd, err);
}

/* Open both events at a place, which has one kind of core. */
static int open_at(struct sampler *sampler, pid_t pid, unsigned long flags,
                   const struct rps_perf_ring *ring, struct rps_error *err)
{
    const int kind = rps_perf_kind_of_cpu(sampler->what.perf, ring->cpu);
    struct rps_event event = rps_perf_event_on(sampler->what.perf, &sampler->what.event, kind);
    struct perf_event_attr *attr = &sampler->sampling;
    int rc = open_event(sampler, &sampler->hearing, pid, flags, ring, &sampler->hearers, err);

    if (rc != 0 || !rps_perf_counts_on(sampler->what.perf, &sampler->what.event, kind))
        return rc;
    attr->type = event.type;
    attr->config = event.config;
    return open_event(sampler, attr, pid, flags, ring, &sampler->samplers, err);
}

/* A thread on all CPUs, as struct rps_perf_opener has it. */
static int open_thread(void *context, pid_t tid, struct rps_error *err)
{
    struct sampler *sampler = context;
    int rc = 0;

    for (int i = 0; rc == 0 && i < sampler->rings.count; i++)
        rc = open_at(sampler, tid, 0, &sampler->rings.ring[i], err);
    return rc;
}

static void drop_process(void *context)
{
    struct sampler *sampler = context;

    drop(&sampler->samplers, sampler->sampler_first);
    drop(&sampler->hearers, sampler->hearer_first);
}

static int open_process(struct sampler *sampler, pid_t pid, struct rps_error *err)
{
    const struct rps_perf_opener opener = {sampler, open_thread, drop_process};

    sampler->sampler_first = sampler->samplers.count;
    sampler->hearer_first = sampler->hearers.count;
    return rps_perf_open_process(pid, &opener, err);
}

static int open_target(struct sampler *sampler, const struct rps_target *target,
                       struct rps_error *err)
{
    const int cgroup = target->kind == RPS_TARGET_CGROUP;
    int rc = 0;

    if (target->kind == RPS_TARGET_LAUNCH)
        rc = open_thread(sampler, target->pid[0], err);
    for (int i = 0; rc == 0 && target->kind == RPS_TARGET_ATTACH && i < target->pid_count; i++)
        rc = open_process(sampler, target->pid[i], err);
    for (int i = 0; rc >= 0 && target->cpu_count > 0 && i < sampler->rings.count; i++)
        rc = open_at(sampler, cgroup ? target->cgroup_fd : -1, cgroup ? PERF_FLAG_PID_CGROUP : 0,
                     &sampler->rings.ring[i], err);
    if (rc >= 0 && sampler->samplers.count == 0)
        return rps_error_set(err, RPS_FAILED, "cannot sample %s: there is nothing to sample",
                             sampler->what.event.spec);
    return rc < 0 ? rc : 0;
}

static int check_descriptors(const struct sampler *sampler, const struct rps_target *target,
                             struct rps_error *err)
{
    const unsigned long long rings = (unsigned long long)sampler->rings.count;
    unsigned long long need, allowed;
    size_t threads;

    if (rings == 0)
        return 0;
    if (rps_perf_count_threads(target, &threads, err) < 0)
        return RPS_FAILED;
    /* those of the counters are open: the latest has a higher number */
    need = 2 * rings * (threads > 0 ? threads : 1) + RPS_PERF_DESCRIPTORS_FREE +
           (unsigned long long)sampler->rings.ring[rings - 1].fd;
    allowed = rps_perf_reserve_descriptors(need);
    if (allowed > 0)
        return rps_error_set(err, RPS_FAILED,
                             "sampling %zu threads on %llu CPUs takes %llu file descriptors, and "
                             "%llu are allowed: raise 'ulimit -Hn', or sample all CPUs (-a)",
                             threads, rings, need, allowed);
    return 0;
}

/* --- the sampler ------------------------------------------------------------------------------ */

/* Why it is asked for several times, rps_perf_start says. */
static int switch_samplers(const struct sampler *sampler, unsigned long request,
                           struct rps_error *err)
{
    int failed = 0;

    for (int turn = 0; turn < RPS_PERF_SETTLE_TIMES; turn++)
        for (size_t i = 0; i < sampler->samplers.count; i++)
            failed |= ioctl(sampler->samplers.fd[i], request, 0) < 0;
    if (failed)
        return rps_error_set(err, RPS_FAILED, "cannot switch sampling of %s: %s",
                             sampler->what.event.spec, strerror(errno));
    return 0;
}

static int sampler_start(void *self, struct rps_error *err)
{
    return switch_samplers(self, PERF_EVENT_IOC_ENABLE, err);
}

static int sampler_stop(void *self, struct rps_error *err)
{
    return switch_samplers(self, PERF_EVENT_IOC_DISABLE, err);
}

static int sampler_drain(void *self, int64_t until_ns, const struct rps_sample_sink *sink,
                         struct rps_error *err)
{
    struct sampler *sampler = self;

    (void)err;
    rps_perf_rings_drain(&sampler->rings, until_ns, sink);
    return 0;
}

static int64_t sampler_drain_within_ns(void *self)
{
    const struct sampler *sampler = self;
    int64_t within_ns = DRAIN_MAX_NS;

    for (int i = 0; i < sampler->rings.count; i++) {
        int64_t ns = fills_half_in_ns(sampler, sampler->rings.ring[i].bytes);

        if (ns < within_ns)
            within_ns = ns;
    }
    return within_ns < DRAIN_MIN_NS ? DRAIN_MIN_NS : within_ns;
}

static void sampler_status(void *self, struct rps_sampling *ret)
{
    const struct sampler *sampler = self;

    memset(ret, 0, sizeof(*ret));
    snprintf(ret->event, sizeof(ret->event), "%.60s%s", sampler->what.event.spec,
             sampler->sampling.exclude_kernel && !strchr(sampler->what.event.spec, ':') ? ":u"
                                                                                        : "");
    ret->frequency = sampler->what.options.threshold > 0 ? 0 : sampler->what.options.frequency;
    ret->threshold = sampler->what.options.threshold;
    snprintf(ret->stacks, sizeof(ret->stacks), "%s", stacks_name[sampler->what.options.stacks]);
    ret->lost = sampler->rings.lost;
    ret->throttled = sampler->rings.throttled;
}

static void sampler_close(void *self)
{
    struct sampler *sampler = self;

    if (!sampler)
        return;
    drop(&sampler->samplers, 0);
    drop(&sampler->hearers, 0);
    free(sampler->samplers.fd);
    free(sampler->hearers.fd);
    for (int i = 0; i < sampler->rings.count; i++) {
        struct rps_perf_ring *ring = &sampler->rings.ring[i];

        if (ring->page)
            munmap(ring->page, (size_t)(ring->data - (const uint8_t *)ring->page) + ring->bytes);
        close(ring->fd);
    }
    free(sampler->rings.ring);
    free(sampler);
}

/* What samples hold, as was chosen. */
static void fill_contents(struct sampler *sampler, const struct rps_target *target)
{
    struct rps_perf_rings *rings = &sampler->rings;

    rings->stacks = sampler->what.options.stacks;
    rings->registers = sampler->what.registers;
    rings->depth_max = sampler->what.depth_limit < RPS_SAMPLE_DEPTH_MAX ? sampler->what.depth_limit
                                                                        : RPS_SAMPLE_DEPTH_MAX;
    rps_perf_fill_sampling(&sampler->what, target, &sampler->sampling);
}

/* Where little memory may be locked samples are small. */
static void fit_into_rings(struct sampler *sampler, const struct rps_target *target)
{
    if (sampler->rings.stacks != RPS_STACKS_AUTO ||
        sampler_drain_within_ns(sampler) >= DRAIN_COPIES_NS)
        return;
    rps_perf_leave_out_registers(&sampler->what);
    fill_contents(sampler, target);
}

int rps_perf_open_sampler(void *self, const struct rps_sampling_options *options,
                          const struct rps_target *target, struct rps_sampler *ret,
                          struct rps_error *err)
{
    struct sampler *sampler = calloc(1, sizeof(*sampler));
    int rc;

    if (!sampler)
        return rps_error_memory(err);
    rc = rps_perf_choose_sampled(self, options, target, &sampler->what, err);
    if (rc == 0) {
        fill_contents(sampler, target);
        fill_hearing(sampler);
        rc = add_rings(sampler, target, err);
        fit_into_rings(sampler, target);
    }
    if (rc < 0 || (rc = check_descriptors(sampler, target, err)) < 0 ||
        (rc = open_target(sampler, target, err)) < 0) {
        sampler_close(sampler);
        return rc;
    }
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
