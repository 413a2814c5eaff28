/* Tests of the detector with collected signals: CPU use of the workload and of other programs,
 * ratios of few events, ratios with rare denominators, shares of samples. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "detect_series.h"
#include "support/arena.h"
#include "rpistat/collect.h"
#include "rpistat/phases.h"
#include "rpistat/plan.h"
#include "rpistat/random.h"

#define PERIOD_NS INT64_C(100000000)

static struct rps_plan *make_plan(void)
{
    static const char *const metrics[][2] = {{"fault_rate", "faults / seconds"},
                                             {"byte_rate", "64 * misses / seconds"},
                                             {"miss_ratio", "100 * misses / (hits + misses)"},
                                             {"time_per_call", "1e9 * cpu_seconds / calls"}};
    static const char *const events[] = {"faults", "hits", "misses", "calls"};
    struct rps_plan *plan = rps_plan_new();
    struct rps_event_set *set;

    assert_non_null(plan);
    set = rps_plan_add_set(plan);
    assert_non_null(set);
    for (size_t e = 0; e < 4; e++)
        snprintf(set->event[e].name, sizeof(set->event[e].name), "%s", events[e]);
    set->event_count = 4;
    for (size_t m = 0; m < 4; m++) {
        struct rps_metric *metric = rps_plan_add_metric(plan);

        assert_non_null(metric);
        snprintf(metric->name, sizeof(metric->name), "%s", metrics[m][0]);
        snprintf(metric->formula_text, sizeof(metric->formula_text), "%s", metrics[m][1]);
    }
    assert_int_equal(rps_plan_compile(plan, NULL), 0);
    return plan;
}

/* A workload in one period. Counts are per second of CPU time. */
struct load {
    double use;
    double faults, hits, misses, calls;
};

static const struct load usual = {1, 20000, 5e6, 1e5, 4000};

struct series {
    struct rps_plan *plan;
    struct rps_collect *collect;
    uint64_t state;
    uint64_t count;
};

static struct series begin(const char *name)
{
    struct series series = {.plan = make_plan(), .state = 7};
    const struct rps_collect_options options = {
        .plan = series.plan, .name = &name, .name_count = name != NULL, .period_ns = PERIOD_NS};
    struct rps_error err;

    if (rps_collect_new(&series.collect, &options, &err) < 0)
        fail_msg("%s", err.message);
    return series;
}

/* Return a count with counting noise and 1 % additional noise. */
static uint64_t noisy(struct series *series, double mean)
{
    double deviation = sqrt(mean + 1e-4 * mean * mean);

    return (uint64_t)fmax(0, floor(mean + deviation * series_normal(&series->state) + 0.5));
}

static void add(struct series *series, const struct load *load)
{
    double ran_s = load->use * 1e-9 * (double)PERIOD_NS;
    uint64_t ran_ns = (uint64_t)(ran_s * 1e9);
    const struct rps_period period = {
        .cpu = RPS_CPU_ALL,
        .period = series->count,
        .rotation = series->count,
        .cycle = (series->count + 1) * (uint64_t)PERIOD_NS,
        .cycles = ran_ns,
        .start_ns = (int64_t)series->count * PERIOD_NS,
        .length_ns = PERIOD_NS,
        .enabled_ns = ran_ns,
        .clock_running_ns = ran_ns,
        .running_ns = ran_ns,
        .counted = 15,
        .count = {noisy(series, load->faults * ran_s), noisy(series, load->hits * ran_s),
                  noisy(series, load->misses * ran_s), noisy(series, load->calls * ran_s)},
    };
    struct rps_error err;

    if (rps_collect_add(series->collect, 0, &period, &err) < 0)
        fail_msg("%s", err.message);
    series->count++;
}

static void add_many(struct series *series, const struct load *load, int count)
{
    for (int i = 0; i < count; i++)
        add(series, load);
}

static struct rps_collected end(struct series *series)
{
    struct rps_collected collected;
    struct rps_error err;

    if (rps_collect_end_together(&series->collect, 1, &collected, &err) < 0)
        fail_msg("%s", err.message);
    rps_collect_free(series->collect);
    rps_plan_free(series->plan);
    return collected;
}

/* Check that the phases begin within two periods of `start`, and nowhere else. */
static void check_starts(struct series *series, const uint64_t *start, size_t count)
{
    static const struct rps_detect_options usual_options;
    struct rps_collected collected = end(series);
    struct rps_phases phases;
    struct rps_error err;

    if (rps_detect(arena, &collected.signals, &usual_options, &phases, NULL, &err) < 0)
        fail_msg("%s", err.message);
    if (phases.count != count)
        fail_msg("%zu phases are not %zu", phases.count, count);
    for (size_t i = 0; i < count; i++) {
        if (phases.phase[i].first > start[i] + 2 || phases.phase[i].first + 2 < start[i])
            fail_msg("phase %zu begins at %llu, not %llu", i,
                     (unsigned long long)phases.phase[i].first, (unsigned long long)start[i]);
    }
    rps_collected_free(&collected);
}

static size_t signal_of(const struct rps_collected *collected, const char *name)
{
    for (size_t s = 0; s < collected->signals.signal_count; s++) {
        if (strcmp(collected->signal[s].name, name) == 0)
            return s;
    }
    return SIZE_MAX;
}

/* --- the CPU ---------------------------------------------------------------------------------- */

static double uniform(struct series *series)
{
    series->state = series->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(series->state >> 11) * 0x1p-53;
}

/* Add periods of a workload beside zero to three other programs that start and end. */
static void add_beside_others(struct series *series, struct load load, int count)
{
    int others = 1, left = 0;
    double use = load.use;

    for (int i = 0; i < count; i++) {
        if (left-- == 0) {
            others = (int)(4 * uniform(series));
            left = 3 + (int)(25 * uniform(series));
        }
        load.use = use / (1 + others) * fmin(1, 1 + 0.15 * series_normal(&series->state));
        add(series, &load);
    }
}

static void test_others_make_no_phases(void **state)
{
    static const uint64_t start[] = {0};
    struct series series = begin(NULL);

    (void)state;
    add_beside_others(&series, usual, 500);
    check_starts(&series, start, 1);
}

/* Sleep and other work of the workload are detected even beside other programs. */
static void test_phases_beside_others(void **state)
{
    static const uint64_t start[] = {0, 100, 160, 260};
    struct series series = begin(NULL);
    struct load asleep = {0}, faulting = usual;

    (void)state;
    faulting.faults *= 5;
    add_beside_others(&series, usual, 100);
    add_many(&series, &asleep, 60);
    add_beside_others(&series, usual, 100);
    add_beside_others(&series, faulting, 100);
    check_starts(&series, start, 4);
}

/* Phases that differ only in CPU use are found if the workload has the machine alone. */
static void test_cpu_use_alone(void **state)
{
    static const uint64_t start[] = {0, 40, 80, 120, 160};
    static const double use[] = {1, 0.3, 0.8, 0, 0.5};
    struct series series = begin(NULL);

    (void)state;
    for (int phase = 0; phase < 5; phase++) {
        for (int i = 0; i < 40; i++) {
            struct load load = usual;

            load.use = use[phase] * fmin(1, 1 + 0.02 * series_normal(&series.state));
            add(&series, &load);
        }
    }
    check_starts(&series, start, 5);
}

/* The minimum difference of CPU use follows from its variation, within limits. */
static void test_noise_of_cpu_use(void **state)
{
    static const struct {
        double noise, low, high;
    } cases[] = {{0.005, 0.1, 0.1}, {0.055, 0.17, 0.27}, {0.3, 0.35, 0.35}};

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct series series = begin(NULL);
        struct rps_collected collected;
        double resolution;

        for (int i = 0; i < 400; i++) {
            struct load load = usual;

            load.use = i % 50 < 10 ? 0 : 0.5 * exp(cases[c].noise * series_normal(&series.state));
            add(&series, &load);
        }
        collected = end(&series);
        resolution = collected.signals.resolution[signal_of(&collected, RPS_COLLECT_CPU_USE)];
        if (!(resolution >= cases[c].low - 1e-9 && resolution <= cases[c].high + 1e-9))
            fail_msg("case %zu: %g", c, resolution);
        rps_collected_free(&collected);
    }
}

/* --- few events ------------------------------------------------------------------------------- */

/* A ratio far below 1 that doubles is a phase, whether selected by name or not. */
static void test_low_ratio(void **state)
{
    static const uint64_t start[] = {0, 100};
    struct load load = usual;

    (void)state;
    for (int named = 0; named < 2; named++) {
        struct series series = begin(named ? "miss_ratio" : NULL);

        load.misses = 2000; /* .04 % misses */
        add_many(&series, &load, 100);
        load.misses = 4000;
        add_many(&series, &load, 100);
        check_starts(&series, start, 2);
    }
}

/* A low ratio with only a few counts per ten periods is no phase, because chance decides where
 * counts occur. */
static void test_low_ratio_of_few(void **state)
{
    static const uint64_t start[] = {0};
    struct series series = begin("miss_ratio");
    struct load load = usual;

    (void)state;
    load.misses = 5;
    add_many(&series, &load, 300);
    check_starts(&series, start, 1);
}

/* Rates are scaled by the number of counts, whatever unit a count has. */
static void test_rate_in_other_units(void **state)
{
    struct series series = begin(NULL);
    struct rps_collected collected;
    struct load load = usual;
    double sum = 0, squares = 0, mean;
    size_t s;

    (void)state;
    load.misses = 300;
    add_many(&series, &load, 400);
    collected = end(&series);
    s = signal_of(&collected, "byte_rate");
    assert_true(s != SIZE_MAX);
    for (size_t i = 0; i < 400; i++)
        sum += collected.signals.value[s * 400 + i];
    mean = sum / 400;
    for (size_t i = 0; i < 400; i++)
        squares += pow(collected.signals.value[s * 400 + i] - mean, 2);
    /* the noise of 30 counts per period is about equal to the signal's resolution */
    if (!(sqrt(squares / 399) > 0.6 && sqrt(squares / 399) < 1.3))
        fail_msg("a deviation of %g", sqrt(squares / 399));
    assert_true(collected.signals.resolution[s] == 1);
    rps_collected_free(&collected);
}

/* A ratio is left out if its denominator is a rare event, and kept if selected by name. */
static void test_rare_denominator(void **state)
{
    struct load load = usual;

    (void)state;
    for (int named = 0; named < 2; named++) {
        struct series series = begin(named ? "time_per_call" : NULL);
        struct rps_collected collected;

        load.calls = 8;
        add_many(&series, &load, 200);
        collected = end(&series);
        assert_int_equal(signal_of(&collected, "time_per_call") != SIZE_MAX, named);
        rps_collected_free(&collected);
    }
}

/* A denominator that is rare in a part of the run has a small weight in this part. */
static void test_denominator_rare_now_and_then(void **state)
{
    struct series series = begin(NULL);
    struct load load = usual;
    struct rps_collected collected;
    size_t s;

    (void)state;
    add_many(&series, &load, 200);
    load.calls = 20;
    add_many(&series, &load, 100);
    collected = end(&series);
    s = signal_of(&collected, "time_per_call");
    assert_true(s != SIZE_MAX && collected.signals.weight);
    for (size_t i = 0; i < 200; i++)
        assert_true(collected.signals.weight[s * 300 + i] > 0.9F);
    for (size_t i = 200; i < 300; i++) {
        if (isfinite(collected.signals.value[s * 300 + i]))
            assert_true(collected.signals.weight[s * 300 + i] < 0.25F);
    }
    rps_collected_free(&collected);
}

/* --- samples of the code ---------------------------------------------------------------------- */

#define FUNCTIONS 5

/* Share of each function in the samples. The rest of the samples is in other functions. */
struct mix {
    double share[FUNCTIONS];
};

static const struct mix loading = {{.7, 0, 0, .1, .1}}, solving = {{0, .8, 0, .1, .05}},
                        saving = {{0, 0, .6, .2, .1}};

struct sampled {
    struct series series;
    uint64_t state;
    struct rps_count *count; /* samples of the functions and the rest */
    size_t count_count;
};

static struct sampled *begin_sampled(uint64_t seed)
{
    struct sampled *sampled = calloc(1, sizeof(*sampled));

    assert_non_null(sampled);
    sampled->series = begin(NULL);
    sampled->state = seed;
    return sampled;
}

/* Add a usual period with `samples` samples drawn from the mix. */
static void add_sampled(struct sampled *sampled, const struct mix *mix, uint32_t samples)
{
    size_t i = sampled->series.count;

    add(&sampled->series, &usual);
    sampled->count =
        realloc(sampled->count, (sampled->count_count + samples + 1) * sizeof(*sampled->count));
    assert_non_null(sampled->count);
    for (uint32_t n = 0; n < samples; n++) {
        double at = rps_random_unit(&sampled->state);
        uint32_t f = 0;

        while (f < FUNCTIONS && at >= mix->share[f])
            at -= mix->share[f++];
        sampled->count[sampled->count_count++] = (struct rps_count){i, f, 1};
    }
}

/* Return the phases of the series. Frees the series. */
static struct rps_phases detect_sampled(struct sampled *sampled)
{
    static const struct rps_phases_options usual_options;
    size_t count = sampled->series.count;
    struct rps_collected collected = end(&sampled->series);
    struct rps_found_phases found;
    struct rps_count_table table;
    struct rps_phases phases;
    struct rps_error err;

    table = rps_count_table_make(count, FUNCTIONS + 1, RPS_COUNT_SAMPLE_DIVISOR, sampled->count,
                                 sampled->count_count);
    rps_collected_add_table(&collected, &table);
    if (rps_phases_find(arena, &collected.signals, &usual_options, &found, &err) < 0)
        fail_msg("%s", err.message);
    phases = *rps_phase_levels_shown(&found.levels);
    *rps_phase_levels_shown(&found.levels) = (struct rps_phases){0};
    rps_collected_free(&collected);
    free(sampled);
    return phases;
}

static void check_one(struct sampled *sampled, uint64_t seed)
{
    struct rps_phases phases = detect_sampled(sampled);

    if (phases.count != 1)
        fail_msg("seed %llu: %zu phases", (unsigned long long)seed, phases.count);
}

/* Phases are found if the counts are constant but the running code changes. */
static void test_functions_make_phases(void **state)
{
    static const struct mix *const mixes[] = {&loading, &solving, &saving};
    struct sampled *sampled = begin_sampled(1);
    struct rps_phases phases;

    (void)state;
    for (int i = 0; i < 180; i++)
        add_sampled(sampled, mixes[i / 30 % 3], 10);
    phases = detect_sampled(sampled);
    assert_int_equal(phases.count, 6);
    assert_int_equal(phases.label_count, 3);
    for (size_t k = 0; k < 6; k++) {
        assert_in_range(phases.phase[k].first + 5, 30 * k, 30 * k + 10);
        assert_int_equal(phases.phase[k].label, k % 3);
    }
}

/* Chance alone makes no phase in a steady mix of functions. */
static void test_a_steady_mix_is_one_phase(void **state)
{
    static const struct mix mix = {{.4, .25, .15, .1, .04}};

    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct sampled *sampled = begin_sampled(seed);

        for (int i = 0; i < 600; i++)
            add_sampled(sampled, &mix, i % 2 ? 9 : 11);
        check_one(sampled, seed);
    }
}

/* The number of samples makes no phase, because it does not depend on the workload. */
static void test_their_number_makes_no_phase(void **state)
{
    static const struct mix mix = {{.4, .25, .15, .1, .04}};

    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct sampled *sampled = begin_sampled(seed);

        for (int i = 0; i < 600; i++)
            add_sampled(sampled, &mix, i < 300 ? 40 : 3);
        check_one(sampled, seed);
    }
}

/* A share that grows slowly is one phase, not a series of steps. */
static void test_a_drifting_share_is_one_phase(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 5; seed++) {
        struct sampled *sampled = begin_sampled(seed);

        for (int i = 0; i < 1500; i++) {
            double part = i / 1500.0;
            struct mix mix = {{.6 - .3 * part, .1 + .3 * part, .2, .05, .05}};

            add_sampled(sampled, &mix, 10);
        }
        check_one(sampled, seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_others_make_no_phases),
        cmocka_unit_test(test_phases_beside_others),
        cmocka_unit_test(test_cpu_use_alone),
        cmocka_unit_test(test_noise_of_cpu_use),
        cmocka_unit_test(test_low_ratio),
        cmocka_unit_test(test_low_ratio_of_few),
        cmocka_unit_test(test_rate_in_other_units),
        cmocka_unit_test(test_rare_denominator),
        cmocka_unit_test(test_denominator_rare_now_and_then),
        cmocka_unit_test(test_functions_make_phases),
        cmocka_unit_test(test_a_steady_mix_is_one_phase),
        cmocka_unit_test(test_their_number_makes_no_phase),
        cmocka_unit_test(test_a_drifting_share_is_one_phase),
    };

    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
