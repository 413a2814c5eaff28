/* The leaves of the tree of levels and what a stretch of them costs; see levels_tree.h. */
#include "levels_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Boundaries that are less sure are left out. */
#define SURE_MIN .5

/* The floor of a stretch's variance, as a share of the whole run's. */
#define FLOOR_SHARE .01

/* Values that are worth one independent value, at most. */
#define TAU_MAX 20

/* So many of the signals, seen or not, make no difference. With none, a nap of four periods would
 * set apart more than a minute of other work does. */
#define SEEN_RESOLUTION .1

/* What a signal is like inside leaves. */
struct inside {
    double weight, squares; /* of deviations from the leaf's mean */
    double products;        /* of neighbouring deviations */
    double pair_squares;    /* of the deviations in those pairs */
};

void rps_level_tree_free(struct rps_level_tree *tree)
{
    free(tree->increase);
    free(tree->rank);
    free(tree->worth);
    free(tree->floor);
    free(tree->before);
    free(tree->begins);
    free(tree->leaf);
    for (size_t t = 0; t < tree->mix_count; t++)
        rps_mix_free(&tree->mix[t]);
    free(tree->mix);
    memset(tree, 0, sizeof(*tree));
}

static int allocate(struct rps_level_tree *tree, size_t leaves, size_t signals,
                    struct rps_error *err)
{
    tree->leaf = calloc(leaves, sizeof(*tree->leaf));
    tree->begins = calloc(leaves + 1, 1);
    tree->before = calloc((leaves + 1) * signals + 1, sizeof(*tree->before));
    tree->floor = calloc(signals + 1, sizeof(*tree->floor));
    tree->worth = calloc(signals + 1, sizeof(*tree->worth));
    tree->rank = calloc(leaves + 1, sizeof(*tree->rank));
    tree->increase = calloc(leaves + 1, sizeof(*tree->increase));
    if (tree->leaf && tree->begins && tree->before && tree->floor && tree->worth && tree->rank &&
        tree->increase)
        return 0;
    return rps_error_memory(err);
}

/* Is the boundary before a fine phase left out? It is not sure; or what is before it has got the
 * phase's label by that. */
static int joins(const struct rps_phases *fine, size_t k, const struct rps_phase *last)
{
    return fine->phase[k].confidence < SURE_MIN ||
           (last->label == fine->phase[k].label && fine->phase[k - 1].label != last->label);
}

static int begins_run(const struct rps_signals *signals, const struct rps_phase *phase)
{
    return phase->first == 0 ||
           (signals->broken && signals->broken[phase->first] == RPS_BROKEN_RUN);
}

/* Fine phases as leaves. Those that join have the label of the longest. */
static void add_leaves(struct rps_level_tree *tree, const struct rps_signals *signals,
                       const struct rps_phases *fine)
{
    uint64_t longest = 0;

    for (size_t k = 0; k < fine->count; k++) {
        const struct rps_phase *phase = &fine->phase[k];
        struct rps_phase *last = tree->count > 0 ? &tree->leaf[tree->count - 1] : NULL;
        uint64_t length = phase->last - phase->first + 1;

        if (begins_run(signals, phase) || !joins(fine, k, last)) {
            tree->begins[tree->count] = (uint8_t)begins_run(signals, phase);
            tree->runs += tree->begins[tree->count];
            tree->leaf[tree->count++] = *phase;
            longest = length;
            continue;
        }
        last->last = phase->last;
        if (length > longest) {
            last->label = phase->label;
            last->label_confidence = phase->label_confidence;
            longest = length;
        }
    }
}

/* The values of one signal. */
struct column {
    size_t count;
    const double *value;
    const float *weight; /* NULL: 1 where seen */
    double resolution;   /* deviation that says nothing */
    int is_read;         /* 1: its noise is known beforehand, as of what is read beside counting */
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

/* The middle of a signal's values, so that sums of squares keep their digits. */
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

/* Floor and worth of a signal; one that does not vary is worth nothing. */
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

/* Is an observation an outlier? *at is the first that is not before it. */
static int is_outlier(const struct rps_phases *fine, size_t i, size_t *at)
{
    while (*at < fine->outlier_count && fine->outlier[*at] < i)
        ++*at;
    return *at < fine->outlier_count && fine->outlier[*at] == i;
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

/* How the values of a leaf lie around their mean. */
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

/* What a signal is like inside all leaves. One that is read rests but where it rises or falls: it
 * is as in the leaf that half of the run varies less than, and what is below its resolution is
 * chance. */
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

/* A signal's moments in every leaf, outliers left out, its floor and its worth. */
static int add_signal(struct rps_level_tree *tree, const struct column *column,
                      const struct rps_phases *fine, size_t to, struct rps_error *err)
{
    double centre = centre_of(column);
    struct inside *inside = calloc(tree->count + 1, sizeof(*inside)), all;
    size_t outlier = 0;

    if (!inside)
        return rps_error_memory(err);
    for (size_t k = 0; k < tree->count; k++) {
        const struct rps_moments3 *before = &tree->before[k * tree->width + to];
        struct rps_moments3 own = add_up(column, centre, &tree->leaf[k], fine, outlier);

        inside[k] = look_inside(column, centre + (own.weight > 0 ? own.sum / own.weight : 0),
                                &tree->leaf[k], fine, &outlier);
        tree->before[(k + 1) * tree->width + to] = (struct rps_moments3){
            before->weight + own.weight, before->sum + own.sum, before->squares + own.squares};
    }
    all = inside_all(column, inside, tree->count);
    describe_signal(tree, to, column, &all);
    free(inside);
    return 0;
}

/* The signal behind the others: how many of them were seen, whether well or not. Who
 * sleeps has no rates, and that sets a stretch apart as much as if all of them were different. What
 * is read is seen when it is read, which says nothing of the workload. */
static int add_seen(struct rps_level_tree *tree, const struct rps_signals *signals,
                    const struct rps_phases *fine, struct rps_error *err)
{
    double *seen = calloc(signals->count, sizeof(*seen));
    struct column column = {signals->count, seen, NULL,
                            SEEN_RESOLUTION * (double)signals->signal_count, 0};
    int result;

    if (!seen)
        return rps_error_memory(err);
    for (size_t s = 0; s < signals->signal_count; s++) {
        struct column other = column_of(signals, s);

        for (size_t i = 0; i < signals->count; i++)
            seen[i] += other.is_read || weight_of(&other, i) > 0;
    }
    result = add_signal(tree, &column, fine, tree->width - 1, err);
    tree->worth[tree->width - 1] *= (double)signals->signal_count;
    free(seen);
    return result;
}

/* The counts of a table in every leaf, its first symbol at `to`. */
static int add_table(struct rps_level_tree *tree, const struct rps_count_table *table, size_t to,
                     struct rps_error *err)
{
    if (rps_mix_make(table, &tree->mix[tree->mix_count], err) < 0)
        return RPS_FAILED;
    tree->mix_count++;
    for (size_t k = 0; k < tree->count; k++) {
        const struct rps_moments3 *before = &tree->before[k * tree->width + to];
        struct rps_moments3 *behind = &tree->before[(k + 1) * tree->width + to];
        size_t end = table->begin[tree->leaf[k].last + 1];

        memcpy(behind, before, table->width * sizeof(*behind));
        for (size_t e = table->begin[tree->leaf[k].first]; e < end; e++)
            behind[table->entry[e].symbol].weight += (double)table->entry[e].count;
    }
    return 0;
}

static int add_tables(struct rps_level_tree *tree, const struct rps_signals *signals,
                      struct rps_error *err)
{
    size_t to = signals->signal_count;
    int result = 0;

    tree->mix = calloc(signals->table_count + 1, sizeof(*tree->mix));
    if (!tree->mix)
        return rps_error_memory(err);
    for (size_t t = 0; t < signals->table_count && result == 0; t++) {
        result = add_table(tree, &signals->table[t], to, err);
        to += signals->table[t].width;
    }
    return result;
}

int rps_level_tree_make(const struct rps_signals *signals, const struct rps_phases *fine,
                        struct rps_level_tree *ret, struct rps_error *err)
{
    struct rps_level_tree tree = {.width = signals->signal_count + 1,
                                  .signals = signals->signal_count};
    int result;

    for (size_t t = 0; t < signals->table_count; t++)
        tree.width += signals->table[t].width;
    result = allocate(&tree, fine->count, tree.width, err);

    if (result == 0) {
        add_leaves(&tree, signals, fine);
        for (size_t s = 0; s < signals->signal_count && result == 0; s++) {
            struct column column = column_of(signals, s);

            result = add_signal(&tree, &column, fine, s, err);
        }
    }
    if (result == 0)
        result = add_seen(&tree, signals, fine, err);
    if (result == 0)
        result = add_tables(&tree, signals, err);
    if (result == 0)
        *ret = tree;
    else
        rps_level_tree_free(&tree);
    return result;
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

/* Of a stretch's counts in a table; symbols without a count cost nothing. */
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

double rps_level_tree_cost(const struct rps_level_tree *tree, const struct rps_moments3 *moments)
{
    size_t at = tree->signals;
    double cost = 0;

    for (size_t t = 0; t < tree->mix_count; at += tree->mix[t++].width)
        cost += mix_cost(&tree->mix[t], &moments[at]);

    for (size_t s = 0; s < tree->width; s++) {
        double weight = moments[s].weight, mean, variance;

        if (!(weight > 0) || !(tree->worth[s] > 0))
            continue;
        mean = moments[s].sum / weight;
        variance = fmax(moments[s].squares / weight - mean * mean, 0);
        cost += weight * tree->worth[s] * log(variance + tree->floor[s]);
    }
    return cost;
}
