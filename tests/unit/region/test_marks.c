/* Marks that a program sends to a recorder. The test opens the recorder's socket itself. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "region/state.h"

#define S INT64_C(1000000000)

static int recorder = -1, accepted = -1, fd = -1;

static int listen_as(long pid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s%ld",
                          RPS_REGION_WIRE_SOCKET, pid);

    recorder = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (bind(recorder, (struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) < 0)
        return -1;
    return listen(recorder, 1);
}

static int open_recorder(void **state)
{
    (void)state;
    if (listen_as(getpid()) < 0)
        return -1;
    fd = rps_marks_connect(getpid(), "/proc");
    accepted = fd >= 0 ? accept4(recorder, NULL, NULL, SOCK_NONBLOCK) : -1;
    return accepted >= 0 ? 0 : -1;
}

static int close_recorder(void **state)
{
    (void)state;
    close(fd);
    close(accepted);
    close(recorder);
    fd = accepted = recorder = -1;
    return 0;
}

/* Return the number of marks in the next message, or -1 if there is no message. */
static int next(struct rps_region_wire *wire)
{
    ssize_t size = recv(accepted, wire, sizeof(*wire), 0);

    if (size < 0)
        return -1;
    assert_string_equal(wire->magic, RPS_REGION_WIRE_MAGIC);
    assert_int_equal((size_t)size, offsetof(struct rps_region_wire, mark) +
                                       wire->mark_count * sizeof(wire->mark[0]));
    return (int)wire->mark_count;
}

static void enter(struct rps_marks *marks, int64_t begin_ns, int64_t end_ns)
{
    rps_marks_add(marks, fd, "name", RPS_REGION_WIRE_BEGIN, begin_ns);
    rps_marks_add(marks, fd, "name", RPS_REGION_WIRE_END, end_ns);
}

/* Each entry of a region that is entered only occasionally is sent at once. */
static void test_slow(void **state)
{
    struct rps_region_wire wire;
    struct rps_marks marks = {0};

    (void)state;
    for (int64_t i = 0; i < 3; i++) {
        enter(&marks, i * S, i * S + 5);
        assert_int_equal(next(&wire), 1);
        assert_string_equal(wire.name, "name");
        assert_int_equal(wire.mark[0].kind, RPS_REGION_WIRE_BEGIN);
        assert_int_equal(wire.mark[0].time_ns, i * S);
        assert_int_equal(next(&wire), 1);
        assert_int_equal(wire.mark[0].kind, RPS_REGION_WIRE_END);
        assert_int_equal(wire.mark[0].time_ns, i * S + 5);
        assert_int_equal(next(&wire), -1);
    }
}

/* Of ten entries in one second, the first is sent at once and the others together at the end of the
 * second. */
static void test_ten(void **state)
{
    struct rps_region_wire wire;
    struct rps_marks marks = {0};

    (void)state;
    for (int64_t i = 0; i < RPS_REGION_MARKED_MAX; i++)
        enter(&marks, i * 100, i * 100 + 50);
    assert_int_equal(next(&wire), 1);
    assert_int_equal(next(&wire), 1);
    assert_int_equal(next(&wire), -1);
    rps_marks_flush(&marks, fd, "name", S - 1);
    assert_int_equal(next(&wire), -1);
    rps_marks_flush(&marks, fd, "name", S);
    assert_int_equal(next(&wire), 2 * (RPS_REGION_MARKED_MAX - 1));
    assert_int_equal(wire.mark[17].time_ns, 950);
    assert_int_equal(wire.mark[17].kind, RPS_REGION_WIRE_END);
    rps_marks_finish(&marks, fd, "name", 2 * S, 10, 500);
    assert_int_equal(next(&wire), -1);
}

/* Of eleven entries in one second, only the first is sent, followed by the totals. */
static void test_eleven(void **state)
{
    struct rps_region_wire wire;
    struct rps_marks marks = {0};

    (void)state;
    for (int64_t i = 0; i <= RPS_REGION_MARKED_MAX; i++)
        enter(&marks, i * 100, i * 100 + 50);
    assert_true(marks.muted);
    enter(&marks, 10 * S, 11 * S);
    assert_int_equal(next(&wire), 1);
    assert_int_equal(next(&wire), 1);
    assert_int_equal(next(&wire), -1);
    rps_marks_finish(&marks, fd, "name", 12 * S, 12, 345);
    assert_int_equal(next(&wire), 1);
    assert_int_equal(wire.mark[0].kind, RPS_REGION_WIRE_TOTALS);
    assert_int_equal(wire.mark[0].time_ns, 12 * S);
    assert_int_equal(wire.entered, 12);
    assert_int_equal(wire.elapsed_ns, 345);
}

/* A recorder that does not read delays nobody, and receives the remaining marks later. */
static void test_full_queue(void **state)
{
    struct rps_region_wire wire;
    struct rps_marks marks = {0};
    int got = 0, count;

    (void)state;
    while (send(fd, "x", 1, MSG_DONTWAIT) == 1)
        got++;
    assert_true(got > 0);
    enter(&marks, 0, 5);
    assert_int_equal(marks.held, 2);
    while (recv(accepted, &wire, sizeof(wire), 0) > 0)
        ;
    rps_marks_flush(&marks, fd, "name", S);
    assert_int_equal(marks.held, 0);
    count = next(&wire);
    assert_int_equal(count, 2);
    assert_int_equal(wire.mark[0].time_ns, 0);
    assert_int_equal(wire.mark[1].time_ns, 5);
}

/* Nothing is sent to a socket of that name if another user listens on it. */
static void test_other_user(void **state)
{
    int ready[2], status, found = -1;
    pid_t pid;
    char byte;

    (void)state;
    if (geteuid() != 0) {
        print_message("only root can become another user\n");
        skip();
    }
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        if (setuid(65534) < 0 || listen_as(4000001) < 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) == 1)
        found = rps_marks_connect(4000001, "/proc");
    else
        pid = -1;
    close(ready[0]);
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    assert_true(pid > 0);
    assert_int_equal(found, -1);
}

/* A recorder that accepts no more connections delays nobody. */
static void test_full_backlog(void **state)
{
    int waiting[8], count = 0;

    (void)state;
    assert_int_equal(listen_as(4000001), 0);
    while (count < 8 && (waiting[count] = rps_marks_connect(4000001, "/proc")) >= 0)
        count++;
    assert_in_range(count, 1, 7);
    while (count > 0)
        close(waiting[--count]);
    close(recorder);
    recorder = -1;
}

/* The recorded command may be an ancestor of the process. An ancestor is found through the parents
 * in /proc. */
static void test_ancestors(void **state)
{
    char folder[] = "/tmp/rpistat-test-XXXXXX", path[128];
    const struct {
        int pid, parent;
    } tree[] = {{4000003, 4000002}, {4000002, 4000001}, {4000001, 0}};
    int found;

    (void)state;
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 3; i++) {
        FILE *file;

        snprintf(path, sizeof(path), "%s/%d", folder, tree[i].pid);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof(path), "%s/%d/status", folder, tree[i].pid);
        file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file, "Name:\tx\nPPid:\t%d\nUid:\t0\n", tree[i].parent);
        fclose(file);
    }
    assert_int_equal(rps_marks_connect(4000003, folder), -1);
    assert_int_equal(listen_as(4000001), 0);
    found = rps_marks_connect(4000003, folder);
    assert_true(found >= 0);
    close(found);
    close(recorder);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s/%d/status", folder, tree[i].pid);
        unlink(path);
        snprintf(path, sizeof(path), "%s/%d", folder, tree[i].pid);
        rmdir(path);
    }
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_slow, open_recorder, close_recorder),
        cmocka_unit_test_setup_teardown(test_ten, open_recorder, close_recorder),
        cmocka_unit_test_setup_teardown(test_eleven, open_recorder, close_recorder),
        cmocka_unit_test_setup_teardown(test_full_queue, open_recorder, close_recorder),
        cmocka_unit_test(test_other_user),
        cmocka_unit_test(test_full_backlog),
        cmocka_unit_test(test_ancestors),
    };

    return cmocka_run_group_tests_name("region/marks", tests, NULL, NULL);
}
