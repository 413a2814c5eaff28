/*
 * A child that runs one microbenchmark.
 *
 * It is a fork, not a program of its own: nothing has to be found and installed. Between the start
 * of counting and the loop, no exec adds its thousands of instructions.
 */
#include "rpistat/micro.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rpistat/clock.h"

/* A microbenchmark takes at most this share of the machine's memory. */
#define MEMORY_SHARE 16

static ssize_t read_fully(int fd, void *buffer, size_t size)
{
    ssize_t got;

    do {
        got = read(fd, buffer, size);
    } while (got < 0 && errno == EINTR);
    return got;
}

/* Map memory in small pages; NULL if there is none. */
static void *map_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    return memory;
}

/* A power of two below the limit, if the request is above it. Memory that only has to be there, and
 * is not written to before the run, costs nothing. */
static size_t affordable(const struct rps_micro *micro)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t bytes = micro->memory_bytes;

    while (micro->prepare && pages > 0 && page > 0 && bytes > (size_t)1 << 20 &&
           bytes / (size_t)page > (size_t)pages / MEMORY_SHARE)
        bytes /= 2;
    return bytes;
}

static _Noreturn void run_in_child(int go_fd, int result_fd, const struct rps_micro *micro,
                                   uint64_t turns)
{
    struct rps_micro_result result = {0};
    size_t bytes = affordable(micro);
    void *memory = bytes > 0 ? map_memory(bytes) : NULL;
    char byte = 1;

    if ((bytes > 0 && !memory) || (micro->prepare && micro->prepare(memory, bytes) < 0))
        _exit(1);
    if (write(result_fd, &byte, 1) != 1 || read_fully(go_fd, &byte, 1) != 1)
        _exit(1);
    result.cpu_ns = -rps_clock_process_cpu_ns();
    micro->run(memory, bytes, turns);
    result.cpu_ns += rps_clock_process_cpu_ns();
    _exit(write(result_fd, &result, sizeof(result)) == (ssize_t)sizeof(result) ? 0 : 1);
}

static void close_child(struct rps_micro_child *child)
{
    if (child->pidfd >= 0)
        close(child->pidfd);
    if (child->go_fd >= 0)
        close(child->go_fd);
    close(child->result_fd);
}

int rps_micro_launch(struct rps_micro_child *ret, const struct rps_micro *micro, uint64_t turns,
                     struct rps_error *err)
{
    int go[2] = {-1, -1}, result[2] = {-1, -1};
    struct rps_micro_child child = {.pid = -1, .pidfd = -1};
    char byte;

    if (pipe2(go, O_CLOEXEC) < 0 || pipe2(result, O_CLOEXEC) < 0 || (child.pid = fork()) < 0) {
        rps_error_set(err, RPS_FAILED, "cannot start the microbenchmark %s: %s", micro->name,
                      strerror(errno));
        goto fail;
    }
    if (child.pid == 0) {
        close(go[1]);
        close(result[0]);
        run_in_child(go[0], result[1], micro, turns);
    }
    close(go[0]);
    close(result[1]);
    child.go_fd = go[1];
    child.result_fd = result[0];
    child.pidfd = (int)syscall(SYS_pidfd_open, child.pid, 0);
    if (child.pidfd >= 0 && read_fully(child.result_fd, &byte, 1) == 1) {
        *ret = child;
        return 0;
    }
    close_child(&child);
    waitpid(child.pid, NULL, 0);
    return 1;
fail:
    for (int i = 0; i < 2; i++) {
        if (go[i] >= 0)
            close(go[i]);
        if (result[i] >= 0)
            close(result[i]);
    }
    return RPS_FAILED;
}

int rps_micro_release(struct rps_micro_child *child, struct rps_error *err)
{
    char byte = 1;

    if (write(child->go_fd, &byte, 1) == 1)
        return 0;
    return rps_error_set(err, RPS_FAILED, "the microbenchmark has gone: %s", strerror(errno));
}

int rps_micro_finish(struct rps_micro_child *child, struct rps_micro_result *ret,
                     struct rps_error *err)
{
    struct rps_micro_result result;
    ssize_t got;

    close(child->go_fd);
    child->go_fd = -1;
    got = read_fully(child->result_fd, &result, sizeof(result));
    close_child(child);
    waitpid(child->pid, NULL, 0);
    if (got != (ssize_t)sizeof(result))
        return rps_error_set(err, RPS_FAILED, "the microbenchmark ended before its time");
    *ret = result;
    return 0;
}
