/* Marks of regions.
 *
 * A region may be entered a million times per second, but a recording can show only a few marks per
 * second. Therefore, most marks are never sent. Only at the end of a second, the number of entries
 * in this second is known. Therefore, the marks of the first entry in a second are sent at once,
 * and the marks of later entries in this second are held. Held marks are sent at the end of the
 * second. If there is an eleventh entry, they are discarded. Each mark contains its time, so that
 * marks may be sent late.
 *
 * Held marks are sent in one message, because the socket's queue is short. If the queue is full,
 * the marks are held longer.
 *
 * SAFETY: any user can create a socket with the recorder's name. Nothing is sent to a socket of
 * another user. */
#include "state.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "rpistat/clock.h"
#include "rpistat/proc.h"

/* Maximum number of ancestors to try, because processes are hardly ever nested deeper. */
#define ANCESTOR_MAX 64

/* Maximum time that the last marks wait for the recorder. */
#define FINISH_WAIT_US 50000

static pid_t parent_of(pid_t pid, const char *proc)
{
    char path[128], line[128];
    long parent = 0;
    FILE *file;

    if (pid == getpid())
        return getppid();
    snprintf(path, sizeof(path), "%s/%ld/status", proc, (long)pid);
    file = rps_proc_is_own() ? fopen(path, "re") : NULL;
    if (!file)
        return 0;
    while (parent == 0 && fgets(line, sizeof(line), file))
        if (strncmp(line, "PPid:", 5) == 0)
            parent = strtol(line + 5, NULL, 10);
    fclose(file);
    return (pid_t)parent;
}

/* Return a socket to this user's recorder of process pid, or -1 if the process has no recorder. */
static int connect_to(pid_t pid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s%ld",
                          RPS_REGION_WIRE_SOCKET, (long)pid);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (fd < 0)
        return -1;
    /* Only the last marks wait for a recorder that does not accept data. */
    if (connect(fd, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid() &&
        fcntl(fd, F_SETFL, 0) == 0)
        return fd;
    close(fd);
    return -1;
}

int rps_marks_connect(pid_t pid, const char *proc)
{
    int fd = -1;

    for (int i = 0; fd < 0 && pid > 0 && i < ANCESTOR_MAX; i++) {
        fd = connect_to(pid);
        pid = parent_of(pid, proc);
    }
    return fd;
}

/* Send marks in one message. Return 0 if the message was sent. */
static int send_marks(int fd, const char *name, const struct rps_region_wire_mark *mark, int count,
                      uint64_t entered, uint64_t elapsed_ns, int flags)
{
    struct rps_region_wire wire = {
        .magic = RPS_REGION_WIRE_MAGIC,
        .mark_count = (uint32_t)count,
        .entered = entered,
        .elapsed_ns = elapsed_ns,
    };
    size_t size = offsetof(struct rps_region_wire, mark) + (size_t)count * sizeof(wire.mark[0]);

    snprintf(wire.name, sizeof(wire.name), "%s", name);
    memcpy(wire.mark, mark, (size_t)count * sizeof(*mark));
    return send(fd, &wire, size, flags | MSG_NOSIGNAL) == (ssize_t)size ? 0 : -1;
}

static void report_held(struct rps_marks *marks, int fd, const char *name, int flags)
{
    if (marks->held > 0 && send_marks(fd, name, marks->mark, marks->held, 0, 0, flags) == 0)
        marks->held = 0;
}

void rps_marks_flush(struct rps_marks *marks, int fd, const char *name, int64_t now_ns)
{
    if (marks->held > 0 && now_ns - marks->second_ns >= RPS_NS_PER_S)
        report_held(marks, fd, name, MSG_DONTWAIT);
}

static void mute(struct rps_marks *marks)
{
    marks->muted = 1;
    marks->held = 0;
}

void rps_marks_add(struct rps_marks *marks, int fd, const char *name,
                   enum rps_region_wire_kind kind, int64_t time_ns)
{
    struct rps_region_wire_mark mark = {.time_ns = time_ns, .kind = kind};

    if (marks->muted)
        return;
    if (kind == RPS_REGION_WIRE_BEGIN) {
        if (marks->entries == 0 || time_ns - marks->second_ns >= RPS_NS_PER_S) {
            report_held(marks, fd, name, MSG_DONTWAIT);
            marks->second_ns = time_ns;
            marks->entries = 0;
        }
        if (++marks->entries > RPS_REGION_MARKED_MAX) {
            mute(marks);
            return;
        }
    }
    if (marks->entries == 1 && marks->held == 0 &&
        send_marks(fd, name, &mark, 1, 0, 0, MSG_DONTWAIT) == 0)
        return;
    if (marks->held == RPS_REGION_WIRE_MAX)
        mute(marks);
    else
        marks->mark[marks->held++] = mark;
}

void rps_marks_finish(struct rps_marks *marks, int fd, const char *name, int64_t now_ns,
                      uint64_t entered, uint64_t elapsed_ns)
{
    struct rps_region_wire_mark mark = {.time_ns = now_ns, .kind = RPS_REGION_WIRE_TOTALS};
    struct timeval wait = {.tv_usec = FINISH_WAIT_US};

    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
    report_held(marks, fd, name, 0);
    if (marks->muted)
        send_marks(fd, name, &mark, 1, entered, elapsed_ns, 0);
}
