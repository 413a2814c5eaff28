/* A hash table with linear probing; at most two thirds of the slots are in use. */
#include "intern.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_MAX (UINT32_MAX - 1) /* Maximum items; a slot's 32 bits hold an item's number + 1. */

static uint32_t hash(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ b >> 29) * UINT64_C(0x9e3779b97f4a7c15) + b;

    h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(h ^ h >> 32);
}

/* Return the key in a slot that is in use. */
static struct rps_intern_key *key_of(const struct rps_intern *table, uint32_t in_slot)
{
    return rps_intern_at(table, (int64_t)in_slot - 1);
}

/* Return the slot of the key's item, or the free slot where the key belongs. */
static size_t find_key_slot(const struct rps_intern *table, uint64_t a, uint64_t b)
{
    const uint32_t hashed = hash(a, b);
    size_t mask = table->slot_count - 1, at = hashed & mask;

    for (; table->slot[at].number; at = (at + 1) & mask) {
        const struct rps_intern_slot *slot = &table->slot[at];

        if (slot->hash == hashed) {
            const struct rps_intern_key *key = key_of(table, slot->number);

            if (key->a == a && key->b == b)
                break;
        }
    }
    return at;
}

static int grow_slots(struct rps_intern *table)
{
    size_t old_count = table->slot_count, count = old_count ? 2 * old_count : 16;
    struct rps_intern_slot *old = table->slot, *slot = calloc(count, sizeof(*slot));

    if (!slot)
        return -1;
    for (size_t i = 0; i < old_count; i++) {
        size_t at = old[i].hash & (count - 1);

        if (!old[i].number)
            continue;
        while (slot[at].number)
            at = (at + 1) & (count - 1);
        slot[at] = old[i];
    }
    table->slot = slot;
    table->slot_count = count;
    free(old);
    return 0;
}

static int grow_items(struct rps_intern *table)
{
    size_t room = table->room ? table->room + table->room / 2 : 16;
    char *item = table->count < COUNT_MAX ? reallocarray(table->item, room, table->item_bytes) : 0;

    if (!item)
        return -1;
    table->item = item;
    table->room = room;
    return 0;
}

uint64_t rps_intern_hash(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

void rps_intern_free(struct rps_intern *table)
{
    free(table->item);
    free(table->slot);
    *table = (struct rps_intern){.item_bytes = table->item_bytes};
}

int64_t rps_intern_find(const struct rps_intern *table, uint64_t a, uint64_t b)
{
    return table->slot_count ? (int64_t)table->slot[find_key_slot(table, a, b)].number - 1 : -1;
}

int64_t rps_intern_add(struct rps_intern *table, uint64_t a, uint64_t b, int *ret_is_new)
{
    int64_t found = rps_intern_find(table, a, b);
    uint32_t number = table->removed;
    struct rps_intern_key *key;

    *ret_is_new = found < 0;
    if (found >= 0)
        return found;
    if (3 * (table->used + 1) > 2 * table->slot_count && grow_slots(table) < 0)
        return -1;
    if (!number && table->count == table->room && grow_items(table) < 0)
        return -1;
    if (number)
        table->removed = (uint32_t)key_of(table, number)->a;
    else
        number = (uint32_t)++table->count;
    key = key_of(table, number);
    memset(key, 0, table->item_bytes);
    *key = (struct rps_intern_key){a, b};
    table->slot[find_key_slot(table, a, b)] = (struct rps_intern_slot){number, hash(a, b)};
    table->used++;
    return (int64_t)number - 1;
}

void rps_intern_remove(struct rps_intern *table, int64_t number)
{
    struct rps_intern_key *key = rps_intern_at(table, number);
    size_t mask = table->slot_count - 1, hole = find_key_slot(table, key->a, key->b), at = hole;

    /* Move a later entry into the freed slot if a lookup would otherwise not reach the entry. */
    while (table->slot[at = (at + 1) & mask].number) {
        size_t home = table->slot[at].hash & mask;

        if (((at - home) & mask) >= ((at - hole) & mask)) {
            table->slot[hole] = table->slot[at];
            hole = at;
        }
    }
    table->slot[hole].number = 0;
    table->used--;
    key->a = table->removed;
    table->removed = (uint32_t)number + 1;
}
