/* Tests of output files: how new content gets the file's name, and what remains after a failure.
 * tests/cli/outputs.py tests rights and owners, tests/cli/hostile.py links of other users. */
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

/* Errors that the test's linkat and renameat return in place of the C library (0: call the kernel).
 */
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

/* Simulate another user who replaces `file` by a link after its path was checked (1: on). */
static int plants_link;

/* Replace the C library's fstatat: return the status of the name itself. */
int fstatat(int folder, const char *name, struct stat *ret, int flags)
{
    int fd, result;

    assert_int_equal(flags, AT_SYMLINK_NOFOLLOW);
    if (plants_link)
        assert_int_equal(symlink("other", "file"), 0);
    fd = openat(folder, name, O_PATH | O_NOFOLLOW);
    result = fd < 0 ? -1 : fstat(fd, ret);
    if (fd >= 0)
        close(fd);
    return result;
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
    link_error = rename_error = plants_link = 0;
    unlink("file");
    unlink("other");
    assert_int_equal(rmdir(*state), 0); /* the directory is empty */
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

/* Write "before" to `file`, then begin to replace it by "after". Returns a descriptor of the old
 * file. */
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

/* Write the output from begin to end. */
static int write_over(int *ret_before, struct rps_error *err)
{
    struct rps_output_file file;

    *ret_before = begin(&file, err);
    return rps_output_file_finish(&file, err);
}

/* A reader of the old file can continue, because a new file replaces it. */
static void test_replaced(void **state)
{
    struct rps_error err;
    int before;

    (void)state;
    assert_int_equal(write_over(&before, &err), 0);
    expect_content(before, "before");
    expect_content(open("file", O_RDONLY), "after");
}

/* A link that another user puts in place of the file is replaced. The link's target is not written.
 */
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

/* If the file cannot be replaced, an exchanged file is not written at all. */
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
        assert_non_null(strstr(err.message, "incomplete"));
        expect_content(open("other", O_RDONLY), "another's");
        unlink("file");
    }
}

static void test_link_after_the_check(void **state)
{
    struct rps_output_file file;
    struct rps_error err;

    (void)state;
    put("other", "another's");
    plants_link = 1;
    assert_int_equal(rps_output_file_open(&file, "file", 0, &err), RPS_FAILED);
    plants_link = 0;
    assert_non_null(strstr(err.message, strerror(ELOOP)));
}

/* If the file cannot be replaced, the content is copied into it. An error that would affect the
 * copy too leaves the old content untouched. */
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
    rename_error = EBUSY; /* the file is a mount point */
    assert_int_equal(write_over(&before, &err), 0);
    expect_content(before, "after");
    rename_error = 0;
    for (size_t i = 0; i < sizeof(final) / sizeof(final[0]); i++) {
        link_error = final[i];
        assert_int_equal(write_over(&before, &err), RPS_FAILED);
        assert_non_null(strstr(err.message, strerror(final[i])));
        assert_non_null(strstr(err.message, "incomplete"));
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
        TEST(test_link_after_the_check),
        TEST(test_no_name),
    };

    return cmocka_run_group_tests_name("output_file", tests, NULL, NULL);
}
