/* Find the phase classes that recur in a run, such as the parts of a loop.
 *
 * A segment of half a second has too few samples to pay for a boundary and a separate mix. It has
 * enough if 20 other segments have the same mix, and if the order of the classes predicts it. So
 * the leaves of a tree are first clustered over the whole run by the cost of a merge. Then each
 * leaf gets a class by the cheapest path through the run (Viterbi). The sums of each class are
 * computed from its new leaves. The price of a boundary is computed from how often one class
 * follows another. These steps are repeated until no leaf changes its class:
 *
 *   cost of a leaf in a class   cost of the class with the leaf minus cost without the leaf
 *   boundary from a to b        ln(n / boundaries) + 1 - ln P(b after a); at most a class's price
 */
#include "counts_classes.h"

#include <math.h>
#include <string.h>

#define ROUNDS_MAX  12
#define CLASSES_MAX 300

struct work {
    struct rps_arena *arena;
    const struct rps_level_tree *tree;
    double observations;
    double class_price;
    double boundary_price;     /* mean price of all boundaries */
    size_t count;              /* number of classes */
    size_t *class;             /* class of each leaf; SIZE_MAX: no class yet */
    struct rps_moments3 *sums; /* sums[class * width + signal]: moments of each class */
    double *cost;              /* cost of each class */
    double *boundary;          /* boundary[a * count + b]: price of a boundary from class a to b */
    double *follows;           /* follows[a * count + b]: number of boundaries from class a to b */
    struct rps_moments3 *leaf, *both; /* scratch for moments */
};

static struct rps_moments3 *sums_of(const struct work *w, size_t class)
{
    return w->sums + class * w->tree->width;
}

/* Return the cost of a plus b (sign 1) or of a without b (sign -1). Store the sums in w->both. */
static double cost_of_sum(const struct work *w, const struct rps_moments3 *a, double sign,
                          const struct rps_moments3 *b)
{
    for (size_t s = 0; s < w->tree->width; s++) {
        w->both[s] =
            (struct rps_moments3){a[s].weight + sign * b[s].weight, a[s].sum + sign * b[s].sum,
                                  a[s].squares + sign * b[s].squares};
        if (w->both[s].weight < 1e-9)
            w->both[s] = (struct rps_moments3){0};
    }
    return rps_level_tree_cost(w->tree, w->both);
}

/* --- clustering ------------------------------------------------------------------------------- */

/* Find the two classes whose merge costs least. Returns 0 if the merge costs more than a class. */
static int find_pair(const struct work *w, const double *rise, size_t *ret_a, size_t *ret_b)
{
    double least = w->class_price;

    for (size_t a = 0; a < w->count; a++) {
        for (size_t b = 0; b < a; b++) {
            if (rise[a * CLASSES_MAX + b] < least) {
                least = rise[a * CLASSES_MAX + b];
                *ret_a = b;
                *ret_b = a;
            }
        }
    }
    return least < w->class_price;
}

/* For each other class, store the increase of the total cost by a merge with class a. */
static void fill_rise(const struct work *w, double *rise, size_t a)
{
    for (size_t b = 0; b < w->count; b++) {
        if (b != a)
            rise[a * CLASSES_MAX + b] = rise[b * CLASSES_MAX + a] =
                cost_of_sum(w, sums_of(w, a), 1, sums_of(w, b)) - w->cost[a] - w->cost[b];
    }
}

/* Make one class per leaf, then merge similar classes. If there are many leaves, only every n-th
 * leaf makes a class. */
static void make_classes(struct work *w)
{
    const size_t every = w->tree->count / CLASSES_MAX + 1, size = w->tree->width;
    double *rise = rps_arena_get(w->arena, CLASSES_MAX * CLASSES_MAX, sizeof(*rise));
    size_t a = 0, b = 0;

    for (size_t i = 0; i < w->tree->count; i += every) {
        rps_level_tree_moments(w->tree, i, i + 1, sums_of(w, w->count));
        w->cost[w->count] = rps_level_tree_cost(w->tree, sums_of(w, w->count));
        w->count++;
        fill_rise(w, rise, w->count - 1);
    }
    while (find_pair(w, rise, &a, &b)) {
        w->cost[a] = cost_of_sum(w, sums_of(w, a), 1, sums_of(w, b));
        memcpy(sums_of(w, a), w->both, size * sizeof(*w->both));
        w->count--; /* the class with the highest number becomes number b */
        memmove(sums_of(w, b), sums_of(w, w->count), size * sizeof(*w->both));
        w->cost[b] = w->cost[w->count];
        fill_rise(w, rise, a);
        if (b < w->count)
            fill_rise(w, rise, b);
    }
}

/* --- the cheapest path ------------------------------------------------------------------------ */

/* Count the boundaries between each pair of classes. Returns the number of all boundaries. */
static double count_boundaries(struct work *w)
{
    double all = 0;

    memset(w->follows, 0, w->count * w->count * sizeof(*w->follows));
    for (size_t i = 1; i < w->tree->count; i++) {
        const size_t a = w->class[i - 1], b = w->class[i];
        const int is_one = !w->tree->broken[i] && a != b;

        w->follows[a * w->count + b] += is_one;
        all += is_one;
    }
    return all;
}

static void set_prices(struct work *w)
{
    const double all = count_boundaries(w), others = fmax((double)w->count - 1, 1);
    const double place = log(fmax(w->observations / (all + 1), 2)) + 1;
    double sum = 0;

    for (size_t a = 0; a < w->count; a++) {
        const double *follows = w->follows + a * w->count;
        double behind = 0;

        for (size_t b = 0; b < w->count; b++)
            behind += follows[b];
        for (size_t b = 0; b < w->count; b++) {
            const double chance = (follows[b] + .5) / (behind + .5 * others);
            const double price = a == b ? 0 : fmin(place - log(chance), w->class_price);

            w->boundary[a * w->count + b] = price;
            sum += follows[b] * price;
        }
    }
    w->boundary_price = all > 0 ? sum / all : w->class_price;
}

/* Extend the cheapest path to each class by leaf i. Store in `from`, for each class, the class of
 * the previous leaf on that path. */
static void extend(struct work *w, size_t i, double *path, double *next, size_t *from)
{
    const size_t count = w->count;
    const int is_free = i == 0 || w->tree->broken[i];

    for (size_t c = 0; c < count; c++) {
        next[c] = path[c];
        from[c] = c;
        for (size_t b = 0; b < count; b++) {
            const double via = path[b] + (is_free ? 0 : w->boundary[b * count + c]);

            if (via < next[c]) {
                next[c] = via;
                from[c] = b;
            }
        }
    }
    rps_level_tree_moments(w->tree, i, i + 1, w->leaf);
    for (size_t c = 0; c < count; c++) {
        const int is_own = w->class[i] == c;
        const double other = cost_of_sum(w, sums_of(w, c), is_own ? -1 : 1, w->leaf);

        path[c] = next[c] + (is_own ? w->cost[c] - other : other - w->cost[c]);
    }
}

/* Assign each leaf the class on the cheapest path, and renumber the remaining classes. Returns the
 * number of leaves whose class changed. */
static size_t decode(struct work *w)
{
    const size_t leaves = w->tree->count, count = w->count, width = w->tree->width;
    struct rps_arena *scratch = rps_arena_new();
    double *path = rps_arena_get(scratch, count, sizeof(*path));
    double *next = rps_arena_get(scratch, count, sizeof(*next));
    size_t *from = rps_arena_get(scratch, leaves * count, sizeof(*from)), at = 0, changed = 0;
    /* new number of each class, from 1; 0: no leaf has the class */
    size_t *number = rps_arena_get(scratch, count, sizeof(*number));

    for (size_t i = 0; i < leaves; i++)
        extend(w, i, path, next, from + i * count);
    for (size_t c = 1; c < count; c++)
        at = path[c] < path[at] ? c : at;
    for (size_t i = leaves; i-- > 0; at = from[i * count + at]) {
        changed += w->class[i] != at;
        w->class[i] = at;
    }
    memset(w->sums, 0, count * width * sizeof(*w->sums));
    w->count = 0;
    for (size_t i = 0; i < leaves; i++) {
        size_t *own = &number[w->class[i]];

        *own = *own > 0 ? *own : ++w->count;
        w->class[i] = *own - 1;
        rps_level_tree_moments(w->tree, i, i + 1, w->leaf);
        w->cost[w->class[i]] = cost_of_sum(w, sums_of(w, w->class[i]), 1, w->leaf);
        memcpy(sums_of(w, w->class[i]), w->both, width * sizeof(*w->both));
    }
    rps_arena_free(scratch);
    return changed;
}

/* --- clustering and path together ------------------------------------------------------------- */

static struct work work_make(struct rps_arena *arena, const struct rps_level_tree *tree,
                             double price)
{
    const size_t most = tree->count < CLASSES_MAX ? tree->count : CLASSES_MAX;
    struct work w = {.arena = arena, .tree = tree, .class_price = price};

    w.observations = (double)(tree->leaf[tree->count - 1].last + 1);
    w.class = rps_arena_get(arena, tree->count, sizeof(*w.class));
    memset(w.class, 0xff, tree->count * sizeof(*w.class)); /* no leaf has a class yet */
    w.sums = rps_arena_get(arena, most * tree->width, sizeof(*w.sums));
    w.cost = rps_arena_get(arena, most, sizeof(*w.cost));
    w.boundary = rps_arena_get(arena, most * most, sizeof(*w.boundary));
    w.follows = rps_arena_get(arena, most * most, sizeof(*w.follows));
    w.leaf = rps_arena_get(arena, tree->width, sizeof(*w.leaf));
    w.both = rps_arena_get(arena, tree->width, sizeof(*w.both));
    return w;
}

struct rps_count_classes rps_counts_find_classes(struct rps_arena *arena,
                                                 const struct rps_level_tree *tree, double price)
{
    struct work w = work_make(arena, tree, price);
    struct rps_count_classes ret = {.class = w.class};
    size_t changed;
    int round = 0;

    make_classes(&w);
    w.boundary_price =
        log(fmax(w.observations / (double)tree->count, 2)) + 1 + log(fmax((double)w.count, 2));
    for (size_t a = 0; a < w.count * w.count; a++)
        w.boundary[a] = a % (w.count + 1) == 0 ? 0 : w.boundary_price;
    do {
        changed = decode(&w);
        set_prices(&w);
    } while (changed > 0 && round++ < ROUNDS_MAX);
    ret.count = w.count;
    ret.cost = count_boundaries(&w) * w.boundary_price + (double)w.count * price;
    for (size_t c = 0; c < w.count; c++)
        ret.cost += w.cost[c];
    return ret;
}
