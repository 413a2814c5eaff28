/* Tests of strict parsing: accepted texts, rejected texts, and error messages. */
#include "rpistat/clock.h"
#include "rpistat/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MS RPS_NS_PER_MS
#define S  RPS_NS_PER_S

/* Fail and print the text, if message does not contain part. */
static void check_message(const char *text, const char *message, const char *part)
{
    if (!strstr(message, part))
        fail_msg("\"%s\": \"%s\" does not say \"%s\"", text, message, part);
}

static void test_uint64(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"0", 0},     {"007", 7},    {"18446744073709551615", UINT64_MAX},
                {"0x1f", 31}, {"0XFF", 255}, {"010", 10}};
    static const char *const bad[] = {"",
                                      " 1",
                                      "1 ",
                                      "-1",
                                      "+1",
                                      "0x",
                                      "1a",
                                      "1.0",
                                      "0x1g",
                                      "1e3",
                                      "18446744073709551616",
                                      "0x10000000000000000"};
    struct rps_error err;
    uint64_t value;

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(good); i++) {
        value = 99;
        assert_int_equal(rps_parse_uint64("-n", good[i].text, 0, UINT64_MAX, &value, &err), 0);
        assert_true(value == good[i].value);
    }
    for (size_t i = 0; i < RPS_COUNT(bad); i++) {
        value = 99;
        if (rps_parse_uint64("-n", bad[i], 0, UINT64_MAX, &value, &err) != RPS_USAGE)
            fail_msg("\"%s\" was taken for %llu", bad[i], (unsigned long long)value);
        assert_int_equal(value, 99);
    }
}

static void test_uint64_range(void **state)
{
    struct rps_error err;
    uint64_t value = 99;

    (void)state;
    assert_int_equal(rps_parse_uint64("--cpu", "3", 1, 3, &value, &err), 0);
    assert_int_equal(value, 3);
    assert_int_equal(rps_parse_uint64("--cpu", "4", 1, 3, &value, &err), RPS_USAGE);
    assert_string_equal(err.message, "--cpu 4: must be a number between 1 and 3");
    assert_int_equal(rps_parse_uint64("--cpu", "-2", 1, 3, &value, &err), RPS_USAGE);
    assert_string_equal(err.message, "--cpu -2: must be a number between 1 and 3");
    assert_int_equal(rps_parse_uint64("--cpu", "x\033", 1, UINT64_MAX, &value, &err), RPS_USAGE);
    assert_string_equal(err.message,
                        "--cpu x\\x1b: not a whole number; write a number of at least 1");
    assert_int_equal(value, 3);
}

static void test_double(void **state)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0.25", 0.25}, {"-1", -1}, {"+2.", 2}, {".5", .5}, {"1e3", 1000}, {"1E-2", 0.01}};
    static const char *const bad[] = {"",      "nan", "inf", "-inf", " 1",    "1 ",  "1,5", "0x10",
                                      "1e999", "1e",  ".",   "-",    "1.2.3", "1e+", "--1"};
    struct rps_error err;
    double value;

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(good); i++) {
        assert_int_equal(rps_parse_double("x", good[i].text, &value, &err), 0);
        assert_true(value == good[i].value);
    }
    for (size_t i = 0; i < RPS_COUNT(bad); i++) {
        value = 99;
        if (rps_parse_double("x", bad[i], &value, &err) != RPS_USAGE)
            fail_msg("\"%s\" was taken for %g", bad[i], value);
        assert_true(value == 99);
    }
}

static void test_double_in_other_locale(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    struct rps_error err;
    double value = 0;
    bool found = false;

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(names) && !found; i++)
        found = setlocale(LC_NUMERIC, names[i]) != NULL;
    if (!found)
        print_message("# no locale with a decimal comma is installed: the C locale is tested\n");
    assert_int_equal(rps_parse_double("x", "0.5", &value, &err), 0);
    assert_true(value == 0.5);
    assert_int_equal(rps_parse_double("x", "0,5", &value, &err), RPS_USAGE);
    setlocale(LC_NUMERIC, "C");
}

static void test_duration(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {
        {"100ms", 100 * MS}, {"1.5s", 1500 * MS},
        {"1h30m", 5400 * S}, {"2", 2 * S},
        {"0.1", 100 * MS},   {"0", 0},
        {"0s", 0},           {"1us", 1000},
        {"7ns", 7},          {"1d2h3min4s", 93784 * S},
        {"2min", 120 * S},   {".5h", 1800 * S},
        {"0.1ms", 100000},   {"1.0000000019s", S + 1},
        {"300y", -1},        {"106751d", INT64_C(106751) * 86400 * S},
    };
    struct rps_error err;
    int64_t ns;

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(good); i++) {
        int result = rps_parse_time_ns("--from", good[i].text, 0, INT64_MAX, &ns, &err);

        if (good[i].ns < 0) {
            assert_int_equal(result, RPS_USAGE);
        } else if (result != 0 || ns != good[i].ns) {
            fail_msg("\"%s\": result %d, %lld ns", good[i].text, result, (long long)ns);
        }
    }
}

static void test_bad_duration(void **state)
{
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"0", "--period 0: must be between 1ms and 1h"},
        {"100", "--period 100: the unit is missing; write 100ms or 100s"},
        {"5000", "--period 5000: the unit is missing; write 5000ms"},
        {"0.5", "--period 0.5: the unit is missing; write 0.5s or 0.5m"},
        {"99999999", "--period 99999999: must be between 1ms and 1h"},
        {"-1", "--period -1: must be between 1ms and 1h"},
        {"-5ms", "--period -5ms: must be between 1ms and 1h"},
        {"1us", "--period 1us: must be between 1ms and 1h"},
        {"0.999ms", "must be between 1ms and 1h"},
        {"1h1ns", "must be between 1ms and 1h"},
        {"99999999999999999999999d", "must be between 1ms and 1h"},
        {"abc", "--period abc: not a duration; write one like 100ms, 1.5s or 1h30m, between 1ms "
                "and 1h"},
        {"", "--period '': not a duration"},
        {"1h30", "not a duration"},
        {"30m1h", "not a duration"},
        {"1s1s", "not a duration"},
        {"1 s", "not a duration"},
        {"1s ", "not a duration"},
        {"1.", "not a duration"},
        {"1.s", "not a duration"},
        {"s", "not a duration"},
        {"1S", "not a duration"},
        {"1e3", "not a duration"},
        {"0x10", "not a duration"},
        {"1,5s", "not a duration"},
        {"--1", "not a duration"},
    };
    struct rps_error err;
    int64_t ns = 99;

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(bad); i++) {
        if (rps_parse_duration_ns("--period", bad[i].text, MS, 3600 * S, &ns, &err) != RPS_USAGE)
            fail_msg("\"%s\" was taken for %lld ns", bad[i].text, (long long)ns);
        check_message(bad[i].text, err.message, bad[i].part);
        assert_int_equal(ns, 99);
    }
}

static void test_duration_without_end(void **state)
{
    struct rps_error err;
    int64_t ns = 99;

    (void)state;
    assert_int_equal(rps_parse_duration_ns("--duration", "1ms", 1500 * MS, INT64_MAX, &ns, &err),
                     RPS_USAGE);
    assert_string_equal(err.message, "--duration 1ms: must be 1s500ms or more");
    assert_int_equal(rps_parse_duration_ns("--duration", "999999d", 0, INT64_MAX, &ns, &err),
                     RPS_USAGE);
    assert_string_equal(err.message, "--duration 999999d: too long; write at most 292 years");
    /* each part fits into 63 bits, but the sum does not */
    assert_int_equal(rps_parse_duration_ns("--duration", "106751d24h", 0, INT64_MAX, &ns, &err),
                     RPS_USAGE);
    assert_string_equal(err.message, "--duration 106751d24h: too long; write at most 292 years");
    assert_int_equal(ns, 99);
}

static void test_size(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"0", 0},
                {"512", 512},
                {"512B", 512},
                {"1K", 1024},
                {"1k", 1024},
                {"1.5KiB", 1536},
                {"64M", UINT64_C(64) << 20},
                {"2GB", UINT64_C(2) << 30},
                {"16777215T", UINT64_C(16777215) << 40}};
    static const char *const bad[] = {"",   "K",   "-1",    "1KK",       "1 K",
                                      "1P", "1iB", "1KiBs", "16777216T", "99999999999999999999"};
    struct rps_error err;
    uint64_t bytes;

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(good); i++) {
        if (rps_parse_size("--queue", good[i].text, &bytes, &err) != 0 || bytes != good[i].bytes)
            fail_msg("\"%s\": %llu", good[i].text, (unsigned long long)bytes);
    }
    for (size_t i = 0; i < RPS_COUNT(bad); i++) {
        bytes = 99;
        if (rps_parse_size("--queue", bad[i], &bytes, &err) != RPS_USAGE)
            fail_msg("\"%s\" was taken for %llu", bad[i], (unsigned long long)bytes);
        assert_int_equal(bytes, 99);
        check_message(bad[i], err.message, "--queue ");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uint64),
        cmocka_unit_test(test_uint64_range),
        cmocka_unit_test(test_double),
        cmocka_unit_test(test_double_in_other_locale),
        cmocka_unit_test(test_duration),
        cmocka_unit_test(test_bad_duration),
        cmocka_unit_test(test_duration_without_end),
        cmocka_unit_test(test_size),
    };

    return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}
