/* Tests of the perf backends and the start of workloads. The workload is this program with a task
 * as argument. Software events are available everywhere. Tests of hardware counters are skipped
 * with the reason if the counters are unavailable. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "support/run.h"

#include "measure/affinity.h"
#include "rpistat/workload.h"
#include "rpistat/plan.h"

#define PAGES    5000 /* pages that a process or a thread touches; a child: a quarter */
#define CHILDREN 200
#define THREADS  64
#define LOOPS    20000000

static char *self_path;

/* --- workloads -------------------------------------------------------------------------------- */

static int touch_pages(size_t count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory =
        mmap(NULL, count * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return 1;
    madvise(memory, count * page, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < count; i++)
        memory[i * page] = 1;
    return 0;
}

static void *touch_in_thread(void *argument)
{
    (void)argument;
    return touch_pages(PAGES) == 0 ? NULL : (void *)1;
}

static int touch_in_threads(void)
{
    pthread_t thread[THREADS];

    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, touch_in_thread, NULL) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    return 0;
}

static int touch_in_children(void)
{
    for (int i = 0; i < CHILDREN; i++) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(touch_pages(PAGES / 4));
        waitpid(pid, NULL, 0);
    }
    return 0;
}

/* Run a loop of about four instructions per iteration. The exact number is known only relative to
 * another length. */
static int spin(long loops)
{
    for (volatile long i = 0; i < loops; i++)
        ;
    return 0;
}

/* Return the number of open descriptors, without the standard streams, plus the number of blocked
 * signals. */
static int look_around(void)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    sigset_t mask;
    int number, strange = 0;

    while (folder && (entry = readdir(folder))) {
        number = atoi(entry->d_name);
        if (number > 2 && number != dirfd(folder))
            strange++;
    }
    closedir(folder);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int s = 1; s < 32; s++)
        strange += sigismember(&mask, s) == 1;
    return strange;
}

static int task(char **argv)
{
    if (strcmp(argv[1], "touch") == 0)
        return touch_pages(PAGES);
    if (strcmp(argv[1], "threads") == 0)
        return touch_in_threads();
    if (strcmp(argv[1], "children") == 0)
        return touch_in_children();
    if (strcmp(argv[1], "spin") == 0)
        return spin(atol(argv[2]));
    if (strcmp(argv[1], "look") == 0)
        return look_around();
    if (strcmp(argv[1], "die") == 0)
        return kill(getpid(), SIGKILL);
    return 99;
}

/* --- recording them --------------------------------------------------------------------------- */

/* Record this program with the given task. Returns 0 and the reason in `why` if `backend` is
 * unavailable. */
static int record_task(const char *backend, const char *name, const char *argument,
                       const struct test_options *options, struct test_run *ret,
                       struct rps_workload_end *outcome, struct rps_error *why)
{
    char *argv[] = {self_path, (char *)(uintptr_t)name, (char *)(uintptr_t)argument, NULL};
    struct rps_sink sink = {ret, test_keep_period, test_keep_mark, test_keep_gap};
    struct rps_target target = {.kind = RPS_TARGET_LAUNCH, .pid_count = 1, .start_at_exec = 1};
    struct rps_workload workload;
    struct rps_real_event_loop *event_loop;
    struct rps_error err = {""};
    const struct rps_pmu *pmu;
    char note[256];
    int64_t start_ns;
    struct rps_signals_before before = {0};
    void *self;

    memset(ret, 0, sizeof(*ret));
    if (rps_pmu_open(backend, NULL, &pmu, &self, note, sizeof(note), why) < 0)
        return 0;
    if (rps_plan_load(options->plan ? options->plan : pmu->default_plan, &ret->plan, &err) < 0 ||
        rps_pmu_prepare(pmu, self, ret->plan, options->merge, &ret->fitting, &err) < 0)
        fail_msg("%s", err.message);
    sigprocmask(SIG_SETMASK, NULL, &before.mask);
    if (rps_workload_fork(&workload, argv, &before, &err) < 0)
        fail_msg("%s", err.message);
    target.pid = &workload.pid;
    if (pmu->attach(self, ret->plan, &target, &err) < 0 ||
        rps_real_event_loop_open(&event_loop, &workload.pidfd, 1, NULL, 0, &err) < 0 ||
        rps_workload_release(&workload, &start_ns, &err) < 0)
        fail_msg("%s", err.message);
    struct rps_loop_options loop = {
        .pmu = pmu,
        .pmu_self = self,
        .plan = ret->plan,
        .event_loop = rps_real_event_loop_table(event_loop),
        .sink = &sink,
        .start_ns = start_ns,
        .period_ns = options->period_ns ? options->period_ns : 10 * MS,
        .counting = 1,
    };
    if (rps_loop_run(&loop, &ret->end, &ret->elapsed_ns, &err) < 0 ||
        rps_workload_wait(&workload, outcome, &err) < 0)
        fail_msg("%s", err.message);
    rps_real_event_loop_close(event_loop);
    rps_workload_close(&workload);
    pmu->close(self);
    return 1;
}

/* Return the total of an event by its role. Fails the test if the event was not counted. */
static uint64_t role_total(const struct test_run *run, const char *role)
{
    int set, slot;
    const struct rps_event *event = rps_plan_role(run->plan, role, &set, &slot);

    assert_non_null(event);
    if (event->state != RPS_EVENT_MEASURED)
        fail_msg("%s: %s", role, event->reason);
    return test_total(run, (unsigned)set, slot);
}

static void check_faults(const char *name, uint64_t pages)
{
    static const struct test_options options = {.merge = 1};
    struct rps_error why = {""};
    struct rps_workload_end outcome;
    struct test_run run;

    if (!record_task("software", name, NULL, &options, &run, &outcome, &why)) {
        print_message("skipped: %s\n", why.message);
        skip();
    }
    assert_int_equal(outcome.status, 0);
    test_check_contiguous(&run);
    /* processes and threads touch a few more pages */
    assert_in_range(role_total(&run, "minor_faults"), pages, pages + pages / 100 + 300);
    test_run_free(&run);
}

static void test_faults(void **state)
{
    (void)state;
    check_faults("touch", PAGES);
}

static void test_threads(void **state)
{
    (void)state;
    check_faults("threads", (uint64_t)PAGES * THREADS);
}

static void test_children(void **state)
{
    struct test_run run;
    struct rps_workload_end outcome;
    struct rps_error why = {""};
    static const struct test_options options = {.merge = 1};

    (void)state;
    if (!record_task("software", "children", NULL, &options, &run, &outcome, &why)) {
        print_message("skipped: %s\n", why.message);
        skip();
    }
    test_check_contiguous(&run);
    assert_true(role_total(&run, "minor_faults") >= (uint64_t)PAGES / 4 * CHILDREN);
    test_run_free(&run);
}

/* Run a task directly, and return its exit status. */
static int run_directly(const char *name)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        execl(self_path, self_path, name, (char *)NULL);
        _exit(126);
    }
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
}

/* The workload gets the same descriptors and signals as without the recorder. */
static void test_streams_and_status(void **state)
{
    static const struct test_options options = {.merge = 1};
    struct rps_error why = {""};
    struct rps_workload_end outcome;
    struct test_run run;
    int expected = run_directly("look");

    (void)state;
    if (!record_task("software", "look", NULL, &options, &run, &outcome, &why)) {
        print_message("skipped: %s\n", why.message);
        skip();
    }
    assert_int_equal(outcome.status, expected);
    test_run_free(&run);
    record_task("software", "die", NULL, &options, &run, &outcome, &why);
    assert_int_equal(outcome.signal, SIGKILL);
    assert_int_equal(outcome.status, -1);
    test_run_free(&run);
}

/* Instructions of a loop are proportional to its length, because all other instructions cancel. One
 * event is counted all the time, so nothing is estimated. */
static void test_instructions(void **state)
{
    static const char document[] = "[plan]\nname = one\n[event instructions]\n"
                                   "event = instructions:u\n[set one]\nevents = instructions\n";
    char plan[80];
    const struct test_options options = {.merge = 1, .plan = plan};
    struct rps_error why = {""};
    struct rps_workload_end outcome;
    struct test_run run;
    double count[3];

    (void)state;
    strcpy(plan, "/tmp/rpistat-test-XXXXXX.ini");
    int fd = mkstemps(plan, 4);
    assert_int_equal(write(fd, document, sizeof(document) - 1), sizeof(document) - 1);
    close(fd);
    for (int i = 0; i < 3; i++) {
        char loops[32];

        snprintf(loops, sizeof(loops), "%d", LOOPS * (i + 1));
        if (!record_task("hardware", "spin", loops, &options, &run, &outcome, &why)) {
            unlink(plan);
            print_message("skipped: %s\n", why.message);
            skip();
        }
        test_check_contiguous(&run);
        count[i] = (double)test_total(&run, 0, 0);
        test_run_free(&run);
    }
    unlink(plan);
    double first = count[1] - count[0], second = count[2] - count[1];

    if (first < 2.0 * LOOPS || first > 16.0 * LOOPS || second / first < 0.99 ||
        second / first > 1.01)
        fail_msg("%.0f, %.0f, %.0f instructions", count[0], count[1], count[2]);
}

static void test_check(void **state)
{
    struct rps_error err = {""};
    char *path = NULL;

    (void)state;
    assert_int_equal(rps_workload_check("sh", "/nonexistent:/bin", &path, &err), 0);
    assert_string_equal(path, "/bin/sh");
    free(path);
    assert_int_equal(rps_workload_check("sh", "/nonexistent", NULL, &err), RPS_CANNOT_FIND);
    assert_int_equal(rps_workload_check("", "/bin", NULL, &err), RPS_CANNOT_FIND);
    assert_int_equal(rps_workload_check("/bin/sh/no", NULL, NULL, &err), RPS_CANNOT_FIND);
    assert_int_equal(rps_workload_check("/tmp", NULL, NULL, &err), RPS_CANNOT_EXEC);
    assert_int_equal(rps_workload_check("/etc/passwd", NULL, NULL, &err), RPS_CANNOT_EXEC);
    assert_non_null(strstr(err.message, "/etc/passwd"));
}

/* A child that is never released exits without executing the program. */
static void test_never_released(void **state)
{
    char *argv[] = {self_path, (char *)(uintptr_t) "look", NULL};
    struct rps_workload workload;
    struct rps_error err = {""};
    struct rps_signals_before before = {0};

    (void)state;
    assert_int_equal(rps_workload_fork(&workload, argv, &before, &err), 0);
    rps_workload_close(&workload);
    assert_int_equal(waitpid(workload.pid, NULL, WNOHANG), -1);
}

/* exec of a file with a wrong interpreter fails after all counters were opened. */
static void test_exec_fails(void **state)
{
    static const char script[] = "#!/nonexistent/interpreter\n";
    struct rps_workload workload;
    struct rps_error err = {""};
    int64_t start_ns;
    char path[64], *argv[] = {path, NULL};
    struct rps_signals_before before = {0};
    struct rps_workload_end end;

    (void)state;
    test_file(path, script, sizeof(script) - 1);
    chmod(path, 0755);
    assert_int_equal(rps_workload_check(path, NULL, NULL, &err), 0);
    assert_int_equal(rps_workload_fork(&workload, argv, &before, &err), 0);
    assert_int_equal(rps_workload_release(&workload, &start_ns, &err), RPS_CANNOT_FIND);
    assert_non_null(strstr(err.message, path));
    assert_int_equal(rps_workload_wait(&workload, &end, &err), 0);
    assert_int_equal(end.status, 127);
    rps_workload_close(&workload);
    unlink(path);
}

static int burns_after_fork;

static void burn_after_fork(void)
{
    struct timespec used = {0};

    while (burns_after_fork && used.tv_nsec < 500 * MS)
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
}

/* The child's time before its exec is not counted as time of the command. */
static void test_before_exec(void **state)
{
    char wrong[] = "wrong-task", *argv[] = {self_path, wrong, NULL};
    struct rps_workload_end end;
    struct rps_workload workload;
    struct rps_error err = {""};
    int64_t start_ns;
    struct rps_signals_before before = {0};

    (void)state;
    pthread_atfork(NULL, NULL, burn_after_fork);
    burns_after_fork = 1;
    assert_int_equal(rps_workload_fork(&workload, argv, &before, &err), 0);
    burns_after_fork = 0;
    assert_int_equal(rps_workload_release(&workload, &start_ns, &err), 0);
    assert_int_equal(rps_workload_wait(&workload, &end, &err), 0);
    assert_in_range(end.user_ns + end.system_ns, 0, 500 * MS);
    rps_workload_close(&workload);
}

/* Start a process that computes on the CPU, or waits while a child process computes. Both end with
 * the test. */
static pid_t start_busy(int cpu, int below, int ready)
{
    pid_t pid = fork();
    cpu_set_t one;

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
    if (below > 0)
        waitpid(start_busy(cpu, below - 1, ready), NULL, 0);
    if (write(ready, "x", 1) == 1)
        for (volatile unsigned i = 0;; i++)
            ;
    _exit(1);
}

/* The recorder's loop moves to the CPU of the running workload, and back to its allowed CPUs. */
static void test_near(void **state)
{
    cpu_set_t home, now;
    int cpu = CPU_SETSIZE - 1;

    (void)state;
    sched_getaffinity(0, sizeof(home), &home);
    while (!CPU_ISSET(cpu, &home))
        cpu--;
    for (int below = 0; below < 2; below++) {
        struct rps_affinity affinity;
        int ready[2];
        char byte;
        pid_t pid;

        assert_int_equal(pipe(ready), 0);
        pid = start_busy(cpu, below, ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        rps_affinity_init(&affinity);
        assert_int_equal(rps_affinity_move(&affinity, pid), 1);
        assert_int_equal(affinity.cpu, cpu);
        sched_getaffinity(0, sizeof(now), &now);
        assert_true(CPU_COUNT(&now) == 1 && CPU_ISSET(cpu, &now));
        /* the loop is already on this CPU */
        assert_int_equal(rps_affinity_move(&affinity, pid), 0);
        rps_affinity_leave(&affinity);
        sched_getaffinity(0, sizeof(now), &now);
        assert_true(CPU_EQUAL(&now, &home));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(rps_affinity_move(&affinity, pid), 0); /* the process has ended */
        close(ready[0]);
        close(ready[1]);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),         cmocka_unit_test(test_threads),
        cmocka_unit_test(test_children),       cmocka_unit_test(test_streams_and_status),
        cmocka_unit_test(test_instructions),   cmocka_unit_test(test_check),
        cmocka_unit_test(test_never_released), cmocka_unit_test(test_exec_fails),
        cmocka_unit_test(test_near),           cmocka_unit_test(test_before_exec),
    };

    if (argc > 1)
        return task(argv);
    self_path = realpath("/proc/self/exe", NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
