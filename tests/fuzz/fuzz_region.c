/* Fuzz messages that a workload sends about its regions. */
#include "fuzz.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/record.h"
#include "rpistat/clock.h"
#include "rpistat/region_wire.h"

static void take_mark(void *context, int64_t time_ns, const char *text)
{
    fuzz_expect(time_ns >= *(int64_t *)context, "a mark from before the beginning");
    fuzz_expect_printable(text);
}

/* Make one message and return its size. Most messages are well-formed, because malformed ones are
 * ignored. */
static size_t make(struct fuzz_bytes *bytes, struct rps_region_wire *ret)
{
    unsigned kind = (unsigned)fuzz_take(bytes, 1);
    size_t length = fuzz_take(bytes, 1) % sizeof(ret->name), size;

    memset(ret, 0, sizeof(*ret));
    memcpy(ret->magic, RPS_REGION_WIRE_MAGIC, 8);
    ret->mark_count = kind & 1 ? (uint32_t)fuzz_take(bytes, 4) : kind >> 4;
    ret->entered = fuzz_take(bytes, 8);
    ret->elapsed_ns = fuzz_take(bytes, 8);
    length = length < bytes->left ? length : bytes->left;
    memcpy(ret->name, bytes->at, length);
    bytes->at += length;
    bytes->left -= length;
    for (int i = 0; i < RPS_REGION_WIRE_MAX; i++) {
        ret->mark[i].time_ns = kind & 2 ? (int64_t)fuzz_take(bytes, 8) : rps_clock_monotonic_ns();
        ret->mark[i].kind = (uint32_t)fuzz_take(bytes, 1);
    }
    size = offsetof(struct rps_region_wire, mark) +
           (ret->mark_count % (RPS_REGION_WIRE_MAX + 1)) * sizeof(ret->mark[0]);
    if (kind & 4)
        size = fuzz_take(bytes, 2) % (sizeof(*ret) + 1);
    if (kind & 8)
        memset(ret->name, 'x', sizeof(ret->name));
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct fuzz_bytes bytes = {data, size};
    struct rps_region_marks *marks = NULL;
    struct rps_region_wire wire;
    struct rps_watch watch;
    struct rps_error err;
    int64_t open_ns = rps_clock_monotonic_ns();
    int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s%ld",
                          RPS_REGION_WIRE_SOCKET, (long)getpid());
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    fuzz_expect(
        rps_region_marks_open(&marks, getpid(), take_mark, &open_ns, &err) == 0 && marks &&
            fd >= 0 &&
            connect(fd, (struct sockaddr *)&address,
                    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0,
        "the socket cannot be opened");
    watch = rps_region_marks_watch(marks);
    while (bytes.left > 0) {
        size_t part = make(&bytes, &wire);
        enum rps_wake wake;

        send(fd, &wire, part, MSG_NOSIGNAL); /* An empty message would end the connection. */
        watch.on_ready(watch.context, &wake);
    }
    rps_region_marks_finish(marks);
    rps_region_marks_close(marks);
    close(fd);
    return 0;
}
