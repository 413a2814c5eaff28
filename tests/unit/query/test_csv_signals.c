/* Tables of any program: separators, headers, decimal commas, what is a signal and what only
 * numbers the rows, and what is no table. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/arena.h"
#include "rpistat/csv_rows.h"
#include "rpistat/csv_signals.h"

static int read_bytes(const char *text, size_t size, const struct rps_csv_options *options,
                      struct rps_csv_signals *ret, struct rps_error *err)
{
    FILE *in = fmemopen((void *)text, size, "r");
    int result;

    assert_non_null(in);
    memset(ret, 0, sizeof(*ret));
    result = rps_csv_signals_read(arena, in, options, ret, err);
    fclose(in);
    return result;
}

static struct rps_csv_signals read_with(const char *text, struct rps_csv_options options)
{
    struct rps_csv_signals signals;
    struct rps_error err;

    options.origin = "t.csv";
    if (read_bytes(text, strlen(text), &options, &signals, &err) < 0)
        fail_msg("%s", err.message);
    return signals;
}

static struct rps_csv_signals read_text(const char *text)
{
    return read_with(text, (struct rps_csv_options){.separator = 0});
}

static double value(const struct rps_csv_signals *signals, size_t signal, size_t row)
{
    return signals->signals.value[signal * signals->signals.count + row];
}

static void check_names(struct rps_csv_signals *signals, const char *expected)
{
    char names[400] = "";

    for (size_t s = 0; s < signals->signals.signal_count; s++)
        snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", s ? " " : "",
                 signals->name[s]);
    assert_string_equal(names, expected);
}

/* The names of the signals of a text. */
static void names_are(const char *text, const char *expected)
{
    struct rps_csv_signals signals = read_text(text);

    check_names(&signals, expected);
}

static void refused(const char *text, size_t size, const char *says)
{
    struct rps_csv_signals signals;
    struct rps_error err;

    assert_int_equal(
        read_bytes(text, size, &(struct rps_csv_options){.origin = "t.csv"}, &signals, &err),
        RPS_FAILED);
    if (!strstr(err.message, says) || !strstr(err.message, "t.csv"))
        fail_msg("'%s' does not say '%s'", err.message, says);
    assert_null(signals.signals.value);
}

static void test_header_and_values(void **state)
{
    struct rps_csv_signals signals =
        read_text("name,a,\"b, c\"\r\nx,1,-2.5\r\ny,1e3,\r\nz,NaN,7\r\n");

    (void)state;
    assert_int_equal(signals.signals.count, 3);
    assert_int_equal(signals.signals.signal_count, 2);
    assert_string_equal(signals.name[1], "b, c");
    assert_true(value(&signals, 0, 1) == 1000);
    assert_true(isnan(value(&signals, 0, 2)));
    assert_true(value(&signals, 1, 0) == -2.5);
    assert_true(isnan(value(&signals, 1, 1)));
    assert_null(signals.signals.broken);
}

static void test_no_header(void **state)
{
    struct rps_csv_signals signals = read_text("3,x,5\n1,y,4\n4,z,2\n");

    (void)state;
    assert_int_equal(signals.signals.count, 3);
    assert_true(value(&signals, 0, 0) == 3 && value(&signals, 1, 2) == 2);
    check_names(&signals, "1 3");
    /* one column, without an end of line at the end; a byte order mark */
    signals = read_text("\xef\xbb\xbf"
                        "5\n2\n9");
    assert_int_equal(signals.signals.count, 3);
    assert_true(value(&signals, 0, 0) == 5 && value(&signals, 0, 2) == 9);
    check_names(&signals, "1");
}

static void test_separators(void **state)
{
    struct rps_csv_signals signals;

    (void)state;
    signals = read_text("a;b\n1,5;2\n3,25;-4\n");
    assert_true(value(&signals, 0, 1) == 3.25 && value(&signals, 1, 1) == -4);
    check_names(&signals, "a b");
    names_are("a\tb\n1\t2\n9\t4\n", "a b");
    names_are("a|b\n1|2\n9|4\n", "a b");
    signals = read_with("a,b;c\n1,5;2,5\n7,5;1,5\n", (struct rps_csv_options){.decimal = ','});
    assert_true(value(&signals, 0, 1) == 7.5);
    check_names(&signals, "a,b c");
}

static void test_comments(void **state)
{
    struct rps_csv_signals signals =
        read_text("# started, on, Monday\n\na,b\n1,2\n# a pause\n4,<not counted>\n0,3\n");

    (void)state;
    assert_int_equal(signals.signals.count, 3);
    assert_true(isnan(value(&signals, 1, 1)));
    check_names(&signals, "a b");
}

/* What places a row is no signal; what looks like it and is none, is. */
static void test_places(void **state)
{
    (void)state;
    names_are("time,v\n0.1,5\n0.25,3\n0.31,4\n", "v");
    names_are("Time (s),v\n0.1,5\n0.25,3\n0.31,4\n", "v");
    names_are(",v\n0,5\n1,3\n2,4\n", "v");
    names_are("anything,v\n10,5\n20,3\n30,4\n", "v");
    names_are("1.001,5\n1.101,3\n1.201,4\n", "2");
    names_are("1600000000,5\n1600000060,3\n1600000300,4\n", "2");
    names_are("timeouts,v\n1,5\n5,3\n9.5,4\n", "timeouts v");
    names_are("time,v\n3,5\n1,3\n2,4\n", "time v");
    names_are("day,v\n1,5\n1,3\n2,4\n2,4\n1,4\n", "day v");
    names_are("population\n1\n5\n9.5\n", "population");
    names_are("2\n4\n6\n8\n", "1");
}

static void test_own_exports(void **state)
{
    struct rps_csv_signals signals =
        read_text("run,cpu,period,time_s,length_s,cycle,cycles,set,a,b\n"
                  "1,0,0,0.0,0.1,700,700,0,11,\n"
                  "1,0,1,0.1,0.2,1500,800,1,,22\n"
                  "1,1,0,0.0,0.1,900,900,0,15,\n"
                  "2,1,1,0.1,0.1,1800,950,1,,29\n");

    (void)state;
    assert_non_null(signals.signals.broken);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(signals.signals.broken[i], i >= 2);
    assert_true(isnan(value(&signals, 2, 0)) && value(&signals, 2, 3) == 29);
    check_names(&signals, "cycles a b");
    names_are("run,cpu,rotation,time_s,length_s,cycle,cycles,cpi\n1,-1,0,0,.1,9,9,2\n"
              "1,-1,1,.4,.1,18,8,3\n1,-1,2,.5,.2,30,12,2\n",
              "cycles cpi");
}

/* An export of a run without CPUs: nothing stands in its cpu. */
static void test_own_export_without_cpus(void **state)
{
    struct rps_csv_signals signals =
        read_text("run,cpu,period,time_s,length_s,cycle,cycles,set,a\n"
                  "1,,0,0.0,0.1,700,700,0,11\n1,,1,0.1,0.1,1500,800,0,22\n"
                  "2,,0,0.0,0.1,900,900,0,15\n2,,1,0.1,0.1,1800,900,0,16\n");

    (void)state;
    assert_non_null(signals.signals.broken);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(signals.signals.broken[i], i == 2);
}

static void test_chosen_columns(void **state)
{
    static const char *const both[] = {"b", "time"}, *const number[] = {"2"}, *const none[] = {"x"};
    const char *text = "time,a,b,word\n1,5,6,q\n2,4,6,q\n3,5,5,q\n";
    struct rps_csv_signals signals =
        read_with(text, (struct rps_csv_options){.name = both, .name_count = 2});
    struct rps_error err;

    (void)state;
    assert_true(value(&signals, 1, 2) == 3);
    check_names(&signals, "b time");
    signals = read_with("7,1\n5,2\n", (struct rps_csv_options){.name = number, .name_count = 1});
    assert_true(value(&signals, 0, 1) == 2);
    check_names(&signals, "2");
    assert_int_equal(
        read_bytes(text, strlen(text),
                   &(struct rps_csv_options){.origin = "t.csv", .name = none, .name_count = 1},
                   &signals, &err),
        RPS_USAGE);
    assert_non_null(strstr(err.message, "'x'; it has time, a, b"));
}

/* From some rows on, neighbours are averaged: here four, of which the last are three. Each number weighs the
 * same, whether rows are averaged when they are read or later. Phases are of rows. */
static void test_many_rows(void **state)
{
    enum { ROWS = 3 * (1 << 21) + 3, LENGTH = 7, ROW = 6, MEANS = ROWS / 4 };
    char *text = malloc(LENGTH + (size_t)ROWS * ROW);
    struct rps_csv_signals signals;
    struct rps_phase phase[] = {{.last = 1},
                                {.first = 2, .earliest = 1, .latest = 3, .last = MEANS}};
    uint64_t outlier[] = {3};
    struct rps_phases level = {.count = 2, .phase = phase, .outlier_count = 1, .outlier = outlier};
    struct rps_found_phases found = {.levels = {.count = 1, .level = &level}};

    (void)state;
    assert_non_null(text);
    strcpy(text, "a,b,c\n");
    for (size_t row = 0; row < ROWS; row++)
        memcpy(
            text + ROW + row * ROW,
            (char[]){(char)('0' + row % 4), ',', row % 8 ? '6' : '-', ',', "0-66"[row % 4], '\n'},
            ROW);
    text[ROW + (size_t)ROWS * ROW] = '\0';
    signals = read_text(text);
    assert_int_equal(signals.rows, ROWS);
    assert_int_equal(signals.rows_per, 4);
    assert_int_equal(signals.signals.count, MEANS + 1);
    check_names(&signals, "a b c");
    for (size_t row = 0; row < MEANS; row++)
        assert_true(value(&signals, 0, row) == 1.5 && value(&signals, 1, row) == 6 &&
                    value(&signals, 2, row) == 4);
    assert_true(value(&signals, 0, MEANS) == 1);
    rps_csv_signals_set_rows(&signals, &found);
    assert_int_equal(phase[0].last, 7);
    assert_int_equal(phase[1].first, 8);
    assert_int_equal(phase[1].earliest, 1);
    assert_int_equal(phase[1].latest, 15);
    assert_int_equal(phase[1].last, ROWS - 1);
    assert_int_equal(outlier[0], 12);
    assert_int_equal(level.wide, 3);
    free(text);
}

static void test_no_table(void **state)
{
    static const char zeros[] = "1,2\n3\0,4\n";
    char *long_cell = malloc(3 << 20);

    (void)state;
    refused("", 0 + 1, "not a text file"); /* one byte, 0 */
    refused("\n\n", 2, "no rows");
    refused(zeros, sizeof(zeros), "not a text file");
    refused("a,b\n1,2\n3\n", 10, "row 3 has 1 cell, and the first has 2");
    refused("a;b\n1;2\n3;4;5\n", 14, "the separator really ';'");
    refused("a,b\nx,y\nz,w\n", 12, "no column of numbers");
    refused("a,b\n", 4, "no column of numbers");
    refused("a\nNaN\n\nNA\n", 10, "no column of numbers");
    refused("time,index\n1,2\n2,3\n3,4\n", 23, "but those that number its rows");
    refused("time\n1\n2\n4\n", 11, "but those that number its rows");
    assert_non_null(long_cell);
    memset(long_cell, 'x', 3 << 20);
    memcpy(long_cell, "a\n\"", 3);
    refused(long_cell, 3 << 20, "do its quotes match");
    free(long_cell);
}

static void test_many_columns(void **state)
{
    size_t columns = 10000, rows = 6, size = columns * rows * 8;
    struct rps_csv_signals signals;
    char *text = malloc(size), *at = text;
    struct rps_error err;

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < rows; i++) {
        for (size_t c = 0; c < columns; c++)
            at += sprintf(at, "%zu%c", (i * i + c) % 7, c + 1 < columns ? ',' : '\n');
    }
    assert_int_equal(read_bytes(text, (size_t)(at - text),
                                &(struct rps_csv_options){.origin = "t.csv"}, &signals, &err),
                     0);
    assert_int_equal(signals.signals.count, rows);
    assert_true(signals.signals.signal_count > 9000);
    assert_true(value(&signals, 3, 2) == 0);

    memset(text, ',', RPS_CSV_COLUMNS_MAX + 1);
    text[RPS_CSV_COLUMNS_MAX + 1] = '\n';
    refused(text, RPS_CSV_COLUMNS_MAX + 2, "more than 100000 columns");
    free(text);
}

/* --- for the detector ------------------------------------------------------------------------- */

static double normal(uint64_t *state)
{
    double sum = -6;

    for (int k = 0; k < 12; k++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        sum += (double)(*state >> 11) * 0x1p-53;
    }
    return sum;
}

enum shape { NORMAL, LOGNORMAL, POISSON_LIKE, SPIKES, NEAR_ZERO, SHAPES };

static double draw(enum shape shape, double level, uint64_t *state)
{
    double noise = normal(state);

    switch (shape) {
    case LOGNORMAL:
        return level * exp(0.8 * noise);
    case POISSON_LIKE:
        return floor(level * 10 + sqrt(level * 10) * noise + 0.5);
    case SPIKES:
        return 20 + 5 * level + noise + (normal(state) > 2 ? 50 : 0);
    case NEAR_ZERO:
        return level * exp(0.8 * noise) - 1;
    default:
        return 20 + 5 * level + noise;
    }
}

/* Columns of each shape, at two levels in turn, 100 rows each. */
static struct rps_csv_signals make_shapes(size_t rows, uint64_t seed)
{
    struct rps_csv_signals table = {.signals = {.count = rows, .signal_count = SHAPES}};

    table.signals.value = rps_arena_get(arena, rows * SHAPES, sizeof(*table.signals.value));
    for (size_t s = 0; s < SHAPES; s++) {
        for (size_t i = 0; i < rows; i++)
            table.signals.value[s * rows + i] = draw((enum shape)s, i / 100 % 2 ? 4 : 2, &seed);
    }
    return table;
}

/* Noise that grows with the level asks for a logarithm; nothing else does. */
static void test_logarithms(void **state)
{
    int logs[SHAPES] = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct rps_csv_signals table = make_shapes(400, seed);
        struct rps_signals even = rps_csv_signals_even(&table);

        for (size_t s = 0; s < SHAPES; s++) {
            int is_log = even.value[s * 400] != table.signals.value[s * 400];

            for (size_t i = 0; i < 400; i++) {
                double plain = table.signals.value[s * 400 + i];

                assert_true(even.value[s * 400 + i] == (is_log ? log(plain) : plain));
            }
            logs[s] += is_log;
        }
        rps_signals_free(&even);
    }
    assert_int_equal(logs[LOGNORMAL], 40);
    assert_int_equal(logs[NEAR_ZERO], 0); /* some are negative */
    assert_in_range(logs[NORMAL], 0, 1);
    assert_in_range(logs[POISSON_LIKE], 0, 2);
    assert_in_range(logs[SPIKES], 0, 1);
}

/* Too few rows tell nothing; cells that were not observed stay so, breaks too. */
static void test_logarithms_of_little(void **state)
{
    struct rps_csv_signals table = make_shapes(50, 3);
    struct rps_signals even = rps_csv_signals_even(&table);

    (void)state;
    assert_memory_equal(even.value, table.signals.value, 50 * SHAPES * sizeof(*even.value));
    assert_null(even.broken);
    rps_signals_free(&even);

    table = make_shapes(400, 4);
    table.signals.value[LOGNORMAL * 400 + 17] = NAN;
    table.signals.broken = rps_arena_get(arena, 400, 1);
    table.signals.broken[200] = 1;
    even = rps_csv_signals_even(&table);
    assert_true(isnan(even.value[LOGNORMAL * 400 + 17]));
    assert_true(even.value[LOGNORMAL * 400 + 18] == log(table.signals.value[LOGNORMAL * 400 + 18]));
    assert_memory_equal(even.broken, table.signals.broken, 400);
    rps_signals_free(&even);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_and_values),
        cmocka_unit_test(test_no_header),
        cmocka_unit_test(test_separators),
        cmocka_unit_test(test_comments),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_own_exports),
        cmocka_unit_test(test_own_export_without_cpus),
        cmocka_unit_test(test_chosen_columns),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_no_table),
        cmocka_unit_test(test_many_columns),
        cmocka_unit_test(test_logarithms),
        cmocka_unit_test(test_logarithms_of_little),
    };

    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
