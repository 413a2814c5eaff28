/* Find whether the samples of two clusters of segments are in different functions (or programs).
 *
 * Segments with similar counts may run different functions, for example Redis with GET, and Redis
 * with SET and fsync. Two clusters differ if at least half of their samples are in different
 * functions, beyond chance:
 *
 *   TV   = sum over k of |x_k / n - y_k / m| / 2 >= APART_MIN
 *   chi2 = sum over k of (x_k m - y_k n)^2 / (n m (x_k + y_k)) / clumps, beyond Z standard
 *          deviations by Wilson and Hilferty
 *
 * One cluster has n samples, x_k of them in function k. The other cluster has m samples, y_k of
 * them in function k. Functions with few samples are combined into one function. Samples come in
 * clumps, so they vary more than a multinomial distribution predicts. `clumps` is the variance of
 * the samples in blocks of observations, relative to independent draws (Rao and Scott 1981). It is
 * estimated by comparing the blocks of a leaf with the whole leaf: mean chi2 per degree of freedom.
 * This estimate is made for the leaves of both clusters and for the whole run. The larger estimate
 * is used. */
#include <math.h>
#include <string.h>

#include "levels_tree.h"
#include "rpistat/count_table.h"

#define APART_MIN         .5
#define Z                 3.3
#define CLUMPS_MIN        2.
#define SAMPLES_MIN       20. /* minimum samples per cluster (some runs have none) */
#define SAMPLES_THRESHOLD 5.  /* minimum samples of a function in two clusters, over `clumps` */
#define FREEDOM_MIN       30. /* minimum degrees of freedom of two clusters' blocks */

static const size_t block_length[RPS_LEVEL_CLUMPS] = {4, 16, 64};

/* Counts of a table in a leaf and in the current block of this leaf. */
struct leaf {
    size_t width;
    double *sum, *block;
    double samples;
};

/* Add to *to the chi2 of the difference between a block and the block's leaf, and the degrees of
 * freedom. Then make the block empty. */
static void end_block(struct leaf *leaf, struct rps_moments3 *to)
{
    double own = 0, freedom = -1;

    for (size_t k = 0; k < leaf->width; k++)
        own += leaf->block[k];
    for (size_t k = 0; k < leaf->width && own > 0; k++) {
        const double expected = own * leaf->sum[k] / leaf->samples;

        if (!(leaf->sum[k] > 0))
            continue;
        to->sum += (leaf->block[k] - expected) * (leaf->block[k] - expected) / expected;
        freedom++;
    }
    to->weight += fmax(freedom, 0);
    memset(leaf->block, 0, leaf->width * sizeof(*leaf->block));
}

/* Add the chi2 and the degrees of freedom of a leaf for one block length. The last block includes
 * the observations that do not fill a block. */
static void add_leaf(struct leaf *leaf, const struct rps_count_table *table,
                     const struct rps_phase *phase, size_t length, struct rps_moments3 *to)
{
    const size_t begin = table->begin[phase->first], end = table->begin[phase->last + 1];
    const size_t blocks = (phase->last - phase->first + 1) / length;
    struct rps_moments3 own = {0};
    size_t at = 0;

    if (blocks < 2)
        return;
    memset(leaf->sum, 0, leaf->width * sizeof(*leaf->sum));
    leaf->samples = 0;
    for (size_t e = begin; e < end; e++) {
        leaf->sum[table->entry[e].symbol] += (double)table->entry[e].count;
        leaf->samples += (double)table->entry[e].count;
    }
    for (size_t e = begin; e < end; e++) {
        const struct rps_count *entry = &table->entry[e];
        const size_t block = (entry->observation - phase->first) / length;

        if (block > at && block < blocks) {
            end_block(leaf, &own);
            at = block;
        }
        leaf->block[entry->symbol] += (double)entry->count;
    }
    end_block(leaf, &own);
    to->sum += own.sum; /* the leaf's shares were computed from these blocks */
    to->weight += own.weight * (1 - 1 / (double)blocks);
}

void rps_level_clumps_add(struct rps_level_tree *tree, const struct rps_count_table *table,
                          size_t to)
{
    struct rps_arena *scratch = rps_arena_new();
    struct leaf leaf = {table->width, rps_arena_get(scratch, table->width, sizeof(*leaf.sum)),
                        rps_arena_get(scratch, table->width, sizeof(*leaf.block)), 0};

    for (size_t k = 0; k < tree->count; k++) {
        for (size_t i = 0; i < RPS_LEVEL_CLUMPS; i++) {
            struct rps_moments3 *behind = &tree->before[(k + 1) * tree->width + to + i];

            *behind = tree->before[k * tree->width + to + i];
            if (!table->is_read)
                add_leaf(&leaf, table, &tree->leaf[k], block_length[i], behind);
        }
    }
    rps_arena_free(scratch);
}

/* Return `clumps`, estimated from moments. With blocks of length L and clumps of length c, the
 * estimate is too low by a share of c / L. So the limit is extrapolated from two block lengths. */
static double limit_of_clumps(const struct rps_moments3 *by_length)
{
    double clumps = CLUMPS_MIN, shorter = NAN;

    for (size_t i = 0; i < RPS_LEVEL_CLUMPS && by_length[i].weight >= FREEDOM_MIN; i++) {
        const double own = by_length[i].sum / by_length[i].weight;
        const double length = (double)block_length[i];
        const double before = i > 0 ? (double)block_length[i - 1] : 0;

        clumps = fmax(clumps, own);
        if (i > 0)
            clumps = fmax(clumps, (length * own - before * shorter) / (length - before));
        shorter = own;
    }
    return clumps;
}

/* Compute `clumps` for both clusters together and for the whole run. Return the larger value. */
static double find_clumps(const struct rps_mix *mix, const struct rps_moments3 *x,
                          const struct rps_moments3 *y, const struct rps_moments3 *run)
{
    struct rps_moments3 both[RPS_LEVEL_CLUMPS];

    for (size_t i = 0, at = mix->width; i < RPS_LEVEL_CLUMPS; i++, at++)
        both[i] = (struct rps_moments3){x[at].weight + y[at].weight, x[at].sum + y[at].sum, 0};
    return fmax(limit_of_clumps(both), limit_of_clumps(run + mix->width));
}

static double count_samples(const struct rps_mix *mix, const struct rps_moments3 *symbol)
{
    double samples = 0;

    for (size_t k = 0; k < mix->width; k++)
        samples += symbol[k].weight;
    return samples;
}

static int differ_in(const struct rps_mix *mix, const struct rps_moments3 *x,
                     const struct rps_moments3 *y, const struct rps_moments3 *run)
{
    const double n = count_samples(mix, x), m = count_samples(mix, y);
    double apart = 0, chi2 = 0, rare_x = 0, rare_y = 0, cells = 0, clumps, third;

    if (n < SAMPLES_MIN || m < SAMPLES_MIN)
        return 0;
    clumps = find_clumps(mix, x, y, run);
    for (size_t k = 0; k <= mix->width; k++) { /* the last pass is for all rare functions */
        const double of_x = k < mix->width ? x[k].weight : rare_x;
        const double of_y = k < mix->width ? y[k].weight : rare_y;

        if (k < mix->width && of_x + of_y < SAMPLES_THRESHOLD * clumps) {
            rare_x += of_x;
            rare_y += of_y;
        } else if (of_x + of_y > 0) {
            apart += fabs(of_x / n - of_y / m) / 2;
            chi2 += (of_x * m - of_y * n) * (of_x * m - of_y * n) / (n * m * (of_x + of_y));
            cells++;
        }
    }
    if (apart < APART_MIN || cells < 2)
        return 0;
    third = 2 / (9 * (cells - 1));
    return (cbrt(chi2 / clumps / (cells - 1)) - (1 - third)) / sqrt(third) > Z;
}

int rps_level_samples_differ(const struct rps_level_tree *tree, const struct rps_moments3 *x,
                             const struct rps_moments3 *y)
{
    const struct rps_moments3 *run = &tree->before[tree->count * tree->width];

    for (size_t t = 0, at = tree->signals; t < tree->mix_count;
         at += rps_level_table_width(&tree->mix[t++])) {
        if (!tree->mix[t].is_read && differ_in(&tree->mix[t], x + at, y + at, run + at))
            return 1;
    }
    return 0;
}
