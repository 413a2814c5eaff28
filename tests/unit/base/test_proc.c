/* Tests of reading files of /proc and /sys as text. */
#include "rpistat/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_read(void **state)
{
    char path[] = "/tmp/rpistat-proc-XXXXXX", text[8];
    int fd = mkstemp(path);

    (void)state;
    assert_int_equal(write(fd, "12345678", 8), 8);
    close(fd);
    assert_int_equal(rps_proc_read(text, sizeof(text), "/tmp/%s", path + strlen("/tmp/")), 7);
    assert_string_equal(text, "1234567");
    assert_int_equal(rps_proc_read(text, 1, "%s", path), 0);
    assert_string_equal(text, "");
    unlink(path);
    strcpy(text, "before");
    assert_int_equal(rps_proc_read(text, sizeof(text), "%s", path), 0);
    assert_string_equal(text, "");
    /* stat reports length 0 for the file */
    assert_true(rps_proc_read(text, sizeof(text), "/proc/self/stat") > 0);
}

/* A process name may contain any character, and the text may be cut off. */
static void test_stat_field(void **state)
{
    static const char text[] = "12 (a) R (b) 7) S 34 5 6";

    (void)state;
    assert_string_equal(rps_proc_stat_field(text, 3), "S 34 5 6");
    assert_string_equal(rps_proc_stat_field(text, 4), "34 5 6");
    assert_string_equal(rps_proc_stat_field(text, 6), "6");
    assert_string_equal(rps_proc_stat_field(text, 7), "");
    assert_string_equal(rps_proc_stat_field("12 (a) S ", 4), "");
    assert_string_equal(rps_proc_stat_field("12 (a)", 3), "");
    assert_string_equal(rps_proc_stat_field("", 3), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_read),
                                       cmocka_unit_test(test_stat_field)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
