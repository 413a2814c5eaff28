/*
 * The real world: an absolute timer, the workload's pidfd and a descriptor of the caller's, waited
 * for together.
 */
#include "rpistat/loop.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "rpistat/clock.h"

struct rps_real_world {
    struct rps_world table;
    int timer_fd;
    int pidfd;
    int ready_fd;
    int (*on_ready)(void *context);
    void *context;
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
    when.it_value.tv_sec = (time_t)(deadline_ns / RPS_NS_PER_S);
    when.it_value.tv_nsec = (long)(deadline_ns % RPS_NS_PER_S);
    if (timerfd_settime(world->timer_fd, TFD_TIMER_ABSTIME, &when, NULL) < 0)
        return rps_error_set(err, RPS_FAILED, "cannot set the measurement timer: %s",
                             strerror(errno));
    return 0;
}

static int real_wait(void *self, int64_t deadline_ns, enum rps_wake *ret, struct rps_error *err)
{
    struct rps_real_world *world = self;
    struct pollfd fd[3] = {
        {.fd = world->timer_fd, .events = POLLIN},
        {.fd = world->pidfd, .events = POLLIN},
        {.fd = world->ready_fd, .events = POLLIN},
    };
    int rc = arm(world, deadline_ns, err);

    while (rc == 0) {
        if (poll(fd, 3, -1) < 0) {
            if (errno == EINTR)
                continue;
            return rps_error_set(err, RPS_FAILED, "cannot wait for the next period: %s",
                                 strerror(errno));
        }
        if (fd[1].revents) {
            *ret = RPS_WAKE_ENDED;
            return 0;
        }
        if (fd[2].revents && world->on_ready(world->context)) {
            *ret = RPS_WAKE_STOP;
            return 0;
        }
        if (fd[0].revents) {
            *ret = RPS_WAKE_DEADLINE;
            return 0;
        }
    }
    return rc;
}

int rps_real_world_open(struct rps_real_world **ret, int pidfd, int ready_fd,
                        int (*on_ready)(void *context), void *context, struct rps_error *err)
{
    struct rps_real_world *world = calloc(1, sizeof(*world));

    if (!world)
        return rps_error_memory(err);
    world->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (world->timer_fd < 0) {
        free(world);
        return rps_error_set(err, RPS_FAILED, "cannot create the measurement timer: %s",
                             strerror(errno));
    }
    world->pidfd = pidfd;
    world->ready_fd = ready_fd;
    world->on_ready = on_ready;
    world->context = context;
    world->table = (struct rps_world){world, real_now_ns, real_wait};
    *ret = world;
    return 0;
}

const struct rps_world *rps_real_world_table(const struct rps_real_world *world)
{
    return &world->table;
}

void rps_real_world_close(struct rps_real_world *world)
{
    if (!world)
        return;
    close(world->timer_fd);
    free(world);
}
