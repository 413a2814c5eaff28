/*
 * The real world: an absolute timer, the pidfds of what is recorded and descriptors of the
 * caller's, waited for together.
 */
#include "rpistat/loop.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "near.h"
#include "rpistat/clock.h"

struct rps_real_world {
    struct rps_world table;
    int pidfd_count, left; /* processes, and how many have not ended */
    int watch_count;
    struct rps_watch *watch;       /* owned */
    const struct rps_watch *asked; /* whose request the loop is acting on */
    struct pollfd *fd;             /* owned: the timer, the pidfds, the watched */
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
    if (timerfd_settime(world->fd[0].fd, TFD_TIMER_ABSTIME, &when, NULL) < 0)
        return rps_error_set(err, RPS_FAILED, "cannot set the measurement timer: %s",
                             strerror(errno));
    return 0;
}

/* 1 when no process is left. */
static int all_ended(struct rps_real_world *world)
{
    for (int i = 1; i <= world->pidfd_count; i++) {
        if (world->fd[i].fd >= 0 && world->fd[i].revents) {
            world->fd[i].fd = -1; /* poll passes over it from now on */
            world->left--;
        }
    }
    return world->pidfd_count > 0 && world->left == 0;
}

static int requested(struct rps_real_world *world, enum rps_wake *ret)
{
    for (int i = 0; i < world->watch_count; i++) {
        const struct rps_watch *watch = &world->watch[i];

        if (world->fd[1 + world->pidfd_count + i].revents && watch->on_ready(watch->context, ret)) {
            world->asked = watch;
            return 1;
        }
    }
    return 0;
}

static int real_wait(void *self, int64_t deadline_ns, enum rps_wake *ret, struct rps_error *err)
{
    struct rps_real_world *world = self;
    nfds_t count = 1 + (nfds_t)world->pidfd_count + (nfds_t)world->watch_count;
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
        if (poll(world->fd, count, -1) < 0) {
            if (errno == EINTR)
                continue;
            return rps_error_set(err, RPS_FAILED, "cannot wait for the next period: %s",
                                 strerror(errno));
        }
        if (all_ended(world)) {
            *ret = RPS_WAKE_ENDED;
            return 0;
        }
        if (requested(world, ret))
            return 0;
        if (world->fd[0].revents) {
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
    pid_t pid;

    if (!closer) {
        rps_near_leave(&world->near);
        return 0;
    }
    pid = world->pidfd_count == 1 && world->left == 1 ? process_of(world->fd[1].fd) : -1;
    return pid > 0 && rps_near_move(&world->near, pid);
}

static void real_clocks(void *self, struct rps_clocks *ret)
{
    (void)self;
    rps_clock_read_all(ret);
}

int rps_real_world_open(struct rps_real_world **ret, const int *pidfd, int pidfd_count,
                        const struct rps_watch *watch, int watch_count, struct rps_error *err)
{
    struct rps_real_world *world = calloc(1, sizeof(*world));
    size_t count = 1 + (size_t)pidfd_count + (size_t)watch_count;

    if (!world)
        return rps_error_memory(err);
    world->fd = calloc(count, sizeof(*world->fd));
    world->watch = calloc((size_t)watch_count + 1, sizeof(*world->watch));
    if (!world->fd || !world->watch) {
        rps_error_memory(err);
        goto fail;
    }
    for (size_t i = 0; i < count; i++)
        world->fd[i].events = POLLIN;
    for (int i = 0; i < pidfd_count; i++)
        world->fd[1 + i].fd = pidfd[i];
    for (int i = 0; i < watch_count; i++) {
        world->watch[i] = watch[i];
        world->fd[1 + pidfd_count + i].fd = watch[i].fd;
    }
    world->pidfd_count = world->left = pidfd_count;
    world->watch_count = watch_count;
    world->fd[0].fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (world->fd[0].fd < 0) {
        rps_error_set(err, RPS_FAILED, "cannot create the measurement timer: %s", strerror(errno));
        goto fail;
    }
    rps_near_init(&world->near);
    world->table = (struct rps_world){world, real_now_ns, real_wait, real_approach, real_clocks};
    *ret = world;
    return 0;
fail:
    free(world->watch);
    free(world->fd);
    free(world);
    return RPS_FAILED;
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
    close(world->fd[0].fd);
    free(world->watch);
    free(world->fd);
    free(world);
}
