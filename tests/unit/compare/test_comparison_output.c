/* Tests of a comparison's text. The comparison is made by hand, and the expected text was checked
 * by hand. */
#include "rpistat/comparison.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compare/words.h"
#include "compare/work.h"

#define ROWS      4
#define RUNS      10
#define FUNCTIONS 2

enum { ELAPSED, CPU_TIME, CPI, CPU_USE, INSTRUCTIONS, FAULTS, FIGURES };

static struct rps_comparison_figure figures[FIGURES] = {
    {RPS_FIGURE_TIME, "elapsed", "Elapsed", "s"},
    {RPS_FIGURE_CPU, "cpu_time", "CPU time", "s"},
    {RPS_FIGURE_METRIC, "cpi", "CPI", ""},
    {RPS_FIGURE_METRIC, "cpu_use", "CPU use", "%"},
    {RPS_FIGURE_TOTAL, "instructions", "Instructions", ""},
    {RPS_FIGURE_TOTAL, "minor_faults", "Minor faults", ""},
};

static char program[] = "./three";
static char *command[] = {program, NULL};

static struct rps_arena *arena;

struct made {
    struct rps_comparison comparison;
    struct rps_comparison_output output;
    int width; /* width of the terminal (0: no terminal) */
    struct rps_comparison_run run[RUNS];
    struct rps_comparison_row row[ROWS];
    struct rps_change change[ROWS][FIGURES];
    struct rps_comparison_function function[ROWS][FUNCTIONS];
    char *remark[1];
};

/* Return a tested change. If `sure`, the p value of the change is below .05. */
static struct rps_change tested(double a, double b, double half, int sure)
{
    double ratio = b / a - 1;

    return (struct rps_change){.a = a,
                               .b = b,
                               .ratio = ratio,
                               .low = ratio - half,
                               .high = ratio + half,
                               .p = sure ? .0001 : .4,
                               .adjusted = sure ? .002 : 1,
                               .basis = RPS_CHANGE_GROUPS,
                               .spread = half,
                               .is_log = 1};
}

static struct rps_change untested(double a, double b, enum rps_change_why why)
{
    return (struct rps_change){.a = a,
                               .b = b,
                               .ratio = a > 0 ? b / a - 1 : NAN,
                               .low = NAN,
                               .high = NAN,
                               .p = NAN,
                               .adjusted = NAN,
                               .why = why,
                               .spread = NAN};
}

static void add_run(struct made *made, enum rps_comparison_side side, int64_t run_id)
{
    struct rps_comparison_run *run = &made->run[made->comparison.run_count++];

    *run = (struct rps_comparison_run){.run_id = run_id, .side = side, .store = "rpistat.data"};
    rps_run_init(&run->run);
    run->run.argc = 1;
    run->run.argv = command;
    run->run.elapsed_ns = INT64_C(13000000000);
    if (side == RPS_SIDE_A)
        made->comparison.a_count++;
    else
        made->comparison.b_count++;
}

static void begin(struct made *made, int runs_a_side, size_t rows)
{
    memset(made, 0, sizeof(*made));
    made->comparison.arena = arena;
    made->comparison.name[RPS_SIDE_A] = made->comparison.label[RPS_SIDE_A] = "main";
    made->comparison.name[RPS_SIDE_B] = made->comparison.label[RPS_SIDE_B] = "new";
    made->comparison.run = made->run;
    made->comparison.figure = figures;
    made->comparison.figure_count = FIGURES;
    made->comparison.row = made->row;
    made->comparison.row_count = rows;
    made->comparison.remark = made->remark;
    for (int i = 0; i < 2 * runs_a_side; i++)
        add_run(made, i < runs_a_side ? RPS_SIDE_A : RPS_SIDE_B, i + 1);
    for (size_t r = 0; r < ROWS; r++) {
        made->row[r] = (struct rps_comparison_row){.label = (int)r - 1,
                                                   .a_times = 1,
                                                   .b_times = 1,
                                                   .a_start_ns = (int64_t)r * 1500000000,
                                                   .b_start_ns = (int64_t)r * 1400000000,
                                                   .change = made->change[r],
                                                   .function = made->function[r]};
        for (size_t f = 0; f < FIGURES; f++)
            made->change[r][f] = untested(NAN, NAN, RPS_CHANGE_ABSENT);
    }
    made->output = (struct rps_comparison_output){.comparison = &made->comparison};
}

static void add_function(struct made *made, size_t row, const char *name, const char *file,
                         struct rps_change seconds)
{
    made->function[row][made->row[row].function_count++] = (struct rps_comparison_function){
        .name = {name, "/bin/three", file, 40}, .a_share = .6, .b_share = .3, .seconds = seconds};
}

/* Make five runs per side. Phase B is shorter because of fewer instructions, and C is new. */
static void make_groups(struct made *made)
{
    begin(made, 5, 4);
    made->change[0][ELAPSED] = tested(13.3, 9.2, .02, 1);
    made->change[0][CPU_TIME] = tested(12.1, 8.04, .021, 1);
    made->change[0][CPI] = tested(1.21, 1.22, .015, 0);
    made->change[0][CPU_USE] = tested(91, 87.4, .05, 0);
    made->change[0][INSTRUCTIONS] = tested(12.3e9, 8.1e9, .0021, 1);
    made->change[0][FAULTS] = tested(812, 2560, .2, 1);
    made->change[1][ELAPSED] = tested(5.2, 5.18, .03, 0);
    made->change[1][CPI] = tested(1.3, 1.31, .01, 0);
    made->change[2][ELAPSED] = tested(8.1, 3.5, .02, 1);
    made->change[2][CPI] = tested(1.15, 1.2, .01, 1);
    made->change[2][INSTRUCTIONS] = tested(9e9, 4.68e9, .004, 1);
    made->change[2][FAULTS] = untested(0, 1740, RPS_CHANGE_ABSENT);
    made->row[2].a_times = made->row[2].b_times = 2;
    made->change[3][ELAPSED] = untested(NAN, .52, RPS_CHANGE_ABSENT);
    made->row[3].a_times = 0;
    made->row[3].a_start_ns = -1;
    add_function(made, 0, "solve", "/src/three.c", tested(7.9, 3.5, .02, 1));
    add_function(made, 2, "solve", "/src/three.c", tested(7.7, 3.3, .02, 1));
    add_function(made, 2, "copy", "/src/three.c", tested(.2, .19, .2, 0));
    made->remark[0] = (char *)(uintptr_t) "Side A ran on another kernel: 6.1 for 6.12.";
    made->comparison.remark_count = 1;
}

/* Make one run per side. */
static void make_pair(struct made *made)
{
    begin(made, 1, 3);
    for (int f = 0; f < FIGURES; f++)
        made->change[0][f] = untested(1000, 1000, RPS_CHANGE_SINGLE);
    made->change[0][ELAPSED] = untested(13.3, 9.2, RPS_CHANGE_SINGLE);
    made->change[0][CPI] = untested(1.21, .84, RPS_CHANGE_SINGLE);
    made->change[0][CPU_USE] = untested(91, 87, RPS_CHANGE_SINGLE);
    made->change[1][ELAPSED] = untested(5.2, 5.2, RPS_CHANGE_SINGLE);
    made->change[2][ELAPSED] = untested(8.1, 4, RPS_CHANGE_SINGLE);
}

static char *written(enum rps_format format, const struct made *made)
{
    struct rps_document document = {.arena = arena, .width = RPS_DOCUMENT_WIDTH};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    rps_comparison_put(&document, &made->output);
    rps_document_write(&document, out, format, made->width);
    fclose(out);
    return text;
}

static void check_written(enum rps_format format, const struct made *made, const char *expected)
{
    char *text = written(format, made);

    assert_string_equal(text, expected);
    free(text);
}

static void check_answer(const struct made *made, const char *expected)
{
    assert_string_equal(rps_comparison_answer(&made->comparison), expected);
}

/* A change is printed with one decimal, and is 0 only if it is below .05 %. */
static void test_small_changes(void **state)
{
    static const struct {
        double b;
        const char *text;
    } cases[] = {{1.00049, "0 %"}, {1.00051, "+0.1 %"}, {.999, "-0.1 %"}, {1, "0 %"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rps_change change = tested(1, cases[i].b, .002, 0);
        const struct rps_comparison_figure figure = {.unit = ""};

        assert_string_equal(rps_comparison_words(arena, &figure, &change).change, cases[i].text);
    }
}

/* --- limits ----------------------------------------------------------------------------------- */

/* An inconclusive answer names the number of runs that would give a decision, which is larger than
 * the present number. */
static void test_limits(void **state)
{
    static const struct {
        double change, spread;
        enum rps_change_answer answer;
        const char *text;
    } cases[] = {
        {.05, .01, RPS_CHANGE_HOLDS, "'cpi>+3%' holds: +2.0 % (+1.0 to +3.0 %)"},
        {.05, .01, RPS_CHANGE_FAILS, "'cpi>+3%' fails: +2.0 % (+1.0 to +3.0 %)"},
        {.04, .02, RPS_CHANGE_INCONCLUSIVE,
         "'cpi>+3%' inconclusive: +2.0 % (+1.0 to +3.0 %); about 10 runs per side would decide it"},
        {.2, .02, RPS_CHANGE_INCONCLUSIVE,
         "'cpi>+3%' inconclusive: +2.0 % (+1.0 to +3.0 %); about 6 runs per side would decide it"},
        {.0201, .02, RPS_CHANGE_INCONCLUSIVE,
         "'cpi>+3%' inconclusive: +2.0 % (+1.0 to +3.0 %); about 326672 runs per side would decide "
         "it"},
        {1.02 / 1 - 1, .02, RPS_CHANGE_INCONCLUSIVE,
         "'cpi>+3%' inconclusive: +2.0 % (+1.0 to +3.0 %); the change equals the limit, so the "
         "runs to decide it are unknown"},
        {.2, NAN, RPS_CHANGE_INCONCLUSIVE,
         "'cpi>+3%' inconclusive: +2.0 % (+1.0 to +3.0 %); one run per side does not show how much "
         "runs vary; record several of each with `rpistat record --repeat 5`"},
    };
    struct rps_comparison_limit limit = {.text = "cpi>+3%", .is_above = 1, .figure = CPI};
    struct made made;

    (void)state;
    begin(&made, 5, 1);
    made.change[0][CPI] = tested(1, 1.02, .01, 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        limit.change = cases[i].change;
        limit.answer = cases[i].answer;
        made.change[0][CPI].spread = cases[i].spread;
        made.change[0][CPI].why = isnan(cases[i].spread) ? RPS_CHANGE_SINGLE : RPS_CHANGE_TESTED;
        assert_string_equal(rps_comparison_limit_text(&made.comparison, &limit), cases[i].text);
    }
}

/* --- the answer ------------------------------------------------------------------------------- */

/* With other programs' load, the answer names a metric that has a verdict. */
static void test_answer_load(void **state)
{
    struct rps_comparison_figure own[FIGURES];
    struct made made;

    (void)state;
    memcpy(own, figures, sizeof(own));
    strcpy(own[FAULTS].name, "elapsed_not_waiting");
    begin(&made, 5, 1);
    made.comparison.figure = own;
    made.comparison.taken = .84;
    made.change[0][ELAPSED] = tested(5, 10, .6, 1);
    made.change[0][FAULTS] = tested(1, 1.7, .4, 1);
    for (int sure = 0; sure < 2; sure++) {
        made.change[0][CPU_TIME] = tested(1, 1.7, .4, sure);
        assert_non_null(strstr(
            rps_comparison_answer(&made.comparison),
            sure ? " took at least 84 % of the CPU time that one side could have used: compare "
                   "CPU time, not elapsed time"
                 : ": compare 'Elapsed without waiting', not elapsed time"));
    }
    made.change[0][CPU_TIME] = made.change[0][FAULTS] = tested(1, 1.7, .4, 0);
    assert_non_null(strstr(rps_comparison_answer(&made.comparison), ": compare CPU time, not"));
}

static void test_answer_groups(void **state)
{
    struct made made;

    (void)state;
    make_groups(&made);
    check_answer(
        &made,
        "new takes 31 % less time than main (29 to 33 %): phase B is 4.6 s shorter, with 48 % "
        "fewer instructions; solve (three.c:40) has most of it (30 % of samples, 60 % in main)");
    made.change[2][INSTRUCTIONS] = untested(9e9, 9e9, RPS_CHANGE_ABSENT);
    made.row[2].function_count = 0;
    check_answer(&made,
                 "new takes 31 % less time than main (29 to 33 %): phase B is 4.6 s shorter; solve "
                 "(three.c:40) has 56 % less CPU time (3.50 s instead of 7.90 s)");
    made.comparison.row_count = 1;
    made.row[0].function_count = 0;
    made.change[0][ELAPSED] = tested(4, 12.4, .21, 1);
    made.change[0][INSTRUCTIONS] = tested(1e9, 1e9, .1, 0);
    made.change[0][CPI] = tested(1.1, 3.3, .2, 1);
    check_answer(&made,
                 "new takes 3.1 x the time of main (2.9 to 3.3 x), with CPI 3.30 instead of 1.10");
    made.change[0][ELAPSED] = tested(3, 6 - 1e-9, .21, 1);
    check_answer(&made,
                 "new takes 2.0 x the time of main (1.8 to 2.2 x), with CPI 3.30 instead of 1.10");
    made.change[0][ELAPSED] = tested(4, 12.4, .21, 1);
    add_function(&made, 0, "wait", "",
                 tested(.1, .7, .2, 1)); /* most of the CPU time, but CPU time is short */
    made.change[0][CPU_TIME] = tested(1, 1.8, .2, 1);
    check_answer(&made, "new takes 3.1 x the time of main (2.9 to 3.3 x), with CPI 3.30 instead of "
                        "1.10; wait (:40) has most of it (30 % of samples, 60 % in main)");
    made.function[0][0].b_share = .41; /* the new share is less than 1.5 times the old */
    check_answer(&made, "new takes 3.1 x the time of main (2.9 to 3.3 x), with CPI 3.30 instead of "
                        "1.10; wait (:40) has most of it");
    made.function[0][0].b_share = .004;
    check_answer(&made, "new takes 3.1 x the time of main (2.9 to 3.3 x), with CPI 3.30 instead of "
                        "1.10; wait (:40) has most of it (under 1 % of samples, 60 % in main)");
    made.change[0][CPU_TIME] = tested(1, 1.5, .2, 1);
    check_answer(&made, "new takes 3.1 x the time of main (2.9 to 3.3 x), with CPI 3.30 instead of "
                        "1.10; wait (:40) has 7.0 x the CPU time (0.700 s instead of 0.100 s)");
    made.row[0].function_count = 0;
    made.change[0][CPU_TIME] = tested(1, 1, .2, 0);
    made.comparison.b_count = 1;
    made.change[0][CPI] = tested(1.1, 1.1, .2, 0);
    made.change[0][ELAPSED] = tested(1000, 1, .0001, 1);
    check_answer(&made, "new took 1/1000 of the time of main");
    made.change[0][ELAPSED] = tested(1000, 1031, .0041, 1);
    check_answer(&made,
                 "new took 3.1 % more time than main (2.7 to 3.5 %), with 3.2 x the minor faults");
}

static void test_answer_phases(void **state)
{
    struct made made;

    (void)state;
    make_groups(&made);
    made.change[0][ELAPSED] = tested(9.2, 13.3, .02, 1);
    made.change[0][INSTRUCTIONS] = made.change[0][CPI];
    made.change[2][ELAPSED] = tested(4, 4.1, .02, 0);
    made.change[3][ELAPSED] = untested(NAN, 4, RPS_CHANGE_ABSENT);
    check_answer(&made, "new takes 45 % more time than main (43 to 47 %): phase C (4 s) is new; "
                        "solve (three.c:40) has 56 % less CPU time (3.50 s instead of 7.90 s)");
    made.comparison.a_count = 1; /* One run against five does not show that a phase is new. */
    check_answer(&made, "new takes 45 % more time than main (43 to 47 %): phase C (4 s) of new is "
                        "not matched; solve (three.c:40) has 56 % less CPU time (3.50 s instead of "
                        "7.90 s)");
    made.comparison.a_count = 5;
    made.row[3].a_times = 1;
    made.row[3].b_times = 0;
    made.change[3][ELAPSED] = untested(4, NAN, RPS_CHANGE_ABSENT);
    made.change[0][ELAPSED] = tested(13.3, 9.2, .02, 1);
    made.row[0].function_count = 0;
    check_answer(&made, "new takes 31 % less time than main (29 to 33 %): phase C (4 s) is gone");
    made.comparison.row_count = 3;
    made.change[1][ELAPSED] = tested(6.65, 4.6, .02, 1);
    made.change[2][ELAPSED] = tested(6.65, 4.7, .02, 1);
    made.change[0][FAULTS] = tested(8120, 2560, .2, 1);
    check_answer(&made,
                 "new takes 31 % less time than main (29 to 33 %), in every phase, with 68 % fewer "
                 "minor faults");
    made.change[2][ELAPSED] = tested(2, 1.5, .02, 0);
    check_answer(&made,
                 "new takes 31 % less time than main (29 to 33 %): phase A is 2.1 s shorter");
    made.change[0][ELAPSED] = tested(13.3, 9, .02, 1);
    made.change[1][ELAPSED] = tested(6.65, 4.6, .02, 1);
    made.change[2][ELAPSED] = tested(6.65, 4.6, .02, 1);
    check_answer(&made,
                 "new takes 32 % less time than main (30 to 34 %), in every phase, with 68 % fewer "
                 "minor faults");
}

static void test_answer_pair(void **state)
{
    struct made made;

    (void)state;
    make_pair(&made);
    check_answer(&made, "new took 31 % less time than main (9.20 s instead of 13.3 s): phase B was "
                        "4.1 s shorter; one run per side does not show how much runs vary");
    made.comparison.row_count = 1;
    check_answer(&made, "new took 31 % less time than main (9.20 s instead of 13.3 s), with CPI "
                        "0.840 instead of 1.21; one run per side does not show how much runs vary");
    made.change[0][CPI] = untested(1.21, 1.1, RPS_CHANGE_SINGLE);
    check_answer(&made, "new took 31 % less time than main (9.20 s instead of 13.3 s); one run per "
                        "side does not show how much runs vary");
    made.change[0][ELAPSED] = untested(13.3, 13.31, RPS_CHANGE_SINGLE);
    check_answer(&made,
                 "new took as long as main (13.3 s); but new has CPI 1.10 instead of 1.21; one run "
                 "per side does not show how much runs vary");
    made.change[0][CPI] = untested(1.21, 1.2, RPS_CHANGE_SINGLE);
    check_answer(
        &made,
        "new took as long as main (13.3 s); one run per side does not show how much runs vary");
    add_function(&made, 0, "solve", "three.c", untested(3, 5.1, RPS_CHANGE_SINGLE));
    check_answer(&made,
                 "new took as long as main (13.3 s); but solve (three.c:40) has 70 % more CPU "
                 "time (5.10 s instead of 3.00 s); one run per side does not show how much "
                 "runs vary");
    made.function[0][0].seconds = untested(3, 0, RPS_CHANGE_SINGLE);
    check_answer(&made,
                 "new took as long as main (13.3 s); but solve (three.c:40) is gone (3.00 s of "
                 "CPU time); one run per side does not show how much runs vary");
    made.function[0][0].seconds.is_chance = 1;
    check_answer(
        &made,
        "new took as long as main (13.3 s); one run per side does not show how much runs vary");
    made.comparison.row_count = 2; /* a phase with 0 on both sides has no change */
    made.change[1][CPU_USE] = untested(0, 0, RPS_CHANGE_SINGLE);
    check_answer(
        &made,
        "new took as long as main (13.3 s); one run per side does not show how much runs vary");
    made.change[0][ELAPSED] = untested(0, 2, RPS_CHANGE_SINGLE);
    check_answer(&made, "The elapsed time of one side is unknown");
    begin(&made, 5, 1); /* only one run per side is complete */
    made.change[0][ELAPSED] = untested(4, 3, RPS_CHANGE_SINGLE);
    check_answer(&made, "new takes 25 % less time than main (3.00 s instead of 4.00 s); one run "
                        "per side does not show how much runs vary");
    made.comparison.row_count = 0;
    check_answer(&made, "The elapsed time of one side is unknown");
}

static void test_answer_same(void **state)
{
    struct made made;

    (void)state;
    begin(&made, 5, 3);
    made.change[0][ELAPSED] = tested(13.3, 13.4, .02, 0);
    check_answer(&made, "No significant change of the elapsed time (any change is below 2.8 %)");
    made.change[1][CPI] = tested(1.2, 2.4, .1, 1);
    check_answer(&made, "No significant change of the elapsed time (any change is below 2.8 %); "
                        "but new has CPI 2.40 instead of 1.20 in phase A");
    made.change[0][CPI] = tested(1.2, 1.8, .1, 1);
    check_answer(&made, "No significant change of the elapsed time (any change is below 2.8 %); "
                        "but new has CPI 2.40 instead of 1.20 in phase A");
    made.change[2][CPI] = tested(1.2, 1.5, .1, 1);
    check_answer(&made, "No significant change of the elapsed time (any change is below 2.8 %); "
                        "but new has CPI 1.80 instead of 1.20");
    made.change[0][CPI] = made.change[2][CPI] = tested(1.2, 1.2, .1, 0);
    made.change[1][ELAPSED] = tested(4, 6, .1, 1);
    check_answer(&made, "No significant change of the elapsed time (any change is below 2.8 %); "
                        "but phase A is 2 s longer");
    made.change[0][ELAPSED] = tested(13.3, 13.4, 1.2, 0);
    made.change[1][ELAPSED] = tested(4, 4, .1, 0);
    made.change[1][CPI] = tested(1.2, 1.2, .1, 0);
    check_answer(&made,
                 "No significant change of the elapsed time, which varies too much for a verdict");
    made.change[0][ELAPSED] = tested(13.3, 13.4, .02, 0);
    made.change[0][CPU_TIME] = tested(12, 8, .03, 1);
    add_function(&made, 0, "solve", "three.c", tested(8, 4.5, .1, 1));
    check_answer(
        &made, "new takes 33 % less CPU time than main (30 to 36 %); solve (three.c:40) has most "
               "of it (30 % of samples, 60 % in main); the elapsed time has no significant change");
    made.change[0][ELAPSED] = tested(13.3, 9.2, .4, 0);
    check_answer(
        &made,
        "new takes 33 % less CPU time than main (30 to 36 %); solve (three.c:40) has most of it "
        "(30 % of samples, 60 % in main); the elapsed time varies too much for a verdict");
    made.change[0][CPU_TIME] = made.change[1][ELAPSED] = tested(12, 8, .5, 0);
    made.change[1][CPI] = tested(1, 1, .1, 0);
    made.change[0][ELAPSED] = tested(13.3, 9.2, .3, 0);
    check_answer(&made, "new possibly takes 31 % less time than main (1 to 61 %); one of 6 tests "
                        "may differ that much by chance; but solve (three.c:40) has 44 % less CPU "
                        "time (4.50 s instead of 8.00 s)");
    made.function[0][0].seconds = tested(6.7, 4.5, .1, 1); /* less than 1.5 times */
    check_answer(&made, "new possibly takes 31 % less time than main (1 to 61 %); one of 6 tests "
                        "may differ that much by chance");
    made.function[0][0].seconds = tested(8, 4.5, .1, 1);
    made.change[0][ELAPSED] = tested(13.3, 9.2, .02, 1);
    made.change[0][ELAPSED].is_few = 1;
    check_answer(&made,
                 "new possibly takes 31 % less time than main (29 to 33 %); solve (three.c:40) has "
                 "most of it (30 % of samples, 60 % in main); a verdict needs more runs per side");
    made.change[0][ELAPSED] = tested(13.3, 13.4, 1.2, 0);
    made.change[0][CPU_TIME].is_few = 1;
    made.change[0][FAULTS] = tested(812, 2560, .2, 1);
    made.change[0][FAULTS].is_few = made.function[0][0].seconds.is_few = 1;
    check_answer(&made, "No significant change of the elapsed time, which varies too much for a "
                        "verdict; but new possibly has 3.2 x the minor faults; a verdict needs "
                        "more runs per side");
}

/* --- what the sides are called ---------------------------------------------------------------- */

static void check_names(struct made *made, const char *a, const char *b)
{
    rps_comparison_name_sides(&made->comparison);
    assert_string_equal(made->comparison.name[RPS_SIDE_A], a);
    assert_string_equal(made->comparison.name[RPS_SIDE_B], b);
}

static void set_label(struct made *made, size_t run, const char *label)
{
    snprintf(made->run[run].run.label, sizeof(made->run[run].run.label), "%s", label);
}

static void test_names(void **state)
{
    struct made made;

    (void)state;
    begin(&made, 2, 3);
    check_names(&made, "runs 1-2", "runs 3-4");
    for (size_t i = 0; i < 3; i++)
        set_label(&made, i, "main");
    check_names(&made, "main", "runs 3-4"); /* not all runs have the label */
    set_label(&made, 3, "main");
    check_names(&made, "runs 1-2", "runs 3-4"); /* both sides have the label */
    set_label(&made, 2, "b");                   /* the label equals a phase's name */
    set_label(&made, 3, "b");
    check_names(&made, "main", "label:b");
    made.comparison.row_count = 2;
    check_names(&made, "main", "b"); /* with one phase, no letters are printed */
    set_label(&made, 2, "a");
    set_label(&made, 3, "a");
    check_names(&made, "main", "a");
    set_label(&made, 2, "5");
    set_label(&made, 3, "5");
    check_names(&made, "main", "label:5");
    set_label(&made, 0, "a label that nobody would like to read at each figure\x1b");
    set_label(&made, 1, made.run[0].run.label);
    check_names(&made, "\"a label that nobody would lik...\"", "label:5");
    made.run[2].store = made.run[3].store = "other.data";
    set_label(&made, 3, "");
    made.run[3].run_id = 9;
    check_names(&made, "\"a label that nobody would lik...\"", "runs 3,9 of other.data");
    check_answer(&made, "The elapsed time of one side is unknown");
    made.change[0][ELAPSED] = tested(4, 3, .01, 1);
    check_answer(&made, "Runs 3,9 of other.data take 25 % less time than \"a label that nobody "
                        "would lik...\" (24 to 26 %)");
}

/* --- the whole text --------------------------------------------------------------------------- */

static void test_text(void **state)
{
    struct made made;

    (void)state;
    make_groups(&made);
    check_written(
        RPS_FORMAT_TEXT, &made,
        "new takes 31 % less time than main (29 to 33 %): phase B is 4.6 s shorter, with 48 % "
        "fewer\n"
        "instructions; solve (three.c:40) has most of it (30 % of samples, 60 % in main).\n"
        "\n"
        "main: 5 runs (1-5)\n"
        "new: 5 runs (6-10)\n"
        "Command: ./three\n"
        "Values: geometric means of each side's runs (arithmetic if a run has 0 or less)\n"
        "Tested: run by run (Welch's t test); corrected for 11 tests (Holm)\n"
        "\n"
        "Elapsed time\n"
        "\n"
        "                                                                         95 %           "
        "Share of"
        "\n"
        "  Class  Phases             Start    main      new       Change      interval  Verdict    "
        "change"
        "\n"
        "  A           1  00:01.5, 00:01.4  5.20 s   5.18 s          0 %    -3 to +3 %             "
        "   "
        "0 %\n"
        "  B           2  00:03.0, 00:02.8  8.10 s   3.50 s        -57 %  -59 to -55 %  lower      "
        " "
        "112 %\n"
        "  C           1           00:04.2       -  0.520 s  not matched                           "
        " "
        "-13 %\n"
        "  all                              13.3 s   9.20 s        -31 %  -33 to -29 %  lower      "
        " "
        "100 %\n"
        "\n"
        "  Phases are found in all runs together; `rpistat phases` of one run may differ.\n"
        "\n"
        "                                                     95 %\n"
        "  Metric          main     new   Change          interval  Verdict\n"
        "  CPU time      12.1 s  8.04 s    -34 %      -36 to -31 %  lower\n"
        "  CPI             1.21    1.22   +0.8 %    -0.7 to +2.3 %  no significant change\n"
        "    phase B       1.15    1.20   +4.3 %    +3.3 to +5.3 %  higher\n"
        "  CPU use       91.0 %  87.4 %     -4 %        -9 to +1 %  no significant change\n"
        "  Instructions  12.3 G   8.1 G  -34.1 %  -34.4 to -33.9 %  lower\n"
        "    phase B        9 G  4.68 G  -48.0 %  -48.4 to -47.6 %  lower\n"
        "  Minor faults     812  2.56 k    3.2 x      3.0 to 3.4 x  higher\n"
        "\n"
        "CPU time by function, from samples\n"
        "\n"
        "                                                             95 %\n"
        "  Class  Function              main     new  Change      interval  Verdict\n"
        "  all    solve (three.c:40)  7.90 s  3.50 s   -56 %  -58 to -54 %  lower\n"
        "  B      solve (three.c:40)  7.70 s  3.30 s   -57 %  -59 to -55 %  lower\n"
        "\n"
        "Remarks\n"
        "  Side A ran on another kernel: 6.1 for 6.12.\n");
}

static void test_text_pair(void **state)
{
    struct made made;

    (void)state;
    make_pair(&made);
    check_written(
        RPS_FORMAT_TEXT, &made,
        "new took 31 % less time than main (9.20 s instead of 13.3 s): phase B was 4.1 s shorter; "
        "one run\n"
        "per side does not show how much runs vary.\n"
        "\n"
        "main: run 1\n"
        "new: run 2\n"
        "Command: ./three\n"
        "\n"
        "Elapsed time\n"
        "\n"
        "                                                  Share of\n"
        "  Class  Phases    Start    main     new  Change    change\n"
        "  A           1  00:01.5  5.20 s  5.20 s     0 %       0 %\n"
        "  B           1  00:03.0  8.10 s  4.00 s   -51 %     100 %\n"
        "  all                     13.3 s  9.20 s   -31 %     100 %\n"
        "\n"
        "  Phases are found in all runs together; `rpistat phases` of one run may differ.\n"
        "\n"
        "  Metric               main          new  Change\n"
        "  CPU time      16 min 40 s  16 min 40 s     0 %\n"
        "  CPI                  1.21        0.840   -31 %\n"
        "  CPU use            91.0 %       87.0 %  -4.4 %\n"
        "  Instructions          1 k          1 k     0 %\n"
        "  Minor faults          1 k          1 k     0 %\n");
}

static void test_markdown(void **state)
{
    struct made made;

    (void)state;
    make_groups(&made);
    check_written(
        RPS_FORMAT_MARKDOWN, &made,
        "### new takes 31 % less time than main (29 to 33 %): phase B is 4.6 s shorter, with 48 % "
        "fewer instructions; solve (three\\.c:40) has most of it (30 % of samples, 60 % in main).\n"
        "\n"
        "- main: 5 runs (1-5)\n"
        "- new: 5 runs (6-10)\n"
        "- Command: ./three\n"
        "- Values: geometric means of each side's runs (arithmetic if a run has 0 or less)\n"
        "- Tested: run by run (Welch's t test); corrected for 11 tests (Holm)\n"
        "\n"
        "### Elapsed time\n"
        "\n"
        "| Class | Phases | Start | main | new | Change | 95 % interval | Verdict | Share of "
        "change |\n"
        "| :-- | --: | --: | --: | --: | --: | --: | :-- | --: |\n"
        "| A | 1 | 00:01.5, 00:01.4 | 5.20 s | 5.18 s | 0 % | -3 to +3 % |  | 0 % |\n"
        "| B | 2 | 00:03.0, 00:02.8 | 8.10 s | 3.50 s | -57 % | -59 to -55 % | lower | 112 % |\n"
        "| C | 1 | 00:04.2 | - | 0.520 s | not matched |  |  | -13 % |\n"
        "| all |  |  | 13.3 s | 9.20 s | -31 % | -33 to -29 % | lower | 100 % |\n"
        "\n"
        "Phases are found in all runs together; \\`rpistat phases\\` of one run may differ.\n"
        "\n"
        "| Metric | main | new | Change | 95 % interval | Verdict |\n"
        "| :-- | --: | --: | --: | --: | :-- |\n"
        "| CPU time | 12.1 s | 8.04 s | -34 % | -36 to -31 % | lower |\n"
        "| CPI | 1.21 | 1.22 | +0.8 % | -0.7 to +2.3 % | no significant change |\n"
        "| &nbsp;&nbsp;phase B | 1.15 | 1.20 | +4.3 % | +3.3 to +5.3 % | higher |\n"
        "| CPU use | 91.0 % | 87.4 % | -4 % | -9 to +1 % | no significant change |\n"
        "| Instructions | 12.3 G | 8.1 G | -34.1 % | -34.4 to -33.9 % | lower |\n"
        "| &nbsp;&nbsp;phase B | 9 G | 4.68 G | -48.0 % | -48.4 to -47.6 % | lower |\n"
        "| Minor faults | 812 | 2.56 k | 3.2 x | 3.0 to 3.4 x | higher |\n"
        "\n"
        "<details><summary>CPU time by function, from samples</summary>\n"
        "\n"
        "| Class | Function | main | new | Change | 95 % interval | Verdict |\n"
        "| :-- | :-- | --: | --: | --: | --: | :-- |\n"
        "| all | solve (three\\.c:40) | 7.90 s | 3.50 s | -56 % | -58 to -54 % | lower |\n"
        "| B | solve (three\\.c:40) | 7.70 s | 3.30 s | -57 % | -59 to -55 % | lower |\n"
        "\n"
        "</details>\n"
        "\n"
        "<details><summary>Remarks</summary>\n"
        "\n"
        "Side A ran on another kernel: 6.1 for 6.12.\n"
        "\n"
        "</details>\n");
}

/* With `all`, all values of all phase classes are printed. Run numbers with gaps are not printed as
 * a range. */
static void test_all(void **state)
{
    struct made made;

    (void)state;
    make_groups(&made);
    made.output.all = 1;
    made.comparison.row_count = 2;
    made.comparison.run_count = 6;
    made.comparison.a_count = made.comparison.b_count = 3;
    for (size_t i = 0; i < 6; i++) {
        made.run[i].run_id = (int64_t)i * 2 + 1;
        made.run[i].side = i < 3 ? RPS_SIDE_A : RPS_SIDE_B;
    }
    made.run[4].store = "other.data";
    made.change[0][FAULTS] = untested(0, 12, RPS_CHANGE_ABSENT);
    made.change[0][CPU_TIME] = tested(1, 1.00001, .0001, 0);
    made.change[0][CPU_USE] = tested(100, .1, .0005, 1);
    made.change[0][INSTRUCTIONS] = tested(3, 1, 2, 0);
    check_written(
        RPS_FORMAT_TEXT, &made,
        "new takes 31 % less time than main (29 to 33 %); solve (three.c:40) has most of it (30 % "
        "of\n"
        "samples, 60 % in main).\n"
        "\n"
        "main: 3 runs (1,3,5) of rpistat.data\n"
        "new: 3 runs (7,9,11) of rpistat.data\n"
        "Command: ./three\n"
        "Values: geometric means of each side's runs (arithmetic if a run has 0 or less)\n"
        "Tested: run by run (Welch's t test); corrected for 7 tests (Holm)\n"
        "\n"
        "Elapsed time\n"
        "\n"
        "                                                          95 %           Share of\n"
        "  Class  Phases    Start    main     new  Change      interval  Verdict    change\n"
        "  A           1  00:01.5  5.20 s  5.18 s     0 %    -3 to +3 %                0 %\n"
        "  all                     13.3 s  9.20 s   -31 %  -33 to -29 %  lower       100 %\n"
        "\n"
        "  Phases are found in all runs together; `rpistat phases` of one run may differ.\n"
        "\n"
        "                                                        95 %\n"
        "  Metric          main      new    Change           interval  Verdict\n"
        "  CPU time      1.00 s   1.00 s       0 %           0 to 0 %  no significant change\n"
        "    phase A          -        -         -                     -\n"
        "  CPI             1.21     1.22    +0.8 %     -0.7 to +2.3 %  no significant change\n"
        "    phase A       1.30     1.31    +0.8 %     -0.2 to +1.8 %  no significant change\n"
        "  CPU use        100 %  0.100 %  1/1000 x  1/2000 to 1/670 x  lower\n"
        "    phase A          -        -         -                     -\n"
        "  Instructions       3        1     -67 %     -100 to +133 %  no significant change\n"
        "    phase A          -        -         -                     -\n"
        "  Minor faults       0       12    from 0                     -\n"
        "    phase A          -        -         -                     -\n"
        "\n"
        "CPU time by function, from samples\n"
        "\n"
        "                                                             95 %\n"
        "  Class  Function              main     new  Change      interval  Verdict\n"
        "  all    solve (three.c:40)  7.90 s  3.50 s   -56 %  -58 to -54 %  lower\n"
        "\n"
        "Remarks\n"
        "  Side A ran on another kernel: 6.1 for 6.12.\n");
}

/* Make a comparison with hostile texts, as a store may contain. */
static void make_hostile(struct made *made)
{
    static struct rps_comparison_figure hostile = {RPS_FIGURE_TIME, "elapsed",
                                                   "| **El** <b>\x1b[31m\n", "s`|"};
    static char bad[] = "./a\x1b]0;x\a `rm` | @me #1 http://a.b \xff\xc3\xa4";

    begin(made, 1, 2);
    made->comparison.figure = &hostile;
    made->comparison.figure_count = 1;
    command[0] = bad;
    made->comparison.name[0] = made->comparison.name[1] = "<script>\xe2\x80\xae";
    made->change[0][0] = untested(1e300, 1e-300, RPS_CHANGE_SINGLE);
    made->change[1][0] = untested(1, 1e12, RPS_CHANGE_SINGLE);
    made->row[0].function_count = made->row[1].function_count = 0;
    add_function(made, 0,
                 "operator<< {std::__cxx11::basic_string{char}, \r\x7f long, longer, longest}",
                 "/a/\x1b.c", untested(1e300, 1, RPS_CHANGE_SINGLE));
    made->remark[0] = (char *)(uintptr_t) "A *remark*\n# on it: www.a.org, www.1.org";
    made->comparison.remark_count = 1;
}

static void test_hostile(void **state)
{
    struct made made;

    (void)state;
    make_hostile(&made);
    check_written(
        RPS_FORMAT_TEXT, &made,
        "<script>\\xe2\\x80\\xae took under 1/10000 of the time of <script>\\xe2\\x80\\xae "
        "(<0.0001 s instead\n"
        "of 1e+282 E s); operator<< {std::__cxx11::basic_string{char}, \\x0d\\x7f lo... has most "
        "of "
        "it\n"
        "(30 % of samples, 60 % in <script>\\xe2\\x80\\xae); one run per side does not show how "
        "much runs\n"
        "vary.\n"
        "\n"
        "<script>\\xe2\\x80\\xae: run 1\n"
        "<script>\\xe2\\x80\\xae: run 2\n"
        "Command: './a\\x1b]0;x\\x07 `rm` | @me #1 http://a.b \\xffä'\n"
        "\n"
        "Elapsed time\n"
        "\n"
        "                                                                                      "
        "Share of\n"
        "  Class  Phases    Start  <script>\\xe2\\x80\\xae  <script>\\xe2\\x80\\xae          "
        "Change    change\n"
        "  A           1  00:01.5              1.00 s`|               1 T s`|  over 1000000 x      "
        " 0 %\n"
        "  all                             1e+282 E s`|           <0.0001 s`|             0 x     "
        "100 %\n"
        "\n"
        "  Phases are found in all runs together; `rpistat phases` of one run may differ.\n"
        "\n"
        "CPU time by function, from samples\n"
        "\n"
        "  Class  Function                                                                         "
        "          <script>\\xe2\\x80\\xae\n"
        "  all    operator<< {std::__cxx11::basic_string{char}, \\x0d\\x7f long, longer, longest} "
        "(\\x1b.c:40)            1e+282 E s\n"
        "\n"
        "  Class  Function                                                                         "
        "          <script>\\xe2\\x80\\xae  Change\n"
        "  all    operator<< {std::__cxx11::basic_string{char}, \\x0d\\x7f long, longer, longest} "
        "(\\x1b.c:40)                1.00 s     0 x\n"
        "\n"
        "Remarks\n"
        "  A *remark*\\n# on it: www.a.org, www.1.org\n");
    check_written(
        RPS_FORMAT_MARKDOWN, &made,
        "### \\<script\\>\\\\xe2\\\\x80\\\\xae took under 1/10000 of the time of "
        "\\<script\\>\\\\xe2\\\\x80\\\\xae (\\<0.0001 s instead of 1e+282 E s); operator\\<\\< "
        "{std::\\_\\_cxx11::basic\\_string{char}, \\\\x0d\\\\x7f lo... has most of it (30 % "
        "of samples, 60 % in \\<script\\>\\\\xe2\\\\x80\\\\xae); one run per side does not show "
        "how much runs vary.\n"
        "\n"
        "- \\<script\\>\\\\xe2\\\\x80\\\\xae: run 1\n"
        "- \\<script\\>\\\\xe2\\\\x80\\\\xae: run 2\n"
        "- Command: './a\\\\x1b\\]0;x\\\\x07 \\`rm\\` \\| @<!-- -->me #<!-- -->1 http\\://a\\.b "
        "\\\\xffä'\n"
        "\n"
        "### Elapsed time\n"
        "\n"
        "| Class | Phases | Start | \\<script\\>\\\\xe2\\\\x80\\\\xae | "
        "\\<script\\>\\\\xe2\\\\x80\\\\xae | Change | Share of change |\n"
        "| :-- | --: | --: | --: | --: | --: | --: |\n"
        "| A | 1 | 00:01.5 | 1.00 s\\`\\| | 1 T s\\`\\| | over 1000000 x | 0 % |\n"
        "| all |  |  | 1e+282 E s\\`\\| | \\<0.0001 s\\`\\| | 0 x | 100 % |\n"
        "\n"
        "Phases are found in all runs together; \\`rpistat phases\\` of one run may differ.\n"
        "\n"
        "<details><summary>CPU time by function, from samples</summary>\n"
        "\n"
        "| Class | Function | \\<script\\>\\\\xe2\\\\x80\\\\xae | "
        "\\<script\\>\\\\xe2\\\\x80\\\\xae | Change |\n"
        "| :-- | :-- | --: | --: | --: |\n"
        "| all | operator\\<\\< {std::\\_\\_cxx11::basic\\_string{char}, \\\\x0d\\\\x7f "
        "long, longer, longest} (\\\\x1b\\.c:40) | 1e+282 E s | 1.00 s | 0 x |\n"
        "\n"
        "</details>\n"
        "\n"
        "<details><summary>Remarks</summary>\n"
        "\n"
        "A \\*remark\\*\\\\n#<!-- --> on it: www\\.a\\.org, www\\.1.org\n"
        "\n"
        "</details>\n");
    command[0] = program;
}

static int count_of(const struct made *made, const char *part)
{
    char *text = written(RPS_FORMAT_TEXT, made);
    int count = 0;

    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    free(text);
    return count;
}

/* Each event is printed once: as a total, or as a rate if only the rate changed. */
static void test_once(void **state)
{
    struct rps_comparison_figure with_rate[FIGURES];
    struct made made;

    (void)state;
    make_groups(&made);
    memcpy(with_rate, figures, sizeof(figures));
    with_rate[CPU_USE] =
        (struct rps_comparison_figure){RPS_FIGURE_METRIC, "faults", "Minor faults", "/s"};
    made.comparison.figure = with_rate;
    assert_int_equal(count_of(&made, "  Minor faults "), 1);
    assert_int_equal(count_of(&made, "Minor faults /s"), 0);
    made.change[0][CPU_USE] = tested(91, 87, .01, 1);
    made.change[2][CPU_USE] = tested(91, 80, .01, 1);
    assert_int_equal(count_of(&made, "Minor faults /s"), 0);
    made.output.all = 1;
    assert_int_equal(count_of(&made, "Minor faults /s"), 1);
}

/* If the whole run is one phase, the phase is not printed in addition. */
static void test_one_phase(void **state)
{
    struct made made;
    char *text;

    (void)state;
    make_pair(&made);
    made.comparison.row_count = 2;
    add_function(&made, 0, "solve", "three.c", tested(8, 4.5, .1, 1));
    add_function(&made, 1, "solve", "three.c", tested(8, 4.5, .1, 1));
    text = written(RPS_FORMAT_TEXT, &made);
    assert_non_null(strstr(text, "\n  A  "));
    free(text);
    made.change[1][ELAPSED] = untested(13.25, 9.19, RPS_CHANGE_SINGLE);
    text = written(RPS_FORMAT_TEXT, &made);
    assert_null(strstr(text, "\n  A  "));
    free(text);
}

/* The whole run and its only phase are corrected separately. An event that never occurred is not
 * tested. */
static void test_one_phase_tests(void **state)
{
    struct made made;
    char *text;

    (void)state;
    begin(&made, 5, 2);
    made.change[0][ELAPSED] = made.change[1][ELAPSED] = tested(8, 4.5, .1, 1);
    made.change[0][CPU_TIME] = made.change[1][CPU_TIME] = tested(8, 4.5, .1, 1);
    made.change[0][FAULTS] = made.change[1][FAULTS] = tested(0, 0, 1, 0);
    text = written(RPS_FORMAT_TEXT, &made);
    assert_non_null(strstr(text, "; corrected for 2 tests (Holm)\n"));
    free(text);
}

/* A comparison without changes is printed. */
static void test_empty(void **state)
{
    struct made made;

    (void)state;
    begin(&made, 1, 0);
    made.comparison.figure_count = 0;
    check_written(RPS_FORMAT_TEXT, &made,
                  "The elapsed time of one side is unknown.\n"
                  "\n"
                  "main: run 1\n"
                  "new: run 2\n"
                  "Command: ./three\n");
    check_written(RPS_FORMAT_MARKDOWN, &made,
                  "### The elapsed time of one side is unknown.\n"
                  "\n"
                  "- main: run 1\n"
                  "- new: run 2\n"
                  "- Command: ./three\n");
    check_written(RPS_FORMAT_CSV, &made,
                  "label,a_times,b_times,a_start_s,b_start_s,name,kind,unit,a,b,change,change_low,"
                  "change_high,p,p_corrected,tested_by,reason,verdict,share_of_change\n");
}

/* At any width, no line is longer than the terminal, except for a cell that is too long. */
static void test_narrow(void **state)
{
    struct made made;
    char *text, *rest = NULL;

    (void)state;
    make_groups(&made);
    for (made.width = 50; made.width < 110; made.width += 10) {
        text = written(RPS_FORMAT_TEXT, &made);
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
            assert_true(strlen(line) <= (size_t)made.width);
        free(text);
    }
}

/* --- for programs ----------------------------------------------------------------------------- */

/* No amount is below zero. */
static void test_amounts(void **state)
{
    struct made made;

    (void)state;
    make_pair(&made);
    made.comparison.row_count = 1;
    made.comparison.figure_count = 2;
    made.change[0][0] = tested(4, 1, 12, 0);
    made.change[0][1] = tested(4, 1, 12, 0);
    made.change[0][1].a = 0;
    made.change[0][1].ratio = INFINITY;
    check_written(
        RPS_FORMAT_CSV, &made,
        "label,a_times,b_times,a_start_s,b_start_s,name,kind,unit,a,b,change,change_low,change_"
        "high,p,p_corrected,tested_by,reason,verdict,share_of_change\n"
        ",1,1,0.000000000,0.000000000,elapsed,time,s,4,1,-0.75,-1,11.25,0.4,1,groups,,no "
        "difference shown,\n"
        ",1,1,0.000000000,0.000000000,cpu_time,time,s,0,1,,0,11.25,0.4,1,groups,,no difference "
        "shown,\n");
}

static void test_rows(void **state)
{
    struct made made;

    (void)state;
    make_pair(&made);
    made.comparison.row_count = 1;
    made.comparison.figure_count = 3;
    made.remark[0] = (char *)(uintptr_t) "A \"remark\"\x1b";
    made.comparison.remark_count = 1;
    add_function(&made, 0, "solve", "three.c", tested(8, 4.5, .1, 1));
    check_written(
        RPS_FORMAT_CSV, &made,
        "label,a_times,b_times,a_start_s,b_start_s,name,kind,unit,a,b,change,change_low,change_"
        "high,p,p_corrected,tested_by,reason,verdict,share_of_change\n"
        ",1,1,0.000000000,0.000000000,elapsed,time,s,13.3,9.2,-0.308270677,,,,,,one run a side,,1\n"
        ",1,1,0.000000000,0.000000000,cpu_time,time,s,1000,1000,0,,,,,,one run a side,,\n"
        ",1,1,0.000000000,0.000000000,cpi,metric,,1.21,0.84,-0.305785124,,,,,,one run a side,,\n");
    check_written(
        RPS_FORMAT_JSON, &made,
        "{\n  \"format\": 1,\n"
        "  \"answer\": \"new took 31 % less time than main (9.20 s instead of 13.3 s), with CPI "
        "0.840 instead of 1.21; solve (three.c:40) has most of it (30 % of samples, 60 % in main); "
        "one run per side does not show how much runs vary\",\n"
        "  \"a_name\": \"main\",\n"
        "  \"b_name\": \"new\",\n"
        "  \"statistic\": \"mean\",\n"
        "  \"function_time\": \"cpu\",\n"
        "  \"runs\": [\n"
        "    {\"side\": \"A\", \"store\": \"rpistat.data\", \"run\": 1, \"uuid\": null, \"label\": "
        "null, \"command\": \"./three\", \"start\": null, \"elapsed_s\": 13, "
        "\"is_outlier\": false},\n"
        "    {\"side\": \"B\", \"store\": \"rpistat.data\", \"run\": 2, \"uuid\": null, \"label\": "
        "null, \"command\": \"./three\", \"start\": null, \"elapsed_s\": 13, "
        "\"is_outlier\": false}\n"
        "  ],\n"
        "  \"figures\": [\n"
        "    {\"name\": \"elapsed\", \"label\": \"Elapsed\", \"kind\": \"time\", \"unit\": "
        "\"s\"},\n"
        "    {\"name\": \"cpu_time\", \"label\": \"CPU time\", \"kind\": \"time\", \"unit\": "
        "\"s\"},\n"
        "    {\"name\": \"cpi\", \"label\": \"CPI\", \"kind\": \"metric\", \"unit\": null}\n"
        "  ],\n"
        "  \"rows\": [\n"
        "    {\"label\": null, \"a_times\": 1, \"b_times\": 1, \"a_start_s\": 0, \"b_start_s\": 0, "
        "\"functions\": [{\"name\": \"solve\", \"module\": \"/bin/three\", \"file\": \"three.c\", "
        "\"line\": 40, \"a_share\": 0.6, \"b_share\": 0.3, \"unit\": \"s\", \"a\": 8, \"b\": 4.5, "
        "\"change\": -0.4375, \"change_low\": -0.5375, \"change_high\": -0.3375, \"p\": 0.0001, "
        "\"p_corrected\": 0.002, \"tested_by\": \"groups\", \"reason\": null, \"verdict\": "
        "\"less\"}]}\n"
        "  ],\n"
        "  \"limits\": [],\n"
        "  \"remarks\": [\"A \\\"remark\\\"\\u001b\"],\n"
        "  \"changes\": [\n"
        "    {\"label\": null, \"a_times\": 1, \"b_times\": 1, \"a_start_s\": 0, \"b_start_s\": 0, "
        "\"name\": \"elapsed\", \"kind\": \"time\", \"unit\": \"s\", \"a\": 13.3, \"b\": 9.2, "
        "\"change\": -0.308270677, \"change_low\": null, \"change_high\": null, \"p\": null, "
        "\"p_corrected\": null, \"tested_by\": null, \"reason\": \"one run a side\", \"verdict\": "
        "null, \"share_of_change\": 1},\n"
        "    {\"label\": null, \"a_times\": 1, \"b_times\": 1, \"a_start_s\": 0, \"b_start_s\": 0, "
        "\"name\": \"cpu_time\", \"kind\": \"time\", \"unit\": \"s\", \"a\": 1000, \"b\": 1000, "
        "\"change\": 0, \"change_low\": null, \"change_high\": null, \"p\": null, \"p_corrected\": "
        "null, \"tested_by\": null, \"reason\": \"one run a side\", \"verdict\": null, "
        "\"share_of_change\": null},\n"
        "    {\"label\": null, \"a_times\": 1, \"b_times\": 1, \"a_start_s\": 0, \"b_start_s\": 0, "
        "\"name\": \"cpi\", \"kind\": \"metric\", \"unit\": null, \"a\": 1.21, \"b\": 0.84, "
        "\"change\": -0.305785124, \"change_low\": null, \"change_high\": null, \"p\": null, "
        "\"p_corrected\": null, \"tested_by\": null, \"reason\": \"one run a side\", \"verdict\": "
        "null, \"share_of_change\": null}\n"
        "  ]\n"
        "}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),        cmocka_unit_test(test_small_changes),
        cmocka_unit_test(test_answer_load),   cmocka_unit_test(test_answer_groups),
        cmocka_unit_test(test_answer_phases), cmocka_unit_test(test_answer_pair),
        cmocka_unit_test(test_answer_same),   cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_pair),     cmocka_unit_test(test_markdown),
        cmocka_unit_test(test_all),           cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_names),         cmocka_unit_test(test_once),
        cmocka_unit_test(test_empty),         cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_rows),          cmocka_unit_test(test_amounts),
        cmocka_unit_test(test_one_phase),     cmocka_unit_test(test_one_phase_tests),
    };

    int failed;

    arena = rps_arena_new();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    rps_arena_free(arena);
    return failed;
}
