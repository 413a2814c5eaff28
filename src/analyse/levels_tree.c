/* The leaves of the tree of levels, and the cost of a segment of leaves; see levels_tree.h. */
#include "levels_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Boundaries with a lower confidence are left out. */
#define SURE_MIN .5

/* The floor of a segment's variance, as a share of the whole run's. */
#define FLOOR_SHARE .01

/* Number of values that are worth one independent value, at most. */
#define TAU_MAX 20

/* This share of the signals, seen or not, makes no difference. With 0, a nap of four periods would
 * separate more than a minute of other work does. */
#define SEEN_RESOLUTION .1

/* Values of a signal inside leaves. */
struct inside {
    double weight, squares; /* of deviations from the leaf's mean */
    double products;        /* of neighbouring deviations */
    double pair_squares;    /* of the deviations in those pairs */
};

/* Add fine phases as leaves. Boundaries with a low confidence are left out. */
static void add_leaves(struct rps_level_tree *tree, const struct rps_signals *signals,
                       const struct rps_phases *fine)
{
    for (size_t k = 0; k < fine->count; k++) {
        const struct rps_phase *phase = &fine->phase[k];
        uint8_t broken = signals->broken ? signals->broken[phase->first] : 0;

        broken = phase->first == 0 ? RPS_BROKEN_RUN : broken;
        if (broken != RPS_BROKEN_RUN && phase->confidence < SURE_MIN) {
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
    const float *weight; /* NULL: 1 where seen */
    double resolution;   /* deviation that has no meaning */
    int is_read;         /* 1: its noise is known beforehand, as for values that are read */
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

/* Return the middle of a signal's values, so that sums of squares keep their digits. */
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

/* Set the floor and worth of a signal; a signal that does not vary is worth nothing. */
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

/* Return 1 if an observation is an outlier. *at is the first outlier that is not before it. */
static int is_outlier(const struct rps_phases *fine, size_t i, size_t *at)
{
    while (*at < fine->outlier_count && fine->outlier[*at] < i)
        ++*at;
    return *at < fine->outlier_count && fine->outlier[*at] == i;
}

/* Return how many observations at an end of a leaf may belong to both sides. It is one block, or
 * all periods between two that a signal is seen in, because boundaries are no more exact there. */
static size_t edge_of(const struct rps_signals *signals)
{
    return signals->in_blocks ? 1 : signals->in_turns > 0 ? signals->in_turns - 1 : 0;
}

/* Return a leaf without its edges: at most a quarter at each end, but one block of three or more. A
 * block that a change falls into is a mixture of both sides. */
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

/* Return the inside of a leaf, or all of it if the signal is not seen inside. */
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

/* Return the distribution of the values of a leaf around their mean. */
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

/* Return the values of a signal inside all leaves. A signal that is read rests except where it
 * rises or falls. So the leaf with the median variation by length stands for all, and variation
 * below its resolution is chance. */
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

/* Add a signal's moments in every leaf, without outliers, its floor and its worth. */
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

/* Add the signal after the others: how many of them were seen, whether well or not. A sleeping
 * workload has no rates, which separates a segment as much as if all rates were different. Values
 * that are read do not count here, because the time of reading says nothing about the workload. */
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

/* Add the counts of a table in every leaf, its first symbol at `to`. */
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

/* Return the cost of a segment's counts in a table; symbols without a count cost nothing. */
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
