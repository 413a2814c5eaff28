/* Tests of charts: the files written for gnuplot, and that gnuplot can draw every layer kind. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "support/drawing.h"
#include "rpistat/chart.h"
#include "rpistat/plot.h"

#define HOSTILE "\"`touch pwned`' @tics %d\nEND"

struct made {
    struct fixture fixture; /* Fixture that supplies the directory of the chart. */
    struct rps_arena *arena;
    struct rps_chart *chart;
    struct rps_panel *panel;
};

static void begin(struct made *made)
{
    fixture_begin(&made->fixture, "arm1176");
    made->arena = rps_arena_new();
    made->chart = rps_chart_new(made->arena, rps_palette(RPS_THEME_LIGHT), 600, 300, 0.5);
    made->panel = rps_chart_panel(made->chart, 50, 1150, 100, 500);
    made->panel->x = (struct rps_scale){.from = -1, .to = 2, .shown = 1, .label = HOSTILE};
    made->panel->y = (struct rps_scale){.from = 10, .to = 30, .shown = 1};
}

static void end(struct made *made)
{
    rps_arena_free(made->arena);
    fixture_end(&made->fixture);
}

/* Return the text of a file of the chart. The caller frees the text. */
static char *written(struct made *made, int xml, const char *name)
{
    int folder = open(made->fixture.folder, O_RDONLY | O_DIRECTORY);
    struct rps_error err;

    assert_true(folder >= 0);
    if (rps_chart_write(made->chart, xml, folder, &err) < 0)
        fail_msg("%s", err.message);
    close(folder);
    return drawing_text(fixture_file(&made->fixture, name), NULL);
}

static void expect(struct made *made, const char *name, const char *text)
{
    char *found = written(made, 0, name);

    assert_string_equal(found, text);
    free(found);
}

static struct rps_layer *add(struct made *made, enum rps_layer_kind kind, const char *file)
{
    struct rps_layer *layer =
        rps_chart_layer(made->chart, made->panel, kind, file, RPS_INK_LINE + 1);

    rps_chart_shape(made->chart, layer, 0, 12, 1, 20);
    return layer;
}

/* The columns of a row depend on the layer kind. A gap is an empty row. Shapes with colours of
 * their own have a colour column. */
static void test_rows(void **state)
{
    struct made made;
    struct rps_layer *layer;

    (void)state;
    begin(&made);
    layer = add(&made, RPS_LAYER_LINE, "line");
    rps_chart_shape(made.chart, layer, 1, NAN, 0, 0);
    rps_chart_shape(made.chart, layer, 2, 0.25, 0, 0);
    expect(&made, "line.dat", "0 12\n\n2 0.25\n");
    add(&made, RPS_LAYER_BAND, "band");
    expect(&made, "band.dat", "0 12 20\n");
    add(&made, RPS_LAYER_RULES, "rules");
    expect(&made, "rules.dat", "0\n");
    add(&made, RPS_LAYER_SEGMENTS, "segments");
    expect(&made, "segments.dat", "0 12 1 8\n");
    layer = add(&made, RPS_LAYER_BOXES, "boxes");
    layer->each = 1;
    layer->shape[0].ink = RPS_INK_BAND + 1 + RPS_PALETTE_LABELS;
    rps_chart_shape(made.chart, layer, 1, 2, 3, 4)->ink = RPS_INK_MAP + RPS_INK_MAP_STEPS;
    expect(&made, "boxes.dat", "0 1 12 20 0xEEDD88\n1 3 2 4 0xB2182B\n");
    layer = add(&made, RPS_LAYER_SPANS, "spans");
    layer->each = 1;
    layer->shape[0].ink = RPS_INK_VEIL(RPS_INK_POINT, 0x60);
    expect(&made, "spans.dat", "0 1 0x602F6DB5\n");
    end(&made);
}

/* A layer in two panels has one file. A layer without shapes has no file. */
static void test_shared(void **state)
{
    struct made made;
    struct rps_panel *other;
    char *text;

    (void)state;
    begin(&made);
    other = rps_chart_panel(made.chart, 50, 1150, 520, 560);
    other->y.to = 1;
    rps_chart_share(made.chart, other, add(&made, RPS_LAYER_SPANS, "spans"));
    rps_chart_layer(made.chart, other, RPS_LAYER_LINE, "nothing", 0);
    expect(&made, "spans.dat", "0 1\n");
    text = written(&made, 0, "panels.gp");
    assert_int_equal(drawing_count(text, "'spans.dat' using 1:(low):1:2:(low):(high) with"), 2);
    assert_int_equal(drawing_count(text, "\nplot "), 3);
    assert_null(strstr(text, "nothing"));
    assert_non_null(strstr(text, "eval place(50, 1150, 520, 560)\nlow = 0\nhigh = 1\n"));
    free(text);
    end(&made);
}

/* Text is written as data, never as gnuplot commands. Tic labels are literal texts and not printf
 * formats. */
static void test_text(void **state)
{
    struct made made;
    char *text;

    (void)state;
    begin(&made);
    made.panel->heading = HOSTILE;
    add(&made, RPS_LAYER_LINE, NULL)->name = "a name]]>";
    rps_chart_label(made.chart, made.panel, 1, 15, RPS_LOOK_BOXED, RPS_INK_TEXT, HOSTILE);
    rps_chart_tic(made.chart, &made.panel->y, 20, "20 %");
    text = written(&made, 1, "panels.gp");
    assert_null(strstr(text, "pwned"));
    assert_non_null(strstr(text, "set ytics (\"20 %%\" (20))"));
    free(text);
    text = written(&made, 1, "text.gp");
    assert_int_equal(drawing_count(text, "\n|\"`touch pwned`' @tics %d\\nEND\n"), 3);
    assert_int_equal(drawing_count(text, "\nEND\n"), 1);
    assert_non_null(strstr(text, "\n|a name]]&#x3e;\n"));
    free(text);
    text = written(&made, 0, "text.gp");
    assert_non_null(strstr(text, "\n|a name]]>\n"));
    free(text);
    end(&made);
}

/* Legend entries with the same look share one layer. A label box is hatched if no colours are left.
 */
static void test_legend(void **state)
{
    struct rps_layer like = {.kind = RPS_LAYER_BOXES, .ink = RPS_INK_BAND};
    struct rps_panel *figure;
    struct made made;

    (void)state;
    begin(&made);
    figure = made.chart->panel[0];
    rps_chart_entry(made.chart, 10, 20, &like, "A");
    rps_chart_entry(made.chart, 50, 20, &like, "A again");
    assert_int_equal(figure->layer_count, 1);
    assert_int_equal(figure->layer[0]->count, 2);
    like.ink += RPS_PALETTE_LABELS;
    rps_chart_entry(made.chart, 90, 20, &like, "J");
    assert_int_equal(figure->layer_count, 3);
    assert_int_equal(figure->layer[2]->look, RPS_LOOK_HATCHED);
    assert_int_equal(figure->label_count, 3);
    assert_true(figure->label[2].x > 100);
    end(&made);
}

/* gnuplot draws all layer kinds and looks, and prints text literally. */
static void test_drawn(void **state)
{
    static const char *const name[] = {"a", "b", "c", "d", "e", "f", "g"};
    struct made made;
    struct rps_error err;
    struct rps_gnuplot_picture picture = {.format = rps_gnuplot_format("a.svg"),
                                          .script_folder = TEST_PLOT_FOLDER};
    char path[1024], *text;

    (void)state;
    drawing_need_gnuplot();
    begin(&made);
    for (int kind = RPS_LAYER_LINE; kind <= RPS_LAYER_POINTS; kind++)
        add(&made, (enum rps_layer_kind)kind, name[kind]);
    add(&made, RPS_LAYER_BOXES, NULL)->look = RPS_LOOK_GAP;
    rps_chart_tic(made.chart, &made.panel->x, -1, "minus one");
    for (int look = RPS_LOOK_CENTRE; look <= RPS_LOOK_BESIDE; look++)
        rps_chart_label(made.chart, made.panel, 1, 15, (enum rps_look)look, RPS_INK_TEXT, HOSTILE);
    strcpy(path, fixture_file(&made.fixture, "drawn.svg"));
    picture.chart = made.chart;
    picture.out_fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(picture.out_fd >= 0);
    if (rps_gnuplot_draw(&picture, &err) < 0)
        fail_msg("%s", err.message);
    close(picture.out_fd);
    text = drawing_text(path, NULL);
    assert_in_range(drawing_count(text, ">\"`touch pwned`' @tics %d\\nEND</text>"), 5,
                    7); /* Some gnuplot versions write a boxed text twice. */
    assert_non_null(strstr(text, "minus one</text>"));
    free(text);
    end(&made);
}

/* Convert a colour to CIELAB. The tests use the CIE76 distance; at 20 two colours are clearly
 * different. */
static void to_lab(const char *colour, double ret[3])
{
    const unsigned long rgb = strtoul(colour, NULL, 16);
    const double white[3] = {.95047, 1, 1.08883};
    static const double part[3][3] = {
        {.4124, .3576, .1805}, {.2126, .7152, .0722}, {.0193, .1192, .9505}};
    double linear[3], xyz[3];

    for (int i = 0; i < 3; i++) {
        const double value = (double)(rgb >> (16 - 8 * i) & 0xff) / 255;

        linear[i] = value <= .04045 ? value / 12.92 : pow((value + .055) / 1.055, 2.4);
    }
    for (int i = 0; i < 3; i++) {
        xyz[i] =
            (part[i][0] * linear[0] + part[i][1] * linear[1] + part[i][2] * linear[2]) / white[i];
        xyz[i] = xyz[i] > .008856 ? cbrt(xyz[i]) : 7.787 * xyz[i] + 16. / 116;
    }
    ret[0] = 116 * xyz[1] - 16;
    ret[1] = 500 * (xyz[0] - xyz[1]);
    ret[2] = 200 * (xyz[1] - xyz[2]);
}

static double distance(const char *a, const char *b)
{
    double x[3], y[3];

    to_lab(a, x);
    to_lab(b, y);
    return sqrt(pow(x[0] - y[0], 2) + pow(x[1] - y[1], 2) + pow(x[2] - y[2], 2));
}

/* The colour of a function differs clearly from the colours of phases and of other functions. The
 * last colour is grey and stands for all other functions. */
static void test_palette(void **state)
{
    (void)state;
    for (int theme = RPS_THEME_LIGHT; theme <= RPS_THEME_DARK; theme++) {
        const struct rps_palette *palette = rps_palette((enum rps_theme)theme);

        for (int a = 0; a < RPS_PALETTE_AREAS - 1; a++) {
            for (int l = 0; l < RPS_PALETTE_LABELS; l++) {
                assert_true(distance(palette->area[a], palette->band[l]) >= 20);
                assert_true(distance(palette->area[a], palette->ink[l]) >= 20);
            }
            for (int other = 0; other < a; other++)
                assert_true(distance(palette->area[a], palette->area[other]) >= 20);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),  cmocka_unit_test(test_shared),
        cmocka_unit_test(test_text),  cmocka_unit_test(test_legend),
        cmocka_unit_test(test_drawn), cmocka_unit_test(test_palette),
    };

    return cmocka_run_group_tests_name("plot/chart", tests, NULL, NULL);
}
