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
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "naming_child.h"
#include "rpistat/clock.h"
#include "rpistat/text.h"

/* Of the clock on the wall: files on disks that do not answer, debuginfod. */
#define WALL_NS (30 * RPS_NS_PER_S)

/* A message: a frame of the group, and its locations, each followed by its texts without an end. */
struct wire_frame {
    uint32_t index;
    uint32_t count;
};

struct wire_location {
    int32_t line;
    uint32_t how;
    uint32_t function_bytes;
    uint32_t file_bytes;
};

#define NONSENSE (-2)

#define MESSAGE_BYTES_MAX                                                                          \
    (sizeof(struct wire_frame) +                                                                   \
     RPS_NAMING_DEPTH_MAX * (sizeof(struct wire_location) + 2 * (size_t)RPS_NAMING_TEXT_MAX))

/* --- the child -------------------------------------------------------------------------------- */

void rps_naming_tell(FILE *out, size_t index, const struct rps_location *location, size_t count)
{
    struct wire_frame frame = {(uint32_t)index, (uint32_t)count};

    fwrite(&frame, sizeof(frame), 1, out);
    for (size_t i = 0; i < count; i++) {
        struct wire_location wire = {
            .line = location[i].line,
            .how = (uint32_t)location[i].how,
            .function_bytes = (uint32_t)rps_text_cut(location[i].function, RPS_NAMING_TEXT_MAX),
            .file_bytes = (uint32_t)rps_text_cut(location[i].file, RPS_NAMING_TEXT_MAX),
        };

        fwrite(&wire, sizeof(wire), 1, out);
        fwrite(location[i].function, 1, wire.function_bytes, out);
        fwrite(location[i].file, 1, wire.file_bytes, out);
    }
}

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

/* Take one text of `bytes` out of the message as a string of its own at *to. */
static const char *take_text(const char **at, size_t bytes, char **to)
{
    char *text = *to;

    memcpy(text, *at, bytes);
    text[bytes] = '\0';
    *at += bytes;
    *to += bytes + 1;
    return text;
}

/* Take the message at data. Returns its length; 0 when it is not whole yet; NONSENSE when it is
 * none; RPS_FAILED without memory. `texts` has room for its texts. */
static ssize_t take_message(struct rps_naming *naming, const struct rps_naming_group *group,
                            const char *data, size_t size, char *texts, struct rps_error *err)
{
    struct rps_location location[RPS_NAMING_DEPTH_MAX];
    const char *at = data, *end = data + size;
    struct wire_frame frame;
    struct wire_location wire;

    if (size < sizeof(frame))
        return 0;
    memcpy(&frame, at, sizeof(frame));
    at += sizeof(frame);
    if (frame.index >= group->count || frame.count == 0 || frame.count > RPS_NAMING_DEPTH_MAX)
        return NONSENSE;
    for (uint32_t i = 0; i < frame.count; i++) {
        if ((size_t)(end - at) < sizeof(wire))
            return 0;
        memcpy(&wire, at, sizeof(wire));
        at += sizeof(wire);
        if (wire.line < 0 || wire.how >= RPS_LOCATION_HOWS || wire.how == RPS_LOCATION_MAP ||
            wire.function_bytes == 0 || wire.function_bytes > RPS_NAMING_TEXT_MAX ||
            wire.file_bytes > RPS_NAMING_TEXT_MAX)
            return NONSENSE;
        if ((size_t)(end - at) < (size_t)wire.function_bytes + wire.file_bytes)
            return 0;
        location[i].function = take_text(&at, wire.function_bytes, &texts);
        location[i].file = take_text(&at, wire.file_bytes, &texts);
        location[i].line = wire.line;
        location[i].how = (enum rps_location_how)wire.how;
    }
    if (rps_naming_put(naming, group->frame[frame.index], location, frame.count, err) < 0)
        return RPS_FAILED;
    return at - data;
}

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

/* Read what the child tells, until its end, or until it tells nonsense or too much. RPS_FAILED
 * without memory. */
static int hear(struct rps_naming *naming, const struct rps_naming_group *group, int fd,
                struct rps_error *err)
{
    int64_t deadline_ns = rps_clock_monotonic_ns() + WALL_NS;
    char *data = malloc(MESSAGE_BYTES_MAX), *texts = malloc(MESSAGE_BYTES_MAX);
    size_t size = 0, heard = 0;
    int rc = data && texts ? 0 : rps_error_memory(err);

    while (rc == 0 && heard < RPS_CHILD_MEMORY_BYTES / 2 && wait_for_names(fd, deadline_ns)) {
        ssize_t got = read(fd, data + size, MESSAGE_BYTES_MAX - size), taken;
        size_t used = 0;

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        size += (size_t)got;
        heard += (size_t)got;
        while ((taken = take_message(naming, group, data + used, size - used, texts, err)) > 0)
            used += (size_t)taken;
        if (taken == NONSENSE)
            break;
        rc = (int)taken;
        memmove(data, data + used, size - used);
        size -= used;
    }
    free(data);
    free(texts);
    return rc;
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
    rc = hear(naming, group, ends[0], err);
    close(ends[0]);
    kill(pid, SIGKILL); /* one that has told all is about to end */
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (rc == 0)
        rc = rps_naming_put_reason(naming, group,
                                   "its file could not be read: too large, or damaged", err);
    return rc;
}
