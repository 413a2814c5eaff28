/* Tests of the plot kinds: their data, byte for byte for a fixed run, and the parts that are left
 * out or refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "support/drawing.h"
#include "rpistat/picture.h"
#include "rpistat/plan.h"
#include "rpistat/plot.h"

/* The smallest width that shows every part of the pictures: legends, words, marks, three columns of
 * phases. */
#define GOLDEN_WIDTH 480

/* --- golden pictures -------------------------------------------------------------------------- */

struct golden {
    enum rps_plot_kind kind;
    int samples; /* 1 if the run is that of drawing_samples */
};

static struct golden golden_pictures[] = {
    {RPS_PLOT_TIME, 0}, {RPS_PLOT_PHASES, 0}, {RPS_PLOT_SCATTER, 0},
    {RPS_PLOT_HEAT, 0}, {RPS_PLOT_TIME, 1},
};

/* The light picture has the golden data. The dark picture differs from the light one only in
 * colours. */
static void test_golden(void **state)
{
    const struct golden *golden = *state;
    struct rps_plot_options options = {.kind = golden->kind, .width = GOLDEN_WIDTH};
    char name[64], path[2][1024], keep[2][1024];
    struct fixture fixture;

    drawing_need_gnuplot();
    fixture_begin(&fixture, "arm1176");
    if (golden->samples)
        drawing_samples(&fixture);
    else
        drawing_story(&fixture);
    for (int i = 0; i < 2; i++) {
        options.theme = i == 0 ? RPS_THEME_LIGHT : RPS_THEME_DARK;
        strcpy(keep[i], fixture_file(&fixture, i == 0 ? "light" : "dark"));
        strcpy(path[i], fixture_file(&fixture, i == 0 ? "light.svg" : "dark.svg"));
        options.keep = keep[i];
        drawing_must(&fixture, path[i], options);
    }
    snprintf(name, sizeof(name), "%s-light",
             golden->samples ? "code" : rps_plot_kind_names[golden->kind]);
    drawing_golden(name, keep[0], path[0]);
    drawing_same_but_inks(keep[0], path[0], keep[1], path[1]);
    fixture_end(&fixture);
}

/* --- phases ----------------------------------------------------------------------------------- */

/* Write a run of `periods` periods with equal counts. */
static void begin_run(struct fixture *fixture, int periods)
{
    const uint64_t count[2] = {3000000, 4000};

    fixture_begin(fixture, "arm1176");
    fixture_write(fixture);
    for (int i = 0; i < periods; i++)
        fixture_period(fixture, (uint64_t)(5000000 + 100000 * (i % 7)), count);
    rps_writer_mark(fixture->writer, INT64_C(1250000000), "in the middle of period 12");
    fixture_read(fixture);
}

/* Draw, and return the text of one of the files kept for gnuplot. The caller frees the text. */
static char *draw_and_read(struct fixture *fixture, struct rps_plot_options options,
                           const char *name)
{
    char keep[1024], file[1100];

    strcpy(keep, fixture_file(fixture, "keep"));
    options.keep = keep;
    snprintf(file, sizeof(file), "%s/%s", keep, name);
    unlink(file);
    drawing_must(fixture, fixture_file(fixture, "a.svg"), options);
    return access(file, R_OK) == 0 ? drawing_text(file, NULL) : NULL;
}

/* With fourteen labels, each colour is used twice, the second time hatched. The legend names all
 * labels, because some do not fit in the strip. */
static void test_many_labels(void **state)
{
    struct rps_phase phase[14] = {{.first = 0}};
    struct fixture fixture;
    char *text;

    (void)state;
    drawing_need_gnuplot();
    begin_run(&fixture, 280);
    for (int i = 0; i < 14; i++) {
        phase[i].first = i == 0 ? 0 : (uint64_t)(i == 13 ? 279 : 20 * i);
        phase[i].last = (uint64_t)(i == 13 ? 279 : i == 12 ? 278 : 20 * i + 19);
        phase[i].label = i;
    }
    drawing_detected(&fixture, phase, 14);
    text = draw_and_read(&fixture, (struct rps_plot_options){0}, "phases.dat");
    assert_int_equal(drawing_count(text, "\n"), 14);
    assert_int_equal(drawing_count(text, " 0x77AADD\n"), 2); /* boxes of labels A and J */
    free(text);
    text = draw_and_read(&fixture, (struct rps_plot_options){0}, "hatched.dat");
    assert_int_equal(drawing_count(text, "\n"), 5);
    free(text);
    text = draw_and_read(&fixture, (struct rps_plot_options){0}, "text.gp");
    for (char label = 'A'; label <= 'N'; label++) /* The legend has all labels; the strip has all
                                                     but N, which is one period long. */
        assert_int_equal(drawing_count(text, (char[]){'\n', '|', label, '\n', '\0'}),
                         label < 'N' ? 2 : 1);
    free(text);
    fixture_end(&fixture);
}

/* With more phases than pixels, each column has its most frequent label, and the columns cover the
 * whole axis. */
static void test_crowded_phases(void **state)
{
    struct rps_phase *phase = calloc(2000, sizeof(*phase));
    double from, to, before = 0, of_a = 0;
    struct fixture fixture;
    char *text, *at;

    (void)state;
    drawing_need_gnuplot();
    assert_non_null(phase);
    begin_run(&fixture, 8000);
    for (int i = 0; i < 2000; i++) { /* phases of label A last three periods, of label B one */
        phase[i].first = (uint64_t)(4 * (i / 2) + 3 * (i % 2)) * 2;
        phase[i].last =
            i == 1999 ? 7999 : (uint64_t)(4 * ((i + 1) / 2) + 3 * ((i + 1) % 2)) * 2 - 1;
        phase[i].label = i % 2;
    }
    drawing_detected(&fixture, phase, 2000);
    text = draw_and_read(&fixture, (struct rps_plot_options){.width = 400, .height = 250},
                         "phases.dat");
    at = text;
    while (sscanf(at, "%lf %lf", &from, &to) == 2) {
        assert_true(fabs(from - before) < 1e-6);
        of_a += strncmp(strstr(at, "0x"), "0x77AADD", 8) == 0 ? to - from : 0;
        before = to;
        at = strchr(at, '\n') + 1;
    }
    assert_true(fabs(before - 800) < 1e-6);
    assert_true(of_a > 700); /* In nearly every column, A is the most frequent label. */
    free(text);
    assert_null(draw_and_read(&fixture, (struct rps_plot_options){.width = 400, .height = 250},
                              "bounds.dat"));
    fixture_end(&fixture);
    free(phase);
}

/* On the cycle axis a boundary is drawn at its cycle timestamp, although cycles per period vary. No
 * boundary is drawn outside the plotted range. */
static void test_phases_on_cycles(void **state)
{
    static const struct rps_phase phase[] = {{.first = 0, .last = 29, .label = 0},
                                             {.first = 30, .last = 99, .label = 1}};
    uint64_t cycle = 0;
    struct fixture fixture;
    char *text;

    (void)state;
    drawing_need_gnuplot();
    begin_run(&fixture, 100);
    drawing_detected(&fixture, phase, 2);
    for (int i = 0; i < 30; i++)
        cycle += (uint64_t)(5000000 + 100000 * (i % 7));
    text = draw_and_read(&fixture, (struct rps_plot_options){.axis = RPS_AXIS_CYCLE}, "bounds.dat");
    assert_int_equal((uint64_t)strtod(text, NULL), cycle);
    free(text);
    cycle = (5000000 + 100000 * 5) / 2; /* half of the cycles of period 12 */
    for (int i = 0; i < 12; i++)
        cycle += (uint64_t)(5000000 + 100000 * (i % 7));
    text = draw_and_read(&fixture, (struct rps_plot_options){.axis = RPS_AXIS_CYCLE}, "marks.dat");
    assert_int_equal((uint64_t)strtod(text, NULL), cycle);
    free(text);
    text = draw_and_read(&fixture, (struct rps_plot_options){.from_ns = INT64_C(4000000000)},
                         "phases.dat");
    assert_int_equal(drawing_count(text, "\n"), 1);
    free(text);
    assert_null(draw_and_read(&fixture, (struct rps_plot_options){.from_ns = INT64_C(4000000000)},
                              "bounds.dat"));
    assert_null(draw_and_read(&fixture, (struct rps_plot_options){.no_phases = 1}, "phases.dat"));
    fixture_end(&fixture);
}

/* --- what is drawn ---------------------------------------------------------------------------- */

static void test_chosen_metrics(void **state)
{
    static const char *const metric[] = {"dc_miss_ratio"}, *const wrong[] = {"no_such"};
    static const char *const panel[] = {"tlb MISS"}, *const empty[] = {"colour of the case"};
    struct rps_plot_options options = {.metric = metric, .metric_count = 1};
    struct rps_error err;
    struct fixture fixture;
    char *text;

    (void)state;
    drawing_need_gnuplot();
    begin_run(&fixture, 80);
    text = draw_and_read(&fixture, options, "panels.gp");
    assert_int_equal(drawing_panels(text), 1);
    free(text);
    options.panel = panel;
    options.panel_count = 1;
    text = draw_and_read(&fixture, options, "panels.gp");
    assert_int_equal(drawing_panels(text), 2);
    /* Captions belong to the second panel. */
    assert_int_equal(drawing_count(text, " title caption("), 2);
    free(text);
    options.panel = empty;
    assert_int_equal(drawing_draw(&fixture, "a.svg", options, &err), RPS_USAGE);
    assert_non_null(strstr(err.message, "colour of the case"));
    assert_non_null(strstr(err.message, "'Cycles per instruction'"));
    options.panel_count = 0;
    options.metric = wrong;
    assert_int_equal(drawing_draw(&fixture, "a.svg", options, &err), RPS_USAGE);
    assert_non_null(strstr(err.message, "no_such"));
    assert_non_null(strstr(err.message, "dc_miss_ratio"));
    fixture_end(&fixture);
}

/* If the height is given, panels are left out so that the rest stays legible, and the picture
 * reports the number. */
static void test_panels_that_fit(void **state)
{
    const struct rps_plot_options small = {.width = 400, .height = 300};
    const struct rps_plot_options large = {.width = 4000, .height = 2400};
    struct fixture fixture;
    char *text;

    (void)state;
    drawing_need_gnuplot();
    begin_run(&fixture, 80);
    text = draw_and_read(&fixture, small, "panels.gp");
    assert_in_range(drawing_panels(text), 2, 4);
    free(text);
    text = draw_and_read(&fixture, small, "figure.gp");
    assert_true(drawing_number(text, "\nscale = ") > 0.7);
    free(text);
    text = draw_and_read(&fixture, small, "text.gp");
    assert_non_null(strstr(text, " of 6 panels fit (--panel chooses)"));
    free(text);
    text = draw_and_read(&fixture, large, "panels.gp");
    assert_int_equal(drawing_panels(text), 6);
    free(text);
    text = draw_and_read(&fixture, large, "figure.gp");
    assert_true(drawing_number(text, "\nscale = ") > 3);
    free(text);
    text = draw_and_read(&fixture, large, "text.gp");
    assert_null(strstr(text, "panels fit"));
    free(text);
    fixture_end(&fixture);
}

/* 8,000 rotations give far fewer dots. No label is lost, and all dots lie within the axes, except
 * those counted as outside. */
static void test_scatter_downsamples(void **state)
{
    static const char *const metric[] = {"cpi", "dc_miss_ratio"};
    static const struct rps_phase phase[] = {{.first = 0, .last = 31995, .label = 0},
                                             {.first = 31996, .last = 31999, .label = 1}};
    const struct rps_plot_options options = {
        .kind = RPS_PLOT_SCATTER, .metric = metric, .metric_count = 2};
    uint64_t count[2] = {3000000, 0}, state_of_noise = 1;
    struct fixture fixture;
    char *text;

    (void)state;
    drawing_need_gnuplot();
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    for (uint64_t i = 0; i < 32000; i++) {
        state_of_noise = state_of_noise * 6364136223846793005u + 1442695040888963407u;
        count[1] = 1000000 + (state_of_noise >> 33) % 1000000;
        fixture_period(&fixture, 3000000 + (state_of_noise >> 40) % 3000000, count);
    }
    fixture_read(&fixture);
    drawing_detected(&fixture, phase, 2);
    text = draw_and_read(&fixture, options, "points-0.dat");
    assert_in_range(drawing_count(text, " 0x"), 2000, 7900);
    free(text);
    text = draw_and_read(&fixture, options, "points-1.dat"); /* Label B has its own layer. */
    assert_in_range(drawing_count(text, " 0x"), 1, 1);
    free(text);
    text = draw_and_read(&fixture, options, "panels.gp");
    assert_null(strstr(text, "\"≤")); /* The axes are not logarithmic. */
    free(text);
    text = draw_and_read(&fixture, options, "text.gp");
    assert_null(strstr(text, "beyond the axes"));
    assert_non_null(strstr(text, "|8000 points, one per rotation of the event sets"));
    free(text);
    fixture_end(&fixture);
}

/* The scatter plot chooses the metrics that change between the phases, not the constant ones. A
 * metric that is a thousand times larger in one phase gets a logarithmic axis. */
static void test_scatter_chooses(void **state)
{
    static const struct rps_phase phase[] = {{.first = 0, .last = 199, .label = 0},
                                             {.first = 200, .last = 239, .label = 1}};
    struct fixture fixture;
    char *text;

    (void)state;
    drawing_need_gnuplot();
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    for (uint64_t i = 0; i < 240; i++) {
        uint64_t count[2] = {2000000 + 1000 * (i % 5), 9000 + i % 3};

        if (i % 4 == 1) /* event set of the data cache */
            count[1] = i < 200 ? 100 + i % 7 : 900000 + i;
        fixture_period(&fixture, 7000000, count);
    }
    fixture_read(&fixture);
    drawing_detected(&fixture, phase, 2);
    text = draw_and_read(&fixture, (struct rps_plot_options){.kind = RPS_PLOT_SCATTER}, "text.gp");
    assert_non_null(strstr(text, "|DC miss ratio (%)\n"));
    free(text);
    text =
        draw_and_read(&fixture, (struct rps_plot_options){.kind = RPS_PLOT_SCATTER}, "panels.gp");
    assert_non_null(strstr(text, "\"≤"));
    free(text);
    fixture_end(&fixture);
}

/* Bars of the phase profile show powers of two of the value of the run. A cell has a number if its
 * value is known. */
static void test_profile(void **state)
{
    struct fixture fixture;
    char *text;

    (void)state;
    drawing_need_gnuplot();
    fixture_begin(&fixture, "arm1176");
    drawing_story(&fixture);
    text = draw_and_read(&fixture, (struct rps_plot_options){.kind = RPS_PLOT_PHASES}, "cells.dat");
    assert_int_equal(drawing_count(text, "\n"), 3 * 8); /* three labels, eight cells each: seven
                                                           metrics and CPU use */
    free(text);
    text = draw_and_read(
        &fixture, (struct rps_plot_options){.kind = RPS_PLOT_PHASES, .width = 400, .height = 250},
        "text.gp");
    assert_non_null(strstr(text, " of 8 metrics and 3 of 3 classes fit"));
    free(text);
    fixture_end(&fixture);
}

static void check_words(struct fixture *fixture, struct rps_plot_options options, int rows,
                        const char *labels)
{
    struct rps_picture picture;
    struct rps_chart *chart;
    struct rps_error err;
    char found[RPS_PICTURE_WORDS_MAX + 1] = "";

    options.to_ns = INT64_MAX;
    if (rps_picture_open(&picture, fixture->reader, fixture->run_id, &options, 0, &err) < 0 ||
        rps_picture_fill_time(&picture, fixture->reader, &options, &chart, &err) < 0)
        fail_msg("%s", err.message);
    for (int i = 0; i < picture.words.count; i++)
        found[i] = (char)('A' + picture.words.word[i].label);
    assert_string_equal(found, labels);
    assert_int_equal(picture.words.rows, rows);
    rps_picture_free(&picture);
}

/* The picture describes the longest labels in words, one or two per row. A label with words has no
 * further legend entry. If the height is given, panels take precedence over words. */
static void test_words(void **state)
{
    const struct rps_plot_options narrow = {.width = 300, .height = 900};
    const struct rps_plot_options low = {.width = 400, .height = 300};
    struct rps_phase phase[12] = {{.first = 0}};
    struct fixture fixture;
    char *text;

    (void)state;
    drawing_need_gnuplot();
    fixture_begin(&fixture, "arm1176");
    drawing_story(&fixture);
    check_words(&fixture, (struct rps_plot_options){0}, 2, "ABC");
    text = draw_and_read(&fixture, narrow, "text.gp");
    assert_non_null(
        strstr(text, "\n|B: CPI 1.5 (whole run: 3.2)\n")); /* The second clause does not fit. */
    assert_non_null(strstr(text, "\n|C: CPI 17 (whole run: 3.2)\n"));
    free(text);
    text = draw_and_read(&fixture, (struct rps_plot_options){.kind = RPS_PLOT_PHASES, .width = 300},
                         "text.gp");
    assert_non_null(strstr(text, "\n|B: CPI 1.5 (whole run: 3.2)\n"));
    free(text);
    check_words(&fixture, low, 0, "");
    check_words(&fixture, (struct rps_plot_options){.no_phases = 1}, 0, "");
    for (size_t i = 0; i < 12; i++) { /* L has one period; A, B and C have fewer than the others */
        phase[i].first = i < 3 ? 10 * i : 30 + 22 * (i - 3);
        phase[i].last = i < 2 ? 10 * i + 9 : i == 2 ? 29 : i == 11 ? 239 : 30 + 22 * (i - 2) - 1;
        phase[i].label = (int)i;
    }
    phase[10].last = 238;
    phase[11].first = 239;
    drawing_detected(&fixture, phase, 12);
    check_words(&fixture, (struct rps_plot_options){0}, 5, "DEFGHIJK");
    text = draw_and_read(&fixture, (struct rps_plot_options){0}, "text.gp");
    assert_int_equal(drawing_count(text, "\n|4 more classes (see `rpistat phases`)\n"), 1);
    assert_int_equal(drawing_count(text, "\n|K\n"), 2); /* Label K appears in the legend and in
                                                           the strip. */
    assert_int_equal(drawing_count(text, "\n|L\n"), 1); /* Label L does not fit in the strip. */
    free(text);
    fixture_end(&fixture);
}

/* Metrics that are always zero are listed in one line instead of panels, except metrics that the
 * user requested. The numbers of axes are short. */
static void test_zeros(void **state)
{
    static const char *const asked[] = {"major_fault_rate", "minor_fault_rate",
                                        "cpu_migration_rate"};
    uint64_t count[RPS_SLOT_MAX] = {50000000, 300000};
    struct fixture fixture;
    char *text;

    (void)state;
    drawing_need_gnuplot();
    fixture_begin(&fixture, "software");
    rps_plan_keep_default(fixture.plan);
    fixture_write(&fixture);
    for (int i = 0; i < 40; i++)
        fixture_period(&fixture, 50000000, count);
    fixture_read(&fixture);
    text = draw_and_read(&fixture, (struct rps_plot_options){0}, "text.gp");
    assert_non_null(strstr(text, "\n|Always zero: Context switches, CPU migrations\n"));
    assert_non_null(strstr(text, "|Major faults\n")); /* Major faults share a panel with minor
                                                         faults. */
    free(text);
    text = draw_and_read(&fixture, (struct rps_plot_options){0}, "panels.gp");
    assert_int_equal(drawing_panels(text), 2);
    assert_int_equal((int)drawing_panel_end(text, 2), 3000000);
    assert_non_null(strstr(text, "\"3 M\" (3000000)"));
    free(text);
    text = draw_and_read(&fixture, (struct rps_plot_options){.kind = RPS_PLOT_HEAT}, "text.gp");
    assert_non_null(strstr(text, "zero: Major faults, Context switches, CPU migrations"));
    free(text);
    for (size_t k = 1; k < 4; k++) { /* request one, two and all three metrics */
        const struct rps_plot_options options = {.metric = asked, .metric_count = k};

        text = draw_and_read(&fixture, options, "text.gp");
        assert_null(strstr(text, "Always zero"));
        free(text);
    }
    fixture_end(&fixture);
}

static void test_cut_words(void **state)
{
    struct fixture fixture;
    char *text, *line;

    (void)state;
    drawing_need_gnuplot();
    fixture_begin(&fixture, "arm1176");
    strcpy(fixture.plan->metric[0].label, "Clock cycles of an instruction, END\n|, in the middle");
    drawing_story(&fixture);
    text = draw_and_read(&fixture, (struct rps_plot_options){.width = 300}, "text.gp");
    line = strstr(text, "\n|B: clock cycles of an instruction, END\\n|");
    assert_non_null(line);
    assert_memory_equal(line + 1 + strcspn(line + 1, "\n") - 3, "\xe2\x80\xa6", 3);
    free(text);
    fixture_end(&fixture);
}

/* --- what is refused -------------------------------------------------------------------------- */

static void refuse(struct fixture *fixture, const char *output, struct rps_plot_options options,
                   int code, const char *words)
{
    struct rps_error err = {0};

    assert_int_equal(drawing_draw(fixture, fixture_file(fixture, output), options, &err), code);
    if (!strstr(err.message, words))
        fail_msg("\"%s\" does not say \"%s\"", err.message, words);
    assert_null(strchr(err.message, '\n'));
    assert_int_not_equal(access(fixture_file(fixture, output), F_OK), 0);
}

static void test_refusals(void **state)
{
    static const char *const one[] = {"cpi"};
    struct rps_error err;
    struct fixture fixture;

    (void)state;
    begin_run(&fixture, 80);
    for (int kind = RPS_PLOT_PHASES; kind < RPS_PLOT_KIND_COUNT; kind++) {
        struct rps_plot_options options = {.kind = (enum rps_plot_kind)kind};

        assert_int_equal(drawing_draw(&fixture, "-", options, &err), RPS_USAGE);
        assert_non_null(strstr(err.message, "in characters"));
        refuse(&fixture, "a.html", options, RPS_USAGE, "a page shows the run over time");
    }
    refuse(&fixture, "a.html", (struct rps_plot_options){.keep = "x"}, RPS_USAGE, "--keep");
    refuse(&fixture, "a.svg",
           (struct rps_plot_options){.kind = RPS_PLOT_SCATTER, .metric = one, .metric_count = 1},
           RPS_USAGE, "needs two metrics");
    refuse(&fixture, "a.svg", (struct rps_plot_options){.kind = RPS_PLOT_PHASES, .no_phases = 1},
           RPS_USAGE, "--no-phases");
    fixture_end(&fixture);
}

/* A run of one period and a run that slept throughout give a picture or a one-sentence error. */
static void test_little_to_draw(void **state)
{
    const uint64_t nothing[2] = {0, 0};

    (void)state;
    drawing_need_gnuplot();
    for (int sleeps = 0; sleeps < 2; sleeps++) {
        struct fixture fixture;

        if (sleeps) {
            fixture_begin(&fixture, "arm1176");
            fixture_write(&fixture);
            fixture.next.enabled_ns = fixture.next.running_ns = 0;
            for (int i = 0; i < 20; i++)
                fixture_period(&fixture, 0, nothing);
            fixture_read(&fixture);
        } else {
            begin_run(&fixture, 1);
        }
        for (int kind = 0; kind < RPS_PLOT_KIND_COUNT; kind++) {
            struct rps_plot_options options = {.kind = (enum rps_plot_kind)kind};
            struct rps_error err = {0};
            int result = drawing_draw(&fixture, fixture_file(&fixture, "a.svg"), options, &err);

            if (result < 0)
                assert_true(strlen(err.message) > 20 && !strstr(err.message, "gnuplot"));
            else if (sleeps && (kind == RPS_PLOT_SCATTER || kind == RPS_PLOT_PCA))
                fail_msg("%s drew nothing", rps_plot_kind_names[kind]);
        }
        fixture_end(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"test_golden_time", test_golden, NULL, NULL, &golden_pictures[0]},
        {"test_golden_phases", test_golden, NULL, NULL, &golden_pictures[1]},
        {"test_golden_scatter", test_golden, NULL, NULL, &golden_pictures[2]},
        {"test_golden_heat", test_golden, NULL, NULL, &golden_pictures[3]},
        {"test_golden_code", test_golden, NULL, NULL, &golden_pictures[4]},
        cmocka_unit_test(test_many_labels),
        cmocka_unit_test(test_crowded_phases),
        cmocka_unit_test(test_phases_on_cycles),
        cmocka_unit_test(test_chosen_metrics),
        cmocka_unit_test(test_panels_that_fit),
        cmocka_unit_test(test_scatter_downsamples),
        cmocka_unit_test(test_scatter_chooses),
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_cut_words),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_little_to_draw),
    };

    setenv("TZ", "UTC0", 1);
    tzset();
    return cmocka_run_group_tests_name("plot/kinds", tests, NULL, NULL);
}
