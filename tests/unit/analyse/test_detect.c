/* Tests of the detector's contract: phases that it must and must not find, its options, and the
 * labels of the finest level. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "detect_series.h"
#include "support/arena.h"
#include "rpistat/phases.h"
#include "rpistat/random.h"

static struct rps_detect_details details;

static struct rps_phases detect_with(const struct rps_signals *signals,
                                     const struct rps_detect_options *options)
{
    const struct rps_phases_options all = {.detect = *options, .level.fine = 1};
    struct rps_found_phases found = {0};
    struct rps_phases phases, *finest;
    struct rps_error err = {""};
    uint64_t next = 0;

    if (rps_phases_find(arena, signals, &all, &found, &err) < 0)
        fail_msg("%s", err.message);
    details = found.details;
    finest = rps_phase_levels_shown(&found.levels);
    phases = *finest;
    *finest = (struct rps_phases){0};
    assert_true(phases.count > 0);
    for (size_t k = 0; k < phases.count; k++) {
        const struct rps_phase *phase = &phases.phase[k];

        assert_int_equal(phase->first, next);
        assert_true(phase->last >= phase->first);
        assert_true(phase->earliest <= phase->first && phase->first <= phase->latest);
        assert_true(phase->confidence >= 0 && phase->confidence <= 1);
        assert_true(phase->label_confidence >= 0 && phase->label_confidence <= 1);
        assert_in_range(phase->label, 0, phases.label_count - 1);
        next = phase->last + 1;
    }
    assert_int_equal(next, signals->count);
    return phases;
}

static struct rps_phases detect(const struct rps_signals *signals)
{
    static const struct rps_detect_options none;

    return detect_with(signals, &none);
}

/* Check the labels, written as "ABA", and the starts: each is `length` after the one before, within
 * `off`. */
static void expect_phases(const struct rps_phases *phases, const char *labels, size_t length,
                          size_t off)
{
    char text[RPS_PHASE_LABEL_SIZE];

    assert_int_equal(phases->count, strlen(labels));
    for (size_t k = 0; k < phases->count; k++) {
        double start = (double)phases->phase[k].first, wanted = (double)(k * length);

        assert_true(fabs(start - wanted) <= (double)off);
        assert_int_equal(rps_phase_label(phases->phase[k].label, text)[0], labels[k]);
    }
}

static void expect_one(const struct rps_signals *signals)
{
    struct rps_phases phases = detect(signals);

    assert_int_equal(phases.count, 1);
    assert_int_equal(phases.label_count, 1);
    assert_int_equal(phases.phase[0].label, 0);
    assert_true(phases.phase[0].confidence >= 1);
}

/* --- what is there ---------------------------------------------------------------------------- */

static void phases_come_back(void **state)
{
    static const double levels[] = {0, 5, 10, 0, 5, 10, 0};
    struct rps_signals signals = series_levels(levels, 7, 60, 2, 1, 1);
    struct rps_phases phases = detect(&signals);

    (void)state;
    expect_phases(&phases, "ABCABCA", 60, 0);
    assert_int_equal(phases.label_count, 3);
    assert_false(details.linear);
    for (size_t k = 1; k < phases.count; k++) {
        assert_true(phases.phase[k].confidence > 0.99);
        assert_true(phases.phase[k].label_confidence > 0.9);
        assert_true(phases.phase[k].latest - phases.phase[k].earliest <= 2);
    }
    rps_signals_free(&signals);
}

/* A weak change is found, with less confidence. */
static void weak_change(void **state)
{
    static const double levels[] = {0, 0.7};
    struct rps_signals signals = series_levels(levels, 2, 300, 1, 1, 3);
    struct rps_phases phases = detect(&signals);

    (void)state;
    expect_phases(&phases, "AB", 300, 25);
    assert_true(phases.phase[1].latest - phases.phase[1].earliest >= 4);
    assert_true(phases.phase[1].earliest <= 300 && phases.phase[1].latest >= 300);
    rps_signals_free(&signals);
}

static void twenty_rows(void **state)
{
    static const double levels[] = {0, 6};
    struct rps_signals signals = series_levels(levels, 2, 10, 1, 1, 4);
    struct rps_phases phases = detect(&signals);

    (void)state;
    expect_phases(&phases, "AB", 10, 0);
    rps_signals_free(&signals);
}

/* Exact counters: steps are found between values that do not vary otherwise. */
static void without_noise(void **state)
{
    static const double levels[] = {3, 4, 3, 4};
    struct rps_signals signals = series_levels(levels, 4, 25, 1, 0, 1);
    struct rps_phases phases = detect(&signals);

    (void)state;
    expect_phases(&phases, "ABAB", 25, 0);
    assert_int_equal(phases.outlier_count, 0);
    rps_signals_free(&signals);
}

/* A warm-up ramp is one phase, not many steps. */
static void ramp(void **state)
{
    struct rps_signals signals = series_make(400, 1);
    struct rps_phases phases;
    uint64_t seed = 5;

    (void)state;
    for (size_t i = 0; i < 400; i++)
        signals.value[i] = (i < 200 ? 0.1 * (double)i : 20) + series_normal(&seed);
    phases = detect(&signals);
    expect_phases(&phases, "AB", 200, 25);
    assert_true(details.linear);
    rps_signals_free(&signals);
}

/* A steady rise is one phase, whatever its curve on the compared scale. A staircase has one phase
 * per step. */
static void curve(void **state)
{
    static const double levels[] = {0, 6, 12, 18, 24, 30};
    struct rps_signals signals;

    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        uint64_t random = seed;
        struct rps_phases phases;

        signals = series_make(6000, 2);
        for (size_t i = 0; i < 6000; i++) {
            double at = (double)i / 6000;

            signals.value[i] = 40 * log1p(3 * at) + series_normal(&random);
            signals.value[6000 + i] = 20 * exp(at) + series_normal(&random);
        }
        expect_one(&signals);
        assert_true(details.linear);
        rps_signals_free(&signals);
        signals = series_levels(levels, 6, 1000, 2, 1, seed);
        phases = detect(&signals);
        expect_phases(&phases, "ABCDEF", 1000, 2);
        rps_signals_free(&signals);
    }
}

/* Blocks that contain a change between two parts of a loop are mixtures. A part may be as short as
 * a block. One signal has missing values. */
static void slow_loop(void **state)
{
    static const double level[] = {0, 18, -12}, length[] = {4.4, 2.7, 2.9};
    struct rps_signals signals = series_make(600, 2);
    double change[241] = {0};
    struct rps_phases phases;
    uint64_t seed = 3;
    size_t part = 0;

    (void)state;
    for (size_t k = 0; k < 240; k++)
        change[k + 1] = change[k] + length[k % 3];
    for (size_t i = 0; i < 600; i++) {
        double at = (double)i, value = 0;

        while (at < (double)i + 1) {
            double end = fmin(change[part + 1], (double)i + 1);

            value += (end - at) * level[part % 3];
            at = end;
            part += end >= change[part + 1];
        }
        signals.value[i] = value + .1 * series_normal(&seed);
        signals.value[600 + i] = i % 97 == 50 ? NAN : 2 * value + .1 * series_normal(&seed);
    }
    signals.resolution = calloc(2, sizeof(*signals.resolution));
    assert_non_null(signals.resolution);
    signals.resolution[0] = signals.resolution[1] = 1;
    signals.in_blocks = 1;
    phases = detect(&signals);
    assert_int_equal(phases.count, 180);
    for (size_t k = 0; k < phases.count; k++) {
        assert_true(fabs((double)phases.phase[k].first - change[k]) <= 1);
    }
    assert_in_range(phases.phase[phases.count - 2].turn, 55, 60);
    rps_signals_free(&signals);
}

/* Every fourth block contains a change between two phases. In these blocks, a ratio of events that
 * are not counted together exceeds both phases. A block with higher values in all signals is a
 * phase. */
static void mixed_blocks(void **state)
{
    struct rps_signals signals = series_make(500, 3);
    struct rps_phases phases;
    uint64_t seed = 4;
    size_t short_count = 0, at = 0;

    (void)state;
    for (size_t k = 0; at < 500; k++) {
        for (size_t end = at + 5; at < end && at < 500; at++) {
            signals.value[at] = k % 2 ? 20 : 0;
            signals.value[500 + at] = k % 2 ? 10 : 30;
            signals.value[1000 + at] = k % 2 ? 5 : 8;
        }
        if (k % 4 == 3 && at < 500) {
            signals.value[at] = 9;
            signals.value[500 + at] = 18;
            signals.value[1000 + at++] = -30;
        }
    }
    for (size_t s = 0; s < 3; s++)
        signals.value[s * 500 + 26] = 60;
    for (size_t i = 0; i < 1500; i++)
        signals.value[i] += .3 * series_normal(&seed);
    signals.in_blocks = 1;
    phases = detect(&signals);
    for (size_t k = 0; k < phases.count; k++)
        short_count += phases.phase[k].last == phases.phase[k].first;
    assert_int_equal(short_count, 1);
    rps_signals_free(&signals);
}

/* A long series is screened first. Screening must find the same phases as the exact search. */
static void exact_agrees(void **state)
{
    static const double levels[] = {0, 2, 0, 1, 3, 0, 2, 1, 0, 3};
    static const struct rps_detect_options exact = {.exact = 1};
    struct rps_signals signals = series_levels(levels, 10, 200, 2, 1, 6);
    struct rps_phases quick = detect(&signals), slow;
    double objective = details.objective;

    (void)state;
    slow = detect_with(&signals, &exact);
    assert_int_equal(quick.count, 10);
    assert_int_equal(quick.count, slow.count);
    for (size_t k = 0; k < quick.count; k++) {
        assert_int_equal(quick.phase[k].first, slow.phase[k].first);
        assert_int_equal(quick.phase[k].label, slow.phase[k].label);
    }
    assert_true(objective >= details.objective - 1e-6 * fabs(details.objective));
    assert_true(objective <= details.objective + 2e-3 * fabs(details.objective));
    rps_signals_free(&signals);
}

/* --- what is not there ------------------------------------------------------------------------ */

static void noise_has_no_phases(void **state)
{
    static const double level[] = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rps_signals signals = series_levels(level, 1, 1500, 3, 1, seed);

        expect_one(&signals);
        for (size_t s = 0; s < 3; s++) { /* the same series, autocorrelated */
            for (size_t i = 1; i < 1500; i++)
                signals.value[s * 1500 + i] += 0.7 * signals.value[s * 1500 + i - 1];
        }
        expect_one(&signals);
        assert_true(details.autocorrelation > 0.6 && details.autocorrelation < 0.8);
        rps_signals_free(&signals);
    }
}

static size_t count_changes(const struct rps_signals *signals)
{
    struct rps_phases phases = detect(signals);
    size_t changes = details.is_drifting ? 0 : phases.count - 1;

    return changes;
}

/* Counts of sparse events are no outliers, and events that are close by chance are no phases. */
static void sparse_counts_have_no_phases(void **state)
{
    uint64_t dice = 1;
    int false_runs = 0;

    (void)state;
    for (int run = 0; run < 20; run++) {
        struct rps_signals signals = series_make(1000, 3);
        struct rps_phases phases;

        for (size_t i = 0; i < signals.count * signals.signal_count; i++) {
            for (int k = 0; k < 2; k++)
                signals.value[i] += rps_random_unit(&dice) < .05;
        }
        phases = detect(&signals);
        false_runs += phases.count > 1;
        assert_true(phases.outlier_count < 10);
        rps_signals_free(&signals);
    }
    assert_true(false_runs <= 1);
}

/* A step of one signal among many that are noise is no drift. */
static void one_of_many_steps(void **state)
{
    uint64_t dice = 1;

    (void)state;
    for (size_t width = 60; width <= 100; width += 40) {
        struct rps_signals signals = series_make(1000, width);
        struct rps_phases phases;

        for (size_t i = 0; i < signals.count * width; i++)
            signals.value[i] = series_normal(&dice) + (i >= 3500 && i < 4000 ? 6 : 0);
        phases = detect(&signals);
        assert_int_equal(phases.count, 2);
        assert_int_equal(phases.phase[1].first, 500);
        assert_false(details.is_drifting);
        rps_signals_free(&signals);
    }
}

/* A random walk has no phases. Drift at several speeds resembles phases, but is explained better by
 * its recent values and is reported as drift. */
static void drifting_has_no_phases(void **state)
{
    size_t walk = 0, sum = 0, is_drifting = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rps_signals signals = series_make(3000, 3);
        uint64_t random = seed;

        for (size_t i = 0; i < 9000; i++)
            signals.value[i] = (i % 3000 == 0 ? 0 : signals.value[i - 1]) + series_normal(&random);
        walk += count_changes(&signals);
        rps_signals_free(&signals);
        signals = series_drifting(3000, 3, &random);
        sum += count_changes(&signals);
        is_drifting += details.is_drifting != 0;
        rps_signals_free(&signals);
    }
    assert_true(walk <= 4);
    assert_true(sum <= 4);
    assert_true(is_drifting >= 10);
}

/* A slow wave is drift. Equally many steps of equal height are phases. */
static void wave_has_no_phases(void **state)
{
    size_t waves = 0, steps = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rps_signals signals = series_make(1000, 2);
        uint64_t random = seed;

        for (size_t i = 0; i < 2000; i++)
            signals.value[i] =
                2 * sin(2 * M_PI * ((double)seed / 20 + (double)i / 1000)) + series_normal(&random);
        waves += count_changes(&signals) > 0;
        for (size_t i = 0; i < 2000; i++)
            signals.value[i] = (i / 250 % 2 ? 2 : 0) + series_normal(&random);
        steps += count_changes(&signals);
        rps_signals_free(&signals);
    }
    assert_true(waves <= 4);
    assert_in_range(steps, 60, 66);
}

/* In a long series, jumps at multiples of the distance of the values that are examined count. */
static void long_square_wave(void **state)
{
    struct rps_signals signals = series_make(150000, 1);
    struct rps_phases phases;

    (void)state;
    for (size_t i = 0; i < 150000; i++)
        signals.value[i] = i / 3000 % 2 ? 5 : 0;
    rps_signals_floor_noise(arena, &signals);
    phases = detect(&signals);
    assert_int_equal(phases.count, 50);
    assert_false(details.is_drifting);
    signals.noise_floor = NULL; /* it is in the arena */
    rps_signals_free(&signals);
}

/* A random walk in noise of ten times its steps is a drift. */
static void noisy_walk_has_no_phases(void **state)
{
    size_t walks = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rps_signals signals = series_make(500, 3);
        uint64_t random = seed;

        for (size_t s = 0; s < 3; s++) {
            double level = 0;

            for (size_t i = 0; i < 500; i++) {
                level += 0.1 * series_normal(&random);
                signals.value[500 * s + i] = level + series_normal(&random);
            }
        }
        walks += count_changes(&signals) > 0;
        rps_signals_free(&signals);
    }
    assert_true(walks <= 3);
}

/* A sum of processes of several speeds is a walk in autocorrelated noise, also in few rows. */
static void short_drift_has_no_phases(void **state)
{
    size_t drifts = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t random = seed;
        struct rps_signals signals = series_drifting(500, 1, &random);

        drifts += count_changes(&signals) > 0;
        rps_signals_free(&signals);
    }
    assert_true(drifts <= 1);
}

/* One value that differs from all others is an outlier and no phase, also near both ends. */
static void outlier_is_no_phase(void **state)
{
    static const double level[] = {0};

    (void)state;
    for (size_t at = 0; at < 200; at += at < 3 || at >= 196 ? 1 : 97) {
        struct rps_signals signals = series_levels(level, 1, 200, 1, 1, 9);
        struct rps_phases phases;

        signals.value[at] = 1000;
        phases = detect(&signals);
        assert_int_equal(phases.count, 1);
        assert_int_equal(phases.outlier_count, 1);
        assert_int_equal(phases.outlier[0], at);
        rps_signals_free(&signals);
    }
}

static void nothing_varies(void **state)
{
    struct rps_signals signals = series_make(100, 2);
    struct rps_phases phases;

    (void)state;
    for (size_t i = 0; i < 100; i++)
        signals.value[i] = 4.2;
    expect_one(&signals);
    for (size_t i = 0; i < 200; i++)
        signals.value[i] = i == 30 || i == 150 ? 3 : NAN;
    expect_one(&signals);
    signals.broken = calloc(100, 1);
    assert_non_null(signals.broken);
    signals.broken[40] = 1; /* a boundary independent of the signals */
    phases = detect(&signals);
    expect_phases(&phases, "AA", 40, 0);
    rps_signals_free(&signals);
}

/* Phases of 5 to 10 observations have three classes with six means of deviation 2. Most windows
 * contain a change, so that their differences are not noise. */
static void dense_changes(void **state)
{
    size_t shown = 0, found = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct rps_signals signals = series_make(6000, 6);
        struct rps_phases phases;
        uint64_t random = seed;
        double mean[3][6];
        size_t kind = 0, left = 0;

        for (size_t m = 0; m < 18; m++)
            mean[m / 6][m % 6] = 2 * series_normal(&random);
        for (size_t i = 0; i < signals.count; i++, left--) {
            if (left == 0) {
                left = 5 + rps_random_next(&random) % 6;
                kind = (kind + 1 + rps_random_next(&random) % 2) % 3;
                shown++;
            }
            for (size_t s = 0; s < 6; s++)
                signals.value[s * signals.count + i] = mean[kind][s] + series_normal(&random);
        }
        phases = detect(&signals);
        found += phases.count;
        rps_signals_free(&signals);
    }
    assert_true(found * 10 > shown * 9 && found <= shown);
}

/* A phase is found even if it is so short that its values are outliers among their neighbours. Each
 * of four signals has a value in every fourth observation. A single value that is unlike all others
 * remains an outlier. */
static void a_short_phase_is_no_outliers(void **state)
{
    struct rps_signals signals = series_make(400, 4);
    struct rps_phases phases;
    uint64_t random = 3;

    (void)state;
    signals.in_rotation = 4;
    for (size_t i = 0; i < signals.count; i++) {
        double level = i >= 200 && i < 212 ? 30 : 0;

        for (size_t s = 0; s < 4; s++)
            signals.value[s * signals.count + i] =
                i % 4 == s ? level + series_normal(&random) : NAN;
    }
    signals.value[300] = 1000;
    phases = detect(&signals);
    assert_int_equal(phases.count, 3);
    assert_int_equal(phases.phase[1].first, 200);
    assert_int_equal(phases.phase[1].last, 211);
    assert_int_equal(phases.outlier_count, 1);
    assert_int_equal(phases.outlier[0], 300);
    rps_signals_free(&signals);
}

static void very_short(void **state)
{
    (void)state;
    for (size_t count = 1; count <= 6; count++) {
        struct rps_signals signals = series_make(count, 1);

        for (size_t i = 0; i < count; i++)
            signals.value[i] = (double)(i * i % 5);
        expect_one(&signals);
        rps_signals_free(&signals);
    }
}

static void nothing_at_all(void **state)
{
    static const struct rps_detect_options none;
    struct rps_signals signals = {0};
    struct rps_phases phases = {0};
    struct rps_error err = {""};

    (void)state;
    assert_int_equal(rps_detect(arena, &signals, &none, &phases, NULL, &err), RPS_FAILED);
    assert_non_null(strstr(err.message, "no observations"));
    signals.count = 5;
    assert_int_equal(rps_detect(arena, &signals, &none, &phases, NULL, &err), RPS_FAILED);
    assert_non_null(strstr(err.message, "no metrics"));
    assert_null(phases.phase);
}

/* --- what was not seen ------------------------------------------------------------------------ */

/* Rotation: each of four signals has a value in every fourth observation. */
static void taking_turns(void **state)
{
    static const double levels[] = {0, 3, 0, 3};
    struct rps_signals signals = series_levels(levels, 4, 100, 4, 1, 11);
    struct rps_phases phases;

    (void)state;
    for (size_t s = 0; s < 4; s++) {
        for (size_t i = 0; i < 400; i++) {
            if (i % 4 != s)
                signals.value[s * 400 + i] = NAN;
        }
    }
    phases = detect(&signals);
    expect_phases(&phases, "ABAB", 100, 4);
    rps_signals_free(&signals);
}

/* A boundary within a segment without values may be anywhere in the segment. Infinities and values
 * of weight 0 count as missing. */
static void unseen_boundary(void **state)
{
    static const double levels[] = {0, 8};
    struct rps_signals signals = series_levels(levels, 2, 50, 1, 1, 12);
    struct rps_phases phases;

    (void)state;
    signals.weight = calloc(100, sizeof(*signals.weight));
    assert_non_null(signals.weight);
    for (size_t i = 0; i < 100; i++)
        signals.weight[i] = i >= 46 && i < 50 ? 0 : 1;
    for (size_t i = 50; i < 54; i++)
        signals.value[i] = i % 2 ? INFINITY : NAN;
    for (size_t i = 46; i < 50; i++)
        signals.value[i] = -1e9; /* weight 0: must be ignored */
    phases = detect(&signals);
    assert_int_equal(phases.count, 2);
    assert_true(phases.phase[1].earliest <= 46 && phases.phase[1].latest >= 54);
    assert_true(phases.phase[1].first >= 46 && phases.phase[1].first <= 54);
    assert_int_equal(phases.outlier_count, 0);
    rps_signals_free(&signals);
}

/* A value of small weight moves no boundary. */
static void weights_count(void **state)
{
    static const double levels[] = {0, 6};
    struct rps_signals signals = series_levels(levels, 2, 40, 1, 1, 13);
    struct rps_phases phases;

    (void)state;
    signals.weight = calloc(80, sizeof(*signals.weight));
    assert_non_null(signals.weight);
    for (size_t i = 0; i < 80; i++)
        signals.weight[i] = i % 2 ? 1 : 0.1F;
    phases = detect(&signals);
    expect_phases(&phases, "AB", 40, 1);
    rps_signals_free(&signals);
}

static void gaps_are_boundaries(void **state)
{
    static const double levels[] = {0, 0, 6};
    struct rps_signals signals = series_levels(levels, 3, 50, 2, 1, 14);
    struct rps_phases phases;

    (void)state;
    signals.broken = calloc(150, 1);
    assert_non_null(signals.broken);
    signals.broken[50] = signals.broken[100] = 1;
    phases = detect(&signals);
    expect_phases(&phases, "AAB", 50, 0);
    assert_true(phases.phase[1].confidence < .5);
    assert_true(phases.phase[2].confidence > .99);
    assert_int_equal(phases.phase[1].earliest, 50);
    assert_int_equal(phases.phase[1].latest, 50);
    rps_signals_free(&signals);
}

/* --- signals ---------------------------------------------------------------------------------- */

/* Copies of a signal count once, in any unit and with any constant signals alongside. */
static void copies_count_once(void **state)
{
    static const double levels[] = {0, 1.2};
    struct rps_signals one = series_levels(levels, 2, 150, 1, 1, 15), many = series_make(300, 5);
    struct rps_phases first = detect(&one), second;
    double penalty = details.penalty;

    (void)state;
    for (size_t i = 0; i < 300; i++) {
        many.value[i] = one.value[i];
        many.value[300 + i] = 7e9 * one.value[i] + 1e6;
        many.value[600 + i] = -one.value[i];
        many.value[900 + i] = 12;
        many.value[1200 + i] = NAN;
    }
    second = detect(&many);
    assert_int_equal(details.used_signal_count, 1);
    assert_true(fabs(details.penalty - penalty) <= 1e-9 * penalty);
    assert_int_equal(first.count, 2);
    assert_int_equal(second.count, 2);
    assert_int_equal(second.phase[1].first, first.phase[1].first);
    rps_signals_free(&many);
    rps_signals_free(&one);
}

/* Noise that all signals share is not counted as a change in each signal. */
static void common_noise(void **state)
{
    struct rps_signals signals = series_make(600, 12);

    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        uint64_t random = seed;

        for (size_t i = 0; i < 600; i++) {
            double common = series_normal(&random);

            for (size_t s = 0; s < 12; s++)
                signals.value[s * 600 + i] = common + 0.3 * series_normal(&random);
        }
        expect_one(&signals);
        assert_int_equal(details.used_signal_count, 12);
    }
    rps_signals_free(&signals);
}

/* The unit of a signal must not matter, however large or small. */
static void any_unit(void **state)
{
    static const double levels[] = {1, 5}, units[] = {1e300, 1e-300, 1e-310, -3e307, 1e18};

    (void)state;
    for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++) {
        struct rps_signals signals = series_levels(levels, 2, 50, 1, 1, 16);
        struct rps_phases phases;

        for (size_t i = 0; i < 100; i++)
            signals.value[i] *= units[u];
        phases = detect(&signals);
        expect_phases(&phases, "AB", 50, 0);
        rps_signals_free(&signals);
    }
}

/* Signals of very different magnitudes have the same influence. */
static void mixed_units(void **state)
{
    struct rps_signals signals = series_make(200, 2);
    struct rps_phases phases;
    uint64_t seed = 17;

    (void)state;
    for (size_t i = 0; i < 200; i++) {
        signals.value[i] = 1e12 * series_normal(&seed);
        signals.value[200 + i] = 1e-12 * (series_normal(&seed) + (i < 100 ? 0 : 5));
    }
    phases = detect(&signals);
    expect_phases(&phases, "AB", 100, 1);
    rps_signals_free(&signals);
}

static void many_signals(void **state)
{
    static const double levels[] = {0, 1};
    struct rps_signals signals = series_levels(levels, 2, 10, 10000, 1, 18);
    struct rps_phases phases = detect(&signals);

    (void)state;
    expect_phases(&phases, "AB", 10, 0);
    rps_signals_free(&signals);
}

/* Values that differ by less than the resolution are treated as equal, even if they are exact. */
static void resolution_hides(void **state)
{
    static const double levels[] = {100, 100.02, 130};
    struct rps_signals signals = series_levels(levels, 3, 60, 1, 0.001, 19);
    struct rps_phases phases = detect(&signals);

    (void)state;
    expect_phases(&phases, "ABC", 60, 0);
    signals.resolution = calloc(1, sizeof(*signals.resolution));
    assert_non_null(signals.resolution);
    signals.resolution[0] = 0.5;
    phases = detect(&signals);
    assert_int_equal(phases.count, 2);
    assert_int_equal(phases.phase[1].first, 120);
    rps_signals_free(&signals);
}

/* A signal of a recording that is seen twice in 600 observations does not hide boundaries. */
static void rarely_seen_signal(void **state)
{
    static const double levels[] = {0, 2, 0};
    struct rps_signals signals = series_levels(levels, 3, 200, 2, 1, 23);
    struct rps_phases phases;

    (void)state;
    for (size_t i = 1; i < 599; i++)
        signals.value[600 + i] = NAN;
    signals.value[600] = 0;
    signals.value[1199] = 5;
    signals.resolution = calloc(2, sizeof(*signals.resolution));
    assert_non_null(signals.resolution);
    signals.resolution[0] = signals.resolution[1] = .1;
    phases = detect(&signals);
    expect_phases(&phases, "ABA", 200, 2);
    rps_signals_free(&signals);
}

/* A program works three times for half a second, after pauses. A signal that is seen in seven
 * periods does not hide the six phases. */
static void rare_signals_forbid_nothing(void **state)
{
    static const size_t first[] = {0, 21, 26, 45, 51, 70};
    struct rps_signals signals = series_make(75, 2);
    struct rps_phases phases;
    uint64_t noise = 1;

    (void)state;
    for (size_t i = 0, k = 0; i < signals.count; i++) {
        k += k < 5 && i == first[k + 1];
        signals.value[i] = 6. * (double)(k % 2) + .3 * series_normal(&noise);
        signals.value[signals.count + i] = i == first[k] || i == 74 ? series_normal(&noise) : NAN;
    }
    phases = detect(&signals);
    assert_int_equal(phases.count, 6);
    for (size_t k = 0; k < 6; k++)
        assert_int_equal(phases.phase[k].first, first[k]);
    rps_signals_free(&signals);
}

/* A noise floor hides small boundaries too. */
static void noise_floor_hides(void **state)
{
    static const double levels[] = {100, 101.5, 130};
    struct rps_signals signals = series_levels(levels, 3, 60, 1, 0.001, 19);
    struct rps_phases phases;

    (void)state;
    signals.noise_floor = calloc(1, sizeof(*signals.noise_floor));
    assert_non_null(signals.noise_floor);
    signals.noise_floor[0] = 3;
    phases = detect(&signals);
    assert_int_equal(phases.count, 2);
    assert_int_equal(phases.phase[1].first, 120);
    rps_signals_free(&signals);
}

/* The noise floor of a table column is a tenth of the column's variation, in any unit. */
static void noise_floor_by_itself(void **state)
{
    struct rps_signals signals = series_make(5, 2);

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        signals.value[i] = i % 2 ? 3e300 : -1e300;
        signals.value[5 + i] = 7;
    }
    signals.value[4] = signals.value[9] = NAN;
    rps_signals_floor_noise(arena, &signals);
    assert_true(fabs(signals.noise_floor[0] / 2e299 - 1) < 1e-9);
    assert_true(signals.noise_floor[1] <= 0);
    signals.noise_floor = NULL; /* it is in the arena */
    rps_signals_free(&signals);
}

/* A period that contains parts of two phases is no phase, even if some signals resemble the first
 * and some the second. */
static void period_of_both(void **state)
{
    static const double levels[] = {0, 50};
    struct rps_signals signals = series_levels(levels, 2, 40, 3, 1, 20);
    struct rps_phases phases;

    (void)state;
    signals.value[40] = 20;
    signals.value[80 + 40] = 48;
    signals.value[160 + 40] = 3;
    phases = detect(&signals);
    assert_int_equal(phases.count, 2);
    assert_true(phases.phase[1].first == 40 || phases.phase[1].first == 41);
    rps_signals_free(&signals);
}

/* --- options ---------------------------------------------------------------------------------- */

static size_t count_with(const struct rps_signals *signals, struct rps_detect_options options)
{
    struct rps_phases phases = detect_with(signals, &options);
    size_t count = phases.count;

    for (size_t k = 0; options.min_length > 0 && k < count; k++)
        assert_true(count == 1 ||
                    phases.phase[k].last - phases.phase[k].first + 1 >= options.min_length);
    return count;
}

static void options_hold(void **state)
{
    static const double levels[] = {0, 3, 0, 5, 2, 6};
    struct rps_signals signals = series_levels(levels, 6, 30, 1, 1, 21);
    size_t usual = count_with(&signals, (struct rps_detect_options){0});

    (void)state;
    assert_int_equal(usual, 6);
    assert_true(count_with(&signals, (struct rps_detect_options){.min_length = 50}) <= 3);
    assert_int_equal(count_with(&signals, (struct rps_detect_options){.min_length = 1000}), 1);
    rps_signals_free(&signals);
}

static void twice_the_same(void **state)
{
    static const double levels[] = {0, 1, 2, 0, 1, 2, 1, 0};
    struct rps_signals signals = series_levels(levels, 8, 120, 3, 1.5, 23);
    struct rps_phases first = detect(&signals), second = detect(&signals);

    (void)state;
    assert_true(first.count > 3);
    assert_int_equal(first.count, second.count);
    for (size_t k = 0; k < first.count; k++) {
        assert_int_equal(first.phase[k].first, second.phase[k].first);
        assert_int_equal(first.phase[k].label, second.phase[k].label);
        assert_true(first.phase[k].confidence == second.phase[k].confidence);
    }
    rps_signals_free(&signals);
}

/* Noise that grows sevenfold around the same mean is a change. Heavy-tailed noise has no changes,
 * and neither has noise with missing values in the second half. */
static void noise_changes(void **state)
{
    const double same[] = {0, 0};
    size_t changes = 0;

    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct rps_signals signals = series_levels(same, 2, 300, 1, 1, seed);
        struct rps_phases phases;

        for (size_t i = 300; i < 600; i++)
            signals.value[i] *= 7;
        phases = detect(&signals);
        assert_in_range(phases.count, 2, 4);
        assert_in_range(phases.phase[1].first, 295, 305);
        assert_true(phases.phase[1].label != phases.phase[0].label);
        assert_true(phases.outlier_count < 12);
        assert_int_equal(details.used_signal_count, 1);
        rps_signals_free(&signals);
        signals = series_levels(same, 2, 300, 1, 1, seed);
        for (size_t i = 300; i < 600; i += 7)
            signals.value[i] = NAN;
        phases = detect(&signals);
        changes += phases.count - 1;
        rps_signals_free(&signals);
        signals = series_levels(same, 2, 300, 1, 1, seed);
        for (size_t i = 0; i < 600; i++)
            signals.value[i] *= fabs(signals.value[i]);
        phases = detect(&signals);
        changes += phases.count - 1;
        rps_signals_free(&signals);
    }
    assert_int_equal(changes, 0);
    (void)state;
}

/* The boundaries of a constant segment between segments with noise are exact. */
static void constant_between_noise(void **state)
{
    const double levels[] = {0, 2, 8};

    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct rps_signals signals = series_levels(levels, 3, 100, 3, 1, seed);
        struct rps_phases phases;

        for (size_t s = 0; s < 3; s++) {
            for (size_t i = 100; i < 200; i++)
                signals.value[s * 300 + i] = levels[1];
        }
        rps_signals_floor_noise(arena, &signals);
        phases = detect(&signals);
        expect_phases(&phases, "ABC", 100, 0);
        signals.noise_floor = NULL; /* it is in the arena */
        rps_signals_free(&signals);
    }
    (void)state;
}

/* Two constant segments are between two with noise. Half of all values have no noise. */
static void constant_half(void **state)
{
    const double levels[] = {0, 0, 1, 0};

    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct rps_signals signals = series_levels(levels, 4, 100, 3, 1, seed);
        struct rps_phases phases;

        for (size_t s = 0; s < 3; s++) {
            for (size_t i = 100; i < 300; i++)
                signals.value[s * 400 + i] = levels[i / 100];
        }
        rps_signals_floor_noise(arena, &signals);
        phases = detect(&signals);
        expect_phases(&phases, "ABCA", 100, 0);
        signals.noise_floor = NULL; /* it is in the arena */
        rps_signals_free(&signals);
    }
    (void)state;
}

/* A step of 28 is found in a cycle of 144 rows from -40 to 40. The cycle alone is one phase. */
static void step_inside_a_cycle(void **state)
{
    for (int step = 0; step <= 28; step += 28) {
        struct rps_signals signals = series_make(1440, 1);
        uint64_t random = 7;
        struct rps_phases phases;

        for (size_t i = 0; i < signals.count; i++)
            signals.value[i] = 40 * sin(2 * M_PI * (double)i / 144) + 3 * series_normal(&random) +
                               (i >= 700 ? step : 0);
        phases = detect(&signals);
        assert_int_equal(phases.count, step > 0 ? 2 : 1);
        if (step > 0)
            assert_in_range(phases.phase[1].first, 695, 705);
        rps_signals_free(&signals);
    }
    (void)state;
}

/* Return the number of cycles that are found in 1000 rows of a sine, beside another signal with
 * `steps` steps. */
static double cycles_beside_steps(double length, size_t steps)
{
    static const double level[] = {0, 90, 30, 150, 60, 180, 120, 210, 240};
    const struct rps_phases_options options = {0};
    struct rps_signals signals = series_make(1000, 2);
    struct rps_found_phases found = {0};
    struct rps_error err = {""};
    uint64_t random = 3;
    double cycles;

    for (size_t i = 0; i < signals.count; i++) {
        signals.value[i] = 9 * sin(2 * M_PI * (double)i / length) + series_normal(&random);
        signals.value[1000 + i] = level[i * (steps + 1) / 1000] + series_normal(&random);
    }
    if (rps_phases_find(arena, &signals, &options, &found, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(rps_phase_levels_shown(&found.levels)->count, steps + 1);
    cycles = found.wave.turns;
    rps_signals_free(&signals);
    return cycles;
}

/* A wave must fit into a phase several times. */
static void waves_inside_phases(void **state)
{
    (void)state;
    assert_true(fabs(cycles_beside_steps(20, 1) - 50) < 1);
    assert_true(fabs(cycles_beside_steps(20, 8) - 50) < 1);
    assert_true(cycles_beside_steps(200, 8) <= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_come_back),
        cmocka_unit_test(weak_change),
        cmocka_unit_test(twenty_rows),
        cmocka_unit_test(without_noise),
        cmocka_unit_test(ramp),
        cmocka_unit_test(curve),
        cmocka_unit_test(slow_loop),
        cmocka_unit_test(mixed_blocks),
        cmocka_unit_test(exact_agrees),
        cmocka_unit_test(noise_has_no_phases),
        cmocka_unit_test(sparse_counts_have_no_phases),
        cmocka_unit_test(one_of_many_steps),
        cmocka_unit_test(drifting_has_no_phases),
        cmocka_unit_test(wave_has_no_phases),
        cmocka_unit_test(noisy_walk_has_no_phases),
        cmocka_unit_test(short_drift_has_no_phases),
        cmocka_unit_test(long_square_wave),
        cmocka_unit_test(outlier_is_no_phase),
        cmocka_unit_test(nothing_varies),
        cmocka_unit_test(dense_changes),
        cmocka_unit_test(a_short_phase_is_no_outliers),
        cmocka_unit_test(very_short),
        cmocka_unit_test(nothing_at_all),
        cmocka_unit_test(taking_turns),
        cmocka_unit_test(unseen_boundary),
        cmocka_unit_test(weights_count),
        cmocka_unit_test(gaps_are_boundaries),
        cmocka_unit_test(copies_count_once),
        cmocka_unit_test(common_noise),
        cmocka_unit_test(any_unit),
        cmocka_unit_test(mixed_units),
        cmocka_unit_test(many_signals),
        cmocka_unit_test(resolution_hides),
        cmocka_unit_test(rarely_seen_signal),
        cmocka_unit_test(rare_signals_forbid_nothing),
        cmocka_unit_test(noise_floor_hides),
        cmocka_unit_test(noise_floor_by_itself),
        cmocka_unit_test(period_of_both),
        cmocka_unit_test(options_hold),
        cmocka_unit_test(twice_the_same),
        cmocka_unit_test(noise_changes),
        cmocka_unit_test(constant_between_noise),
        cmocka_unit_test(constant_half),
        cmocka_unit_test(step_inside_a_cycle),
        cmocka_unit_test(waves_inside_phases),
    };

    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
