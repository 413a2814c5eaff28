/* Rows for programs: the same as JSON and as CSV, what is not known, and nothing of what failed. */
#include "rpistat/rows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* A row with one of everything. */
static void put_row(struct rps_rows *rows, const char *text, int known)
{
    const struct rps_interval interval = {known ? RPS_CERTAINTY_INTERVAL : RPS_CERTAINTY_NONE, 2, 1,
                                          3, 0.5};

    rps_rows_row(rows);
    rps_rows_text(rows, "text", text);
    rps_rows_int(rows, "int", -1, known);
    rps_rows_uint(rows, "uint", UINT64_MAX, known);
    rps_rows_double(rows, "double", known ? 0.5 : NAN);
    rps_rows_bool(rows, "bool", 1, known);
    rps_rows_seconds(rows, "time_s", 1500000000, known);
    rps_rows_time(rows, "time", 1372259553000000000, known);
    rps_rows_interval(rows, &interval);
    rps_rows_end_row(rows);
}

/* A table of so many rows, the second not known, as if a command had come to `result` with it. */
static char *written(enum rps_format format, int count, int result)
{
    struct rps_error err;
    struct rps_rows rows;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(rps_rows_open(&rows, out, format, &err), 0);
    rps_rows_text(&rows, "of", "both");
    if (rps_rows_begin(&rows, "rows"))
        put_row(&rows, "", 0);
    for (int i = 0; i < count; i++)
        put_row(&rows, i == 0 ? "a, b" : NULL, i == 0);
    rps_rows_end(&rows);
    rps_rows_bool(&rows, "sound", 1, 1);
    assert_int_equal(rps_rows_close(&rows, result, &err), result);
    fclose(out);
    return text;
}

static void check_written(enum rps_format format, int count, int result, const char *expected)
{
    char *text = written(format, count, result);

    assert_string_equal(text, expected);
    free(text);
}

#define NAMES "text,int,uint,double,bool,time_s,time,low,high,certainty,share\n"

static void test_json(void **state)
{
    (void)state;
    check_written(RPS_FORMAT_JSON, 2, 1,
                  "{\n"
                  "  \"of\": \"both\",\n"
                  "  \"rows\": [\n"
                  "    {\"text\": \"a, b\", \"int\": -1, \"uint\": 18446744073709551615,"
                  " \"double\": 0.5, \"bool\": true, \"time_s\": 1.5,"
                  " \"time\": \"2013-06-26T15:12:33.000Z\", \"low\": 1, \"high\": 3,"
                  " \"certainty\": \"interval\", \"share\": 0.5},\n"
                  "    {\"text\": null, \"int\": null, \"uint\": null, \"double\": null,"
                  " \"bool\": null, \"time_s\": null, \"time\": null, \"low\": null,"
                  " \"high\": null, \"certainty\": null, \"share\": null}\n"
                  "  ],\n"
                  "  \"sound\": true\n"
                  "}\n");
}

static void test_csv(void **state)
{
    (void)state;
    check_written(RPS_FORMAT_CSV, 2, 0,
                  NAMES "\"a, b\",-1,18446744073709551615,0.5,true,1.500000000,"
                        "2013-06-26T15:12:33.000Z,1,3,interval,0.5\n"
                        ",,,,,,,,,,\n");
}

static void test_no_rows(void **state)
{
    (void)state;
    check_written(RPS_FORMAT_CSV, 0, 0, NAMES);
    check_written(RPS_FORMAT_JSON, 0, 0,
                  "{\n  \"of\": \"both\",\n  \"rows\": [],\n  \"sound\": true\n}\n");
}

static void test_failed(void **state)
{
    (void)state;
    check_written(RPS_FORMAT_CSV, 1, RPS_FAILED, "");
    check_written(RPS_FORMAT_JSON, 1, RPS_FAILED, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_no_rows),
        cmocka_unit_test(test_failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
