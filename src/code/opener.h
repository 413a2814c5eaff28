/*
 * The process that opens files of other processes (process_file.h), since FUSE and NFS may never
 * answer. It keeps the recorder's rights, reads only build-ids, and passes on descriptors.
 */
#ifndef RPISTAT_CODE_OPENER_H
#define RPISTAT_CODE_OPENER_H

#include <sys/types.h>

#include "process_file.h"

/* The message that comes with a descriptor. */
struct rps_opened {
    int32_t status; /* 0, or a negative errno: no descriptor */
    uint32_t kind;  /* the rest is from the request */
    int64_t module;
    uint64_t offset;
};

struct rps_opener_request {
    struct rps_opened task;
    struct rps_process_file file;
};

/* Maximum number of processes that the kernel keeps alive while it waits for a file system. */
#define RPS_OPENER_STUCK_MAX 4

struct rps_opener { /* zeroed: no process was started yet */
    pid_t pid;      /* 0: none */
    int fd;
    int stuck;      /* unkillable processes; at RPS_OPENER_STUCK_MAX no more are started */
    int64_t cpu_ns; /* of the processes that have ended */
};

/* Start the process, which sends opened files to `out`, or back to the caller (-1). Negative: no
 * process. */
int rps_opener_start(struct rps_opener *opener, int out);

/* Send a request without waiting for the answer. Negative: the process has ended. */
int rps_opener_send(const struct rps_opener *opener, const struct rps_opener_request *request);

/* Open a file in wait_ms. Returns a descriptor or a negative errno; ETIMEDOUT: too slow. */
int rps_opener_open(struct rps_opener *opener, const struct rps_process_file *file, int wait_ms);

void rps_opener_end(struct rps_opener *opener);

/* Send one message with a descriptor (negative: without). Negative: nobody receives it. */
int rps_opener_pass(int socket, const void *message, size_t size, int fd);

/* Receive a message of at most `size` bytes. Returns its size; 0: the end; negative: errno.
 * *ret_fd: the descriptor with it, or -1. */
ssize_t rps_opener_receive(int socket, void *message, size_t size, int flags, int *ret_fd);

#endif
