/*
 * A bounded ring of records of any kind and size, in private memory that is touched only as far as
 * it is used. It has no locking: its owner has a lock.
 */
#ifndef RPISTAT_STORE_RING_H
#define RPISTAT_STORE_RING_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

/* A record's head; its payload follows, aligned to 8 bytes. */
struct rps_ring_record {
    uint32_t bytes; /* with the head, a multiple of 8 */
    uint32_t kind;  /* chosen by the caller, from 1 */
};

struct rps_ring {
    uint8_t *data;
    size_t size, head, used; /* bytes; head: the oldest record */
    size_t count;            /* records */
};

/* Position of a walk over the records; zero it to begin with the oldest. */
struct rps_ring_place {
    size_t bytes, count; /* passed */
};

/* Allocate a ring. RPS_FAILED: no memory. */
int rps_ring_init(struct rps_ring *ring, size_t bytes, struct rps_error *err);
void rps_ring_free(struct rps_ring *ring);

/* Return how many bytes a record with this payload takes. */
size_t rps_ring_bytes(size_t payload);

/* Append a record, whose payload the caller fills. NULL: no space. */
void *rps_ring_push(struct rps_ring *ring, uint32_t kind, size_t payload);

/* Return the next record of a walk; NULL: the end. SAFETY: records stay in place until they are
 * dropped, even during a push: a walk needs no lock up to the `count` at its beginning. */
const struct rps_ring_record *rps_ring_next(const struct rps_ring *ring,
                                            struct rps_ring_place *place);

/* Remove the oldest records, up to the walk's position. */
void rps_ring_drop(struct rps_ring *ring, const struct rps_ring_place *place);

#endif
