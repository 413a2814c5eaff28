/* Find fine phases from signals and counts together; see counts.h.
 *
 * The boundaries of the signals and of the tables are candidates. There are more candidates than
 * phases. The subset of candidates with the least total cost is chosen. The total cost is the cost
 * of the signals' values and of the counts (levels_tree.h), and a price per boundary. A compiler
 * that runs a hundred times causes real changes that a user does not see as phases. So the weakest
 * boundary is dropped again and again, until every boundary is visible. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "counts_classes.h"
#include "levels_tree.h"
#include "rpistat/arena.h"

/* Minimum confidence of a signal boundary that becomes a candidate. */
#define SURE_MIN .5

/* Boundaries whose distance is at most this many observations are treated as one boundary. */
#define NEAR 2

/* Price of a boundary, in units of ln(number of observations). With a price of 1, programs with one
 * phase had twice as many boundaries. */
#define PRICE 1.5

/* Price of a candidate in a table, in units of ln(number of observations). CUT_PRICE_RICH is the
 * lower price that applies if classes recur. */
#define CUT_PRICE      .7
#define CUT_PRICE_RICH .3

/* Maximum number of leaves for which recurring classes are searched. */
#define LEAVES_MAX 2000

/* Minimum mean number of segments per class. If the mean is lower, recurring classes do not
 * determine the segments. */
#define RECUR_MIN 4

/* A boundary is visible if at least this share of the counts moves to other symbols. A boundary is
 * also visible if a signal differs by at least DEVIATIONS_APART deviations of its noise. In
 * segments of more than LONG observations fewer are enough, but at least DEVIATIONS_MIN. */
#define SHARE_APART      .15
#define DEVIATIONS_APART 2.0
#define DEVIATIONS_MIN   1.0
#define LONG             25.0

/* Page faults and memory make a boundary visible only if both segments have at least this length:
 * the smaller of a number of observations and a share of the run. Shorter segments are pieces of
 * other work that touches new memory, as at its start, unless classes recur. */
#define MEMORY_OBSERVATIONS 50
#define MEMORY_SHARE        .05

/* Only counts near the boundary are compared: in 1 / BESIDE_PART of each segment, but at least in
 * BESIDE_MIN observations. Otherwise a mix that changes slowly would seem to have a boundary,
 * because it differs between the start and the end of a run. */
#define BESIDE_PART 4
#define BESIDE_MIN  60

/* Length of a program's start and end, which are not phases: in observations, and as a share of the
 * run. The smaller of both lengths is used. */
#define END_OBSERVATIONS 10
#define END_SHARE        .02

struct refining {
    struct rps_arena *arena;
    const struct rps_signals *signals;
    struct rps_phases candidates;
    struct rps_level_tree tree;
    struct rps_moments3 *left, *right; /* scratch for moments of both sides */
    struct rps_moments3 *beside;       /* scratch for moments near a boundary */
    size_t count;                      /* number of segments */
    size_t *first;                     /* first leaf of each segment; first[count]: all leaves */
    double price;
    size_t shortest; /* minimum length of a segment, in observations */
    int recurs;      /* 1: the segments were chosen by recurring classes */
};

/* --- candidates ------------------------------------------------------------------------------- */

RPS_ARRAY_ORDER(compare_places, struct rps_phase, .first)

/* Add a phase that begins at a cut, unless a phase already begins there. The first `sorted` phases
 * were found from signals and are in order of time. */
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

/* Collect the candidate phases, which begin where a signal's phase or a table's cut begins. */
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
        out->phase[k].label = (int)k; /* at first, all labels differ */
        out->phase[k].confidence = 1;
        out->phase[k].last =
            k + 1 < out->count ? out->phase[k + 1].first - 1 : r->signals->count - 1;
    }
    out->outlier = fine->outlier;
    out->outlier_count = fine->outlier_count;
}

/* `cut_price` is the minimum gain of a table's candidate, in ln(number of observations). */
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

/* Return the number of observations in the leaves from ... to - 1. */
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

/* Store in ret how often each symbol was counted in the observations from ... to - 1. */
static void count_in(const struct rps_count_table *table, size_t from, size_t to,
                     struct rps_moments3 *ret)
{
    memset(ret, 0, table->width * sizeof(*ret));
    for (size_t e = table->begin[from]; e < table->begin[to]; e++)
        ret[table->entry[e].symbol].weight += (double)table->entry[e].count;
}

/* Return how many observations are compared on a side of a boundary in a segment of `length`. */
static size_t beside(size_t length)
{
    size_t part = length / BESIDE_PART > BESIDE_MIN ? length / BESIDE_PART : BESIDE_MIN;

    return part < length ? part : length;
}

/* Return the share of the counts by which the mixes before and after `at` differ. */
static double share_apart(struct refining *r, size_t t, size_t from, size_t at, size_t to)
{
    const struct rps_count_table *table = &r->signals->table[t];

    count_in(table, at - beside(at - from), at, r->beside);
    count_in(table, at, at + beside(to - at), r->beside + table->width);
    return rps_level_tree_share_apart(&r->tree.mix[t], r->beside, r->beside + table->width);
}

/* Return the difference between a signal's means on both sides of a boundary, in standard
 * deviations of the signal's noise. */
static double deviations_apart(const struct rps_level_tree *tree, size_t s,
                               const struct rps_moments3 *a, const struct rps_moments3 *b)
{
    double worth = tree->worth[s];

    if (!(worth > 0) || !(a->weight > 0) || !(b->weight > 0))
        return 0;
    if (s == tree->width - 1) /* the last column is the number of seen signals; it weighs as much
                                 as all signals together */
        worth /= (double)tree->signals;
    return fabs(a->sum / a->weight - b->sum / b->weight) / sqrt(tree->floor[s] / (2 * worth));
}

/* Return 1 if the signal may not make a boundary of a segment of this length visible. */
static int is_hidden(const struct refining *r, size_t s, size_t length)
{
    const struct rps_signals *signals = r->signals;
    double least = fmin(MEMORY_OBSERVATIONS, MEMORY_SHARE * (double)signals->count);

    return !r->recurs && (double)length < least &&
           (s + 1 == signals->memory_signal || s + 1 == signals->fault_signal);
}

/* Return how visible the boundary before segment k is. A value below 1 is not visible enough. */
static double plainness(struct refining *r, size_t k)
{
    const struct rps_level_tree *tree = &r->tree;
    size_t before = length_of(r, r->first[k - 1], r->first[k]), at = tree->width - 1;
    size_t behind = length_of(r, r->first[k], r->first[k + 1]);
    size_t shorter = before < behind ? before : behind;
    double most = DEVIATIONS_APART * sqrt(LONG / (double)shorter);
    size_t begin = tree->leaf[r->first[k]].first;
    double plain = 0;

    if (is_broken(r, begin))
        return INFINITY;
    if (shorter < r->shortest)
        return 0;
    most = fmin(fmax(most, DEVIATIONS_MIN), DEVIATIONS_APART);
    rps_level_tree_moments(tree, r->first[k - 1], r->first[k], r->left);
    rps_level_tree_moments(tree, r->first[k], r->first[k + 1], r->right);
    for (size_t t = 0; t < tree->mix_count; t++)
        plain = fmax(plain, share_apart(r, t, begin - before, begin, begin + behind) / SHARE_APART);
    for (size_t s = 0; s < tree->signals; s++) {
        if (!is_hidden(r, s, shorter))
            plain = fmax(plain, deviations_apart(tree, s, &r->left[s], &r->right[s]) / most);
    }
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

static size_t end_of_run(const struct refining *r, size_t at)
{
    const uint8_t *broken = r->signals->broken;
    size_t end = at + 1;

    while (broken && end < r->signals->count && broken[end] != RPS_BROKEN_RUN)
        end++;
    return broken ? end : r->signals->count;
}

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

/* Choose segments from recurring classes. Returns 0 if `usual` describes the run better. */
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

/* Return the confidence in the boundary before segment k. The confidence depends on the cost that
 * the boundary saves. */
static double sureness(struct refining *r, size_t k)
{
    double saved = cost_of(r, r->first[k - 1], r->first[k + 1]) -
                   cost_of(r, r->first[k - 1], r->first[k]) -
                   cost_of(r, r->first[k], r->first[k + 1]) - r->price;

    return fmax(floor(1e4 / (1 + exp(-saved)) + .5) / 1e4,
                is_broken(r, r->tree.leaf[r->first[k]].first) ? 0 : SURE_MIN);
}

/* Drop the boundaries that are not visible, and those at the ends of a run. */
static void finish(struct refining *r)
{
    drop_unseen(r);
    drop_ends(r);
}

static void give(struct rps_arena *arena, struct refining *r, struct rps_phases *fine)
{
    struct rps_phase *phase = rps_arena_get(arena, r->count, sizeof(*phase));

    for (size_t k = 0; k < r->count; k++) {
        phase[k] = r->tree.leaf[r->first[k]];
        phase[k].last = r->tree.leaf[r->first[k + 1] - 1].last;
        phase[k].label = (int)k;
        phase[k].label_confidence = 1;
        phase[k].confidence = k == 0 ? 1 : sureness(r, k);
    }
    fine->phase = phase;
    fine->count = r->count;
    fine->label_count = (int)r->count;
}

void rps_counts_refine(struct rps_arena *arena, const struct rps_signals *signals, size_t shortest,
                       struct rps_phases *fine)
{
    struct rps_arena *scratch = rps_arena_new();
    struct refining r = refining_make(scratch, signals, shortest, CUT_PRICE, fine), by_classes;

    choose(&r);
    finish(&r);
    if (signals->count <= RPS_CUTS_DENSE_MAX && r.tree.count <= LEAVES_MAX) {
        by_classes = refining_make(scratch, signals, shortest, CUT_PRICE_RICH, fine);
        by_classes.recurs = 1;
        if (by_classes.tree.count <= LEAVES_MAX && choose_by_classes(&by_classes, &r)) {
            finish(&by_classes);
            r = by_classes;
        }
    }
    give(arena, &r, fine);
    rps_arena_free(scratch);
}
