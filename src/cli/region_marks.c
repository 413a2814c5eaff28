/*
 * Marks of the workload's own regions.
 *
 * The socket is in the abstract namespace, so that nothing lies about in a folder and nothing in
 * the workload's environment has to tell of it. Anybody on the machine can send to it: the kernel
 * says who did, and only this user is heard. What is heard is checked and counted all the same,
 * because every mark becomes a row in the store.
 */
#include "region_marks.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "rpistat/clock.h"
#include "rpistat/region_wire.h"
#include "rpistat/text.h"

/* A program keeps to a few marks a second for each region; this is for those that do not. */
#define MARKS_PER_SECOND 200

/* Datagrams taken at a time, so that a flood of them cannot keep the loop from its periods. */
#define DATAGRAMS_AT_ONCE 64

struct rps_region_marks {
    int fd;
    void (*mark)(void *context, int64_t time_ns, const char *text);
    void *context;
    int64_t open_ns, second_ns;
    int in_second;
    uint64_t dropped;
};

int rps_region_marks_open(struct rps_region_marks **ret, pid_t pid,
                          void (*mark)(void *context, int64_t time_ns, const char *text),
                          void *context, struct rps_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s%ld",
                          RPS_REGION_WIRE_SOCKET, (long)pid);
    struct rps_region_marks *marks = calloc(1, sizeof(*marks));
    int on = 1;

    if (!marks)
        return rps_error_memory(err);
    *ret = NULL;
    marks->mark = mark;
    marks->context = context;
    marks->open_ns = rps_clock_monotonic_ns();
    marks->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (marks->fd < 0 || setsockopt(marks->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ||
        bind(marks->fd, (struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) < 0) {
        rps_region_marks_close(marks);
        return 0;
    }
    *ret = marks;
    return 0;
}

/* Receive one datagram of this user. Returns its size, 0 for one that does not count, -1 for
 * none. */
static ssize_t receive(int fd, struct rps_region_wire *ret)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec part = {.iov_base = ret, .iov_len = sizeof(*ret)};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };
    const struct cmsghdr *header;
    struct ucred sender;
    ssize_t size;

    memset(&control, 0, sizeof(control));
    size = recvmsg(fd, &message, 0);
    if (size < 0)
        return -1;
    header = CMSG_FIRSTHDR(&message);
    if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS)
        return 0;
    memcpy(&sender, CMSG_DATA(header), sizeof(sender));
    return sender.uid == geteuid() && !(message.msg_flags & MSG_TRUNC) ? size : 0;
}

static int is_sound(const struct rps_region_wire *wire, ssize_t size)
{
    size_t head = offsetof(struct rps_region_wire, mark);

    return (size_t)size >= head && memcmp(wire->magic, RPS_REGION_WIRE_MAGIC, 8) == 0 &&
           wire->mark_count <= RPS_REGION_WIRE_MAX && wire->name[0] != '\0' &&
           memchr(wire->name, '\0', sizeof(wire->name)) != NULL &&
           (size_t)size == head + wire->mark_count * sizeof(wire->mark[0]);
}

/* 1 when this second has room for another mark. */
static int has_room(struct rps_region_marks *marks)
{
    int64_t now_ns = rps_clock_monotonic_ns();

    if (marks->in_second == 0 || now_ns - marks->second_ns >= RPS_NS_PER_S) {
        marks->second_ns = now_ns;
        marks->in_second = 0;
    }
    if (marks->in_second >= MARKS_PER_SECOND) {
        marks->dropped++;
        return 0;
    }
    marks->in_second++;
    return 1;
}

static void add_mark(struct rps_region_marks *marks, const struct rps_region_wire *wire,
                     const struct rps_region_wire_mark *mark)
{
    char name[4 * RPS_REGION_NAME_SIZE], text[6 * RPS_REGION_NAME_SIZE];

    if (mark->time_ns < marks->open_ns || mark->time_ns > rps_clock_monotonic_ns() ||
        !has_room(marks))
        return;
    rps_text_printable(name, sizeof(name), wire->name);
    if (mark->kind == RPS_REGION_WIRE_TOTALS)
        snprintf(text, sizeof(text), "region %s: %" PRIu64 " entries, %.3f s", name, wire->entered,
                 (double)wire->elapsed_ns / RPS_NS_PER_S);
    else
        snprintf(text, sizeof(text), "region %s %s", name,
                 mark->kind == RPS_REGION_WIRE_BEGIN ? "begin" : "end");
    marks->mark(marks->context, mark->time_ns, text);
}

static void take(struct rps_region_marks *marks)
{
    struct rps_region_wire wire;

    for (int taken = 0; taken < DATAGRAMS_AT_ONCE; taken++) {
        ssize_t size = receive(marks->fd, &wire);

        if (size < 0)
            return;
        for (uint32_t i = 0; is_sound(&wire, size) && i < wire.mark_count; i++)
            add_mark(marks, &wire, &wire.mark[i]);
    }
}

void rps_region_marks_finish(struct rps_region_marks *marks)
{
    char text[96];

    if (!marks)
        return;
    take(marks);
    if (marks->dropped > 0) {
        snprintf(text, sizeof(text), "%" PRIu64 " marks of regions were dropped: too many at once",
                 marks->dropped);
        marks->mark(marks->context, rps_clock_monotonic_ns(), text);
    }
}

static int on_ready(void *context, enum rps_wake *ret)
{
    (void)ret;
    take(context);
    return 0;
}

struct rps_watch rps_region_marks_watch(struct rps_region_marks *marks)
{
    return (struct rps_watch){
        .fd = marks ? marks->fd : -1,
        .on_ready = on_ready,
        .context = marks,
    };
}

void rps_region_marks_close(struct rps_region_marks *marks)
{
    if (!marks)
        return;
    if (marks->fd >= 0)
        close(marks->fd);
    free(marks);
}
