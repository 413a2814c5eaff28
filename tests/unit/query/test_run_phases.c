/* Tests of the phases of recorded runs: their boundaries in periods and in time, stored or not, by
 * CPU and summed; their profiles; principal components. */
#include "support/arena.h"
#include "support/arena.h"
#include "support/fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rpistat/profile.h"
#include "rpistat/run_phases.h"
#include "rpistat/run_window.h"
#include "rpistat/store.h"

enum kind { QUIET, BUSY, ASLEEP };

/* Return a factor from 0.98 to 1.02. The sequence is always the same. */
static double jitter(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return 0.98 + 0.04 * (double)(*state >> 11) / (double)(UINT64_C(1) << 53);
}

/* Add a period of one of the arm1176 event sets: instructions and stalls, data cache, TLBs,
 * branches. */
static void add_period(struct fixture *fixture, enum kind kind, uint64_t *state)
{
    static const double busy[4][2] = {{7e6, 9e6}, {5e6, 1e6}, {9e5, 4e5}, {8e5, 9e4}};
    static const double quiet[4][2] = {{2e7, 2e6}, {5e6, 1e5}, {1e5, 1e4}, {2e6, 1e4}};
    const double *rate = (kind == BUSY ? busy : quiet)[fixture->next.period % 4];
    uint64_t ran_ns = kind == ASLEEP ? 0 : (uint64_t)FIXTURE_PERIOD_NS;
    uint64_t count[8] = {0};

    for (int slot = 0; slot < 2 && kind != ASLEEP; slot++)
        count[slot] = (uint64_t)(rate[slot] * jitter(state));
    fixture->next.enabled_ns = fixture->next.running_ns = ran_ns;
    fixture->next.clock_running_ns = ran_ns;
    fixture_period(fixture, kind == ASLEEP ? 0 : (uint64_t)(7e7 * jitter(state)), count);
}

static void add_periods(struct fixture *fixture, enum kind kind, int count, uint64_t *state)
{
    for (int i = 0; i < count; i++)
        add_period(fixture, kind, state);
}

/* Make a run of 220 periods that is quiet, busy, asleep and quiet, with boundaries at 60, 120 and
 * 160. */
static void make_run(struct fixture *fixture)
{
    uint64_t state = 1;

    fixture_begin(fixture, "arm1176");
    fixture_write(fixture);
    add_periods(fixture, QUIET, 60, &state);
    add_periods(fixture, BUSY, 60, &state);
    add_periods(fixture, ASLEEP, 40, &state);
    add_periods(fixture, QUIET, 60, &state);
    fixture_read(fixture);
}

static const struct rps_phases *shown_of(const struct rps_run_phases *found)
{
    return rps_phase_levels_shown(&found->found.levels);
}

static void check_near(uint64_t value, uint64_t expected, uint64_t margin)
{
    if (value + margin < expected || value > expected + margin)
        fail_msg("%llu is not within %llu of %llu", (unsigned long long)value,
                 (unsigned long long)margin, (unsigned long long)expected);
}

static void check_phases(const struct rps_phases *phases)
{
    static const uint64_t first[] = {0, 60, 120, 160, 220};
    static const int label[] = {0, 1, 2, 0};

    assert_int_equal(phases->count, 4);
    assert_int_equal(phases->label_count, 3);
    for (size_t i = 0; i < 4; i++) {
        const struct rps_phase *phase = &phases->phase[i];

        check_near(phase->first, first[i], 3);
        check_near(phase->last + 1, first[i + 1], 3);
        assert_int_equal(phase->label, label[i]);
        assert_int_equal(phase->start_ns, (int64_t)phase->first * FIXTURE_PERIOD_NS);
        assert_int_equal(phase->end_ns, (int64_t)(phase->last + 1) * FIXTURE_PERIOD_NS);
        assert_true(phase->earliest <= phase->first && phase->latest >= phase->first);
        assert_true(phase->confidence > 0.9);
    }
}

static struct rps_run_phases detect_with(struct fixture *fixture,
                                         const struct rps_run_phases_options *options)
{
    struct rps_run_phases found;
    struct rps_error err;

    if (rps_run_phases_detect(arena, &(struct rps_run_at){fixture->reader, fixture->run_id}, 1,
                              options, &found, &err) < 0)
        fail_msg("%s", err.message);
    return found;
}

static void refuse_with(struct fixture *fixture, const struct rps_run_phases_options *options,
                        int status, const char *words)
{
    struct rps_run_phases found;
    struct rps_error err;

    assert_int_equal(rps_run_phases_detect(arena,
                                           &(struct rps_run_at){fixture->reader, fixture->run_id},
                                           1, options, &found, &err),
                     status);
    assert_non_null(strstr(err.message, words));
}

static void test_found(void **state)
{
    struct rps_run_phases_options options = {.to_ns = INT64_MAX};
    struct rps_run_phases found;
    struct fixture fixture;

    (void)state;
    make_run(&fixture);
    found = detect_with(&fixture, &options);
    check_phases(shown_of(&found));
    assert_int_equal(found.observation_count, 220);
    assert_true(found.signal_count >= 4);
    assert_int_equal(found.min_length, 9);
    options.min_length_ns = 70 * FIXTURE_PERIOD_NS - 1;
    found = detect_with(&fixture, &options);
    assert_int_equal(found.min_length, 70);
    for (size_t i = 0; i < shown_of(&found)->count; i++)
        assert_true(shown_of(&found)->phase[i].last - shown_of(&found)->phase[i].first + 1 >= 70);
    fixture_end(&fixture);
}

/* In a part of a run, period numbers are those of the whole run. */
static void test_part(void **state)
{
    struct rps_run_phases_options options = {.from_ns = 30 * FIXTURE_PERIOD_NS,
                                             .to_ns = 100 * FIXTURE_PERIOD_NS};
    struct rps_run_phases found;
    struct fixture fixture;

    (void)state;
    make_run(&fixture);
    found = detect_with(&fixture, &options);
    assert_int_equal(found.observation_count, 70);
    assert_int_equal(shown_of(&found)->count, 2);
    assert_int_equal(shown_of(&found)->phase[0].first, 30);
    check_near(shown_of(&found)->phase[1].first, 60, 3);
    assert_int_equal(shown_of(&found)->phase[1].last, 99);
    assert_int_equal(shown_of(&found)->phase[0].start_ns, 30 * FIXTURE_PERIOD_NS);
    options.from_ns = 1000 * FIXTURE_PERIOD_NS;
    options.to_ns = INT64_MAX;
    refuse_with(&fixture, &options, RPS_FAILED, "has no measurement periods in this range");
    fixture_end(&fixture);
}

/* Half of the periods were merged into longer periods, and the first one was the longest. A remark
 * about a part of the run covers only that part. */
static void test_late(void **state)
{
    struct rps_run_phases_options options = {.to_ns = INT64_MAX};
    char remark[RPS_PHASE_REMARK_SIZE];
    struct rps_run_phases found;
    struct fixture fixture;
    struct rps_error err;
    uint64_t random = 1;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    for (int i = 0; i < 120; i++) {
        fixture.next.missed = i == 0 ? 25 : i < 60 ? 2 : 0;
        fixture.next.length_ns = FIXTURE_PERIOD_NS * (1 + fixture.next.missed);
        add_period(&fixture, QUIET, &random);
    }
    fixture_read(&fixture);
    for (int part = 0; part < 2; part++) {
        const struct rps_run_at at = {fixture.reader, fixture.run_id};

        options.from_ns = part == 0 ? 0 : (60 + 25 + 59 * 2) * FIXTURE_PERIOD_NS;
        found = detect_with(&fixture, &options);
        assert_int_equal(rps_run_phases_remark(arena, &at, &options, &found, remark, &err), 0);
        assert_int_equal(!strstr(remark, " 46 % of its periods: phases shorter than 10.4 s "),
                         part);
        assert_int_equal(!strstr(remark, "recorder"), part);
    }
    fixture_end(&fixture);
}

static void test_chosen_metrics(void **state)
{
    static const char *const names[] = {"cpu_use"}, *const wrong[] = {"cpi", "nothing"};
    struct rps_run_phases_options options = {
        .to_ns = INT64_MAX, .metric = names, .metric_count = 1};
    struct rps_run_phases found;
    struct fixture fixture;

    (void)state;
    make_run(&fixture);
    found = detect_with(&fixture, &options);
    assert_int_equal(shown_of(&found)->count, 3);
    assert_int_equal(shown_of(&found)->phase[1].first, 120);
    assert_int_equal(shown_of(&found)->phase[2].first, 160);
    assert_int_equal(found.signal_count, 1);
    assert_string_equal(found.signal[0], "cpu_use");
    options.metric = wrong;
    options.metric_count = 2;
    refuse_with(&fixture, &options, RPS_USAGE, "nothing");
    fixture_end(&fixture);
}

/* A stored detection is used if it covers the whole run. A detection that ends before the end of
 * the run is ignored. */
static void test_stored_or_not(void **state)
{
    struct rps_phase one = {.last = 219, .end_ns = 220 * FIXTURE_PERIOD_NS};
    struct rps_phases level = {.count = 1, .phase = &one};
    struct rps_detection detection = {
        .method = "by hand", .parameters = (char *)"{}", .levels = {.count = 1, .level = &level}};
    struct rps_phase_levels levels;
    struct rps_error err;
    struct fixture fixture;

    (void)state;
    make_run(&fixture);
    assert_int_equal(rps_run_phases_get(arena, fixture.reader, fixture.run_id, &levels, NULL, &err),
                     1);
    check_phases(rps_phase_levels_shown(&levels));

    assert_int_equal(rps_store_add_detection(fixture.path, fixture.run_id, &detection, &err), 0);
    assert_int_equal(rps_run_phases_get(arena, fixture.reader, fixture.run_id, &levels, NULL, &err),
                     1);
    assert_int_equal(rps_phase_levels_shown(&levels)->count, 1);

    one.last = 150;
    one.end_ns = 151 * FIXTURE_PERIOD_NS;
    assert_int_equal(rps_store_add_detection(fixture.path, fixture.run_id, &detection, &err), 0);
    assert_int_equal(rps_run_phases_get(arena, fixture.reader, fixture.run_id, &levels, NULL, &err),
                     1);
    check_phases(rps_phase_levels_shown(&levels));
    fixture_end(&fixture);
}

static void test_none(void **state)
{
    struct rps_run_phases_options options = {.to_ns = INT64_MAX};
    struct rps_phase_levels levels;
    struct rps_error err;
    struct fixture fixture;

    (void)state;
    fixture_begin(&fixture, "software");
    fixture_write(&fixture);
    fixture_read(&fixture);
    assert_int_equal(rps_run_phases_get(arena, fixture.reader, fixture.run_id, &levels, NULL, &err),
                     0);
    refuse_with(&fixture, &options, RPS_FAILED, "run 1 has no measurement periods");
    assert_int_equal(rps_run_phases_get(arena, fixture.reader, 77, &levels, NULL, &err),
                     RPS_FAILED);
    fixture_end(&fixture);
}

/* A run that is too long is not analysed automatically. */
static void test_long_run(void **state)
{
    const uint64_t count[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct rps_phase_levels levels;
    struct rps_error err;
    struct fixture fixture;

    (void)state;
    fixture_begin(&fixture, "software");
    fixture_write(&fixture);
    for (int i = 0; i <= RPS_RUN_PHASES_PERIODS_MAX; i++) {
        if (i % 1024 == 0)
            rps_writer_wait(fixture.writer);
        fixture_period(&fixture, 100, count);
    }
    fixture_read(&fixture);
    assert_int_equal(rps_run_phases_get(arena, fixture.reader, fixture.run_id, &levels, NULL, &err),
                     0);
    fixture_end(&fixture);
}

/* --- by CPU ----------------------------------------------------------------------------------- */

/* Make a run of two CPUs. The first CPU is always quiet; the second is busy from period 60. */
static void make_cpus(struct fixture *fixture)
{
    uint64_t state = 1;

    fixture_begin(fixture, "arm1176");
    fixture_write(fixture);
    for (int cpu = 0; cpu < 2; cpu++) {
        fixture->next.cpu = cpu;
        fixture->next.period = 0;
        fixture->next.cycle = 0;
        fixture->next.start_ns = 0;
        add_periods(fixture, QUIET, 60, &state);
        add_periods(fixture, cpu ? BUSY : QUIET, 60, &state);
    }
    fixture_read(fixture);
}

static void test_by_cpu(void **state)
{
    static const int first[] = {0};
    struct rps_run_phases_options options = {.to_ns = INT64_MAX};
    struct rps_run_phases found;
    struct fixture fixture;
    size_t side_by_side;

    (void)state;
    make_cpus(&fixture);
    found = detect_with(&fixture, &options);
    assert_int_equal(shown_of(&found)->count, 2);
    check_near(shown_of(&found)->phase[1].first, 60, 3);
    side_by_side = 2 * found.signal_count;

    options.cpus.way = RPS_CPUS_EACH;
    found = detect_with(&fixture, &options);
    assert_int_equal(found.observation_count, 120);
    assert_int_equal(found.signal_count, side_by_side);
    assert_non_null(strstr(found.signal[found.signal_count - 1], "of CPU 1"));
    assert_int_equal(shown_of(&found)->count, 2);
    check_near(shown_of(&found)->phase[1].first, 60, 3);
    assert_int_equal(shown_of(&found)->phase[1].end_ns, 120 * FIXTURE_PERIOD_NS);

    options.cpus.cpu = first;
    options.cpus.count = 1;
    found = detect_with(&fixture, &options);
    assert_int_equal(shown_of(&found)->count, 1);
    fixture_end(&fixture);
}

/* --- samples of the code ---------------------------------------------------------------------- */

enum stack { IN_FIRST, IN_SECOND, IN_KERNEL_FOR_FIRST, IN_KERNEL_ALONE, STACKS };

/* Write two functions of the workload, the first one at two addresses, and one function of the
 * kernel. */
static void write_code(struct fixture *fixture)
{
    static const struct rps_module module[] = {{0, RPS_MODULE_FILE, "/usr/bin/work", ""},
                                               {1, RPS_MODULE_KERNEL, "[kernel]", ""}};
    static const struct rps_frame frame[] = {
        {0, 0, 0x1000, 0}, {1, 0, 0x5000, 0}, {2, 0, 0x9000, 0}, {3, 1, 5, 0}};
    static const struct rps_stack stack[STACKS] = {{IN_FIRST, -1, 0},
                                                   {IN_SECOND, IN_FIRST, 2},
                                                   {IN_KERNEL_FOR_FIRST, IN_FIRST, 3},
                                                   {IN_KERNEL_ALONE, -1, 3}};
    const struct rps_sampling sampling = {.event = "cpu-clock", .frequency = 99, .stacks = "fp"};

    rps_writer_sampling(fixture->writer, &sampling);
    for (int i = 0; i < 2; i++)
        rps_writer_module(fixture->writer, &module[i]);
    for (int i = 0; i < 4; i++)
        rps_writer_frame(fixture->writer, &frame[i]);
    for (int i = 0; i < STACKS; i++)
        rps_writer_stack(fixture->writer, &stack[i]);
}

static void write_counts(struct fixture *fixture, int level, int32_t cpu, uint64_t period,
                         enum stack stack, uint64_t samples)
{
    const struct rps_code_count count = {level, cpu, period, stack, samples};

    rps_writer_code_count(fixture->writer, RPS_COUNT_STACKS, &count);
}

static void name_code(struct fixture *fixture)
{
    struct rps_location location[] = {{0, 0, "first", "", 0, RPS_LOCATION_SYMBOL},
                                      {1, 0, "first", "", 0, RPS_LOCATION_SYMBOL},
                                      {2, 0, "second", "", 0, RPS_LOCATION_SYMBOL}};
    const struct rps_code code = {.location_count = 3, .location = location};
    struct rps_error err;

    if (rps_store_set_locations(fixture->path, fixture->run_id, &code, &err) < 0)
        fail_msg("%s", err.message);
}

static int has_signal(const struct rps_run_phases *found, const char *name)
{
    int has = 0;

    for (size_t s = 0; s < found->signal_count; s++)
        has |= strcmp(found->signal[s], name) == 0;
    return has;
}

/* Make a run of two CPUs with constant counts. On the second CPU, the workload changes to its
 * second function at period 60. Both CPUs spend some time in the kernel for the workload, and
 * increasingly for the kernel itself. */
static void make_sampled_cpus(struct fixture *fixture)
{
    uint64_t state = 1;

    fixture_begin(fixture, "arm1176");
    fixture_write(fixture);
    write_code(fixture);
    for (int cpu = 0; cpu < 2; cpu++) {
        fixture->next.cpu = cpu;
        fixture->next.period = fixture->next.cycle = 0;
        fixture->next.start_ns = 0;
        add_periods(fixture, QUIET, 120, &state);
        for (uint64_t n = 0; n < 120; n++) {
            enum stack where = cpu && n >= 60 ? IN_SECOND : IN_FIRST;

            write_counts(fixture, 0, cpu, n, where, (uint64_t)(200 * jitter(&state) - 191.5));
            write_counts(fixture, 0, cpu, n, IN_KERNEL_FOR_FIRST,
                         (uint64_t)(50 * jitter(&state) - 47.5));
            write_counts(fixture, 0, cpu, n, IN_KERNEL_ALONE, n);
        }
    }
    fixture_read(fixture);
    name_code(fixture);
}

static void test_samples_by_cpu(void **state)
{
    static const int first[] = {0};
    struct rps_run_phases_options options = {.to_ns = INT64_MAX};
    struct rps_run_phases found;
    struct fixture fixture;

    (void)state;
    make_sampled_cpus(&fixture);
    for (int way = RPS_CPUS_CHOSEN; way <= RPS_CPUS_EACH; way++) {
        options.cpus.way = (enum rps_cpus_way)way;
        found = detect_with(&fixture, &options);
        assert_int_equal(shown_of(&found)->count, 2);
        check_near(shown_of(&found)->phase[1].first, 60, 3);
        assert_true(has_signal(&found, "samples"));
    }
    options.no_samples = 1;
    found = detect_with(&fixture, &options);
    assert_int_equal(shown_of(&found)->count, 1);
    assert_false(has_signal(&found, "samples"));

    options =
        (struct rps_run_phases_options){.to_ns = INT64_MAX, .cpus = {.cpu = first, .count = 1}};
    found = detect_with(&fixture, &options);
    assert_int_equal(shown_of(&found)->count, 1);
    fixture_end(&fixture);
}

/* In a downsampled run, a block has the samples of all its periods. Unknown function numbers, as in
 * a damaged store, are ignored. */
static void test_samples_of_blocks(void **state)
{
    const struct rps_run_phases_options options = {.to_ns = INT64_MAX};
    struct rps_run_phases found;
    struct fixture fixture;
    uint64_t jitters = 1;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    write_code(&fixture);
    add_periods(&fixture, QUIET, 512, &jitters);
    for (uint64_t n = 0; n < 512; n += 16) {
        write_counts(&fixture, 1, RPS_CPU_ALL, n, n < 256 ? IN_FIRST : IN_SECOND, 150);
        write_counts(&fixture, 1, RPS_CPU_ALL, n, IN_KERNEL_FOR_FIRST, 7 + n / 16 % 5);
    }
    write_counts(&fixture, 0, RPS_CPU_ALL, 7, (enum stack)4711, UINT64_C(1) << 40);
    write_counts(&fixture, 0, RPS_CPU_ALL, 100000, IN_FIRST, 10);
    fixture_read(&fixture);
    found = detect_with(&fixture, &options);
    assert_int_equal(shown_of(&found)->count, 2);
    check_near(shown_of(&found)->phase[1].first, 256, 16);
    fixture_end(&fixture);
}

/* --- profiles --------------------------------------------------------------------------------- */

static size_t figure_of(const struct rps_profile *profile, const char *name)
{
    for (size_t f = 0; f < profile->figure_count; f++) {
        if (strcmp(profile->figure[f].name, name) == 0)
            return f;
    }
    fail_msg("there is no figure %s", name);
    return 0;
}

/* Profiles that are read together are those that are read one by one. Only the first one here gets
 * intervals. */
static void test_profiles(void **state)
{
    const struct rps_cpus cpus = {.count = 0};
    struct rps_phase half[2] = {{.last = 79}, {.first = 80, .last = 179, .label = 1}};
    struct rps_phases phases[3] = {{.count = 2, .phase = half, .label_count = 2},
                                   {.count = 1, .phase = &half[1], .label_count = 2}};
    struct rps_profile together[3], one;
    struct rps_error err;
    struct fixture fixture;

    (void)state;
    make_run(&fixture);
    assert_int_equal(rps_profile_run(arena, fixture.reader, fixture.run_id, 0, INT64_MAX, &cpus,
                                     phases, 3, 1, together, &err),
                     0);
    for (int i = 0; i < 2; i++) {
        size_t means;

        assert_int_equal(rps_profile_run(arena, fixture.reader, fixture.run_id, 0, INT64_MAX, &cpus,
                                         &phases[i], 1, 1, &one, &err),
                         0);
        means = 2 * one.figure_count;
        assert_int_equal(together[i].label[1].periods, 100);
        assert_int_equal(together[i].figure_count, one.figure_count);
        assert_memory_equal(together[i].mean, one.mean, means * sizeof(*one.mean));
        assert_memory_equal(together[i].spread, one.spread, means * sizeof(*one.spread));
        assert_int_equal(isnan(together[i].mean[0]), i);
        assert_int_equal(rps_interval_has_ends(&one.mean_interval[one.figure_count]), 1);
        assert_int_equal(rps_interval_has_ends(&together[i].mean_interval[one.figure_count]), !i);
    }
    assert_int_equal(together[2].label_count, 0);
    assert_int_equal(together[2].phase_count, 0);
    fixture_end(&fixture);
}

/* Return the error of the CPI of a window that is half quiet and half busy. */
static double error_of_window(struct fixture *fixture, const struct rps_phases *phases)
{
    struct rps_run_window window = {
        .from_ns = {30 * FIXTURE_PERIOD_NS}, .to_ns = {90 * FIXTURE_PERIOD_NS}, .phases = phases};
    struct rps_run run;
    struct rps_error err;

    assert_int_equal(rps_reader_run(arena, fixture->reader, fixture->run_id, &run, &err), 0);
    if (rps_run_window_find(arena, fixture->reader, &run, &window, &err) < 0)
        fail_msg("%s", err.message);
    return window.profile.figure[figure_of(&window.profile, "cpi")].error;
}

/* The noise of a window is that within the given phases. Without given phases, they are
 * detected. */
static void test_window_phases(void **state)
{
    struct rps_phase all = {.last = 219};
    const struct rps_phases one = {.count = 1, .phase = &all, .label_count = 1};
    struct fixture fixture;

    (void)state;
    make_run(&fixture);
    assert_true(error_of_window(&fixture, &one) > 9 * error_of_window(&fixture, NULL));
    fixture_end(&fixture);
}

static void test_profile(void **state)
{
    const struct rps_cpus cpus = {.count = 0};
    struct rps_profile profile;
    struct rps_phase_levels levels;
    struct rps_phases *phases;
    struct rps_error err;
    struct fixture fixture;
    size_t cpi, use, misses, n;

    (void)state;
    make_run(&fixture);
    assert_int_equal(rps_run_phases_get(arena, fixture.reader, fixture.run_id, &levels, NULL, &err),
                     1);
    phases = rps_phase_levels_shown(&levels);
    phases->phase[1].first = 60; /* Set the exact boundary, whatever was found. */
    phases->phase[0].last = 59;
    phases->phase[1].last = 119;
    phases->phase[2].first = 120;
    assert_int_equal(rps_profile_run(arena, fixture.reader, fixture.run_id, 0, INT64_MAX, &cpus,
                                     phases, 1, 1, &profile, &err),
                     0);
    n = profile.figure_count;
    cpi = figure_of(&profile, "cpi");
    use = figure_of(&profile, "cpu_use");
    misses = figure_of(&profile, "dc_miss_ratio");
    assert_int_equal(profile.order[0], cpi);
    assert_true(fabs(profile.phase[0 * n + cpi] - 3.5) < 0.05);
    assert_true(fabs(profile.phase[1 * n + cpi] - 10) < 0.15);
    assert_true(isnan(profile.phase[2 * n + cpi]));
    assert_true(profile.phase[2 * n + use] == 0 && profile.phase[1 * n + use] == 100);
    assert_true(fabs(profile.phase[0 * n + misses] - 2) < 0.05);
    assert_true(fabs(profile.phase[1 * n + misses] - 20) < 0.5);
    assert_true(fabs(profile.mean[0 * n + cpi] - 3.5) < 0.05);
    assert_true(fabs(profile.figure[use].whole - 100 * 180 / 220.0) < 1e-6);
    /* Cycles and instructions have a uniform jitter of 2 %. */
    assert_true(profile.spread[0 * n + cpi] > 0.02 && profile.spread[0 * n + cpi] < 0.09);
    assert_true(profile.figure[cpi].explained > 0.98 && profile.figure[cpi].explained < 1);
    assert_true(profile.figure[misses].apart > 0.5);
    assert_int_equal(profile.label[0].occurrences, 2);
    assert_int_equal(profile.label[0].periods, 120);
    assert_int_equal(profile.label[1].periods, 60);
    /* Label A has more than half of the time. The rest of the run is label B, which is asleep half
     * of the time. */
    assert_int_equal(profile.main_label, 0);
    assert_true(profile.figure[cpi].rest == profile.mean[1 * n + cpi]);
    assert_int_equal(profile.figure[cpi].rest_interval.certainty, RPS_CERTAINTY_INTERVAL);
    assert_true(profile.figure[cpi].rest_interval.low > 9);
    assert_true(fabs(profile.figure[use].rest - 60) < 1e-6);
    assert_string_equal(profile.figure[cpi].panel, "Cycles per instruction");
    fixture_end(&fixture);
}

/* The mean and the standard deviation include the short rotation at the end of a run. The only use
 * of a CPU is there, in 1 of 41 periods. */
static void test_short_rotation(void **state)
{
    const struct rps_cpus cpus = {.count = 0};
    struct rps_phase all = {.last = 40};
    const struct rps_phases phases = {.count = 1, .phase = &all, .label_count = 1};
    const double share = 1 / 41.;
    struct rps_profile profile;
    struct rps_error err;
    struct fixture fixture;
    uint64_t random = 1;
    size_t use;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    add_periods(&fixture, ASLEEP, 40, &random);
    add_periods(&fixture, BUSY, 1, &random);
    fixture_read(&fixture);
    assert_int_equal(rps_profile_run(arena, fixture.reader, fixture.run_id, 0, INT64_MAX, &cpus,
                                     &phases, 1, 1, &profile, &err),
                     0);
    use = figure_of(&profile, "cpu_use");
    assert_true(fabs(profile.mean[use] - 100 * share) < 1e-9);
    assert_true(fabs(profile.spread[use] - 100 * sqrt(share * (1 - share))) < 1e-9);
    fixture_end(&fixture);
}

static void test_profile_of_signals(void **state)
{
    static const char *const names[] = {"noise", "step", "copy"};
    double value[3 * 8] = {1,   -1, 1,  -1, 1,  -1, 1,  -1, 5,  5,  6,   4,
                           NAN, 9,  10, 8,  50, 50, 60, 40, 50, 90, 100, 80};
    struct rps_phase phase[3] = {{.last = 3}, {.first = 4, .last = 7, .label = 1}};
    struct rps_phases phases = {.count = 2, .phase = phase, .label_count = 2};
    const struct rps_signals signals = {.count = 8, .signal_count = 3, .value = value};
    struct rps_profile profile;

    (void)state;
    profile = rps_profile_signals(arena, &signals, names, 1, &phases);
    assert_true(profile.phase[0 * 3 + 1] == 5 && profile.phase[1 * 3 + 1] == 9);
    assert_true(fabs(profile.figure[1].whole - 47 / 7.0) < 1e-12);
    assert_true(fabs(profile.spread[0 * 3 + 1] - sqrt(0.5)) < 1e-12);
    assert_true(fabs(profile.figure[1].inside - sqrt(4 / 7.0)) < 1e-12);
    /* Of the sum of squares about the overall mean, 4 * 3 / 7 * 4 ** 2 is between the two labels.
     */
    assert_true(fabs(profile.figure[1].explained - 192 / (192 + 7 * 4.)) < 1e-12);
    assert_true(profile.figure[0].apart < 1e-9 && profile.figure[0].explained < 1e-9);
    /* A copied metric adds no information, so it is not ordered before the noise. */
    assert_int_equal(profile.order[0], 1);
    assert_int_equal(profile.label[1].periods, 4);
    assert_int_equal(profile.label[1].length_ns, 0);
    assert_int_equal(profile.main_label, -1); /* Exactly half is not a majority. */
    assert_true(isnan(profile.figure[1].rest));

    phase[0].last = 4;
    phase[1].first = 5;
    phase[1].last = 6;
    phase[2] = (struct rps_phase){.first = 7, .last = 7, .label = 2};
    phases.count = 3;
    phases.label_count = 3;
    profile = rps_profile_signals(arena, &signals, names, 1, &phases);
    assert_int_equal(profile.main_label, 0);
    assert_true(fabs(profile.figure[1].rest - 27 / 3.0) < 1e-12);
    assert_true(fabs(profile.figure[2].rest - 270 / 3.0) < 1e-12);
}

/* --- principal components --------------------------------------------------------------------- */

static void test_components(void **state)
{
    const struct rps_run_phases_options options = {.to_ns = INT64_MAX};
    struct rps_run_components found;
    struct rps_error err;
    struct fixture fixture;

    (void)state;
    make_run(&fixture);
    if (rps_run_components_find(arena, &(struct rps_run_at){fixture.reader, fixture.run_id},
                                &options, 2, &found, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(found.components.component_count, 2);
    assert_int_equal(found.components.count, 55); /* number of rotations of four event sets */
    assert_true(found.components.share[0] > 0.6);
    assert_int_equal(found.row[3].start_ns, 12 * FIXTURE_PERIOD_NS);
    assert_int_equal(found.row[3].end_ns, 16 * FIXTURE_PERIOD_NS);
    assert_true(found.row[3].cycle > found.row[2].cycle);
    assert_string_equal(found.name[found.components.signal_count - 1], "cpu_use");
    /* Busy and quiet rotations have opposite signs. Rotations asleep have no score. */
    assert_true(found.components.score[5] * found.components.score[20] < 0);
    assert_true(isnan(found.components.score[35]));
    fixture_end(&fixture);
}

/* Components are computed from the displayed rates per elapsed time, not from the input of the
 * detector. */
static void test_components_of_shown_rates(void **state)
{
    const struct rps_run_phases_options options = {.to_ns = INT64_MAX};
    struct rps_run_components found;
    struct rps_run_phases phases;
    struct rps_error err;
    struct fixture fixture;
    int shown = 0;

    (void)state;
    fixture_begin(&fixture, "software");
    fixture_write(&fixture);
    for (int i = 0; i < 120; i++) { /* two event sets alternate */
        uint64_t ran_ns = (uint64_t)FIXTURE_PERIOD_NS / (i / 2 % 2 + 1);
        const uint64_t count[8] = {ran_ns, ran_ns / 50000, 0, 0, (uint64_t)i / 2 % 3};

        fixture.next.enabled_ns = fixture.next.running_ns = ran_ns;
        fixture.next.clock_running_ns = ran_ns;
        fixture_period(&fixture, ran_ns, count);
    }
    fixture_read(&fixture);
    if (rps_run_components_find(arena, &(struct rps_run_at){fixture.reader, fixture.run_id},
                                &options, 2, &found, &err) < 0)
        fail_msg("%s", err.message);
    for (size_t s = 0; s < found.components.signal_count; s++)
        shown += strcmp(found.name[s], "minor_fault_rate") == 0;
    assert_int_equal(shown, 1);
    phases = detect_with(&fixture, &options);
    assert_true(phases.signal_count > 0);
    fixture_end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_part),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_chosen_metrics),
        cmocka_unit_test(test_stored_or_not),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_long_run),
        cmocka_unit_test(test_by_cpu),
        cmocka_unit_test(test_samples_by_cpu),
        cmocka_unit_test(test_samples_of_blocks),
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_profiles),
        cmocka_unit_test(test_window_phases),
        cmocka_unit_test(test_profile_of_signals),
        cmocka_unit_test(test_short_rotation),
        cmocka_unit_test(test_components),
        cmocka_unit_test(test_components_of_shown_rates),
    };

    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
