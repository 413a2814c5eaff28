/*
 * A table of items by a key of two numbers: open addressing over an array of items. Items have
 * numbers from 0 in the order in which they came; that of one that was removed is given again.
 */
#ifndef RPISTAT_CODE_INTERN_H
#define RPISTAT_CODE_INTERN_H

#include <stddef.h>
#include <stdint.h>

/* What every item begins with. */
struct rps_intern_key {
    uint64_t a, b;
};

struct rps_intern {
    size_t item_bytes; /* a multiple of 8 */
    char *item;
    size_t count, room; /* items, those that were removed among them */
    struct rps_intern_slot {
        uint32_t number; /* plus one; 0: free */
        uint32_t hash;   /* of the key: others' keys, which are elsewhere, need not be looked at */
    } * slot;
    size_t slot_count; /* a power of two, or 0 */
    size_t used;       /* items that are there */
    uint32_t removed;  /* number + 1 of an item that was removed, whose key.a has the next; 0 */
};

/* A table of no items; nothing to release until the first is added. */
#define RPS_INTERN_OF(type)                                                                        \
    (struct rps_intern)                                                                            \
    {                                                                                              \
        .item_bytes = sizeof(type)                                                                 \
    }

void rps_intern_free(struct rps_intern *table);

/* A number for a text, and what came before it: 0, or another one's. Others may have the same. */
uint64_t rps_intern_hash(uint64_t hash, const char *text);

/* The item's number, or -1. */
int64_t rps_intern_find(const struct rps_intern *table, uint64_t a, uint64_t b);

/* The same, of an item that is made, zero but for its key, where there was none; -1 without
 * memory. */
int64_t rps_intern_add(struct rps_intern *table, uint64_t a, uint64_t b, int *ret_is_new);

/* Forget an item of the table. */
void rps_intern_remove(struct rps_intern *table, int64_t number);

/* The item of a number; NULL for -1. Valid until the next one is added. */
static inline void *rps_intern_at(const struct rps_intern *table, int64_t number)
{
    return number < 0 ? NULL : table->item + (size_t)number * table->item_bytes;
}

#endif
