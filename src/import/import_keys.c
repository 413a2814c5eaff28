/* Chooses the text columns that distinguish the rows of one time, such as a host and a device.
 * Other text columns, such as a status, also vary. As keys, they would create one column per word,
 * or even one per time. The keys are therefore the columns that distinguish all rows of a time and
 * whose words also occur in the rows of the previous time. */
#include "import_table.h"
#include "rpistat/arena.h"

#define KEYS_MAX 10
#define ROWS_MAX 256 /* rows per time that are compared with each other */

struct rps_import_keys {
    size_t count, c[KEYS_MAX];
    size_t rows, rows_before; /* rows of this time, and of the time before */
    uint64_t hash[2][ROWS_MAX][KEYS_MAX], (*now)[KEYS_MAX], (*before)[KEYS_MAX];
    uint64_t cost[KEYS_MAX];       /* words that the time before does not have */
    uint8_t differ[1 << KEYS_MAX]; /* 1: two rows of a time differ in exactly this set of columns */
};

static uint64_t hash_of(const char *cell)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */

    while (*cell)
        hash = (hash ^ (unsigned char)*cell++) * 1099511628211u;
    return hash;
}

int rps_import_is_place(const struct rps_import_table *table, size_t c)
{
    return (int)c == table->time || (int)c == table->day || (int)c == table->cpu;
}

/* Return 1 for a column of words that may distinguish the rows of a time. */
static int is_word(const struct rps_import_table *table, size_t c)
{
    const struct rps_import_table_column *column = &table->column[c];

    return !table->has_processes && column->kind == RPS_CELLS_NONE &&
           !rps_import_is_place(table, c) && column->varies && !rps_import_is_numeric(column) &&
           !rps_import_is_text_time(column);
}

void rps_keys_begin(struct rps_arena *arena, struct rps_import_table *table)
{
    struct rps_import_keys *keys = NULL;

    for (size_t c = 0; c < table->count; c++) {
        if (!is_word(table, c))
            continue;
        keys = keys ? keys : rps_arena_get(arena, 1, sizeof(*keys));
        if (keys->count < KEYS_MAX)
            keys->c[keys->count++] = c;
        keys->now = keys->hash[0];
    }
    table->keys = keys;
}

void rps_keys_look(struct rps_import_keys *keys, char *const *cell, int is_same)
{
    uint64_t *row;

    if (!is_same) {
        keys->rows_before = keys->rows;
        keys->before = keys->now;
        keys->now = keys->hash[keys->now == keys->hash[0]];
        keys->rows = 0;
    }
    if (keys->rows == ROWS_MAX)
        return;
    row = keys->now[keys->rows];
    for (size_t k = 0; k < keys->count; k++) {
        size_t i = 0;

        row[k] = hash_of(cell[keys->c[k]]);
        while (i < keys->rows_before && keys->before[i][k] != row[k])
            i++;
        keys->cost[k] += keys->rows_before > 0 && i == keys->rows_before;
    }
    for (size_t i = 0; i < keys->rows; i++) {
        size_t set = 0;

        for (size_t k = 0; k < keys->count; k++)
            set |= (size_t)(keys->now[i][k] != row[k]) << k;
        keys->differ[set] = 1;
    }
    keys->rows++;
}

void rps_keys_choose(struct rps_import_table *table)
{
    const struct rps_import_keys *keys = table->keys;
    size_t best = 0, sets = keys ? (size_t)1 << keys->count : 0;
    uint64_t best_cost = UINT64_MAX;

    for (size_t set = 1; set < sets; set++) {
        uint64_t cost = 0;
        size_t differ = 1;

        while (differ < sets && (!keys->differ[differ] || (differ & set)))
            differ++; /* rows that differ also differ in a column of the set */
        for (size_t k = 0; k < keys->count; k++)
            cost += set >> k & 1 ? KEYS_MAX * keys->cost[k] + 1 : 0;
        if (differ == sets && cost < best_cost) {
            best = set;
            best_cost = cost;
        }
    }
    for (size_t k = 0; keys && k < keys->count; k++) {
        if (best >> k & 1)
            table->column[keys->c[k]].kind = RPS_CELLS_KEY;
    }
}
