/*
 * Fine phases by signals and counts together; see counts.h.
 *
 * The boundaries of the signals and those of the tables are candidates, more than there are phases.
 * Those with the least total cost remain, each at a price. The cost is that of the tree of levels
 * (levels_tree.h), of the signals' values and of the counts. A compiler that runs a hundred times
 * causes changes that are certain but are not phases to a user. So the weakest remaining boundaries
 * are dropped until each is visible.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "counts_classes.h"
#include "levels_tree.h"

/* Boundaries of signals with a lower confidence are not candidates. */
#define SURE_MIN .5

/* Two boundaries within so many observations are one. */
#define NEAR 2

/* Cost of a boundary, in ln n. With 1 there were twice as many in programs of one phase. */
#define PRICE 1.5

/* Price of a candidate in a table, in ln n: for segments that pay one by one, and for classes. */
#define CUT_PRICE      .7
#define CUT_PRICE_RICH .3

/* Classes are not searched for if there are more leaves. */
#define LEAVES_MAX 2000

/* Segments by recurring classes replace those that pay one by one if a class has so many segments
 * on average. */
#define RECUR_MIN 4

/* A boundary is visible if this share of the counts changes symbols. It is also visible if a
 * signal's values differ by so many deviations of its noise. For segments longer than LONG fewer
 * deviations are enough, but at least DEVIATIONS_LEAST. */
#define SHARE_APART      .15
#define DEVIATIONS_APART 2.0
#define DEVIATIONS_LEAST 1.0
#define LONG             100.0

/* Counts are compared in this part of each segment, next to the boundary, but at least in so many
 * observations. A mix that changes slowly differs from one end of a run to the other, and has no
 * boundaries. */
#define BESIDE_PART  4
#define BESIDE_LEAST 60

/* A program's start and end are not phases: so many observations, or this share of the run. */
#define END_OBSERVATIONS 10
#define END_SHARE        .02

struct refining {
    struct rps_arena *arena;
    const struct rps_signals *signals;
    struct rps_phases candidates;
    struct rps_level_tree tree;
    struct rps_moments3 *left, *right; /* scratch */
    struct rps_moments3 *beside;       /* scratch */
    size_t count;                      /* segments */
    size_t *first;                     /* leaves that they begin at; [count]: leaves */
    double price;
    size_t shortest; /* minimum length of a segment, in observations */
};

/* --- candidates ------------------------------------------------------------------------------- */

static int compare_places(const void *a, const void *b)
{
    uint64_t x = ((const struct rps_phase *)a)->first, y = ((const struct rps_phase *)b)->first;

    return (x > y) - (x < y);
}

/* Add a phase that begins at a cut, unless one begins there already. The first `sorted` phases are
 * those of signals, in order. */
static void add_cut(struct rps_phases *phases, size_t sorted, const struct rps_cut *cut)
{
    size_t low = 0, high = sorted;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (phases->phase[middle].first + NEAR < cut->at)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < sorted && phases->phase[low].first <= cut->at + NEAR)
        return;
    phases->phase[phases->count++] =
        (struct rps_phase){.first = cut->at, .earliest = cut->earliest, .latest = cut->latest};
}

static int is_broken(const struct refining *r, size_t at)
{
    return at == 0 || (r->signals->broken && r->signals->broken[at]);
}

/* Collect the phases that begin where a signal's or a table's phases do. */
static void gather(struct refining *r, double price, const struct rps_phases *fine)
{
    struct rps_phases *out = &r->candidates;
    size_t tables = r->signals->table_count, room = fine->count;
    struct rps_cuts *cuts = rps_arena_get(r->arena, tables, sizeof(*cuts));

    for (size_t t = 0; t < tables; t++) {
        cuts[t] =
            rps_counts_find_cuts(r->arena, r->signals, &r->signals->table[t], r->shortest, price);
        room += cuts[t].count;
    }
    out->phase = rps_arena_get(r->arena, room, sizeof(*out->phase));
    for (size_t k = 0; k < fine->count; k++) {
        if (fine->phase[k].confidence >= SURE_MIN || is_broken(r, fine->phase[k].first))
            out->phase[out->count++] = fine->phase[k];
    }
    for (size_t t = 0; t < tables; t++) {
        size_t sorted = out->count;

        for (size_t c = 0; c < cuts[t].count; c++)
            add_cut(out, sorted, &cuts[t].cut[c]);
        qsort(out->phase, out->count, sizeof(*out->phase), compare_places);
    }
    for (size_t k = 0; k < out->count; k++) {
        out->phase[k].label = (int)k; /* none is like another yet */
        out->phase[k].confidence = 1;
        out->phase[k].last =
            k + 1 < out->count ? out->phase[k + 1].first - 1 : r->signals->count - 1;
    }
    out->outlier = fine->outlier;
    out->outlier_count = fine->outlier_count;
}

/* cut_price: the gain that a candidate in a table must have, in ln n. */
static struct refining refining_make(struct rps_arena *arena, const struct rps_signals *signals,
                                     size_t shortest, double cut_price,
                                     const struct rps_phases *fine)
{
    struct refining r = {.arena = arena,
                         .signals = signals,
                         .shortest = shortest,
                         .price = PRICE * log((double)signals->count + 1)};

    gather(&r, cut_price, fine);
    r.tree = rps_level_tree_make(arena, signals, &r.candidates);
    r.left = rps_arena_get(arena, r.tree.width, sizeof(*r.left));
    r.right = rps_arena_get(arena, r.tree.width, sizeof(*r.right));
    r.beside = rps_arena_get(arena, 2 * r.tree.width, sizeof(*r.beside));
    r.first = rps_arena_get(arena, r.tree.count + 2, sizeof(*r.first));
    return r;
}

/* --- segments that pay ------------------------------------------------------------------------ */

static double cost_of(const void *context, size_t from, size_t to)
{
    const struct refining *r = context;

    rps_level_tree_moments(&r->tree, from, to, r->left);
    return rps_level_tree_cost(&r->tree, r->left);
}

/* Return the length in observations of the leaves from ... to - 1. */
static size_t length_of(const struct refining *r, size_t from, size_t to)
{
    return r->tree.leaf[to - 1].last - r->tree.leaf[from].first + 1;
}

static void choose(struct refining *r)
{
    size_t *at = rps_arena_get(r->arena, r->tree.count + 1, sizeof(*at));
    const struct rps_count_path path = {.context = r,
                                        .cost = cost_of,
                                        .at = at,
                                        .count = r->tree.count + 1,
                                        .broken = r->signals->broken,
                                        .shortest = r->shortest,
                                        .price = r->price,
                                        .slack = 2 * r->price};

    for (size_t k = 0; k < r->tree.count; k++)
        at[k] = r->tree.leaf[k].first;
    at[r->tree.count] = r->signals->count;
    r->count = rps_counts_best_path(&path, r->first);
}

/* --- visible boundaries ----------------------------------------------------------------------- */

/* Put the counts of the symbols in observations from ... to - 1 into ret. */
static void count_in(const struct rps_count_table *table, size_t from, size_t to,
                     struct rps_moments3 *ret)
{
    memset(ret, 0, table->width * sizeof(*ret));
    for (size_t e = table->begin[from]; e < table->begin[to]; e++)
        ret[table->entry[e].symbol].weight += (double)table->entry[e].count;
}

/* Return how many observations of a segment of this length are compared next to a boundary. */
static size_t beside(size_t length)
{
    size_t part = length / BESIDE_PART > BESIDE_LEAST ? length / BESIDE_PART : BESIDE_LEAST;

    return part < length ? part : length;
}

/* Return the share of the counts that are other symbols on the other side of `at`. */
static double share_apart(struct refining *r, size_t t, size_t from, size_t at, size_t to)
{
    const struct rps_count_table *table = &r->signals->table[t];

    count_in(table, at - beside(at - from), at, r->beside);
    count_in(table, at, at + beside(to - at), r->beside + table->width);
    return rps_level_tree_share_apart(&r->tree.mix[t], r->beside, r->beside + table->width);
}

/* Return how many deviations of its noise a signal's values are apart. */
static double deviations_apart(const struct rps_level_tree *tree, size_t s,
                               const struct rps_moments3 *a, const struct rps_moments3 *b)
{
    double worth = tree->worth[s];

    if (!(worth > 0) || !(a->weight > 0) || !(b->weight > 0))
        return 0;
    if (s == tree->width - 1) /* the number of seen signals is worth as much as all signals */
        worth /= (double)tree->signals;
    return fabs(a->sum / a->weight - b->sum / b->weight) / sqrt(tree->floor[s] / (2 * worth));
}

/* Return how visible the boundary before segment k is; below 1: not enough. */
static double plainness(struct refining *r, size_t k)
{
    const struct rps_level_tree *tree = &r->tree;
    size_t before = length_of(r, r->first[k - 1], r->first[k]), at = tree->width - 1;
    size_t behind = length_of(r, r->first[k], r->first[k + 1]);
    double most = DEVIATIONS_APART * sqrt(LONG / (double)(before < behind ? before : behind));
    size_t begin = tree->leaf[r->first[k]].first;
    double plain = 0;

    if (is_broken(r, begin))
        return INFINITY;
    if (before < r->shortest || behind < r->shortest)
        return 0;
    most = fmin(fmax(most, DEVIATIONS_LEAST), DEVIATIONS_APART);
    rps_level_tree_moments(tree, r->first[k - 1], r->first[k], r->left);
    rps_level_tree_moments(tree, r->first[k], r->first[k + 1], r->right);
    for (size_t t = 0; t < tree->mix_count; t++)
        plain = fmax(plain, share_apart(r, t, begin - before, begin, begin + behind) / SHARE_APART);
    for (size_t s = 0; s < tree->signals; s++)
        plain = fmax(plain, deviations_apart(tree, s, &r->left[s], &r->right[s]) / most);
    return fmax(plain, deviations_apart(tree, at, &r->left[at], &r->right[at]) / most);
}

/* Join segments k - 1 and k. */
static void join(struct refining *r, double *plain, size_t k)
{
    size_t behind = r->count - k;

    memmove(r->first + k, r->first + k + 1, behind * sizeof(*r->first));
    memmove(plain + k, plain + k + 1, (behind - 1) * sizeof(*plain));
    r->count--;
    if (k > 1)
        plain[k - 1] = plainness(r, k - 1);
    if (k < r->count)
        plain[k] = plainness(r, k);
}

static void drop_unseen(struct refining *r)
{
    double *plain = rps_arena_get(r->arena, r->count + 1, sizeof(*plain));

    for (size_t k = 1; k < r->count; k++)
        plain[k] = plainness(r, k);
    while (r->count > 1) {
        size_t least = 1;

        for (size_t k = 2; k < r->count; k++)
            least = plain[k] < plain[least] ? k : least;
        if (plain[least] >= 1)
            break;
        join(r, plain, least);
    }
}

/* Return the end of the run that observation `at` belongs to. */
static size_t end_of_run(const struct refining *r, size_t at)
{
    const uint8_t *broken = r->signals->broken;
    size_t end = at + 1;

    while (broken && end < r->signals->count && broken[end] != RPS_BROKEN_RUN)
        end++;
    return broken ? end : r->signals->count;
}

/* Drop the boundaries close to an end of a run. */
static void drop_ends(struct refining *r)
{
    size_t kept = 1, begin = 0, end = end_of_run(r, 0);

    for (size_t k = 1; k < r->count; k++) {
        size_t at = r->tree.leaf[r->first[k]].first;
        double least;

        if (at >= end) {
            begin = at;
            end = end_of_run(r, at);
        }
        least = fmin(END_OBSERVATIONS, END_SHARE * (double)(end - begin));
        if (is_broken(r, at) || ((double)(at - begin) >= least && (double)(end - at) >= least))
            r->first[kept++] = r->first[k];
    }
    r->count = kept;
    r->first[kept] = r->tree.count;
}

/* --- classes ---------------------------------------------------------------------------------- */

/* Set the segments by the classes that recur. Returns 0 if the segments of `usual` describe the run
 * better. */
static int choose_by_classes(struct refining *r, const struct refining *usual)
{
    const struct rps_count_classes classes = rps_counts_find_classes(r->arena, &r->tree, r->price);
    double cost = 0;

    for (size_t k = 0; k < r->tree.count; k++) {
        if (k == 0 || r->tree.broken[k] || classes.class[k] != classes.class[k - 1])
            r->first[r->count++] = k;
    }
    r->first[r->count] = r->tree.count;
    for (size_t k = 0; k < usual->count; k++)
        cost += cost_of(usual, usual->first[k], usual->first[k + 1]) + usual->price;
    return classes.cost < cost && r->count >= RECUR_MIN * classes.count;
}

/* --- everything together ---------------------------------------------------------------------- */

/* Return the confidence in the boundary before segment k, by the cost that it saves. */
static double sureness(struct refining *r, size_t k)
{
    double saved = cost_of(r, r->first[k - 1], r->first[k + 1]) -
                   cost_of(r, r->first[k - 1], r->first[k]) -
                   cost_of(r, r->first[k], r->first[k + 1]) - r->price;

    return fmax(floor(1e4 / (1 + exp(-saved)) + .5) / 1e4, SURE_MIN);
}

/* Drop segments that are not phases. */
static void finish(struct refining *r)
{
    drop_unseen(r);
    drop_ends(r);
}

static void give(struct refining *r, struct rps_phases *fine)
{
    struct rps_phase *phase = rps_arena_loose(r->count, sizeof(*phase));

    for (size_t k = 0; k < r->count; k++) {
        phase[k] = r->tree.leaf[r->first[k]];
        phase[k].last = r->tree.leaf[r->first[k + 1] - 1].last;
        phase[k].label = (int)k;
        phase[k].label_confidence = 1;
        phase[k].confidence = is_broken(r, phase[k].first) ? 1 : sureness(r, k);
    }
    free(fine->phase);
    fine->phase = phase;
    fine->count = r->count;
    fine->label_count = (int)r->count;
}

void rps_counts_refine(const struct rps_signals *signals, size_t shortest, struct rps_phases *fine)
{
    struct rps_arena *arena = rps_arena_new();
    struct refining r = refining_make(arena, signals, shortest, CUT_PRICE, fine), by_classes;

    choose(&r);
    finish(&r);
    if (signals->count <= RPS_CUTS_DENSE_MAX && r.tree.count <= LEAVES_MAX) {
        by_classes = refining_make(arena, signals, shortest, CUT_PRICE_RICH, fine);
        if (by_classes.tree.count <= LEAVES_MAX && choose_by_classes(&by_classes, &r)) {
            finish(&by_classes);
            r = by_classes;
        }
    }
    give(&r, fine);
    rps_arena_free(arena);
}
