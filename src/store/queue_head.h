/*
 * What a shared queue looks like in shared memory: this head, then the room. queue.c writes it
 * while a recorder lives, left.c reads it afterwards.
 */
#ifndef RPISTAT_STORE_QUEUE_HEAD_H
#define RPISTAT_STORE_QUEUE_HEAD_H

#include <stddef.h>
#include <stdint.h>

#include "left.h"

/* In front of the room; a multiple of every page size. */
#define RPS_QUEUE_HEAD_BYTES 65536

#define RPS_QUEUE_MAGIC "rpistat queue 2"

struct rps_queue_head {
    char magic[16];
    uint32_t period_bytes; /* sizeof(struct rps_period): of this program's build */
    uint32_t capacity;
    uint64_t shared_bytes; /* from the head on: what lies behind is not here */
    uint64_t state;        /* first << 32 | count, in one word: a kill never finds them apart */

    /* the store, as it was when the run began */
    uint64_t device, inode;
    uint32_t missed; /* 1: it was seen to be gone, at the memory's time of modification */
    char store[4096];

    /* of a recorder that could not write */
    uint32_t ended;      /* 1: `end` and the notes are there */
    uint32_t note_bytes; /* notes, one after the other */
    struct rps_left_end end;
    _Alignas(8) unsigned char notes[];
};

#define RPS_QUEUE_NOTES_MAX (RPS_QUEUE_HEAD_BYTES - sizeof(struct rps_queue_head))

/* Bytes of the mapping of a queue of that capacity. */
size_t rps_queue_mapped_bytes(size_t capacity);

/* The name in shared memory of a run's queue; negative when the uuid is none. */
int rps_queue_name(const char *uuid, char *ret, size_t size);

#endif
