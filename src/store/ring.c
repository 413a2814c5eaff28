/* The ring buffer of records. A record that does not fit before the end of the memory is placed at
 * the beginning of the memory. A record of kind 0 fills the space before the end.
 *
 * A recorder is seldom idle while it commits, so its ring is seldom empty. Without moving the few
 * remaining bytes to the front, the ring would sooner or later use all of its memory. */
#include "writer.h"

#include <string.h>
#include <sys/mman.h>

#define HEAD_BYTES sizeof(struct rps_ring_record)

/* Maximum number of bytes that are moved to the front after dropping records. */
#define MOVE_BYTES 65536

/* If memory is limited, the ring gets a quarter of the memory beyond this need of the program. */
#define PROGRAM_BYTES  ((size_t)16 << 20)
#define RING_BYTES_MIN ((size_t)256 << 10)

int rps_ring_init(struct rps_ring *ring, size_t bytes, struct rps_error *err)
{
    size_t limit = rps_memory_limit();
    size_t most =
        limit > PROGRAM_BYTES + 4 * RING_BYTES_MIN ? (limit - PROGRAM_BYTES) / 4 : RING_BYTES_MIN;
    size_t size = ((bytes < most ? bytes : most) + 4095) & ~(size_t)4095;
    void *data = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (data == MAP_FAILED)
        return rps_error_memory(err);
    *ring = (struct rps_ring){.data = data, .size = size};
    return 0;
}

void rps_ring_free(struct rps_ring *ring)
{
    if (ring->data)
        munmap(ring->data, ring->size);
    *ring = (struct rps_ring){0};
}

size_t rps_ring_bytes(size_t payload)
{
    return HEAD_BYTES + ((payload + 7) & ~(size_t)7);
}

static struct rps_ring_record *record_at(const struct rps_ring *ring, size_t offset)
{
    return (struct rps_ring_record *)(void *)(ring->data + (ring->head + offset) % ring->size);
}

void *rps_ring_push(struct rps_ring *ring, uint32_t kind, size_t payload)
{
    size_t bytes = rps_ring_bytes(payload), end = (ring->head + ring->used) % ring->size;
    size_t before_end = ring->size - end, skip = bytes > before_end ? before_end : 0;
    struct rps_ring_record *record;

    if (bytes > ring->size - ring->used || skip + bytes > ring->size - ring->used)
        return NULL;
    if (skip > 0) {
        *record_at(ring, ring->used) = (struct rps_ring_record){(uint32_t)skip, 0};
        ring->used += skip;
    }
    record = record_at(ring, ring->used);
    *record = (struct rps_ring_record){(uint32_t)bytes, kind};
    ring->used += bytes;
    ring->count++;
    return record + 1;
}

const struct rps_ring_record *rps_ring_next(const struct rps_ring *ring,
                                            struct rps_ring_place *place)
{
    const struct rps_ring_record *record;

    if (place->count == ring->count)
        return NULL;
    record = record_at(ring, place->bytes);
    if (record->kind == 0) {
        place->bytes += record->bytes;
        record = record_at(ring, place->bytes);
    }
    place->bytes += record->bytes;
    place->count++;
    return record;
}

void rps_ring_drop(struct rps_ring *ring, const struct rps_ring_place *place)
{
    ring->head = (ring->head + place->bytes) % ring->size;
    ring->used -= place->bytes;
    ring->count -= place->count;
    /* Move the remaining bytes to the beginning of the memory, if they are few and contiguous. */
    if (ring->used <= MOVE_BYTES && ring->used <= ring->head &&
        ring->head + ring->used <= ring->size) {
        memcpy(ring->data, ring->data + ring->head, ring->used);
        ring->head = 0;
    }
}
