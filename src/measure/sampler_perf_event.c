/* perf_event: choose the sampled event and its frequency. */
#include "sampler_perf.h"
#include "sampler_perf_event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rpistat/proc.h"
#include "rpistat/random.h"

/* Mask of the workload's registers, as numbered by the processor's kernel, or 0 if unknown. On x86
 * the segment registers are not available. */
#if defined(__x86_64__) || defined(__aarch64__) || defined(__arm__)
#include <asm/perf_regs.h>
#endif
#if defined(__x86_64__)
#define REGISTERS ((UINT64_C(1) << PERF_REG_X86_64_MAX) - 1 - (UINT64_C(15) << PERF_REG_X86_DS))
#elif defined(__aarch64__)
#define REGISTERS ((UINT64_C(1) << (PERF_REG_ARM64_PC + 1)) - 1)
#elif defined(__arm__)
#define REGISTERS ((UINT64_C(1) << PERF_REG_ARM_MAX) - 1)
#else
#define REGISTERS UINT64_C(0)
#endif

/* Read a number from a file of /proc/sys/kernel. Returns `otherwise` on failure. */
static uint64_t kernel_limit(const char *name, uint64_t otherwise)
{
    unsigned long long value;
    char text[32];

    rps_proc_read(text, sizeof(text), "/proc/sys/kernel/%s", name);
    return sscanf(text, "%llu", &value) == 1 ? value : otherwise;
}

/* Return 1 if samples may contain copies of stacks. SAFETY: if whole CPUs are sampled, the kernel
 * copies the stacks and registers of all programs, so only root may use copies. */
static int may_copy(const struct rps_perf_sampled *sampled)
{
    return !sampled->is_wide || geteuid() == 0;
}

void rps_perf_fill_sampling(const struct rps_perf_sampled *sampled, const struct rps_target *target,
                            struct perf_event_attr *attr)
{
    const int inherits = !sampled->is_wide &&
                         (target->kind == RPS_TARGET_LAUNCH || target->kind == RPS_TARGET_ATTACH);
    const int at_exec = target->kind == RPS_TARGET_LAUNCH && target->start_at_exec;
    unsigned flags = 0;

    if (inherits)
        flags |= RPS_PERF_INHERIT;
    if (inherits && at_exec)
        flags |= RPS_PERF_ON_EXEC;
    if (inherits || !at_exec) /* records before the exec are not the target's and are dropped */
        flags |= RPS_PERF_DISABLED;
    rps_perf_fill_attr(attr, &sampled->event, flags);
    attr->read_format = 0;
    attr->sample_type = rps_perf_sample_type(sampled->options.stacks, sampled->registers);
    attr->sample_id_all = 1;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
    if (sampled->options.threshold > 0) {
        attr->sample_period = sampled->options.threshold;
    } else {
        attr->freq = 1;
        attr->sample_freq = sampled->options.frequency;
    }
    if (sampled->depth_limit > RPS_SAMPLE_DEPTH_MAX)
        attr->sample_max_stack = RPS_SAMPLE_DEPTH_MAX;
    if (sampled->event.type == RPS_EVENT_SOFTWARE)
        attr->exclude_idle = 1; /* clock events also run on an idle CPU */
    if (sampled->registers != 0) {
        attr->sample_regs_user = sampled->registers;
        attr->sample_stack_user = RPS_PERF_STACK_BYTES;
    }
    if (sampled->options.stacks == RPS_STACKS_LBR)
        attr->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK;
}

/* Return a set that uses all counters and would be multiplexed with the event, or NULL. */
static const struct rps_event_set *find_rival(const struct rps_perf_sampled *sampled)
{
    const struct rps_plan *plan = sampled->perf->plan;

    if (!rps_perf_needs_counter(sampled->perf, &sampled->event))
        return NULL;
    for (int n = 0; n < plan->set_count; n++) {
        const struct rps_event_set *set = &plan->set[n];
        const struct rps_event *event[RPS_SLOT_MAX + 1] = {&sampled->event};
        int count = 1;

        for (int s = 0; s < set->event_count; s++)
            if (set->event[s].state == RPS_EVENT_MEASURED && !set->event[s].by_clock)
                event[count++] = &set->event[s];
        if (!rps_perf_fits(sampled->perf, event, count))
            return set;
    }
    return NULL;
}

/* Try to sample the event on this thread. Returns 0 or -errno. */
static int try_sampling(struct rps_perf_sampled *sampled, const struct rps_target *target)
{
    struct perf_event_attr attr;
    int fd, rc;

    rps_perf_fill_sampling(sampled, target, &attr);
    fd = rps_perf_open_attr(&attr, NULL, -1);
    rc = fd < 0 ? fd : 0;
    rps_perf_close_fd(&fd);
    return rc;
}

void rps_perf_leave_out_registers(struct rps_perf_sampled *sampled)
{
    sampled->options.stacks = RPS_STACKS_FP;
    sampled->registers = 0;
}

int rps_perf_cannot_sample(const struct rps_event *event, int number, struct rps_error *err)
{
    char reason[RPS_REASON_SIZE];

    rps_perf_explain(number, reason, sizeof(reason));
    return rps_error_set(err, RPS_FAILED, "cannot sample %s: %s", event->spec, reason);
}

static int resolve_sampled(struct rps_perf_sampled *sampled, const char *spec,
                           struct rps_error *err)
{
    memset(&sampled->event, 0, sizeof(sampled->event));
    snprintf(sampled->event.name, sizeof(sampled->event.name), "sampled");
    snprintf(sampled->event.spec, sizeof(sampled->event.spec), "%s", spec);
    return rps_perf_try_event(sampled->perf, &sampled->event, err);
}

/* Check that the event can be sampled in addition to all counted events. */
static int check_event(struct rps_perf_sampled *sampled, const struct rps_target *target,
                       struct rps_error *err)
{
    const char *spec = sampled->event.spec;
    const struct rps_event_set *rival;
    int number;

    if (sampled->event.state != RPS_EVENT_MEASURED)
        return rps_error_set(err, RPS_FAILED, "cannot sample %s: %s", spec, sampled->event.reason);
    number = -try_sampling(sampled, target);
    if (number != 0 && sampled->options.stacks == RPS_STACKS_LBR)
        return rps_error_set(
            err, RPS_FAILED,
            "cannot sample %s with branch records (lbr): the processor has none, or "
            "none for this event; use --stacks fp",
            spec);
    if (number != 0)
        return rps_perf_cannot_sample(&sampled->event, number, err);
    rival = find_rival(sampled);
    if (rival)
        return rps_error_set(err, RPS_FAILED,
                             "cannot sample %s: event set %s takes all counters; use "
                             "--always-rotate, or sets of fewer events",
                             spec, rival->name);
    return 0;
}

/* Choose the given event, or the first event that can be sampled: cycles if they exist and have a
 * free counter. The CPU clock is always available, because it uses a timer. */
static int choose_event(struct rps_perf_sampled *sampled, const struct rps_target *target,
                        struct rps_error *err)
{
    const char *asked = sampled->options.event;
    int rc;

    if (!asked && sampled->perf->hardware) {
        if ((rc = resolve_sampled(sampled, "cycles", err)) < 0 ||
            check_event(sampled, target, err) == 0)
            return rc;
    }
    if ((rc = resolve_sampled(sampled, asked ? asked : "cpu-clock", err)) < 0)
        return rc;
    return check_event(sampled, target, err);
}

/* --- whole CPUs, or tasks --------------------------------------------------------------------- */

/* Maximum number of CPUs that are sampled as a whole. With more CPUs short workloads would get few
 * samples, since all CPUs share the budget. */
#define WIDE_CPUS_MAX 8

static int try_cpus(const struct rps_perf_sampled *sampled, const struct rps_target *target)
{
    struct rps_perf_sampled tried = *sampled;
    const int cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
    struct rps_perf_place place = {.pid = -1};
    struct perf_event_attr attr;
    int fd = -ENODEV;

    if (tried.options.stacks == RPS_STACKS_AUTO && !may_copy(&tried))
        rps_perf_leave_out_registers(&tried);
    rps_perf_fill_sampling(&tried, target, &attr);
    for (; fd == -ENODEV && place.cpu < cpus; place.cpu++) /* ENODEV: the CPU is offline */
        fd = rps_perf_open_attr(&attr, &place, -1);
    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

/* Decide whether whole CPUs are sampled. An inherited event starts a whole interval in each new
 * thread, so that short-lived threads get hardly any samples. Therefore CPUs are sampled if
 * permitted, and other programs' samples are dropped. CPUs are never sampled by a threshold,
 * because samples by a threshold are few, and are counted exactly in threads. */
static int choose_cpus(struct rps_perf_sampled *sampled, const struct rps_target *target,
                       struct rps_error *err)
{
    const int is_asked = sampled->options.on == RPS_SAMPLE_ON_CPUS;
    const char *spec = sampled->event.spec;
    int number;

    if (sampled->options.on == RPS_SAMPLE_ON_TASKS || target->pid_count == 0)
        return 0;
    if (sampled->options.threshold > 0)
        return is_asked
                   ? rps_error_set(
                         err, RPS_USAGE,
                         "%s: one sample per N events (:N) needs recorded processes; leave out :N",
                         spec)
                   : 0;
    if (!is_asked && sysconf(_SC_NPROCESSORS_ONLN) > WIDE_CPUS_MAX)
        return 0;
    sampled->is_wide = 1;
    number = sampled->options.stacks == RPS_STACKS_DWARF && !may_copy(sampled)
                 ? EPERM
                 : -try_cpus(sampled, target);
    if (number == 0)
        return 0;
    sampled->is_wide = 0;
    if (!is_asked)
        return 0;
    return number == EPERM && sampled->options.stacks == RPS_STACKS_DWARF
               ? rps_error_set(err, RPS_FAILED,
                               "cannot sample CPUs: only root may copy the stacks of all programs; "
                               "use --stacks fp")
               : rps_perf_cannot_sample(&sampled->event, number, err);
}

/* Choose the number of samples per second and CPU. */
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

static int check_options(const struct rps_sampling_options *options, struct rps_error *err)
{
    if (options->frequency > RPS_SAMPLE_FREQUENCY_MAX)
        return rps_error_set(err, RPS_USAGE, "%llu samples per second are too many; use at most %d",
                             (unsigned long long)options->frequency, RPS_SAMPLE_FREQUENCY_MAX);
    if (options->stacks == RPS_STACKS_DWARF && REGISTERS == 0)
        return rps_error_set(
            err, RPS_FAILED,
            "cannot sample: unwinding of copied stacks (dwarf) is not supported on "
            "this processor; use --stacks fp");
    return 0;
}

/* Return 1 if samples may hold copies of stacks by default. SAFETY: only root may have other users'
 * stacks. Samples by a threshold come in bursts, which need too much space. */
static int may_hold_copies(const struct rps_sampling_options *options,
                           const struct rps_target *target)
{
    return REGISTERS != 0 && options->threshold == 0 && (target->cpu_count == 0 || geteuid() == 0);
}

int rps_perf_choose_sampled(struct rps_perf *perf, const struct rps_sampling_options *options,
                            const struct rps_target *target, struct rps_perf_sampled *ret,
                            struct rps_error *err)
{
    int cpus = target->cpu_count > 0 ? target->cpu_count : (int)sysconf(_SC_NPROCESSORS_ONLN);
    int rc = check_options(options, err);

    memset(ret, 0, sizeof(*ret));
    ret->perf = perf;
    ret->options = *options;
    ret->options.frequency = choose_frequency(options->frequency, cpus);
    if (options->stacks == RPS_STACKS_DWARF || options->stacks == RPS_STACKS_AUTO)
        ret->registers = REGISTERS;
    if (options->stacks == RPS_STACKS_AUTO && !may_hold_copies(options, target))
        rps_perf_leave_out_registers(ret);
    ret->depth_limit = (size_t)kernel_limit("perf_event_max_stack", PERF_MAX_STACK_DEPTH);
    if (rc < 0)
        return rc;
    rc = choose_event(ret, target, err);
    if (rc < 0 && ret->options.stacks == RPS_STACKS_AUTO) {
        rps_perf_leave_out_registers(ret);
        rc = choose_event(ret, target, err);
    }
    if (rc < 0 || (rc = choose_cpus(ret, target, err)) < 0)
        return rc;
    if (ret->options.stacks == RPS_STACKS_AUTO && !may_copy(ret))
        rps_perf_leave_out_registers(ret);
    return 0;
}

/* perf_event: choose the switches whose stack is recorded. Each stack costs up to 17 us of CPU
 * time. The kernel's sampling period would miss the few long waits of a thread, because each thread
 * has its own period. So all stacks are recorded if the rate of switches is low. At higher rates,
 * only the stacks in some windows are recorded. The window is drawn at random, so that no rhythm of
 * the workload is missed. In the other windows only the place of each switch is recorded, which
 * takes about 1 us. */

static uint32_t choose_windows(double rate, int was_off)
{
    double windows = rate / RPS_PERF_WAITS_PER_S;

    if (rate > (was_off ? RPS_PERF_SWITCHES_AGAIN : RPS_PERF_SWITCHES_MAX))
        return 0;
    return windows <= 1                      ? 1
           : windows >= RPS_PERF_WINDOWS_MAX ? RPS_PERF_WINDOWS_MAX
                                             : (uint32_t)windows + 1;
}

void rps_perf_wall_init(struct rps_perf_wall *wall, uint64_t seed, int64_t now_ns)
{
    *wall = (struct rps_perf_wall){.seed = seed, .of = 1};
    wall->takes_stacks = wall->hears_switches = 1;
    rps_perf_wall_resume(wall, now_ns);
}

void rps_perf_wall_resume(struct rps_perf_wall *wall, int64_t now_ns)
{
    wall->window_ns = wall->heard_ns = now_ns;
}

int rps_perf_wall_step(struct rps_perf_wall *wall, uint64_t switches, int64_t until_ns,
                       int64_t now_ns)
{
    const int takes_stacks = wall->takes_stacks, hears_switches = wall->hears_switches;
    const int were_too_many = wall->of == 0;

    if (now_ns - wall->window_ns <
        RPS_PERF_WINDOW_NS / 100 * 95) /* windows may be some microseconds shorter */
        return 0;
    /* Compute the switches per second since the previous reading, if all switches were recorded. */
    if (wall->hears_switches && wall->until_ns >= wall->heard_ns && until_ns > wall->until_ns)
        wall->rate = (double)(switches - wall->switches) / (double)(until_ns - wall->until_ns) *
                     (double)RPS_NS_PER_S;
    wall->switches = switches;
    wall->until_ns = until_ns;
    wall->window_ns = now_ns;
    if (++wall->at >= (wall->of > 0 ? wall->of : RPS_PERF_WINDOWS_MAX)) {
        wall->of = choose_windows(wall->rate, wall->of == 0);
        wall->at = 0;
        wall->place = (uint32_t)(rps_random_unit(&wall->seed) * wall->of);
    }
    wall->takes_stacks = wall->of > 0 && wall->at == wall->place;
    /* The last window reads the records of the window before it, or slightly earlier records. */
    wall->hears_switches = wall->of > 0 || wall->at + 3 >= RPS_PERF_WINDOWS_MAX;
    if (wall->hears_switches && !hears_switches)
        wall->heard_ns = now_ns;
    return wall->takes_stacks != takes_stacks || wall->hears_switches != hears_switches ||
           (wall->of == 0) != were_too_many;
}
