/* Chooses the columns of words that tell the rows of one time apart, such as a host and a device.
 * Other columns of words, such as a status, also vary. As keys, they would make a column per word,
 * or even per time. The keys are therefore the columns that distinguish all rows of a time, and
 * whose words occur at the time before, too. */
#include <string.h>

#include "import_table.h"
#include "rpistat/arena.h"

#define KEYS_MAX 10
#define ROWS_MAX 256 /* rows per time that are compared with each other */

struct rps_import_keys {
    size_t count, rows[2], c[KEYS_MAX]; /* rows of this time, and of the time before */
    uint64_t (*hash)[ROWS_MAX][KEYS_MAX];
    uint64_t news[KEYS_MAX];       /* words that the time before does not have */
    uint8_t differ[1 << KEYS_MAX]; /* 1: two rows of a time differ in exactly this set of columns */
    size_t now;
};

static uint64_t hash_of(const char *cell)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */

    while (*cell)
        hash = (hash ^ (unsigned char)*cell++) * 1099511628211u;
    return hash;
}

void rps_keys_begin(struct rps_arena *arena, struct rps_import_table *table)
{
    struct rps_import_keys *keys = rps_arena_get(arena, 1, sizeof(*keys));

    for (size_t c = 0; c < table->count && keys->count < KEYS_MAX; c++) {
        if (rps_import_is_word_key(table, c))
            keys->c[keys->count++] = c;
    }
    keys->hash = rps_arena_get(arena, 2, sizeof(*keys->hash));
    table->keys = keys->count > 0 ? keys : NULL;
}

void rps_keys_look(struct rps_import_keys *keys, char *const *cell, int is_same)
{
    uint64_t(*before)[KEYS_MAX], *row;

    if (!is_same) {
        keys->now = !keys->now;
        keys->rows[keys->now] = 0;
    }
    if (keys->rows[keys->now] == ROWS_MAX)
        return;
    row = keys->hash[keys->now][keys->rows[keys->now]++];
    before = keys->hash[!keys->now];
    for (size_t k = 0; k < keys->count; k++) {
        size_t i = 0;

        row[k] = hash_of(cell[keys->c[k]]);
        while (i < keys->rows[!keys->now] && before[i][k] != row[k])
            i++;
        keys->news[k] += keys->rows[!keys->now] > 0 && i == keys->rows[!keys->now];
    }
    for (size_t i = 0; i + 1 < keys->rows[keys->now]; i++) {
        size_t set = 0;

        for (size_t k = 0; k < keys->count; k++)
            set |= (size_t)(keys->hash[keys->now][i][k] != row[k]) << k;
        keys->differ[set] = 1;
    }
}

/* Return 1 if any two rows of a time that differ also differ in one of the columns of the set. */
static int is_enough(const struct rps_import_keys *keys, size_t set)
{
    for (size_t differ = 1; differ < (size_t)1 << keys->count; differ++) {
        if (keys->differ[differ] && !(differ & set))
            return 0;
    }
    return 1;
}

void rps_keys_choose(struct rps_import_table *table)
{
    const struct rps_import_keys *keys = table->keys;
    size_t best = 0;
    uint64_t best_cost = UINT64_MAX;

    for (size_t set = 1; keys && set < (size_t)1 << keys->count; set++) {
        uint64_t cost = 0;

        for (size_t k = 0; k < keys->count; k++)
            cost += set >> k & 1 ? KEYS_MAX * keys->news[k] + 1 : 0;
        if (cost < best_cost && is_enough(keys, set)) {
            best = set;
            best_cost = cost;
        }
    }
    for (size_t k = 0; keys && k < keys->count; k++) {
        if (best >> k & 1)
            table->column[keys->c[k]].kind = RPS_CELLS_KEY;
    }
}
