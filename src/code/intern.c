/* Items by a key of two numbers: linear probing, at most two slots of three in use. */
#include "intern.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_MAX (UINT32_MAX - 1) /* a number + 1 fits into a slot */

static size_t hash(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ b >> 29) * UINT64_C(0x9e3779b97f4a7c15) + b;

    h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return (size_t)(h ^ h >> 32);
}

/* The key of what a slot that is not free has. */
static struct rps_intern_key *key_of(const struct rps_intern *table, uint32_t in_slot)
{
    return rps_intern_at(table, (int64_t)in_slot - 1);
}

/* The slot of the key: its item's, or the free one where it belongs. */
static size_t find_key_slot(const struct rps_intern *table, uint64_t a, uint64_t b)
{
    size_t mask = table->slot_count - 1, at = hash(a, b) & mask;

    while (table->slot[at]) {
        const struct rps_intern_key *key = key_of(table, table->slot[at]);

        if (key->a == a && key->b == b)
            break;
        at = (at + 1) & mask;
    }
    return at;
}

static int grow_slots(struct rps_intern *table)
{
    size_t old_count = table->slot_count;
    uint32_t *old = table->slot;
    uint32_t *slot = calloc(old_count ? 2 * old_count : 16, sizeof(*slot));

    if (!slot)
        return -1;
    table->slot = slot;
    table->slot_count = old_count ? 2 * old_count : 16;
    for (size_t i = 0; i < old_count; i++) {
        if (old[i]) {
            const struct rps_intern_key *key = key_of(table, old[i]);

            slot[find_key_slot(table, key->a, key->b)] = old[i];
        }
    }
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

void rps_intern_free(struct rps_intern *table)
{
    free(table->item);
    free(table->slot);
    *table = (struct rps_intern){.item_bytes = table->item_bytes};
}

int64_t rps_intern_find(const struct rps_intern *table, uint64_t a, uint64_t b)
{
    return table->slot_count ? (int64_t)table->slot[find_key_slot(table, a, b)] - 1 : -1;
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
    table->slot[find_key_slot(table, a, b)] = number;
    table->used++;
    return (int64_t)number - 1;
}

void rps_intern_remove(struct rps_intern *table, int64_t number)
{
    struct rps_intern_key *key = rps_intern_at(table, number);
    size_t mask = table->slot_count - 1, hole = find_key_slot(table, key->a, key->b), at = hole;

    /* Whatever follows and would no longer be found moves into the hole. */
    while (table->slot[at = (at + 1) & mask]) {
        const struct rps_intern_key *next = key_of(table, table->slot[at]);
        size_t home = hash(next->a, next->b) & mask;

        if (((at - home) & mask) >= ((at - hole) & mask)) {
            table->slot[hole] = table->slot[at];
            hole = at;
        }
    }
    table->slot[hole] = 0;
    table->used--;
    key->a = table->removed;
    table->removed = (uint32_t)number + 1;
}
