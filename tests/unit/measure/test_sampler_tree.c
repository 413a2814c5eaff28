/* Tests of the target's threads: found by events and by running processes. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "measure/sampler_perf.h"
#include "rpistat/clock.h"

static void hear(struct rps_perf_tree *tree, enum rps_sample_kind kind, pid_t pid, pid_t tid,
                 int is_exec)
{
    const struct rps_sample sample = {.kind = kind, .pid = pid, .tid = tid, .is_exec = is_exec};

    rps_perf_tree_hear(tree, &sample);
}

/* A process exists while one of its threads does. */
static void test_threads(void **state)
{
    struct rps_perf_tree tree;

    (void)state;
    rps_perf_tree_init(&tree);
    hear(&tree, RPS_SAMPLE_NAME, 10, 10, 0);
    assert_false(rps_perf_tree_has(&tree, 10, 10)); /* before its exec, the process belongs to
                                                       the recorder */
    hear(&tree, RPS_SAMPLE_NAME, 10, 10, 1);
    hear(&tree, RPS_SAMPLE_FORK, 10, 12, 0);
    hear(&tree, RPS_SAMPLE_FORK, 11, 11, 0);
    hear(&tree, RPS_SAMPLE_FORK, 11, 11, 0);
    assert_int_equal(tree.count, 3);
    hear(&tree, RPS_SAMPLE_EXIT, 10, 10, 0);
    assert_false(rps_perf_tree_has(&tree, 10, 10));
    assert_true(rps_perf_tree_has(&tree, 10, 12));
    hear(&tree, RPS_SAMPLE_EXIT, 10, 12, 0);
    assert_false(rps_perf_tree_has(&tree, 10, 12));
    assert_false(rps_perf_tree_has(&tree, 12, 12)); /* the thread has ended, so the number is
                                                       free */
    assert_true(rps_perf_tree_has(&tree, 11, 11));
    hear(&tree, RPS_SAMPLE_EXIT, 11, 11, 0);
    assert_int_equal(tree.count, 0);
    rps_perf_tree_free(&tree);
}

/* A thread that calls exec becomes the first thread, and the other threads end. */
static void test_exec(void **state)
{
    struct rps_perf_tree tree;

    (void)state;
    rps_perf_tree_init(&tree);
    rps_perf_tree_add(&tree, 10, 10);
    for (pid_t tid = 20; tid < 30; tid++)
        hear(&tree, RPS_SAMPLE_FORK, 10, tid, 0);
    hear(&tree, RPS_SAMPLE_FORK, 31, 31, 0);
    for (pid_t tid = 20; tid < 29; tid++)
        hear(&tree, RPS_SAMPLE_EXIT, 10, tid, 0);
    hear(&tree, RPS_SAMPLE_EXIT, 10, 10, 0);
    hear(&tree, RPS_SAMPLE_NAME, 10, 10, 1); /* thread 29 has called exec */
    assert_true(rps_perf_tree_has(&tree, 10, 10));
    assert_false(rps_perf_tree_has(&tree, 10, 29));
    assert_true(rps_perf_tree_has(&tree, 31, 31));
    assert_int_equal(tree.count, 2);
    rps_perf_tree_free(&tree);
}

/* Start a process that waits. If not NULL, *child gets a child of the process. */
static pid_t start(pid_t *child)
{
    int pipes[2];
    pid_t pid;

    assert_int_equal(pipe(pipes), 0);
    pid = fork();
    if (pid == 0) {
        pid_t made = child ? fork() : 0;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if ((made != 0 || !child) && write(pipes[1], &made, sizeof(made)) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(pipes[0], child ? child : &(pid_t){0}, sizeof(*child)), sizeof(*child));
    close(pipes[0]);
    close(pipes[1]);
    return pid;
}

static void stop(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Wait 0.01 s, because Linux reports the start of a process with this resolution. */
static void pass_tick(void)
{
    const int64_t until_ns = rps_clock_monotonic_ns() + 20 * RPS_NS_PER_MS;

    while (rps_clock_monotonic_ns() < until_ns)
        usleep(1000);
}

/* Missed processes are looked up: the target's earlier processes and their children. Processes that
 * reuse their numbers are left out. */
static void test_look_up(void **state)
{
    struct rps_perf_tree tree;
    pid_t child, own = start(&child), other = start(NULL), reused;

    (void)state;
    pass_tick();
    rps_perf_tree_init(&tree);
    rps_perf_tree_add(&tree, own, own);
    tree.is_in_doubt = 1;
    rps_perf_tree_check(&tree, 0); /* records in the rings come before the look-up */
    assert_int_equal(tree.lookups, 0);
    pass_tick();
    reused = start(NULL);
    rps_perf_tree_add(&tree, reused, reused);
    rps_perf_tree_add(&tree, 999999999, 999999999);
    rps_perf_tree_check(&tree, INT64_MAX);
    assert_int_equal(tree.lookups, 1);
    assert_true(rps_perf_tree_has(&tree, own, own));
    assert_true(rps_perf_tree_has(&tree, child, child));
    assert_int_equal(tree.count, 2);
    rps_perf_tree_check(&tree, INT64_MAX);
    assert_int_equal(tree.lookups, 1);
    rps_perf_tree_free(&tree);
    kill(child, SIGKILL);
    stop(own);
    stop(other);
    stop(reused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_exec),
        cmocka_unit_test(test_look_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
