/* A comparison in words: made by hand, and the whole text as it was looked at. */
#include "rpistat/comparison_output.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

static char *command[] = {"./three", "-l", "2s", NULL};

struct made {
    struct rps_comparison comparison;
    struct rps_comparison_output output;
    struct rps_comparison_run run[RUNS];
    struct rps_comparison_row row[ROWS];
    struct rps_change change[ROWS][FIGURES];
    struct rps_comparison_function function[ROWS][FUNCTIONS];
    char *remark[1];
};

/* A change that was tested; `sure`: of a p value below .05. */
static struct rps_change tested(double a, double b, double half, int sure)
{
    double ratio = b / a - 1;

    return (struct rps_change){a,
                               b,
                               ratio,
                               ratio - half,
                               ratio + half,
                               sure ? .0001 : .4,
                               sure ? .002 : 1,
                               RPS_CHANGE_GROUPS,
                               RPS_CHANGE_TESTED};
}

static struct rps_change untested(double a, double b, enum rps_change_why why)
{
    return (struct rps_change){a, b, a > 0 ? b / a - 1 : NAN, NAN, NAN, NAN, NAN, RPS_CHANGE_NONE,
                               why};
}

static void add_run(struct made *made, enum rps_comparison_side side, int64_t run_id)
{
    struct rps_comparison_run *run = &made->run[made->comparison.run_count++];

    *run = (struct rps_comparison_run){.run_id = run_id, .side = side, .store = "rpistat.data"};
    rps_run_init(&run->run);
    run->run.argc = 3;
    run->run.argv = command;
    if (side == RPS_SIDE_A)
        made->comparison.a_count++;
    else
        made->comparison.b_count++;
}

static void begin(struct made *made, int runs_a_side, size_t rows)
{
    memset(made, 0, sizeof(*made));
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
    made->output = (struct rps_comparison_output){
        .comparison = &made->comparison, .a_name = "label:main", .b_name = "6-10"};
}

static void add_function(struct made *made, size_t row, const char *name, const char *file,
                         struct rps_change seconds)
{
    made->function[row][made->row[row].function_count++] = (struct rps_comparison_function){
        .name = {name, "/bin/three", file, 40}, .a_share = .6, .b_share = .3, .seconds = seconds};
}

/* Five runs a side: phase B is shorter by its instructions, C came. */
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
    made->remark[0] = (char *)(uintptr_t)"Side A ran on another kernel: 6.1 for 6.12.";
    made->comparison.remark_count = 1;
}

/* One run a side. */
static void make_pair(struct made *made)
{
    begin(made, 1, 3);
    for (int f = 0; f < FIGURES; f++)
        made->change[0][f] = untested(1000, 1000, RPS_CHANGE_SINGLE);
    made->change[0][ELAPSED] = untested(13.3, 9.2, RPS_CHANGE_SINGLE);
    made->change[0][CPI] = tested(1.21, .84, .03, 1);
    made->change[0][CPI].basis = RPS_CHANGE_RUNS;
    made->change[0][CPU_USE] = untested(91, 87, RPS_CHANGE_SHORT);
    made->change[1][ELAPSED] = untested(5.2, 5.2, RPS_CHANGE_SINGLE);
    made->change[2][ELAPSED] = untested(8.1, 4, RPS_CHANGE_SINGLE);
}

typedef int write_output(FILE *out, const struct rps_comparison_output *output,
                         struct rps_error *err);

static char *written(write_output *write, const struct made *made)
{
    struct rps_error err;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(write(out, &made->output, &err), 0);
    fclose(out);
    return text;
}

static void check_written(write_output *write, const struct made *made, const char *expected)
{
    char *text = written(write, made);

    if (getenv("RPISTAT_SHOW"))
        fprintf(stderr, "%s", text);
    assert_string_equal(text, expected);
    free(text);
}

static void check_answer(const struct made *made, const char *expected)
{
    char answer[RPS_COMPARISON_ANSWER_SIZE];

    assert_ptr_equal(rps_comparison_answer(answer, &made->output), answer);
    assert_string_equal(answer, expected);
}

/* --- the answer ------------------------------------------------------------------------------- */

static void test_answer_groups(void **state)
{
    struct made made;

    (void)state;
    make_groups(&made);
    check_answer(&made, "B takes 31 % less time (29 to 33 %): phase B is 4.60 s shorter, with 48 % "
                        "fewer instructions; solve (three.c:40) has most of it");
    made.change[2][INSTRUCTIONS] = untested(9e9, 9e9, RPS_CHANGE_ABSENT);
    made.row[2].function_count = 0;
    check_answer(&made, "B takes 31 % less time (29 to 33 %): phase B is 4.60 s shorter");
    made.comparison.row_count = 1;
    made.row[0].function_count = 0;
    made.change[0][ELAPSED] = tested(4, 12.4, .21, 1);
    made.change[0][INSTRUCTIONS] = tested(1e9, 1e9, .1, 0);
    made.change[0][CPI] = tested(1.1, 3.3, .2, 1);
    check_answer(&made, "B takes 3.1 x the time (2.9 to 3.3 x), with CPI 3.30 for 1.10");
    made.comparison.b_count = 1;
    made.change[0][CPI] = tested(1.1, 1.1, .2, 0);
    made.change[0][ELAPSED] = tested(1000, 1, .0001, 1);
    check_answer(&made, "B took 1/1000 of the time");
    made.change[0][ELAPSED] = tested(1000, 1031, .0041, 1);
    check_answer(&made, "B took 3.1 % more time (2.7 to 3.5 %)");
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
    check_answer(&made, "B takes 45 % more time (43 to 47 %): phase C (4.00 s) came");
    made.row[3].a_times = 1;
    made.row[3].b_times = 0;
    made.change[3][ELAPSED] = untested(4, NAN, RPS_CHANGE_ABSENT);
    made.change[0][ELAPSED] = tested(13.3, 9.2, .02, 1);
    made.row[0].function_count = 0;
    check_answer(&made, "B takes 31 % less time (29 to 33 %): phase C (4.00 s) went");
    made.comparison.row_count = 3;
    made.change[1][ELAPSED] = tested(6.65, 4.6, .02, 1);
    made.change[2][ELAPSED] = tested(6.65, 4.7, .02, 1);
    made.change[0][FAULTS] = tested(8120, 2560, .2, 1);
    check_answer(&made, "B takes 31 % less time (29 to 33 %): phase A is 2.05 s shorter");
    made.change[0][ELAPSED] = tested(13.3, 9, .02, 1);
    made.change[1][ELAPSED] = tested(6.65, 4.6, .02, 1);
    made.change[2][ELAPSED] = tested(6.65, 4.6, .02, 1);
    check_answer(&made, "B takes 32 % less time (30 to 34 %), in every phase, with 68 % fewer "
                        "minor faults");
}

static void test_answer_pair(void **state)
{
    struct made made;

    (void)state;
    make_pair(&made);
    check_answer(&made, "These runs differ: B took 31 % less time (9.20 s for 13.3 s): phase B was "
                        "4.10 s shorter; one run a side cannot tell why, nor what the next one "
                        "takes");
    made.comparison.row_count = 1;
    check_answer(&made, "These runs differ: B took 31 % less time (9.20 s for 13.3 s), with CPI "
                        "0.840 for 1.21; one run a side cannot tell why, nor what the next one "
                        "takes");
    made.change[0][CPI].adjusted = .2;
    check_answer(&made, "B took 31 % less time (9.20 s for 13.3 s); one run a side cannot tell "
                        "why, nor what the next one takes");
    made.change[0][ELAPSED] = untested(13.3, 13.31, RPS_CHANGE_SINGLE);
    check_answer(&made, "B took as long as A (13.3 s); one run a side cannot tell why, nor what "
                        "the next one takes");
    made.change[0][ELAPSED] = untested(0, 2, RPS_CHANGE_SINGLE);
    check_answer(&made, "The elapsed time of a side is not known");
    made.comparison.row_count = 0;
    check_answer(&made, "The elapsed time of a side is not known");
}

static void test_answer_same(void **state)
{
    struct made made;

    (void)state;
    begin(&made, 5, 2);
    made.change[0][ELAPSED] = tested(13.3, 13.4, .02, 0);
    check_answer(&made, "No difference of the elapsed time is shown: if there is one, it is below "
                        "2.8 %");
    made.change[1][CPI] = tested(1.2, 2.4, .1, 1);
    check_answer(&made, "No difference of the elapsed time is shown: if there is one, it is below "
                        "2.8 %; but B has CPI 2.40 for 1.20 in phase A");
    made.change[1][ELAPSED] = tested(4, 6, .1, 1);
    check_answer(&made, "No difference of the elapsed time is shown: if there is one, it is below "
                        "2.8 %; but phase A is 2.00 s longer");
    made.change[0][CPU_TIME] = tested(12, 8, .03, 1);
    add_function(&made, 0, "solve", "three.c", tested(8, 4.5, .1, 1));
    check_answer(&made, "B takes 33 % less CPU time (30 to 36 %); solve (three.c:40) has most of "
                        "it; no difference of the elapsed time is shown");
    made.change[0][CPU_TIME] = made.change[1][ELAPSED] = tested(12, 8, .5, 0);
    made.change[1][CPI] = tested(1, 1, .1, 0);
    made.change[0][ELAPSED] = tested(13.3, 9.2, .3, 0);
    check_answer(&made, "It is not sure that B takes 31 % less time (1 to 61 %): too little for 4 "
                        "tests");
}

/* --- the whole text --------------------------------------------------------------------------- */

static void test_text(void **state)
{
    struct made made;

    (void)state;
    make_groups(&made);
    check_written(rps_comparison_output_text, &made, "");
}

static void test_text_pair(void **state)
{
    struct made made;

    (void)state;
    make_pair(&made);
    check_written(rps_comparison_output_text, &made, "");
}

static void test_markdown(void **state)
{
    struct made made;

    (void)state;
    make_groups(&made);
    check_written(rps_comparison_output_markdown, &made, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer_groups), cmocka_unit_test(test_answer_phases),
        cmocka_unit_test(test_answer_pair),   cmocka_unit_test(test_answer_same),
        cmocka_unit_test(test_text),          cmocka_unit_test(test_text_pair),
        cmocka_unit_test(test_markdown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
