/* Tests of the search and its sums against the simplest implementations. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analyse/detect_pelt.h"
#include "analyse/detect_standardize.h"
#include "analyse/detect_math.h"
#include "detect_series.h"

/* Compute the squares that a constant and a line leave in from..to, without prefix sums. */
static void squares_left(const struct rps_observed *observed, size_t from, size_t to,
                         double *ret_constant, double *ret_line, double *ret_all)
{
    *ret_constant = *ret_line = *ret_all = 0;
    for (size_t s = 0; s < observed->width; s++) {
        double n = 0, x = 0, t = 0, tt = 0, tx = 0, xx = 0, line;

        for (size_t i = from; i < to; i++) {
            size_t at = i * observed->width + s;
            double part = observed->weight ? observed->weight[at] / (double)RPS_OBSERVED_WHOLE : 1;
            double value = observed->value[at] * observed->gain[s], time = (double)(i - from);

            n += part;
            x += part * value;
            xx += part * value * value;
            t += part * time;
            tt += part * time * time;
            tx += part * time * value;
        }
        *ret_all += xx;
        if (!(n > 0))
            continue;
        line = tt - t * t / n > 0.5 ? pow(tx - t * x / n, 2) / (tt - t * t / n) : 0;
        *ret_constant += xx - x * x / n;
        *ret_line += xx - x * x / n - line;
    }
}

static struct rps_observed observe(struct rps_arena *arena, int masked, int broken)
{
    static const double levels[] = {0, 2, 1};
    struct rps_signals signals = series_levels(levels, 3, 12, 2, 1, 31);
    struct rps_observed observed;

    for (size_t i = 0; masked && i < 72; i++) {
        if (i % 5 == 2 || (i > 20 && i < 24))
            signals.value[i] = NAN;
    }
    if (broken) {
        signals.broken = calloc(36, 1);
        assert_non_null(signals.broken);
        signals.broken[17] = signals.broken[18] = 1;
    }
    observed = rps_observed_make(arena, &signals);
    assert_int_equal(observed.width, 2);
    observed.gain[1] = 0.5;
    rps_signals_free(&signals);
    return observed;
}

static void sums_are_right(void **state)
{
    (void)state;
    for (int masked = 0; masked < 2; masked++) {
        struct rps_arena *arena = rps_arena_new();
        struct rps_observed observed = observe(arena, masked, 0);
        struct rps_candidates candidates = rps_candidates_make(arena, &observed, NULL, 1);

        assert_true(masked == (observed.weight != NULL));
        assert_int_equal(candidates.count, 37);
        for (size_t from = 0; from < 36; from++) {
            for (size_t to = from + 1; to <= 36; to++) {
                struct rps_candidate_gain gain = rps_candidates_gain(&candidates, from, to);
                double constant, line, all;

                squares_left(&observed, from, to, &constant, &line, &all);
                assert_true(fabs(all - gain.constant - constant) < 1e-9);
                if (to - from >= RPS_CANDIDATES_LINE_MIN)
                    assert_true(fabs(all - gain.line - line) < 1e-9);
                else
                    assert_true(fabs(all - gain.line - constant) < 1e-9);
            }
        }
        rps_arena_free(arena);
    }
}

/* Find the least cost of all segmentations by trying each start. */
static double best_of_all(const struct rps_candidates *candidates,
                          const struct rps_penalties *penalties)
{
    double best[64];

    best[0] = 0;
    for (size_t to = 1; to < candidates->count; to++) {
        size_t block = to - 1;

        best[to] = INFINITY;
        while (!candidates->forced[block])
            block--;
        for (size_t from = block; from < to; from++) {
            struct rps_candidate_gain gain = rps_candidates_gain(candidates, from, to);
            double cost = best[from] + (candidates->forced[from] ? 0 : penalties->change);

            if (to - from < penalties->min_length &&
                !(candidates->forced[from] && candidates->forced[to]))
                continue;
            cost -= candidates->moment ? fmax(gain.constant, gain.line - penalties->slope)
                                       : gain.constant;
            best[to] = fmin(best[to], cost);
        }
    }
    return best[candidates->count - 1];
}

static double cost_of(const struct rps_candidates *candidates,
                      const struct rps_penalties *penalties,
                      const struct rps_segmentation *segmentation)
{
    double cost = penalties->change * (double)segmentation->free +
                  penalties->slope * (double)segmentation->sloped_count;

    for (size_t k = 0; k < segmentation->count; k++) {
        struct rps_candidate_gain gain =
            rps_candidates_gain(candidates, segmentation->first[k], segmentation->first[k + 1]);

        cost -= segmentation->sloped[k] ? gain.line : gain.constant;
    }
    return cost;
}

/* The pruned search finds the same optimum as the full search, for all missing values, forced
 * boundaries and penalties. */
static void search_is_exact(void **state)
{
    static const double changes[] = {0, 0.3, 2, 8, 1000}, slopes[] = {0, 1, 6};

    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        struct rps_arena *arena = rps_arena_new();
        struct rps_observed observed = observe(arena, kind & 1, kind & 2);
        struct rps_candidates candidates =
            rps_candidates_make(arena, &observed, NULL, (kind & 4) != 0);

        for (size_t c = 0; c < 5 * 3 * 4; c++) {
            struct rps_penalties penalties = {changes[c % 5], slopes[c / 5 % 3], 1 + 3 * (c / 15)};
            struct rps_segmentation segmentation =
                rps_segmentation_search(arena, &candidates, &penalties);

            assert_true(fabs(cost_of(&candidates, &penalties, &segmentation) -
                             best_of_all(&candidates, &penalties)) < 1e-9);
        }
        rps_arena_free(arena);
    }
}

/* A misplaced boundary moves to its best position. */
static void refining_finds_the_best(void **state)
{
    (void)state;
    for (int masked = 0; masked < 2; masked++) {
        struct rps_arena *arena = rps_arena_new();
        struct rps_observed observed = observe(arena, masked, 0);
        struct rps_penalties penalties = {1, 1000, 2};
        struct rps_boundary_place place[2];
        struct rps_candidates candidates = rps_candidates_make(arena, &observed, NULL, 0);
        struct rps_segmentation segmentation;
        uint8_t keep[37] = {0};
        double least = INFINITY;
        size_t best = 0;

        for (size_t at = 2; at <= 34; at++) {
            double cost = -rps_candidates_gain(&candidates, 0, at).constant -
                          rps_candidates_gain(&candidates, at, 36).constant;

            best = cost < least - 1e-12 ? at : best;
            least = fmin(least, cost);
        }
        keep[25] = 1;
        segmentation = rps_segmentation_at(arena, &observed, keep);
        rps_segmentation_refine(&observed, &penalties, 1, 0, &segmentation, place);
        assert_int_equal(segmentation.first[1], best);
        rps_segmentation_refine(&observed, &penalties, 0, 3, &segmentation, place);
        for (size_t at = 2; at <= 34; at++) {
            double cost = -rps_candidates_gain(&candidates, 0, at).constant -
                          rps_candidates_gain(&candidates, at, 36).constant;

            if (cost <= least + 3 - 1e-9)
                assert_true(place[1].earliest <= at && at <= place[1].latest);
        }
        rps_arena_free(arena);
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void ranks_are_right(void **state)
{
    double value[40], sorted[40];
    uint64_t seed = 3;

    (void)state;
    for (size_t count = 1; count <= 40; count++) {
        for (size_t rank = 0; rank < count; rank++) {
            for (size_t i = 0; i < count; i++)
                value[i] = sorted[i] = floor(4 * series_normal(&seed));
            qsort(sorted, count, sizeof(*sorted), compare);
            assert_true(rps_select_rank(value, count, rank) == sorted[rank]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_right),
        cmocka_unit_test(search_is_exact),
        cmocka_unit_test(refining_finds_the_best),
        cmocka_unit_test(ranks_are_right),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
