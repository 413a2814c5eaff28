/*
 * The child process that reads a module's file, and its parent's side of the pipe and the socket.
 *
 * SAFETY: elfutils was written for files from compilers, but a recording may have mapped anything.
 * The child has no rights, and limits of memory, time and descriptors. The parent opens files for
 * it, and checks all that it sends. The child sends the names by symbols first. If it dies, only
 * the additions from debug information are lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#ifdef RPS_HAS_ELFUTILS
#include "naming_child.h"
#else
#include "naming_parts.h"
#endif
#include "rpistat/clock.h"

/* Elapsed time, for slow disks and debuginfod. */
#define WALL_NS (30 * RPS_NS_PER_S)

#define REQUESTS_MAX 100 /* per process: each may take seconds */

/* --- the child -------------------------------------------------------------------------------- */

/* The parent ends the process. */
static void end_early(const struct rps_error *unused)
{
    (void)unused;
    _exit(1);
}

static void name_jit(struct rps_naming *naming, const struct rps_naming_group *group, int requests,
                     FILE *out)
{
    struct rps_naming_request request = {.wanted = RPS_NAMING_BINARY};
    int fd = rps_naming_request_file(requests, &request);

    rps_naming_jit(naming, group, fd == -ENODATA ? -ENOENT : fd);
    for (size_t i = 0; i < group->count; i++)
        rps_naming_tell(out, i, naming->frame[group->frame[i]].location, 1);
}

static _Noreturn void name_in_child(struct rps_naming *naming, const struct rps_naming_group *group,
                                    int requests, int out_fd)
{
    FILE *out;

    rps_child_begin("rpistat naming");
    rps_child_limit(RLIMIT_CPU, RPS_CHILD_CPU_S);
    rps_child_become_nobody(requests, out_fd);
    rps_arena_on_exhaustion(end_early);
    out = fdopen(out_fd, "w");
    if (!out)
        _exit(1);
    if (group->module->kind == RPS_MODULE_JIT)
        name_jit(naming, group, requests, out);
#ifdef RPS_HAS_ELFUTILS
    else
        rps_naming_read_elf(group, naming->options->opens_paths, requests, out);
#endif
    _exit(fflush(out) == 0 ? 0 : 1);
}

/* --- the parent ------------------------------------------------------------------------------- */

/* The parent's ends, and the child's input. */
struct channel {
    int names, requests;
    int image;
};

/* Wait for names or a request until the deadline. Return 1 if there is one, or an end. */
static int wait_for_child(struct pollfd polled[2], int64_t deadline_ns)
{
    int64_t left_ns;
    int rc;

    do {
        left_ns = deadline_ns - rps_clock_monotonic_ns();
        rc = left_ns > 0 ? poll(polled, 2, (int)(left_ns / RPS_NS_PER_MS) + 1) : 0;
    } while (rc < 0 && errno == EINTR);
    return rc > 0;
}

struct hearing {
    struct rps_naming *naming;
    const struct rps_naming_group *group;
};

static int take(void *context, const struct rps_naming_told *told)
{
    const struct hearing *h = context;

    if (told->index >= h->group->count)
        return -1;
    for (size_t i = 0; i < told->count; i++) {
        if ((told->location[i].how == RPS_LOCATION_MAP) >
            (h->group->module->kind == RPS_MODULE_JIT))
            return -1;
    }
    rps_naming_put(h->naming, h->group->frame[told->index], told->location, told->count);
    return 0;
}

/* SAFETY: the process has read a hostile file, and may send anything. */
static int answer_request(struct rps_naming *naming, const struct rps_naming_group *group,
                          const struct channel *channel)
{
    struct rps_naming_request request;
    struct rps_naming_answer answer = {0};
    int sent, fd;
    ssize_t size =
        rps_opener_receive(channel->requests, &request, sizeof(request), MSG_DONTWAIT, &sent);

    if (sent >= 0)
        close(sent);
    if (size != (ssize_t)sizeof(request))
        return -1;
    request.build_id[sizeof(request.build_id) - 1] = '\0';
    request.link[sizeof(request.link) - 1] = '\0';
    fd = rps_naming_open(naming, group, channel->image, &request, &answer.candidate);
    answer.status = fd < 0 ? fd : 0;
    rps_opener_pass(channel->requests, &answer, sizeof(answer), fd);
    if (fd >= 0)
        close(fd);
    return 0;
}

/* Read the child's messages until its end, an invalid message, or too many. Open files for it; that
 * time does not count as the child's. */
static void hear(struct rps_naming *naming, const struct rps_naming_group *group,
                 const struct channel *channel)
{
    struct pollfd polled[2] = {{.fd = channel->names, .events = POLLIN},
                               {.fd = channel->requests, .events = POLLIN}};
    int64_t deadline_ns = rps_clock_monotonic_ns() + WALL_NS;
    struct hearing hearing = {naming, group};
    struct rps_naming_heard heard = {0};
    size_t all = 0;
    int requests = 0;
    ssize_t got = 1;

    while (got != 0 && all < RPS_CHILD_MEMORY_BYTES / 2 && wait_for_child(polled, deadline_ns)) {
        if (polled[1].revents != 0) {
            int64_t start_ns = rps_clock_monotonic_ns();

            if (requests++ == REQUESTS_MAX || answer_request(naming, group, channel) < 0)
                polled[1].fd = -1;
            deadline_ns += rps_clock_monotonic_ns() - start_ns;
        }
        if (polled[0].revents == 0)
            continue;
        got = rps_naming_hear(&heard, channel->names, take, &hearing);
        all += got > 0 ? (size_t)got : 0;
    }
    rps_naming_unhear(&heard);
}

/* Start the process. *ret: the parent's ends. */
static pid_t start_child(struct rps_naming *naming, const struct rps_naming_group *group,
                         struct channel *ret)
{
    int names[2], requests[2];
    pid_t pid = -1;

    if (pipe2(names, O_CLOEXEC) < 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, requests) == 0) {
        pid = fork();
        if (pid == 0)
            name_in_child(naming, group, requests[1], names[1]);
        close(requests[1]);
        if (pid < 0)
            close(requests[0]);
    }
    close(names[1]);
    if (pid < 0)
        close(names[0]);
    ret->names = names[0];
    ret->requests = requests[0];
    return pid;
}

int rps_naming_file(struct rps_naming *naming, const struct rps_naming_group *group, int image,
                    struct rps_error *err)
{
    struct channel channel = {.image = image};
    enum rps_child_end how = RPS_CHILD_REFUSED;
    pid_t pid;

#ifndef RPS_HAS_ELFUTILS
    if (group->module->kind != RPS_MODULE_JIT) {
        rps_naming_put_reason(naming, group, "rpistat was built without elfutils");
        return 0;
    }
#endif
    if (!naming->is_refused) {
        pid = start_child(naming, group, &channel);
        if (pid < 0)
            return rps_error_set(err, RPS_FAILED, "cannot start a process that names functions: %s",
                                 strerror(errno));
        hear(naming, group, &channel);
        close(channel.names);
        close(channel.requests);
        rps_child_end(pid, &how); /* a child that has sent everything is about to end */
        naming->is_refused = how == RPS_CHILD_REFUSED;
        naming->opener.stuck += how == RPS_CHILD_STUCK;
    }
    rps_naming_put_reason(naming, group,
                          naming->is_refused ? "root cannot become nobody here to read its file"
                                             : "its file could not be read: too large, or damaged");
    return 0;
}
