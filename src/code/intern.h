/* A hash table of items with a key of two numbers. The table uses open addressing over an array of
 * items. Items are numbered from 0 in order of insertion; numbers of removed items are reused. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The first member of every item. */
struct rps_intern_key {
    uint64_t a, b;
};

struct rps_intern {
    size_t item_bytes; /* Size of an item: a multiple of 8. */
    char *item;
    size_t count, room; /* count: number of items, including removed items. */
    struct rps_intern_slot {
        uint32_t number; /* Number of the item plus one; 0 if the slot is free. */
        uint32_t hash;   /* Hash of the key. A search compares hashes first, so it reads few keys
                            of other items. */
    } * slot;
    size_t slot_count; /* Number of slots: a power of two, or 0. */
    size_t used;       /* Number of items that are not removed. */
    uint32_t removed;  /* Number + 1 of the most recently removed item (0: none). The key.a of a
                          removed item refers in the same way to the item removed before it. */
};

/* An empty table. There is nothing to release until the first item is added. */
#define RPS_INTERN_OF(type)                                                                        \
    (struct rps_intern)                                                                            \
    {                                                                                              \
        .item_bytes = sizeof(type)                                                                 \
    }

void rps_intern_free(struct rps_intern *table);

/* Return the hash of a text. `hash` is the hash of earlier texts, from which the computation
 * continues (0: none). Different texts may have equal hashes. */
uint64_t rps_intern_hash(uint64_t hash, const char *text);

/* Return the number of the item with this key; -1: none. */
int64_t rps_intern_find(const struct rps_intern *table, uint64_t a, uint64_t b);

/* Return the number of the item with this key. If there is none, add an item that is zero except
 * for its key. Returns -1 if there is no memory. */
int64_t rps_intern_add(struct rps_intern *table, uint64_t a, uint64_t b, int *ret_is_new);

/* Remove an item. */
void rps_intern_remove(struct rps_intern *table, int64_t number);

/* Return the item with the number; NULL for -1. The item is valid until another item is added. */
static inline void *rps_intern_at(const struct rps_intern *table, int64_t number)
{
    return number < 0 ? NULL : table->item + (size_t)number * table->item_bytes;
}
