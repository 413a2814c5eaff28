/* Tests of samples in parts of a run, and of the text about the functions of a phase. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/arena.h"
#include "rpistat/part_shares.h"

static struct rps_phase phases_of_run[] = {
    {.first = 0, .last = 9, .label = 0},
    {.first = 10, .last = 19, .label = 1},
    {.first = 20, .last = 29, .label = 0},
};
static const struct rps_phases phases = {.count = 3, .phase = phases_of_run, .label_count = 2};

static void has_stretch(const struct rps_run_part *part, size_t i, uint64_t first, uint64_t last,
                        size_t group)
{
    assert_in_range(i, 0, part->count - 1);
    assert_int_equal(part->stretch[i].first, first);
    assert_int_equal(part->stretch[i].last, last);
    assert_int_equal(part->stretch[i].group, group);
}

static void phases_are_groups(void **state)
{
    struct rps_run_part part;

    (void)state;
    part = rps_run_part_of_phases(arena, &phases, 1);
    assert_int_equal(part.group_count, 2);
    has_stretch(&part, 2, 20, 29, 0);
    part = rps_run_part_of_phases(arena, &phases, 0);
    assert_int_equal(part.group_count, 3);
    has_stretch(&part, 2, 20, 29, 2);
}

static void parts_are_cut(void **state)
{
    struct rps_run_stretch stretch[] = {{2, 4, 0}, {6, 12, 0}, {19, 40, 0}};
    const struct rps_run_part other = {.count = 3, .stretch = stretch, .group_count = 1};
    struct rps_run_part part;

    (void)state;
    part = rps_run_part_of_phases(arena, &phases, 1);
    part = rps_run_part_both(arena, &part, &other);
    assert_int_equal(part.count, 5);
    has_stretch(&part, 0, 2, 4, 0);
    has_stretch(&part, 1, 6, 9, 0);
    has_stretch(&part, 2, 10, 12, 1);
    has_stretch(&part, 3, 19, 19, 1);
    has_stretch(&part, 4, 20, 29, 0);
    assert_int_equal(part.group_count, 2);
    part = rps_run_part_both(arena, &part, &(struct rps_run_part){0});
    assert_int_equal(part.count, 0);
}

static void names_of_phases(void **state)
{
    static const char *const right[] = {"B", "b", "AA.12", "0", "2-4", "3-3"};
    static const char *const wrong[] = {"",   "B.0", "B.",  "B-2", "4-2",
                                        "-2", "2.1", "B.x", "1-",  "+1"};
    struct rps_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
        assert_int_equal(rps_run_part_check(right[i], &err), 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(rps_run_part_check(wrong[i], &err), RPS_USAGE);
}

static void words_of_a_group(void **state)
{
    struct rps_share_group group = {
        .samples = 100,
        .count = 1,
        .top = {{.name = {.name = "solve", .module = "/bin/x", .file = "a/three.c", .line = 40},
                 .share = .5}},
        .top_rest = NAN};
    char text[64], little[8], long_text[256];

    (void)state;
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group), "in solve (three.c:40)");
    group.top[0].share = .344;
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group),
                        "34 % of samples in solve (three.c:40)");
    group.top_rest = .85; /* Without a test, the share may be lower than elsewhere. */
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group),
                        "34 % of samples in solve (three.c:40) (elsewhere 85 %)");
    group.samples = 20;
    group.unsure =
        (struct rps_share_apart){0, 1, {.name = "scan", .module = "", .file = ""}, .26, 0};
    assert_string_equal(rps_share_group_text(long_text, sizeof(long_text), &group),
                        "26 % of samples in scan (perhaps by chance; elsewhere: 0 %)");
    group.samples = 55; /* Chance explains a difference of 25 points, but not of 26. */
    assert_string_equal(rps_share_group_text(long_text, sizeof(long_text), &group),
                        "26 % of samples in scan (elsewhere 0 %)");
    group.unsure.share = .25;
    assert_non_null(strstr(rps_share_group_text(text, sizeof(text), &group), "scan (perhaps"));
    group.unsure.share = .26;
    group.samples = 20;
    group.chance = (struct rps_share_apart){0, 1, {.name = "walk", .file = ""}, .3, .1};
    assert_string_equal(rps_share_group_text(long_text, sizeof(long_text), &group),
                        "30 % of samples in walk and its callees (perhaps by chance; elsewhere: "
                        "10 %)");
    group.samples = 1000;
    assert_string_equal(rps_share_group_text(long_text, sizeof(long_text), &group),
                        "30 % of samples in walk and its callees (elsewhere 10 %)");
    group.chance.is_tested = 1; /* Its share varies so much that chance explains the difference. */
    assert_non_null(strstr(rps_share_group_text(text, sizeof(text), &group), "callees (perhaps"));
    group.samples = 20;
    group.chance.share = .19; /* too small to be more than chance */
    assert_non_null(strstr(rps_share_group_text(text, sizeof(text), &group), "scan (perhaps"));
    group.chance.is_found = 0;
    assert_int_equal(rps_share_is_tested(&group), 0);
    group.unsure.is_found = 0;
    group.top_rest = NAN;
    group.top[0].name.line = 0;
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group),
                        "34 % of samples in solve");
    assert_string_equal(rps_share_group_text(little, sizeof(little), &group), "34 % of");
    group.top[0].share = NAN; /* The largest share is unknown, because the phase has too few
                                 samples. */
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group), "");
    group.samples = group.weight = 18;
    group.top[0].seen = 10;
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group),
                        "10 of 18 samples in solve");
    group.top[0].seen = 9; /* not most samples */
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group), "");
    group.samples = group.weight = group.top[0].seen = 4;
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group), "");
    group.count = 0;
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group), "");
}

static void names_that_stand_out(void **state)
{
    struct rps_share_group group = {
        .samples = 100,
        .by_program = 1,
        .count = 1,
        .top = {{.name = {.name = "cc1", .module = "", .file = ""}, .share = NAN}},
        .top_rest = .7,
        .function_count = 1,
        .function = {{.name = {.name = "parse", .module = "", .file = ""}, .share = .3}},
        .is_alike = 1,
    };
    struct rps_share_apart *program = &group.apart[RPS_APART_PROGRAM];
    struct rps_share_apart *cgroup = &group.apart[RPS_APART_CGROUP];
    struct rps_share_apart *function = &group.apart[RPS_APART_FUNCTION];
    char text[256], little[48];

    (void)state;
    function->is_tested = 1;
    group.function[0].share = NAN;
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group),
                        "no program or function stands out");
    group.top[0].share = .6;
    group.function[0].share = .3; /* All groups have the program, so only its function is named. */
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group),
                        "30 % of samples in parse");
    group.is_alike = 0;
    group.top[0].share = .4;
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group),
                        "40 % of samples in cc1 (elsewhere 70 %), 30 % in parse");
    *function = (struct rps_share_apart){1, 1, {.name = "as", .file = ""}, 0, .3};
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group), /* says what runs */
                        "40 % of samples in cc1 (elsewhere 70 %), 30 % in parse");
    group.other = "rest of the run"; /* A window is described by its difference. */
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group),
                        "0 % of samples in as itself (rest of the run: 30 %)");
    group.other = NULL;
    group.top[0].share = .6;
    group.is_alike = 1;
    group.function_count = 0;
    *program = (struct rps_share_apart){1, 1, {.name = "soffice.bin", .file = ""}, .09, .001};
    *function = (struct rps_share_apart){1, 1, {.name = "draw", .file = ""}, .05, 0};
    *cgroup = (struct rps_share_apart){1, 1, {.name = "office", .file = ""}, .1, .001};
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group),
                        "9 % of samples in soffice.bin (elsewhere under 1 %), 5 % in draw "
                        "(elsewhere 0 %)"); /* The share of the control group is barely larger
                                               than the share of the program. */
    cgroup->share = .2;
    assert_string_equal(
        rps_share_group_text(text, sizeof(text), &group),
        "9 % of samples in soffice.bin (elsewhere under 1 %), 20 % in control group "
        "office (elsewhere under 1 %), 5 % in draw (elsewhere 0 %)");
    rps_share_group_text(little, sizeof(little), &group);
    assert_string_equal(little, "9 % of samples in soffice.bin (elsewhere under ");
    cgroup->share = .1;
    group.apart[RPS_APART_PROGRAM_2] =
        (struct rps_share_apart){1, 1, {.name = "Xorg", .file = ""}, .3, .1};
    program->share = .25;
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group),
                        "25 % of samples in soffice.bin (elsewhere under 1 %), 30 % in Xorg "
                        "(elsewhere 10 %), 5 % in draw (elsewhere 0 %)");
    group.apart[RPS_APART_PROGRAM_2].is_found = 0;
    program->share = .09;
    group.is_alike = 0; /* Only in this phase, most samples are in the compiler. */
    program->name.name = "cc1";
    cgroup->is_found = 0;
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group),
                        "in cc1, 5 % of samples in draw (elsewhere 0 %)");
    function->is_found = 0;
    group.apart[RPS_APART_TOTAL] =
        (struct rps_share_apart){1, 1, {.name = "parse", .file = ""}, .98, 0};
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group),
                        "in cc1, 98 % of samples in parse and its callees (elsewhere 0 %)");
    assert_string_equal(rps_share_group_name(text, sizeof(text), &group, 0), "cc1: parse");
    group.by_program = 0;
    assert_string_equal(rps_share_group_name(little, sizeof(little), &group, 0), "parse");
    group.by_program = 1;
    function->is_found = 1; /* The share of the function itself says no more. */
    function->name.name = "parse";
    function->share = .1;
    function->rest = 0;
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group),
                        "in cc1, 98 % of samples in parse and its callees (elsewhere 0 %)");
    group.apart[RPS_APART_TOTAL].is_found = 0;
    group.by_program = program->is_found = function->is_found = 0;
    group.is_alike = 1;
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group), "no function stands out");
    group.apart[RPS_APART_TOTAL].is_found = 1; /* A smaller share does not name the group. */
    group.apart[RPS_APART_TOTAL].share = .4;
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group),
                        "40 % of samples in parse and its callees (elsewhere 0 %)");
    assert_string_equal(rps_share_group_name(little, sizeof(little), &group, 0), "cc1");
    group.top[0].share = .4; /* No name has half of the samples. */
    assert_string_equal(rps_share_group_name(little, sizeof(little), &group, 0), "parse");
    assert_string_equal(rps_share_group_name(little, sizeof(little), &group, 1), "");
    group.by_program = program->is_found = 1; /* The program has a smaller share than half. */
    assert_string_equal(rps_share_group_name(little, sizeof(little), &group, 0), "parse");
    program->share = .3;
    program->rest = .1;
    assert_string_equal(rps_share_group_name(little, sizeof(little), &group, 0), "cc1");
    group.by_program = program->is_found = 0;
    group.apart[RPS_APART_TOTAL].share = .2;
    assert_string_equal(rps_share_group_name(little, sizeof(little), &group, 0), "parse");
    group.apart[RPS_APART_TOTAL].share = .19;
    assert_string_equal(rps_share_group_name(little, sizeof(little), &group, 0), "");
    group.chance = (struct rps_share_apart){1, 1, {.name = "scan", .file = ""}, .3, .1};
    assert_string_equal(rps_share_group_name(little, sizeof(little), &group, 0), "scan");
    group.unsure = group.chance;
    group.chance.is_found = 0;
    group.unsure.name.name = "md5sum";
    assert_string_equal(rps_share_group_name(little, sizeof(little), &group, 0), "md5sum");
    group.unsure.is_found = 0;
    group.chance.is_found = 1;
    group.top[0].share = .6; /* Most samples are in code without a name. */
    group.top[0].name.is_unnamed = 1;
    assert_string_equal(rps_share_group_name(little, sizeof(little), &group, 0), "scan");
    group.chance.is_found = group.top[0].name.is_unnamed = 0;
    group.apart[RPS_APART_TOTAL].is_found = 0;
    group.is_alike = 0;
    group.apart[RPS_APART_CALLER] =
        (struct rps_share_apart){1, 1, {.name = "main", .file = ""}, .6, 0};
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group), "in cc1, called by main");
    assert_string_equal(rps_share_group_name(little, sizeof(little), &group, 0), "main: cc1");
    group.apart[RPS_APART_CALLER].name.name = "some_namespace::SomeClass::run_all_the_jobs";
    assert_string_equal(rps_share_group_name(little, sizeof(little), &group, 0),
                        "...::SomeClass::run_all_the_jobs: cc1");
    group.top[0].name.name = "another_namespace::AnotherClass::another_function";
    assert_string_equal(rps_share_group_name(little, sizeof(little), &group, 0),
                        "...::run_all_the_jobs: ...::another_function");
    group.top[0].name.name = "cc1";
    group.apart[RPS_APART_CALLER].is_found = 0;
    group.apart[RPS_APART_PLACE] =
        (struct rps_share_apart){1, 1, {.name = "cc1", .file = "/src/cc.c", .line = 7}, .4, 0};
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group), "in cc1 (cc.c:7)");
    group.chance = (struct rps_share_apart){1, 1, {.name = "cc1", .file = ""}, .75, .1};
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group), "in cc1 (cc.c:7)");
    group.chance.is_found = 0;
    assert_string_equal(rps_share_group_name(little, sizeof(little), &group, 0), "cc1 (cc.c:7)");
    assert_string_equal(rps_share_group_name(little, sizeof(little), &group, 1), "cc1");
    group.apart[RPS_APART_PLACE].is_found = 0;
    group.is_alike = 1;
    function->is_tested = 0; /* The comparison with other phases is unknown, so only the function
                                with the largest share is named. */
    assert_string_equal(rps_share_group_text(text, sizeof(text), &group), "in cc1");
}

/* rpistat reports when there are fewer samples than the CPU time suggests, with the likely reason.
 */
static void samples_that_are_missing(void **state)
{
    struct rps_sampling sampling = {
        .event = "cpu-clock", .frequency = 100, .user_ns = -1, .kernel_ns = -1};
    char text[320];

    (void)state;
    assert_float_equal(rps_samples_expected(&sampling, 2.5, 1), 250, 1e-9);
    assert_false(rps_samples_are_short(200, 250));
    assert_true(rps_samples_are_short(199, 250));
    assert_false(rps_samples_are_short(0, 19.9)); /* Such a small expected number may give no
                                                     sample by chance. */
    assert_true(rps_samples_are_short(0, 20));
    assert_string_equal(rps_samples_short_text(text, sizeof(text), &sampling, 2, 2.5, 1),
                        "2 of 250 expected samples in 2.500 s of CPU time: processes that end "
                        "within 10 ms are not sampled.");
    assert_string_equal(rps_samples_short_text(text, sizeof(text), &sampling, 200, 2.5, 1), "");
    sampling.lost = 1;
    assert_string_equal(rps_samples_short_text(text, sizeof(text), &sampling, 2, 2.5, 1),
                        "2 of 250 expected samples in 2.500 s of CPU time: some were lost, or the "
                        "kernel paused sampling.");
    strcpy(sampling.event, "task-clock:u");
    assert_string_equal(rps_samples_short_text(text, sizeof(text), &sampling, 2, 2.5, 1),
                        "2 of at most 250 samples in 2.500 s of CPU time: the kernel's part "
                        "may not be sampled here.");
    assert_true(rps_samples_at_most(&sampling, 2.5, 1));
    sampling.user_ns = 1800000000; /* Linux reported user and kernel time only for the whole run. */
    sampling.kernel_ns = 600000000;
    assert_false(rps_samples_at_most(&sampling, 2.5, 1));
    assert_true(rps_samples_at_most(&sampling, 3, 1)); /* The parent did not wait for some
                                                          processes. */
    assert_string_equal(rps_samples_short_text(text, sizeof(text), &sampling, 2, 2.5, 0),
                        "2 of at most 250 samples in 2.500 s of CPU time: the kernel's part "
                        "may not be sampled here.");
    sampling.lost = 0;
    assert_string_equal(rps_samples_short_text(text, sizeof(text), &sampling, 2, 2.5, 1),
                        "2 of 188 expected samples in 2.500 s of CPU time, without the kernel's "
                        "part: processes that end within 10 ms are not sampled.");
    sampling.is_wide = 1;
    assert_string_equal(rps_samples_short_text(text, sizeof(text), &sampling, 2, 2.5, 1),
                        "2 of 188 expected samples in 2.500 s of CPU time, without the kernel's "
                        "part.");
    assert_float_equal(rps_samples_kernel_s(&sampling, 2), .5, 1e-9);
    assert_string_equal(rps_samples_kernel_text(text, sizeof(text), &sampling, 2),
                        "[in the kernel, not sampled here: 25 % of the CPU time]");
    sampling.kernel_ns = 2;
    assert_string_equal(rps_samples_kernel_text(text, sizeof(text), &sampling, 2), "");
    strcpy(sampling.event, "cycles");
    assert_float_equal(rps_samples_kernel_s(&sampling, 2), 0, 1e-9);
    assert_float_equal(rps_samples_expected(&sampling, 2.5, 1), 250, 1e-9);
    assert_true(isnan(rps_samples_expected(&sampling, NAN, 1)));
    strcpy(sampling.event, "page-faults");
    assert_true(isnan(rps_samples_expected(&sampling, 2.5, 1)));
    strcpy(sampling.event, "cycles");
    sampling.frequency = 0; /* The event is sampled by a threshold. */
    assert_true(isnan(rps_samples_expected(&sampling, 2.5, 1)));
    assert_false(rps_samples_are_short(2, NAN));
    assert_string_equal(rps_samples_short_text(text, sizeof(text), &sampling, 2, 2.5, 1), "");
}

/* One line lists the programs without samples, largest first. Programs below 1 % of the time are
 * left out. */
static void time_without_samples(void **state)
{
    struct rps_unsampled_program program[] = {
        {"md5sum", 600, 0, 3}, {"tr", 599, 0, 2.9}, {"expr", 1, 20, .05}};
    struct rps_unsampled unsampled = {5.95, 1200, 20, 3, program};
    char text[256];

    (void)state;
    assert_string_equal(rps_unsampled_text(text, sizeof(text), &unsampled, 10),
                        "[not sampled: 1200 short processes, 20 short threads; md5sum 30 %, tr "
                        "29 %, ...; share of the CPU time]");
    unsampled.processes = 0;
    unsampled.threads = unsampled.count = 1;
    assert_string_equal(rps_unsampled_text(text, sizeof(text), &unsampled, 3.3),
                        "[not sampled: 1 short thread; md5sum 91 %; share of the CPU time]");
    assert_string_equal(rps_unsampled_text(text, 20, &unsampled, 3.3), "[not sampled: 1 sho");
    unsampled.threads = 0; /* Only samples of sampled threads were lost. */
    assert_string_equal(rps_unsampled_text(text, sizeof(text), &unsampled, 3.3),
                        "[not sampled: md5sum 91 %; share of the CPU time]");
    unsampled.cpu_s = 0;
    assert_string_equal(rps_unsampled_text(text, sizeof(text), &unsampled, 3.3), "");
}

/* A text that is too long is shortened in the name, at a character boundary. */
static void long_names_are_cut(void **state)
{
    char long_name[300] = "", text[128], expected[128];
    struct rps_share_name name = {
        .name = long_name, .module = "/bin/x", .file = "a/three.c", .line = 40};

    (void)state;
    for (size_t i = 0; i < 140; i += 2)
        strcpy(long_name + i, "\xc3\xa9");
    rps_share_name_text(text, sizeof(text), &name);
    snprintf(expected, sizeof(expected), "%.110s... (three.c:40)", long_name);
    assert_string_equal(text, expected);
    name.line = 0;
    snprintf(expected, sizeof(expected), "%.124s...", long_name);
    assert_string_equal(rps_share_name_text(text, sizeof(text), &name), expected);
    long_name[114] = '\0'; /* The name with its line number fits exactly. */
    name.line = 40;
    snprintf(expected, sizeof(expected), "%s (three.c:40)", long_name);
    assert_string_equal(rps_share_name_text(text, sizeof(text), &name), expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_are_groups),        cmocka_unit_test(parts_are_cut),
        cmocka_unit_test(names_of_phases),          cmocka_unit_test(words_of_a_group),
        cmocka_unit_test(names_that_stand_out),     cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(samples_that_are_missing), cmocka_unit_test(time_without_samples),
    };

    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
