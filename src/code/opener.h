/*
 * The process that opens files of other processes (process_file.h), since FUSE and NFS may never
 * answer. It keeps the recorder's rights, reads nothing but build-ids, and passes descriptors on.
 */
#ifndef RPISTAT_CODE_OPENER_H
#define RPISTAT_CODE_OPENER_H

#include <sys/types.h>

#include "process_file.h"

/* What comes with a descriptor. */
struct rps_opened {
    int32_t status; /* 0, or a negative errno: there is no descriptor */
    uint32_t kind;  /* the rest is handed on from the request */
    int64_t module;
    uint64_t offset;
};

struct rps_opener_request {
    struct rps_opened task;
    struct rps_process_file file;
};

/* A process that does not die, since the kernel waits for a file system, stays behind. */
#define RPS_OPENER_STUCK_MAX 4

struct rps_opener { /* zeroed: there is no process, and none has been */
    pid_t pid;      /* 0: none */
    int fd;
    int stuck;      /* processes that stayed behind; with RPS_OPENER_STUCK_MAX none is started */
    int64_t cpu_ns; /* of the processes that have ended */
};

/* Start the process. It sends what it opens to `out`, or back to the caller (-1). Negative when
 * there is no process. */
int rps_opener_start(struct rps_opener *opener, int out);

/* Send a request, without waiting for its answer. Negative when the process has ended. */
int rps_opener_send(const struct rps_opener *opener, const struct rps_opener_request *request);

/* Open a file within so many ms: a descriptor or a negative errno, ETIMEDOUT after the time. */
int rps_opener_open(struct rps_opener *opener, const struct rps_process_file *file, int wait_ms);

void rps_opener_end(struct rps_opener *opener);

/* Send one message with a descriptor (negative: without); negative when nobody receives it. */
int rps_opener_pass(int socket, const void *message, size_t size, int fd);

/* Receive a message of at most `size` bytes. Returns its size, 0 at the end, negative with errno.
 * *ret_fd: the descriptor that came with it, or -1. */
ssize_t rps_opener_receive(int socket, void *message, size_t size, int flags, int *ret_fd);

#endif
