/*
 * A bounded ring of records of any kind and size, in private memory that is touched only as far as
 * it is used. It knows nothing of threads: its owner has a lock.
 */
#ifndef RPISTAT_STORE_RING_H
#define RPISTAT_STORE_RING_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

/* A record's head; its payload follows, aligned to 8 bytes. */
struct rps_ring_record {
    uint32_t bytes; /* with the head, a multiple of 8 */
    uint32_t kind;  /* the caller's, from 1 on */
};

struct rps_ring {
    uint8_t *data;
    size_t size, head, used; /* bytes; head: the oldest record */
    size_t count;            /* records */
};

/* Where a walk over the records stands; zero it to begin with the oldest. */
struct rps_ring_place {
    size_t bytes, count; /* passed */
};

/* RPS_FAILED without memory. */
int rps_ring_init(struct rps_ring *ring, size_t bytes, struct rps_error *err);
void rps_ring_free(struct rps_ring *ring);

/* Bytes that a record of so large a payload takes. */
size_t rps_ring_bytes(size_t payload);

/* Append a record; its payload is for the caller to fill. NULL when there is no room. */
void *rps_ring_push(struct rps_ring *ring, uint32_t kind, size_t payload);

/* The next record of a walk, NULL at the end. Records stay where they are until they are dropped,
 * whatever is pushed meanwhile: a walk needs no lock up to `count` of its beginning. */
const struct rps_ring_record *rps_ring_next(const struct rps_ring *ring,
                                            struct rps_ring_place *place);

/* Remove the oldest records, up to where the walk stands. */
void rps_ring_drop(struct rps_ring *ring, const struct rps_ring_place *place);

#endif
