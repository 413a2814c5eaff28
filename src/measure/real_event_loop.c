/* The real event loop waits for an absolute timer, the pidfds of the targets and the caller's
 * descriptors together. The loop uses epoll, because poll examined all descriptors in every period.
 * Examining them took a quarter of the total cost of a 100 ms period. */
#include "rpistat/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "affinity.h"
#include "rpistat/proc.h"

/* Numbers of the sources of events: the timer, then the pidfds, then the watched descriptors. */
#define TIMER 0
#define PIDFD 1

/* Maximum number of events per wake-up. Further events wake the loop again. */
#define READY_MAX 16

struct rps_real_event_loop {
    struct rps_event_loop table;
    int epoll, timer;
    int pidfd_count, left; /* number of processes, and of those that have not ended */
    int *pidfd;            /* owned; -1: the process has ended */
    int watch_count;
    struct rps_watch *watch;       /* owned */
    const struct rps_watch *asked; /* descriptor whose request the loop is handling */
    int done;                      /* 1 after on_done: handle only requests of the same wake-up */
    pid_t pid;                     /* process to run near; -1: none, or several */
    struct rps_affinity affinity;
};

static int64_t real_now_ns(void *self)
{
    (void)self;
    return rps_clock_monotonic_ns();
}

static int arm(struct rps_real_event_loop *event_loop, int64_t deadline_ns, struct rps_error *err)
{
    struct itimerspec when;

    memset(&when, 0, sizeof(when));
    if (deadline_ns < INT64_MAX) {
        when.it_value.tv_sec = (time_t)(deadline_ns / RPS_NS_PER_S);
        when.it_value.tv_nsec = (long)(deadline_ns % RPS_NS_PER_S);
    }
    if (timerfd_settime(event_loop->timer, TFD_TIMER_ABSTIME, &when, NULL) < 0)
        return rps_error_set(err, RPS_FAILED, "cannot set the measurement timer: %s",
                             strerror(errno));
    return 0;
}

static int watch_descriptor(struct rps_real_event_loop *event_loop, int fd, int number)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)number};

    return epoll_ctl(event_loop->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Close the pidfds of ended processes. Returns 1 if no process is left. */
static int all_ended(struct rps_real_event_loop *event_loop, const struct epoll_event *ready,
                     int count)
{
    for (int i = 0; i < count; i++) {
        int process = (int)ready[i].data.u32 - PIDFD;

        if (process >= 0 && process < event_loop->pidfd_count && event_loop->pidfd[process] >= 0) {
            epoll_ctl(event_loop->epoll, EPOLL_CTL_DEL, event_loop->pidfd[process], NULL);
            event_loop->pidfd[process] = -1;
            event_loop->left--;
        }
    }
    return event_loop->pidfd_count > 0 && event_loop->left == 0;
}

static int requested(struct rps_real_event_loop *event_loop, const struct epoll_event *ready,
                     int count, enum rps_wake *ret)
{
    for (int i = 0; i < count; i++) {
        int number = (int)ready[i].data.u32 - PIDFD - event_loop->pidfd_count;

        if (number >= 0 &&
            event_loop->watch[number].on_ready(event_loop->watch[number].context, ret)) {
            event_loop->asked = &event_loop->watch[number];
            event_loop->done = 0;
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
    struct rps_real_event_loop *event_loop = self;
    int rc = arm(event_loop, deadline_ns, err);

    if (event_loop->asked && rc == 0) {
        const struct rps_watch *asked = event_loop->asked;

        if (asked->on_done && !event_loop->done)
            asked->on_done(asked->context);
        event_loop->done = 1;
        if (rps_clock_monotonic_ns() >= deadline_ns) { /* requests must not delay the deadline */
            *ret = RPS_WAKE_DEADLINE;
            return 0;
        }
        if (asked->on_ready(asked->context, ret)) { /* a further request from the same wake-up */
            event_loop->done = 0;
            return 0;
        }
        event_loop->asked = NULL;
    }
    while (rc == 0) {
        struct epoll_event ready[READY_MAX];
        int count = epoll_wait(event_loop->epoll, ready, READY_MAX, -1);

        if (count < 0) {
            if (errno == EINTR)
                continue;
            return rps_error_set(err, RPS_FAILED, "cannot wait for the next period: %s",
                                 strerror(errno));
        }
        if (all_ended(event_loop, ready, count)) {
            *ret = RPS_WAKE_ENDED;
            return 0;
        }
        if (requested(event_loop, ready, count, ret))
            return 0;
        if (expired(ready, count)) {
            *ret = RPS_WAKE_DEADLINE;
            return 0;
        }
    }
    return rc;
}

/* Return the process of a pidfd, or -1 if the process has ended. */
static pid_t process_of(int pidfd)
{
    const char *line;
    char text[512];

    rps_proc_read(text, sizeof(text), "/proc/self/fdinfo/%d", pidfd);
    line = strstr(text, "\nPid:");
    return line ? (pid_t)strtol(line + strlen("\nPid:"), NULL, 10) : -1;
}

static int real_approach(void *self, int closer)
{
    struct rps_real_event_loop *event_loop = self;

    if (!closer) {
        rps_affinity_leave(&event_loop->affinity);
        return 0;
    }
    return event_loop->left == 1 && event_loop->pid > 0 &&
           rps_affinity_move(&event_loop->affinity, event_loop->pid);
}

static void real_clocks(void *self, struct rps_clocks *ret)
{
    (void)self;
    rps_clock_read_all(ret);
}

static int wait_for_all(struct rps_real_event_loop *event_loop)
{
    event_loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    event_loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (event_loop->epoll < 0 || event_loop->timer < 0 ||
        watch_descriptor(event_loop, event_loop->timer, TIMER) < 0)
        return RPS_FAILED;
    for (int i = 0; i < event_loop->pidfd_count; i++)
        if (watch_descriptor(event_loop, event_loop->pidfd[i], PIDFD + i) < 0)
            return RPS_FAILED;
    for (int i = 0; i < event_loop->watch_count; i++)
        if (event_loop->watch[i].fd >= 0 &&
            watch_descriptor(event_loop, event_loop->watch[i].fd,
                             PIDFD + event_loop->pidfd_count + i) < 0)
            return RPS_FAILED;
    return 0;
}

int rps_real_event_loop_open(struct rps_real_event_loop **ret, const int *pidfd, int pidfd_count,
                             const struct rps_watch *watch, int watch_count, struct rps_error *err)
{
    struct rps_real_event_loop *event_loop = calloc(1, sizeof(*event_loop));
    int rc = RPS_FAILED;

    if (!event_loop)
        return rps_error_memory(err);
    event_loop->epoll = event_loop->timer = -1;
    event_loop->pidfd_count = event_loop->left = pidfd_count;
    event_loop->watch_count = watch_count;
    event_loop->pid = pidfd_count == 1 ? process_of(pidfd[0]) : -1;
    rps_affinity_init(&event_loop->affinity);
    event_loop->pidfd = calloc((size_t)pidfd_count + 1, sizeof(*event_loop->pidfd));
    event_loop->watch = calloc((size_t)watch_count + 1, sizeof(*event_loop->watch));
    if (!event_loop->pidfd || !event_loop->watch) {
        rc = rps_error_memory(err);
        goto fail;
    }
    for (int i = 0; i < pidfd_count; i++)
        event_loop->pidfd[i] = pidfd[i];
    for (int i = 0; i < watch_count; i++)
        event_loop->watch[i] = watch[i];
    if (wait_for_all(event_loop) < 0) {
        rps_error_set(err, RPS_FAILED, "cannot wait for the workload: %s", strerror(errno));
        goto fail;
    }
    event_loop->table =
        (struct rps_event_loop){event_loop, real_now_ns, real_wait, real_approach, real_clocks};
    *ret = event_loop;
    return 0;
fail:
    rps_real_event_loop_close(event_loop);
    return rc;
}

const struct rps_event_loop *rps_real_event_loop_table(const struct rps_real_event_loop *event_loop)
{
    return &event_loop->table;
}

void rps_real_event_loop_close(struct rps_real_event_loop *event_loop)
{
    if (!event_loop)
        return;
    rps_affinity_leave(&event_loop->affinity);
    if (event_loop->timer >= 0)
        close(event_loop->timer);
    if (event_loop->epoll >= 0)
        close(event_loop->epoll);
    free(event_loop->watch);
    free(event_loop->pidfd);
    free(event_loop);
}
