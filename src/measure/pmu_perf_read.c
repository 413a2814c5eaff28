/* perf_event: switch and read the counters of a target. These decisions follow from trials:
 *
 * - The leader switches its group without PERF_IOC_FLAG_GROUP; siblings are opened enabled. With
 *   the flag, leader and siblings drifted apart when the workload ran on another CPU.
 * - Nothing is ever reset (IOC_RESET keeps times and the counts of exited children).
 * - If a value cannot be read, its last value is used again, so that totals never decrease. */
#include "pmu_perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* A group read that meets an exiting thread is retried READ_TRIES times, with pauses in between. */
#define READ_TRIES    20
#define READ_PAUSE_NS 20000

/* Switch the clock event of all places, unless the clock event leads its group. */
static int switch_clocks(struct rps_perf *perf, unsigned long request)
{
    int failed = 0;

    for (int i = 0; i < perf->place_count; i++)
        if (!perf->place[i].gone)
            failed |= ioctl(perf->place[i].clock_fd, request, 0) < 0;
    return failed;
}

static int switch_place(const struct rps_perf_group *group, unsigned long request)
{
    int failed = 0;

    if (group->leader_fd >= 0)
        failed |= ioctl(group->leader_fd, request, 0) < 0;
    for (int s = 0; s < RPS_SLOT_MAX; s++)
        if (group->slot[s].fd >= 0 && group->slot[s].position < 0)
            failed |= ioctl(group->slot[s].fd, request, 0) < 0;
    return failed;
}

static int switch_groups(struct rps_perf *perf, int number, unsigned long request,
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

int rps_perf_enable(void *self, int set, struct rps_error *err)
{
    return switch_groups(self, set, PERF_EVENT_IOC_ENABLE, err);
}

int rps_perf_disable(void *self, int set, struct rps_error *err)
{
    struct rps_perf *perf = self;

    rps_idle_look(&perf->idle); /* read idle times while the set still counts */
    return switch_groups(self, set, PERF_EVENT_IOC_DISABLE, err);
}

/* Start counting. Clocks are started before groups and stopped after them, so that a clock counts
 * whenever its set counts.
 *
 * SAFETY: a thread that is being started during the switch can keep the old state of its counters,
 * and pass this state on to threads that it starts. Linux swaps the counters of a thread and of the
 * threads that it started instead of switching them. With a process that starts thousands of
 * threads per second, one recording in forty counted nothing. Repeating the request reaches those
 * threads. Repeating is not necessary if counting was started at exec. */
int rps_perf_start(void *self, int set, struct rps_error *err)
{
    struct rps_perf *perf = self;
    int rc = 0;

    rps_idle_start(&perf->idle);
    for (int i = 0; rc == 0 && i < RPS_PERF_SETTLE_TIMES; i++) {
        if (!perf->clock_leads && switch_clocks(perf, PERF_EVENT_IOC_ENABLE))
            return rps_error_set(err, RPS_FAILED, "cannot start the clock event: %s",
                                 strerror(errno));
        rc = rps_perf_enable(self, set, err);
    }
    return rc;
}

int rps_perf_stop(void *self, int set, struct rps_error *err)
{
    struct rps_perf *perf = self;
    int rc = 0;

    for (int i = 0; rc == 0 && i < RPS_PERF_SETTLE_TIMES; i++) {
        rc = rps_perf_disable(self, set, err);
        if (rc == 0 && !perf->clock_leads && switch_clocks(perf, PERF_EVENT_IOC_DISABLE))
            return rps_error_set(err, RPS_FAILED, "cannot stop the clock event: %s",
                                 strerror(errno));
    }
    return rc;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Read one descriptor. An exiting thread returns ECHILD until it has released its counters. The
 * thread may be waiting for this CPU, so each try yields the CPU. */
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

static void read_alone(struct rps_perf_group *group, int s)
{
    uint64_t value[3];

    if (read_counter(group->slot[s].fd, value, sizeof(value)) != (ssize_t)sizeof(value))
        return;
    group->value[s] = value[0];
    group->valid |= UINT32_C(1) << s;
    if (value[2] > group->running_ns)
        group->running_ns = value[2];
}

/* Read a place's group, which includes the clock event if it leads the group. */
static void read_group(const struct rps_perf *perf, struct rps_perf_place *place,
                       struct rps_perf_group *group)
{
    uint64_t buffer[3 + RPS_SLOT_MAX + 1]; /* number of values, times enabled and running, values */
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
            place->clock_running_ns = buffer[2];
            place->clock = buffer[3];
        }
    }
    group->valid = 0;
    if (perf->clock_leads && !grouped)
        return; /* the clock event is unknown too: the next reading covers this time */
    for (int s = 0; s < RPS_SLOT_MAX; s++) {
        const struct rps_perf_slot *slot = &group->slot[s];

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

static int read_clock(struct rps_perf_place *place, struct rps_error *err)
{
    uint64_t clock[3];
    ssize_t got = read_counter(place->clock_fd, clock, sizeof(clock));

    if (got == 0 || (got < 0 && errno == ENODEV))
        return 1;
    if (got != (ssize_t)sizeof(clock))
        return rps_error_set(err, RPS_FAILED, "cannot read the clock event: %s",
                             got < 0 ? strerror(errno) : "the kernel returned only a part of it");
    place->clock = clock[0];
    place->enabled_ns = clock[1];
    place->clock_running_ns = clock[2];
    return 0;
}

/* Read a place. Returns 1 if the time of its counters stopped, because the CPU is offline. */
static int read_place(const struct rps_perf *perf, struct rps_perf_place *place, int set,
                      struct rps_error *err)
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

/* Add a place's reading to its track's reading. A slot is invalid unless all places read it. */
static void add_reading(const struct rps_perf_place *place, int set, struct rps_reading *sum)
{
    const struct rps_perf_group *group = &place->group[set];

    sum->clock += place->clock;
    sum->running_ns += group->running_ns;
    sum->clock_running_ns += place->clock_running_ns;
    if (place->kind == 0 || place->cpu >= 0) /* add once per thread, not once per kind of core */
        sum->enabled_ns += place->enabled_ns;
    for (int s = 0; s < RPS_SLOT_MAX; s++) {
        sum->value[s] += group->value[s];
        if (!place->gone && group->slot[s].fd >= 0 && !(group->valid & UINT32_C(1) << s))
            sum->valid &= ~(UINT32_C(1) << s);
    }
}

int rps_perf_read(void *self, int track, int set, struct rps_reading *ret, struct rps_error *err)
{
    struct rps_perf *perf = self;
    struct rps_reading sum = {.valid = ~UINT32_C(0)};
    int places = 0;

    for (int i = 0; i < perf->place_count; i++) {
        struct rps_perf_place *place = &perf->place[i];
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
    if (perf->track_cpu[track] != RPS_CPU_ALL)
        sum.idle_ns = rps_idle_ns(&perf->idle, perf->track_cpu[track]);
    *ret = sum;
    return 0;
}
