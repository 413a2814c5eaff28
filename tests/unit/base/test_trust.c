/* Tests of paths with resolved links. tests/cli/hostile.py tests which links and files are refused,
 * because it can act as two users. */
#include "rpistat/rights.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Make a directory for the test, with directory a, file a/file and links. */
static int make_folder(void **state)
{
    char *folder = strdup("/tmp/rpistat-trust-XXXXXX");

    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(mkdir("a", 0700), 0);
    close(creat("a/file", 0600));
    assert_int_equal(symlink("a", "to_a"), 0);
    assert_int_equal(symlink("to_a/file", "to_file"), 0);
    assert_int_equal(symlink("../a/new", "a/to_new"), 0);
    assert_int_equal(symlink("round", "round"), 0);
    assert_int_equal(symlink(folder, "here"), 0);
    *state = folder;
    return 0;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"a/file", "a/to_new", "to_a", "to_file", "round", "here"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlink(names[i]);
    rmdir("a");
    rmdir(*state);
    free(*state);
    return 0;
}

static void expect(const char *path, const char *resolved)
{
    struct rps_error err = {""};
    char *ret = NULL;

    assert_int_equal(rps_trust_path(path, &ret, NULL, &err), 0);
    assert_string_equal(ret, resolved);
    free(ret);
}

static void test_links(void **state)
{
    char text[128];

    (void)state;
    expect("a/file", "a/file");
    expect("to_a/file", "a/file");
    expect("to_file", "a/file");
    expect("./to_a//file", "./a/file");
    snprintf(text, sizeof(text), "%s/a/file", (const char *)*state);
    expect("here/to_a/file", text);
}

static void test_what_is_not_there(void **state)
{
    char text[5000];

    (void)state;
    expect("", "");
    expect("/", "/");
    expect("new", "new");
    expect("to_a/new", "a/new");
    expect("a/to_new", "a/../a/new");
    expect("to_a/none/of/these", "a/none/of/these");
    expect("round", "round");
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    expect(text, text);
}

/* Check the directory that contains the last name, or the error if it does not exist. */
static void expect_folder(const char *path, const char *folder, int number)
{
    struct rps_error err = {""};
    struct stat status, expected;
    char *ret = NULL;
    int fd;

    assert_int_equal(rps_trust_path(path, &ret, &fd, &err), 0);
    if (number) {
        assert_int_equal(fd, -number);
    } else {
        assert_int_equal(fstat(fd, &status) | stat(folder, &expected), 0);
        assert_int_equal(status.st_ino, expected.st_ino);
        close(fd);
    }
    free(ret);
}

static void test_folder(void **state)
{
    char text[5000];

    (void)state;
    expect_folder("new", ".", 0);
    expect_folder("a", ".", 0);
    expect_folder("to_file", "a", 0);
    expect_folder("a/to_new", "a", 0);
    expect_folder("/new", "/", 0);
    expect_folder("/proc/self/fd/1", "/proc/self/fd", 0);
    expect_folder("/proc/self/cwd/to_file", "a", 0);
    expect_folder("none/new", NULL, ENOENT);
    expect_folder("a/file/new/new", NULL, ENOTDIR);
    expect_folder("round", NULL, ELOOP);
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    expect_folder(text, NULL, ENAMETOOLONG);
}

static void test_proc(void **state)
{
    (void)state;
    expect("/proc/self/fd/1", "/proc/self/fd/1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_what_is_not_there),
        cmocka_unit_test(test_folder),
        cmocka_unit_test(test_proc),
    };

    return cmocka_run_group_tests_name("trust", tests, make_folder, remove_folder);
}
