/* Tests of the interactive page: it is a single file, and texts from the store cannot run as code.
 */
#include <ctype.h>
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
#include "rpistat/clock.h"
#include "rpistat/comparison.h"
#include "rpistat/plan.h"
#include "rpistat/store.h"

#define STACKS 30000

static char *draw_page(struct fixture *fixture, struct rps_plot_options options)
{
    drawing_must(fixture, fixture_file(fixture, "run.html"), options);
    return drawing_text(fixture_file(fixture, "run.html"), NULL);
}

static void test_whole(void **state)
{
    struct fixture fixture;
    char *text;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    drawing_story(&fixture);
    text = draw_page(&fixture, (struct rps_plot_options){0});
    assert_memory_equal(text, "<!DOCTYPE html>\n", 16);
    assert_non_null(strstr(text, "</html>\n"));
    assert_null(strstr(text, "@@"));
    assert_non_null(strstr(text, "data-theme=\"auto\""));
    assert_non_null(strstr(text, "default-src 'none'"));
    assert_null(strstr(text, "src=\""));
    assert_null(strstr(text, "href="));
    assert_null(strstr(text, "url("));
    assert_null(strstr(text, "@import"));
    assert_non_null(strstr(text, "\"title\": \"Cycles per instruction\""));
    assert_non_null(strstr(text, "\"earliest\": [0, 7.6, 11.8, 19.9]"));
    assert_non_null(strstr(
        text, "\"labelTable\": {\n    \"head\": [\"Class\", \"Phases\", \"Total\", \"Share\", "));
    assert_non_null(strstr(text, "[\"explained\", "));
    free(text);
    text = draw_page(&fixture, (struct rps_plot_options){.theme = RPS_THEME_DARK, .no_phases = 1});
    assert_non_null(strstr(text, "data-theme=\"dark\""));
    assert_non_null(strstr(text, "\"earliest\": []"));
    free(text);
    fixture_end(&fixture);
}

/* Text of the store tries to become markup, to end the data, and to be a script. */
static void test_hostile_text(void **state)
{
    char *argv[] = {(char[]){"</title></script><script>alert(1)</script>"}, (char[]){"<!--"}, NULL};
    struct fixture fixture;
    char *text;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    rps_run_set_command(&fixture.run, 2, argv);
    strcpy(fixture.run.label, "</script><img src=x onerror=alert(2)>");
    rps_run_add_tag(&fixture.run, "<b>", "@@data@@ \\\" </SCRIPT>");
    strcpy(fixture.plan->metric[0].panel, "<script>alert(3)</script>");
    strcpy(fixture.plan->metric[1].label, "\" onload=\"alert(4)");
    drawing_story(&fixture);
    text = draw_page(&fixture, (struct rps_plot_options){0});
    assert_int_equal(drawing_count(text, "<script"), 4); /* The scripts are the data, uPlot, and
                                                            the page's own. */
    assert_int_equal(drawing_count(text, "</script"), 4);
    assert_int_equal(drawing_count(text, "</SCRIPT"), 0);
    assert_int_equal(drawing_count(text, "<img"), 0);
    assert_int_equal(drawing_count(text, "<!--"), 0);
    assert_int_equal(drawing_count(text, "</title"), 1);
    assert_non_null(strstr(text, "\\u003c/script>\\u003cb>begin & \\\"end\\\""));
    assert_non_null(strstr(text, "@@data@@ \\\\\\\" \\u003c/SCRIPT>"));
    assert_non_null(strstr(text, "\\\" onload=\\\"alert(4)"));
    free(text);
    fixture_end(&fixture);
}

/* Write more stacks than fit in a page, with names of 300 letters. */
static void write_stacks(struct fixture *fixture)
{
    const struct rps_sampling sampling = {.event = "cpu-clock", .frequency = 99, .stacks = "fp"};
    const struct rps_module module = {0, RPS_MODULE_FILE, "/usr/bin/deep", ""};

    rps_writer_sampling(fixture->writer, &sampling);
    rps_writer_module(fixture->writer, &module);
    for (int64_t i = 0; i < STACKS; i++) {
        const struct rps_frame frame = {i, 0, (uint64_t)i, 0};
        const struct rps_stack stack = {i, (i - 1) / 2 - (i == 0), i};

        rps_writer_frame(fixture->writer, &frame);
        rps_writer_stack(fixture->writer, &stack);
    }
}

static void name_stacks(const struct fixture *fixture)
{
    struct rps_location *location = calloc(STACKS, sizeof(*location));
    const struct rps_code code = {.location_count = STACKS, .location = location};
    char(*name)[300] = calloc(STACKS, sizeof(*name));
    struct rps_error err;

    assert_true(location && name);
    for (int i = 0; i < STACKS; i++) {
        snprintf(name[i], sizeof(name[i]), "</script><b>%0280d", i);
        location[i] = (struct rps_location){i, 0, name[i], "", 0, RPS_LOCATION_SYMBOL};
    }
    if (rps_store_set_locations(fixture->path, fixture->run_id, &code, &err) < 0)
        fail_msg("%s", err.message);
    free(location);
    free(name);
}

#define ROWS   41
#define PHASES 2000

/* Return the number of samples of all functions in the page. */
static uint64_t samples_of(const char *text)
{
    const char *at = strstr(text, "\"counts\": \"");
    uint64_t all = 0;

    assert_non_null(at);
    for (at += strlen("\"counts\": \""); *at != '"'; at++) {
        if (*at == 'x')
            all += strtoull(at + 1, NULL, 10) - 1;
        all += isdigit(*at) && !isdigit(at[-1]) && at[-1] != 'x'; /* at the end of a count */
    }
    return all;
}

/* Draw the page of a run compared with itself. The run has PHASES phases, which cover neither its
 * begin nor its end, and names that contain markup. */
static char *draw_comparison(struct fixture *fixture)
{
    static struct rps_phase phase[PHASES];
    static struct rps_comparison_figure figure[32];
    static struct rps_change change[32];
    static struct rps_comparison_row row[ROWS];
    struct rps_part_shares shares[2] = {0};
    struct rps_comparison_run run[2] = {0};
    char remark[] = "</script><script>alert(5)</script>", *remarks[] = {remark};
    struct rps_comparison comparison = {.arena = rps_arena_new(),
                                        .name = {"</title><script>alert(6)</script>", "<!-- after"},
                                        .run_count = 2,
                                        .run = run,
                                        .a_count = 1,
                                        .standing = {0, 1},
                                        .b_count = 1,
                                        .figure = figure,
                                        .row_count = ROWS,
                                        .row = row,
                                        .remark_count = 1,
                                        .remark = remarks,
                                        .shares = shares};
    const struct rps_comparison_plot plot = {.comparison = &comparison,
                                             .path = fixture_file(fixture, "compare.html"),
                                             .theme = RPS_THEME_LIGHT,
                                             .script_folder = TEST_PLOT_FOLDER};
    struct rps_error err;

    figure[comparison.figure_count++] =
        (struct rps_comparison_figure){RPS_FIGURE_TIME, "elapsed", "Elapsed", "s"};
    for (int m = 0; m < fixture->plan->metric_count; m++) {
        struct rps_comparison_figure *next = &figure[comparison.figure_count++];

        next->kind = RPS_FIGURE_METRIC;
        snprintf(next->name, sizeof(next->name), "%s", fixture->plan->metric[m].name);
        snprintf(next->label, sizeof(next->label), "%s", "\" onload=\"alert(7)");
    }
    for (size_t f = 0; f < comparison.figure_count; f++)
        change[f] = (struct rps_change){.a = 2,
                                        .b = 1,
                                        .ratio = -.5,
                                        .low = -.6,
                                        .high = -.4,
                                        .p = .01,
                                        .adjusted = .02,
                                        .basis = RPS_CHANGE_GROUPS};
    for (int r = 0; r < ROWS; r++)
        row[r] = (struct rps_comparison_row){
            .label = r - 1, .a_times = 1, .b_times = 1, .change = change};
    for (int i = 0; i < PHASES; i++)
        phase[i] = (struct rps_phase){.first = 20 * (uint64_t)i,
                                      .last = 20 * (uint64_t)i + 19,
                                      .start_ns = 20 * i * FIXTURE_PERIOD_NS,
                                      .end_ns = 20 * (i + 1) * FIXTURE_PERIOD_NS,
                                      .label = i % (ROWS - 1)};
    for (int side = 0; side < 2; side++) {
        run[side] = (struct rps_comparison_run){
            .reader = fixture->reader,
            .run_id = fixture->run_id,
            .side = (enum rps_comparison_side)side,
            .store = fixture->path,
            .run = fixture->run,
            .phases = {.count = PHASES - 2, .phase = phase + 1, .label_count = ROWS - 1}};
        run[side].run.elapsed_ns = 20 * PHASES * FIXTURE_PERIOD_NS;
        assert_true(rps_part_shares_of_labels(comparison.arena, fixture->reader, fixture->run_id,
                                              &run[side].phases, &(struct rps_cpus){0},
                                              &shares[side], &err) >= 0);
    }
    if (rps_comparison_draw(&plot, &err) < 0)
        fail_msg("%s", err.message);
    rps_arena_free(comparison.arena);
    return drawing_text(plot.path, NULL);
}

/* The page of a long run has bins instead of periods. The page is at most 2 MB, even with thousands
 * of phases. With a hundred different samples per bin, the page is at most 3 MB. */
static void test_long_run(void **state)
{
    const uint64_t count[2] = {3000000, 4000};
    const struct rps_writer_options roomy = {.commit_ns = RPS_NS_PER_S, .ring_periods = 400000};
    static struct rps_phase phase[8000];
    struct fixture fixture;
    char *text;

    (void)state;
    for (size_t i = 0; i < 8000; i++)
        phase[i] = (struct rps_phase){.first = 5 * i, .last = 5 * i + 4, .label = (int)i % 2};
    fixture_begin(&fixture, "arm1176");
    fixture_write_with(&fixture, &roomy);
    write_stacks(&fixture);
    for (int i = 0; i < 40000; i++) {
        fixture_period(&fixture, (uint64_t)(5000000 + i % 1000), count);
        for (int k = 0; k < 5; k++) {
            const struct rps_code_count some = {
                .cpu = -1, .period = (uint64_t)i, .id = (i * 5 + k) * 7919 % STACKS, .samples = 2};

            rps_writer_code_count(fixture.writer, RPS_COUNT_STACKS, &some);
        }
    }
    fixture_read(&fixture);
    name_stacks(&fixture);
    drawing_detected(&fixture, phase, 8000);
    text = draw_page(&fixture, (struct rps_plot_options){0});
    assert_non_null(strstr(text, "\"counts\": \""));
    assert_true(strlen(text) < 3000000);
    assert_int_equal(drawing_count(text, "</script"), 4);
    assert_non_null(strstr(text, "\"\\u003c/script>\\u003cb>000"));
    free(text);
    text = draw_page(&fixture, (struct rps_plot_options){.code = RPS_PLOT_CODE_NONE});
    assert_in_range((int)drawing_number(text, "\"points\": "), 1800, 2001);
    assert_non_null(strstr(text, "\"binned\": true"));
    assert_true(strlen(text) < 2000000);
    free(text);
    text = draw_comparison(&fixture);
    assert_non_null(strstr(text, "data-theme=\"light\""));
    assert_int_equal(samples_of(text), 2 * 40000 * 5 * 2); /* Samples outside the phases are
                                                              included. */
    assert_true(strlen(text) > 500000 && strlen(text) < 3000000);
    assert_int_equal(drawing_count(text, "<script"), 5); /* The scripts are the data, uPlot, and
                                                            three of the page's own. */
    assert_int_equal(drawing_count(text, "</script"), 5);
    assert_int_equal(drawing_count(text, "<!--"), 0);
    assert_int_equal(drawing_count(text, "</title"), 1);
    assert_non_null(strstr(text, "\"\\u003c/script>\\u003cb>000"));
    assert_non_null(strstr(text, "\\\" onload=\\\"alert(7)"));
    free(text);
    fixture_end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_hostile_text),
        cmocka_unit_test(test_long_run),
    };

    setenv("TZ", "UTC0", 1);
    tzset();
    return cmocka_run_group_tests_name("plot/page", tests, NULL, NULL);
}
