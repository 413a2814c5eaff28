/* Tests of errors: codes are passed on, messages are cut between characters, and prefixes are
 * added. */
#include "rpistat/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/resource.h>

static void test_set(void **state)
{
    struct rps_error err = {""};

    (void)state;
    assert_int_equal(rps_error_set(&err, RPS_USAGE, "no run %d in %s", 7, "x.data"), RPS_USAGE);
    assert_string_equal(err.message, "no run 7 in x.data");
    assert_int_equal(rps_error_set(NULL, RPS_FAILED, "%s", "nobody reads this"), RPS_FAILED);
}

static void test_old_message_as_argument(void **state)
{
    struct rps_error err = {""};

    (void)state;
    rps_error_set(&err, RPS_FAILED, "disk full");
    rps_error_set(&err, RPS_FAILED, "cannot write: %s", err.message);
    assert_string_equal(err.message, "cannot write: disk full");
}

static void test_prefix(void **state)
{
    struct rps_error err = {""};

    (void)state;
    rps_error_set(&err, RPS_FAILED, "unknown key");
    assert_int_equal(rps_error_prefix(&err, RPS_USAGE, "%s:%d", "my.ini", 3), RPS_USAGE);
    assert_string_equal(err.message, "my.ini:3: unknown key");
    assert_int_equal(rps_error_prefix(NULL, RPS_FAILED, "x"), RPS_FAILED);
}

static void test_cut_between_characters(void **state)
{
    struct rps_error err = {""};
    char text[2 * sizeof(err.message)];

    (void)state;
    /* Two-byte characters after one byte: byte 767, the last that fits, is the second byte of a
     * character. */
    memset(text, 0, sizeof(text));
    text[0] = 'x';
    for (size_t i = 1; i + 2 < sizeof(text); i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    rps_error_set(&err, RPS_FAILED, "%s", text);
    for (int start = 0; start < 2; start++) {
        char *cut;

        rps_error_set(&err, RPS_FAILED, "%s%s: so do this", start ? "y" : "", text);
        assert_true(strlen(err.message) >= sizeof(err.message) - 3);
        assert_non_null(cut = strstr(err.message, "\xe2\x80\xa6"));
        assert_int_equal((unsigned char)cut[-1], 0xa9);
        assert_int_equal((unsigned char)cut[3], 0xc3);
        assert_string_equal(err.message + strlen(err.message) - 12, ": so do this");
    }

    rps_error_prefix(&err, RPS_FAILED, "%s", text);
    assert_true(strlen(err.message) < sizeof(err.message));
    assert_int_equal(err.message[0], 'x');
}

static void test_memory(void **state)
{
    struct rps_error err = {""};

    (void)state;
    assert_int_equal(rps_error_memory(&err), RPS_FAILED);
    assert_non_null(strstr(err.message, "memory"));
    assert_int_equal(rps_error_memory(NULL), RPS_FAILED);
}

/* The remedy names the memory limit if there is one. is_memory does not depend on the limit. */
static void test_memory_limit(void **state)
{
    struct rlimit limit;
    struct rps_error before = {""}, after = {""};

    (void)state;
    if (getrlimit(RLIMIT_DATA, &limit) != 0 || rps_memory_limit() != SIZE_MAX) {
        print_message("memory is limited already\n");
        skip();
    }
    rps_error_memory(&before);
    limit.rlim_cur = (rlim_t)1 << 30;
    assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
    rps_error_memory(&after);
    assert_null(strstr(before.message, "ulimit"));
    assert_non_null(strstr(after.message, "ulimit"));
    assert_true(rps_error_is_memory(&before) && rps_error_is_memory(&after));
    limit.rlim_cur = RLIM_INFINITY;
    assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
    assert_true(rps_error_is_memory(&before) && rps_error_is_memory(&after));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),    cmocka_unit_test(test_old_message_as_argument),
        cmocka_unit_test(test_prefix), cmocka_unit_test(test_cut_between_characters),
        cmocka_unit_test(test_memory), cmocka_unit_test(test_memory_limit),
    };

    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
