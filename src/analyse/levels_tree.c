/* The leaves of the tree of levels, and the cost of a segment of leaves; see levels_tree.h. */
#include "levels_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Minimum confidence of a boundary that becomes a leaf boundary. */
#define SURE_MIN .5

/* Floor that is added to a segment's variance, as a share of the whole run's variance. */
#define FLOOR_SHARE .01

/* Maximum number of consecutive values that are as informative as one independent value. */
#define TAU_MAX 20

/* If the number of seen signals differs by less than this share of all signals, the difference is
 * ignored. With a share of 0, a pause of four periods would separate segments more than a minute of
 * different work. */
#define SEEN_RESOLUTION .1

/* Statistics of a signal's values inside leaves. */
struct inside {
    double weight, squares; /* weight and squares of deviations from the leaf's mean */
    double products;        /* sum of the products of neighbouring deviations */
    double pair_squares;    /* sum of squared deviations over all pairs of neighbours */
};

/* Add the fine phases as leaves. Boundaries with a low confidence are skipped. */
static void add_leaves(struct rps_level_tree *tree, const struct rps_signals *signals,
                       const struct rps_phases *fine)
{
    for (size_t k = 0; k < fine->count; k++) {
        const struct rps_phase *phase = &fine->phase[k];
        uint8_t broken = signals->broken ? signals->broken[phase->first] : 0;

        broken = phase->first == 0 ? RPS_BROKEN_RUN : broken;
        if (!broken && phase->confidence < SURE_MIN) {
            tree->leaf[tree->count - 1].last = phase->last;
            continue;
        }
        tree->broken[tree->count] = broken;
        tree->runs += broken == RPS_BROKEN_RUN;
        tree->leaf[tree->count++] = *phase;
    }
}

/* The values of one signal. */
struct column {
    size_t count;
    const double *value;
    const float *weight; /* NULL: each seen value has weight 1 */
    double resolution;   /* differences below this deviation do not matter to the user */
    int is_read;         /* 1: a value that is read, such as memory, with known noise */
};

static struct column column_of(const struct rps_signals *signals, size_t s)
{
    return (struct column){signals->count, signals->value + s * signals->count,
                           signals->weight ? signals->weight + s * signals->count : NULL,
                           signals->resolution ? signals->resolution[s] : 0,
                           signals->resolution && signals->noise_floor &&
                               signals->noise_floor[s] > 0};
}

static double weight_of(const struct column *column, size_t i)
{
    double weight = column->weight ? (double)column->weight[i] : 1;

    return isfinite(column->value[i]) && weight > 0 ? fmin(weight, 1) : 0;
}

/* Return the middle of a signal's values, relative to which sums of squares keep their digits. */
static double centre_of(const struct column *column)
{
    double sum = 0, weight = 0;

    for (size_t i = 0; i < column->count; i++) {
        double w = weight_of(column, i);

        sum += w > 0 ? w * column->value[i] : 0;
        weight += w;
    }
    return weight > 0 ? sum / weight : 0;
}

/* Set the floor and the worth of a signal. The worth of a constant signal is 0. */
static void describe_signal(struct rps_level_tree *tree, size_t to, const struct column *column,
                            const struct inside *inside)
{
    const struct rps_moments3 *all = &tree->before[tree->count * tree->width + to];
    double variance, correlation, tau;

    if (!(all->weight > 0))
        return;
    variance = all->squares / all->weight - all->sum / all->weight * (all->sum / all->weight);
    if (!(variance > 1e-12 * all->squares / all->weight))
        return;
    correlation = inside->pair_squares > 0 ? inside->products / inside->pair_squares : 0;
    correlation = fmin(fmax(correlation, 0), .99);
    tau = fmin((1 + correlation) / (1 - correlation), TAU_MAX);
    tree->floor[to] = fmax(inside->squares / fmax(inside->weight, 1), FLOOR_SHARE * variance);
    tree->floor[to] = fmax(tree->floor[to], column->resolution * column->resolution);
    tree->worth[to] = 1 / (2 * tau);
}

/* Return 1 if an observation is an outlier. *at becomes the index of the first outlier at or after
 * this observation. */
static int is_outlier(const struct rps_phases *fine, size_t i, size_t *at)
{
    while (*at < fine->outlier_count && fine->outlier[*at] < i)
        ++*at;
    return *at < fine->outlier_count && fine->outlier[*at] == i;
}

/* Return the number of observations at an end of a leaf that may belong to either side of the
 * boundary. This is one block, or the periods between two readings of a signal, because boundaries
 * are not more precise. */
static size_t edge_of(const struct rps_signals *signals)
{
    return signals->in_blocks ? 1 : signals->in_rotation > 0 ? signals->in_rotation - 1 : 0;
}

/* Return a leaf without its edges. Each edge is at most a quarter of the leaf. For blocks, each
 * edge is one block if the leaf has at least three blocks. The reason is that a block with a change
 * inside is a mixture of both sides of the change. */
static struct rps_phase inner_of(const struct rps_level_tree *tree, const struct rps_phase *leaf)
{
    const size_t length = leaf->last - leaf->first + 1;
    const size_t most = tree->in_blocks ? (length - 1) / 2 : length / 4;
    const size_t edge = tree->edge < most ? tree->edge : most;
    struct rps_phase inner = *leaf;

    inner.first += edge;
    inner.last -= edge;
    return inner;
}

/* Return a leaf without its edges. If no value was seen there, return the whole leaf. */
static struct rps_phase seen_inner_of(const struct rps_level_tree *tree,
                                      const struct column *column, const struct rps_phase *leaf)
{
    const struct rps_phase inner = inner_of(tree, leaf);

    for (size_t i = inner.first; i <= inner.last; i++) {
        if (weight_of(column, i) > 0)
            return inner;
    }
    return *leaf;
}

static struct rps_moments3 add_up(const struct column *column, double centre,
                                  const struct rps_phase *leaf, const struct rps_phases *fine,
                                  size_t outlier)
{
    struct rps_moments3 sums = {0};

    for (size_t i = leaf->first; i <= leaf->last; i++) {
        double weight = weight_of(column, i), value;

        if (!(weight > 0) || is_outlier(fine, i, &outlier))
            continue;
        value = column->value[i] - centre;
        sums.weight += weight;
        sums.sum += weight * value;
        sums.squares += weight * value * value;
    }
    return sums;
}

/* Return statistics of how a signal's values in a leaf deviate from `mean`. */
static struct inside look_inside(const struct column *column, double mean,
                                 const struct rps_phase *leaf, const struct rps_phases *fine,
                                 size_t *outlier)
{
    struct inside inside = {0};
    double last = NAN;

    for (size_t i = leaf->first; i <= leaf->last; i++) {
        double weight = weight_of(column, i), value;

        if (!(weight > 0) || is_outlier(fine, i, outlier))
            continue;
        value = column->value[i] - mean;
        inside.weight += weight;
        inside.squares += weight * value * value;
        if (isfinite(last)) {
            inside.products += last * value;
            inside.pair_squares += (last * last + value * value) / 2;
        }
        last = value;
    }
    return inside;
}

static int compare_variances(const void *a, const void *b)
{
    const struct inside *x = a, *y = b;
    double of_x = x->squares / fmax(x->weight, 1), of_y = y->squares / fmax(y->weight, 1);

    return (of_x > of_y) - (of_x < of_y);
}

/* Return statistics of a signal inside all leaves. A signal that is read, such as memory, is
 * constant unless it rises or falls. So for such a signal, use the leaf with the median variation,
 * weighted by the length of leaves. Variation below the resolution is treated as chance. */
static struct inside inside_all(const struct column *column, struct inside *leaf, size_t count)
{
    struct inside all = {0};
    double half;

    for (size_t k = 0; k < count; k++) {
        all.weight += leaf[k].weight;
        all.squares += leaf[k].squares;
        all.products += leaf[k].products;
        all.pair_squares += leaf[k].pair_squares;
    }
    if (!column->is_read)
        return all;
    qsort(leaf, count, sizeof(*leaf), compare_variances);
    half = all.weight / 2;
    for (size_t k = 0; k < count && half > 0; k++) {
        all = leaf[k];
        half -= all.weight;
    }
    all.pair_squares += all.weight * column->resolution * column->resolution;
    return all;
}

/* Add a signal: the signal's moments in every leaf (outliers are left out), floor and worth. */
static void add_signal(struct rps_level_tree *tree, const struct column *column,
                       const struct rps_phases *fine, size_t to)
{
    double centre = centre_of(column);
    struct rps_arena *scratch = rps_arena_new();
    struct inside *inside = rps_arena_get(scratch, tree->count, sizeof(*inside)), all;
    size_t outlier = 0;

    for (size_t k = 0; k < tree->count; k++) {
        const struct rps_moments3 *before = &tree->before[k * tree->width + to];
        const struct rps_phase leaf = seen_inner_of(tree, column, &tree->leaf[k]);
        struct rps_moments3 own = add_up(column, centre, &leaf, fine, outlier);

        inside[k] = look_inside(column, centre + (own.weight > 0 ? own.sum / own.weight : 0), &leaf,
                                fine, &outlier);
        tree->before[(k + 1) * tree->width + to] = (struct rps_moments3){
            before->weight + own.weight, before->sum + own.sum, before->squares + own.squares};
    }
    tree->centre[to] = centre;
    all = inside_all(column, inside, tree->count);
    describe_signal(tree, to, column, &all);
    rps_arena_free(scratch);
}

/* Add the last signal: the number of other signals that were seen, with any weight. This signal is
 * needed because rates are missing while a workload sleeps. Missing rates separate segments as much
 * as a change of all rates. Signals that are read, such as memory, are treated as always seen,
 * because the time of reading depends only on the recorder. */
static void add_seen(struct rps_level_tree *tree, const struct rps_signals *signals,
                     const struct rps_phases *fine)
{
    struct rps_arena *scratch = rps_arena_new();
    double *seen = rps_arena_get(scratch, signals->count, sizeof(*seen));
    struct column column = {signals->count, seen, NULL,
                            SEEN_RESOLUTION * (double)signals->signal_count, 0};

    for (size_t s = 0; s < signals->signal_count; s++) {
        struct column other = column_of(signals, s);

        for (size_t i = 0; i < signals->count; i++)
            seen[i] += other.is_read || weight_of(&other, i) > 0;
    }
    add_signal(tree, &column, fine, tree->width - 1);
    tree->worth[tree->width - 1] *= (double)signals->signal_count;
    rps_arena_free(scratch);
}

/* Add the counts of a table in every leaf. The first symbol is at column `to`. */
static void add_table(struct rps_level_tree *tree, const struct rps_count_table *table, size_t to)
{
    for (size_t k = 0; k < tree->count; k++) {
        const struct rps_moments3 *before = &tree->before[k * tree->width + to];
        struct rps_moments3 *behind = &tree->before[(k + 1) * tree->width + to];
        const struct rps_phase leaf =
            tree->in_blocks ? inner_of(tree, &tree->leaf[k]) : tree->leaf[k];

        memcpy(behind, before, table->width * sizeof(*behind));
        for (size_t e = table->begin[leaf.first]; e < table->begin[leaf.last + 1]; e++)
            behind[table->entry[e].symbol].weight += (double)table->entry[e].count;
    }
}

struct rps_level_tree rps_level_tree_make(struct rps_arena *arena,
                                          const struct rps_signals *signals,
                                          const struct rps_phases *fine)
{
    size_t width = signals->signal_count + 1, leaves = fine->count, to = signals->signal_count;
    struct rps_level_tree tree = {.signals = signals->signal_count,
                                  .memory_signal = signals->memory_signal,
                                  .use_signal = signals->use_signal,
                                  .idle = signals->idle,
                                  .mix_count = signals->table_count,
                                  .edge = edge_of(signals),
                                  .in_blocks = signals->in_blocks};

    for (size_t t = 0; t < signals->table_count; t++)
        width += signals->table[t].width + RPS_LEVEL_CLUMPS;
    tree.width = width;
    tree.leaf = rps_arena_get(arena, leaves, sizeof(*tree.leaf));
    tree.broken = rps_arena_get(arena, leaves + 1, 1);
    tree.before = rps_arena_get(arena, (leaves + 1) * width, sizeof(*tree.before));
    tree.centre = rps_arena_get(arena, width, sizeof(*tree.centre));
    tree.floor = rps_arena_get(arena, width, sizeof(*tree.floor));
    tree.worth = rps_arena_get(arena, width, sizeof(*tree.worth));
    tree.rank = rps_arena_get(arena, leaves + 1, sizeof(*tree.rank));
    tree.increase = rps_arena_get(arena, leaves + 1, sizeof(*tree.increase));
    tree.mix = rps_arena_get(arena, tree.mix_count, sizeof(*tree.mix));
    add_leaves(&tree, signals, fine);
    for (size_t s = 0; s < signals->signal_count; s++) {
        struct column column = column_of(signals, s);

        add_signal(&tree, &column, fine, s);
    }
    add_seen(&tree, signals, fine);
    for (size_t t = 0; t < tree.mix_count; to += rps_level_table_width(&tree.mix[t++])) {
        tree.mix[t] = rps_mix_make(arena, &signals->table[t]);
        add_table(&tree, &signals->table[t], to);
        rps_level_clumps_add(&tree, &signals->table[t], to + signals->table[t].width);
    }
    return tree;
}

void rps_level_tree_moments(const struct rps_level_tree *tree, size_t from, size_t to,
                            struct rps_moments3 *ret)
{
    const struct rps_moments3 *a = tree->before + from * tree->width;
    const struct rps_moments3 *b = tree->before + to * tree->width;

    for (size_t s = 0; s < tree->width; s++)
        ret[s] = (struct rps_moments3){b[s].weight - a[s].weight, b[s].sum - a[s].sum,
                                       b[s].squares - a[s].squares};
}

int rps_level_tree_is_idle(const struct rps_level_tree *tree, const struct rps_moments3 *moments)
{
    const size_t use = tree->use_signal - 1;

    return tree->idle > 0 && tree->mix_count > 0 &&
           tree->centre[use] + moments[use].sum / moments[use].weight < tree->idle;
}

/* Return the cost of a segment's counts in a table. Symbols that were not counted cost nothing. */
static double mix_cost(const struct rps_mix *mix, const struct rps_moments3 *symbol)
{
    double cost = 0, all = 0;

    for (size_t k = 0; k < mix->width; k++) {
        if (symbol[k].weight > 0) {
            all += symbol[k].weight;
            cost -= rps_mix_rise(mix, k, symbol[k].weight);
        }
    }
    return (cost + rps_mix_rise(mix, mix->width, all)) / mix->divisor;
}

double rps_level_tree_share_apart(const struct rps_mix *mix, const struct rps_moments3 *a,
                                  const struct rps_moments3 *b)
{
    double all_a = 0, all_b = 0, apart = 0, chance = 0;

    for (size_t k = 0; k < mix->width; k++) {
        all_a += a[k].weight;
        all_b += b[k].weight;
    }
    for (size_t k = 0; k < mix->width; k++) {
        double own = mix->prior[k] / mix->prior[mix->width], x = a[k].weight, y = b[k].weight;
        double both = (x + y + own) / (all_a + all_b + 1);

        apart += fabs((x + own) / (all_a + 1) - (y + own) / (all_b + 1)) / 2;
        chance += sqrt(both * (1 - both) * (1 / fmax(all_a, 1) + 1 / fmax(all_b, 1)));
    }
    return fmax(apart - sqrt(2 / M_PI) / 2 * chance, 0);
}

static double signal_cost(const struct rps_level_tree *tree, size_t s,
                          const struct rps_moments3 *moments)
{
    double weight = moments->weight, mean, variance;

    if (!(weight > 0) || !(tree->worth[s] > 0))
        return 0;
    mean = moments->sum / weight;
    variance = fmax(moments->squares / weight - mean * mean, 0);
    return weight * tree->worth[s] * log(variance + tree->floor[s]);
}

double rps_level_tree_cost(const struct rps_level_tree *tree, const struct rps_moments3 *moments)
{
    size_t at = tree->signals;
    double cost = 0;

    for (size_t t = 0; t < tree->mix_count; at += rps_level_table_width(&tree->mix[t++]))
        cost += mix_cost(&tree->mix[t], &moments[at]);

    for (size_t s = 0; s < tree->signals; s++)
        cost += signal_cost(tree, s, &moments[s]);
    return cost + signal_cost(tree, tree->width - 1, &moments[tree->width - 1]);
}
