/*
 * Where the mix of a table changes.
 *
 * The table is cut in two wherever that tells most, in intervals of many lengths (Kovacs et al. 2023,
 * seeded binary segmentation), so that each change is looked at in an interval that holds no other.
 * Of all these cuts those are taken that make the least cost together, and each is then moved to
 * where it is best between its neighbours. Long intervals are looked at in rows that are SCALE
 * observations together, which makes all of it linear.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "rpistat/count_table.h"

/* Lengths of the intervals that are cut in two, in rows; each twice the one before. */
#define LENGTH_LEAST 8
#define LENGTH_MOST  64

/* Observations that become one row for longer ones. */
#define SCALE 8

/* Of ln n: what a cut must tell. */
#define PRICE .7

/* Shortest stretch, in rows. */
#define SHORTEST 3

/* Stretches that may come before one, at most: those that cost least so far. */
#define BEFORE_MAX 256

/* Where a cut may lie as well: what it tells is at most so much less. */
#define PLACE_SLACK 3.0

/* Counts on both sides of a cut. */
struct sides {
    const struct rps_mix *mix;
    double *count; /* [0]: left, all symbols; then right */
    double *own;   /* the same places: rise of each symbol */
    double all[2];
    double rise[2]; /* of all symbols */
};

struct search {
    struct rps_arena *arena;
    const struct rps_signals *signals;
    struct rps_mix mix;
    struct sides sides;
    double price;
    size_t *at; /* cuts, observations */
    size_t count;
};

/* --- the best cut of a stretch ---------------------------------------------------------------- */

static void add(struct sides *sides, int side, const struct rps_count *entry, double sign)
{
    size_t at = (size_t)side * sides->mix->width + entry->symbol;

    sides->count[at] += sign * (double)entry->count;
    sides->rise[side] -= sides->own[at];
    sides->own[at] = rps_mix_rise(sides->mix, entry->symbol, fmax(sides->count[at], 0));
    sides->rise[side] += sides->own[at];
    sides->all[side] += sign * (double)entry->count;
}

static double value(const struct sides *sides, int side)
{
    return sides->rise[side] -
           rps_mix_rise(sides->mix, sides->mix->width, fmax(sides->all[side], 0));
}

struct best {
    size_t at, earliest, latest; /* 0: none */
    double gain;
};

/* Cut the rows from ... to - 1 in two, each part at least `shortest` long; `gain` of each place, if
 * not NULL, is where it is kept. */
static struct best cut_in_two(struct sides *sides, const struct rps_count_table *table, size_t from,
                              size_t to, size_t shortest, double *gain)
{
    struct best best = {.gain = -INFINITY};
    double whole;

    sides->all[0] = sides->all[1] = sides->rise[0] = sides->rise[1] = 0;
    for (size_t e = table->begin[from]; e < table->begin[to]; e++)
        add(sides, 1, &table->entry[e], 1);
    whole = value(sides, 1);
    for (size_t i = from; i < to; i++) {
        double now = value(sides, 0) + value(sides, 1) - whole;

        if (gain)
            gain[i - from] = now;
        if (i >= from + shortest && i + shortest <= to && now > best.gain)
            best = (struct best){i, i, i, now};
        for (size_t e = table->begin[i]; e < table->begin[i + 1]; e++) {
            add(sides, 1, &table->entry[e], -1);
            add(sides, 0, &table->entry[e], 1);
        }
    }
    for (size_t e = table->begin[from]; e < table->begin[to]; e++) {
        size_t left = table->entry[e].symbol, right = sides->mix->width + left;

        sides->count[left] = sides->count[right] = 0;
        sides->own[left] = sides->own[right] = 0;
    }
    return best;
}

/* --- all lengths ------------------------------------------------------------------------------ */

static void note_cut(struct search *search, size_t at)
{
    search->at = rps_arena_grow(search->arena, search->at, search->count, sizeof(*search->at));
    search->at[search->count++] = at;
}

/* Cut in intervals of a table whose rows are `scale` observations each. */
static void cut_intervals(struct search *search, const struct rps_count_table *table, size_t scale)
{
    size_t least = scale > 1 ? LENGTH_MOST / SCALE * 2 : LENGTH_LEAST;

    for (size_t length = least; length <= LENGTH_MOST && length / 2 < table->count; length *= 2) {
        for (size_t from = 0; from + length / 2 < table->count; from += length / 2) {
            size_t to = from + length < table->count ? from + length : table->count;
            struct best best =
                cut_in_two(&search->sides, table, from, to, scale > 1 ? 1 : SHORTEST, NULL);

            if (best.gain > search->price)
                note_cut(search, best.at * scale);
        }
    }
}

/* The same table, SCALE rows in one. */
static struct rps_count_table coarsen(const struct rps_count_table *table)
{
    size_t entries = table->begin[table->count];
    struct rps_count *counts = rps_arena_loose(entries + 1, sizeof(*counts));

    for (size_t e = 0; e < entries; e++) {
        counts[e] = table->entry[e];
        counts[e].observation /= SCALE;
    }
    return rps_count_table_make((table->count + SCALE - 1) / SCALE, table->width, table->divisor,
                                counts, entries);
}

static void cut_all_lengths(struct search *search, const struct rps_count_table *table)
{
    struct rps_count_table coarse = {0};

    cut_intervals(search, table, 1);
    for (size_t scale = SCALE; table->count > LENGTH_MOST; scale *= SCALE) {
        struct rps_count_table next = coarsen(table);

        rps_count_table_free(&coarse);
        coarse = next;
        table = &coarse;
        cut_intervals(search, table, scale);
    }
    rps_count_table_free(&coarse);
}

/* --- the cuts that are best together ---------------------------------------------------------- */

static int compare_places(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

/* The places in order, each once, with the ends and what the signals were broken at. */
static void arrange(struct search *search)
{
    const struct rps_signals *signals = search->signals;
    size_t kept = 0;

    note_cut(search, 0);
    note_cut(search, signals->count);
    for (size_t i = 1; signals->broken && i < signals->count; i++) {
        if (signals->broken[i])
            note_cut(search, i);
    }
    qsort(search->at, search->count, sizeof(*search->at), compare_places);
    for (size_t i = 0; i < search->count; i++) {
        if (kept == 0 || search->at[i] > search->at[kept - 1])
            search->at[kept++] = search->at[i];
    }
    search->count = kept;
}

/* Dynamic programming over places. */
struct path {
    double *before; /* counts before each place: before[place * width + symbol] */
    double *cost;   /* of all up to each place */
    size_t *from;   /* the place before it on the best way */
    size_t *alive;  /* places that a stretch may begin at */
    double *via;    /* scratch, of each alive one */
};

static void count_before(const struct search *search, const struct rps_count_table *table,
                         struct path *path)
{
    size_t width = table->width;

    for (size_t p = 1; p < search->count; p++) {
        double *now = path->before + p * width;

        memcpy(now, now - width, width * sizeof(*now));
        for (size_t e = table->begin[search->at[p - 1]]; e < table->begin[search->at[p]]; e++)
            now[table->entry[e].symbol] += (double)table->entry[e].count;
    }
}

static double cost_between(const struct rps_mix *mix, const double *a, const double *b)
{
    double cost = 0, all = 0;

    for (size_t k = 0; k < mix->width; k++) {
        double count = b[k] - a[k];

        if (count > 0) {
            all += count;
            cost -= rps_mix_rise(mix, k, count);
        }
    }
    return cost + rps_mix_rise(mix, mix->width, all);
}

size_t rps_counts_drop_hopeless(size_t *alive, double *via, size_t count, double reached)
{
    size_t kept = 0;

    for (size_t a = 0; a < count; a++) {
        if (via[a] > reached)
            continue;
        alive[kept] = alive[a];
        via[kept++] = via[a];
    }
    while (kept > BEFORE_MAX) {
        size_t worst = 0;

        for (size_t a = 1; a < kept; a++)
            worst = via[a] > via[worst] ? a : worst;
        kept--;
        memmove(alive + worst, alive + worst + 1, (kept - worst) * sizeof(*alive));
        memmove(via + worst, via + worst + 1, (kept - worst) * sizeof(*via));
    }
    return kept;
}

static void find_path(const struct search *search, size_t shortest, struct path *path)
{
    const uint8_t *broken = search->signals->broken;
    size_t width = search->mix.width, alive = 1;
    double slack = search->price + 8;

    for (size_t p = 1; p < search->count; p++) {
        double least = INFINITY;
        size_t at = search->at[p];
        int must = at == search->signals->count || (broken && broken[at]);

        for (size_t a = 0; a < alive; a++) {
            size_t from = path->alive[a];
            double cost = path->cost[from] + cost_between(&search->mix, path->before + from * width,
                                                          path->before + p * width);

            path->via[a] = cost;
            if (at - search->at[from] < shortest && !must)
                continue;
            if (cost < least) {
                least = cost;
                path->from[p] = from;
            }
        }
        path->cost[p] = least + search->price;
        if (must)
            alive = 0;
        else if (isfinite(least))
            alive = rps_counts_drop_hopeless(path->alive, path->via, alive, least + slack);
        else
            continue;
        path->alive[alive++] = p;
    }
}

static void choose_cuts(struct search *search, const struct rps_count_table *table, size_t shortest)
{
    struct rps_arena *scratch = rps_arena_new();
    struct path path;
    size_t kept = 0;

    arrange(search);
    path = (struct path){
        .before = rps_arena_get(scratch, search->count * table->width, sizeof(*path.before)),
        .cost = rps_arena_get(scratch, search->count, sizeof(*path.cost)),
        .from = rps_arena_get(scratch, search->count, sizeof(*path.from)),
        .alive = rps_arena_get(scratch, search->count + 1, sizeof(*path.alive)),
        .via = rps_arena_get(scratch, search->count + 1, sizeof(*path.via)),
    };
    count_before(search, table, &path);
    find_path(search, shortest, &path);
    for (size_t p = search->count - 1; p > 0; p = path.from[p]) /* from the last one back */
        path.alive[kept++] = search->at[p];
    search->count = 0;
    search->at[search->count++] = 0;
    while (kept > 0)
        search->at[search->count++] = path.alive[--kept];
    rps_arena_free(scratch);
}

/* --- where they lie --------------------------------------------------------------------------- */

/* Move a cut to where it is best between its neighbours. */
static struct rps_cut place_cut(struct search *search, const struct rps_count_table *table,
                                size_t from, size_t to, size_t shortest, double *gain)
{
    struct best best = cut_in_two(&search->sides, table, from, to, shortest, gain);
    struct rps_cut cut = {best.at, best.at, best.at};

    if (best.at == 0)
        return cut;
    while (cut.earliest > from + 1 && gain[cut.earliest - 1 - from] > best.gain - PLACE_SLACK)
        cut.earliest--;
    while (cut.latest + 1 < to && gain[cut.latest + 1 - from] > best.gain - PLACE_SLACK)
        cut.latest++;
    return cut;
}

static struct rps_cuts place_cuts(struct search *search, const struct rps_count_table *table,
                                  size_t shortest)
{
    const uint8_t *broken = search->signals->broken;
    double *gain = rps_arena_get(search->arena, table->count, sizeof(*gain));
    struct rps_cuts ret = {.cut = rps_arena_get(search->arena, search->count, sizeof(*ret.cut))};

    for (size_t c = 1; c + 1 < search->count; c++) {
        size_t at = search->at[c];
        struct rps_cut cut = {0};

        if (!broken || !broken[at])
            cut = place_cut(search, table, search->at[c - 1], search->at[c + 1], shortest, gain);
        if (cut.at > 0) {
            search->at[c] = cut.at;
            ret.cut[ret.count++] = cut;
        }
    }
    return ret;
}

/* --- all of it -------------------------------------------------------------------------------- */

struct rps_cuts rps_counts_find_cuts(struct rps_arena *arena, const struct rps_signals *signals,
                                     const struct rps_count_table *table, size_t shortest)
{
    struct search search = {.arena = arena,
                            .signals = signals,
                            .mix = rps_mix_make(arena, table),
                            .price = PRICE * log((double)signals->count + 1)};

    shortest = shortest > SHORTEST ? shortest : SHORTEST;
    search.sides = (struct sides){
        .mix = &search.mix,
        .count = rps_arena_get(arena, 2 * table->width, sizeof(*search.sides.count)),
        .own = rps_arena_get(arena, 2 * table->width, sizeof(*search.sides.own)),
    };
    cut_all_lengths(&search, table);
    choose_cuts(&search, table, shortest);
    return place_cuts(&search, table, shortest);
}
