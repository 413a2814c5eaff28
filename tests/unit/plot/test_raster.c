/* Tests of character cells: text, dots, lines, colours, and their ASCII form. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/arena.h"
#include "plot/raster.h"

static struct rps_raster_dash solid = {1, 1, 0};

static struct rps_raster raster_of(int columns, int rows)
{
    return rps_raster_new(arena, columns, rows);
}

static void assert_written(const struct rps_raster *raster, unsigned flags, const char *wanted)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    rps_raster_write(raster, flags, file);
    fclose(file);
    assert_string_equal(text, wanted);
    free(text);
}

/* Each dot of a cell is drawn as the Unicode braille dot of the same position. */
static void test_dots(void **state)
{
    static const char *const alone[] = {"⠁", "⠈", "⠂", "⠐", "⠄", "⠠", "⡀", "⢀"};

    (void)state;
    for (int i = 0; i < 8; i++) {
        struct rps_raster raster = raster_of(3, 2);
        char wanted[32];

        rps_raster_dot(&raster, 2 + i % 2, 4 + i / 2, RPS_RASTER_PLAIN);
        snprintf(wanted, sizeof(wanted), "\n %s\n", alone[i]);
        assert_written(&raster, 0, wanted);
    }
}

static void test_outside(void **state)
{
    static const int places[][2] = {{-1, 0}, {0, -1}, {6, 0}, {0, 8}, {-9, -9}, {1000, 1000}};
    struct rps_raster raster = raster_of(3, 2);

    (void)state;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        rps_raster_dot(&raster, places[i][0], places[i][1], RPS_RASTER_PLAIN);
        rps_raster_text(&raster, places[i][0], places[i][1], i < 4 ? "" : "x", RPS_RASTER_PLAIN);
    }
    assert_written(&raster, 0, "\n\n");
    assert_int_equal(rps_raster_is_free(&raster, 0, 0), 1);
    assert_int_equal(rps_raster_is_free(&raster, -1, 0), 0);
    assert_int_equal(rps_raster_is_free(&raster, 0, 2), 0);
    raster = raster_of(0, -3); /* A raster has at least one cell. */
    assert_written(&raster, 0, "\n");
}

/* A value of 45 % is drawn at 45 % of the height. */
static void test_level(void **state)
{
    (void)state;
    assert_int_equal(rps_raster_level(0, 0, 100, 12), 11);
    assert_int_equal(rps_raster_level(100, 0, 100, 12), 0);
    assert_int_equal(rps_raster_level(45, 0, 100, 101), 55);
    assert_int_equal(rps_raster_level(45, 0, 100, 12), 6);
    assert_int_equal(rps_raster_level(-5, -10, 10, 5), 3);
    assert_int_equal(rps_raster_level(150, 0, 100, 12), 0); /* A value beyond the axis is drawn
                                                               at the edge. */
    assert_int_equal(rps_raster_level(-1, 0, 100, 12), 11);
    assert_int_equal(rps_raster_level(7, 7, 7, 12), 11); /* The axis has no length. */
}

static void test_line(void **state)
{
    struct rps_raster raster = raster_of(6, 3);
    int y = rps_raster_level(45, 0, 100, 12);

    (void)state;
    rps_raster_line(&raster, 0, y, 5, y, &solid, RPS_RASTER_PLAIN);
    rps_raster_line(&raster, 5, y, 6, 0, &solid, RPS_RASTER_PLAIN); /* The line makes a step. */
    rps_raster_line(&raster, 6, 0, 11, 0, &solid, RPS_RASTER_PLAIN);
    assert_written(&raster, 0, "   ⡏⠉⠉\n⠤⠤⠼\n\n");
    assert_written(&raster, RPS_RASTER_ASCII, "   |''\n--|\n\n");
}

/* A dash pattern continues across the segments of a line. */
static void test_dashes(void **state)
{
    struct rps_raster whole = raster_of(10, 1), cut = raster_of(10, 1);
    struct rps_raster_dash dash = {2, 4, 0}, same = dash;

    (void)state;
    rps_raster_line(&whole, 0, 3, 19, 3, &dash, RPS_RASTER_PLAIN);
    assert_written(&whole, 0, "⣀ ⣀ ⣀ ⣀ ⣀\n");
    assert_written(&whole, RPS_RASTER_ASCII, "_ _ _ _ _\n");
    for (int x = 0; x < 19; x++)
        rps_raster_line(&cut, x, 3, x + 1, 3, &same, RPS_RASTER_PLAIN);
    assert_written(&cut, 0, "⣀ ⣀ ⣀ ⣀ ⣀\n");
}

/* Text is cut at the edge and covers dots. Wide characters take two cells. */
static void test_text(void **state)
{
    struct rps_raster raster = raster_of(6, 3);

    (void)state;
    assert_int_equal(rps_raster_text(&raster, 1, 0, "ab", RPS_RASTER_PLAIN), 3);
    assert_int_equal(rps_raster_text(&raster, 3, 1, "longer", RPS_RASTER_PLAIN), 6);
    assert_int_equal(rps_raster_text(&raster, 0, 2, "é·\xff…", RPS_RASTER_PLAIN), 4);
    rps_raster_dot(&raster, 2, 0, RPS_RASTER_PLAIN);
    assert_written(&raster, 0, " ab\n   lon\né·?…\n");
    assert_written(&raster, RPS_RASTER_ASCII, " ab\n   lon\n?-?~\n");
    if (!setlocale(LC_CTYPE, "C.UTF-8")) {
        print_message("no locale here knows how wide characters are\n");
        skip();
    }
    raster = raster_of(6, 2);
    assert_int_equal(rps_raster_text(&raster, 0, 0, "日e\xcc\x81", RPS_RASTER_PLAIN), 3);
    /* A wide character is never cut in half. */
    assert_int_equal(rps_raster_text(&raster, 5, 1, "日x", RPS_RASTER_PLAIN), 5);
    assert_written(&raster, 0, "日e\n\n");
    setlocale(LC_CTYPE, "C");
}

static void test_colours(void **state)
{
    struct rps_raster raster = raster_of(8, 3);

    (void)state;
    rps_raster_text(&raster, 0, 0, "a", RPS_RASTER_INK);
    rps_raster_text(&raster, 1, 0, "b", RPS_RASTER_INK);
    rps_raster_text(&raster, 3, 0, "c", RPS_RASTER_QUIET);
    rps_raster_text(&raster, 0, 1, "plain", RPS_RASTER_PLAIN);
    rps_raster_text(&raster, 0, 2, " A ", RPS_RASTER_BACKGROUND);
    rps_raster_text(&raster, 4, 2, " ", RPS_RASTER_BACKGROUND + 1);
    assert_written(&raster, RPS_RASTER_COLOUR,
                   "\033[0;36mab \033[0;2mc\033[0m\nplain\n"
                   "\033[0;30;46m A \033[0m \033[0;30;43m \033[0m\n");
    assert_written(&raster, 0, "ab c\nplain\n A\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_dots, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_outside, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_level, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_line, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_dashes, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_text, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_colours, open_arena, close_arena),
    };

    return cmocka_run_group_tests_name("plot/raster", tests, NULL, NULL);
}
