/* Tests of work in a child process: its result, however the process ends. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "rpistat/arena.h"
#include "rpistat/process.h"

static int work(void *context, FILE *out, struct rps_error *err)
{
    const char *what = context;

    if (strcmp(what, "fails") == 0)
        return rps_error_set(err, RPS_USAGE, "it fails on purpose");
    if (strcmp(what, "has no memory") == 0)
        rps_arena_get(rps_arena_new(), SIZE_MAX, 2);
    if (strcmp(what, "dies") == 0)
        raise(SIGKILL);
    if (strcmp(what, "ends") == 0)
        _exit(0);
    for (int i = 0; i < 100000; i++)
        fprintf(out, "%s %05d\n", what, i);
    return 7;
}

static void test_ends(void **state)
{
    static const struct {
        const char *what, *says;
        int result;
    } row[] = {
        {"fails", "it fails on purpose", RPS_USAGE},
        {"has no memory", "memory", RPS_FAILED},
        {"dies", "the process 'child' ended too early (Killed); run the command again", RPS_FAILED},
        {"ends", "the process 'child' ended too early (by itself); run the command again",
         RPS_FAILED}};

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct rps_error err = {""};
        char *text = NULL;
        size_t size = 77;

        assert_int_equal(
            rps_subprocess_run("child", work, (void *)(uintptr_t)row[i].what, &text, &size, &err),
            row[i].result);
        assert_non_null(strstr(err.message, row[i].says));
        assert_null(text);
        assert_int_equal(size, 77);
    }
}

static void test_answer(void **state)
{
    char name[] = "line", *text = NULL;
    struct rps_error err;
    size_t size = 0;

    (void)state;
    assert_int_equal(rps_subprocess_run("child", work, name, &text, &size, &err), 7);
    assert_int_equal(size, 100000 * strlen("line 00000\n"));
    assert_string_equal(text + size - 11, "line 99999\n");
    free(text);
    assert_int_equal(rps_subprocess_run("child", work, name, NULL, NULL, &err), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
