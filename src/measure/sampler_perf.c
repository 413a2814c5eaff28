/*
 * perf_event: opening a sampler, on the target that is being counted.
 *
 * - Events that are inherited can be mapped only where they belong to one CPU (EINVAL else), so that
 *   a workload is sampled by an event for each CPU, and a running process by one for each of its
 *   threads and CPUs. All those of a CPU write into one ring. The ring belongs to an event of our
 *   own that is never switched on, so that any of the others can be closed.
 * - A second event beside each, which counts nothing and is always on, hears of maps, names, forks
 *   and exits: the sampling event would not, while it stands still.
 * - Nobody is woken up by the kernel; the loop looks often enough (drain_within_ns).
 * - A CPU that goes offline has no more samples; one that comes online later has none at all.
 */
#include "sampler_perf.h"

#include <asm/perf_regs.h>
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
#include "rpistat/clock.h"

/* A ring's size, and to what it is halved where a user may not lock as much memory. */
#define RING_BYTES     ((size_t)512 * 1024)
#define RING_BYTES_MIN ((size_t)16 * 1024)

/* Time between two looks at the rings at most, and at least. */
#define DRAIN_MAX_NS RPS_NS_PER_S
#define DRAIN_MIN_NS (10 * RPS_NS_PER_MS)

/* What maps, names and ends of processes put into a ring each second, where many are started. */
#define OTHER_BYTES_PER_S ((uint64_t)128 * 1024)

/* The workload's registers, as the processor's kernel has them; 0: not known here. On x86 the
 * segment registers cannot be had. */
#if defined(__x86_64__)
#define REGISTERS ((UINT64_C(1) << PERF_REG_X86_64_MAX) - 1 - (UINT64_C(15) << PERF_REG_X86_DS))
#elif defined(__aarch64__)
#define REGISTERS ((UINT64_C(1) << (PERF_REG_ARM64_PC + 1)) - 1)
#elif defined(__arm__)
#define REGISTERS ((UINT64_C(1) << PERF_REG_ARM_MAX) - 1)
#else
#define REGISTERS UINT64_C(0)
#endif

struct descriptors {
    int *fd; /* owned */
    size_t count, room;
};

struct sampler {
    struct rps_perf *perf;
    struct rps_sampling_options options; /* with what was chosen for what was left open */
    struct rps_event event;
    struct perf_event_attr sampling, hearing;
    struct descriptors samplers, hearers;
    size_t sampler_first, hearer_first; /* of the process that is being opened */
    int starts_at_exec;
    struct rps_perf_rings rings;
};

static const char *const stacks_name[] = {
    [RPS_STACKS_FP] = "fp",
    [RPS_STACKS_DWARF] = "dwarf",
    [RPS_STACKS_LBR] = "lbr",
    [RPS_STACKS_NONE] = "none",
};

/* A number that the kernel has in a file of /proc/sys/kernel. */
static uint64_t kernel_limit(const char *name, uint64_t otherwise)
{
    char path[96];
    unsigned long long value;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
    file = fopen(path, "re");
    if (!file)
        return otherwise;
    if (fscanf(file, "%llu", &value) != 1)
        value = otherwise;
    fclose(file);
    return value;
}

/* --- what is sampled -------------------------------------------------------------------------- */

/* What to open for the event; perf->core as in rps_perf_event_on. */
static void fill_sampling(struct sampler *sampler, const struct rps_target *target)
{
    struct perf_event_attr *attr = &sampler->sampling;
    const int inherits = target->kind == RPS_TARGET_LAUNCH || target->kind == RPS_TARGET_ATTACH;
    unsigned flags = RPS_PERF_DISABLED;

    if (inherits)
        flags |= RPS_PERF_INHERIT;
    if (sampler->starts_at_exec)
        flags |= RPS_PERF_ON_EXEC;
    rps_perf_fill_attr(attr, &sampler->event, flags);
    attr->read_format = 0;
    attr->sample_type = rps_perf_sample_type(sampler->options.stacks);
    attr->sample_id_all = 1;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
    if (sampler->options.threshold > 0) {
        attr->sample_period = sampler->options.threshold;
    } else {
        attr->freq = 1;
        attr->sample_freq = sampler->options.frequency;
    }
    if (sampler->rings.depth_max > RPS_SAMPLE_DEPTH_MAX)
        attr->sample_max_stack = RPS_SAMPLE_DEPTH_MAX;
    if (sampler->event.type == RPS_EVENT_SOFTWARE)
        attr->exclude_idle = 1; /* the clocks go on on a CPU that has nothing to do */
    if (sampler->options.stacks == RPS_STACKS_DWARF) {
        attr->sample_regs_user = sampler->rings.registers;
        attr->sample_stack_user = RPS_PERF_STACK_BYTES;
    }
    if (sampler->options.stacks == RPS_STACKS_LBR)
        attr->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK;
}

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

/* The event set beside which no counter is left for the event, so that the kernel would let them
 * take turns; NULL where one is left. */
static const struct rps_event_set *find_rival(const struct sampler *sampler)
{
    const struct rps_plan *plan = sampler->perf->plan;

    if (!rps_perf_needs_counter(sampler->perf, &sampler->event))
        return NULL;
    for (int n = 0; n < plan->set_count; n++) {
        const struct rps_event_set *set = &plan->set[n];
        const struct rps_event *event[RPS_SLOT_MAX + 1] = {&sampler->event};
        int count = 1;

        for (int s = 0; s < set->event_count; s++)
            if (set->event[s].state == RPS_EVENT_MEASURED && !set->event[s].by_clock)
                event[count++] = &set->event[s];
        if (!rps_perf_fits(sampler->perf, event, count))
            return set;
    }
    return NULL;
}

/* Try it on this thread. Returns 0 or -errno. */
static int try_sampling(struct sampler *sampler, const struct rps_target *target)
{
    struct perf_event_attr attr;
    int fd, rc;

    fill_sampling(sampler, target);
    attr = sampler->sampling;
    fd = rps_perf_open_attr(&attr, NULL, -1);
    rc = fd < 0 ? fd : 0;
    rps_perf_close_fd(&fd);
    return rc;
}

static int cannot_sample(const struct sampler *sampler, int number, struct rps_error *err)
{
    char reason[RPS_REASON_SIZE];

    rps_perf_explain(number, reason, sizeof(reason));
    return rps_error_set(err, RPS_FAILED, "cannot sample %s: %s", sampler->event.spec, reason);
}

static int resolve(struct sampler *sampler, const char *spec, struct rps_error *err)
{
    memset(&sampler->event, 0, sizeof(sampler->event));
    snprintf(sampler->event.name, sizeof(sampler->event.name), "sampled");
    snprintf(sampler->event.spec, sizeof(sampler->event.spec), "%s", spec);
    return rps_perf_try_event(sampler->perf, &sampler->event, err);
}

/* Why the event cannot be sampled; 0 when it can be. */
static int check_event(struct sampler *sampler, const struct rps_target *target,
                       struct rps_error *err)
{
    const char *spec = sampler->event.spec;
    const struct rps_event_set *rival;
    int number;

    if (sampler->event.state != RPS_EVENT_MEASURED)
        return rps_error_set(err, RPS_FAILED, "cannot sample %s: %s", spec, sampler->event.reason);
    number = -try_sampling(sampler, target);
    if (number != 0 && sampler->options.stacks == RPS_STACKS_LBR)
        return rps_error_set(err, RPS_FAILED,
                             "cannot sample %s with stacks by the processor's record of calls "
                             "(lbr): there is none, or not with that event; stacks by frame "
                             "pointers (fp) need none",
                             spec);
    if (number != 0)
        return cannot_sample(sampler, number, err);
    rival = find_rival(sampler);
    if (rival)
        return rps_error_set(err, RPS_FAILED,
                             "cannot sample %s: event set %s takes all counters; --no-merge, or "
                             "sets of fewer events, leave one",
                             spec, rival->name);
    return 0;
}

/* The event that was asked for, or the first that can be sampled: cycles where there are any, and a
 * counter is left for them; the clock of the CPU, by a timer, is everywhere. */
static int choose_event(struct sampler *sampler, const struct rps_target *target,
                        struct rps_error *err)
{
    const char *asked = sampler->options.event;
    int rc;

    if (!asked && sampler->perf->hardware) {
        if ((rc = resolve(sampler, "cycles", err)) < 0 || check_event(sampler, target, err) == 0)
            return rc;
    }
    if ((rc = resolve(sampler, asked ? asked : "cpu-clock", err)) < 0)
        return rc;
    return check_event(sampler, target, err);
}

/* Samples a second and CPU. */
static uint64_t choose_frequency(uint64_t asked, int cpus)
{
    const uint64_t allowed = kernel_limit("perf_event_max_sample_rate", UINT64_MAX);
    uint64_t frequency = asked;

    if (frequency == 0) {
        frequency = RPS_SAMPLE_BUDGET / (uint64_t)(cpus > 0 ? cpus : 1);
        if (frequency > RPS_SAMPLE_FREQUENCY_DEFAULT)
            frequency = RPS_SAMPLE_FREQUENCY_DEFAULT;
    }
    if (frequency > allowed)
        frequency = allowed;
    return frequency > 0 ? frequency : 1;
}

/* --- rings ------------------------------------------------------------------------------------ */

static int map_ring(struct rps_perf_ring *ring, struct rps_error *err)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = MAP_FAILED;

    for (size_t bytes = RING_BYTES; bytes >= RING_BYTES_MIN && bytes >= page; bytes /= 2) {
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
    struct rps_perf_ring *ring =
        realloc(rings->ring, ((size_t)rings->count + 1) * sizeof(*rings->ring));
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
        return cannot_sample(sampler, -ring->fd, err);
    rings->count++;
    return map_ring(ring, err);
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
    if (list->count == list->room) {
        size_t room = list->room * 2 + 16;
        int *grown = realloc(list->fd, room * sizeof(*grown));

        if (!grown) {
            close(fd);
            return rps_error_memory(err);
        }
        list->fd = grown;
        list->room = room;
    }
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
        return cannot_sample(sampler, -fd, err);
    if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0) {
        close(fd);
        return cannot_sample(sampler, errno, err);
    }
    return keep(list, fd, err);
}

/* Open both events at a place, which has one kind of core. */
static int open_at(struct sampler *sampler, pid_t pid, unsigned long flags,
                   const struct rps_perf_ring *ring, struct rps_error *err)
{
    const int kind = rps_perf_kind_of_cpu(sampler->perf, ring->cpu);
    struct rps_event event = rps_perf_event_on(sampler->perf, &sampler->event, kind);
    struct perf_event_attr *attr = &sampler->sampling;
    int rc = open_event(sampler, &sampler->hearing, pid, flags, ring, &sampler->hearers, err);

    if (rc != 0 || !rps_perf_counts_on(sampler->perf, &sampler->event, kind))
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
                             sampler->event.spec);
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
                             sampler->event.spec, strerror(errno));
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

/* Half a ring must hold what comes until the next look: what is younger than the look before stays
 * in it. */
static int64_t sampler_drain_within_ns(void *self)
{
    const struct sampler *sampler = self;
    const struct rps_perf_rings *rings = &sampler->rings;
    uint64_t rate =
        sampler->options.threshold > 0 ? RPS_SAMPLE_FREQUENCY_MAX : sampler->options.frequency;
    uint64_t bytes_per_s =
        OTHER_BYTES_PER_S +
        rate * rps_perf_sample_bytes(rings->stacks, rings->registers, rings->depth_max);
    int64_t within_ns = DRAIN_MAX_NS;

    for (int i = 0; i < rings->count; i++) {
        uint64_t ns = rings->ring[i].bytes / 2 * (uint64_t)RPS_NS_PER_S / bytes_per_s;

        if ((int64_t)ns < within_ns)
            within_ns = (int64_t)ns;
    }
    return within_ns < DRAIN_MIN_NS ? DRAIN_MIN_NS : within_ns;
}

static void sampler_status(void *self, struct rps_sampling *ret)
{
    const struct sampler *sampler = self;

    memset(ret, 0, sizeof(*ret));
    snprintf(ret->event, sizeof(ret->event), "%.60s%s", sampler->event.spec,
             sampler->sampling.exclude_kernel && !strchr(sampler->event.spec, ':') ? ":u" : "");
    ret->frequency = sampler->options.threshold > 0 ? 0 : sampler->options.frequency;
    ret->threshold = sampler->options.threshold;
    snprintf(ret->stacks, sizeof(ret->stacks), "%s", stacks_name[sampler->options.stacks]);
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

static int check_options(const struct rps_sampling_options *options, struct rps_error *err)
{
    if (options->frequency > RPS_SAMPLE_FREQUENCY_MAX)
        return rps_error_set(err, RPS_USAGE, "%llu samples a second are too many: at most %d",
                             (unsigned long long)options->frequency, RPS_SAMPLE_FREQUENCY_MAX);
    if (options->stacks == RPS_STACKS_DWARF && REGISTERS == 0)
        return rps_error_set(err, RPS_FAILED,
                             "cannot sample: stacks by debug information (dwarf) are not known of "
                             "this kind of processor");
    return 0;
}

int rps_perf_open_sampler(void *self, const struct rps_sampling_options *options,
                          const struct rps_target *target, struct rps_sampler *ret,
                          struct rps_error *err)
{
    struct sampler *sampler;
    int cpus = target->cpu_count > 0 ? target->cpu_count : (int)sysconf(_SC_NPROCESSORS_ONLN);
    int rc = check_options(options, err);

    if (rc < 0)
        return rc;
    sampler = calloc(1, sizeof(*sampler));
    if (!sampler)
        return rps_error_memory(err);
    sampler->perf = self;
    sampler->options = *options;
    sampler->options.frequency = choose_frequency(options->frequency, cpus);
    sampler->starts_at_exec = target->kind == RPS_TARGET_LAUNCH && target->start_at_exec;
    sampler->rings.stacks = options->stacks;
    sampler->rings.registers = REGISTERS;
    sampler->rings.depth_max = (size_t)kernel_limit("perf_event_max_stack", PERF_MAX_STACK_DEPTH);
    rc = choose_event(sampler, target, err);
    if (sampler->rings.depth_max > RPS_SAMPLE_DEPTH_MAX)
        sampler->rings.depth_max = RPS_SAMPLE_DEPTH_MAX;
    fill_hearing(sampler);
    if (rc < 0 || (rc = add_rings(sampler, target, err)) < 0 ||
        (rc = check_descriptors(sampler, target, err)) < 0 ||
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
