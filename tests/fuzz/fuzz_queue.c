/* What lies in shared memory under the name of a recorder's queue. */
#include "fuzz.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/queue.h"

#define ROOM_AT 65536 /* where the room begins, behind the head */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t head_bytes = 40;
    struct rps_period *period = NULL;
    struct rps_error err;
    char uuid[40], name[64];
    size_t count = 0, head = size < head_bytes ? size : head_bytes;
    int fd;

    snprintf(uuid, sizeof(uuid), "0f022e00-%08x", (unsigned)getpid());
    snprintf(name, sizeof(name), "/rpistat-%s", uuid);
    fd = shm_open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    fuzz_expect(fd >= 0 && ftruncate(fd, ROOM_AT + (1 << 20)) == 0 &&
                    pwrite(fd, data, head, 0) == (ssize_t)head &&
                    pwrite(fd, data + head, size - head, ROOM_AT) == (ssize_t)(size - head),
                "shared memory cannot be written");
    close(fd);
    fuzz_expect(rps_queue_is_left(uuid), "what lies there is not found");
    if (rps_queue_salvage(uuid, geteuid(), &period, &count, &err) == 0)
        fuzz_expect(count <= (1 << 20) / sizeof(*period) + 1,
                    "more periods than there is room for");
    free(period);
    rps_queue_forget(uuid);
    fuzz_expect(!rps_queue_is_left(uuid), "it is not gone");
    return 0;
}
