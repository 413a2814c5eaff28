/* Tests of joint phase detection in several runs: each run has its own phases, and equal labels
 * have equal meanings. */
#include "support/fixture.h"
#include "support/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "compare/match.h"
#include "rpistat/plan.h"
#include "rpistat/random.h"
#include "rpistat/run_phases.h"

/* Segments of a workload: a letter and its number of periods. A to C are amounts of work. X is like
 * B with other misses; Z sleeps. */
struct stretch {
    char what;
    int periods;
};

/* Return the rates of one of the arm1176 event sets: instructions and stalls, data cache, TLBs,
 * branches. */
static const double *rate_of(char what, uint64_t set)
{
    static const double rate[][4][2] = {{{7e6, 9e6}, {5e6, 1e6}, {9e5, 4e5}, {8e5, 9e4}},
                                        {{2e7, 2e6}, {5e6, 1e5}, {1e5, 1e4}, {2e6, 1e4}},
                                        {{4e7, 2e5}, {9e6, 2e4}, {1e4, 2e3}, {6e6, 3e5}},
                                        {{2e7, 6e6}, {5e6, 6e5}, {6e5, 9e4}, {2e6, 6e4}}};

    return rate[what == 'X' ? 3 : what - 'A'][set];
}

static double jitter(uint64_t *state)
{
    return .98 + .04 * rps_random_unit(state);
}

static void add_period(struct fixture *fixture, char what, uint64_t *state)
{
    uint64_t ran_ns = what == 'Z' ? 0 : (uint64_t)FIXTURE_PERIOD_NS;
    uint64_t set = fixture->next.period % (uint64_t)fixture->plan->set_count, count[8] = {0};

    for (int slot = 0; slot < 2 && ran_ns > 0; slot++)
        count[slot] = (uint64_t)(rate_of(what, set)[slot] * jitter(state));
    fixture->next.enabled_ns = fixture->next.running_ns = ran_ns;
    fixture->next.clock_running_ns = ran_ns;
    fixture_period(fixture, ran_ns > 0 ? (uint64_t)(7e7 * jitter(state)) : 0, count);
}

static void add_stretches(struct fixture *fixture, const struct stretch *stretch, uint64_t *state)
{
    for (; stretch->periods > 0; stretch++)
        for (int i = 0; i < stretch->periods; i++)
            add_period(fixture, stretch->what, state);
}

static void make_run(struct fixture *fixture, const struct stretch *stretch, uint64_t seed)
{
    fixture_begin(fixture, "arm1176");
    fixture_write(fixture);
    add_stretches(fixture, stretch, &seed);
    fixture_read(fixture);
}

static struct rps_run_phases find_with(struct fixture *fixture, size_t count,
                                       const struct rps_run_phases_options *options)
{
    struct rps_run_at run[8];
    struct rps_run_phases found;
    struct rps_error err;

    for (size_t r = 0; r < count; r++)
        run[r] = (struct rps_run_at){fixture[r].reader, fixture[r].run_id};
    if (rps_run_phases_detect(arena, run, count, options, &found, &err) < 0)
        fail_msg("%s", err.message);
    return found;
}

static struct rps_run_phases find(struct fixture *fixture, size_t count)
{
    return find_with(fixture, count, &(struct rps_run_phases_options){.to_ns = INT64_MAX});
}

static void end_all(struct fixture *fixture, size_t count)
{
    for (size_t r = 0; r < count; r++)
        fixture_end(&fixture[r]);
}

static int has(char (*name)[RPS_NAME_SIZE * 2], size_t count, const char *wanted)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name[i], wanted) == 0)
            return 1;
    }
    return 0;
}

/* Expect that the phases of a run match these segments within three periods, and that all their
 * fields refer to this run. */
static void check_run(const struct rps_phases *phases, const struct stretch *stretch)
{
    uint64_t first = 0;

    for (size_t k = 0; stretch[k].periods > 0; k++) {
        const struct rps_phase *phase = &phases->phase[k];

        assert_true(k < phases->count);
        assert_true(phase->first + 3 >= first && phase->first <= first + 3);
        assert_int_equal(phase->start_ns, (int64_t)phase->first * FIXTURE_PERIOD_NS);
        assert_int_equal(phase->end_ns, (int64_t)(phase->last + 1) * FIXTURE_PERIOD_NS);
        assert_true(phase->earliest <= phase->first && phase->latest >= phase->first);
        assert_int_equal(k > 0 ? phase[-1].last + 1 : 0, phase->first);
        first += (uint64_t)stretch[k].periods;
        if (stretch[k + 1].periods == 0) {
            assert_int_equal(phases->count, k + 1);
            assert_int_equal(phase->last + 1, first);
        }
    }
}

static const struct stretch program[] = {{'B', 60}, {'A', 60}, {'Z', 40}, {'B', 60}, {0, 0}};

static struct rps_phases *phases_of(const struct rps_run_phases *found, size_t count, size_t r)
{
    return count == 1 ? rps_phase_levels_shown(&found->found.levels) : &found->joint.run[r];
}

/* Joint detection in one, three and five runs finds the same phases, with the same labels, as
 * detection in a single run. */
static void test_same(void **state)
{
    struct fixture fixture[5];
    struct rps_run_phases found;

    (void)state;
    for (uint64_t r = 0; r < 5; r++)
        make_run(&fixture[r], program, r);
    for (size_t count = 1; count <= 5; count += 2) {
        found = find(fixture, count);
        assert_int_equal(found.joint.run_count, count == 1 ? 0 : count);
        assert_int_equal(phases_of(&found, count, 0)->label_count, 3);
        for (size_t r = 0; r < count; r++) {
            check_run(phases_of(&found, count, r), program);
            for (size_t k = 0; k < 4; k++)
                assert_int_equal(phases_of(&found, count, r)->phase[k].label, (int)k % 3);
        }
        assert_true(found.signal_count >= 4);
        assert_true(has(found.signal, found.signal_count, "cpi"));
        assert_int_equal(found.missing_count, 0);
    }
    end_all(fixture, 5);
}

/* One phase is replaced by a longer, different phase, and one phase is added. The phases are
 * matched by their order. */
static void test_changed(void **state)
{
    static const struct stretch after[] = {{'B', 60}, {'X', 90}, {'Z', 40},
                                           {'C', 50}, {'B', 60}, {0, 0}};
    struct fixture fixture[2];
    struct rps_run_phases found;
    struct rps_matching matching;
    struct rps_match_labels labels;
    struct rps_error err;

    (void)state;
    make_run(&fixture[0], program, 1);
    make_run(&fixture[1], after, 2);
    found = find(fixture, 2);
    check_run(&found.joint.run[0], program);
    check_run(&found.joint.run[1], after);
    labels = (struct rps_match_labels){found.joint.label_count, found.joint.distance};
    for (int x = 0; x < found.joint.label_count; x++) {
        assert_true(found.joint.distance[x * found.joint.label_count + x] == 0);
        for (int y = 0; y < found.joint.label_count; y++) {
            double distance = found.joint.distance[x * found.joint.label_count + y];

            assert_true(x == y || (distance > 0 && distance <= 1));
            assert_true(distance == found.joint.distance[y * found.joint.label_count + x]);
        }
    }
    assert_int_equal(
        rps_match_runs(arena, found.joint.run, (const int[]){0, 1}, 2, &labels, &matching, &err),
        0);
    assert_int_equal(matching.row_count, 4);
    assert_int_equal(matching.row_of[1][1], matching.row_of[0][1]);
    assert_int_equal(matching.row[matching.row_of[1][3]].a, -1);
    assert_int_equal(matching.row_of[1][4], matching.row_of[0][3]);
    end_all(fixture, 2);
}

/* Two runs of one phase each keep different labels; the point where the runs are joined is not a
 * phase boundary. Short and long runs can be combined. */
static void test_one_phase(void **state)
{
    static const struct stretch a[] = {{'A', 100}, {0, 0}}, b[] = {{'B', 150}, {0, 0}};
    struct fixture fixture[3];
    struct rps_run_phases found;

    (void)state;
    make_run(&fixture[0], a, 1);
    make_run(&fixture[1], b, 2);
    make_run(&fixture[2], program, 3);
    found = find(fixture, 2);
    check_run(&found.joint.run[0], a);
    check_run(&found.joint.run[1], b);
    assert_int_equal(found.joint.label_count, 2);
    found = find(fixture, 3);
    check_run(&found.joint.run[0], a);
    check_run(&found.joint.run[1], b);
    check_run(&found.joint.run[2], program);
    assert_int_equal(found.joint.run[0].phase[0].label, found.joint.run[2].phase[1].label);
    assert_int_equal(found.joint.run[1].phase[0].label, found.joint.run[2].phase[0].label);
    end_all(fixture, 3);
}

static void test_level(void **state)
{
    struct rps_run_phases_options options = {.to_ns = INT64_MAX, .find.level.at_most = 2};
    struct rps_run_at run[2];
    struct fixture fixture[2];
    struct rps_run_phases found;
    struct rps_error err;

    (void)state;
    make_run(&fixture[0], program, 1);
    make_run(&fixture[1], program, 2);
    found = find_with(fixture, 2, &options);
    assert_true(found.joint.run[0].count <= 2 && found.joint.run[1].count <= 2);
    options = (struct rps_run_phases_options){.to_ns = INT64_MAX, .find.level.size = 4};
    found = find_with(fixture, 2, &options);
    check_run(&found.joint.run[1], program);
    options.find.level.size = 77;
    for (size_t r = 0; r < 2; r++)
        run[r] = (struct rps_run_at){fixture[r].reader, fixture[r].run_id};
    assert_int_equal(
        rps_run_phases_detect(arena, run, 2, &options, &(struct rps_run_phases){0}, &err),
        RPS_USAGE);
    end_all(fixture, 2);
}

static void test_other_events(void **state)
{
    struct fixture fixture[2];
    struct rps_run_phases found;
    uint64_t seed = 3, count[8] = {0};

    (void)state;
    make_run(&fixture[0], program, 1);
    fixture_begin(&fixture[1], "software");
    fixture_write(&fixture[1]);
    for (int n = 0; n < 80; n++) {
        fixture[1].next.enabled_ns = fixture[1].next.running_ns = (uint64_t)FIXTURE_PERIOD_NS;
        if (n >= 40)
            fixture[1].next.enabled_ns = fixture[1].next.running_ns /= 50;
        fixture_period(&fixture[1], (uint64_t)(1e6 * jitter(&seed)), count);
    }
    fixture_read(&fixture[1]);
    found = find(fixture, 2);
    assert_int_equal(found.signal_count, 1);
    assert_string_equal(found.signal[0], "cpu_use");
    assert_true(has(found.missing, found.missing_count, "cpi"));
    assert_true(has(found.missing, found.missing_count, "minor_fault_rate"));
    assert_false(has(found.missing, found.missing_count, "cpu_use"));
    check_run(&found.joint.run[1], (const struct stretch[]){{'B', 40}, {'Z', 40}, {0, 0}});
    end_all(fixture, 2);
}

static void test_none(void **state)
{
    static const struct stretch nothing[] = {{0, 0}};
    struct fixture fixture[2];
    struct rps_run_at run[2];
    struct rps_run_phases found = {0};
    struct rps_error err;

    (void)state;
    make_run(&fixture[0], program, 1);
    make_run(&fixture[1], nothing, 2);
    for (size_t r = 0; r < 2; r++)
        run[r] = (struct rps_run_at){fixture[r].reader, fixture[r].run_id};
    assert_int_equal(rps_run_phases_detect(arena, run, 2,
                                           &(struct rps_run_phases_options){.to_ns = INT64_MAX},
                                           &found, &err),
                     RPS_FAILED);
    assert_non_null(strstr(err.message, "no"));
    run[1].run_id = 77;
    assert_true(rps_run_phases_detect(arena, run, 2,
                                      &(struct rps_run_phases_options){.to_ns = INT64_MAX}, &found,
                                      &err) < 0);
    end_all(fixture, 2);
}

/* --- by CPU, and samples ---------------------------------------------------------------------- */

/* For runs recorded per CPU, detection uses sums over CPUs. A change on one CPU is a phase of the
 * run. */
static void test_by_cpu(void **state)
{
    static const struct stretch steady[] = {{'B', 120}, {0, 0}};
    static const struct stretch change[] = {{'B', 60}, {'A', 60}, {0, 0}};
    struct fixture fixture[2];
    struct rps_run_phases found;

    (void)state;
    for (uint64_t r = 0; r < 2; r++) {
        uint64_t seed = r;

        fixture_begin(&fixture[r], "arm1176");
        fixture_write(&fixture[r]);
        for (int cpu = 0; cpu < 2; cpu++) {
            fixture[r].next.cpu = cpu;
            fixture[r].next.period = fixture[r].next.cycle = 0;
            fixture[r].next.start_ns = 0;
            add_stretches(&fixture[r], cpu ? change : steady, &seed);
        }
        fixture_read(&fixture[r]);
    }
    found = find(fixture, 2);
    check_run(&found.joint.run[0], change);
    check_run(&found.joint.run[1], change);
    end_all(fixture, 2);
}

/* Write a run whose counters never change. For each letter in `functions`, the samples of 60
 * periods are in the function of that name. */
static void make_sampled(struct fixture *fixture, const char *functions, uint64_t seed)
{
    const struct stretch steady[] = {{'B', 60 * (int)strlen(functions)}, {0, 0}};
    const struct rps_sampling sampling = {.event = "cpu-clock", .frequency = 99, .stacks = "fp"};
    const struct rps_module module = {0, RPS_MODULE_FILE, "/usr/bin/work", ""};
    struct rps_location location[26];
    char name[26][2] = {{0}}, seen[27] = "";
    struct rps_error err;

    fixture_begin(fixture, "arm1176");
    fixture_write(fixture);
    rps_writer_sampling(fixture->writer, &sampling);
    rps_writer_module(fixture->writer, &module);
    for (const char *f = functions; *f; f++) {
        if (!strchr(seen, *f))
            strncat(seen, f, 1);
    }
    for (int n = 0; seen[n]; n++) {
        const struct rps_frame frame = {n, 0, (uint64_t)(n + 1) << 12, 0};
        const struct rps_stack stack = {n, -1, n};

        rps_writer_frame(fixture->writer, &frame);
        rps_writer_stack(fixture->writer, &stack);
        name[n][0] = seen[n];
        location[n] = (struct rps_location){n, 0, name[n], "", 0, RPS_LOCATION_SYMBOL};
    }
    add_stretches(fixture, steady, &seed);
    for (int n = 0; n < steady[0].periods; n++) {
        const struct rps_code_count count = {0, RPS_CPU_ALL, (uint64_t)n,
                                             strchr(seen, functions[n / 60]) - seen, 10};

        rps_writer_code_count(fixture->writer, RPS_COUNT_STACKS, &count);
    }
    fixture_read(fixture);
    if (rps_store_set_locations(
            fixture->path, fixture->run_id,
            &(struct rps_code){.location_count = strlen(seen), .location = location}, &err) < 0)
        fail_msg("%s", err.message);
}

/* A function that matters in one run is also used in the other run, although its number may differ
 * there. */
static void test_samples(void **state)
{
    struct fixture fixture[3];
    struct rps_run_phases found;

    (void)state;
    make_sampled(&fixture[0], "xyx", 1);
    make_sampled(&fixture[1], "yxz", 2);
    make_run(&fixture[2], program, 3);
    found = find(fixture, 2);
    assert_true(has(found.signal, found.signal_count, "samples"));
    assert_int_equal(found.joint.run[0].count, 3);
    assert_int_equal(found.joint.run[1].count, 3);
    assert_int_equal(found.joint.label_count, 3);
    assert_int_equal(found.joint.run[0].phase[0].label, 0);
    assert_int_equal(found.joint.run[0].phase[2].label, 0);
    assert_int_equal(found.joint.run[1].phase[0].label, 1);
    assert_int_equal(found.joint.run[1].phase[1].label, 0);
    assert_int_equal(found.joint.run[1].phase[2].label, 2);

    found = find_with(fixture, 2,
                      &(struct rps_run_phases_options){.to_ns = INT64_MAX, .no_samples = 1});
    assert_false(has(found.signal, found.signal_count, "samples"));
    assert_int_equal(found.missing_count, 0);
    assert_int_equal(found.joint.run[0].count, 1);

    found = find(fixture, 3);
    assert_false(has(found.signal, found.signal_count, "samples"));
    assert_true(has(found.missing, found.missing_count, "samples"));
    end_all(fixture, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),         cmocka_unit_test(test_changed),
        cmocka_unit_test(test_one_phase),    cmocka_unit_test(test_level),
        cmocka_unit_test(test_other_events), cmocka_unit_test(test_none),
        cmocka_unit_test(test_by_cpu),       cmocka_unit_test(test_samples),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
