/* Find where the mix of a table changes.
 *
 * Intervals of many lengths are each cut in two at the place with the largest gain (Kovacs et al.
 * 2023, seeded binary segmentation). So for each change there is an interval that contains no other
 * change. The cuts with the least total cost are kept. Each cut is then moved to its best place
 * between its neighbours. In long intervals, SCALE observations form one row. Therefore the time of
 * the search is linear in the number of observations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "rpistat/arena.h"
#include "rpistat/count_table.h"

/* Shortest and longest interval that is cut in two, in rows. Each length is twice the previous
 * length, and the starts of neighbouring intervals are a quarter of the length apart. In runs of
 * more than RPS_CUTS_DENSE_MAX observations, each length is four times the previous length. The
 * starts of intervals are then half of the length apart. */
#define LENGTH_MIN 8
#define LENGTH_MAX 64

/* In longer intervals, this many observations form one row. */
#define SCALE 8

/* Shortest segment, in rows. */
#define SHORTEST 3

/* A path to a place is dropped if its cost exceeds the cost of the best path by more than the price
 * plus SLACK. */
#define SLACK 8

/* A cut may also be at a place whose gain is below the maximum gain by at most PLACE_SLACK. */
#define PLACE_SLACK 3.0

/* Counts cannot place a cut among rows without counts, but CPU use can: other places are left out
 * if they are less likely by more than USE_SLACK. This slack is larger because CPU use is
 * correlated. Variation below the share USE_FLOOR is ignored. */
#define USE_SLACK 6.0
#define USE_FLOOR 1e-3

/* Counts on both sides of a cut. */
struct sides {
    const struct rps_mix *mix;
    double *count; /* count[side * width + symbol]; side 0 is the left side */
    double *own;   /* own[side * width + symbol]: rise of each symbol's cost (rps_mix_rise) */
    double all[2];
    double rise[2]; /* sum of `own` on each side */
};

struct search {
    struct rps_arena *arena;
    const struct rps_signals *signals;
    struct rps_mix mix;
    struct sides sides;
    double price;
    size_t *at; /* observation of each cut */
    size_t count;
    double *before; /* counts before each cut, while cuts are chosen */
};

/* --- the best cut of a segment ---------------------------------------------------------------- */

static void add(struct sides *sides, int side, const struct rps_count *entry, double sign)
{
    size_t at = (size_t)side * sides->mix->width + entry->symbol;

    sides->count[at] += sign * (double)entry->count;
    sides->rise[side] -= sides->own[at];
    sides->own[at] =
        rps_mix_rise(sides->mix, entry->symbol, sides->count[at] > 0 ? sides->count[at] : 0);
    sides->rise[side] += sides->own[at];
    sides->all[side] += sign * (double)entry->count;
}

static double value(const struct sides *sides, int side)
{
    return sides->rise[side] -
           rps_mix_rise(sides->mix, sides->mix->width, sides->all[side] > 0 ? sides->all[side] : 0);
}

struct best {
    size_t at, earliest, latest; /* observation numbers of the cut; 0: no cut was found */
    double gain;
};

/* Cut the rows from ... to - 1 in two segments of at least `shortest` rows. If `gain` is not NULL,
 * store in `gain` the gain of a cut at each place. */
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

/* Cut each interval of a table with `scale` observations per row. */
static void cut_intervals(struct search *search, const struct rps_count_table *table, size_t scale)
{
    const size_t least = scale > 1 ? LENGTH_MAX / SCALE * 2 : LENGTH_MIN;
    const size_t factor = search->signals->count <= RPS_CUTS_DENSE_MAX ? 2 : 4;

    for (size_t length = least; length <= LENGTH_MAX && length / 2 < table->count;
         length *= factor) {
        for (size_t from = 0; from + length / 2 < table->count; from += factor * length / 8) {
            size_t to = from + length < table->count ? from + length : table->count;
            struct best best =
                cut_in_two(&search->sides, table, from, to, scale > 1 ? 1 : SHORTEST, NULL);

            if (best.gain > search->price)
                note_cut(search, best.at * scale);
        }
    }
}

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
    for (size_t scale = SCALE; table->count > LENGTH_MAX; scale *= SCALE) {
        struct rps_count_table next = coarsen(table);

        rps_count_table_free(&coarse);
        coarse = next;
        table = &coarse;
        cut_intervals(search, table, scale);
    }
    rps_count_table_free(&coarse);
}

/* --- the best cuts together ------------------------------------------------------------------- */

RPS_ARRAY_ORDER(compare_places, size_t, )

/* Sort the places and remove duplicates. Also add as places both ends of the run and its gaps
 * (signals->broken). */
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

/* Store the counts before each place in ret[place * width + symbol]. */
static void count_before(const struct search *search, const struct rps_count_table *table,
                         double *ret)
{
    size_t width = table->width;

    for (size_t p = 1; p < search->count; p++) {
        double *now = ret + p * width;

        memcpy(now, now - width, width * sizeof(*now));
        for (size_t e = table->begin[search->at[p - 1]]; e < table->begin[search->at[p]]; e++)
            now[table->entry[e].symbol] += (double)table->entry[e].count;
    }
}

static double cost_between(const void *context, size_t from, size_t to)
{
    const struct search *search = context;
    const struct rps_mix *mix = &search->mix;
    const double *a = search->before + from * mix->width, *b = search->before + to * mix->width;
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

static void choose_cuts(struct search *search, const struct rps_count_table *table, size_t shortest)
{
    struct rps_arena *scratch = rps_arena_new();
    size_t count = search->count, *chosen = rps_arena_get(scratch, count, sizeof(*chosen));
    const struct rps_count_path path = {.context = search,
                                        .cost = cost_between,
                                        .at = search->at,
                                        .count = count,
                                        .broken = search->signals->broken,
                                        .shortest = shortest,
                                        .price = search->price,
                                        .slack = search->price + SLACK};

    search->before = rps_arena_get(scratch, count * table->width, sizeof(*search->before));
    count_before(search, table, search->before);
    count = rps_counts_best_path(&path, chosen);
    search->count = 0;
    for (size_t k = 0; k <= count; k++)
        search->at[search->count++] = search->at[chosen[k]];
    rps_arena_free(scratch);
}

/* --- places ----------------------------------------------------------------------------------- */

/* Return by how much two means reduce the squared differences of n values with this sum. The first
 * `part` values have the sum `left`. */
static double reduction(double left, double part, double sum, double n)
{
    return pow(left - part / n * sum, 2) * n / part / (n - part);
}

/* Narrow the range of a cut to the places at which CPU use may change. */
static void narrow_by_use(const struct rps_signals *signals, size_t from, struct rps_cut *cut)
{
    const double *use = &signals->value[(signals->use_signal - 1) * signals->count];
    const double n = (double)(cut->latest + 1 - from);
    double sum = 0, squares = 0, before = 0, left = 0, own;

    for (size_t i = from; i <= cut->latest; i++) {
        sum += use[i];
        squares += use[i] * use[i];
        before += i < cut->at ? use[i] : 0;
    }
    squares -= sum * sum / n;
    own = reduction(before, (double)(cut->at - from), sum, n);
    for (size_t i = from; i <= cut->latest; left += use[i++]) {
        const double other = reduction(left, (double)(i - from), sum, n);
        const double floor = USE_FLOOR * squares;

        if (i < cut->earliest ||
            !(n / 2 * log((squares - other + floor) / (squares - own + floor)) > USE_SLACK))
            continue;
        if (i > cut->at)
            cut->latest = i - 1;
        else
            cut->earliest = i + 1;
    }
}

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
    if (cut.latest > cut.at && search->signals->use_signal > 0)
        narrow_by_use(search->signals, from, &cut);
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

/* --- everything together ---------------------------------------------------------------------- */

struct rps_cuts rps_counts_find_cuts(struct rps_arena *arena, const struct rps_signals *signals,
                                     const struct rps_count_table *table, size_t shortest,
                                     double price)
{
    struct search search = {.arena = arena,
                            .signals = signals,
                            .mix = rps_mix_make(arena, table),
                            .price = price * log((double)signals->count + 1)};

    shortest = shortest > SHORTEST ? shortest : SHORTEST;
    search.sides = (struct sides){
        .mix = &search.mix,
        .count = rps_arena_get(arena, 2 * table->width, sizeof(*search.sides.count)),
        .own = rps_arena_get(arena, 2 * table->width, sizeof(*search.sides.own)),
    };
    cut_all_lengths(&search, table);
    arrange(&search);
    choose_cuts(&search, table, shortest);
    return place_cuts(&search, table, shortest);
}
