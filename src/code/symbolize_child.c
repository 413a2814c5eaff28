/* The child process that reads a module's file, and the parent's side of the pipe and the socket.
 *
 * SAFETY: elfutils was written for files from compilers, but a recorded program may have mapped any
 * file. The child has no rights, and limits of memory, time and descriptors. The parent opens files
 * for the child, and checks everything that the child sends. The child first sends the names that
 * it finds by symbols. If the child dies later, only additions from debug information are lost. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#ifdef RPS_HAS_ELFUTILS
#include "symbolize_child.h"
#else
#include "symbolize_parts.h"
#endif
#include "rpistat/clock.h"

/* Maximum elapsed time of the child, enough for slow disks and debuginfod. */
#define WALL_NS (30 * RPS_NS_PER_S)

#define REQUESTS_MAX 100 /* Maximum requests per process. A request may take seconds. */

/* --- the child -------------------------------------------------------------------------------- */

static _Noreturn void name_in_child(struct rps_symbolizer *symbolizer,
                                    const struct rps_symbolize_group *group, int requests,
                                    int out_fd)
{
    FILE *out;

    rps_child_begin("rpistat naming");
    rps_child_limit(RLIMIT_CPU, RPS_CHILD_CPU_S);
    rps_child_become_nobody(requests, out_fd);
    out = fdopen(out_fd, "w");
    if (!out)
        _exit(1);
    if (group->module->kind == RPS_MODULE_JIT) {
        struct rps_symbolize_request request = {.wanted = RPS_SYMBOLIZE_BINARY};
        int fd = rps_symbolize_request_file(requests, &request);

        rps_symbolize_jit(symbolizer, group, fd == -ENODATA ? -ENOENT : fd);
        for (size_t i = 0; i < group->count; i++)
            rps_symbolize_send(out, i, symbolizer->frame[group->frame[i]].location, 1);
    }
#ifdef RPS_HAS_ELFUTILS
    else
        rps_symbolize_read_elf(group, symbolizer->options->opens_paths, requests, out);
#endif
    _exit(fflush(out) == 0 ? 0 : 1);
}

/* --- the parent ------------------------------------------------------------------------------- */

/* The parent's ends of pipe and socket, and the file that the child reads. */
struct channel {
    int names, requests;
    int image;
};

/* Wait until the deadline. Return 1 for names or a request, or if the child closed its end. */
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
    struct rps_symbolizer *symbolizer;
    const struct rps_symbolize_group *group;
};

static int take(void *context, const struct rps_symbolize_message *told)
{
    const struct hearing *h = context;

    if (told->index >= h->group->count)
        return -1;
    for (size_t i = 0; i < told->count; i++) {
        if ((told->location[i].how == RPS_LOCATION_MAP) >
            (h->group->module->kind == RPS_MODULE_JIT))
            return -1;
    }
    rps_symbolize_put(h->symbolizer, h->group->frame[told->index], told->location, told->count);
    return 0;
}

/* SAFETY: the process has read a hostile file, and may send anything. */
static int answer_request(struct rps_symbolizer *symbolizer,
                          const struct rps_symbolize_group *group, const struct channel *channel)
{
    struct rps_symbolize_request request;
    struct rps_symbolize_answer answer = {0};
    int sent, fd;
    ssize_t size =
        rps_opener_receive(channel->requests, &request, sizeof(request), MSG_DONTWAIT, &sent);

    if (sent >= 0)
        close(sent);
    if (size != (ssize_t)sizeof(request))
        return -1;
    request.build_id[sizeof(request.build_id) - 1] = '\0';
    request.link[sizeof(request.link) - 1] = '\0';
    fd = rps_symbolize_open(symbolizer, group, channel->image, &request, &answer.candidate);
    answer.status = fd < 0 ? fd : 0;
    rps_opener_pass(channel->requests, &answer, sizeof(answer), fd);
    if (fd >= 0)
        close(fd);
    return 0;
}

/* Read the child's messages until the child ends, or sends an invalid message or too many messages.
 * Open files for the child; opening files is not part of the child's time limit. */
static void hear(struct rps_symbolizer *symbolizer, const struct rps_symbolize_group *group,
                 const struct channel *channel)
{
    struct pollfd polled[2] = {{.fd = channel->names, .events = POLLIN},
                               {.fd = channel->requests, .events = POLLIN}};
    int64_t deadline_ns = rps_clock_monotonic_ns() + WALL_NS;
    struct hearing hearing = {symbolizer, group};
    struct rps_symbolize_received heard = {0};
    size_t all = 0;
    int requests = 0;
    ssize_t got = 1;

    while (got != 0 && all < RPS_CHILD_MEMORY_BYTES / 2 && wait_for_child(polled, deadline_ns)) {
        if (polled[1].revents != 0) {
            int64_t start_ns = rps_clock_monotonic_ns();

            if (requests++ == REQUESTS_MAX || answer_request(symbolizer, group, channel) < 0)
                polled[1].fd = -1;
            deadline_ns += rps_clock_monotonic_ns() - start_ns;
        }
        if (polled[0].revents == 0)
            continue;
        got = rps_symbolize_receive(&heard, channel->names, take, &hearing);
        all += got > 0 ? (size_t)got : 0;
    }
    rps_symbolize_received_free(&heard);
}

/* Start the child process. *ret: the parent's ends of the pipe and the socket. */
static pid_t start_child(struct rps_symbolizer *symbolizer, const struct rps_symbolize_group *group,
                         struct channel *ret)
{
    int names[2], requests[2];
    pid_t pid = -1;

    if (pipe2(names, O_CLOEXEC) < 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, requests) == 0) {
        pid = fork();
        if (pid == 0)
            name_in_child(symbolizer, group, requests[1], names[1]);
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

int rps_symbolize_file(struct rps_symbolizer *symbolizer, const struct rps_symbolize_group *group,
                       int image, struct rps_error *err)
{
    struct channel channel = {.image = image};
    enum rps_child_end how = RPS_CHILD_REFUSED;
    pid_t pid;

#ifndef RPS_HAS_ELFUTILS
    if (group->module->kind != RPS_MODULE_JIT) {
        rps_symbolize_put_reason(symbolizer, group, "rpistat was built without elfutils");
        return 0;
    }
#endif
    if (!symbolizer->is_refused) {
        pid = start_child(symbolizer, group, &channel);
        if (pid < 0)
            return rps_error_set(err, RPS_FAILED,
                                 "cannot start the process that looks up symbols: %s",
                                 strerror(errno));
        hear(symbolizer, group, &channel);
        close(channel.names);
        close(channel.requests);
        rps_child_end(pid, &how); /* A child that has sent everything is about to end. */
        symbolizer->is_refused = how == RPS_CHILD_REFUSED;
        symbolizer->opener.stuck += how == RPS_CHILD_STUCK;
    }
    rps_symbolize_put_reason(symbolizer, group,
                             symbolizer->is_refused
                                 ? "root reads programs as user nobody, which is not possible here"
                                 : "its file could not be read: too large, or damaged");
    return 0;
}
