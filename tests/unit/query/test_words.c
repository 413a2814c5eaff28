/* Tests of the words that describe how labels differ, on profiles made by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rpistat/clock.h"
#include "rpistat/loops.h"
#include "rpistat/profile.h"
#include "rpistat/run_system.h"

#define FIGURES_MAX 6
#define PERIODS     100 /* periods of each label, of 0.1 s each */

/* A profile of the metrics A, B, ... by label. All metrics are counted and constant. */
struct made {
    struct rps_profile profile;
    struct rps_figure figure[FIGURES_MAX];
    size_t order[FIGURES_MAX];
    struct rps_profile_label label[3];
    double mean[3 * FIGURES_MAX], spread[3 * FIGURES_MAX];
    struct rps_interval interval[3 * FIGURES_MAX];
    char words[RPS_PROFILE_WORDS_SIZE];
};

/* Make three labels without metrics. No label has more than half of the time. */
static void begin(struct made *made)
{
    *made = (struct made){.profile = {.label_count = 3,
                                      .main_label = -1,
                                      .periods = 3 * PERIODS,
                                      .length_ns = 3 * PERIODS * INT64_C(100000000)}};
    made->profile.figure = made->figure;
    made->profile.order = made->order;
    made->profile.label = made->label;
    made->profile.mean = made->mean;
    made->profile.spread = made->spread;
    made->profile.mean_interval = made->interval;
    for (int l = 0; l < 3; l++)
        made->label[l] = (struct rps_profile_label){
            .occurrences = 1, .periods = PERIODS, .length_ns = PERIODS * INT64_C(100000000)};
}

/* A metric of the profile. All metrics are given at once, because the layout of the arrays depends
 * on their number. */
struct given {
    const char *name, *label, *unit;
    double whole, value; /* values of the run and of label 1; other labels equal the run */
};

static void fill(struct made *made, const struct given *given, size_t count)
{
    begin(made);
    made->profile.figure_count = count;
    for (size_t f = 0; f < count; f++) {
        struct rps_figure *figure = &made->figure[f];

        snprintf(figure->name, sizeof(figure->name), "%s", given[f].name);
        snprintf(figure->label, sizeof(figure->label), "%s", given[f].label);
        snprintf(figure->unit, sizeof(figure->unit), "%s", given[f].unit);
        figure->whole = given[f].whole;
        figure->rest = NAN;
        figure->interval.certainty = RPS_CERTAINTY_COUNTED;
        made->order[f] = f;
        for (size_t l = 0; l < 3; l++) {
            made->mean[l * count + f] = l == 1 ? given[f].value : given[f].whole;
            made->interval[l * count + f].certainty = RPS_CERTAINTY_COUNTED;
        }
    }
}

static const char *words_of(struct made *made, int label)
{
    assert_ptr_equal(rps_profile_words(made->words, &made->profile, label, 0), made->words);
    return made->words;
}

/* Check the words of label 1 in a profile of one metric. */
static void check_one(const char *name, const char *label, const char *unit, double value,
                      double whole, const char *expected)
{
    const struct given given = {name, label, unit, whole, value};
    struct made made;

    fill(&made, &given, 1);
    assert_string_equal(words_of(&made, 1), expected);
}

static void test_rates(void **state)
{
    (void)state;
    check_one("f", "Minor faults", "/s", 31000, 10000,
              "3.1 x the rate of minor faults of the whole run");
    check_one("f", "Minor faults", "/s", 312600, 10000,
              "31 x the rate of minor faults of the whole run");
    check_one("f", "Minor faults", "/s", 3126000, 10000,
              "310 x the rate of minor faults of the whole run");
    check_one("f", "Minor faults", "/s", 3e7, 10000,
              "over 1000 x the rate of minor faults of the whole run");
    check_one("f", "Minor faults", "/s", 4000, 10000,
              "0.40 x the rate of minor faults of the whole run");
    check_one("f", "Minor faults", "/s", 830, 10000,
              "1/12 of the rate of minor faults of the whole run");
    check_one("f", "Minor faults", "/s", 8, 10000,
              "under 1/1000 of the rate of minor faults of the whole run");
    check_one("f", "Minor faults", "/s", 0, 10000, "no minor faults");
    check_one("f", "CPU migrations", "/s", 0, 100, "no CPU migrations");
    check_one("f", "DC miss rate", "PTI", 9, 3, "3.0 x the DC miss rate of the whole run");
    check_one("f", "Branch rate", "PTI", 50, 100, "0.50 x the branch rate of the whole run");
    check_one("f", "DC miss rate", "PTI", 0, 3, "DC miss rate 0 PTI (whole run: 3.0 PTI)");
    check_one("irq_rate", "Interrupt rate", "/s", 0, 300,
              "interrupt rate 0 /s (whole run: 300 /s)");
}

static void test_values(void **state)
{
    (void)state;
    check_one("cpi", "CPI", "", 2.41, 1.13, "CPI 2.4 (whole run: 1.1)");
    check_one("cpi", "CPI", "", 1.34, 1.13, "CPI 1.3 (whole run: 1.1)");
    check_one("x", "Weight", "kg", 120.4, 101.6, "weight 120 kg (whole run: 102 kg)");
    check_one("x", "Weight", "kg", 0, .01, "weight 0 kg (whole run: 0.010 kg)");
    check_one("x", "Weight", "kg", 2e9, 1e9, "weight 2.0e+09 kg (whole run: 1.0e+09 kg)");
    check_one("cpu_use", "CPU use", "%", 12.3, 88.4, "CPU use 12 % (whole run: 88 %)");
    check_one("cpu_use", "CPU use", "%", .04, 88.4, "CPU use 0 % (whole run: 88 %)");
    check_one("r", "Mispredict ratio", "%", 5.25, .9, "mispredict ratio 5.2 % (whole run: 0.9 %)");
    check_one("s", "FE stall percent", "%", 40, 10, "FE stall percent 40 (whole run: 10)");
    check_one("my_metric", "my_metric", "", 4, 1, "my_metric 4.0 (whole run: 1.0)");
    /* The label already names the metric. */
    check_one("Load", "Load", "", 4, 1, "Load 4.0 (whole run: 1.0)");
}

/* A ratio is not described as a difference if its values are too small to matter. */
static void test_alike(void **state)
{
    static const char alike[] = "similar to the whole run";

    (void)state;
    check_one("f", "Minor faults", "/s", 11000, 10000, alike);
    check_one("f", "CPU migrations", "/s", 1, .1, alike);
    check_one("r", "Mispredict ratio", "%", .1, .05, alike);
    check_one("f", "LLC miss rate", "PTI", .01, .001, alike);
    check_one("cpi", "CPI", "", 1.2, 1.1, alike);
    check_one("cpi", "CPI", "", NAN, 1.1, "");
    check_one("cpi", "CPI", "", -1, -2, alike); /* a negative CPI, as a measurement error around
                                                   zero */
}

/* There are no words if nothing is known, or if there is nothing to compare with. */
static void test_nothing_to_say(void **state)
{
    const struct given given = {"cpi", "CPI", "", 1, 3};
    struct made made;

    (void)state;
    fill(&made, &given, 1);
    assert_string_equal(words_of(&made, 1), "CPI 3.0 (whole run: 1.0)");
    made.label[1].periods = 0; /* The label is not in the part that is shown. */
    assert_string_equal(words_of(&made, 1), "");
    made.profile.label_count = 1;
    assert_string_equal(words_of(&made, 0), "");
}

static const struct given many[] = {
    {"cpi", "CPI", "", 1, 2},
    {"f", "Minor faults", "/s", 1000, 9000},
    {"cpu_use", "CPU use", "%", 50, 95},
    {"m", "DC miss ratio", "%", 2, 12},
    {"n", "DC miss rate", "PTI", 6, 30},
    {"b", "Branch rate", "PTI", 100, 101},
};

/* The most distinctive metric comes first. At most three metrics are described, and none twice. */
static void test_order(void **state)
{
    struct made made;

    (void)state;
    fill(&made, many, 6);
    assert_string_equal(words_of(&made, 1),
                        "9.0 x the rate of minor faults of the whole run, 5.0 x the DC "
                        "miss rate, CPI 2.0 (whole run: 1.0)");
    strcpy(made.figure[0].panel, "All of it");
    strcpy(made.figure[1].panel, "All of it");
    assert_string_equal(words_of(&made, 1),
                        "9.0 x the rate of minor faults of the whole run, 5.0 x the DC miss rate, "
                        "CPU use 95 % (whole run: 50 %)");
    rps_profile_words(made.words, &made.profile, 1, 72);
    assert_string_equal(made.words,
                        "9.0 x the rate of minor faults of the whole run, 5.0 x the DC miss rate");
    rps_profile_words(made.words, &made.profile, 1, 70);
    assert_string_equal(made.words, "9.0 x the rate of minor faults of the whole run");
    rps_profile_words(made.words, &made.profile, 1, 5);
    assert_string_equal(
        /* The caller cuts text that does not fit. */
        made.words, "9.0 x the rate of minor faults of the whole run");
    /* Of two metrics that differ equally, the metric that separates all labels best comes first. */
    made.mean[6 + 1] = 1000;
    made.mean[6 + 4] = 6;
    made.mean[6 + 3] = 2;
    made.figure[5].whole = made.mean[5] = made.mean[12 + 5] = 50;
    made.mean[6 + 5] = 100.1;
    made.figure[0].whole = made.mean[0] = made.mean[12] = 50.1;
    made.mean[6 + 0] = 100.3;
    strcpy(made.figure[0].unit, "PTI");
    assert_string_equal(
        words_of(&made, 1),
        "2.0 x the CPI of the whole run, 2.0 x the branch rate, CPU use 95 % (whole run: 50 %)");
    made.order[0] = 5;
    made.order[5] = 0;
    assert_string_equal(
        words_of(&made, 1),
        "2.0 x the branch rate of the whole run, 2.0 x the CPI, CPU use 95 % (whole run: 50 %)");
}

/* A class of two phases has no property that one of them lacks. A class that is similar to the run
 * is compared in the clearest difference with the class before it, and the first one with the class
 * after it. */
static void test_phases_of_classes(void **state)
{
    static const struct given given[] = {{"g", "Context switches", "/s", 10000, 20000},
                                         {"f", "Minor faults", "/s", 10000, 40000}};
    static const int label_of[] = {0, 1, 2, 0, 1};
    double phase[] = {10000, 10000, 20000, 40000, 10000, 10000, 10000, 10000, 20000, 39000};
    struct made made;

    (void)state;
    fill(&made, given, 2);
    made.profile.phase_count = 5;
    made.profile.label_of = label_of;
    made.profile.phase = phase;
    made.label[0].occurrences = made.label[1].occurrences = 2;
    assert_string_equal(
        words_of(&made, 1),
        "4.0 x the rate of minor faults of the whole run, 2.0 x the rate of context switches");
    assert_string_equal(
        words_of(&made, 2),
        "similar to the whole run; compared with B: 0.25 x the rate of minor faults");
    assert_string_equal(
        words_of(&made, 0),
        "similar to the whole run; compared with B: 0.25 x the rate of minor faults");
    for (int k = 2; k < 6; k++) /* of both classes; 2.5 standard errors: 10,000 per second */
        made.spread[k] = 40000;
    assert_string_equal(
        words_of(&made, 2),
        "similar to the whole run; compared with B: 0.25 x the rate of minor faults");
    for (int k = 2; k < 6; k++)
        made.spread[k] = 80000;
    assert_string_equal(words_of(&made, 2), "similar to the whole run");
    for (int k = 2; k < 6; k++)
        made.spread[k] = 0;
    phase[9] = 0;
    assert_string_equal(words_of(&made, 1), "2.0 x the rate of context switches of the whole run");
}

/* If one label has nearly all events, only this label is described, not the others. */
static void test_unlike_most(void **state)
{
    const struct given given = {"f", "Context switches", "/s", 10200, 30000};
    struct made made;

    (void)state;
    fill(&made, &given, 1);
    made.mean[0] = 300;
    made.mean[2] = 310;
    assert_string_equal(words_of(&made, 0), "similar to most other classes");
    assert_string_equal(words_of(&made, 1), "2.9 x the rate of context switches of the whole run");
    assert_string_equal(words_of(&made, 2), "similar to most other classes");
    made.mean[0] = 9000;
    made.mean[2] = 30; /* Label 2 differs from both others. */
    assert_string_equal(words_of(&made, 2),
                        "1/340 of the rate of context switches of the whole run");
}

/* Successive observations are similar, so the mean is less certain than that of as many independent
 * observations. */
static void test_clumps(void **state)
{
    const struct given given = {"f", "Minor faults", "/s", 10000, 13000};
    struct made made;

    (void)state;
    fill(&made, &given, 1);
    made.spread[1] = 5000; /* The standard error of the mean is 500. */
    assert_string_equal(words_of(&made, 1), "1.3 x the rate of minor faults of the whole run");
    made.figure[0].clumps = 9;
    assert_string_equal(words_of(&made, 1), "no difference beyond chance");
}

/* Clump sizes are computed for one column that changes every 16 rows and one that changes every
 * row. */
static void test_clumps_of_columns(void **state)
{
    static const char *const names[] = {"slow", "fast"};
    const struct rps_phases phases = {
        .count = 2,
        .phase =
            (struct rps_phase[]){{.first = 0, .last = 63}, {.first = 64, .last = 127, .label = 1}},
        .label_count = 2};
    double value[2 * 128];
    const struct rps_signals signals = {.count = 128, .signal_count = 2, .value = value};
    struct rps_arena *arena = rps_arena_new();
    struct rps_profile profile;

    (void)state;
    for (int i = 0; i < 128; i++) {
        value[i] = i / 16 % 2;
        value[128 + i] = i % 2;
    }
    profile = rps_profile_signals(arena, &signals, names, 1, &phases);
    /* Each label has four block means of 0 and 1, with a variance of 1/3. The variance for
     * independent rows would be .25 / 16. */
    assert_float_equal(profile.figure[0].clumps, (1 / 3.) / (.25 / 16), 1e-9);
    assert_float_equal(profile.figure[1].clumps, 1, 1e-9);
    rps_arena_free(arena);
}

/* Blocks of 16 rows show only a part of the clump size of a column that changes every 64 rows. */
static void test_long_clumps(void **state)
{
    static const char *const names[] = {"slower"};
    const struct rps_phases phases = {
        .count = 2,
        .phase = (struct rps_phase[]){{.first = 0, .last = 255},
                                      {.first = 256, .last = 511, .label = 1}},
        .label_count = 2};
    double value[512];
    const struct rps_signals signals = {.count = 512, .signal_count = 1, .value = value};
    const double of_16 = 16 * (8 / 30.) / .25, of_64 = 64 * (2 / 6.) / .25;
    struct rps_arena *arena = rps_arena_new();

    (void)state;
    for (int i = 0; i < 512; i++)
        value[i] = i / 64 % 2;
    assert_float_equal(rps_profile_signals(arena, &signals, names, 1, &phases).figure[0].clumps,
                       (4 * of_64 - of_16) / 3 * (1 + 1.5 / 6) * (1 + 1.5 / 6), 1e-9);
    rps_arena_free(arena);
}

/* The mean of a ramp may be that of the run. */
static void test_ramp(void **state)
{
    const struct given given = {"f", "Minor faults", "/s", 1000, 1000};
    struct made made;

    (void)state;
    fill(&made, &given, 1);
    made.label[1].is_ramp = 1;
    assert_string_equal(words_of(&made, 1), "a ramp: its values change steadily");
}

/* A label that differs only in its code is not described as similar to the whole run. */
static void test_place(void **state)
{
    const struct given given = {"f", "Minor faults", "/s", 1000, 1000};
    struct made made;

    (void)state;
    fill(&made, &given, 1);
    strcpy(made.label[1].place, "in solve (a.c:7)");
    assert_string_equal(words_of(&made, 1), "in solve (a.c:7)");
    strcpy(made.label[1].place, "no function stands out");
    assert_string_equal(words_of(&made, 1), "similar to the whole run, no function stands out");
}

/* Two labels with the same name are distinguished by their words, or the words report that there is
 * no clear difference. */
static void test_twins(void **state)
{
    const struct given given = {"f", "Minor faults", "/s", 1000, 1000};
    struct made made;

    (void)state;
    fill(&made, &given, 1);
    for (int l = 1; l < 3; l++) {
        strcpy(made.label[l].code, "solve");
        strcpy(made.label[l].place, "in solve");
    }
    assert_string_equal(words_of(&made, 1), "in solve, no clear difference from C");
    assert_string_equal(words_of(&made, 2), "in solve, no clear difference from B");
    assert_string_equal(words_of(&made, 0), "similar to the whole run");
    strcpy(made.label[2].place, "in solve, waited 2.0 s in lock");
    assert_string_equal(words_of(&made, 1), "in solve");
    assert_string_equal(words_of(&made, 2), "in solve, waited 2.0 s in lock");
    made.label[1].place[0] = made.label[2].place[0] = '\0';
    assert_string_equal(words_of(&made, 1), "no clear difference from C");
    made.mean[1] = 3100;
    assert_string_equal(words_of(&made, 1), "3.1 x the rate of minor faults of the whole run");
    assert_string_equal(words_of(&made, 2), "similar to the whole run");
    made.mean[1] = 1000;
    strcpy(made.label[1].code, "load: solve");
    assert_string_equal(words_of(&made, 1), "similar to the whole run");
}

/* A lower rate is described only if nothing else describes the label, or to tell it from a label
 * that is described with the same words. */
static void test_lower_rates(void **state)
{
    const struct given given = {"f", "Minor faults", "/s", 100000, 1000};
    struct made made;

    (void)state;
    fill(&made, &given, 1);
    assert_string_equal(words_of(&made, 1), "1/100 of the rate of minor faults of the whole run");
    made.label[1].is_described = made.label[2].is_described = 1;
    assert_string_equal(words_of(&made, 1), "");
    for (int l = 1; l < 3; l++) {
        strcpy(made.label[l].code, "solve");
        strcpy(made.label[l].place, "in solve");
    }
    assert_string_equal(words_of(&made, 1), "in solve");
    made.mean[2] = 1000;
    assert_string_equal(words_of(&made, 1), "in solve, no clear difference from C");
    made.mean[2] = 20000; /* The labels have the same words without their rates. */
    assert_string_equal(words_of(&made, 1),
                        "in solve, 1/100 of the rate of minor faults of the whole run");
}

/* Faults and switches that take a negligible time are not described. Major faults are described,
 * because they wait for disks. */
static void test_what_matters(void **state)
{
    (void)state;
    check_one(
        "minor_fault_rate", "Minor faults", "/s", .2, 207,
        "similar to the whole run; small difference: under 1/1000 of the rate of minor faults");
    check_one("minor_fault_rate", "Minor faults", "/s", 4456, 199,
              "22 x the rate of minor faults of the whole run");
    check_one("context_switch_rate", "Context switches", "/s", 150, 50,
              "similar to the whole run; small difference: 3.0 x the rate of context switches");
    check_one("major_fault_rate", "Major faults", "/s", 150, 50,
              "3.0 x the rate of major faults of the whole run");
}

/* A label that runs a quarter of the time has a quarter of all rates. The words describe this only
 * once. */
static void test_follows_cpu_use(void **state)
{
    struct given given[] = {
        {"cpu_use", "CPU use", "%", 80, 20},
        {"f", "Minor faults", "/s", 1000, 250},
        {"c", "Context switches", "/s", 100, 900},
    };
    struct made made;

    (void)state;
    fill(&made, given, 3);
    assert_string_equal(
        words_of(&made, 1),
        "9.0 x the rate of context switches of the whole run, CPU use 20 % (whole run: 80 %)");
    given[1].value = 2; /* The label runs, and its rate is far lower. */
    given[0].value = 40;
    fill(&made, given, 3);
    assert_string_equal(
        words_of(&made, 1),
        "9.0 x the rate of context switches of the whole run, CPU use 40 % (whole run: 80 %)");
    given[0].value = 0; /* The label is asleep. */
    given[1].value = given[2].value = 0;
    fill(&made, given, 3);
    assert_string_equal(words_of(&made, 1), "CPU use 0 % (whole run: 80 %)");
    given[0].whole = given[0].value = 80; /* CPU use does not differ, so it explains nothing. */
    fill(&made, given, 3);
    assert_string_equal(words_of(&made, 1), "no minor faults, no context switches");
}

/* A difference is described only if the intervals do not overlap. If an expected interval is
 * missing, nothing is described. */
static void test_intervals(void **state)
{
    const struct given given = {"cpi", "CPI", "", 1, 2};
    static const char unsure[] = "no difference beyond chance";
    struct made made;

    (void)state;
    fill(&made, &given, 1);
    made.figure[0].interval = (struct rps_interval){RPS_CERTAINTY_INTERVAL, 1, .7, 1.4, .25};
    made.interval[1] = (struct rps_interval){RPS_CERTAINTY_INTERVAL, 2, 1.5, 2.6, .25};
    assert_string_equal(words_of(&made, 1), "CPI 2.0 (whole run: 1.0)");
    made.interval[1].low = 1.3;
    assert_string_equal(words_of(&made, 1), unsure);
    made.figure[0].interval.certainty = RPS_CERTAINTY_COUNTED;
    assert_string_equal(words_of(&made, 1), "CPI 2.0 (whole run: 1.0)");
    made.figure[0].interval.certainty = RPS_CERTAINTY_BURSTS;
    assert_string_equal(words_of(&made, 1), unsure);
    made.figure[0].interval.certainty = RPS_CERTAINTY_COUNTED;
    made.interval[1].certainty = RPS_CERTAINTY_UNSEEN;
    assert_string_equal(words_of(&made, 1), unsure);
    assert_string_equal(words_of(&made, 0), "similar to the whole run");
}

/* The certainty of a counted event depends on the spread of its observations and on the number of
 * events. */
static void test_counted(void **state)
{
    const struct given given = {"f", "Minor faults", "/s", 1000, 3000};
    static const char unsure[] = "no difference beyond chance";
    struct made made;

    (void)state;
    fill(&made, &given, 1);
    made.spread[1] = 7900; /* The interval is ± 1,975. */
    assert_string_equal(words_of(&made, 1), "3.0 x the rate of minor faults of the whole run");
    made.spread[1] = 8100;
    assert_string_equal(words_of(&made, 1), unsure);
    made.spread[1] = NAN; /* The label has no complete observation. */
    assert_string_equal(words_of(&made, 1), unsure);
    made.spread[1] = 0;
    made.figure[0].spread = 20000; /* Differences between classes are no noise of the run. */
    assert_string_equal(words_of(&made, 1), "3.0 x the rate of minor faults of the whole run");
    made.figure[0].inside = 13600; /* Over the 300 periods of the run, the interval is ± 1,963. */
    assert_string_equal(words_of(&made, 1), "3.0 x the rate of minor faults of the whole run");
    made.figure[0].inside = 13900;
    assert_string_equal(words_of(&made, 1), unsure);
    made.label[1].periods = 3; /* Too few: they vary like those of other labels. */
    made.figure[0].inside = 1000;
    assert_string_equal(words_of(&made, 1), "3.0 x the rate of minor faults of the whole run");
    made.figure[0].inside = 1300; /* 3000 ± 1878, and 1000 ± 188 */
    assert_string_equal(words_of(&made, 1), unsure);
    made.figure[0].spread = made.figure[0].inside = 0;
    made.figure[0].whole = made.mean[0] = made.mean[2] =
        5; /* One event is expected in two periods. */
    made.mean[1] = 0;
    made.label[1].periods = 2;
    made.label[1].length_ns = 200000000;
    assert_string_equal(words_of(&made, 1), unsure);
    made.label[1].length_ns = 2000000000; /* Ten events are expected. */
    assert_string_equal(words_of(&made, 1), "no minor faults");
}

/* A label with more than half of the time is tested against the rest of the run. */
static void test_main_label(void **state)
{
    const struct given given = {"f", "Minor faults", "/s", 1000, 1500};
    struct made made;

    (void)state;
    fill(&made, &given, 1);
    made.profile.main_label = 1;
    made.figure[0].rest = 10;
    made.figure[0].rest_interval.certainty = RPS_CERTAINTY_COUNTED;
    assert_string_equal(words_of(&made, 1), "1.5 x the rate of minor faults of the whole run");
    assert_string_equal(words_of(&made, 0), "similar to the whole run");
    made.figure[0].rest = 1490;
    assert_string_equal(words_of(&made, 1), "no difference beyond chance");
    made.figure[0].rest = 10;
    made.figure[0].rest_interval.certainty = RPS_CERTAINTY_ONCE;
    assert_string_equal(words_of(&made, 1), "no difference beyond chance");
}

/* In a table, differences between columns are measured by their variation, so the zero point does
 * not matter. */
static void test_table(void **state)
{
    const struct given given = {"Temperature", "Temperature", "", 20.1, 20.5};
    struct made made;

    (void)state;
    fill(&made, &given, 1);
    made.profile.length_ns = 0;
    made.figure[0].spread = .3;
    made.figure[0].interval.certainty = made.interval[1].certainty = RPS_CERTAINTY_NONE;
    assert_string_equal(words_of(&made, 1), "Temperature 20.5 (all: 20.1)");
    made.figure[0].whole = made.mean[0] = made.mean[2] = -.1;
    made.mean[1] = .3;
    assert_string_equal(words_of(&made, 1), "Temperature 0.30 (all: -0.10)");
    made.mean[1] = 0; /* a third of the standard deviation from the mean */
    assert_string_equal(words_of(&made, 1), "similar to the whole table");
    made.figure[0].spread = 0; /* All values are equal. */
    assert_string_equal(words_of(&made, 1), "similar to the whole table");
    made.spread[0] = made.spread[2] = 2;
    made.spread[1] = 2.4; /* The difference may be chance. */
    assert_string_equal(words_of(&made, 1), "similar to the whole table");
    made.spread[1] = 6;
    assert_string_equal(words_of(&made, 1),
                        "standard deviation of Temperature 6.0 (elsewhere: 2.0)");
    made.spread[1] = 0;
    made.spread[2] = NAN; /* no row has a value */
    assert_string_equal(words_of(&made, 1), "standard deviation of Temperature 0 (elsewhere: 2.0)");
}

/* Make readings of 10 s in which the metrics of the process tree have constant values. All CPU time
 * was seen. */
static struct rps_run_system read_system(const int64_t value[RPS_TREE_SLOTS])
{
    struct rps_run_system system = {0};
    struct rps_system_row row = {.source = RPS_SYSTEM_TREE, .length_us = 10000000};

    for (int s = 0; s < RPS_TREE_SLOTS; s++) {
        row.readings[s] = value[s] >= 0;
        row.sum[s] = s == RPS_TREE_RUNNING ? row.length_us : value[s];
    }
    rps_run_system_add(&system, &row);
    return system;
}

/* A class that slept is named by its sleep, although a few samples are in one function. A class
 * that waited for a CPU has the name of its code. A time without a process is not a wait. */
static void test_names(void **state)
{
    static const struct given given = {"f", "Minor faults", "/s", 10000, 31000};
    struct rps_run_system system[3] = {
        read_system((int64_t[RPS_TREE_SLOTS]){
            [RPS_TREE_THREADS] = 5, [RPS_TREE_IN_MESSAGE] = 1, [RPS_TREE_IN_LOCK] = 4}),
        read_system((int64_t[RPS_TREE_SLOTS]){[RPS_TREE_THREADS] = 1, [RPS_TREE_WAIT] = 6000000}),
        read_system((int64_t[RPS_TREE_SLOTS]){0}),
    };
    struct rps_share_group group[3] = {{0}};
    const struct rps_part_shares shares = {.group_count = 3, .group = group};
    struct made made;

    (void)state;
    fill(&made, &given, 1);
    made.profile.system = system;
    made.profile.length_ns = RPS_NS_PER_S;
    for (int l = 0; l < 3; l++) {
        made.label[l].seconds = 10;
        made.label[l].cpu_s = l < 2 ? .5 : 0;
        group[l].count = 1;
        group[l].top[0] = (struct rps_share_top){{.name = "[JIT code]"}, .8, 0};
    }
    rps_profile_code(&made.profile, &shares);
    assert_string_equal(made.label[0].code, "waiting for data or timers");
    assert_string_equal(made.label[1].code, "[JIT code]");
    assert_string_equal(made.label[2].code, "mostly no process");
}

/* Names of modules in brackets are found; JIT-compiled code and C++ names in brackets are not. */
static void test_brackets(void **state)
{
    (void)state;
    assert_int_equal(rps_share_has_brackets("[libz.so.1]"), 1);
    assert_int_equal(rps_share_has_brackets("in [JIT code], 9 % of samples in [node]"), 1);
    assert_int_equal(rps_share_has_brackets("in [JIT code]"), 0);
    assert_int_equal(rps_share_has_brackets("Map::operator[] 60 %, name[abi:cxx11] 9 %"), 0);
    assert_int_equal(rps_share_has_brackets("main 98 %"), 0);
}

#define READINGS 256 /* readings of each label */

/* Make a profile of memory and of bytes read for three labels, one value per reading. */
static struct rps_profile read_io(struct rps_arena *arena, const double mib[3], double read_mib_s)
{
    static const char *const names[] = {"RSS MiB summed over processes", "reads MiB/s from disks"};
    static struct rps_phase phase[3];
    static double value[2 * 3 * READINGS];
    const struct rps_signals signals = {.count = 3 * READINGS, .signal_count = 2, .value = value};
    const struct rps_phases phases = {.count = 3, .phase = phase, .label_count = 3};

    for (int l = 0; l < 3; l++) {
        phase[l] = (struct rps_phase){.first = (uint64_t)l * READINGS,
                                      .last = (uint64_t)(l + 1) * READINGS - 1,
                                      .start_ns = l,
                                      .end_ns = l + 1,
                                      .label = l};
        for (int i = 0; i < READINGS; i++) {
            value[l * READINGS + i] = mib[l];
            value[(3 + l) * READINGS + i] = l == 1 ? read_mib_s : 0;
        }
    }
    return rps_profile_signals(arena, &signals, names, 1, &phases);
}

/* System metrics are described after counted events if the labels differ in them or if they are
 * notable alone. A clause that fits is printed even if an earlier clause did not fit. */
static void test_system(void **state)
{
    static const struct given given = {"f", "Minor faults", "/s", 10000, 31000};
    struct rps_arena *arena = rps_arena_new();
    struct rps_run_system system[3] = {
        read_system((int64_t[RPS_TREE_SLOTS]){[RPS_TREE_WAIT] = 6000000, [RPS_TREE_THREADS] = 1}),
        read_system((int64_t[RPS_TREE_SLOTS]){
            [RPS_TREE_THREADS] = 4, [RPS_TREE_IN_LOCK] = 3, [RPS_TREE_WAIT] = 5000000}),
        read_system((int64_t[RPS_TREE_SLOTS]){[RPS_TREE_THREADS] = 1}),
    };
    struct rps_profile io = read_io(arena, (double[]){13, 306, 13}, 866);
    struct made made;

    (void)state;
    fill(&made, &given, 1);
    made.profile.system = system;
    made.profile.io = &io;
    for (int l = 0; l < 3; l++)
        made.label[l].cpu_s = 4;
    assert_string_equal(words_of(&made, 0), /* Label 0 uses as much memory as most labels. */
                        "waits for a CPU 60 % of the time that it could run (elsewhere 38 %)");
    assert_string_equal(
        words_of(&made, 1),
        "3.1 x the rate of minor faults of the whole run, has 3.0 threads asleep in lock or thread "
        "waits (elsewhere 0.0 threads), RSS 306 MiB summed over processes (elsewhere 13 MiB), "
        "reads 866 MiB/s from disks "
        "(elsewhere 0 MiB/s)");
    assert_string_equal(words_of(&made, 2), "similar to most other classes");
    strcpy(io.figure[0].name, "at MiB"); /* The new clause is shorter than the previous one. */
    rps_profile_words(made.words, &made.profile, 1, 78);
    assert_string_equal(made.words, "3.1 x the rate of minor faults of the whole run, at 306 MiB "
                                    "(elsewhere 13 MiB)");
    strcpy(io.figure[0].name, "RSS MiB summed over processes");
    io.spread[2] = 600; /* MiB; with clumps of 16 readings, 306 ± 375 */
    io.figure[0].clumps = 16;
    assert_null(strstr(words_of(&made, 1), "MiB summed"));
    io.figure[0].clumps = 1; /* The interval is ± 94. */
    assert_non_null(strstr(words_of(&made, 1), "RSS 306 MiB summed"));
    io = read_io(arena, (double[]){13, 14, 13}, 1.9); /* The values are too small to matter. */
    assert_null(strstr(words_of(&made, 1), "MiB"));
    io = read_io(arena, (double[]){1, 500, 500}, 3);
    assert_string_equal(
        words_of(&made, 0),
        "RSS 1.0 MiB summed over processes (elsewhere 500 MiB), waits for a CPU 60 % of the time "
        "that it could run (elsewhere 38 %)");
    io = read_io(arena, (double[]){200, 306, 200}, 0); /* less than a factor of 2 */
    assert_null(strstr(words_of(&made, 1), "RSS"));
    assert_non_null(strstr(words_of(&made, 1), "asleep in lock or thread waits"));
    system[2] = read_system((int64_t[RPS_TREE_SLOTS]){[RPS_TREE_THREADS] = 3, [RPS_TREE_IDLE] = 2});
    assert_null(strstr(words_of(&made, 1), "lock")); /* idle threads wait elsewhere */
    system[2] = read_system((int64_t[RPS_TREE_SLOTS]){[RPS_TREE_THREADS] = 1});
    io = read_io(arena, (double[]){10, 306, 30}, 0);
    io.label[0].seconds = 3; /* The value elsewhere is a mean over time, not over readings. */
    io.label[1].seconds = io.label[2].seconds = 1;
    assert_non_null(strstr(words_of(&made, 1), "RSS 306 MiB summed over processes (elsewhere 15 "));
    for (int l = 0; l < 3; l += 2) /* The value elsewhere is a lower limit, so it may be larger. */
        system[l] = read_system(
            (int64_t[RPS_TREE_SLOTS]){[RPS_TREE_THREADS] = 1, [RPS_TREE_UNSEEN] = 9000000});
    assert_null(strstr(words_of(&made, 1), "RSS"));
    io = read_io(arena, (double[]){306, 10, 306}, 0); /* Now it is certainly larger. */
    assert_non_null(strstr(words_of(&made, 1), "RSS 10 MiB summed over processes (elsewhere at"));
    made.profile.io = NULL; /* Memory and reads were not measured. */
    made.mean[1] = 10000;
    for (int l = 0; l < 3; l++) /* Waiting is described only if labels differ in it. */
        system[l] = read_system(
            (int64_t[RPS_TREE_SLOTS]){[RPS_TREE_WAIT] = 6000000, [RPS_TREE_THREADS] = 1});
    assert_string_equal(words_of(&made, 0), "similar to the whole run");
    for (int l = 1; l < 3; l++) /* The others wait 47 %, and all labels together 52 %. */
        system[l] = read_system(
            (int64_t[RPS_TREE_SLOTS]){[RPS_TREE_WAIT] = 3500000, [RPS_TREE_THREADS] = 1});
    assert_string_equal(words_of(&made, 0),
                        "waits for a CPU 60 % of the time that it could run (elsewhere 47 %)");
    for (int l = 0; l < 3; l++) /* Threads that are always idle are not described. */
        system[l] = read_system(
            (int64_t[RPS_TREE_SLOTS]){[RPS_TREE_THREADS] = 11, [RPS_TREE_IN_LOCK] = 10});
    assert_string_equal(words_of(&made, 0), "similar to the whole run");
    system[2] =
        read_system((int64_t[RPS_TREE_SLOTS]){[RPS_TREE_THREADS] = 14, [RPS_TREE_IN_LOCK] = 12});
    assert_string_equal(words_of(&made, 2), "sleeps in lock or thread waits");
    system[2] = read_system((int64_t[RPS_TREE_SLOTS]){
        [RPS_TREE_THREADS] = 14, [RPS_TREE_IN_LOCK] = 2, [RPS_TREE_IDLE] = 12});
    assert_string_equal(words_of(&made, 2), "similar to the whole run");
    rps_arena_free(arena);
}

/* A rate that comes in bursts is compared with all other labels: 70 ± 63 MiB/s with 0 ± 0. A label
 * without bursts may lack them by chance. */
static void test_bursts_of_io(void **state)
{
    static const struct given given = {"f", "Minor faults", "/s", 10000, 10000};
    struct rps_arena *arena = rps_arena_new();
    struct rps_profile io = read_io(arena, (double[]){13, 13, 13}, 70);
    struct rps_run_system system[3];
    struct made made;

    (void)state;
    fill(&made, &given, 1);
    for (int l = 0; l < 3; l++)
        system[l] = read_system((int64_t[RPS_TREE_SLOTS]){[RPS_TREE_THREADS] = 1});
    made.profile.system = system;
    made.profile.io = &io;
    io.spread[3] = 200;
    io.figure[1].inside = 115;
    io.figure[1].clumps = 4;
    assert_string_equal(words_of(&made, 1), "reads 70 MiB/s from disks (elsewhere 0 MiB/s)");
    io.spread[1] = io.spread[5] = 200; /* elsewhere 0 ± 44 */
    assert_null(strstr(words_of(&made, 1), "reads"));
    io.spread[1] = 0;
    io.mean[5] = 70;
    io.figure[1].inside = 163;
    assert_null(strstr(words_of(&made, 0), "reads")); /* 0 ± 51, elsewhere 70 ± 44 */
    io.figure[1].clumps = 1;
    assert_string_equal(words_of(&made, 0), "reads 0 MiB/s from disks (elsewhere 70 MiB/s)");
    rps_arena_free(arena);
}

/* CPU use that was lost to other processes does not describe a label whose demand equals that of
 * the others. */
static void test_cpu_use_of_others(void **state)
{
    static const struct given given = {"cpu_use", "CPU use", "%", 80, 40};
    struct rps_run_system system[3];
    struct made made;

    (void)state;
    fill(&made, &given, 1);
    made.profile.system = system;
    for (int l = 0; l < 3; l++) { /* Of 10 s, each label needs 8 s; label 1 gets only 4 s. */
        system[l] = read_system((int64_t[RPS_TREE_SLOTS]){
            [RPS_TREE_THREADS] = 1, [RPS_TREE_WAIT] = l == 1 ? 4000000 : 0});
        made.label[l].cpu_s = l == 1 ? 4 : 8;
    }
    assert_null(strstr(words_of(&made, 1), "CPU use"));
    system[1] = system[0]; /* Label 1 needs only 4 s. */
    assert_string_equal(words_of(&made, 1), "CPU use 40 % (whole run: 80 %)");
    made.mean[1] = 66; /* The difference is below a factor of 1.25, whatever its cause. */
    assert_string_equal(words_of(&made, 1), "similar to the whole run");
    made.profile.system = NULL; /* The waiting time is unknown. */
    made.mean[1] = 40;
    assert_string_equal(words_of(&made, 1), "CPU use 40 % (whole run: 80 %)");
}

/* Observation units of a remark. */
static const struct rps_observing rows = {0}, periods = {.observation_ns = 1},
                                  blocks = {.observation_ns = 1, .in_blocks = 1};

/* Add a loop iteration: six times three inner iterations of twelve phases, and one more phase. Each
 * phase has ten rows. */
static void add_iteration(struct rps_phases *phases, int label)
{
    for (int k = 0; k < 6 * 37; k++, phases->count++)
        phases->phase[phases->count] = (struct rps_phase){
            .label = label + (k % 37 < 36 ? k % 37 % 12 : 12 + k / 37),
            .first = 10 * phases->count,
            .last = 10 * phases->count + 9,
        };
}

/* The remark about two nested loops with 12 parts each is longer than the buffer. */
static void test_long_loops(void **state)
{
    struct {
        char remark[RPS_PHASE_REMARK_SIZE], after[RPS_PHASE_REMARK_SIZE];
    } room;
    struct rps_phases shown = {.label_count = 70,
                               .phase = calloc(24 * 6 * 37, sizeof(*shown.phase))};
    const struct rps_found_phases found = {.levels = {.count = 1, .level = &shown}};

    (void)state;
    assert_non_null(shown.phase);
    for (int k = 0; k < 24; k++)
        add_iteration(&shown, k < 12 ? 26 : 52);
    memset(&room, 'x', sizeof(room));
    rps_loops_fold(&shown, 0, shown.count);
    rps_profile_remark(&found, &rows, NULL, room.remark);
    for (size_t i = 0; i < sizeof(room.after); i++)
        assert_int_equal(room.after[i], 'x');
    assert_memory_equal(room.remark, "[3 x (AA AB ", 12);
    assert_non_null(strstr(room.remark, "] repeats (12 iterations, mean "));
    assert_non_null(strstr(room.remark, ", then [3 x (BA BB "));
    assert_true(strlen(room.remark) < RPS_PHASE_REMARK_SIZE / 2);
    free(shown.phase);
}

/* Profile a column that is constant, rises, is constant, rises again, and falls to other values. */
static struct rps_profile profile_ramps(struct rps_arena *arena, const struct rps_phases *phases)
{
    static const char *const names[] = {"x"};
    static double value[500];
    const struct rps_signals signals = {.count = 500, .signal_count = 1, .value = value};

    for (int i = 0; i < 500; i++)
        value[i] = i / 100 % 2 ? 100 + i % 100 : i < 400 ? 100 : 1000 - i % 100;
    return rps_profile_signals(arena, &signals, names, 1, phases);
}

/* All ramps are profiled together, and each label is named once. */
static void test_ramps(void **state)
{
    static const int label[] = {0, 1, 0, 1, 2};
    struct rps_arena *arena = rps_arena_new();
    struct rps_phase phase[5];
    struct rps_phases shown = {.count = 5, .phase = phase, .label_count = 3}, tenths;
    const struct rps_found_phases found = {.levels = {.count = 1, .level = &shown}, .drifts = 1};
    char remark[RPS_PHASE_REMARK_SIZE];
    struct rps_profile profile;

    (void)state;
    for (int k = 0; k < 5; k++)
        phase[k] = (struct rps_phase){.first = (uint64_t)k * 100,
                                      .last = (uint64_t)k * 100 + 99,
                                      .label = label[k],
                                      .trend = label[k] == 1   ? 1
                                               : label[k] == 2 ? -1
                                                               : 0};
    tenths = rps_profile_tenths(arena, &found);
    assert_int_equal(tenths.count, 20);
    assert_int_equal(tenths.label_count, 20);
    assert_int_equal(tenths.phase[9].last, 199);
    assert_int_equal(tenths.phase[10].first, 400);
    assert_int_equal(tenths.phase[10].label, 10);
    profile = profile_ramps(arena, &tenths);
    rps_profile_remark(&found, &rows, &profile, remark);
    assert_string_equal(remark, "phase B is a ramp: x from 104 to 194; phase C is a ramp: x from "
                                "996 to 906");
    rps_arena_free(arena);
}

/* Without ramps, the tenths are those of a run that drifts. */
static void test_tenths_of_drift(void **state)
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_phase phase[2] = {{.first = 100, .last = 149},
                                 {.first = 150, .last = 199, .label = 1}};
    struct rps_phases shown = {.count = 2, .phase = phase, .label_count = 2}, tenths;
    struct rps_found_phases found = {.levels = {.count = 1, .level = &shown}};
    char remark[RPS_PHASE_REMARK_SIZE];
    struct rps_profile profile;

    (void)state;
    assert_int_equal(rps_profile_tenths(arena, &found).count, 0);
    found.drifts = 1;
    tenths = rps_profile_tenths(arena, &found);
    assert_int_equal(tenths.count, 10);
    assert_int_equal(tenths.phase[0].first, 100);
    assert_int_equal(tenths.phase[9].last, 199);
    profile = profile_ramps(arena, &tenths);
    rps_profile_remark(&found, &rows, &profile, remark);
    assert_string_equal(remark, "the values drift: x from 104 to 194");
    phase[1].last = 108; /* There are fewer rows than tenths. */
    phase[0] = phase[1];
    shown.count = 1;
    phase[0].first = 100;
    assert_int_equal(rps_profile_tenths(arena, &found).count, 0);
    rps_arena_free(arena);
}

/* The remark reports the share of time with an uncertain phase class if it is above 2 %. Only
 * single periods, and not ramps, have the remark. */
static void test_doubt(void **state)
{
    struct rps_phase phase[] = {{.last = 59, .label_confidence = 1},
                                {.first = 60, .last = 79, .label = 1, .label_confidence = .85},
                                {.first = 80, .last = 99, .label_confidence = .91}};
    struct rps_phases shown = {.count = 3, .phase = phase, .label_count = 2};
    const struct rps_found_phases found = {.levels = {.count = 1, .level = &shown}};
    struct rps_arena *arena = rps_arena_new();
    const struct rps_profile none = {.arena = arena};
    char remark[RPS_PHASE_REMARK_SIZE];

    (void)state;
    rps_profile_remark(&found, &periods, &none, remark);
    assert_non_null(strstr(remark, " 5 % of the time "));
    rps_profile_remark(&found, &blocks, &none, remark);
    assert_string_equal(remark, "");
    rps_profile_remark(&found, &rows, &none, remark);
    assert_string_equal(remark, "");
    phase[1].label_confidence = 1; /* The uncertain share is 1.8 %. */
    rps_profile_remark(&found, &periods, &none, remark);
    assert_string_equal(remark, "");
    phase[1].label_confidence = 0;
    phase[1].trend = 1;
    rps_profile_remark(&found, &periods, &none, remark);
    assert_string_equal(remark, "");
    rps_arena_free(arena);
}

/* A remark reports a recorder that got less than 65 % of its periods. Blocks do not have the
 * remark. */
static void test_late(void **state)
{
    struct rps_phase phase = {.last = 99, .label_confidence = 1};
    struct rps_phases shown = {.count = 1, .phase = &phase, .label_count = 1};
    const struct rps_found_phases found = {.levels = {.count = 1, .level = &shown}};
    struct rps_observing late = {
        .observation_ns = 230000000, .longest_ns = 2400000000, .late = .57};
    const struct rps_profile none = {0};
    char remark[RPS_PHASE_REMARK_SIZE];

    (void)state;
    rps_profile_remark(&found, &late, &none, remark);
    assert_non_null(strstr(remark, " 43 % of its periods"));
    assert_non_null(strstr(remark, " 9.6 s "));
    phase.label_confidence = .9;
    rps_profile_remark(&found, &late, &none, remark);
    assert_non_null(strstr(remark, " 10 % of the time "));
    assert_non_null(strstr(remark, "; the recorder got only 43 % "));
    phase.label_confidence = 1;
    late.late = .34;
    rps_profile_remark(&found, &late, &none, remark);
    assert_string_equal(remark, "");
    late.late = .57;
    late.in_blocks = 1;
    rps_profile_remark(&found, &late, &none, remark);
    assert_null(strstr(remark, "recorder"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),           cmocka_unit_test(test_values),
        cmocka_unit_test(test_alike),           cmocka_unit_test(test_nothing_to_say),
        cmocka_unit_test(test_order),           cmocka_unit_test(test_phases_of_classes),
        cmocka_unit_test(test_unlike_most),     cmocka_unit_test(test_clumps),
        cmocka_unit_test(test_long_clumps),     cmocka_unit_test(test_ramp),
        cmocka_unit_test(test_ramps),           cmocka_unit_test(test_tenths_of_drift),
        cmocka_unit_test(test_doubt),           cmocka_unit_test(test_late),
        cmocka_unit_test(test_twins),           cmocka_unit_test(test_lower_rates),
        cmocka_unit_test(test_place),           cmocka_unit_test(test_what_matters),
        cmocka_unit_test(test_follows_cpu_use), cmocka_unit_test(test_clumps_of_columns),
        cmocka_unit_test(test_intervals),       cmocka_unit_test(test_counted),
        cmocka_unit_test(test_main_label),      cmocka_unit_test(test_table),
        cmocka_unit_test(test_names),           cmocka_unit_test(test_system),
        cmocka_unit_test(test_bursts_of_io),    cmocka_unit_test(test_cpu_use_of_others),
        cmocka_unit_test(test_long_loops),      cmocka_unit_test(test_brackets),
    };

    return cmocka_run_group_tests_name("query/words", tests, NULL, NULL);
}
