/* Find names that are typical of a group. The share of such a name in the group's samples differs
 * most from its share in the samples of other groups.
 *
 * Samples are not independent draws: all samples of a half-second compiler run fall into the same
 * half second. So the variance of a share is computed from blocks of periods, with the formula for
 * a ratio of two sums (Cochran, Sampling Techniques, 6.3). A block has n samples; x of the n
 * samples have the name. X and N are the sums over the B blocks of a group:
 *
 *   p = X / N,  var p = sum (x - p n)^2 / N^2 * B / (B - 1)
 *
 * The variance is computed twice: from these blocks, and from blocks that are RPS_APART_LONG times
 * as long. The larger variance is used, but at least RPS_CHANCE_CLUSTER times the variance of
 * independent draws. In the test below, B is the number of longer blocks. A group's share p and the
 * other groups' share q differ if |p - q| > z (1 + Z_CORRECTION / (B - 1)) sqrt(var p + var q).
 * This test gives a name to 2 of 320 phases that did not differ. With only one block length, the
 * test gives a name to 7 of them. */
#include "rpistat/apart.h"

#include <math.h>

#include "rpistat/arena.h"

#define BLOCK_PERIODS_MIN     3
#define GROUP_SAMPLES_MIN     20.
#define Z_CORRECTION          1.5
#define LACKING_MIN           .15  /* minimum share in other groups of a name that a group lacks */
#define EXCLUSIVE_SAMPLES_MIN 10.  /* minimum samples of a group with a name that others lack */
#define EXCLUSIVE_REST_MIN    10.  /* minimum ratio of other samples to the group's */
#define EXCLUSIVE_RATIO_MIN   50.  /* minimum ratio of the shares */
#define SCORE_MAX             10.  /* maximum score, above log(1 / SHARE_ADDED) */
#define SHARE_ADDED           .005 /* added to both shares of a ratio: tiny shares matter less */

#define BLOCKS_KNOWN 6. /* Fewer blocks do not show how much shares vary. */

/* Sums over the blocks of one group, or of all other groups. */
struct sums {
    double x, n;
    struct squares {
        double xx, xn, nn, blocks;
    } of[2]; /* sums over [0] the blocks and [1] the longer blocks */
};

uint64_t rps_apart_block_length(uint64_t periods)
{
    uint64_t length = (periods + RPS_APART_BLOCKS - 1) / RPS_APART_BLOCKS;

    return length < BLOCK_PERIODS_MIN ? BLOCK_PERIODS_MIN : length;
}

static void add_sums(struct sums *to, const struct sums *from, double sign)
{
    to->x += sign * from->x;
    to->n += sign * from->n;
    for (int i = 0; i < 2; i++) {
        to->of[i].xx += sign * from->of[i].xx;
        to->of[i].xn += sign * from->of[i].xn;
        to->of[i].nn += sign * from->of[i].nn;
        to->of[i].blocks += sign * from->of[i].blocks;
    }
}

static void add_block(struct squares *to, double x, double n)
{
    to->xx += x * x;
    to->xn += x * n;
    to->nn += n * n;
    to->blocks += n > 0;
}

static struct sums sum_group(const struct rps_apart_counts *counts, size_t group, size_t name)
{
    struct sums sums = {0};
    double long_x = 0, long_n = 0;

    for (size_t b = 0; b < RPS_APART_BLOCKS; b++) {
        const size_t at = group * RPS_APART_BLOCKS + b;
        const double n = (double)counts->of[at];
        const double x =
            name < counts->name_count ? (double)counts->seen[at * counts->name_count + name] : 0;

        sums.x += x;
        sums.n += n;
        add_block(&sums.of[0], x, n);
        long_x += x;
        long_n += n;
        if (b % RPS_APART_LONG == RPS_APART_LONG - 1) {
            add_block(&sums.of[1], long_x, long_n);
            long_x = long_n = 0;
        }
    }
    return sums;
}

static int is_enough(const struct sums *sums)
{
    return sums->n >= GROUP_SAMPLES_MIN && sums->of[1].blocks >= 2;
}

/* Return the variance of a share if each cluster of samples is an independent draw. */
static double cluster_variance(const struct sums *sums)
{
    const double even = (sums->x + 1) / (sums->n + 2);

    return RPS_CHANCE_CLUSTER * even * (1 - even) / sums->n;
}

static double variance_of(const struct sums *sums)
{
    const double p = sums->x / sums->n;
    double variance = cluster_variance(sums);

    for (int i = 0; i < 2; i++) {
        const struct squares *of = &sums->of[i];

        variance = fmax(variance, (of->xx - 2 * p * of->xn + p * p * of->nn) / (sums->n * sums->n) *
                                      of->blocks / (of->blocks - 1));
    }
    return variance;
}

/* Return 1 if a name has most samples of a group and hardly any other samples. Chance does not
 * explain such a difference, even in a group with few samples or few blocks: with 5 of 10 samples
 * and none of 100 others, Fisher's exact test has a probability of 2e-6. */
static int is_exclusive(const struct sums *own, const struct sums *rest)
{
    return own->n >= EXCLUSIVE_SAMPLES_MIN && 2 * own->x >= own->n &&
           rest->n >= EXCLUSIVE_REST_MIN * own->n &&
           EXCLUSIVE_RATIO_MIN * rest->x * own->n <= own->x * rest->n;
}

/* Return how typical a name is of a group. Return 0 if the shares do not differ beyond chance. */
static double score_of(const struct sums *own, const struct sums *rest)
{
    const double p = own->x / own->n, q = rest->x / rest->n, apart = fabs(p - q);
    const double blocks = fmin(own->of[1].blocks, rest->of[1].blocks);
    const double error = RPS_CHANCE_Z * (1 + Z_CORRECTION / (blocks - 1)) *
                         sqrt(variance_of(own) + variance_of(rest));
    const double factor = fabs(log((p + SHARE_ADDED) / (q + SHARE_ADDED)));

    if (is_exclusive(own, rest))
        return fmax(apart - error, RPS_APART_SHARE_MIN) * factor;
    if (!is_enough(own) || apart < RPS_APART_SHARE_MIN || factor < log(RPS_APART_FACTOR_MIN) ||
        apart <= error || (p < q && q < LACKING_MIN))
        return 0;
    return (apart - error) * factor;
}

/* Keep the name that differs most beyond the chance of independent clusters, if there are too few
 * blocks to show the chance. Prefer names with a larger share in the group. */
static void keep_unsure(struct rps_apart_name *unsure, const struct sums *own,
                        const struct sums *rest, size_t name)
{
    const double p = own->x / own->n, q = rest->x / rest->n;
    const double error = RPS_CHANCE_Z * sqrt(cluster_variance(own) + cluster_variance(rest));
    const double most = unsure->share - unsure->rest;

    if (fmin(own->n, rest->n) >= GROUP_SAMPLES_MIN &&
        fmin(own->of[1].blocks, rest->of[1].blocks) < BLOCKS_KNOWN &&
        fabs(p - q) > fmax(error, RPS_APART_SHARE_MIN) &&
        (p - q > most || (most <= 0 && p - q < most)))
        *unsure = (struct rps_apart_name){1, name, p, q};
}

/* Keep the two names with the highest scores. Prefer names whose share in the group is larger than
 * their share in the other groups. */
static void keep_best(struct rps_apart_name best[2], double best_score[2], const struct sums *own,
                      const struct sums *rest, size_t name)
{
    const double p = own->x / own->n, q = rest->x / rest->n;
    double score = score_of(own, rest);
    int at;

    score += score > 0 && p > q ? SCORE_MAX : 0;
    at = score <= best_score[0];
    if (score <= best_score[at])
        return;
    if (at == 0) {
        best[1] = best[0];
        best_score[1] = best_score[0];
    }
    best_score[at] = score;
    best[at] = (struct rps_apart_name){1, name, p, q};
}

void rps_apart_find(const struct rps_apart_counts *counts, struct rps_apart *ret)
{
    struct rps_arena *scratch = rps_arena_new();
    struct sums *own = rps_arena_get(scratch, counts->group_count, sizeof(*own));
    double *score = rps_arena_get(scratch, counts->group_count, 2 * sizeof(*score));

    for (size_t g = 0; g < counts->group_count; g++)
        ret[g] = (struct rps_apart){0};
    /* The first pass, without a name, finds the groups that have enough samples for a test. */
    for (size_t pass = 0; pass <= counts->name_count; pass++) {
        const size_t name = pass == 0 ? counts->name_count : pass - 1;
        struct sums all = {0};

        for (size_t g = 0; g < counts->group_count; g++) {
            own[g] = sum_group(counts, g, name);
            add_sums(&all, &own[g], 1);
        }
        for (size_t g = 0; g < counts->group_count; g++) {
            struct sums rest = all;

            add_sums(&rest, &own[g], -1);
            if (pass > 0)
                keep_unsure(&ret[g].unsure, &own[g], &rest, name);
            if (pass == 0)
                ret[g].is_tested = is_enough(&own[g]) && is_enough(&rest);
            else if (ret[g].is_tested || is_exclusive(&own[g], &rest))
                keep_best(ret[g].name, &score[2 * g], &own[g], &rest, name);
        }
    }
    for (size_t g = 0; g < counts->group_count; g++) {
        const struct rps_apart_name *name = ret[g].name;

        ret[g].unsure.is_found &= !name->is_found;
        ret[g].is_tested |= name->is_found;
        ret[g].name[1].is_found &= name[0].share > name[0].rest && name[1].share > name[1].rest &&
                                   fmin(name[0].share, name[1].share) >= RPS_APART_SECOND_MIN;
    }
    rps_arena_free(scratch);
}
