/* Tests of JSON: lines, commas, quoting, and numbers that JSON cannot represent. */
#include "rpistat/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

/* Write one value of each type, nested. */
static char *written(int one_line)
{
    struct rps_json json;

    assert_int_equal(rps_json_open(&json, one_line), 0);
    rps_json_object(&json, NULL);
    rps_json_int64(&json, "least", INT64_MIN);
    rps_json_uint64(&json, "most", UINT64_MAX);
    rps_json_array(&json, "rows");
    rps_json_object(&json, NULL);
    rps_json_double(&json, "third", 1 / 3.0);
    rps_json_double(&json, "none", NAN);
    rps_json_end(&json);
    rps_json_object(&json, NULL);
    rps_json_end(&json);
    rps_json_end(&json);
    rps_json_array(&json, "numbers");
    rps_json_int64(&json, NULL, 1);
    rps_json_bool(&json, NULL, 1);
    rps_json_null(&json, NULL);
    rps_json_end(&json);
    rps_json_array(&json, "times");
    rps_json_seconds(&json, NULL, 0);
    rps_json_seconds(&json, NULL, 25000000000);
    rps_json_seconds(&json, NULL, 2592000000000001);
    rps_json_seconds(&json, NULL, -60000000);
    rps_json_seconds(&json, NULL, INT64_MIN);
    rps_json_decimal(&json, NULL, 1234560, 3);
    rps_json_decimal(&json, NULL, -5, 6);
    rps_json_end(&json);
    rps_json_raw(&json, "raw", "[]");
    rps_json_end(&json);
    return rps_json_close(&json);
}

static void test_lines(void **state)
{
    char *text = written(0);

    (void)state;
    assert_string_equal(text, "{\n"
                              "  \"least\": -9223372036854775808,\n"
                              "  \"most\": 18446744073709551615,\n"
                              "  \"rows\": [\n"
                              "    {\"third\": 0.333333333, \"none\": null},\n"
                              "    {}\n"
                              "  ],\n"
                              "  \"numbers\": [1, true, null],\n"
                              "  \"times\": [0, 25, 2592000.000000001, -0.06,"
                              " -9223372036.854775808, 1234.56, -0.000005],\n"
                              "  \"raw\": []\n"
                              "}\n");
    free(text);
}

static void test_one_line(void **state)
{
    char *text = written(1);

    (void)state;
    assert_string_equal(text,
                        "{\"least\": -9223372036854775808, \"most\": 18446744073709551615,"
                        " \"rows\": [{\"third\": 0.333333333, \"none\": null}, {}],"
                        " \"numbers\": [1, true, null], \"times\": [0, 25,"
                        " 2592000.000000001, -0.06, -9223372036.854775808, 1234.56, -0.000005],"
                        " \"raw\": []}");
    free(text);
}

static void test_text(void **state)
{
    struct rps_json json;
    char *text;

    (void)state;
    assert_int_equal(rps_json_open(&json, 1), 0);
    rps_json_array(&json, NULL);
    rps_json_text(&json, NULL, "a \"quoted\" \\");
    rps_json_text(&json, NULL, "\n\033[2J\x7f\xe2\x80\xae");
    rps_json_text(&json, NULL, "caf\xc3\xa9 \xf0\x9f\x98\x80");
    rps_json_text(&json, NULL, "\xff.\xed\xa0\x80");
    rps_json_text(&json, NULL, NULL);
    rps_json_end(&json);
    text = rps_json_close(&json);
    assert_string_equal(text, "[\"a \\\"quoted\\\" \\\\\", \"\\u000a\\u001b[2J\\u007f\\u202e\","
                              " \"caf\xc3\xa9 \xf0\x9f\x98\x80\","
                              " \"\xef\xbf\xbd.\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\", null]");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_one_line),
        cmocka_unit_test(test_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
