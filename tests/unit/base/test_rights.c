/* Tests of the rights with which root accesses files of other users. tests/cli/hostile.py tests the
 * protection, and tests/cli/privileges.py and process_files.py test dropping the rights. */
#include "rpistat/rights.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define USER   65533
#define GROUP  5555
#define NOBODY 65534

/* Make a directory of root that contains a user's file. */
static int make_file(void **state)
{
    char *folder = strdup("/tmp/rpistat-rights-XXXXXX");

    assert_non_null(mkdtemp(folder));
    *state = folder;
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(close(creat("file", 0644)), 0);
    return 0;
}

static int remove_file(void **state)
{
    unlink("file");
    rmdir(*state);
    free(*state);
    return 0;
}

static void need_root(void)
{
    if (geteuid() == 0)
        return;
    print_message("only root takes another user's rights\n");
    skip();
}

static void test_rights(void **state)
{
    static const struct {
        mode_t mode; /* mode of the directory */
        gid_t group, taken;
    } cases[] = {
        {0755, GROUP, GROUP},   {0777, GROUP, GROUP}, {02755, GROUP, GROUP},
        {02777, GROUP, NOBODY}, /* anyone's new file gets the directory's group */
        {0755, 0, NOBODY},      /* a chown of the user alone leaves root's group */
    };
    struct rps_rights_before before;
    gid_t group = GROUP + 1;
    struct rps_error err;
    gid_t own[256];
    int count = getgroups(256, own);

    need_root();
    assert_true(count >= 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(chown(*state, 0, GROUP), 0);
        assert_int_equal(chmod(*state, cases[i].mode), 0);
        assert_int_equal(chown("file", USER, cases[i].group), 0);
        assert_int_equal(syscall(SYS_setgroups, 1, &group), 0);
        assert_int_equal(rps_rights_take_for("file", RPS_RIGHTS_FILE, &before, &err), 0);
        assert_int_equal(rps_rights_taken().user, USER);
        assert_int_equal(rps_rights_taken().group, cases[i].taken);
        assert_int_equal(getgroups(0, NULL), 0);
        rps_rights_return(&before);
        assert_int_equal(rps_rights_taken().user, 0);
        assert_int_equal(getgroups(1, &group), 1);
        assert_int_equal(group, GROUP + 1);
        assert_int_equal(prctl(PR_GET_DUMPABLE), 1); /* counters on children need a dumpable
                                                        process */
    }
    assert_int_equal(syscall(SYS_setgroups, count, own), 0);
}

static void *take(void *before)
{
    struct rps_error err;

    return rps_rights_take_for("file", RPS_RIGHTS_FILE, before, &err) == 0 &&
                   rps_rights_taken().user == USER && getgroups(0, NULL) == 0
               ? before
               : NULL;
}

/* The C library's setgroups would change all threads. */
static void test_other_threads_keep_theirs(void **state)
{
    struct rps_rights_before before;
    gid_t group = GROUP + 1, own[256];
    int count = getgroups(256, own);
    pthread_t thread;
    void *result;

    (void)state;
    need_root();
    assert_int_equal(chown("file", USER, GROUP), 0);
    assert_int_equal(syscall(SYS_setgroups, 1, &group), 0);
    assert_int_equal(pthread_create(&thread, NULL, take, &before), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &before);
    free(before.group);
    assert_int_equal(rps_rights_taken().user, 0);
    assert_int_equal(getgroups(1, &group), 1);
    assert_int_equal(syscall(SYS_setgroups, count, own), 0);
}

/* Return the exit status of a child process that calls the function. */
static int in_child(int (*function)(void))
{
    pid_t child = fork();
    int status = 0;

    assert_true(child >= 0);
    if (child == 0)
        _exit(function());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Take the rights for the file without CAP_SETUID, so that setfsuid has no effect. */
static int take_in_vain(void)
{
    enum { CAPABILITY_VERSION_3 = 0x20080522, CAP_SETUID = 7 }; /* linux/capability.h */
    uint32_t header[] = {CAPABILITY_VERSION_3, 0};
    uint32_t sets[6]; /* twice: effective, permitted, inheritable */
    struct rps_rights_before before;
    struct rps_error err;

    if (syscall(SYS_capget, header, sets) < 0)
        return 1;
    sets[0] &= ~(1u << CAP_SETUID);
    if (syscall(SYS_capset, header, sets) < 0)
        return 2;
    return rps_rights_take_for("file", RPS_RIGHTS_FILE, &before, &err) == RPS_FAILED ? 0 : 3;
}

static void test_a_change_without_effect_is_noticed(void **state)
{
    (void)state;
    need_root();
    assert_int_equal(chown("file", USER, GROUP), 0);
    assert_int_equal(in_child(take_in_vain), 0);
}

static int write_to(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t written = fd < 0 ? -1 : write(fd, text, strlen(text));

    return fd < 0 || close(fd) < 0 || written < 0 ? -1 : 0;
}

/* Take the rights for the file in a user namespace that has only root. */
static int take_in_namespace(void)
{
    struct rps_rights_before before;
    struct rps_error err;
    struct stat file;

    if (unshare(CLONE_NEWUSER) < 0 || write_to("/proc/self/setgroups", "deny") < 0 ||
        write_to("/proc/self/uid_map", "0 0 1") < 0 || write_to("/proc/self/gid_map", "0 0 1") < 0)
        return 1;
    if (stat("file", &file) < 0 || file.st_uid != NOBODY)
        return 2;
    if (rps_rights_take_for("file", RPS_RIGHTS_FILE, &before, &err) < 0)
        return 3;
    return rps_rights_taken().user == 0 ? 0 : 4;
}

/* The user of the file seems to be nobody, whose rights root cannot take in the namespace. */
static void test_root_of_a_namespace(void **state)
{
    int status;

    (void)state;
    need_root();
    assert_int_equal(chown("file", USER, GROUP), 0);
    status = in_child(take_in_namespace);
    if (status == 1) {
        print_message("no user namespace can be made\n");
        skip();
    }
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rights, make_file, remove_file),
        cmocka_unit_test_setup_teardown(test_other_threads_keep_theirs, make_file, remove_file),
        cmocka_unit_test_setup_teardown(test_a_change_without_effect_is_noticed, make_file,
                                        remove_file),
        cmocka_unit_test_setup_teardown(test_root_of_a_namespace, make_file, remove_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
