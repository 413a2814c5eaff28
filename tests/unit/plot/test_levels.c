/* Tests of phase levels in pictures: the finer level in the band below the strip, its tints, and
 * the levels that the page receives. */
#include <fcntl.h>
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
#include "plot/page.h"
#include "rpistat/picture.h"

/* Make a level of `count` phases that alternate between two labels. */
static void make_fine(struct rps_arena *arena, struct rps_phases *ret, size_t count)
{
    *ret = (struct rps_phases){.count = count, .label_count = 2};
    ret->phase = rps_arena_get(arena, count, sizeof(*ret->phase));
    for (size_t i = 0; i < count; i++) {
        ret->phase[i].first = 240 * i / count;
        ret->phase[i].last = 240 * (i + 1) / count - 1;
        ret->phase[i].start_ns = (int64_t)ret->phase[i].first * FIXTURE_PERIOD_NS;
        ret->phase[i].end_ns = ((int64_t)ret->phase[i].last + 1) * FIXTURE_PERIOD_NS;
        ret->phase[i].label = (int)i % 2;
    }
}

/* Open the picture of the drawing_story run with its levels of 2, 4 and 7 phases. If `fine` is not
 * 0, add a level of `fine` phases. */
static void open_picture(struct rps_picture *picture, struct fixture *fixture,
                         struct rps_plot_options *options, int characters, size_t fine)
{
    struct rps_error err;

    options->script_folder = TEST_PLOT_FOLDER;
    options->output = "-";
    if (options->to_ns == 0)
        options->to_ns = INT64_MAX;
    if (rps_picture_open(picture, fixture->reader, fixture->run_id, options, characters, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(picture->levels.count, 3);
    if (fine > 0) {
        struct rps_phases *level = rps_arena_get(picture->arena, 4, sizeof(*level));

        picture->levels.level = memcpy(level, picture->levels.level, 3 * sizeof(*level));
        make_fine(picture->arena, &picture->levels.level[picture->levels.count++], fine);
    }
}

static size_t finer_of(struct fixture *fixture, struct rps_plot_options options, int characters,
                       size_t fine)
{
    struct rps_picture picture;
    size_t finer;

    open_picture(&picture, fixture, &options, characters, fine);
    finer = rps_picture_finer(&picture);
    rps_picture_free(&picture);
    return finer;
}

/* The picture shows the finest level whose phases are at least four pixels wide. No level is shown
 * if the strip already shows as much. */
static void test_choice(void **state)
{
    const int64_t s = 1000000000;
    struct rps_plot_options options = {.from_ns = 8 * s, .to_ns = 12 * s};
    struct fixture fixture;
    struct rps_picture picture;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    drawing_story(&fixture);
    assert_int_equal(finer_of(&fixture, (struct rps_plot_options){0}, 0, 0), 2);
    assert_int_equal(finer_of(&fixture, (struct rps_plot_options){0}, 0, 240), 3);
    assert_int_equal(finer_of(&fixture, (struct rps_plot_options){.width = 640}, 0, 240), 2);
    assert_int_equal(finer_of(&fixture, (struct rps_plot_options){.width = 640}, 0, 120), 3);
    assert_int_equal(finer_of(&fixture, (struct rps_plot_options){.width = 80}, 1, 120), 2);
    assert_int_equal(finer_of(&fixture, (struct rps_plot_options){.width = 80}, 1, 20), 3);
    assert_int_equal(finer_of(&fixture, options, 0, 0), 0); /* The range is one phase B, which
                                                               has no finer phases. */
    assert_int_equal(finer_of(&fixture, options, 0, 240), 3);
    open_picture(&picture, &fixture, &options, 0, 0);
    picture.levels.shown = 2;
    assert_int_equal(rps_picture_finer(&picture), 0);
    picture.has_phases = 0;
    assert_int_equal(rps_picture_finer(&picture), 0);
    rps_picture_free(&picture);
    fixture_end(&fixture);
}

/* Expect boxes such as "0-4 A0, 4-8 A1": start, end, label and tint of each box. */
static void check_boxes(struct fixture *fixture, struct rps_plot_options options, size_t level,
                        const char *expected)
{
    struct rps_picture_box *box;
    struct rps_picture picture;
    char text[512] = "", label[RPS_PHASE_LABEL_SIZE];
    size_t count, used = 0;

    open_picture(&picture, fixture, &options, 0, 24);
    box = rps_picture_level_boxes(&picture, level, &count);
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%g-%g %s%d", i ? ", " : "",
                                 box[i].from, box[i].to, rps_phase_label(box[i].label, label),
                                 box[i].tint);
    assert_string_equal(text, expected);
    rps_picture_free(&picture);
}

/* Similar parts of a phase are tints of its colour. The tint is the same wherever the label recurs,
 * and in a picture of a part of the run. A phase of a coarser level has its most frequent label. */
static void test_tints(void **state)
{
    const struct rps_plot_options whole = {0},
                                  part = {.from_ns = 13000000000, .to_ns = 21000000000};
    struct fixture fixture;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    drawing_story(&fixture);
    check_boxes(&fixture, whole, 0, "0-20 A0, 20-24 C0");
    check_boxes(&fixture, whole, 1, "0-8 A0, 8-12 B0, 12-20 A0, 20-24 C0");
    check_boxes(&fixture, whole, 2,
                "0-4 A0, 4-8 A1, 8-12 B0, 12-16 A1, 16-20 A2, 20-22 C0, 22-24 C1");
    check_boxes(&fixture, part, 2, "13-16 A1, 16-20 A2, 20-21 C0");
    fixture_end(&fixture);
}

static int words_rows; /* Rows of words in the last picture. */

/* Return the text of a file of a picture over time. The caller frees the text. */
static char *written(struct fixture *fixture, struct rps_plot_options options, const char *name)
{
    int folder = open(fixture->folder, O_RDONLY | O_DIRECTORY);
    struct rps_picture picture;
    struct rps_chart *chart;
    struct rps_error err;

    assert_true(folder >= 0);
    open_picture(&picture, fixture, &options, 0, 0);
    if (rps_picture_fill_time(&picture, fixture->reader, &options, &chart, &err) < 0 ||
        rps_chart_write(chart, 0, folder, &err) < 0)
        fail_msg("%s", err.message);
    words_rows = picture.words.rows;
    rps_picture_free(&picture);
    close(folder);
    return drawing_text(fixture_file(fixture, name), NULL);
}

static void test_band(void **state)
{
    struct fixture fixture;
    double height;
    int rows;
    char *text;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    drawing_story(&fixture);
    text = written(&fixture, (struct rps_plot_options){0}, "finer.dat");
    assert_string_equal(text, "0 4 0x602F6DB5\n4 8 0xC02F6DB5\n8 12 0x60C79A00\n"
                              "12 16 0xC02F6DB5\n16 20 0x902F6DB5\n"
                              "20 22 0x60C8441B\n22 24 0xC0C8441B\n");
    free(text);
    text = written(&fixture, (struct rps_plot_options){.theme = RPS_THEME_DARK}, "finer.dat");
    assert_memory_equal(text, "0 4 0x6077AADD\n", 15);
    free(text);
    text = written(&fixture, (struct rps_plot_options){0}, "text.gp");
    assert_non_null(strstr(text, "\n|7 finer\n"));
    free(text);
    text = written(&fixture, (struct rps_plot_options){0}, "figure.gp");
    height = drawing_number(text, "\nheight = ");
    rows = words_rows;
    free(text);
    unlink(fixture_file(&fixture, "finer.dat"));
    /* a range that is a single phase */
    text = written(&fixture, (struct rps_plot_options){.from_ns = 8000000000, .to_ns = 12000000000},
                   "figure.gp");
    rows += 1 - words_rows; /* one more row, for the marks */
    assert_int_equal((int)(height - drawing_number(text, "\nheight = ")),
                     RPS_PICTURE_FINER_HEIGHT + rows * RPS_PICTURE_LEGEND_HEIGHT);
    assert_int_equal(access(fixture_file(&fixture, "finer.dat"), F_OK), -1);
    free(text);
    fixture_end(&fixture);
}

/* In character drawings, finer phases are one line below the phases, and marks and gaps are further
 * below. */
static void test_drawing(void **state)
{
    struct rps_plot_options options = {.width = 35 + RPS_PICTURE_COLUMN_MARGIN};
    struct fixture fixture;
    char *text;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    drawing_story(&fixture);
    text = drawing_characters(&fixture, options);
    assert_non_null(strstr(text, "\nPhases  |-----A-----|--B--|----A-----|--C--\n"
                                 "finer   |.....|.....|.....|....|.....|..|..\n"
                                 "Marks          ^</script… ^not… ^END\\n!touch …\n"));
    assert_int_equal(drawing_count(text, "\n"), 2 + 6 * 6 + 5);
    free(text);
    for (int height = 30; height <= 31; height++) { /* Six panels of four lines fit in 31 lines. */
        options.height = height;
        text = drawing_characters(&fixture, options);
        assert_int_equal(drawing_count(text, "\nfiner "), height == 31);
        assert_int_equal(drawing_count(text, "panels fit"), 0);
        free(text);
    }
    options.height = 8; /* Only the title takes precedence over the panel. */
    text = drawing_characters(&fixture, options);
    assert_int_equal(drawing_count(text, "\n"), 8);
    assert_int_equal(drawing_count(text, "\nMarks "), 0);
    assert_int_equal(drawing_count(text, "\nPhases "), 1);
    free(text);
    fixture_end(&fixture);
}

/* The page has all levels: the phases of the run, the first phase shown, boundaries and tints. */
static void test_page(void **state)
{
    struct rps_plot_options options = {.from_ns = 13000000000, .to_ns = 21000000000};
    struct fixture fixture;
    struct rps_picture picture;
    struct rps_error err;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    (void)state;
    assert_non_null(file);
    fixture_begin(&fixture, "arm1176");
    drawing_story(&fixture);
    open_picture(&picture, &fixture, &options, 0, 0);
    if (rps_page_write(file, &picture, fixture.reader, &options, &err) < 0)
        fail_msg("%s", err.message);
    fclose(file);
    assert_non_null(strstr(
        text, "\"levels\": [\n"
              "    {\"total\": 2, \"first\": 0, \"at\": [13, 20, 21], \"label\": [0, 2], \"tint\": "
              "[0, 0]},\n"
              "    {\"total\": 4, \"first\": 2, \"at\": [13, 20, 21], \"label\": [0, 2], \"tint\": "
              "[0, 0]},\n"
              "    {\"total\": 7, \"first\": 3, \"at\": [13, 16, 20, 21], \"label\": [0, 0, 2], "
              "\"tint\": [1, 2, 0]}\n"));
    assert_int_equal((int)drawing_number(text, "\"shown\": "), 1);
    free(text);
    rps_picture_free(&picture);
    fixture_end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),  cmocka_unit_test(test_tints), cmocka_unit_test(test_band),
        cmocka_unit_test(test_drawing), cmocka_unit_test(test_page),
    };

    setenv("TZ", "UTC0", 1);
    tzset();
    return cmocka_run_group_tests_name("plot/levels", tests, NULL, NULL);
}
