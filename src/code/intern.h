/*
 * A table of items by a key of two numbers: open addressing over an array of items. Items are
 * numbered from 0 in order of insertion; numbers of removed items are reused.
 */
#ifndef RPISTAT_CODE_INTERN_H
#define RPISTAT_CODE_INTERN_H

#include <stddef.h>
#include <stdint.h>

/* The first member of every item. */
struct rps_intern_key {
    uint64_t a, b;
};

struct rps_intern {
    size_t item_bytes; /* a multiple of 8 */
    char *item;
    size_t count, room; /* count: items, including removed ones */
    struct rps_intern_slot {
        uint32_t number; /* plus one; 0: free */
        uint32_t hash;   /* of the key, so that most other keys need not be read */
    } * slot;
    size_t slot_count; /* a power of two, or 0 */
    size_t used;       /* items that are not removed */
    uint32_t removed;  /* number + 1 of the last removed item, whose key.a has the next; 0: none */
};

/* An empty table. There is nothing to release until the first item is added. */
#define RPS_INTERN_OF(type)                                                                        \
    (struct rps_intern)                                                                            \
    {                                                                                              \
        .item_bytes = sizeof(type)                                                                 \
    }

void rps_intern_free(struct rps_intern *table);

/* Return a hash of a text and of what came before it: 0, or another hash. Not unique. */
uint64_t rps_intern_hash(uint64_t hash, const char *text);

/* Return the item's number; -1: none. */
int64_t rps_intern_find(const struct rps_intern *table, uint64_t a, uint64_t b);

/* Return the item's number. If there was none, add one, zeroed except for its key; -1: no
 * memory. */
int64_t rps_intern_add(struct rps_intern *table, uint64_t a, uint64_t b, int *ret_is_new);

/* Remove an item. */
void rps_intern_remove(struct rps_intern *table, int64_t number);

/* Return the item of a number; NULL for -1. Valid until the next one is added. */
static inline void *rps_intern_at(const struct rps_intern *table, int64_t number)
{
    return number < 0 ? NULL : table->item + (size_t)number * table->item_bytes;
}

#endif
