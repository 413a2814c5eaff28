/* What lies in shared memory under the name of a recorder's queue. */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/queue_head.h"

/* What the bytes are: so many of the head's beginning, of its end with the notes, then of the
 * room. */
#define HEAD_BYTES 40
#define END_BYTES  512
#define END_AT     offsetof(struct rps_queue_head, ended)
#define ROOM_BYTES (1 << 20)

static size_t put(int fd, const uint8_t *data, size_t size, size_t limit, size_t at)
{
    size_t part = size < limit ? size : limit;

    fuzz_expect(pwrite(fd, data, part, (off_t)at) == (ssize_t)part,
                "shared memory cannot be written");
    return part;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct rps_left_note *note;
    struct rps_left left;
    struct rps_error err;
    char uuid[40], name[64];
    size_t at = 0, done;
    int fd;

    snprintf(uuid, sizeof(uuid), "0f022e00-%08x", (unsigned)getpid());
    snprintf(name, sizeof(name), "/rpistat-%s", uuid);
    fd = shm_open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    fuzz_expect(fd >= 0 && ftruncate(fd, RPS_QUEUE_HEAD_BYTES + ROOM_BYTES) == 0,
                "shared memory cannot be made");
    done = put(fd, data, size, HEAD_BYTES, 0);
    done += put(fd, data + done, size - done, END_BYTES, END_AT);
    put(fd, data + done, size - done, ROOM_BYTES, RPS_QUEUE_HEAD_BYTES);
    close(fd);
    if (rps_left_salvage(uuid, geteuid(), &left, &err) == 0)
        fuzz_expect(left.count <= ROOM_BYTES / sizeof(*left.period) + 1,
                    "more periods than there is room for");
    while ((note = rps_left_next_note(&left, &at)))
        fuzz_expect(strlen(note->text) < note->text_bytes, "a note's text has no end");
    rps_left_free(&left);
    rps_left_forget(uuid);
    fuzz_expect(!rps_left_is_there(uuid), "it is not gone");
    return 0;
}
