/* Output files: how the content gets its name, and what stays when it does not; rights and owners
 * are tested in tests/cli/outputs.py, other users' links in tests/cli/hostile.py. */
#include "rpistat/output_file.h"

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
#include <sys/syscall.h>
#include <unistd.h>

/* What linkat and renameat, in place of the C library's, fail with; 0: they do what they should. */
static int link_error, rename_error;

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    if (link_error == 0)
        return (int)syscall(SYS_linkat, from, old, to, new, flags);
    errno = link_error;
    return -1;
}

int renameat(int from, const char *old, int to, const char *new)
{
    if (rename_error == 0)
        return (int)syscall(SYS_renameat2, from, old, to, new, 0);
    errno = rename_error;
    return -1;
}

static int make_folder(void **state)
{
    char *folder = strdup("/tmp/rpistat-output-XXXXXX");

    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    *state = folder;
    return 0;
}

static int remove_folder(void **state)
{
    link_error = rename_error = 0;
    unlink("file");
    unlink("other");
    assert_int_equal(rmdir(*state), 0); /* nothing is left */
    free(*state);
    return 0;
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void expect_content(int fd, const char *expected)
{
    char text[64] = "";

    assert_true(pread(fd, text, sizeof(text) - 1, 0) >= 0);
    assert_string_equal(text, expected);
    close(fd);
}

/* Begin to write "after" into `file`, where "before" stands; returns a descriptor of what stands
 * there. */
static int begin(struct rps_output_file *ret, struct rps_error *err)
{
    int fd = open(".", O_TMPFILE | O_RDWR, 0600);

    if (fd < 0) {
        print_message("files without a name cannot be made here\n");
        skip();
    }
    close(fd);
    put("file", "before");
    fd = open("file", O_RDONLY);
    if (rps_output_file_open(ret, "file", 0, err) < 0)
        fail_msg("%s", err->message);
    assert_int_equal(write(ret->fd, "after", 5), 5);
    return fd;
}

/* The whole of it. */
static int write_over(int *ret_before, struct rps_error *err)
{
    struct rps_output_file file;

    *ret_before = begin(&file, err);
    return rps_output_file_finish(&file, err);
}

/* Who reads the old file goes on reading it: another one takes its place. */
static void test_replaced(void **state)
{
    struct rps_error err;
    int before;

    (void)state;
    assert_int_equal(write_over(&before, &err), 0);
    expect_content(before, "before");
    expect_content(open("file", O_RDONLY), "after");
}

/* What somebody puts in the file's place meanwhile is replaced, and not written through. */
static void test_exchanged(void **state)
{
    struct rps_output_file file;
    struct rps_error err;

    (void)state;
    for (int i = 0; i < 2; i++) {
        close(begin(&file, &err));
        put("other", "another's");
        unlink("file");
        assert_int_equal(i == 0 ? symlink("other", "file") : link("other", "file"), 0);
        assert_int_equal(rps_output_file_finish(&file, &err), 0);
        expect_content(open("other", O_RDONLY), "another's");
        expect_content(open("file", O_RDONLY | O_NOFOLLOW), "after");
    }
}

/* Nor where nothing can be replaced: the output is not written then. */
static void test_exchanged_in_place(void **state)
{
    struct rps_output_file file;
    struct rps_error err;

    (void)state;
    for (int i = 0; i < 2; i++) {
        close(begin(&file, &err));
        put("other", "another's");
        unlink("file");
        assert_int_equal(i == 0 ? symlink("other", "file") : link("other", "file"), 0);
        link_error = EPERM;
        assert_int_equal(rps_output_file_finish(&file, &err), RPS_FAILED);
        link_error = 0;
        assert_non_null(strstr(err.message, "not complete"));
        expect_content(open("other", O_RDONLY), "another's");
        unlink("file");
    }
}

/* Where another file cannot be put in its place the content is copied; but not when that would fail
 * too, and cost what is there. */
static void test_no_name(void **state)
{
    static const int passing[] = {EPERM, EACCES, ENOENT, EXDEV, EOPNOTSUPP};
    static const int final[] = {ENOSPC, EDQUOT, EIO, EROFS};
    struct rps_error err;
    int before;

    (void)state;
    for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
        link_error = passing[i];
        assert_int_equal(write_over(&before, &err), 0);
        expect_content(before, "after");
    }
    link_error = 0;
    rename_error = EBUSY; /* it is mounted */
    assert_int_equal(write_over(&before, &err), 0);
    expect_content(before, "after");
    rename_error = 0;
    for (size_t i = 0; i < sizeof(final) / sizeof(final[0]); i++) {
        link_error = final[i];
        assert_int_equal(write_over(&before, &err), RPS_FAILED);
        assert_non_null(strstr(err.message, strerror(final[i])));
        assert_non_null(strstr(err.message, "not complete"));
        expect_content(before, "before");
        expect_content(open("file", O_RDONLY), "before");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_replaced),
        TEST(test_exchanged),
        TEST(test_exchanged_in_place),
        TEST(test_no_name),
    };

    return cmocka_run_group_tests_name("output_file", tests, NULL, NULL);
}
