/* Tables of counts; see count_table.h. */
#include "rpistat/count_table.h"

#include <stdlib.h>
#include <string.h>

void rps_count_table_free(struct rps_count_table *table)
{
    free(table->begin);
    free(table->entry);
    memset(table, 0, sizeof(*table));
}

static int compare_symbols(const void *a, const void *b)
{
    uint32_t x = ((const struct rps_count *)a)->symbol, y = ((const struct rps_count *)b)->symbol;

    return (x > y) - (x < y);
}

/* Bring each observation's entries together: place[i] is where the first of observation i goes. */
static void distribute(const struct rps_count *counts, size_t count, size_t *place,
                       struct rps_count *to)
{
    for (size_t i = 0; i < count; i++)
        to[place[counts[i].observation]++] = counts[i];
}

/* Add up the entries of one symbol in one observation; begin is set anew. */
static void add_up(struct rps_count_table *table)
{
    size_t kept = 0;

    for (size_t i = 0; i < table->count; i++) {
        size_t from = table->begin[i], end = table->begin[i + 1], first = kept;

        if (end - from > 1)
            qsort(table->entry + from, end - from, sizeof(*table->entry), compare_symbols);
        for (size_t e = from; e < end; e++) {
            if (kept > first && table->entry[kept - 1].symbol == table->entry[e].symbol)
                table->entry[kept - 1].count += table->entry[e].count;
            else
                table->entry[kept++] = table->entry[e];
        }
        table->begin[i] = first;
    }
    table->begin[table->count] = kept;
}

int rps_count_table_make(size_t count, size_t width, double divisor, struct rps_count *counts,
                         size_t counts_count, struct rps_count_table *ret, struct rps_error *err)
{
    struct rps_count_table table = {count, width, divisor, NULL, NULL};
    size_t *place = calloc(count + 2, sizeof(*place));

    table.begin = calloc(count + 2, sizeof(*table.begin));
    table.entry = malloc((counts_count + 1) * sizeof(*table.entry));
    if (!place || !table.begin || !table.entry) {
        rps_count_table_free(&table);
        free(place);
        free(counts);
        return rps_error_memory(err);
    }
    for (size_t i = 0; i < counts_count; i++)
        table.begin[counts[i].observation + 1]++;
    for (size_t i = 0; i < count; i++)
        table.begin[i + 1] += table.begin[i];
    memcpy(place, table.begin, (count + 1) * sizeof(*place));
    distribute(counts, counts_count, place, table.entry);
    add_up(&table);
    free(place);
    free(counts);
    *ret = table;
    return 0;
}

int rps_count_table_join(const struct rps_count_table *const *table, size_t tables,
                         struct rps_count_table *ret, struct rps_error *err)
{
    size_t count = 0, entries = 0;
    struct rps_count *joined;

    for (size_t t = 0; t < tables; t++)
        entries += table[t]->begin[table[t]->count];
    joined = malloc((entries + 1) * sizeof(*joined));
    if (!joined)
        return rps_error_memory(err);
    entries = 0;
    for (size_t t = 0; t < tables; t++) {
        for (size_t e = 0; e < table[t]->begin[table[t]->count]; e++) {
            joined[entries] = table[t]->entry[e];
            joined[entries++].observation += count;
        }
        count += table[t]->count;
    }
    return rps_count_table_make(count, table[0]->width, table[0]->divisor, joined, entries, ret,
                                err);
}
