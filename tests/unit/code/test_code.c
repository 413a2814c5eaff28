/* Tests of samples in plots and in the page: bins, the panel "Code", and the call tree of the page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "code/bins.h"
#include "code/sample_source.h"
#include "rpistat/code_output.h"
#include "rpistat/code_store.h"
#include "support/drawing.h"

static struct fixture fixture;

static int begin(void **state)
{
    (void)state;
    fixture_begin(&fixture, "arm1176");
    drawing_samples(&fixture);
    return 0;
}

static int end(void **state)
{
    (void)state;
    fixture_end(&fixture);
    return 0;
}

/* Draw, and return a file that was written for gnuplot. The caller frees the text. */
static char *draw_and_read(struct rps_plot_options options, const char *name)
{
    char keep[1024], file[1100];

    strcpy(keep, fixture_file(&fixture, "keep"));
    options.keep = keep;
    snprintf(file, sizeof(file), "%s/%s", keep, name);
    unlink(file);
    drawing_must(&fixture, fixture_file(&fixture, "a.svg"), options);
    return access(file, R_OK) == 0 ? drawing_text(file, NULL) : NULL;
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Counts in the order in which they were read. */
struct noted {
    size_t count;
    struct {
        size_t group;
        int64_t id;
        struct rps_code_weight of;
    } at[4];
};

static int note(void *context, size_t group, int64_t id, struct rps_code_weight of,
                struct rps_error *err)
{
    struct noted *noted = context;

    (void)err;
    assert_true(noted->count < 4);
    noted->at[noted->count].group = group;
    noted->at[noted->count].id = id;
    noted->at[noted->count++].of = of;
    return 0;
}

/* Counts that are kept in memory are those that were read. The next source uses them too, if it
 * needs no others. Periods may be lower than the period before, on the next CPU. */
static void test_kept_counts(void **state)
{
    static const struct rps_code_count count[3] = {
        {.cpu = 0, .period = 300, .id = 129, .samples = 70000},
        {.cpu = 1, .period = 2, .id = 3, .samples = 1},
        {.cpu = 1, .period = 20000, .id = 0, .samples = UINT32_MAX},
    };
    static const size_t group[3] = {1, 0, 2};
    struct rps_run_stretch stretch[] = {{0, 10, 0}, {300, 300, 1}, {301, 20000, 2}};
    const struct rps_run_part whole = {.count = 3, .stretch = stretch, .group_count = 3};
    const struct rps_run_part more = {.count = 1, .stretch = &(struct rps_run_stretch){0, 20001, 0}};
    struct rps_sample_source source[3];
    struct rps_code code = {.stack_count = 0};
    struct rps_cpus cpus = {.count = 0};
    struct fixture own;
    struct rps_error err;

    (void)state;
    fixture_begin(&own, "arm1176");
    fixture_write(&own);
    for (int i = 0; i < 3; i++)
        rps_writer_code_count(own.writer, RPS_COUNT_STACKS, &count[i]);
    fixture_read(&own);
    for (int s = 0; s < 2; s++) {
        source[s] = rps_sample_source_open(own.reader, own.run_id, &cpus, &code, &whole, 1);
        for (int time = 0; time < 2; time++) {
            struct noted noted = {0};

            assert_int_equal(rps_sample_source_walk(&source[s], &whole, RPS_COUNT_STACKS, note,
                                                    &noted, &err),
                             0);
            assert_int_equal(noted.count, 3);
            for (int i = 0; i < 3; i++) {
                assert_int_equal(noted.at[i].group, group[i]);
                assert_int_equal(noted.at[i].id, count[i].id);
                assert_int_equal(noted.at[i].of.samples, count[i].samples);
            }
        }
        code.source = &source[0];
    }
    assert_non_null(source[0].kept[0].byte);
    assert_ptr_equal(source[1].kept[0].byte, source[0].kept[0].byte);
    assert_int_equal(source[1].kept[1].is_read, 0);
    source[2] = rps_sample_source_open(own.reader, own.run_id, &cpus, &code, &more, 1);
    assert_int_equal(source[2].kept[0].is_read, 0);
    rps_arena_free(source[2].arena);
    cpus = (struct rps_cpus){.cpu = &(int32_t){1}, .count = 1};
    source[2] = rps_sample_source_open(own.reader, own.run_id, &cpus, &code, &whole, 1);
    assert_int_equal(source[2].kept[0].is_read, 0);
    for (int s = 0; s < 3; s++)
        rps_arena_free(source[s].arena);
    fixture_end(&own);
}

/* --- bins ------------------------------------------------------------------------------------- */

/* Five bins with a phase boundary before the fourth are joined in pairs, but not across the
 * boundary. */
static void test_widen(void **state)
{
    int64_t edge_ns[] = {0, 10, 20, 30, 40, 50};
    uint8_t is_phase[] = {1, 0, 0, 1, 0, 1};
    struct rps_code_cell cell[] = {{0, 1, 2}, {0, 3, 1}, {1, 1, 5},
                                   {2, 1, 1}, {3, 1, 7}, {4, 1, 1}};
    struct rps_code_bins bins = {5, edge_ns, is_phase, cell, 6};
    const struct rps_code_cell wide[] = {{0, 1, 7}, {0, 3, 1}, {1, 1, 1}, {2, 1, 8}};

    (void)state;
    assert_int_equal(rps_code_bins_widen(&bins), 1);
    assert_int_equal(bins.bin_count, 3);
    assert_memory_equal(edge_ns, ((int64_t[]){0, 20, 30, 50}), 4 * sizeof(edge_ns[0]));
    assert_memory_equal(is_phase, ((uint8_t[]){1, 0, 1, 1}), 4);
    assert_int_equal(bins.cell_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(cell[i].bin, wide[i].bin);
        assert_int_equal(cell[i].id, wide[i].id);
        assert_int_equal(cell[i].samples, wide[i].samples);
    }
    assert_int_equal(rps_code_bins_widen(&bins), 1);
    assert_int_equal(rps_code_bins_widen(&bins), 0); /* only one bin per phase is left */
    assert_int_equal(bins.bin_count, 2);
}

static void test_rename(void **state)
{
    struct rps_code_cell cell[] = {{0, 0, 2}, {0, 1, 1}, {0, 2, 4}, {1, 2, 5}};
    struct rps_code_bins bins = {.cell = cell, .cell_count = 4};

    (void)state;
    rps_code_bins_rename(&bins, (size_t[]){9, SIZE_MAX, 9});
    assert_int_equal(bins.cell_count, 2);
    assert_int_equal(cell[0].samples, 6);
    assert_int_equal(cell[1].id, 9);
    assert_int_equal(cell[1].samples, 5);
}

/* --- the panel -------------------------------------------------------------------------------- */

/* The panel shows shares of time in steps of half a second, the largest share first. Kernel code
 * counts for its caller. The last step of a phase ends with the phase and is up to one step longer.
 * Time without samples is on top. */
static void test_panel(void **state)
{
    char *text;

    (void)state;
    drawing_need_gnuplot();
    for (int line = 0; line < 3; line++) {
        static const char *const steps[] = {
            "\n5.5 0 80\n6.3 0 80\n6.3 0 0\n6.8 0 0\n",
            "\n5.5 80 80\n6.3 80 80\n6.3 0 60\n6.8 0 60\n",
            "\n5.5 80 100\n6.3 80 100\n6.3 60 100\n6.8 60 100\n",
        };
        char name[] = "code-1.dat";

        name[5] = (char)('1' + line);
        text = draw_and_read((struct rps_plot_options){0}, name);
        assert_int_equal(drawing_count(text, "\n"), 2 * (12 + 11));
        assert_non_null(strstr(text, steps[line]));
        if (line == 0)
            assert_memory_equal(text, "0 0 80\n0.5 0 80\n0.5 0 80", 23);
        free(text);
    }
    text = draw_and_read((struct rps_plot_options){0}, "text.gp");
    assert_non_null(strstr(text,
                           "\n|Code: share of the time by function (%), sampled by cpu-clock, "
                           "100 Hz\n|work\n|rest\n|off-CPU or not sampled\n"));
    assert_non_null(strstr(text, "\n|A: in work\n|B: in rest\n"));
    free(text);
}

static void test_panel_by(void **state)
{
    static const char *const metric[] = {"cpi"};
    struct rps_plot_options options = {.code = RPS_PLOT_CODE_THREAD};
    char *text;

    (void)state;
    drawing_need_gnuplot();
    text = draw_and_read(options, "text.gp");
    assert_non_null(strstr(text, "\n|story (7)\n|story (8)\n|off-CPU or not sampled\n"));
    free(text);
    options.code = RPS_PLOT_CODE_MODULE;
    text = draw_and_read(options, "text.gp");
    assert_non_null(strstr(text, "\n|story\n|[kernel]\n|off-CPU or not sampled\n"));
    free(text);
    options.code = RPS_PLOT_CODE_NONE;
    assert_null(draw_and_read(options, "code-1.dat"));
    options = (struct rps_plot_options){.metric = metric, .metric_count = 1};
    assert_null(draw_and_read(options, "code-1.dat"));
    options.code = RPS_PLOT_CODE_FUNCTION;
    text = draw_and_read(options, "panels.gp");
    assert_int_equal(drawing_count(text, "'code-"), 3);
    free(text);
}

/* The panel of a part of the run has only the samples of the part. A small plot shows metrics
 * before the panel. */
static void test_panel_of_part(void **state)
{
    char *text;

    (void)state;
    drawing_need_gnuplot();
    text = draw_and_read((struct rps_plot_options){.from_ns = INT64_C(7000000000)}, "text.gp");
    assert_non_null(strstr(text, " Hz\n|rest\n|off-CPU or not sampled\n"));
    free(text);
    text = draw_and_read((struct rps_plot_options){.axis = RPS_AXIS_CYCLE}, "code-2.dat");
    assert_non_null(strstr(text, "\n315000000 80 80\n315000000 0 60\n"));
    free(text);
    assert_null(
        draw_and_read((struct rps_plot_options){.width = 400, .height = 300}, "code-1.dat"));
}

/* --function has its own first panel, with the share of samples that have the function anywhere in
 * their stacks, in the same steps. It is also drawn if other panels or no code are selected. */
static void test_functions(void **state)
{
    static const char *const name[] = {"work", "main", "sys"}, *const metric[] = {"cpi"};
    static const char *const steps[] = {"\n5.5 80\n6.3 80\n6.3 0\n6.8 0\n",
                                        "\n5.5 80\n6.3 80\n6.3 60\n6.8 60\n",
                                        "\n5.5 0\n6.3 0\n6.3 20\n6.8 20\n"};
    struct rps_plot_options options = {.function = name, .function_count = 3};
    char *text;

    (void)state;
    drawing_need_gnuplot();
    for (int line = 0; line < 3; line++) {
        char file[] = "panel-1-1.dat";

        file[8] = (char)('1' + line);
        text = draw_and_read(options, file);
        assert_non_null(strstr(text, steps[line]));
        assert_int_equal(drawing_count(text, "\n"), 2 * (12 + 11));
        free(text);
    }
    text = draw_and_read(options, "panels.gp");
    assert_int_equal(drawing_count(text, "'code-"), 3);
    free(text);
    options.function_count = 1;
    options.metric = metric;
    options.metric_count = 1;
    text = draw_and_read(options, "text.gp");
    assert_non_null(strstr(text, "work with callees (% of CPU and off-CPU time)"));
    assert_null(strstr(text, "Code:"));
    free(text);
    options.code = RPS_PLOT_CODE_NONE;
    text = drawing_characters(&fixture, options);
    assert_non_null(strstr(text, "work with callees (% of CPU and off-CPU time)"));
    free(text);
}

/* In a character plot, each column has the letter of the largest share. */
static void test_characters(void **state)
{
    char *text;

    (void)state;
    text = drawing_characters(&fixture, (struct rps_plot_options){.width = 51, .ascii = 1});
    assert_non_null(strstr(text, "\nCode    aaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbb\n"
                                 "        a work  b rest\n")); /* the expected plot */
    free(text);
    text = drawing_characters(
        &fixture, (struct rps_plot_options){.width = 51, .ascii = 1, .code = RPS_PLOT_CODE_NONE});
    assert_null(strstr(text, "Code"));
    free(text);
}

/* A program without the code extension shows no samples, but everything else. */
static void test_without_the_extension(void **state)
{
    char *text;

    (void)state;
    drawing_need_gnuplot();
    rps_store_use(&rps_code_store, NULL);
    assert_null(draw_and_read((struct rps_plot_options){0}, "code-1.dat"));
    text = draw_and_read((struct rps_plot_options){0}, "text.gp");
    assert_non_null(strstr(text, "\n|A: similar to the whole run\n|B: similar to the whole run\n"));
    free(text);
    drawing_must(&fixture, fixture_file(&fixture, "a.html"), (struct rps_plot_options){0});
    text = drawing_text(fixture_file(&fixture, "a.html"), NULL);
    assert_null(strstr(text, "\"counts\": "));
    assert_non_null(strstr(text, "\"labels\": "));
    free(text);
    rps_store_use(&rps_code_store, &rps_code_hooks);
}

/* --- the page --------------------------------------------------------------------------------- */

/* The page has the calls of each bin: the root calls main, main calls the other functions, and rest
 * calls sys. */
static void test_page(void **state)
{
    char *text;

    (void)state;
    drawing_must(&fixture, fixture_file(&fixture, "a.html"), (struct rps_plot_options){0});
    text = drawing_text(fixture_file(&fixture, "a.html"), NULL);
    assert_non_null(strstr(text, "\"modules\": [\"/usr/bin/story\", \"[kernel]\"]"));
    assert_non_null(
        strstr(text, "\"functions\": {\"name\": [\"main\", \"rest\", \"work\", \"sys\"]"));
    assert_non_null(strstr(text, "\"caller\": [0, 1, 1, 2, 1]"));
    assert_non_null(strstr(text, "\"function\": [-1, 0, 2, 1, 3]"));
    assert_non_null(strstr(text, "\"counts\": \"2x8;2x8;"));
    assert_non_null(strstr(text, ";2x8;3x4,1x2;"));
    assert_int_equal(drawing_count(text, "2x8;"), 63);
    assert_non_null(strstr(text, "\"name\": \"off-CPU or not sampled\""));
    free(text);
    drawing_must(&fixture, fixture_file(&fixture, "a.html"),
                 (struct rps_plot_options){.code = RPS_PLOT_CODE_NONE});
    text = drawing_text(fixture_file(&fixture, "a.html"), NULL);
    assert_null(strstr(text, "\"counts\""));
    assert_null(strstr(text, "\"codePanel\""));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept_counts),
        cmocka_unit_test(test_widen),
        cmocka_unit_test(test_rename),
        cmocka_unit_test(test_panel),
        cmocka_unit_test(test_panel_by),
        cmocka_unit_test(test_panel_of_part),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_without_the_extension),
        cmocka_unit_test(test_page),
    };

    setenv("TZ", "UTC0", 1);
    tzset();
    return cmocka_run_group_tests(tests, begin, end);
}
