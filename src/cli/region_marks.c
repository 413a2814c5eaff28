/* Marks of the workload's own regions.
 *
 * SAFETY: the socket is in the abstract namespace. The socket needs no file in a directory, and no
 * environment variable of the workload names it. Any user of the machine can connect to the socket,
 * or create one with such a name. Therefore, each side asks the kernel for the user at the other
 * end, and exchanges data only with its own user. Received data are still checked and limited,
 * because every mark becomes a row in the store. */
#include "record.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "rpistat/clock.h"
#include "rpistat/region_wire.h"
#include "rpistat/text.h"

/* Maximum number of marks per second. Programs usually send a few per second and region. */
#define MARKS_PER_SECOND 200

/* SAFETY: one iteration receives one message from each of at most PROGRAMS_AT_ONCE programs. The
 * loop is interrupted for at most TURNS_AT_ONCE iterations at a time. A flood of messages therefore
 * cannot delay the loop's periods. */
#define PROGRAMS_AT_ONCE 16
#define TURNS_AT_ONCE    16

/* Maximum number of connected programs, since descriptors are limited. */
#define PROGRAMS_MAX 128

/* Maximum number of iterations after the workload's end, because programs may continue to send. */
#define TURNS_AT_END 4096

struct rps_region_marks {
    int epoll;                 /* epoll descriptor for the descriptors below */
    int listen;                /* socket that accepts connections of programs */
    int program[PROGRAMS_MAX]; /* descriptors of connected programs; -1: unused */
    void (*mark)(void *context, int64_t time_ns, const char *text);
    void *context;
    int64_t open_ns, second_ns;
    int in_second;
    uint64_t dropped;
};

static int add_to_epoll(struct rps_region_marks *marks, int fd, int number)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)number};

    return epoll_ctl(marks->epoll, EPOLL_CTL_ADD, fd, &event);
}

static int listen_for(struct rps_region_marks *marks, pid_t pid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s%ld",
                          RPS_REGION_WIRE_SOCKET, (long)pid);

    marks->epoll = epoll_create1(EPOLL_CLOEXEC);
    marks->listen = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (marks->epoll < 0 || marks->listen < 0 ||
        bind(marks->listen, (struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) < 0 ||
        listen(marks->listen, PROGRAMS_MAX) < 0)
        return -1;
    return add_to_epoll(marks, marks->listen, PROGRAMS_MAX);
}

int rps_region_marks_open(struct rps_region_marks **ret, pid_t pid,
                          void (*mark)(void *context, int64_t time_ns, const char *text),
                          void *context, struct rps_error *err)
{
    struct rps_region_marks *marks = calloc(1, sizeof(*marks));

    if (!marks)
        return rps_error_memory(err);
    *ret = NULL;
    marks->mark = mark;
    marks->context = context;
    marks->open_ns = rps_clock_monotonic_ns();
    marks->epoll = marks->listen = -1;
    for (int i = 0; i < PROGRAMS_MAX; i++)
        marks->program[i] = -1;
    if (listen_for(marks, pid) < 0)
        rps_region_marks_close(marks);
    else
        *ret = marks;
    return 0;
}

/* --- programs --------------------------------------------------------------------------------- */

/* Accept a program of this user if a slot is free. */
static void admit(struct rps_region_marks *marks)
{
    int fd = accept4(marks->listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), free_one = 0;
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE) /* otherwise the connection, which cannot be
                                                   accepted, would end each wait at once */
            epoll_ctl(marks->epoll, EPOLL_CTL_DEL, marks->listen, NULL);
        return;
    }
    while (free_one < PROGRAMS_MAX && marks->program[free_one] >= 0)
        free_one++;
    if (free_one == PROGRAMS_MAX || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ||
        peer.uid != geteuid() || add_to_epoll(marks, fd, free_one) < 0)
        close(fd);
    else
        marks->program[free_one] = fd;
}

/* Receive one message. Returns its size, or 0 if there is no message. */
static size_t receive(struct rps_region_marks *marks, int number, struct rps_region_wire *ret)
{
    ssize_t size = recv(marks->program[number], ret, sizeof(*ret), MSG_TRUNC);

    if (size > 0)
        return (size_t)size;
    if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(marks->program[number]);
        marks->program[number] = -1;
    }
    return 0;
}

static int is_sound(const struct rps_region_wire *wire, size_t size)
{
    size_t head = offsetof(struct rps_region_wire, mark);

    return size >= head && memcmp(wire->magic, RPS_REGION_WIRE_MAGIC, 8) == 0 &&
           wire->mark_count <= RPS_REGION_WIRE_MAX && wire->name[0] != '\0' &&
           memchr(wire->name, '\0', sizeof(wire->name)) != NULL &&
           size == head + wire->mark_count * sizeof(wire->mark[0]);
}

/* Return 1 if the number of marks in this second is below the limit. */
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
        snprintf(text, sizeof(text), "region %s: %" PRIu64 " entries, %.6f s", name, wire->entered,
                 (double)wire->elapsed_ns / RPS_NS_PER_S);
    else
        snprintf(text, sizeof(text), "region %s %s", name,
                 mark->kind == RPS_REGION_WIRE_BEGIN ? "begin" : "end");
    marks->mark(marks->context, mark->time_ns, text);
}

/* Receive messages. Returns 0 if there were no messages. */
static int take_messages(struct rps_region_marks *marks)
{
    struct epoll_event ready[PROGRAMS_AT_ONCE];
    int count = epoll_wait(marks->epoll, ready, PROGRAMS_AT_ONCE, 0);

    for (int i = 0; i < count; i++) {
        int number = (int)ready[i].data.u32;
        struct rps_region_wire wire;
        size_t size;

        if (number == PROGRAMS_MAX) {
            admit(marks);
            continue;
        }
        size = receive(marks, number, &wire);
        for (uint32_t k = 0; is_sound(&wire, size) && k < wire.mark_count; k++)
            add_mark(marks, &wire, &wire.mark[k]);
    }
    return count > 0;
}

static void take_turns(struct rps_region_marks *marks, int turns)
{
    while (turns-- > 0 && take_messages(marks))
        ;
}

void rps_region_marks_finish(struct rps_region_marks *marks)
{
    char text[96];

    if (!marks)
        return;
    take_turns(marks, TURNS_AT_END);
    if (marks->dropped > 0) {
        snprintf(text, sizeof(text), "%" PRIu64 " marks of regions were dropped: too many at once",
                 marks->dropped);
        marks->mark(marks->context, rps_clock_monotonic_ns(), text);
    }
}

static int on_ready(void *context, enum rps_wake *ret)
{
    (void)ret;
    take_turns(context, TURNS_AT_ONCE);
    return 0;
}

struct rps_watch rps_region_marks_watch(struct rps_region_marks *marks)
{
    return (struct rps_watch){
        .fd = marks ? marks->epoll : -1,
        .on_ready = on_ready,
        .context = marks,
    };
}

void rps_region_marks_close(struct rps_region_marks *marks)
{
    if (!marks)
        return;
    for (int i = 0; i < PROGRAMS_MAX; i++)
        if (marks->program[i] >= 0)
            close(marks->program[i]);
    if (marks->listen >= 0)
        close(marks->listen);
    if (marks->epoll >= 0)
        close(marks->epoll);
    free(marks);
}
