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

/* The slot of the key: its item's, or the free one where it belongs. */
static size_t find_slot(const struct rps_intern *table, uint64_t a, uint64_t b)
{
    size_t mask = table->slot_count - 1, at = hash(a, b) & mask;

    while (table->slot[at]) {
        const struct rps_intern_key *key = rps_intern_at(table, table->slot[at] - 1);

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
            const struct rps_intern_key *key = rps_intern_at(table, old[i] - 1);

            slot[find_slot(table, key->a, key->b)] = old[i];
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

void *rps_intern_find(const struct rps_intern *table, uint64_t a, uint64_t b)
{
    uint32_t number = table->slot_count ? table->slot[find_slot(table, a, b)] : 0;

    return number ? rps_intern_at(table, number - 1) : NULL;
}

void *rps_intern_add(struct rps_intern *table, uint64_t a, uint64_t b, int *ret_is_new)
{
    struct rps_intern_key *key = rps_intern_find(table, a, b);
    uint32_t number = table->removed;

    *ret_is_new = !key;
    if (key)
        return key;
    if (3 * (table->used + 1) > 2 * table->slot_count && grow_slots(table) < 0)
        return NULL;
    if (!number && table->count == table->room && grow_items(table) < 0)
        return NULL;
    if (!number)
        number = (uint32_t)++table->count;
    key = rps_intern_at(table, number - 1);
    if (number == table->removed)
        table->removed = (uint32_t)key->a;
    memset(key, 0, table->item_bytes);
    *key = (struct rps_intern_key){a, b};
    table->slot[find_slot(table, a, b)] = number;
    table->used++;
    return key;
}

void rps_intern_remove(struct rps_intern *table, void *item)
{
    size_t mask = table->slot_count - 1, hole, at;
    struct rps_intern_key *key = item;

    if (!item)
        return;
    hole = at = find_slot(table, key->a, key->b);
    /* Whatever follows and would no longer be found moves into the hole. */
    while (table->slot[at = (at + 1) & mask]) {
        const struct rps_intern_key *next = rps_intern_at(table, table->slot[at] - 1);
        size_t home = hash(next->a, next->b) & mask;

        if (((at - home) & mask) >= ((at - hole) & mask)) {
            table->slot[hole] = table->slot[at];
            hole = at;
        }
    }
    table->slot[hole] = 0;
    table->used--;
    key->a = table->removed;
    table->removed = (uint32_t)rps_intern_number(table, item) + 1;
}
