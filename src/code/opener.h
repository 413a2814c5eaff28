/* The process that opens files of other processes (process_file.h). The recorder does not open
 * these files itself, because FUSE and NFS may never answer. The process keeps the recorder's
 * rights, reads only build-ids, and passes on descriptors. */
#pragma once

#include <sys/types.h>

#include "process_file.h"

/* The message that comes with a descriptor. */
struct rps_opened {
    int32_t status; /* 0, or a negative errno if there is no descriptor. */
    uint32_t kind;  /* kind, module and offset are copied from the request. */
    int64_t module;
    uint64_t offset;
};

struct rps_opener_request {
    struct rps_opened task;
    struct rps_process_file file;
};

/* Maximum number of processes that the kernel keeps alive while they wait for a file system. */
#define RPS_OPENER_STUCK_MAX 4

struct rps_opener { /* Zero the struct before the first process is started. */
    pid_t pid;      /* Process number; 0: no process. */
    int fd;
    int stuck;      /* Number of unkillable processes; at RPS_OPENER_STUCK_MAX, no process is
                       started. */
    int64_t cpu_ns; /* CPU time of the processes that have ended. */
};

/* Start the process. It sends opened files to `out`, or to the caller if `out` is -1. Returns a
 * negative value if there is no process. */
int rps_opener_start(struct rps_opener *opener, int out);

/* Send a request without waiting for the answer. Negative: the opening process has ended. */
int rps_opener_send(const struct rps_opener *opener, const struct rps_opener_request *request);

/* Open a file within wait_ms. Returns a descriptor or a negative errno; ETIMEDOUT: the file system
 * was too slow. */
int rps_opener_open(struct rps_opener *opener, const struct rps_process_file *file, int wait_ms);

void rps_opener_end(struct rps_opener *opener);

/* Send a message with a descriptor (negative: none). Returns negative if nobody receives it. */
int rps_opener_pass(int socket, const void *message, size_t size, int fd);

/* Receive a message of at most `size` bytes. Returns the size of the message, 0 if the connection
 * has ended, or a negative errno. *ret_fd: the descriptor in the message, or -1. */
ssize_t rps_opener_receive(int socket, void *message, size_t size, int flags, int *ret_fd);
