/*
 * The queue between the measurement loop and the writer thread.
 *
 * An hour of periods is 5 MiB, nearly always unused. The room is mapped without being reserved, and
 * an empty queue starts again at its first place, so that a recording whose writer keeps up touches
 * a single page. A lock-free ring was thought of; with one it takes two atomic indexes that never
 * go back, hence all pages in turn, to save 20 ns in 100 ms.
 *
 * Shared memory, not a file beside the store: a page of a file that is being written back makes
 * whoever writes to it wait for the disk, and the measurement loop never does. What it cannot
 * outlive, the machine's own end, SQLite's log in its normal mode does not outlive either.
 *
 * The mapping is: a page of head, then the room. Shared memory is allocated a chunk at a time
 * before it is touched, since touching what cannot be allocated is a signal, not an error; where
 * there is none left, the rest of the room becomes memory of this process.
 */
#include "queue.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* An emptied queue that had used more memory than this gives it back. */
#define KEEP_BYTES (256 * 1024)

/* The share of the addresses a queue may take. */
#define MAP_MAX_BYTES (SIZE_MAX / 16)

/* In front of the room; a multiple of every page size. */
#define HEAD_BYTES 65536

/* Shared memory is allocated in such pieces: 480 periods, or 48 s of a recording whose disk hangs.
 */
#define CHUNK_BYTES 65536

/* A queue left by someone else is not believed to be larger. */
#define SALVAGE_MAX_BYTES ((off_t)1 << 32)

#define HEAD_MAGIC "rpistat queue 1"

struct rps_queue_head {
    char magic[16];
    uint32_t period_bytes; /* sizeof(struct rps_period): of this program's build */
    uint32_t capacity;
    uint64_t shared_bytes; /* from the head on: what lies behind is not here */
    uint64_t state;        /* first << 32 | count, in one word: a kill never finds them apart */
};

/* --- memory ---------------------------------------------------------------------------------- */

static size_t mapped_bytes(size_t capacity)
{
    return HEAD_BYTES +
           (capacity * sizeof(struct rps_period) + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
}

static int name_of(const char *uuid, char *ret, size_t size)
{
    size_t length = strlen(uuid);

    for (size_t i = 0; i < length; i++)
        if (!isxdigit((unsigned char)uuid[i]) && uuid[i] != '-')
            return -1;
    return length < 8 || snprintf(ret, size, "/rpistat-%s", uuid) >= (int)size ? -1 : 0;
}

static void *map_private(void *at, size_t size)
{
    return mmap(at, size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);
}

/* Say in the head what the queue holds. */
static void publish(struct rps_queue *queue)
{
    if (queue->fd >= 0)
        __atomic_store_n(&queue->head->state, (uint64_t)queue->first << 32 | queue->count,
                         __ATOMIC_RELEASE);
}

int rps_queue_init(struct rps_queue *queue, size_t capacity, struct rps_error *err)
{
    void *map;

    if (capacity < 1)
        capacity = 1;
    if (capacity > UINT32_MAX)
        capacity = UINT32_MAX;
    if (capacity > MAP_MAX_BYTES / sizeof(struct rps_period))
        capacity = MAP_MAX_BYTES / sizeof(struct rps_period);
    map = map_private(NULL, mapped_bytes(capacity));
    if (map == MAP_FAILED)
        return rps_error_memory(err);
    *queue = (struct rps_queue){
        .head = map, .room = (void *)((char *)map + HEAD_BYTES), .capacity = capacity, .fd = -1};
    return 0;
}

void rps_queue_free(struct rps_queue *queue)
{
    if (queue->head) {
        munmap(queue->head, mapped_bytes(queue->capacity));
        if (queue->fd >= 0)
            close(queue->fd);
    }
    memset(queue, 0, sizeof(*queue));
    queue->fd = -1;
}

/* --- sharing ------------------------------------------------------------------------------------
 */

int rps_queue_share(struct rps_queue *queue, const char *uuid)
{
    size_t size = mapped_bytes(queue->capacity);
    char name[NAME_MAX];
    int fd;

    if (queue->fd >= 0 || queue->count > 0 || name_of(uuid, name, sizeof(name)) < 0)
        return 0;
    fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return 0;
    if (ftruncate(fd, (off_t)size) < 0 || posix_fallocate(fd, 0, HEAD_BYTES + CHUNK_BYTES) != 0 ||
        mmap(queue->head, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
            MAP_FAILED) {
        close(fd);
        shm_unlink(name);
        return 0;
    }
    queue->fd = fd;
    queue->shared = HEAD_BYTES + CHUNK_BYTES;
    queue->first = queue->touched = 0;
    memcpy(queue->head->magic, HEAD_MAGIC, sizeof(HEAD_MAGIC));
    queue->head->period_bytes = sizeof(struct rps_period);
    queue->head->capacity = (uint32_t)queue->capacity;
    queue->head->shared_bytes = queue->shared;
    publish(queue);
    return 1;
}

void rps_queue_unshare(struct rps_queue *queue, const char *uuid, bool keep)
{
    size_t size = mapped_bytes(queue->capacity);

    if (queue->fd < 0)
        return;
    close(queue->fd);
    queue->fd = -1;
    if (map_private(queue->head, size) == MAP_FAILED)
        queue->capacity = 0; /* nothing can be pushed; cannot happen over a mapping of its own */
    queue->first = queue->count = queue->touched = queue->shared = 0;
    queue->shared_all = false;
    if (!keep)
        rps_queue_forget(uuid);
}

/* Make sure that there is memory behind the place before it is touched. */
static void allow_place(struct rps_queue *queue, size_t place)
{
    size_t end = HEAD_BYTES + (place + 1) * sizeof(struct rps_period);

    while (end > queue->shared && !queue->shared_all) {
        if (posix_fallocate(queue->fd, (off_t)queue->shared, CHUNK_BYTES) == 0) {
            queue->shared += CHUNK_BYTES;
            queue->head->shared_bytes = queue->shared;
        } else {
            queue->shared_all = true;
            map_private((char *)queue->head + queue->shared,
                        mapped_bytes(queue->capacity) - queue->shared);
        }
    }
}

/* --- the ring -----------------------------------------------------------------------------------
 */

bool rps_queue_push(struct rps_queue *queue, const struct rps_period *period)
{
    size_t place;

    if (queue->count == queue->capacity)
        return false;
    place = queue->first + queue->count;
    if (place >= queue->capacity)
        place -= queue->capacity;
    if (queue->fd >= 0)
        allow_place(queue, place);
    queue->room[place] = *period;
    queue->count++;
    publish(queue);
    if (place >= queue->touched)
        queue->touched = place + 1;
    return true;
}

size_t rps_queue_peek(const struct rps_queue *queue, size_t limit, const struct rps_period **ret)
{
    size_t together = queue->capacity - queue->first;

    *ret = queue->room + queue->first;
    if (together > queue->count)
        together = queue->count;
    return together < limit ? together : limit;
}

/* Give back the memory of an empty queue that was long. */
static void shrink(struct rps_queue *queue)
{
    size_t size = mapped_bytes(queue->capacity), keep = HEAD_BYTES + CHUNK_BYTES;

    if (queue->fd < 0) {
        madvise(queue->room, size - HEAD_BYTES, MADV_DONTNEED);
    } else if (queue->shared_all) {
        madvise((char *)queue->head + queue->shared, size - queue->shared, MADV_DONTNEED);
    } else {
        queue->head->shared_bytes = queue->shared = keep;
        fallocate(queue->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)keep,
                  (off_t)(size - keep));
    }
    queue->touched = 0;
}

void rps_queue_drop(struct rps_queue *queue, size_t count)
{
    queue->count -= count;
    queue->first += count;
    if (queue->first >= queue->capacity)
        queue->first -= queue->capacity;
    if (queue->count == 0)
        queue->first = 0;
    publish(queue);
    if (queue->count == 0 && queue->touched * sizeof(struct rps_period) > KEEP_BYTES)
        shrink(queue);
}

/* --- after a recorder was killed ----------------------------------------------------------------
 */

/* Open what a recorder left; -1 when there is none, or it belongs to a stranger. */
static int open_left(const char *uuid, uid_t owner, off_t *ret_size)
{
    char name[NAME_MAX];
    struct stat status;
    int fd;

    if (name_of(uuid, name, sizeof(name)) < 0)
        return -1;
    fd = shm_open(name, O_RDONLY, 0);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || (status.st_mode & 022) ||
        (status.st_uid != owner && status.st_uid != geteuid()) ||
        status.st_size > SALVAGE_MAX_BYTES) {
        close(fd);
        return -1;
    }
    *ret_size = status.st_size;
    return fd;
}

static int head_is_ours(const struct rps_queue_head *head, off_t size)
{
    uint64_t first = head->state >> 32, count = head->state & UINT32_MAX;

    return memcmp(head->magic, HEAD_MAGIC, sizeof(HEAD_MAGIC)) == 0 &&
           head->period_bytes == sizeof(struct rps_period) && head->capacity > 0 &&
           (off_t)mapped_bytes(head->capacity) <= size && first < head->capacity &&
           count <= head->capacity;
}

static size_t copy_left(int fd, const struct rps_queue_head *head, struct rps_period *ret)
{
    uint64_t first = head->state >> 32, count = head->state & UINT32_MAX;
    size_t copied = 0;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t place = (first + i) % head->capacity;
        uint64_t at = HEAD_BYTES + place * sizeof(*ret);

        if (at + sizeof(*ret) <= head->shared_bytes &&
            pread(fd, &ret[copied], sizeof(*ret), (off_t)at) == (ssize_t)sizeof(*ret))
            copied++;
    }
    return copied;
}

int rps_queue_salvage(const char *uuid, uid_t owner, struct rps_period **ret, size_t *ret_count,
                      struct rps_error *err)
{
    struct rps_period *period = NULL;
    struct rps_queue_head head;
    size_t count = 0;
    off_t size;
    int fd = open_left(uuid, owner, &size);

    if (fd >= 0 && pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
        head_is_ours(&head, size))
        count = head.state & UINT32_MAX;
    if (count > 0) {
        period = calloc(count, sizeof(*period));
        if (!period) {
            close(fd);
            return rps_error_memory(err);
        }
        count = copy_left(fd, &head, period);
    }
    if (fd >= 0)
        close(fd);
    *ret = period;
    *ret_count = count;
    return 0;
}

int rps_queue_is_left(const char *uuid)
{
    char name[NAME_MAX];
    int fd = name_of(uuid, name, sizeof(name)) < 0 ? -1 : shm_open(name, O_RDONLY, 0);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

void rps_queue_forget(const char *uuid)
{
    char name[NAME_MAX];

    if (name_of(uuid, name, sizeof(name)) == 0)
        shm_unlink(name);
}
