/* Running totals. The growth of a total is imported. If rows between two totals have no total, the
 * growth is divided among these rows by their lengths, so that the sum is exact. Such growth is
 * known only after the rows have been read. An additional pass over the file therefore records it
 * before the periods are made. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "import_build.h"
#include "import_parts.h"
#include "import_table.h"
#include "rpistat/arena.h"
#include "rpistat/clock.h"

#define ROWS_PER_RESTART 10 /* minimum number of rows per restart of a running total at zero */

int rps_total_is_growing(const char *name, uint64_t rises, uint64_t falls, uint64_t steps)
{
    size_t length = strlen(name);

    if (rises == 0 || rises < ROWS_PER_RESTART * falls)
        return 0;
    return (length >= 6 && strcasecmp(name + length - 6, "_total") == 0) ||
           strcasestr(name, "counter") ||
           (rises == steps && (strcasestr(name, "total") || strcasestr(name, "cumul")));
}

static struct rps_import_total *find_total(const struct rps_import_reading *reading,
                                           struct rps_import_entity *entity, size_t c)
{
    const struct rps_import_builder *builder = reading->builder;
    size_t track = (size_t)(builder->current - builder->track), columns = reading->now->count;

    while (entity->track_count <= track)
        entity->total = rps_arena_grow(builder->arena, entity->total, entity->track_count++,
                                       columns * sizeof(*entity->total));
    return &entity->total[track * columns + c];
}

/* Return the growth since the last value. A counter of 32 or 64 bits that falls has wrapped if its
 * growth is then at most twice the largest growth before. Otherwise the growth is unknown (NaN). */
static long double find_growth(const struct rps_import_total *total, long double value)
{
    static const long double sizes[] = {0x1p32L, 0x1p64L};

    if (value >= total->last)
        return value - total->last;
    for (int i = 0; i < 2; i++) {
        if (total->last < sizes[i] && sizes[i] - total->last + value <= 2 * total->most)
            return sizes[i] - total->last + value;
    }
    return NAN;
}

int rps_total_add(struct rps_import_reading *reading, struct rps_import_entity *entity, size_t c,
                  long double value, long double *ret_growth)
{
    const struct rps_import_builder *builder = reading->builder;
    struct rps_import_total *total = find_total(reading, entity, c);
    struct rps_import_fill fill = {total->last_ns, builder->start_ns + builder->length_ns,
                                   find_growth(total, value)};
    /* after the dry run, the time begins again */
    int is_first = total->last_ns == 0 || total->last_ns >= fill.end_ns,
        is_known = fill.growth >= 0 && !is_first;
    int is_over_rows = fill.start_ns < builder->start_ns - RPS_NS_PER_US;

    total->steps += !is_first;
    total->rises += is_known && fill.growth > 0;
    total->falls += !is_first && !is_known;
    is_known &= fill.start_ns > builder->current->gap_ns; /* there is no gap since the last value */
    if (is_known)
        total->most = fmaxl(total->most, fill.growth);
    total->last = value;
    total->last_ns = fill.end_ns;
    if (is_known && is_over_rows && builder->is_dry_run) {
        total->fill =
            rps_arena_grow(builder->arena, total->fill, total->fill_count, sizeof(*total->fill));
        total->fill[total->fill_count++] = fill;
    }
    *ret_growth = fill.growth;
    return is_known && !is_over_rows && !builder->is_dry_run;
}

int rps_total_is_rate(const struct rps_import_table_column *column)
{
    return column->has_fraction || column->is_scaled;
}

int rps_total_put(const struct rps_import_reading *reading,
                  const struct rps_import_table_column *column, int number, long double growth,
                  struct rps_error *err)
{
    struct rps_import_builder *builder = reading->builder;

    if (rps_total_is_rate(column))
        growth = (double)growth * RPS_NS_PER_S / (double)builder->length_ns;
    return rps_import_value(builder, number, growth, -1, -1, err);
}

static long double grown_until(const struct rps_import_fill *fill, int64_t ns, int is_rate)
{
    long double share = (long double)(ns - fill->start_ns) /
                        (long double)(fill->end_ns - fill->start_ns); /* at the end, exactly 1 */

    return is_rate ? share * fill->growth : roundl(share * fill->growth);
}

/* Put the period's share of a column's growth over several rows. */
static int put_share(const struct rps_import_reading *reading,
                     const struct rps_import_table_column *column, int number,
                     struct rps_import_total *total, struct rps_error *err)
{
    const struct rps_import_builder *builder = reading->builder;
    int64_t start_ns = builder->start_ns, end_ns = start_ns + builder->length_ns;
    const struct rps_import_fill *fill;
    int is_rate = rps_total_is_rate(column);

    while (total->next < total->fill_count && total->fill[total->next].end_ns < end_ns)
        total->next++;
    fill = total->fill + total->next;
    if (total->next == total->fill_count || fill->start_ns > start_ns)
        return 0;
    return rps_total_put(reading, column, number,
                         grown_until(fill, end_ns, is_rate) - grown_until(fill, start_ns, is_rate),
                         err);
}

int rps_totals_end_period(const struct rps_import_reading *reading, struct rps_error *err)
{
    size_t track = (size_t)(reading->builder->current - reading->builder->track);
    int result = 0;

    for (size_t t = 0; t < reading->table_count; t++) {
        const struct rps_import_table *table = reading->table[t];

        for (size_t i = 0; i < table->entity_count * table->count && result == 0; i++) {
            const struct rps_import_entity *entity = &table->entity[i / table->count];
            size_t c = i % table->count;

            if (table->column[c].kind == RPS_CELLS_COUNTER && track < entity->track_count)
                result = put_share(reading, &table->column[c], entity->column[c],
                                   &entity->total[track * table->count + c], err);
        }
    }
    return result;
}

int rps_total_grows(const struct rps_import_table *table, size_t c)
{
    uint64_t rises = 0, falls = 0, steps = 0;

    for (size_t e = 0; e < table->entity_count; e++) {
        for (size_t k = c; k < table->entity[e].track_count * table->count; k += table->count) {
            rises += table->entity[e].total[k].rises;
            falls += table->entity[e].total[k].falls;
            steps += table->entity[e].total[k].steps;
        }
    }
    return rps_total_is_growing(table->column[c].name, rises, falls, steps);
}
