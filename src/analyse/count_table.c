/* Tables of counts; see count_table.h. */
#include "rpistat/count_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/arena.h"
#include "counts.h"

void rps_count_table_free(struct rps_count_table *table)
{
    free(table->begin);
    free(table->entry);
    memset(table, 0, sizeof(*table));
}

/* Group the entries by observation. begin[i] is the index of the first entry of observation i. */
static void distribute(struct rps_count_table *table, size_t count)
{
    struct rps_count *to = rps_arena_loose(count, sizeof(*to));
    size_t *place = rps_arena_loose(table->count, sizeof(*place));

    memcpy(place, table->begin, table->count * sizeof(*place));
    for (size_t i = 0; i < count; i++)
        to[place[table->entry[i].observation]++] = table->entry[i];
    free(place);
    free(table->entry);
    table->entry = to;
}

/* Merge the entries with the same symbol and observation, and update `begin`. `sum` is scratch
 * memory that contains zeros. */
static void add_up(struct rps_count_table *table, float *sum)
{
    size_t kept = 0;

    for (size_t i = 0; i < table->count; i++) {
        size_t from = table->begin[i], end = table->begin[i + 1];

        table->begin[i] = kept;
        for (size_t e = from; e < end; e++)
            sum[table->entry[e].symbol] += table->entry[e].count;
        for (uint32_t k = 0; from < end && k < table->width; k++) {
            if (sum[k] > 0)
                table->entry[kept++] = (struct rps_count){i, k, sum[k]};
            sum[k] = 0;
        }
    }
    table->begin[table->count] = kept;
}

struct rps_count_table rps_count_table_make(size_t count, size_t width, double divisor,
                                            struct rps_count *counts, size_t counts_count)
{
    struct rps_count_table table = {
        count, width, divisor, rps_arena_loose(count + 2, sizeof(*table.begin)), counts, 0};
    float *sum = rps_arena_loose(width, sizeof(*sum));
    struct rps_count *fitting;
    int ordered = 1;

    for (size_t i = 0; i < counts_count; i++) {
        table.begin[counts[i].observation + 1]++;
        ordered = ordered && (i == 0 || counts[i].observation >= counts[i - 1].observation);
    }
    for (size_t i = 0; i < count; i++)
        table.begin[i + 1] += table.begin[i];
    if (!ordered)
        distribute(&table, counts_count);
    add_up(&table, sum);
    free(sum);
    fitting = realloc(table.entry, (table.begin[count] + 1) * sizeof(*fitting));
    if (fitting)
        table.entry = fitting;
    return table;
}

struct rps_count_table rps_count_table_join(const struct rps_count_table *const *table,
                                            size_t tables)
{
    size_t count = 0, entries = 0;
    double divisor = 0;
    struct rps_count_table ret;
    struct rps_count *joined;

    for (size_t t = 0; t < tables; t++) {
        entries += table[t]->begin[table[t]->count];
        divisor = fmax(divisor, table[t]->divisor);
    }
    joined = rps_arena_loose(entries + 1, sizeof(*joined));
    entries = 0;
    for (size_t t = 0; t < tables; t++) {
        for (size_t e = 0; e < table[t]->begin[table[t]->count]; e++) {
            joined[entries] = table[t]->entry[e];
            joined[entries++].observation += count;
        }
        count += table[t]->count;
    }
    ret = rps_count_table_make(count, table[0]->width, divisor, joined, entries);
    ret.is_read = table[0]->is_read;
    return ret;
}

/* Dirichlet-multinomial distribution of a table's counts; see counts.h. */

/* Weight of the mix of the whole run in the prior, in counts. */
#define PRIOR 3.0

/* Stirling's series is exact to ten digits for arguments of at least this value. */
#define STIRLING_FROM 8

#define HALF_LOG_TWO_PI 0.91893853320467274178

static double log_gamma(double x)
{
    double product = 1, inverse;

    for (; x < STIRLING_FROM; x++)
        product *= x;
    inverse = 1 / (x * x);
    return (x - .5) * log(x) - x + HALF_LOG_TWO_PI - (product == 1 ? 0 : log(product)) +
           (1. / 12 - inverse * (1. / 360 - inverse / 1260)) / x;
}

struct rps_mix rps_mix_make(struct rps_arena *arena, const struct rps_count_table *table)
{
    size_t symbols = table->width + 1;
    struct rps_mix mix = {.width = table->width,
                          .divisor = table->divisor,
                          .is_read = table->is_read,
                          .prior = rps_arena_get(arena, symbols, sizeof(*mix.prior)),
                          .base = rps_arena_get(arena, symbols, sizeof(*mix.base)),
                          .rise = rps_arena_get(arena, symbols * RPS_MIX_STEPS, sizeof(*mix.rise))};
    double all = .5 * (double)table->width;

    for (size_t e = 0; e < table->begin[table->count]; e++) {
        mix.prior[table->entry[e].symbol] += (double)table->entry[e].count;
        all += (double)table->entry[e].count;
    }
    for (size_t k = 0; k < table->width; k++)
        mix.prior[k] = PRIOR * (mix.prior[k] + .5) / all;
    mix.prior[table->width] = PRIOR;
    for (size_t k = 0; k <= table->width; k++) {
        mix.base[k] = log_gamma(mix.prior[k]);
        for (size_t c = 1; c < RPS_MIX_STEPS; c++)
            mix.rise[k * RPS_MIX_STEPS + c] =
                mix.rise[k * RPS_MIX_STEPS + c - 1] + log(mix.prior[k] + (double)(c - 1));
    }
    return mix;
}

double rps_mix_rise_far(const struct rps_mix *mix, size_t symbol, double count)
{
    return log_gamma(mix->prior[symbol] + count) - mix->base[symbol];
}
