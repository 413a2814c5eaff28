/* Tests of levels: the tree of fine phases, its sizes that become levels, the labels of a level,
 * the choice of a level. */
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "detect_series.h"
#include "support/arena.h"
#include "draw_name.h"
#include "rpistat/levels.h"
#include "rpistat/phases.h"
#include "rpistat/random.h"

#define LENGTH 40 /* length of a fine phase */

/* Return the level of a letter in one of two signals. Upper-case letters differ clearly. A
 * lower-case letter is close to its upper-case letter. */
static double level_of(char letter, size_t signal)
{
    static const double far[2][4] = {{0, 10, 20, 30}, {0, 12, -9, 3}};
    int lower = letter >= 'a';

    return far[signal][(lower ? letter - 'a' : letter - 'A') % 4] + lower * (signal ? -1.5 : 1.5);
}

/* Make one fine phase of LENGTH observations per letter. The labels are the letters. */
static struct rps_signals signals_of(const char *letters)
{
    size_t count = strlen(letters) * LENGTH;
    struct rps_signals signals = series_make(count, 2);
    uint64_t state = 3;

    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < count; i++)
            signals.value[s * count + i] =
                level_of(letters[i / LENGTH], s) + .3 * series_normal(&state);
    }
    return signals;
}

static struct rps_phases phases_of(const char *letters)
{
    struct rps_phases phases = {.count = strlen(letters)};
    char kinds[64] = "";

    phases.phase = rps_arena_get(arena, phases.count, sizeof(*phases.phase));
    for (size_t k = 0; k < phases.count; k++) {
        if (!strchr(kinds, letters[k]))
            strncat(kinds, letters + k, 1);
        phases.phase[k] = (struct rps_phase){.first = k * LENGTH,
                                             .last = (k + 1) * LENGTH - 1,
                                             .earliest = k * LENGTH,
                                             .latest = k * LENGTH,
                                             .confidence = 1,
                                             .label_confidence = 1,
                                             .label = (int)(strchr(kinds, letters[k]) - kinds)};
    }
    phases.label_count = (int)strlen(kinds);
    return phases;
}

static struct rps_levels levels_of(const char *letters)
{
    struct rps_signals signals = signals_of(letters);
    struct rps_phases fine = phases_of(letters);
    struct rps_levels levels;

    levels = rps_levels_find(arena, &signals, &fine);
    rps_signals_free(&signals);
    return levels;
}

static size_t at_of(const struct rps_levels *levels, size_t stretches)
{
    for (size_t at = 0; at < levels->count; at++) {
        if (levels->level[at].stretches == stretches)
            return at;
    }
    fail_msg("no level has %zu stretches", stretches);
    return 0;
}

static struct rps_phases phases_at(const struct rps_levels *levels, size_t at)
{
    size_t rows;

    return rps_levels_phases(levels, at, &rows);
}

/* Four rotated signals have values in every fourth observation. Segments of 14 observations have
 * three classes in random order, and their boundaries are up to two observations late. Each class
 * gets one label, although a segment contains values of the segment before. */
static void edges_make_no_kind(void **state)
{
    enum { STRETCHES = 120, WIDTH = 14 };
    struct rps_signals signals = series_make(STRETCHES * WIDTH, 4);
    struct rps_phases fine = {.count = STRETCHES,
                              .phase = rps_arena_get(arena, STRETCHES, sizeof(*fine.phase)),
                              .label_count = STRETCHES},
                      found;
    int kind[STRETCHES] = {0};
    struct rps_levels levels;
    uint64_t random = 5;
    size_t rows;

    (void)state;
    signals.in_rotation = 4;
    for (size_t k = 0; k < STRETCHES; k++) {
        size_t late = k > 0 ? rps_random_next(&random) % 3 : 0;

        kind[k] = k > 0 ? (kind[k - 1] + 1 + (int)(rps_random_next(&random) % 2)) % 3 : 0;
        fine.phase[k] = (struct rps_phase){
            .first = k * WIDTH + late, .confidence = 1, .label_confidence = 1, .label = (int)k};
        fine.phase[k].last = (k + 1) * WIDTH - 1;
        if (k > 0)
            fine.phase[k - 1].last += late;
        for (size_t i = k * WIDTH; i < (k + 1) * WIDTH; i++) {
            for (size_t s = 0; s < 4; s++)
                signals.value[s * signals.count + i] =
                    i % 4 == s ? 20 * kind[k] + series_normal(&random) : NAN;
        }
    }
    levels = rps_levels_find(arena, &signals, &fine);
    found = rps_levels_phases(&levels, levels.count - 1, &rows);
    assert_int_equal(found.count, STRETCHES);
    assert_int_equal(found.label_count, 3);
    rps_signals_free(&signals);
}

/* Check the labels of a level, as letters, and its boundaries, counted in letters of the series. */
static void check_level(const struct rps_levels *levels, size_t at, const char *labels,
                        const size_t *boundary)
{
    struct rps_phases phases;

    phases = phases_at(levels, at);
    assert_int_equal(phases.count, strlen(labels));
    for (size_t k = 0; k < phases.count; k++) {
        assert_int_equal(phases.phase[k].label, labels[k] - 'A');
        assert_int_equal(phases.phase[k].first, boundary[k] * LENGTH);
        assert_int_equal(phases.phase[k].last + 1, boundary[k + 1] * LENGTH);
        assert_true(phases.phase[k].label_confidence > .5);
    }
}

/* Each of three long segments alternates between two letters, so that the segments differ in mean
 * and spread. */
static void a_level_is_what_stays_alike(void **state)
{
    static const size_t coarse[] = {0, 6, 12, 18}, whole[] = {0, 18};
    struct rps_levels levels = levels_of("AaAaAaCDCDCDAaAaAa");

    (void)state;
    assert_int_equal(levels.level[0].stretches, 1);
    check_level(&levels, 0, "A", whole);
    assert_int_equal(levels.level[levels.count - 1].stretches, 18);
    check_level(&levels, at_of(&levels, 3), "ABA", coarse);
}

/* Every boundary of a level exists in the next level, and the loss falls from 1 to 0. */
static void levels_are_nested(void **state)
{
    struct rps_levels levels = levels_of("AaAaAaCDCDCDAaAaAabBbBDdDdcCcC");
    uint8_t seen[40] = {0};

    (void)state;
    assert_true(levels.count > 2);
    assert_true(fabs(levels.level[0].lost - 1) < 1e-9);
    assert_true(levels.level[levels.count - 1].lost == 0);
    for (size_t at = 0; at < levels.count; at++) {
        struct rps_phases phases;
        size_t kept = 0;

        phases = phases_at(&levels, at);
        assert_int_equal(phases.count, levels.level[at].stretches);
        for (size_t k = 0; k < phases.count; k++) {
            size_t place = phases.phase[k].first / LENGTH;

            kept += seen[place];
            seen[place] = 1;
            assert_int_equal(k > 0 ? phases.phase[k].first : 0,
                             k > 0 ? phases.phase[k - 1].last + 1 : 0);
            assert_true(k == 0 || phases.phase[k].label != phases.phase[k - 1].label);
        }
        assert_int_equal(kept, at > 0 ? levels.level[at - 1].stretches : 0);
        assert_true(at == 0 || levels.level[at].lost < levels.level[at - 1].lost);
    }
}

/* If all phases differ, all are shown. If there are many phases, a readable number is shown. */
static void the_usual_level_can_be_read(void **state)
{
    static const size_t four[] = {0, 1, 2, 3, 4};
    struct rps_levels levels = levels_of("ABCA");
    char many[241] = "";

    (void)state;
    check_level(&levels, levels.usual, "ABCA", four);
    for (int k = 0; k < 24; k++) /* four iterations of two inner loops: 240 phases fit in six
                                    rows */
        strcat(many, k % 6 < 3 ? "AaAaAaAaAa" : "CcCcCcCcCc");
    levels = levels_of(many);
    assert_int_equal(levels.level[levels.usual].stretches, 240);
    assert_int_equal(levels.level[levels.usual].rows, 6);
    many[0] = '\0'; /* all phases differ equally: more than one is shown */
    for (size_t k = 0; k < 48; k++)
        strncat(many, &"ABCDBDACADBC"[k * 5 % 12], 1);
    levels = levels_of(many);
    assert_in_range(levels.level[levels.usual].stretches, 2, RPS_LEVELS_READABLE);
    levels = levels_of("A");
    assert_int_equal(levels.count, 1);
    assert_int_equal(levels.usual, 0);
}

/* A few classes that recur often in random order are shown. Classes that do not recur are not
 * shown. */
static void a_few_kinds_are_read_instead(void **state)
{
    static const struct {
        size_t kinds, count;
        int are_read;
    } cases[] = {{4, 100, 1}, {8, 80, 0}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct rps_levels levels;
        char many[101] = "";
        uint64_t dice = 7;

        for (size_t k = 0, last = 0; k < cases[i].count; k++) {
            last += 1 + (size_t)(rps_random_unit(&dice) * (double)(cases[i].kinds - 1));
            many[k] = "ABCDabcd"[last % cases[i].kinds];
        }
        levels = levels_of(many);
        assert_int_equal(levels.level[levels.count - 1].stretches, cases[i].count);
        assert_int_equal(levels.level[levels.usual].stretches > RPS_LEVELS_READABLE,
                         cases[i].are_read);
    }
}

/* A sleep without rates is a phase. */
static void what_is_not_seen_sets_apart(void **state)
{
    struct rps_signals signals = signals_of("AaAaAaAa");
    struct rps_phases fine = phases_of("AaAaAaAa");
    struct rps_levels levels;
    struct rps_phases phases;

    (void)state;
    for (size_t i = 3 * LENGTH; i < 5 * LENGTH; i++)
        signals.value[i] = signals.value[signals.count + i] = NAN;
    levels = rps_levels_find(arena, &signals, &fine);
    phases = phases_at(&levels, at_of(&levels, 3));
    assert_int_equal(phases.phase[1].first, 3 * LENGTH);
    assert_int_equal(phases.phase[2].first, 5 * LENGTH);
    rps_signals_free(&signals);
}

/* The variation within a segment is unknown if all its observations are outliers. The counts make
 * the segment a separate class. */
static void outliers_alone_are_a_kind(void **state)
{
    static const char letters[] = "AaAaAaCAaAaAaBbBbBbAaAaAa";
    static const size_t boundary[] = {0, 6, 7, 13, 19, 25};
    const size_t count = (sizeof(letters) - 1) * LENGTH;
    struct rps_signals signals = signals_of(letters);
    struct rps_phases fine = phases_of(letters);
    struct rps_count *counts = calloc(2 * count, sizeof(*counts));
    struct rps_levels levels;

    (void)state;
    assert_non_null(counts);
    for (size_t i = 0; i < 2 * count; i++) /* one symbol per letter, and one common symbol */
        counts[i] = (struct rps_count){
            i / 2, i % 2 ? 3 : (uint32_t)toupper(letters[i / 2 / LENGTH]) - 'A', 3};
    signals.table_count = 1;
    signals.table = calloc(1, sizeof(*signals.table));
    assert_non_null(signals.table);
    *signals.table = rps_count_table_make(count, 4, 1.5, counts, 2 * count);
    fine.outlier = rps_arena_get(arena, LENGTH, sizeof(*fine.outlier));
    for (; fine.outlier_count < LENGTH; fine.outlier_count++)
        fine.outlier[fine.outlier_count] = 6 * LENGTH + fine.outlier_count;
    levels = rps_levels_find(arena, &signals, &fine);
    check_level(&levels, at_of(&levels, 5), "ABACA", boundary);
    rps_signals_free(&signals);
}

/* --- samples ---------------------------------------------------------------------------------- */

#define NAMES   30
#define SIGNALS 20

/* Make a fine phase of 200 observations per letter. Counters distinguish a, x and y, but not b from
 * a. If `is_other`, samples distinguish b from the rest: a third of the functions is common. If
 * `is_flat`, all functions have equally many samples; otherwise a few functions have most. Each of
 * two CPUs has one sample per observation, and a function runs for `clump` observations on average.
 */
static struct rps_signals sampled_of(const char *letters, uint64_t seed, double clump, int is_other,
                                     int is_flat)
{
    const size_t each = 200, count = strlen(letters) * each;
    struct rps_signals signals = series_make(count, SIGNALS);
    struct rps_count *counts = calloc(2 * count, sizeof(*counts));
    double weight[2][NAMES];
    uint64_t dice = seed, noise = seed + 1;

    assert_non_null(counts);
    for (size_t k = 0; k < NAMES; k++) {
        double steep = is_flat ? 1 : 1 / (1 - rps_random_unit(&dice));

        weight[0][k] = is_other && k % 3 == 0 ? 0 : steep;
        weight[1][k] = is_other && k % 3 == 1 ? 0 : steep;
    }
    for (size_t i = 0; i < SIGNALS * count; i++)
        signals.value[i] = (letters[i % count / each] == 'x'   ? 20
                            : letters[i % count / each] == 'y' ? -20
                                                               : 0) +
                           .3 * series_normal(&noise);
    for (size_t cpu = 0; cpu < 2; cpu++) {
        for (size_t i = 0; i < count;) {
            double length = -log(1 - rps_random_unit(&dice)) * clump;
            uint32_t name = (uint32_t)draw_name(&dice, weight[letters[i / each] == 'b'], NAMES);
            size_t end = i + (length < 1 ? 1 : (size_t)length);

            for (; i < end && i < count; i++)
                counts[2 * i + cpu] = (struct rps_count){i, name, 1};
        }
    }
    signals.table_count = 1;
    signals.table = calloc(1, sizeof(*signals.table));
    assert_non_null(signals.table);
    *signals.table =
        rps_count_table_make(count, NAMES, RPS_COUNT_SAMPLE_DIVISOR, counts, 2 * count);
    return signals;
}

/* Get the labels of the finest level as letters. *ret_sure gets the lowest confidence of a label.
 */
static void label_sampled(struct rps_signals *signals, const char *letters, char *ret,
                          double *ret_sure)
{
    struct rps_phases fine = {.count = strlen(letters), .label_count = 1};
    const size_t each = signals->count / fine.count;
    struct rps_phases phases;
    struct rps_levels levels;

    fine.phase = rps_arena_get(arena, fine.count, sizeof(*fine.phase));
    for (size_t k = 0; k < fine.count; k++)
        fine.phase[k] =
            (struct rps_phase){.first = k * each, .last = (k + 1) * each - 1, .confidence = 1};
    levels = rps_levels_find(arena, signals, &fine);
    phases = phases_at(&levels, levels.count - 1);
    assert_int_equal(phases.count, fine.count);
    *ret_sure = 1;
    for (size_t k = 0; k < fine.count; k++) {
        ret[k] = (char)('A' + phases.phase[k].label);
        *ret_sure = fmin(*ret_sure, phases.phase[k].label_confidence);
    }
    ret[fine.count] = '\0';
    rps_signals_free(signals);
}

/* Segments with equal counters and different functions have two labels with high confidence. */
static void samples_split_a_label(void **state)
{
    static const char letters[] = "axbyxaybxya"; /* an order without repetition */
    int right = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct rps_signals signals = sampled_of(letters, seed, 1, 1, seed % 2);
        char label[16];
        double sure;

        label_sampled(&signals, letters, label, &sure);
        right += strcmp(label, "ABCDBADCBDA") == 0 && sure >= .75;
    }
    print_message("# %d of 20 right\n", right);
    assert_in_range(right, 15, 20); /* in the other runs, too many samples are in the common
                                       third */
}

/* No label is split if the mixture of functions is constant, whether functions run for 0.1 s or 0.5
 * s. */
static void samples_split_no_mixture(void **state)
{
    static const char letters[] = "axayxayaxyayxaxya";
    static const double clump[] = {1, 5, 20};

    (void)state;
    for (size_t c = 0; c < sizeof(clump) / sizeof(clump[0]); c++) {
        int split = 0;

        for (uint64_t seed = 0; seed < 40; seed++) {
            struct rps_signals signals = sampled_of(letters, seed, clump[c], 0, seed % 2);
            char label[32];
            double sure;

            label_sampled(&signals, letters, label, &sure);
            for (size_t k = 1; letters[k]; k++)
                split += letters[k] == 'a' && label[k] != label[0];
        }
        print_message("# %.1f s at a time: %d of 280 phases split\n", clump[c] / 10, split);
        assert_in_range(split, 0, c < 2 ? 2 : 16);
    }
}

/* Give the signals a table of samples, which then owns `counts`. */
static void put_samples(struct rps_signals *signals, size_t functions, struct rps_count *counts,
                        size_t count)
{
    signals->table_count = 1;
    signals->table = calloc(1, sizeof(*signals->table));
    assert_non_null(signals->table);
    *signals->table =
        rps_count_table_make(signals->count, functions, RPS_COUNT_SAMPLE_DIVISOR, counts, count);
}

/* The first time that a function runs, a signal differs, such as page faults. The function keeps
 * its label, unless the signal is CPU use. */
static void code_outweighs_signals(void **state)
{
    static const char letters[] = "axaxaxa";
    const size_t each = 30, count = each * strlen(letters);

    (void)state;
    for (size_t use = 0; use < 2; use++) {
        struct rps_signals signals = series_make(count, 1);
        struct rps_count *counts = calloc(count, sizeof(*counts));
        uint64_t noise = 1;
        char label[16];
        double sure;

        assert_non_null(counts);
        for (size_t i = 0; i < count; i++) {
            signals.value[i] = (i < each ? 1 : 0) + .3 * series_normal(&noise);
            counts[i] = (struct rps_count){i, letters[i / each] == 'x', 2};
        }
        signals.use_signal = use;
        put_samples(&signals, 2, counts, count);
        label_sampled(&signals, letters, label, &sure);
        assert_string_equal(label, use ? "ABCBCBC" : "ABABABA");
    }
}

/* A short start with few samples and pauses without samples have different labels, if it is known
 * which CPU use is idle, although CPU use varies much. */
static void pauses_share_no_label_with_work(void **state)
{
    static const char letters[] = "sxixi";
    const size_t each = 12, count = each * strlen(letters);

    (void)state;
    for (int is_known = 0; is_known < 2; is_known++) {
        struct rps_signals signals = series_make(count, 1);
        struct rps_count *counts = calloc(count, sizeof(*counts));
        uint64_t noise = 1;
        size_t taken = 0;
        char label[16];
        double sure;

        assert_non_null(counts);
        for (size_t i = 0; i < count; i++) {
            const char letter = letters[i / each];

            signals.value[i] = (letter == 'i' ? 1 : 7) + 2 * series_normal(&noise);
            if (letter == 'x' || i == 0)
                counts[taken++] = (struct rps_count){i, letter == 'x', letter == 'x' ? 9 : 1};
        }
        signals.use_signal = 1;
        signals.idle = is_known ? 3 : 0;
        put_samples(&signals, 2, counts, taken);
        label_sampled(&signals, letters, label, &sure);
        assert_string_equal(label, is_known ? "ABCBC" : "ABABA");
    }
}

/* No label is split if one side has no samples, such as one of several runs. */
static void no_samples_split_nothing(void **state)
{
    static const char letters[] = "axbyxyb";
    struct rps_signals signals = sampled_of(letters, 1, 1, 1, 1);
    struct rps_count_table *table = signals.table;
    char label[16];
    double sure;

    (void)state;
    for (size_t i = 400; i <= table->count; i++) /* no samples from the first b on */
        table->begin[i] = table->begin[400];
    label_sampled(&signals, letters, label, &sure);
    assert_string_equal(label, "ABACBCA");
}

/* Add one sample per observation, all of one function. */
static void add_samples(struct rps_signals *signals)
{
    struct rps_count *counts = calloc(signals->count, sizeof(*counts));

    assert_non_null(counts);
    for (size_t i = 0; i < signals->count; i++)
        counts[i] = (struct rps_count){i, 0, 1};
    put_samples(signals, 1, counts, signals->count);
}

/* With samples, each class of the finest level is shown if it explains 1.5 % of the variation.
 * Without samples, small differences are merged. */
static void classes_are_shown_with_samples(void **state)
{
    static const char letters[] = "AaBbABbaAbBaABabAaBb";

    (void)state;
    for (int has_samples = 0; has_samples < 2; has_samples++) {
        struct rps_signals signals = signals_of(letters);
        struct rps_phases fine = phases_of(letters);
        struct rps_levels levels;
        size_t finest;

        if (has_samples)
            add_samples(&signals);
        levels = rps_levels_find(arena, &signals, &fine);
        finest = levels.count - 1;
        assert_int_equal(levels.phases[finest].label_count, 4);
        assert_int_equal(levels.usual == finest, has_samples);
        rps_signals_free(&signals);
    }
}

/* A pause in a run with samples is a phase of the default level, although it has no samples and its
 * CPU use varies as much as that of the busy phases. If it is unknown which CPU use is idle, the
 * pause is merged. All functions are phases in both cases. */
static void a_pause_is_shown_with_samples(void **state)
{
    static const char letters[] = "abcdef-ghijkl";

    (void)state;
    for (int is_known = 0; is_known < 2; is_known++) {
        struct rps_signals signals = signals_of(letters);
        struct rps_phases fine = phases_of(letters), phases;
        struct rps_count *counts = calloc(signals.count, sizeof(*counts));
        struct rps_levels levels;
        uint64_t noise = 1;
        size_t taken = 0;

        assert_non_null(counts);
        for (size_t i = 0; i < signals.count; i++) {
            const char letter = letters[i / LENGTH];

            signals.value[i] = (letter == '-' ? 1 : 7) + 2 * series_normal(&noise);
            signals.value[signals.count + i] = .3 * series_normal(&noise);
            if (letter != '-')
                counts[taken++] = (struct rps_count){i, (uint32_t)(letter - 'a'), 8};
        }
        signals.use_signal = 1;
        signals.idle = is_known ? 3 : 0;
        put_samples(&signals, 12, counts, taken);
        levels = rps_levels_find(arena, &signals, &fine);
        phases = levels.phases[levels.usual];
        assert_int_equal(phases.count, is_known ? 13 : 12);
        assert_int_equal(phases.phase[6].first, (is_known ? 6 : 7) * LENGTH);
        assert_true(levels.level[0].lost <= 1);
        rps_signals_free(&signals);
    }
}

/* All iterations of a loop are found at once, even thousands. */
static void a_long_loop_is_folded(void **state)
{
    char letters[1201] = "";
    struct rps_levels levels;

    (void)state;
    for (size_t i = 0; i < 1200; i++)
        letters[i] = "ABCD"[i % 4];
    levels = levels_of(letters);
    assert_true(levels.count > 2);
    assert_int_equal(levels.level[levels.usual].stretches, 1200);
    assert_int_equal(levels.level[levels.usual].rows, 4);
}

/* A loop of small changes between other phases is shown with its parts, because that takes only one
 * more row. */
static void a_loop_inside_a_phase_is_shown(void **state)
{
    char letters[43] = "C";
    struct rps_signals signals;
    struct rps_phases fine;
    struct rps_levels levels;

    (void)state;
    for (size_t i = 0; i < 40; i++)
        strcat(letters, i % 2 ? "a" : "A");
    strcat(letters, "B");
    signals = signals_of(letters);
    for (size_t i = 0; i < 2 * signals.count; i++)
        if (letters[i % signals.count / LENGTH] == 'a')
            signals.value[i] += i < signals.count ? -1.32 : 1.32;
    fine = phases_of(letters);
    levels = rps_levels_find(arena, &signals, &fine);
    assert_in_range(levels.level[levels.usual].stretches, 40, 42);
    assert_in_range(levels.level[levels.usual].rows, 4, 9);
    rps_signals_free(&signals);
}

/* In a run with samples, loops of small changes are shown if that takes no more rows than the five
 * phases that are worth their price. */
static void a_loop_that_takes_no_rows_is_shown(void **state)
{
    static const char letters[] = "CaAaAaAaAaCaAaAaAaAaB";
    struct rps_signals signals = signals_of(letters);
    struct rps_phases fine = phases_of(letters);
    struct rps_levels levels;

    (void)state;
    add_samples(&signals);
    for (size_t i = 0; i < 2 * signals.count; i++)
        if (letters[i % signals.count / LENGTH] == 'a')
            signals.value[i] += i < signals.count ? -1.2 : 1.2;
    levels = rps_levels_find(arena, &signals, &fine);
    assert_int_equal(levels.level[at_of(&levels, 5)].rows, 5);
    assert_int_equal(levels.level[levels.usual].stretches, 18);
    assert_int_equal(levels.level[levels.usual].rows, 5);
    rps_signals_free(&signals);
}

/* A sleep of four observations appears only at a finer level than a change in one of eight signals
 * over 300 observations. */
static void a_nap_is_the_finest(void **state)
{
    static const size_t first[] = {0, 300, 600, 900, 904, 1200, 1500};
    static const int label[] = {0, 1, 0, 2, 0, 1};
    struct rps_signals signals = series_make(1500, 8);
    struct rps_phases fine = phases_of("ABABAB"), phases;
    struct rps_levels levels;
    uint64_t random = 5;

    (void)state;
    for (size_t k = 0; k < fine.count; k++) {
        fine.phase[k].first = first[k];
        fine.phase[k].last = first[k + 1] - 1;
        fine.phase[k].label = label[k];
        for (size_t i = first[k]; i < first[k + 1]; i++) {
            for (size_t s = 0; s < 8; s++)
                signals.value[s * 1500 + i] =
                    label[k] == 2 ? NAN : (s == 0 ? 50 * label[k] : 0) + series_normal(&random);
        }
    }
    fine.label_count = 3;
    levels = rps_levels_find(arena, &signals, &fine);
    phases = phases_at(&levels, at_of(&levels, 4));
    assert_int_equal(phases.phase[2].first, 600);
    assert_int_equal(phases.phase[3].first, 1200);
    rps_signals_free(&signals);
}

/* Phases before and after a gap are one class, unless they differ by more than chance. */
static void a_gap_is_no_evidence(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct rps_signals signals = series_make(2 * LENGTH, 1);
        struct rps_phases fine = phases_of("AA"), phases;
        struct rps_levels levels;
        uint64_t random = seed;

        signals.broken = calloc(2 * LENGTH, 1);
        assert_non_null(signals.broken);
        signals.broken[LENGTH] = RPS_BROKEN_GAP;
        for (size_t i = 0; i < 2 * LENGTH; i++)
            signals.value[i] = series_normal(&random) + (seed > 20 && i >= LENGTH ? 3 : 0);
        levels = rps_levels_find(arena, &signals, &fine);
        phases = phases_at(&levels, levels.count - 1);
        assert_int_equal(phases.count, 2);
        assert_int_equal(phases.label_count, seed > 20 ? 2 : 1);
        rps_signals_free(&signals);
    }
}

/* Boundaries with a confidence below one half are left out. */
static void unsure_boundaries_are_left_out(void **state)
{
    struct rps_signals signals = signals_of("ABCA");
    struct rps_phases fine = phases_of("ABCA"), phases;
    struct rps_levels levels;

    (void)state;
    fine.phase[2].confidence = .49;
    levels = rps_levels_find(arena, &signals, &fine);
    phases = phases_at(&levels, levels.count - 1);
    assert_int_equal(phases.count, 3);
    assert_int_equal(phases.phase[1].first, LENGTH);
    assert_int_equal(phases.phase[1].last, 3 * LENGTH - 1);
    assert_int_equal(phases.label_count, 2);
    rps_signals_free(&signals);
}

/* With too many segments to compare all, each segment still has the label of its letter. */
static void many_stretches_have_few_labels(void **state)
{
    char letters[1203] = "";
    struct rps_levels levels;
    struct rps_phases phases;
    uint64_t random = 5;
    int label[128];

    (void)state;
    for (size_t k = 0; k < 1200; k++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        letters[k] = "ABCD"[(random >> 33) % 4];
        if (k > 0 && letters[k] == letters[k - 1])
            letters[k] = letters[k] == 'D' ? 'A' : letters[k] + 1;
    }
    strcat(letters, letters[1199] == 'A' ? "Bb" : "Aa"); /* these two segments merge first */
    levels = levels_of(letters);
    phases = phases_at(&levels, at_of(&levels, 1201));
    assert_int_equal(phases.label_count, 4);
    memset(label, -1, sizeof(label));
    for (size_t k = 0; k < 1200; k++) {
        int *known = &label[(unsigned char)letters[k]];

        *known = *known < 0 ? phases.phase[k].label : *known;
        assert_int_equal(phases.phase[k].label, *known);
        assert_true(phases.phase[k].label_confidence > .9);
    }
}

/* --- choosing --------------------------------------------------------------------------------- */

static size_t chosen(const struct rps_levels *levels, struct rps_level_choice choice)
{
    struct rps_error err;
    size_t at = 0;

    assert_int_equal(rps_levels_choose(levels, &choice, &at, &err), 0);
    return levels->level[at].stretches;
}

static void a_level_is_chosen(void **state)
{
    struct rps_levels levels = levels_of("AbAcDaBaCdCaDABCABDCaDcbABcDaC");
    struct rps_level_choice choice = {.size = 1000};
    size_t fine = levels.level[levels.count - 1].stretches, before = 1, at;
    struct rps_error err;

    (void)state;
    assert_int_equal(chosen(&levels, (struct rps_level_choice){0}),
                     levels.level[levels.usual].stretches);
    assert_int_equal(chosen(&levels, (struct rps_level_choice){.fine = 1}), fine);
    for (size_t k = 0; k < levels.count; k++) {
        size_t size = levels.level[k].stretches;

        assert_int_equal(chosen(&levels, (struct rps_level_choice){.size = size}), size);
        assert_int_equal(chosen(&levels, (struct rps_level_choice){.at_most = size}), size);
    }
    for (size_t most = 1; most <= 40; most++) {
        size_t size = chosen(&levels, (struct rps_level_choice){.at_most = most});

        assert_true(size <= most && size >= before);
        before = size;
    }
    assert_int_equal(before, fine);
    assert_int_equal(rps_levels_choose(&levels, &choice, &at, &err), RPS_USAGE);
    assert_non_null(strstr(err.message, "no level has 1000 phases; choose at most "));
}

static void steps_are_even(void **state)
{
    struct rps_levels levels = levels_of("AbAcDaBaCdCaDABCABDCaDcbABcDaC");
    size_t before = 1;

    (void)state;
    assert_int_equal(chosen(&levels, (struct rps_level_choice){.steps = -RPS_LEVELS_STEPS}), 1);
    assert_int_equal(chosen(&levels, (struct rps_level_choice){.steps = RPS_LEVELS_STEPS}),
                     levels.level[levels.count - 1].stretches);
    assert_int_equal(chosen(&levels, (struct rps_level_choice){.steps = -99}), 1);
    for (int steps = -RPS_LEVELS_STEPS; steps <= RPS_LEVELS_STEPS; steps++) {
        size_t size = chosen(&levels, (struct rps_level_choice){.steps = steps});

        assert_true(size >= before);
        before = size;
    }
    assert_int_equal(chosen(&levels, (struct rps_level_choice){.steps = -1}),
                     levels.level[levels.usual - (levels.usual + 11) / 12].stretches);
}

/* The kept levels are nested, include the shown level, and contain no two fine levels that are
 * nearly equal. */
static void the_levels_worth_keeping(void **state)
{
    struct rps_levels levels;
    struct rps_phase_levels kept;
    char letters[200] = "";
    size_t shown;

    (void)state;
    for (size_t k = 0; k + 1 < sizeof(letters); k++)
        letters[k] = "AbCdaBcD"[(k * k * 7 + k / 3) % 8];
    levels = levels_of(letters);
    shown = levels.count - 3;
    kept = rps_levels_keep(&levels, shown);
    assert_true(kept.count < levels.count);
    assert_int_equal(kept.level[kept.shown].count, levels.level[shown].stretches);
    assert_int_equal(kept.level[0].count, 1);
    assert_int_equal(kept.level[kept.count - 1].count, levels.level[levels.count - 1].stretches);
    for (size_t k = 1; k < kept.count; k++) {
        size_t from = 0;

        assert_true(kept.level[k].count <= RPS_LEVELS_READABLE || k == kept.shown ||
                    k + 1 == kept.count || 2 * kept.level[k].count >= 3 * kept.level[k - 1].count);
        for (size_t i = 0; i < kept.level[k - 1].count; i++) {
            while (from < kept.level[k].count &&
                   kept.level[k].phase[from].first < kept.level[k - 1].phase[i].first)
                from++;
            assert_int_equal(kept.level[k].phase[from].first, kept.level[k - 1].phase[i].first);
        }
    }
}

/* --- from signals to levels ------------------------------------------------------------------- */

static struct rps_found_phases find(const char *letters, struct rps_level_choice choice)
{
    struct rps_phases_options options = {.level = choice};
    struct rps_signals signals = signals_of(letters);
    struct rps_found_phases found;
    struct rps_error err;

    if (rps_phases_find(arena, &signals, &options, &found, &err) < 0)
        fail_msg("%s", err.message);
    rps_signals_free(&signals);
    return found;
}

static void a_loop_is_folded(void **state)
{
    struct rps_found_phases found = find("ABDABDABDABDABDABDABDAB", (struct rps_level_choice){0});
    const struct rps_phases *shown = rps_phase_levels_shown(&found.levels);

    (void)state;
    assert_int_equal(shown->count, 23);
    assert_int_equal(found.tree[found.tree_shown].rows, 5);
    assert_int_equal(shown->phase[20].turn, 7);
    assert_int_equal(shown->phase[20].part, 3);
    assert_int_equal(shown->phase[21].turn, 0);
    found = find("ABADCDCBABDADBCBD", (struct rps_level_choice){0});
    assert_false(rps_phases_repeat(rps_phase_levels_shown(&found.levels)));
}

/* Find a wave in signals with noise and this resolution. `length` is the wave's length in
 * observations (0: noise alone; negative: one step in the middle). */
static struct rps_wave wave_at(size_t count, double length, int every, double resolution)
{
    struct rps_signals signals = series_make(count, 2);
    struct rps_wave wave;
    uint64_t state = 7;

    signals.resolution = calloc(2, sizeof(*signals.resolution));
    assert_non_null(signals.resolution);
    signals.resolution[0] = signals.resolution[1] = resolution;
    for (size_t i = 0; i < 2 * count; i++) {
        double at = (double)(i % count);

        signals.value[i] = series_normal(&state);
        if (length > 0 && i >= count)
            signals.value[i] += 2 * sin(2 * 3.14159265 * at / length);
        if (length < 0)
            signals.value[i] += at < (double)count / 2 ? 0 : 9;
        if ((int)(i % (size_t)every) != 0)
            signals.value[i] = NAN;
    }
    wave = rps_wave_find(&signals, 0);
    rps_signals_free(&signals);
    return wave;
}

static struct rps_wave wave_of(size_t count, double length, int every)
{
    return wave_at(count, length, every, 0);
}

/* An iteration may have two rises, one twice as high as the other. The wave's length covers both
 * rises. */
static void an_iteration_may_have_halves(void **state)
{
    static const double part[] = {2.3, 7, 3.5, 14};
    struct rps_signals signals = series_make(600, 1);
    struct rps_wave wave;
    uint64_t random = 7;

    (void)state;
    for (size_t i = 0; i < 600; i++)
        signals.value[i] = part[i / 3 % 4] + .3 * series_normal(&random);
    wave = rps_wave_find(&signals, 0);
    assert_true(fabs(wave.length - 12) < .5);
    rps_signals_free(&signals);
}

/* Waves of amplitude 2 have a standard deviation of 1.4. */
static void a_wave_below_the_resolution_is_none(void **state)
{
    (void)state;
    assert_true(wave_at(500, 20, 1, 2.5).turns > 0);
    assert_true(wave_at(500, 20, 1, 3.5).turns <= 0);
}

/* A wave's length is found within 10 %, for any length of the run. Noise is no wave, even if three
 * of four values are missing. */
static void a_wave_is_found(void **state)
{
    static const double lengths[] = {6, 20, 150, 900};
    static const size_t counts[] = {500, 5000, 50000};

    (void)state;
    for (size_t l = 0; l < 4; l++) {
        for (size_t c = 0; c < 3; c++) {
            struct rps_wave wave = wave_of(counts[c], lengths[l], 1);

            if (lengths[l] * 4 > (double)counts[c]) {
                assert_true(wave.turns <= 0);
                continue;
            }
            assert_true(wave.turns > 0);
            assert_true(fabs(wave.length - lengths[l]) <= lengths[l] / 10);
            assert_true(fabs(wave.turns * wave.length - (double)counts[c]) < 1);
        }
    }
    for (size_t c = 0; c < 3; c++) {
        assert_true(wave_of(counts[c], 0, 1).turns <= 0);
        assert_true(wave_of(counts[c], 0, 4).turns <= 0);
        assert_true(wave_of(counts[c], -1, 1).turns <= 0);
    }
    assert_true(wave_of(3, 2, 1).turns <= 0);
}

/* Values that recur only in the second half do not repeat. Noise seldom has the same length by
 * chance: in 1 of 20 runs if the points are steps. Without the test of halves, 37 of 40 repeat. */
static void half_a_wave_is_none(void **state)
{
    int found = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rps_signals signals = series_make(400, 1);
        uint64_t random = seed;

        for (size_t i = 0; i < 400; i++)
            signals.value[i] =
                i < 200 ? series_normal(&random)
                        : 3 * sin(2 * 3.14159265 * (double)i / 31) + .2 * series_normal(&random);
        found += rps_wave_find(&signals, 0).turns > 0;
        found += rps_wave_find(&signals, 1).turns > 0;
        rps_signals_free(&signals);
    }
    assert_true(found <= 3);
}

/* The length is the cycle, not a multiple of it, even if the cycle is short for the resolution at
 * which its wave is found. A coarse resolution does not replace a more exact length. */
static void a_wave_is_no_multiple(void **state)
{
    static const size_t cycles[] = {9, 10, 13, 14, 18};
    struct rps_phases_options options = {.level = {0}};

    (void)state;
    for (size_t c = 0; c < 10; c++) {
        size_t cycle = cycles[c / 2], count = cycle * 60;
        struct rps_signals signals = series_make(count, 1);
        struct rps_found_phases found;
        struct rps_error err;
        uint64_t random = c;

        for (size_t i = 0; i < count; i++) {
            double at = (double)(i % cycle) / (double)cycle;
            double wave = c % 2 == 0 ? 10 * sin(2 * 3.14159265 * at) : i % cycle == 0 ? 10 : 0;

            signals.value[i] = wave + series_normal(&random);
        }
        assert_int_equal(rps_phases_find(arena, &signals, &options, &found, &err), 0);
        assert_int_equal(rps_phase_levels_shown(&found.levels)->count, 1);
        assert_true(fabs(found.wave.length - (double)cycle) < .5);
        rps_signals_free(&signals);
    }
    assert_true(fabs(wave_of(100000, 97, 1).length - 97) < .7);
    assert_true(fabs(wave_of(100000, 89, 1).length - 89) < .7);
}

/* The phases of waves of three speeds are not shown by default, but the user can request them. */
static void drifting_is_one_phase(void **state)
{
    struct rps_phases_options options = {.level = {0}};
    size_t shown = 0, kept = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        uint64_t random = seed;
        struct rps_signals signals = series_drifting(3000, 3, &random);
        struct rps_found_phases found;
        struct rps_error err;

        assert_int_equal(rps_phases_find(arena, &signals, &options, &found, &err), 0);
        shown += rps_phase_levels_shown(&found.levels)->count - 1;
        kept += found.details.is_drifting && found.tree_count > 1;
        assert_true(!found.details.is_drifting || found.drifts);
        rps_signals_free(&signals);
    }
    assert_true(shown <= 2);
    assert_true(kept > 0);
}

static void a_level_is_asked_for(void **state)
{
    struct rps_found_phases found =
        find("AaAaAaCcCcCcAaAaAa", (struct rps_level_choice){.size = 3});

    (void)state;
    assert_int_equal(rps_phase_levels_shown(&found.levels)->count, 3);
    assert_int_equal(found.tree[found.tree_shown].stretches, 3);
    assert_int_equal(found.tree[found.tree_count - 1].stretches, 18);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_is_what_stays_alike),
        cmocka_unit_test(levels_are_nested),
        cmocka_unit_test(the_usual_level_can_be_read),
        cmocka_unit_test(a_few_kinds_are_read_instead),
        cmocka_unit_test(what_is_not_seen_sets_apart),
        cmocka_unit_test(outliers_alone_are_a_kind),
        cmocka_unit_test(edges_make_no_kind),
        cmocka_unit_test(samples_split_a_label),
        cmocka_unit_test(samples_split_no_mixture),
        cmocka_unit_test(code_outweighs_signals),
        cmocka_unit_test(pauses_share_no_label_with_work),
        cmocka_unit_test(no_samples_split_nothing),
        cmocka_unit_test(classes_are_shown_with_samples),
        cmocka_unit_test(a_pause_is_shown_with_samples),
        cmocka_unit_test(a_long_loop_is_folded),
        cmocka_unit_test(a_loop_inside_a_phase_is_shown),
        cmocka_unit_test(a_loop_that_takes_no_rows_is_shown),
        cmocka_unit_test(a_nap_is_the_finest),
        cmocka_unit_test(a_gap_is_no_evidence),
        cmocka_unit_test(unsure_boundaries_are_left_out),
        cmocka_unit_test(many_stretches_have_few_labels),
        cmocka_unit_test(a_level_is_chosen),
        cmocka_unit_test(steps_are_even),
        cmocka_unit_test(the_levels_worth_keeping),
        cmocka_unit_test(a_loop_is_folded),
        cmocka_unit_test(a_wave_is_found),
        cmocka_unit_test(a_wave_is_no_multiple),
        cmocka_unit_test(half_a_wave_is_none),
        cmocka_unit_test(an_iteration_may_have_halves),
        cmocka_unit_test(a_wave_below_the_resolution_is_none),
        cmocka_unit_test(drifting_is_one_phase),
        cmocka_unit_test(a_level_is_asked_for),
    };

    return cmocka_run_group_tests_name("levels", tests, open_arena, close_arena);
}
