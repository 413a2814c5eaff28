/*
 * The queue between the measurement loop and the writer thread.
 *
 * An hour of periods is 5 MiB, nearly always unused. The room is mapped without being reserved, and
 * a queue that is empty or nearly so starts again at its first place, so that a recording whose
 * writer keeps up touches a few pages. (With periods of 1 ms it is never empty: some come while
 * others are being committed.) A lock-free ring was thought of; with one it takes two atomic
 * indexes that never go back, hence all pages in turn, to save 20 ns in 100 ms.
 *
 * Shared memory, not a file beside the store: a page of a file that is being written back makes
 * whoever writes to it wait for the disk, and the measurement loop never does. What it cannot
 * outlive, the machine's own end, SQLite's log in its normal mode does not outlive either.
 *
 * The mapping is: the head, then the room. Shared memory is allocated a chunk at a time
 * before it is touched, since touching what cannot be allocated is a signal, not an error; where
 * there is none left, the rest of the room becomes memory of this process.
 */
#include "queue.h"

#include "queue_head.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A queue that is empty or nearly so, and had used more memory than this, gives it back. */
#define KEEP_BYTES (256 * 1024)

/* The share of the addresses a queue may take. */
#define MAP_MAX_BYTES (SIZE_MAX / 16)

_Static_assert(sizeof(struct rps_queue_head) < RPS_QUEUE_HEAD_BYTES / 2, "no room for notes");

/* Shared memory is allocated in such pieces: 480 periods, or 48 s of a recording whose disk hangs.
 */
#define CHUNK_BYTES 65536

/* --- memory ---------------------------------------------------------------------------------- */

size_t rps_queue_mapped_bytes(size_t capacity)
{
    return RPS_QUEUE_HEAD_BYTES +
           (capacity * sizeof(struct rps_period) + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
}

int rps_queue_name(const char *uuid, char *ret, size_t size)
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
    map = map_private(NULL, rps_queue_mapped_bytes(capacity));
    if (map == MAP_FAILED)
        return rps_error_memory(err);
    *queue = (struct rps_queue){.head = map,
                                .room = (void *)((char *)map + RPS_QUEUE_HEAD_BYTES),
                                .capacity = capacity,
                                .fd = -1};
    return 0;
}

void rps_queue_free(struct rps_queue *queue)
{
    if (queue->head) {
        munmap(queue->head, rps_queue_mapped_bytes(queue->capacity));
        if (queue->fd >= 0)
            close(queue->fd);
    }
    memset(queue, 0, sizeof(*queue));
    queue->fd = -1;
}

/* --- sharing ------------------------------------------------------------------------------------
 */

/* Say which store the queue belongs to; nothing when that cannot be said. */
static void name_store(struct rps_queue_head *head, const char *store)
{
    char *path = realpath(store, NULL);
    struct stat status;

    if (path && strlen(path) < sizeof(head->store) && stat(path, &status) == 0) {
        strcpy(head->store, path);
        head->device = status.st_dev;
        head->inode = status.st_ino;
    }
    free(path);
}

int rps_queue_share(struct rps_queue *queue, const char *uuid, const char *store)
{
    size_t size = rps_queue_mapped_bytes(queue->capacity);
    char name[NAME_MAX];
    int fd;

    if (queue->fd >= 0 || queue->count > 0 || rps_queue_name(uuid, name, sizeof(name)) < 0)
        return 0;
    fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return 0;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 || ftruncate(fd, (off_t)size) < 0 ||
        posix_fallocate(fd, 0, RPS_QUEUE_HEAD_BYTES + CHUNK_BYTES) != 0 ||
        mmap(queue->head, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
            MAP_FAILED) {
        close(fd);
        shm_unlink(name);
        return 0;
    }
    queue->fd = fd;
    queue->shared = RPS_QUEUE_HEAD_BYTES + CHUNK_BYTES;
    queue->first = queue->touched = 0;
    memcpy(queue->head->magic, RPS_QUEUE_MAGIC, sizeof(RPS_QUEUE_MAGIC));
    queue->head->period_bytes = sizeof(struct rps_period);
    queue->head->capacity = (uint32_t)queue->capacity;
    queue->head->shared_bytes = queue->shared;
    name_store(queue->head, store);
    publish(queue);
    return 1;
}

void rps_queue_unshare(struct rps_queue *queue, const char *uuid, bool keep)
{
    size_t size = rps_queue_mapped_bytes(queue->capacity);

    if (queue->fd < 0)
        return;
    close(queue->fd);
    queue->fd = -1;
    if (map_private(queue->head, size) == MAP_FAILED)
        queue->capacity = 0; /* nothing can be pushed; cannot happen over a mapping of its own */
    queue->first = queue->count = queue->touched = queue->shared = 0;
    queue->shared_all = false;
    if (!keep)
        rps_left_forget(uuid);
}

/* Make sure that there is memory behind the place before it is touched. */
static void allow_place(struct rps_queue *queue, size_t place)
{
    size_t end = RPS_QUEUE_HEAD_BYTES + (place + 1) * sizeof(struct rps_period);

    while (end > queue->shared && !queue->shared_all) {
        if (posix_fallocate(queue->fd, (off_t)queue->shared, CHUNK_BYTES) == 0) {
            queue->shared += CHUNK_BYTES;
            queue->head->shared_bytes = queue->shared;
        } else {
            queue->shared_all = true;
            map_private((char *)queue->head + queue->shared,
                        rps_queue_mapped_bytes(queue->capacity) - queue->shared);
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

/* Move the little that is left to the first places. A kill finds it in the one place or the other,
 * as the state says. */
static void restart(struct rps_queue *queue)
{
    size_t bytes = queue->count * sizeof(struct rps_period);

    if (queue->count > queue->first || queue->first + queue->count > queue->capacity ||
        bytes > CHUNK_BYTES)
        return;
    memcpy(queue->room, queue->room + queue->first, bytes);
    queue->first = 0;
}

/* Give back the memory of a queue that was long, behind its first chunk. */
static void shrink(struct rps_queue *queue)
{
    size_t size = rps_queue_mapped_bytes(queue->capacity);
    size_t keep = RPS_QUEUE_HEAD_BYTES + CHUNK_BYTES;

    if (queue->fd < 0 && queue->count == 0) {
        madvise(queue->room, size - RPS_QUEUE_HEAD_BYTES, MADV_DONTNEED);
    } else if (queue->fd < 0) {
        madvise((char *)queue->head + keep, size - keep, MADV_DONTNEED);
    } else if (queue->shared_all) {
        madvise((char *)queue->head + queue->shared, size - queue->shared, MADV_DONTNEED);
    } else {
        queue->head->shared_bytes = queue->shared = keep;
        fallocate(queue->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)keep,
                  (off_t)(size - keep));
    }
    queue->touched = queue->count;
}

void rps_queue_drop(struct rps_queue *queue, size_t count)
{
    queue->count -= count;
    queue->first += count;
    if (queue->first >= queue->capacity)
        queue->first -= queue->capacity;
    restart(queue);
    publish(queue);
    if (queue->first == 0 && queue->count * sizeof(struct rps_period) <= CHUNK_BYTES &&
        queue->touched * sizeof(struct rps_period) > KEEP_BYTES)
        shrink(queue);
}

/* --- leaving ------------------------------------------------------------------------------------
 */

/* Move a queue that is this process's alone into shared memory. */
static int move_to_shared(struct rps_queue *queue, const char *uuid, const char *store)
{
    struct rps_queue shared;
    const struct rps_period *period;
    size_t count;

    if (rps_queue_init(&shared, queue->capacity, NULL) < 0)
        return 0;
    if (!rps_queue_share(&shared, uuid, store)) {
        rps_queue_free(&shared);
        return 0;
    }
    while ((count = rps_queue_peek(queue, SIZE_MAX, &period)) > 0) {
        for (size_t i = 0; i < count; i++)
            rps_queue_push(&shared, &period[i]);
        rps_queue_drop(queue, count);
    }
    rps_queue_free(queue);
    *queue = shared;
    return 1;
}

/* Periods that lie in what is really shared. */
static int64_t count_shared(const struct rps_queue *queue)
{
    size_t places = (queue->shared - RPS_QUEUE_HEAD_BYTES) / sizeof(struct rps_period);
    int64_t count = 0;

    for (size_t i = 0; i < queue->count; i++)
        count += (queue->first + i) % queue->capacity < places;
    return count;
}

int64_t rps_queue_leave(struct rps_queue *queue, const char *uuid, const char *store,
                        const struct rps_left_end *end)
{
    if (queue->fd < 0 && !move_to_shared(queue, uuid, store))
        return -1;
    queue->head->end = *end;
    queue->head->note_bytes = 0;
    queue->head->ended = 1;
    return count_shared(queue);
}

bool rps_queue_leave_note(struct rps_queue *queue, struct rps_left_note note, const char *text)
{
    struct rps_queue_head *head = queue->head;
    size_t length = strlen(text) + 1, bytes = rps_left_note_bytes(length);

    if (length > UINT16_MAX || bytes > RPS_QUEUE_NOTES_MAX - head->note_bytes)
        return false;
    note.text_bytes = (uint16_t)length;
    memcpy(head->notes + head->note_bytes, &note, sizeof(note));
    memcpy(head->notes + head->note_bytes + sizeof(note), text, length);
    head->note_bytes += (uint32_t)bytes;
    return true;
}
