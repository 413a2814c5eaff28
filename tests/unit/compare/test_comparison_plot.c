/* Tests of comparison plots: the positions of both sides' phases on the phase axis, the drawn
 * elements, and rejected requests. The comparison is made by hand.
 *
 *     A   0 0 0 0 | 1 1 1 1 | 3 3 3 3                      one letter per second, numbers of rows
 *     A'  0 0 0 0 | 1 1 1 1 | - - | 3 3 3 3                another run of side A
 *     B   0 0 0 0 | 1 1 1 1 1 1 1 1 | 2 2 | 3 3 3 3 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/drawing.h"
#include "rpistat/comparison.h"
#include "rpistat/plan.h"
#include "rpistat/random.h"
#include "rpistat/store.h"
#include "compare/parts.h"

#define RUNS      3
#define ROWS      5
#define PHASES    4
#define PER_PHASE 10 /* periods per second */

static const struct {
    enum rps_comparison_side side;
    int count;
    struct {
        int label, seconds;
    } phase[PHASES];
} story[RUNS] = {
    {RPS_SIDE_A, 3, {{0, 4}, {1, 4}, {3, 4}}},
    {RPS_SIDE_A, 4, {{0, 4}, {1, 4}, {-1, 2}, {3, 4}}},
    {RPS_SIDE_B, 4, {{0, 4}, {1, 8}, {2, 2}, {3, 4}}},
};

static struct rps_arena *arena;

struct pair {
    struct fixture fixture[RUNS];
    struct rps_comparison_run run[RUNS];
    struct rps_comparison_row row[ROWS];
    struct rps_comparison comparison;
    struct rps_comparison_plot plot;
};

/* Write the periods of a phase. In row 1, side B has fewer cycles than side A. */
static void write_phase(struct fixture *fixture, int label, int seconds, int is_b)
{
    for (int i = 0; i < seconds * PER_PHASE; i++) {
        const uint64_t instructions = 3000000 - 500000 * (uint64_t)(label + 1);
        const uint64_t count[2] = {instructions, 4000 * (uint64_t)(label + 2)};

        fixture_period(fixture, label == 1 && is_b ? 4000000 : 5000000, count);
    }
}

static void begin_run(struct pair *pair, int r)
{
    struct fixture *fixture = &pair->fixture[r];
    struct rps_comparison_run *run = &pair->run[r];
    int64_t end_ns = 0;
    struct rps_error err;

    fixture_begin(fixture, "arm1176");
    fixture_write(fixture);
    run->phases.phase = rps_arena_get(arena, PHASES, sizeof(*run->phases.phase));
    for (int i = 0; i < story[r].count; i++) {
        struct rps_phase *phase = &run->phases.phase[run->phases.count++];

        write_phase(fixture, story[r].phase[i].label, story[r].phase[i].seconds,
                    story[r].side == RPS_SIDE_B);
        phase->label = story[r].phase[i].label;
        phase->start_ns = end_ns;
        phase->end_ns = end_ns = end_ns + story[r].phase[i].seconds * INT64_C(1000000000);
    }
    fixture_read(fixture);
    run->reader = fixture->reader;
    run->run_id = fixture->run_id;
    run->side = story[r].side;
    assert_int_equal(rps_reader_run(arena, run->reader, run->run_id, &run->run, &err), 0);
}

static void add_figure(struct rps_comparison *comparison, enum rps_comparison_kind kind,
                       const char *name)
{
    struct rps_comparison_figure *figure = &comparison->figure[comparison->figure_count++];

    figure->kind = kind;
    snprintf(figure->name, sizeof(figure->name), "%s", name);
}

static struct rps_change *change_of(struct pair *pair, int row, const char *name)
{
    return &pair->row[row].change[rps_comparison_figure(&pair->comparison, name)];
}

/* Make a comparison in which CPI differs with high confidence, and the miss ratio of the data cache
 * with less, in one row each. */
static void begin(struct pair *pair)
{
    struct rps_comparison *comparison = &pair->comparison;
    const struct rps_plan *plan;

    memset(pair, 0, sizeof(*pair));
    for (int r = 0; r < RUNS; r++)
        begin_run(pair, r);
    plan = pair->fixture[0].plan;
    *comparison = (struct rps_comparison){.arena = arena,
                                          .name = {"main", "<b>&]]>\033"},
                                          .run_count = RUNS,
                                          .run = pair->run,
                                          .a_count = 2,
                                          .standing = {0, 2}};
    comparison->b_count = 1;
    comparison->row = pair->row;
    comparison->row_count = ROWS;
    comparison->figure = calloc((size_t)plan->metric_count + 3, sizeof(*comparison->figure));
    add_figure(comparison, RPS_FIGURE_TIME, "elapsed");
    for (int m = 0; m < plan->metric_count; m++)
        add_figure(comparison, RPS_FIGURE_METRIC, plan->metric[m].name);
    add_figure(comparison, RPS_FIGURE_METRIC, "cpu_use");
    add_figure(comparison, RPS_FIGURE_TOTAL, "instructions");
    for (int r = 0; r < ROWS; r++) {
        pair->row[r].label = r - 1;
        pair->row[r].change = calloc(comparison->figure_count, sizeof(*pair->row[r].change));
        for (size_t f = 0; f < comparison->figure_count; f++)
            pair->row[r].change[f] = (struct rps_change){.a = 1, .b = 1, .p = NAN, .ratio = NAN};
    }
    *change_of(pair, 0, "elapsed") = (struct rps_change){.a = 13, .b = 18, .ratio = .38, .p = .5};
    *change_of(pair, 2, "cpi") = (struct rps_change){.a = 2, .b = 1.6, .ratio = -.2, .p = 1e-4};
    *change_of(pair, 3, "dc_miss_ratio") = (struct rps_change){.ratio = .02, .p = .01};
    *change_of(pair, 0, "ibuf_stall_percent") = (struct rps_change){.ratio = NAN, .p = NAN};
    pair->plot = (struct rps_comparison_plot){
        .comparison = comparison,
        .script_folder = TEST_PLOT_FOLDER,
    };
}

static void end(struct pair *pair)
{
    for (int r = 0; r < RUNS; r++) {
        fixture_end(&pair->fixture[r]);
    }
    for (int r = 0; r < ROWS; r++)
        free(pair->row[r].change);
    free(pair->comparison.figure);
}

/* --- the axis by phase ------------------------------------------------------------------------ */

static void read_series(struct pair *pair, struct rps_comparison_series *ret)
{
    struct rps_error err;

    if (rps_comparison_series_read(&pair->plot, 6, 100, ret, &err) < 0)
        fail_msg("%s", err.message);
}

/* The width of matched phases is the mean of both sides. Other phases keep their width. */
static void test_slots(void **state)
{
    static const double ends[] = {0, 4, 10, 12, 16};
    struct rps_comparison_series series;
    struct pair pair;

    (void)state;
    begin(&pair);
    read_series(&pair, &series);
    assert_int_equal(series.slot_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_float_equal(series.slot[i].from, ends[i], 1e-9);
        assert_float_equal(series.slot[i].to, ends[i + 1], 1e-9);
    }
    assert_int_equal(series.slot[2].sides, 1 << RPS_SIDE_B);
    assert_int_equal(series.slot[2].label, 2);
    assert_int_equal(series.run[0].stretch[2].slot, 3);
    assert_int_equal(series.run[2].stretch[3].slot, 3);
    assert_float_equal(series.length, 18, 1e-9);
    assert_float_equal(series.phase_length, 16, 1e-9);
    end(&pair);
}

/* For any phases, slots are consecutive, and the run that represents a side is complete. */
static void test_slots_of_any_phases(void **state)
{
    uint64_t random = 16;
    struct pair pair;

    (void)state;
    begin(&pair);
    for (int round = 0; round < 40; round++) {
        struct rps_comparison_series series;

        for (int r = 0; r < RUNS; r++) {
            for (size_t i = 0; i < pair.run[r].phases.count; i++)
                pair.run[r].phases.phase[i].label = (int)(rps_random_next(&random) % ROWS) - 1;
        }
        read_series(&pair, &series);
        for (size_t i = 0; i < series.slot_count; i++)
            assert_true(series.slot[i].from >= (i > 0 ? series.slot[i - 1].to : 0));
        for (size_t r = 0; r < RUNS; r += 2) { /* the runs that represent their sides */
            for (size_t i = 0; i < series.run[r].stretch_count; i++)
                assert_true(
                    series.run[r].stretch[i].slot < series.slot_count &&
                    (i == 0 || series.run[r].stretch[i].slot > series.run[r].stretch[i - 1].slot));
        }
    }
    end(&pair);
}

/* --- figures ---------------------------------------------------------------------------------- */

/* Metrics are ordered: CPU use, then by confidence, then untested metrics in the order of the plan.
 * Counts that are no metrics, and metrics that are always zero, are left out. */
static void test_figures(void **state)
{
    static const char *const first[] = {"cpu_use", "cpi", "dc_miss_ratio"};
    struct rps_comparison_series series;
    struct pair pair;

    (void)state;
    begin(&pair);
    read_series(&pair, &series);
    assert_int_equal(series.figure_count, 6);
    for (int i = 0; i < 3; i++)
        assert_string_equal(pair.comparison.figure[series.figure[i]].name, first[i]);
    for (size_t i = 3; i < series.figure_count; i++)
        /* a metric that is always zero */
        assert_string_not_equal(series.metric[i].name, "ibuf_stall_percent");
    assert_string_equal(series.metric[0].label, "CPU use");
    assert_string_equal(series.metric[1].name, "cpi");
    assert_int_equal(series.run[0].series[0].count > 10, 1);
    assert_float_equal(series.run[0].series[0].value[3], 100, 1e-6);
    end(&pair);
}

/* --- pictures --------------------------------------------------------------------------------- */

/* Draw, and return one of the files written for gnuplot (NULL: missing file). The caller frees the
 * text. */
static char *draw_and_read(struct pair *pair, const char *name)
{
    char keep[1024], path[1024], file[1100];
    struct rps_error err;
    FILE *there;

    strcpy(keep, fixture_file(&pair->fixture[0], "keep"));
    strcpy(path, fixture_file(&pair->fixture[0], "a.svg"));
    pair->plot.keep = keep;
    pair->plot.path = path;
    if (rps_comparison_draw(&pair->plot, &err) < 0)
        fail_msg("%s", err.message);
    snprintf(file, sizeof(file), "%s/%s", keep, name);
    there = fopen(file, "r");
    if (there)
        fclose(there);
    return there ? drawing_text(file, NULL) : NULL;
}
/* Return the end of the x axis of the first panel that has an axis. */
static double x_end(const char *panels)
{
    const char *shown = strstr(panels, "set border 3 "), *at = panels, *before = NULL;

    for (; (at = strstr(at, "set xrange [")) != NULL && at < shown; at++)
        before = at;
    assert_non_null(before);
    return strtod(strchr(before, ':') + 1, NULL);
}
static void test_by_time(void **state)
{
    struct pair pair;
    char *text;

    (void)state;
    drawing_need_gnuplot();
    begin(&pair);
    assert_null(draw_and_read(&pair, "phases.dat"));
    text = draw_and_read(&pair, "panels.gp");
    assert_int_equal(drawing_panels(text), 6);
    assert_float_equal(x_end(text), 18, 1e-9);
    /* letters of sides A and B */
    assert_int_equal(drawing_count(text, ", 0.5 front center"), 3 + 4);
    free(text);
    text = draw_and_read(&pair, "a-phases.dat");
    assert_non_null(strstr(text, "\n8 12 "));
    free(text);
    text = draw_and_read(&pair, "text.gp");
    assert_non_null(strstr(text, "|./naive\n|2 runs against 1 \xc2\xb7 13.0 s against 18.0 s\n"));
    assert_non_null(strstr(text, "|main\n|<b>&]]&#x3e;"));
    assert_null(strchr(text, '\033'));
    assert_non_null(strstr(text, "|CPU use (%)\n|CPI\n|DC miss ratio (%)\n"));
    free(text);
    end(&pair);
}

/* Without phases, no strips are drawn. If the height is given, the plot names the panels it left
 * out. */
static void test_without_phases(void **state)
{
    struct pair pair;
    char *text;

    (void)state;
    drawing_need_gnuplot();
    begin(&pair);
    for (int r = 0; r < RUNS; r++)
        pair.run[r].phases = (struct rps_phases){0};
    pair.plot.width = 400;
    pair.plot.height = 260;
    assert_null(draw_and_read(&pair, "a-phases.dat"));
    text = draw_and_read(&pair, "panels.gp");
    assert_float_equal(x_end(text), 18, 1e-9);
    assert_in_range(drawing_panels(text), 1, 4);
    free(text);
    text = draw_and_read(&pair, "text.gp");
    assert_non_null(strstr(text, " of 6 panels fit; --metric chooses"));
    free(text);
    end(&pair);
}

/* The dark plot equals the golden data. The light plot differs only in colours. */
static void test_golden(void **state)
{
    char path[2][1024], keep[2][1024];
    struct rps_error err;
    struct pair pair;

    (void)state;
    drawing_need_gnuplot();
    begin(&pair);
    pair.plot.width = 640;
    for (int i = 0; i < 2; i++) {
        pair.plot.theme = i == 0 ? RPS_THEME_DARK : RPS_THEME_LIGHT;
        strcpy(keep[i], fixture_file(&pair.fixture[0], i == 0 ? "dark" : "light"));
        strcpy(path[i], fixture_file(&pair.fixture[0], i == 0 ? "dark.svg" : "light.svg"));
        pair.plot.keep = keep[i];
        pair.plot.path = path[i];
        if (rps_comparison_draw(&pair.plot, &err) < 0)
            fail_msg("%s", err.message);
    }
    drawing_golden("compare-dark", keep[0], path[0]);
    drawing_same_but_inks(keep[0], path[0], keep[1], path[1]);
    end(&pair);
}

static void test_refused(void **state)
{
    static const char *const total[] = {"instructions"};
    struct rps_error err;
    struct pair pair;

    (void)state;
    begin(&pair);
    pair.plot.path = "a.gif";
    assert_int_equal(rps_comparison_draw(&pair.plot, &err), RPS_USAGE);
    assert_non_null(strstr(err.message, ".html"));
    pair.plot.path = "a.html";
    pair.plot.keep = "keep";
    assert_int_equal(rps_comparison_draw(&pair.plot, &err), RPS_USAGE);
    pair.plot.path = fixture_file(&pair.fixture[0], "a.svg");
    pair.plot.metric = total;
    pair.plot.metric_count = 1;
    assert_int_equal(rps_comparison_draw(&pair.plot, &err), RPS_USAGE);
    assert_non_null(strstr(err.message, "'instructions'"));
    assert_non_null(strstr(err.message, "dc_miss_ratio"));
    end(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots),          cmocka_unit_test(test_slots_of_any_phases),
        cmocka_unit_test(test_figures),        cmocka_unit_test(test_by_time),
        cmocka_unit_test(test_without_phases), cmocka_unit_test(test_golden),
        cmocka_unit_test(test_refused),
    };

    int failed;

    arena = rps_arena_new();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    rps_arena_free(arena);
    return failed;
}
