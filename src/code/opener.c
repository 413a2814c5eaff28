/* The process that opens files, and its parent's side of the socket. */
#include "opener.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "child.h"

/* --- messages --------------------------------------------------------------------------------- */

union control { /* Space for one descriptor. */
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

int rps_opener_pass(int socket, const void *message, size_t size, int fd)
{
    struct iovec part = {(void *)(uintptr_t)message, size};
    union control control = {.bytes = {0}};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};

    if (fd >= 0) {
        header.msg_control = &control;
        header.msg_controllen = sizeof(control);
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    }
    return sendmsg(socket, &header, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

ssize_t rps_opener_receive(int socket, void *message, size_t size, int flags, int *ret_fd)
{
    struct iovec part = {message, size};
    union control control;
    struct msghdr header = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = &control,
                            /* There is space for one descriptor only. */
                            .msg_controllen = CMSG_LEN(sizeof(int))};
    ssize_t got;

    do {
        got = recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    *ret_fd = -1;
    if (got > 0 && header.msg_controllen >= CMSG_LEN(sizeof(int)) &&
        control.header.cmsg_type == SCM_RIGHTS)
        memcpy(ret_fd, CMSG_DATA(&control.header), sizeof(*ret_fd));
    return got;
}

/* --- the child -------------------------------------------------------------------------------- */

/* Open files in the child until the parent kills the child. */
static _Noreturn void open_in_child(int in, int out)
{
    static struct rps_opener_request request;
    int fd = 0;

    rps_child_begin("rpistat opens");
    if (rps_child_keep_only(in, out) < 0)
        _exit(1);
    while (rps_opener_receive(in, &request, sizeof(request) - 1, 0, &fd) > 0) {
        fd = rps_process_file_open(&request.file);
        request.task.status = fd < 0 ? fd : 0;
        if (rps_opener_pass(out, &request.task, sizeof(request.task), fd) < 0)
            break;
        if (fd >= 0)
            close(fd);
        memset(&request, 0, sizeof(request));
    }
    _exit(0);
}

/* --- the parent ------------------------------------------------------------------------------- */

void rps_opener_end(struct rps_opener *opener)
{
    enum rps_child_end how;

    if (opener->pid == 0)
        return;
    opener->cpu_ns += rps_child_end(opener->pid, &how);
    opener->stuck += how == RPS_CHILD_STUCK;
    close(opener->fd);
    opener->pid = 0;
}

int rps_opener_start(struct rps_opener *opener, int out)
{
    int ends[2];
    pid_t pid;

    if (opener->stuck >= RPS_OPENER_STUCK_MAX ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    pid = fork();
    if (pid == 0)
        open_in_child(ends[1], out < 0 ? ends[1] : out);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return -1;
    }
    opener->pid = pid;
    opener->fd = ends[0];
    return 0;
}

int rps_opener_send(const struct rps_opener *opener, const struct rps_opener_request *request)
{
    size_t size = offsetof(struct rps_opener_request, file.path) + strlen(request->file.path);

    return rps_opener_pass(opener->fd, request, size, -1);
}

int rps_opener_open(struct rps_opener *opener, const struct rps_process_file *file, int wait_ms)
{
    const struct rps_opener_request request = {.file = *file};
    struct pollfd answer = {.events = POLLIN};
    struct rps_opened opened;
    int fd = -1, rc;

    if (opener->pid == 0 && rps_opener_start(opener, -1) < 0)
        return -ETIMEDOUT;
    answer.fd = opener->fd;
    rc = rps_opener_send(opener, &request);
    while (rc == 0 && (rc = poll(&answer, 1, wait_ms)) < 0 && errno == EINTR)
        rc = 0; /* A signal interrupted the wait, so wait again. This does not repeat forever: a
                   signal that ends the recording arrives only once. */
    if (rc > 0 &&
        rps_opener_receive(opener->fd, &opened, sizeof(opened), 0, &fd) == (ssize_t)sizeof(opened))
        return fd >= 0 ? fd : opened.status < 0 ? opened.status : -ENOENT;
    if (fd >= 0)
        close(fd);
    rps_opener_end(opener);
    return -ETIMEDOUT;
}
