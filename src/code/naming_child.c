/*
 * The child process that reads a module's file, and its parent's side of the pipe.
 *
 * elfutils was written for files that compilers make; what a recording has mapped may be anything.
 * The child has limits of memory, time and descriptors, and the parent believes nothing: what it
 * reads is checked, and has limits too. A child that dies has told the parent the names by symbols
 * first, and loses only what debug information would have added.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "naming_child.h"
#include "rpistat/clock.h"

/* Of the clock on the wall: files on disks that do not answer, debuginfod. */
#define WALL_NS (30 * RPS_NS_PER_S)

/* --- the child -------------------------------------------------------------------------------- */

static _Noreturn void name_in_child(const struct rps_naming *naming,
                                    const struct rps_naming_group *group, int image, int out_fd)
{
    FILE *out = fdopen(out_fd, "w");

    rps_child_begin("rpistat naming");
    rps_child_limit(RLIMIT_CPU, RPS_CHILD_CPU_S);
    if (!out)
        _exit(1);
    rps_naming_read_elf(group, naming->options, image, out);
    _exit(fflush(out) == 0 ? 0 : 1);
}

/* --- the parent ------------------------------------------------------------------------------- */

/* Wait for something to read until the deadline: 1 when there is, or the end. */
static int wait_for_names(int fd, int64_t deadline_ns)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    int64_t left_ns;
    int rc;

    do {
        left_ns = deadline_ns - rps_clock_monotonic_ns();
        rc = left_ns > 0 ? poll(&polled, 1, (int)(left_ns / RPS_NS_PER_MS) + 1) : 0;
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
        if (told->location[i].how == RPS_LOCATION_MAP)
            return -1;
    }
    rps_naming_put(h->naming, h->group->frame[told->index], told->location, told->count);
    return 0;
}

/* Read what the child tells, until its end, or until it tells nonsense or too much. */
static void hear(struct rps_naming *naming, const struct rps_naming_group *group, int fd)
{
    int64_t deadline_ns = rps_clock_monotonic_ns() + WALL_NS;
    struct hearing hearing = {naming, group};
    struct rps_naming_heard heard = {0};
    size_t all = 0;
    ssize_t got = 1;

    while (got != 0 && all < RPS_CHILD_MEMORY_BYTES / 2 && wait_for_names(fd, deadline_ns)) {
        got = rps_naming_hear(&heard, fd, take, &hearing);
        all += got > 0 ? (size_t)got : 0;
    }
    rps_naming_unhear(&heard);
}

int rps_naming_elf(struct rps_naming *naming, const struct rps_naming_group *group, int image,
                   struct rps_error *err)
{
    int ends[2] = {-1, -1}, rc;
    pid_t pid = -1;

    if (pipe2(ends, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
        rc = rps_error_set(err, RPS_FAILED, "cannot start a process that names functions: %s",
                           strerror(errno));
        if (ends[0] >= 0) {
            close(ends[0]);
            close(ends[1]);
        }
        return rc;
    }
    if (pid == 0)
        name_in_child(naming, group, image, ends[1]);
    close(ends[1]);
    hear(naming, group, ends[0]);
    close(ends[0]);
    rps_child_end(pid); /* one that has told all is about to end */
    rps_naming_put_reason(naming, group, "its file could not be read: too large, or damaged");
    return 0;
}
