/*
 * The real world: an absolute timer, the pidfds of what is recorded and descriptors of the
 * caller's, waited for together. With epoll: poll looked at all of them in every period, a quarter
 * of what a period of 100 ms cost.
 */
#include "rpistat/loop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "near.h"
#include "rpistat/clock.h"

/* What is waited for, by number: the timer, then the pidfds, then the watched. */
#define TIMER 0
#define PIDFD 1

/* What is looked at after one wake-up; the rest wakes again. */
#define READY_MAX 16

struct rps_real_world {
    struct rps_world table;
    int epoll, timer;
    int pidfd_count, left; /* processes, and how many have not ended */
    int *pidfd;            /* owned; -1: that one has ended */
    int watch_count;
    struct rps_watch *watch;       /* owned */
    const struct rps_watch *asked; /* whose request the loop is acting on */
    pid_t pid;                     /* whose CPU to be near; -1: there is more than one, or none */
    struct rps_near near;
};

static int64_t real_now_ns(void *self)
{
    (void)self;
    return rps_clock_monotonic_ns();
}

static int arm(struct rps_real_world *world, int64_t deadline_ns, struct rps_error *err)
{
    struct itimerspec when;

    memset(&when, 0, sizeof(when));
    if (deadline_ns < INT64_MAX) {
        when.it_value.tv_sec = (time_t)(deadline_ns / RPS_NS_PER_S);
        when.it_value.tv_nsec = (long)(deadline_ns % RPS_NS_PER_S);
    }
    if (timerfd_settime(world->timer, TFD_TIMER_ABSTIME, &when, NULL) < 0)
        return rps_error_set(err, RPS_FAILED, "cannot set the measurement timer: %s",
                             strerror(errno));
    return 0;
}

static int wait_for(struct rps_real_world *world, int fd, int number)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)number};

    return epoll_ctl(world->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* 1 when no process is left. */
static int all_ended(struct rps_real_world *world, const struct epoll_event *ready, int count)
{
    for (int i = 0; i < count; i++) {
        int process = (int)ready[i].data.u32 - PIDFD;

        if (process >= 0 && process < world->pidfd_count && world->pidfd[process] >= 0) {
            epoll_ctl(world->epoll, EPOLL_CTL_DEL, world->pidfd[process], NULL);
            world->pidfd[process] = -1;
            world->left--;
        }
    }
    return world->pidfd_count > 0 && world->left == 0;
}

static int requested(struct rps_real_world *world, const struct epoll_event *ready, int count,
                     enum rps_wake *ret)
{
    for (int i = 0; i < count; i++) {
        int number = (int)ready[i].data.u32 - PIDFD - world->pidfd_count;

        if (number >= 0 && world->watch[number].on_ready(world->watch[number].context, ret)) {
            world->asked = &world->watch[number];
            return 1;
        }
    }
    return 0;
}

static int expired(const struct epoll_event *ready, int count)
{
    for (int i = 0; i < count; i++)
        if (ready[i].data.u32 == TIMER)
            return 1;
    return 0;
}

static int real_wait(void *self, int64_t deadline_ns, enum rps_wake *ret, struct rps_error *err)
{
    struct rps_real_world *world = self;
    int rc = arm(world, deadline_ns, err);

    if (world->asked && rc == 0) {
        const struct rps_watch *asked = world->asked;

        if (asked->on_done)
            asked->on_done(asked->context);
        if (asked->on_ready(asked->context, ret)) /* what had come together with it */
            return 0;
        world->asked = NULL;
    }
    while (rc == 0) {
        struct epoll_event ready[READY_MAX];
        int count = epoll_wait(world->epoll, ready, READY_MAX, -1);

        if (count < 0) {
            if (errno == EINTR)
                continue;
            return rps_error_set(err, RPS_FAILED, "cannot wait for the next period: %s",
                                 strerror(errno));
        }
        if (all_ended(world, ready, count)) {
            *ret = RPS_WAKE_ENDED;
            return 0;
        }
        if (requested(world, ready, count, ret))
            return 0;
        if (expired(ready, count)) {
            *ret = RPS_WAKE_DEADLINE;
            return 0;
        }
    }
    return rc;
}

/* The process behind a pidfd; -1 when it has ended. */
static pid_t process_of(int pidfd)
{
    char path[64], line[128];
    long pid = -1;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file) && sscanf(line, "Pid: %ld", &pid) != 1)
        ;
    if (file)
        fclose(file);
    return (pid_t)pid;
}

static int real_approach(void *self, int closer)
{
    struct rps_real_world *world = self;

    if (!closer) {
        rps_near_leave(&world->near);
        return 0;
    }
    return world->left == 1 && world->pid > 0 && rps_near_move(&world->near, world->pid);
}

static void real_clocks(void *self, struct rps_clocks *ret)
{
    (void)self;
    rps_clock_read_all(ret);
}

static int wait_for_all(struct rps_real_world *world)
{
    world->epoll = epoll_create1(EPOLL_CLOEXEC);
    world->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (world->epoll < 0 || world->timer < 0 || wait_for(world, world->timer, TIMER) < 0)
        return RPS_FAILED;
    for (int i = 0; i < world->pidfd_count; i++)
        if (wait_for(world, world->pidfd[i], PIDFD + i) < 0)
            return RPS_FAILED;
    for (int i = 0; i < world->watch_count; i++)
        if (world->watch[i].fd >= 0 &&
            wait_for(world, world->watch[i].fd, PIDFD + world->pidfd_count + i) < 0)
            return RPS_FAILED;
    return 0;
}

int rps_real_world_open(struct rps_real_world **ret, const int *pidfd, int pidfd_count,
                        const struct rps_watch *watch, int watch_count, struct rps_error *err)
{
    struct rps_real_world *world = calloc(1, sizeof(*world));
    int rc = RPS_FAILED;

    if (!world)
        return rps_error_memory(err);
    world->epoll = world->timer = -1;
    world->pidfd_count = world->left = pidfd_count;
    world->watch_count = watch_count;
    world->pid = pidfd_count == 1 ? process_of(pidfd[0]) : -1;
    rps_near_init(&world->near);
    world->pidfd = calloc((size_t)pidfd_count + 1, sizeof(*world->pidfd));
    world->watch = calloc((size_t)watch_count + 1, sizeof(*world->watch));
    if (!world->pidfd || !world->watch) {
        rc = rps_error_memory(err);
        goto fail;
    }
    for (int i = 0; i < pidfd_count; i++)
        world->pidfd[i] = pidfd[i];
    for (int i = 0; i < watch_count; i++)
        world->watch[i] = watch[i];
    if (wait_for_all(world) < 0) {
        rps_error_set(err, RPS_FAILED, "cannot wait for the workload: %s", strerror(errno));
        goto fail;
    }
    world->table = (struct rps_world){world, real_now_ns, real_wait, real_approach, real_clocks};
    *ret = world;
    return 0;
fail:
    rps_real_world_close(world);
    return rc;
}

const struct rps_world *rps_real_world_table(const struct rps_real_world *world)
{
    return &world->table;
}

void rps_real_world_close(struct rps_real_world *world)
{
    if (!world)
        return;
    rps_near_leave(&world->near);
    if (world->timer >= 0)
        close(world->timer);
    if (world->epoll >= 0)
        close(world->epoll);
    free(world->watch);
    free(world->pidfd);
    free(world);
}
