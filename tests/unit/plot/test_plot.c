/* Tests of pictures: a picture is written completely or not at all, and gnuplot never interprets
 * text from the store. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "support/drawing.h"
#include "rpistat/plot.h"
#include "rpistat/plan.h"

static void begin_run(struct fixture *fixture, int periods)
{
    uint64_t count[2] = {3000000, 4000};

    fixture_write(fixture);
    for (int i = 0; i < periods; i++) {
        count[1] = (uint64_t)(4000 + 1000 * (i / 8 % 2));
        fixture_period(fixture, 7000000, count);
    }
    fixture_read(fixture);
}

/* Return the number of directory entries other than the store. */
static int folder_entries(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int count = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        count += entry->d_name[0] != '.' && strncmp(entry->d_name, "rpistat.data", 12) != 0;
    closedir(dir);
    return count;
}

static void test_formats(void **state)
{
    const struct rps_plot_options options = {.width = 500, .height = 700};
    struct fixture fixture;
    char path[1024], *text;
    size_t size;

    (void)state;
    drawing_need_gnuplot();
    fixture_begin(&fixture, "arm1176");
    begin_run(&fixture, 41);
    strcpy(path, fixture_file(&fixture, "a.png"));
    drawing_must(&fixture, path, options);
    text = drawing_text(path, &size);
    assert_memory_equal(text, "\x89PNG\r\n\x1a\n", 8);
    assert_memory_equal(text + 16, "\0\0\x01\xf4\0\0\x02\xbc", 8); /* 500 x 700 pixels */
    free(text);
    strcpy(path, fixture_file(&fixture, "a.SVG"));
    drawing_must(&fixture, path, options);
    text = drawing_text(path, NULL);
    assert_non_null(strstr(text, "width=\"500\" height=\"700\""));
    assert_non_null(strstr(text, "<text>./naive</text>"));
    assert_non_null(strstr(text, "2013-06-26 15:12:33"));
    assert_non_null(strstr(text, "Cycles per instruction"));
    free(text);
    strcpy(path, fixture_file(&fixture, "a.pdf"));
    drawing_must(&fixture, path, options);
    text = drawing_text(path, &size);
    assert_memory_equal(text, "%PDF", 4);
    free(text);
    fixture_end(&fixture);
}

static void test_svg_is_deterministic(void **state)
{
    struct fixture fixture;
    char path[1024], *first, *second;

    (void)state;
    drawing_need_gnuplot();
    fixture_begin(&fixture, "arm1176");
    begin_run(&fixture, 100);
    strcpy(path, fixture_file(&fixture, "a.svg"));
    drawing_must(&fixture, path, (struct rps_plot_options){0});
    first = drawing_text(path, NULL);
    drawing_must(&fixture, path, (struct rps_plot_options){0});
    second = drawing_text(path, NULL);
    assert_string_equal(first, second);
    free(first);
    free(second);
    fixture_end(&fixture);
}

/* Text of the store tries to run commands in every way gnuplot knows. */
static void test_hostile_text(void **state)
{
    char bait[1024], command[4096], path[1024], keep[1024], *text;
    char *argv[] = {command, (char[]){"'; system \"x\"; '"}, (char[]){"END"}, NULL};
    struct fixture fixture;

    (void)state;
    drawing_need_gnuplot();
    fixture_begin(&fixture, "arm1176");
    strcpy(bait, fixture_file(&fixture, "pwned"));
    snprintf(command, sizeof(command), "\";system(\"touch %s\");`touch %s`$(touch %s)", bait, bait,
             bait);
    rps_run_set_command(&fixture.run, 3, argv);
    strcpy(fixture.run.label, "@macro %s {/Symbol a} \\n <script>&\nEND\n!touch x");
    snprintf(fixture.run.host, sizeof(fixture.run.host), "`touch %.200s`", bait);
    snprintf(fixture.plan->metric[3].panel, RPS_NAME_SIZE, "\"`touch pwned`' @x");
    strcpy(fixture.plan->metric[4].panel, fixture.plan->metric[3].panel);
    strcpy(fixture.plan->metric[3].label, "`touch pwned` {/Symbol q}");
    strcpy(fixture.plan->metric[4].label, "$(touch pwned)%d\nEND\n!touch pwned");
    begin_run(&fixture, 20);
    strcpy(path, fixture_file(&fixture, "a.svg"));
    strcpy(keep, fixture_file(&fixture, "keep"));
    drawing_must(&fixture, path, (struct rps_plot_options){.keep = keep, .width = 3000});
    assert_int_not_equal(access(bait, F_OK), 0);
    assert_int_not_equal(access(fixture_file(&fixture, "keep/pwned"), F_OK), 0);
    assert_int_not_equal(access(fixture_file(&fixture, "keep/x"), F_OK), 0);
    text = drawing_text(path, NULL);
    assert_non_null(strstr(text, "\";system(\"touch "));
    assert_non_null(strstr(text, "@macro %s {/Symbol a} \\n &lt;script"));
    assert_null(strstr(text, "<script>"));
    assert_non_null(strstr(text, "<text>`touch pwned` {/Symbol q}</text>"));
    assert_non_null(strstr(text, "<text>$(touch pwned)%d\\nEND\\n!touch pwned</text>"));
    assert_non_null(strstr(text, "<text>\"`touch pwned`' @x"));
    free(text);
    drawing_must(&fixture, fixture_file(&fixture, "a.png"), (struct rps_plot_options){0});
    assert_int_not_equal(access(bait, F_OK), 0);
    fixture_end(&fixture);
}

/* A kept script can be drawn again by hand, and gnuplot prints no messages. */
static void test_keep(void **state)
{
    char keep[1024], path[1024], command[2048], *first, *second;
    struct fixture fixture;

    (void)state;
    drawing_need_gnuplot();
    fixture_begin(&fixture, "arm1176");
    begin_run(&fixture, 200);
    strcpy(keep, fixture_file(&fixture, "keep"));
    strcpy(path, fixture_file(&fixture, "a.svg"));
    drawing_must(&fixture, path, (struct rps_plot_options){.keep = keep});
    first = drawing_text(path, NULL);
    snprintf(command, sizeof(command), "cd / && '%s/redraw.sh' > '%s/said' 2>&1", keep,
             fixture.folder);
    assert_int_equal(system(command), 0);
    second = drawing_text(fixture_file(&fixture, "keep/figure.svg"), NULL);
    assert_string_equal(first, second);
    free(first);
    free(second);
    first = drawing_text(fixture_file(&fixture, "said"), NULL);
    assert_string_equal(first, "");
    free(first);
    first = drawing_text(fixture_file(&fixture, "keep/panel-1-1.dat"), NULL);
    assert_int_equal(drawing_count(first, "\n"), 50);
    free(first);
    fixture_end(&fixture);
}

static void test_panels_without_data(void **state)
{
    struct fixture fixture;
    char keep[1024], path[1024], *text;

    (void)state;
    drawing_need_gnuplot();
    fixture_begin(&fixture, "arm1176");
    for (int s = 0; s < 2; s++)
        fixture.plan->set[3].event[s].state = RPS_EVENT_UNSUPPORTED; /* Branches are not counted. */
    begin_run(&fixture, 41);
    strcpy(keep, fixture_file(&fixture, "keep"));
    strcpy(path, fixture_file(&fixture, "a.svg"));
    drawing_must(&fixture, path, (struct rps_plot_options){.keep = keep});
    text = drawing_text(fixture_file(&fixture, "keep/panels.gp"), NULL);
    assert_int_equal(drawing_panels(text), 4);
    free(text);
    text = drawing_text(path, NULL);
    assert_null(strstr(text, "ranch"));
    /* The legend has two entries. */
    assert_int_equal(drawing_count(text, "<text>Micro miss rate</text>"), 1);
    assert_int_equal(drawing_count(text, "<text>Main miss rate</text>"), 1);
    /* A panel of one metric has no legend. */
    assert_int_equal(drawing_count(text, "<text>CPI</text>"), 0);
    free(text);
    fixture_end(&fixture);
}

/* Small runs are drawn on both axes: a run of one period and a run that slept throughout. */
static void test_small_runs(void **state)
{
    const uint64_t nothing[2] = {0, 0};

    (void)state;
    drawing_need_gnuplot();
    for (int axis = 0; axis < 2; axis++) {
        struct rps_plot_options options = {.axis = axis ? RPS_AXIS_CYCLE : RPS_AXIS_TIME};
        struct fixture fixture;
        char path[1024], *text;

        fixture_begin(&fixture, "arm1176");
        begin_run(&fixture, 1);
        strcpy(path, fixture_file(&fixture, "one.svg"));
        drawing_must(&fixture, path, options);
        text = drawing_text(path, NULL);
        assert_non_null(strstr(text, axis ? "Cycle timestamp" : "hh:mm:ss"));
        free(text);
        fixture_end(&fixture);

        fixture_begin(&fixture, "arm1176");
        fixture_write(&fixture);
        fixture.next.enabled_ns = fixture.next.running_ns = 0;
        for (int i = 0; i < 20; i++)
            fixture_period(&fixture, 0, nothing);
        fixture_read(&fixture);
        strcpy(path, fixture_file(&fixture, "idle.svg"));
        drawing_must(&fixture, path, options);
        text = drawing_text(path, NULL);
        assert_non_null(strstr(text, "no data"));
        free(text);
        fixture_end(&fixture);
    }
}

/* One rotation of a hundred relates instructions counted before a change to TLB misses counted
 * after it. The resulting peak is drawn, but no panel is scaled to it. A peak of a ratio within one
 * event set does scale its panel. */
static void test_peak(void **state)
{
    struct fixture fixture;
    char keep[1024], *text;

    (void)state;
    drawing_need_gnuplot();
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    for (int i = 0; i < 400; i++) {
        uint64_t count[2] = {1000000, 10000};

        if (i / 4 == 50 && i % 4 == 2)
            count[0] = 90000000;
        if (i / 4 == 70 && i % 4 == 1)
            count[1] = 900000;
        fixture_period(&fixture, 7000000, count);
    }
    fixture_read(&fixture);
    strcpy(keep, fixture_file(&fixture, "keep"));
    drawing_must(&fixture, fixture_file(&fixture, "a.svg"),
                 (struct rps_plot_options){.keep = keep});
    text = drawing_text(fixture_file(&fixture, "keep/panels.gp"), NULL);
    assert_true(drawing_panel_end(text, 4) < 2000); /* TLB misses; the peak is 90,000 */
    assert_true(drawing_panel_end(text, 3) >= 90);  /* DC miss ratio: 1 %, with a peak of 90 % */
    free(text);
    text = drawing_text(fixture_file(&fixture, "keep/text.gp"), NULL);
    assert_non_null(
        strstr(text, "|TLB misses per 1,000 instructions; peak beyond the axis: 90000\n"));
    assert_int_equal(drawing_count(text, "peak beyond"), 1);
    free(text);
    fixture_end(&fixture);
}

static void test_characters(void **state)
{
    struct rps_plot_options options = {.width = 90, .height = 40};
    struct fixture fixture;
    struct rps_error err;
    char *text;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    begin_run(&fixture, 400);
    text = drawing_characters(&fixture, options);
    assert_memory_equal(text, "./naive\n", 8);
    assert_non_null(strstr(text, "\n        Cycles per instruction\n"));
    assert_non_null(strstr(text, "00:00:00"));
    assert_non_null(strstr(text, "⠉⠉⠉⠉⠉⠉⠉⠉"));
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, " \n"));
    assert_int_equal(drawing_count(text, "\n"), 40);
    free(text);
    options.ascii = 1;
    text = drawing_characters(&fixture, options);
    for (const char *c = text; *c; c++)
        assert_true((unsigned char)*c < 0x80);
    assert_int_equal(drawing_count(text, "\n"), 40);
    free(text);
    options.colour = 1;
    text = drawing_characters(&fixture, options);
    assert_non_null(strstr(text, "\033[0;36m"));
    assert_null(strchr(text, '\f'));
    free(text);
    options.keep = fixture.folder;
    assert_int_equal(drawing_draw(&fixture, "-", options, &err), RPS_USAGE);
    fixture_end(&fixture);
}

/* A value of 45 % is drawn at 45 % of the height of a 100 % axis, although the panel has only three
 * lines. */
static void test_height(void **state)
{
    const char *metric = "dc_miss_ratio";
    struct rps_plot_options options = {
        .width = 40, .height = 8, .metric = &metric, .metric_count = 1, .untitled = 1};
    uint64_t count[2] = {1000000, 450000};
    struct fixture fixture;
    char *text;

    (void)state;
    fixture_begin(&fixture, "arm1176");
    fixture_write(&fixture);
    for (int i = 0; i < 400; i++) {
        count[1] = i < 200 ? 450000 : 1000000;
        fixture_period(&fixture, 7000000, count);
    }
    fixture_read(&fixture);
    text = drawing_characters(&fixture, options);
    assert_string_equal(text, "./naive\n"
                              "        Data cache miss ratio (%)\n"
                              "   100 ┤              ⢸⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉\n"
                              "    50 ┤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠇\n"
                              "     0 ┤\n"
                              "       └┬────────────────────┬───────\n"
                              "    00:00:00             00:00:30\n"
                              "Phases  |------A-------|------B------\n");
    free(text);
    fixture_end(&fixture);
}

static void assert_refused(struct fixture *fixture, const char *output, int code, const char *words)
{
    struct rps_error err;

    assert_int_equal(drawing_draw(fixture, output, (struct rps_plot_options){0}, &err), code);
    if (!strstr(err.message, words))
        fail_msg("\"%s\" does not say \"%s\"", err.message, words);
    assert_null(strchr(err.message, '\n'));
}

static void test_refusals(void **state)
{
    struct rps_error err;
    struct fixture fixture;
    struct rps_plot_options late = {.from_ns = INT64_C(1) << 50};

    (void)state;
    fixture_begin(&fixture, "arm1176");
    begin_run(&fixture, 8);
    assert_refused(&fixture, "a.gif", RPS_USAGE,
                   "a.gif: unknown suffix; use .png, .svg, .pdf or .html");
    assert_refused(&fixture, "png", RPS_USAGE, "suffix");
    assert_refused(&fixture, fixture_file(&fixture, "no/a.png"), RPS_FAILED,
                   "does not exist; create it");
    assert_int_equal(mkdir(fixture_file(&fixture, "d.png"), 0700), 0);
    assert_refused(&fixture, fixture_file(&fixture, "d.png"), RPS_FAILED, "it is a directory");
    assert_int_equal(drawing_draw(&fixture, fixture_file(&fixture, "late.png"), late, &err),
                     RPS_FAILED);
    assert_non_null(strstr(err.message, "has no measurement periods"));
    assert_int_equal(folder_entries(fixture.folder), 1); /* The directory holds only d.png. */
    fixture_end(&fixture);
}

/* If gnuplot fails in any way, an earlier picture stays, and no other file is left in its
 * directory. */
static void test_gnuplot_fails(void **state)
{
    static const struct {
        const char *script, *words;
    } cases[] = {
        {NULL, "gnuplot was not found; install it"},
        {"", "gnuplot was not found; install it"}, /* a file that is not executable */
        {"#!/bin/sh\necho '\"draw.gp\" line 3: something odd' >&2\nexit 1\n",
         "line 3: something odd"},
        {"#!/bin/sh\nprintf 'half a picture'\nexit 0\n", "could not draw"},
        {"#!/bin/sh\nprintf 'IEND'\nexit 1\n", "could not draw"},
        {"#!/bin/sh\nkill -9 $$\n", "ended by signal 9"},
        {"#!/bin/sh\nexit 0\n", "could not draw"},
    };
    const char *path_before = getenv("PATH");
    char path[1024], saved[4096];
    struct fixture fixture;

    (void)state;
    snprintf(saved, sizeof(saved), "%s", path_before ? path_before : "/usr/bin:/bin");
    fixture_begin(&fixture, "arm1176");
    begin_run(&fixture, 8);
    assert_int_equal(mkdir(fixture_file(&fixture, "bin"), 0700), 0);
    setenv("PATH", fixture_file(&fixture, "bin"), 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        FILE *file = fopen(fixture_file(&fixture, "a.png"), "w");
        char *text;

        assert_non_null(file);
        fputs("an earlier picture", file);
        fclose(file);
        if (cases[i].script) {
            file = fopen(fixture_file(&fixture, "bin/gnuplot"), "w");
            assert_non_null(file);
            fputs(cases[i].script, file);
            fchmod(fileno(file), cases[i].script[0] ? 0700 : 0600);
            fclose(file);
        }
        strcpy(path, fixture_file(&fixture, "a.png"));
        assert_refused(&fixture, path, RPS_FAILED, cases[i].words);
        text = drawing_text(path, NULL);
        assert_string_equal(text, "an earlier picture");
        free(text);
        /* The directory holds `bin` and the picture. */
        assert_int_equal(folder_entries(fixture.folder), 2);
    }
    setenv("PATH", saved, 1);
    fixture_end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_svg_is_deterministic),
        cmocka_unit_test(test_hostile_text),
        cmocka_unit_test(test_keep),
        cmocka_unit_test(test_panels_without_data),
        cmocka_unit_test(test_small_runs),
        cmocka_unit_test(test_peak),
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_height),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_gnuplot_fails),
    };

    setenv("TZ", "UTC0", 1);
    tzset();
    return cmocka_run_group_tests_name("plot/plot", tests, NULL, NULL);
}
