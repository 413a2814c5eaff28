/* Tests of the name that distinguishes a group: exact shares, and false and missed names in
 * simulated mixtures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "draw_name.h"
#include "rpistat/apart.h"
#include "rpistat/random.h"

#define GROUPS_MAX 8
#define NAMES      30
#define BLOCKS     (GROUPS_MAX * RPS_APART_BLOCKS)

struct made {
    uint64_t seen[BLOCKS * NAMES], of[BLOCKS];
    struct rps_apart apart[GROUPS_MAX];
};

static void find(struct made *made, size_t groups)
{
    rps_apart_find(&(struct rps_apart_counts){groups, NAMES, made->seen, made->of}, made->apart);
}

/* Add n samples to each of the first `blocks` blocks of a group: x with the name, the rest without
 * a name. */
static void add(struct made *made, size_t group, size_t blocks, size_t name, uint64_t x, uint64_t n)
{
    for (size_t b = 0; b < blocks; b++) {
        made->seen[(group * RPS_APART_BLOCKS + b) * NAMES + name] += x;
        made->of[group * RPS_APART_BLOCKS + b] += n;
    }
}

static void shares_of_the_name(void **state)
{
    struct made made = {0};

    (void)state;
    add(&made, 0, 40, 3, 9, 100); /* name 3: 9 % of the first group, 1 % of the rest */
    add(&made, 1, 40, 3, 1, 100);
    add(&made, 2, 40, 3, 1, 100);
    add(&made, 2, 40, 7, 50, 0); /* name 7: half of the third group */
    find(&made, 3);
    assert_true(made.apart[0].name[0].is_found);
    assert_int_equal(made.apart[0].name[0].name, 3);
    assert_float_equal(made.apart[0].name[0].share, .09, 1e-12);
    assert_float_equal(made.apart[0].name[0].rest, .01, 1e-12);
    assert_true(made.apart[2].name[0].is_found);
    assert_int_equal(made.apart[2].name[0].name, 7);
    assert_float_equal(made.apart[2].name[0].share, .5, 1e-12);
    assert_float_equal(made.apart[2].name[0].rest, 0, 1e-12);
    assert_true(made.apart[1].name[0].is_found); /* group 1 has a smaller share of name 7 */
    assert_int_equal(made.apart[1].name[0].name, 7);
    assert_float_equal(made.apart[1].name[0].share, 0, 1e-12);
    assert_float_equal(made.apart[1].name[0].rest, .25, 1e-12);
}

/* Two names are found if each has a fifth of the group, and a larger share than elsewhere. */
static void two_names(void **state)
{
    struct made made = {0};

    (void)state;
    add(&made, 0, 40, 3, 40, 100);
    add(&made, 0, 40, 5, 25, 0);
    add(&made, 1, 40, 9, 60, 100);
    add(&made, 1, 40, 5, 10, 0);
    find(&made, 2);
    assert_int_equal(made.apart[0].name[0].name, 3);
    assert_true(made.apart[0].name[1].is_found);
    assert_int_equal(made.apart[0].name[1].name, 5);
    assert_float_equal(made.apart[0].name[1].share, .25, 1e-12);
    assert_float_equal(made.apart[0].name[1].rest, .1, 1e-12);
    assert_int_equal(made.apart[1].name[0].name, 9);
    assert_false(made.apart[1].name[1].is_found); /* group 1 has no second name */
    for (size_t b = 0; b < 40; b++)
        made.seen[b * NAMES + 5] = 19; /* 19 % is too little, though more than elsewhere */
    find(&made, 2);
    assert_true(made.apart[0].name[0].is_found);
    assert_false(made.apart[0].name[1].is_found);
}

/* The same share may be spread or in clumps: 9 of 100 samples in each block, or all in one of 40
 * blocks. */
static void clumps_are_chance(void **state)
{
    struct made made = {0};

    (void)state;
    add(&made, 0, 40, 3, 0, 100);
    made.seen[5 * NAMES + 3] = 100;
    made.seen[6 * NAMES + 3] = 100;
    made.seen[7 * NAMES + 3] = 100;
    add(&made, 1, 40, 3, 0, 100);
    find(&made, 2);
    assert_true(made.apart[0].is_tested);
    assert_false(made.apart[0].unsure.is_found);
    assert_false(made.apart[0].name[0].is_found); /* shares of 7.5 % and 0 % */
}

/* In a group of two long blocks, half of the samples may have a name by chance. With many blocks,
 * or with a difference that independent samples have by chance, nothing is unsure. */
static void few_blocks_are_unsure(void **state)
{
    static const struct {
        size_t blocks;
        uint64_t x, rest;
        int is_unsure, is_found;
    } cases[] = {
        {5, 5, 1, 1, 0}, {5, 1, 5, 1, 0}, {1, 25, 1, 1, 0}, {40, 5, 1, 0, 1}, {5, 2, 1, 0, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct made made = {0};
        const uint64_t n = cases[i].blocks == 1 ? 50 : 10;

        add(&made, 0, cases[i].blocks, 3, cases[i].x, n);
        add(&made, 1, 40, 3, cases[i].rest, 10);
        find(&made, 2);
        assert_int_equal(made.apart[0].unsure.is_found, cases[i].is_unsure);
        assert_int_equal(made.apart[0].name[0].is_found, cases[i].is_found);
        if (!cases[i].is_unsure)
            continue;
        assert_int_equal(made.apart[0].unsure.name, 3);
        assert_float_equal(made.apart[0].unsure.share, (double)cases[i].x / (double)n, 1e-12);
        assert_float_equal(made.apart[0].unsure.rest, (double)cases[i].rest / 10, 1e-12);
    }
}

static void too_little_is_unknown(void **state)
{
    struct made made = {0};

    (void)state;
    add(&made, 0, 40, 3, 100, 100);
    find(&made, 1); /* the only group is not compared */
    assert_false(made.apart[0].is_tested);
    add(&made, 1, 19, 3, 1, 1); /* 19 samples are too few */
    find(&made, 2);
    assert_false(made.apart[0].is_tested);
    assert_false(made.apart[1].is_tested);
    add(&made, 2, 4, 3, 100, 100); /* one long block is not enough */
    find(&made, 3);
    assert_true(made.apart[0].is_tested);
    assert_false(made.apart[2].is_tested);
}

/* A linker ran once, for 14 of 17 samples: this is no chance. A name that also ran elsewhere, or
 * that few samples had, may be chance. */
static void ran_nowhere_else(void **state)
{
    static const struct {
        uint64_t own, all, rest;
        int is_found;
    } cases[] = {{14, 17, 0, 1}, {14, 17, 50, 1}, {14, 17, 100, 0}, {8, 17, 0, 0}, {9, 9, 0, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct made made = {0};

        add(&made, 0, 1, 3, cases[i].own, cases[i].all);
        add(&made, 1, 40, 5, 100, 100);
        add(&made, 1, 1, 3, cases[i].rest, 0);
        find(&made, 2);
        assert_int_equal(made.apart[0].name[0].is_found, cases[i].is_found);
        assert_int_equal(made.apart[0].is_tested, cases[i].is_found);
        if (cases[i].is_found)
            assert_int_equal(made.apart[0].name[0].name, 3);
    }
}

static void lengths_of_blocks(void **state)
{
    (void)state;
    assert_int_equal(rps_apart_block_length(1), 3);
    assert_int_equal(rps_apart_block_length(120), 3);
    assert_int_equal(rps_apart_block_length(121), 4);
    assert_int_equal(rps_apart_block_length(400), 10);
    assert_int_equal(rps_apart_block_length(401), 11);
}

/* --- simulated programs ----------------------------------------------------------------------- */

#define LENGTH_MAX 600

/* Simulate eight phases of 20 to 60 s. All have the same mixture of 30 programs on two CPUs. Each
 * program runs for `clump` periods on average. `more` is added to the share of the last program in
 * phase 3. */
static void simulate(uint64_t seed, double clump, double more, struct made *made)
{
    uint64_t dice = seed, start[GROUPS_MAX + 1] = {0};
    double weight[NAMES], sum = 0, steady;

    memset(made, 0, sizeof(*made));
    for (size_t k = 0; k < NAMES; k++)
        /* a few programs have most of the weight */
        sum += weight[k] = 1 / (1 - rps_random_unit(&dice));
    steady = weight[NAMES - 1];
    for (size_t g = 0; g < GROUPS_MAX; g++)
        start[g + 1] = start[g] + 200 + rps_random_next(&dice) % (LENGTH_MAX - 200 + 1);
    for (int cpu = 0; cpu < 2; cpu++) {
        size_t g = 0;

        for (uint64_t at = 0; at < start[GROUPS_MAX];) {
            double length = -log(1 - rps_random_unit(&dice)) * clump;
            uint64_t end = at + (length < 1 ? 1 : (uint64_t)length);
            size_t name;

            weight[NAMES - 1] = steady + (at >= start[3] && at < start[4] ? more * sum : 0);
            name = draw_name(&dice, weight, NAMES);
            for (; at < end && at < start[GROUPS_MAX]; at++) {
                size_t block;

                while (at >= start[g + 1])
                    g++;
                block = g * RPS_APART_BLOCKS +
                        (at - start[g]) / rps_apart_block_length(start[g + 1] - start[g]);
                made->seen[block * NAMES + name] += 10;
                made->of[block] += 10;
            }
        }
    }
    find(made, GROUPS_MAX);
}

/* Check the number of phases that get a name although nothing differs, and the number of runs in
 * which a difference of 10 % is found. */
static void check_simulated(double clump, int false_max, int found_min)
{
    static struct made made;
    int named = 0, found = 0;

    for (uint64_t seed = 0; seed < 40; seed++) {
        simulate(seed, clump, 0, &made);
        for (size_t g = 0; g < GROUPS_MAX; g++) {
            assert_true(made.apart[g].is_tested);
            named += made.apart[g].name[0].is_found;
        }
        simulate(seed, clump, .1, &made);
        found += made.apart[3].name[0].is_found && made.apart[3].name[0].name == NAMES - 1;
    }
    print_message("# %.1f s at a time: %d of 320 false, %d of 40 found\n", clump / 10, named,
                  found);
    assert_in_range(named, 0, false_max);
    assert_in_range(found, found_min, 40);
}

static void programs_of_tenths(void **state)
{
    (void)state;
    check_simulated(1, 3, 30);
}

static void programs_of_halves(void **state)
{
    (void)state;
    check_simulated(5, 3, 5);
}

static void programs_of_two_seconds(void **state)
{
    (void)state;
    check_simulated(20, 19, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_of_the_name),    cmocka_unit_test(two_names),
        cmocka_unit_test(clumps_are_chance),     cmocka_unit_test(few_blocks_are_unsure),
        cmocka_unit_test(too_little_is_unknown), cmocka_unit_test(ran_nowhere_else),
        cmocka_unit_test(lengths_of_blocks),     cmocka_unit_test(programs_of_tenths),
        cmocka_unit_test(programs_of_halves),    cmocka_unit_test(programs_of_two_seconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
