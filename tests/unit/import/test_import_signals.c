/* Tests of tables of any program: separators, headers, decimal commas, columns that are signals or
 * only number the rows, and rejected tables. */
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
#include "import/import_parts.h"
#include "rpistat/csv_rows.h"
#include "rpistat/csv_signals.h"

static char noted[600];

static void note(const char *sentence)
{
    snprintf(noted + strlen(noted), sizeof(noted) - strlen(noted), "%s\n", sentence);
}

static int read_bytes(const char *text, size_t size, const struct rps_import_options *options,
                      struct rps_csv_signals *ret, struct rps_error *err)
{
    FILE *in = fmemopen((void *)text, size, "r");
    const struct rps_import_format *format;
    struct rps_import_builder *builder;
    int result;

    assert_non_null(in);
    memset(ret, 0, sizeof(*ret));
    noted[0] = '\0';
    builder = rps_import_open(in, "t.csv", 1, note);
    result = rps_import_look(builder, options, &format, err);
    if (result == 0)
        result = rps_import_take_signals(builder, arena, options, ret, err);
    rps_import_close(builder);
    fclose(in);
    return result;
}

static struct rps_csv_signals read_with(const char *text, struct rps_import_options options)
{
    struct rps_csv_signals signals;
    struct rps_error err;

    if (read_bytes(text, strlen(text), &options, &signals, &err) < 0)
        fail_msg("%s", err.message);
    return signals;
}

static struct rps_csv_signals read_text(const char *text)
{
    return read_with(text, (struct rps_import_options){.separator = 0});
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

/* Check the names of the signals of a text. */
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
        read_bytes(text, size, &(struct rps_import_options){.separator = 0}, &signals, &err),
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
    /* Reads one column and a byte order mark. The last value of a file may be cut off. */
    signals = read_text("\xef\xbb\xbf"
                        "5\n2\n9");
    assert_int_equal(signals.signals.count, 3);
    assert_non_null(strstr(noted, "t.csv, line 3: the last line has no line end"));
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
    signals = read_with("a,b;c\n1,5;2,5\n7,5;1,5\n", (struct rps_import_options){.decimal = ','});
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

/* A column that places the rows, such as a time, is no signal. A column that only resembles a time
 * is a signal. */
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
    refused("time,v\n3,5\n1,3\n2,4\n", 19, "'time' looks like a time, but neither grows nor falls");
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

/* In an export of a run without CPUs, the column cpu is empty. */
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

/* The rows of all CPUs at one time are one observation, the mean of the rows. */
static void test_cpus(void **state)
{
    struct rps_csv_signals signals = read_text("time,cpu,a\n1,0,1\n1,1,3\n1,2,5\n2,0,10\n2,1,20\n"
                                               "2,2,60\n3,0,7\n3,1,8\n3,2,6\n");
    static const double means[] = {3, 30, 7};

    (void)state;
    check_names(&signals, "a");
    assert_int_equal(signals.signals.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(value(&signals, 0, i) == means[i]);
    /* A mean of counts is unknown if a CPU lacks its count. A mean of gauges covers the others. */
    signals = read_with("time,cpu,a,b\n1,0,1,1\n1,1,3,3\n2,0,1,1\n2,1,,\n3,0,1,1\n3,1,3,3\n"
                        "4,1,3,3\n4,0,,\n",
                        (struct rps_import_options){.map = "a=count,b=gauge"});
    assert_true(value(&signals, 0, 0) == 2);
    assert_true(isnan(value(&signals, 0, 1)));
    assert_true(value(&signals, 0, 2) == 2);
    assert_true(isnan(value(&signals, 0, 3)));
    assert_true(value(&signals, 1, 1) == 1);
    assert_true(value(&signals, 1, 3) == 3);
    /* CPUs 1 and 2 lack their first counts, CPU 3 has none, CPU 4 begins later */
    signals = read_with("time,cpu,a\n1,0,1\n1,1,\n1,2,9\n1,3,\n2,0,1\n2,1,2\n2,2,\n2,3,\n"
                        "3,0,1\n3,1,2\n3,2,3\n3,3,\n4,4,6\n4,0,1\n4,1,2\n4,2,3\n4,3,\n",
                        (struct rps_import_options){.map = "a=count"});
    assert_true(isnan(value(&signals, 0, 0)));
    assert_true(isnan(value(&signals, 0, 1)));
    assert_true(value(&signals, 0, 2) == 2);
    assert_true(value(&signals, 0, 3) == 3);
    assert_non_null(strstr(noted, "only some CPUs have a value of a"));
    signals = read_with("time,cpu,a\n1,0,1\n1,1,\n2,0,1\n2,1,3\n3,0,1\n3,1,3\n",
                        (struct rps_import_options){.map = "a=count"});
    assert_true(isnan(value(&signals, 0, 0)));
    assert_true(value(&signals, 0, 1) == 2);
    assert_non_null(strstr(noted, "only some CPUs have a value of a"));
    /* the first values of running totals have no growth on any CPU */
    signals = read_with("time,cpu,a\n1,0,1\n1,1,5\n2,0,2\n2,1,8\n3,0,3\n3,1,11\n",
                        (struct rps_import_options){.map = "a=counter"});
    assert_true(value(&signals, 0, 1) == 2);
    assert_null(strstr(noted, "only some CPUs"));
    /* no dates are printed, and there is no --start */
    read_text("time,a\n10:00:00,1\n10:00:01,2\n10:00:02,2\n10:00:03,5\n");
    assert_string_equal(noted, "");
}

static void test_chosen_columns(void **state)
{
    static const char *const both[] = {"b", "time"}, *const number[] = {"2"}, *const none[] = {"x"};
    const char *text = "time,a,b,word\n1,5,6,q\n2,4,6,q\n3,5,5,q\n";
    struct rps_csv_signals signals =
        read_with(text, (struct rps_import_options){.metric = both, .metric_count = 2});
    struct rps_error err;

    (void)state;
    assert_true(value(&signals, 1, 2) == 3);
    check_names(&signals, "b time");
    signals =
        read_with("7,1\n5,2\n", (struct rps_import_options){.metric = number, .metric_count = 1});
    assert_true(value(&signals, 0, 1) == 2);
    check_names(&signals, "2");
    assert_int_equal(read_bytes(text, strlen(text),
                                &(struct rps_import_options){.metric = none, .metric_count = 1},
                                &signals, &err),
                     RPS_USAGE);
    assert_non_null(strstr(err.message, "'x'; choose from a, b"));
}

/* Above a number of rows, neighbours are averaged: here four rows, and three at the end. Each
 * number has the same weight, whether averaged while reading or later. Phases refer to rows. */
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
    signals = read_with(text, (struct rps_import_options){.map = "a=gauge,b=count,c=gauge"});
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
    refused("", 0 + 1, "check that this is a text file"); /* the file is one zero byte */
    refused("\n\n", 2, "no rows");
    refused(zeros, sizeof(zeros), "check that this is a text file");
    refused("a,b\n1,2\n3\n", 10, "line 3: the row has 1 cell, and the first has 2");
    refused("a;b\n1;2\n3;4;5\n", 14, "the separator is ';'");
    refused("a,b\nx,y\nz,w\n", 12, "no column of measured values");
    refused("a,b\n", 4, "has no rows to import, only a header");
    refused("a\nNaN\n\nNA\n", 10, "no column of measured values");
    refused("time,index\n1,2\n2,3\n3,4\n", 23, "no column of measured values");
    refused("time\n1\n2\n4\n", 11, "no column of measured values");
    names_are("a,b\n1,2\n2,4\n3,6\n", "a b");
    assert_non_null(long_cell);
    memset(long_cell, 'x', 3 << 20);
    memcpy(long_cell, "a\n\"", 3);
    refused(long_cell, 3 << 20, "check its quotes");
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
                                &(struct rps_import_options){.separator = 0}, &signals, &err),
                     0);
    assert_int_equal(signals.signals.count, rows);
    assert_true(signals.signals.signal_count > 9000);
    assert_true(value(&signals, 3, 2) == 0);

    memset(text, ',', RPS_CSV_COLUMNS_MAX + 1);
    text[RPS_CSV_COLUMNS_MAX + 1] = '\n';
    refused(text, RPS_CSV_COLUMNS_MAX + 2, "more than 100000 columns");
    free(text);
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
        cmocka_unit_test(test_cpus),
        cmocka_unit_test(test_chosen_columns),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_no_table),
        cmocka_unit_test(test_many_columns),
    };

    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
