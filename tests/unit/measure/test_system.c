/* Tests of the reader of system metrics, with processes of this test that wait at known points, and
 * with simulated /proc directories. Values are compared with the kernel's values: no durations are
 * expected. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "measure/system_proc.h"
#include "rpistat/clock.h"

#define READINGS_MAX 64
#define PERIOD_NS    (100 * RPS_NS_PER_MS)

/* --- readers ---------------------------------------------------------------------------------- */

struct test {
    struct rps_system_reader reader;
    struct rps_system_reading reading[READINGS_MAX];
    int count;
    char note[160], said[160]; /* message of the last period, and of any period */
    uint64_t period;
    int64_t time_ns; /* time of periods, as in the recorder's loop */
};

static void take_reading(void *context, const struct rps_system_reading *reading)
{
    struct test *test = context;

    assert_true(test->count < READINGS_MAX);
    test->reading[test->count++] = *reading;
}

static void open_reader(struct test *test, const char *root, enum rps_system_source source,
                        const pid_t *pid, int pid_count, int hears, double budget)
{
    const struct rps_system_options options = {.tree = source == RPS_SYSTEM_TREE,
                                               .machine = source == RPS_SYSTEM_MACHINE,
                                               .hears = hears,
                                               .period_ns = PERIOD_NS,
                                               .budget = budget};
    const struct rps_target target = {.kind = source == RPS_SYSTEM_TREE ? RPS_TARGET_ATTACH
                                                                        : RPS_TARGET_CPUS,
                                      .pid = pid,
                                      .pid_count = pid_count};
    struct rps_error err = {""};

    memset(test, 0, sizeof(*test));
    assert_int_equal(rps_system_open(root, &options, &target, &test->reader, &err), 0);
    test->time_ns = rps_clock_monotonic_ns();
    test->reader.resume(test->reader.self, test->time_ns); /* counting begins */
}

/* End period number `period`. */
static void read_period(struct test *test, uint64_t period, int force)
{
    const struct rps_system_sink sink = {test, take_reading};

    test->period = period;
    test->time_ns += PERIOD_NS;
    test->reader.read(test->reader.self, period, test->time_ns, 0, force, &sink, test->note,
                      sizeof(test->note));
    if (test->note[0])
        memcpy(test->said, test->note, sizeof(test->said));
}

/* End the next period, and return its reading, which is taken at once. */
static const struct rps_system_reading *read_next(struct test *test)
{
    const int before = test->count;

    read_period(test, test->period + 1, 1);
    assert_int_equal(test->count, before + 1);
    return &test->reading[before];
}

static int has(const struct rps_system_reading *reading, int slot)
{
    return reading->valid >> slot & 1;
}

static int64_t sum_of(const struct test *test, int slot)
{
    int64_t sum = 0;

    for (int i = 0; i < test->count; i++)
        sum += test->reading[i].value[slot];
    return sum;
}

static void hear(struct test *test, enum rps_sample_kind kind, pid_t pid, pid_t tid,
                 pid_t parent_tid, int64_t time_ns)
{
    const struct rps_sample sample = {.kind = kind,
                                      .pid = pid,
                                      .tid = tid,
                                      .parent_tid = parent_tid,
                                      .time_ns = time_ns,
                                      .is_exec = kind == RPS_SAMPLE_NAME};

    test->reader.hear(test->reader.self, &sample);
}

/* --- processes -------------------------------------------------------------------------------- */

/* A process that waits for permission to continue, and reports when it waits again. */
struct child {
    pid_t pid;
    int go, said;
};

static int go_fd, say_fd; /* pipes of a child */

#define DESCENDANTS 3 /* generations of have_descendants */

/* When the middle generation ends before the last one, the first process inherits the last one, or
 * this test does, which is no process of the workload. */
enum heir { NO_ORPHAN, FIRST_PROCESS, THIS_TEST };

static enum heir heir; /* of the last generation */

static void meet(void)
{
    char byte;

    if (write(say_fd, "x", 1) != 1 || read(go_fd, &byte, 1) != 1)
        _exit(1);
}

/* Fork with a chosen process number. Returns -1 without the necessary rights. */
static pid_t fork_as(pid_t pid)
{
    const uint64_t arguments[] = {0, 0, 0, 0, SIGCHLD, 0, 0, 0, (uint64_t)(uintptr_t)&pid, 1};

    return (pid_t)syscall(SYS_clone3, arguments, sizeof(arguments));
}

/* Start a child that runs the task. `as` is its process number (0: any). */
static struct child start_as(void (*task)(void), pid_t as)
{
    int go[2], said[2];
    struct child child;

    assert_int_equal(pipe2(go, 0), 0);
    assert_int_equal(pipe2(said, 0), 0);
    child.pid = as > 0 ? fork_as(as) : fork();
    if (child.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(go[1]);
        close(said[0]);
        go_fd = go[0];
        say_fd = said[1];
        task();
        _exit(0);
    }
    close(go[0]);
    close(said[1]);
    child.go = go[1];
    child.said = said[0];
    return child;
}

static struct child start(void (*task)(void))
{
    struct child child = start_as(task, 0);

    assert_true(child.pid > 0);
    return child;
}

static void read_proc(pid_t pid, const char *name, char *text, size_t size)
{
    char path[96];
    ssize_t got;
    int fd;

    snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
    fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    got = read(fd, text, size - 1);
    assert_true(got >= 0);
    text[got] = '\0';
    close(fd);
}

static char state_of(pid_t pid)
{
    char text[512];

    read_proc(pid, "stat", text, sizeof(text));
    return strrchr(text, ')')[2];
}

static void wait_until(pid_t pid, char state)
{
    while (state_of(pid) != state)
        sched_yield();
}

/* Wait until the child has done a step and actually sleeps. */
static void wait_for(const struct child *child)
{
    char byte, text[64];

    assert_int_equal(read(child->said, &byte, 1), 1);
    do {
        wait_until(child->pid, 'S');
        read_proc(child->pid, "wchan", text, sizeof(text));
    } while (strcmp(text, "0") == 0);
}

static void let_go(const struct child *child)
{
    assert_int_equal(write(child->go, "x", 1), 1);
}

static void go_on(const struct child *child)
{
    let_go(child);
    wait_for(child);
}

static void end(const struct child *child)
{
    kill(child->pid, SIGKILL);
    assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
    close(child->go);
    close(child->said);
}

static void times_of(pid_t pid, int64_t *ret_running, int64_t *ret_waiting)
{
    char text[128];
    long long running, waiting;

    read_proc(pid, "schedstat", text, sizeof(text));
    assert_int_equal(sscanf(text, "%lld %lld", &running, &waiting), 2);
    *ret_running = running;
    *ret_waiting = waiting;
}

static int64_t io_of(pid_t pid, const char *word)
{
    char text[512], *at;

    read_proc(pid, "io", text, sizeof(text));
    at = strstr(text, word);
    assert_non_null(at);
    return atoll(at + strlen(word));
}

/* --- tasks ------------------------------------------------------------------------------------ */

static void spin(int64_t cpu_ns)
{
    struct timespec time;

    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    } while (time.tv_sec * RPS_NS_PER_S + time.tv_nsec < cpu_ns);
}

static void spin_in_steps(void)
{
    for (int64_t ms = 20;; ms += 20) {
        meet();
        spin(ms * RPS_NS_PER_MS);
    }
}

static void move_bytes(size_t in, size_t out)
{
    static char room[1 << 20];
    int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);

    if (read(zero, room, in) != (ssize_t)in || write(null, room, out) != (ssize_t)out)
        _exit(1);
    close(zero);
    close(null);
}

static void move_in_steps(void)
{
    for (;;) {
        meet();
        move_bytes(1000000, 300000);
    }
}

/* Make a child that moves bytes, waits, and ends. The parent waits for the child in the next step.
 */
static void have_child(void)
{
    int gate[2], status;
    char byte;
    pid_t pid;

    if (pipe(gate) < 0)
        _exit(1);
    meet();
    pid = fork();
    if (pid == 0) {
        close(gate[1]);
        move_bytes(1 << 20, 1 << 19);
        meet();
        _exit(read(gate[0], &byte, 1) == 0);
    }
    for (int i = 0; i < 2; i++) { /* the child's call of meet() takes one step */
        if (i == 0)
            waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT);
        else
            waitpid(pid, &status, 0);
        meet();
    }
}

/* Start three generations. The last one moves bytes; each one waits for its child and ends. */
static void have_descendants(void)
{
    int depth = 0;

    prctl(PR_SET_CHILD_SUBREAPER, heir != THIS_TEST);
    meet();
    while (depth < DESCENDANTS && fork() == 0)
        depth++;
    if (depth == DESCENDANTS) {
        move_bytes(1 << 20, 1 << 19);
        meet();
        _exit(0);
    }
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    if (depth > 0)
        _exit(0);
    meet();
    move_bytes(1 << 20, 1 << 19);
    meet();
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *take_lock(void *unused)
{
    pthread_mutex_lock(&lock);
    return unused;
}

static void *sleep_long(void *unused)
{
    for (;;)
        nanosleep(&(struct timespec){1000, 0}, NULL);
    return unused;
}

static void *wait_for_child(void *unused)
{
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    waitpid(pid, NULL, 0);
    return unused;
}

static void sleep_variously(void)
{
    static void *(*const task[])(void *) = {take_lock, sleep_long, wait_for_child};
    pthread_t thread;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < 3; i++)
        if (pthread_create(&thread, NULL, task[i], NULL) != 0)
            _exit(1);
    meet();
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;

static void *read_locked(void *unused)
{
    pthread_rwlock_rdlock(&rwlock);
    return unused;
}

static void *write_locked(void *unused)
{
    pthread_rwlock_wrlock(&rwlock);
    return unused;
}

static void *wait_for_condition(void *unused)
{
    static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&own);
    pthread_cond_wait(&condition, &own);
    return unused;
}

static void *wait_for_semaphore(void *unused)
{
    sem_wait(&semaphore);
    return unused;
}

/* Let three threads wait for a lock of the first thread, and two for work. */
static void sleep_in_futex(void)
{
    static void *(*const task[])(void *) = {take_lock, read_locked, write_locked,
                                            wait_for_condition, wait_for_semaphore};
    pthread_t thread;

    pthread_mutex_lock(&lock);
    pthread_rwlock_wrlock(&rwlock);
    sem_init(&semaphore, 0, 0);
    for (int i = 0; i < 5; i++)
        if (pthread_create(&thread, NULL, task[i], NULL) != 0)
            _exit(1);
    meet();
}

/* --- the workload ----------------------------------------------------------------------------- */

static void test_times(void **state)
{
    struct child child = start(spin_in_steps);
    int64_t before[2], after[2];
    struct test test;

    (void)state;
    wait_for(&child);
    open_reader(&test, "", RPS_SYSTEM_TREE, &child.pid, 1, 1, 1000);
    times_of(child.pid, &before[0], &before[1]);
    read_next(&test);
    assert_int_equal(sum_of(&test, RPS_TREE_RUNNING), 0); /* time before the first reading does
                                                             not count */
    for (int i = 0; i < 3; i++) {
        go_on(&child);
        times_of(child.pid, &after[0], &after[1]);
        read_next(&test);
        assert_int_equal(sum_of(&test, RPS_TREE_RUNNING), (after[0] - before[0]) / 1000);
        assert_int_equal(sum_of(&test, RPS_TREE_WAIT), (after[1] - before[1]) / 1000);
    }
    assert_true(sum_of(&test, RPS_TREE_RUNNING) > 40000);
    assert_int_equal(test.reading[3].value[RPS_TREE_THREADS], 1);
    assert_int_equal(test.reading[3].value[RPS_TREE_IN_MESSAGE], 1);
    assert_int_equal(test.reading[3].length_us, PERIOD_NS / 1000);
    test.reader.close(test.reader.self);
    end(&child);
}

/* A pause is not counted, but the workload's end is counted. The workload can be read until its
 * parent has waited for it. */
static void test_pause_and_end(void **state)
{
    struct child child = start(spin_in_steps);
    const struct rps_system_reading *last;
    int64_t paused[2], before[2], after[2], running_us;
    struct test test;

    (void)state;
    wait_for(&child);
    open_reader(&test, "", RPS_SYSTEM_TREE, &child.pid, 1, 1, 1000);
    times_of(child.pid, &before[0], &before[1]);
    go_on(&child);
    times_of(child.pid, &paused[0], &paused[1]);
    read_next(&test);
    go_on(&child);
    test.time_ns += PERIOD_NS;
    times_of(child.pid, &after[0], &after[1]);
    test.reader.resume(test.reader.self, test.time_ns);
    paused[0] -= after[0];
    go_on(&child);
    kill(child.pid, SIGKILL);
    wait_until(child.pid, 'Z');
    times_of(child.pid, &after[0], &after[1]);
    hear(&test, RPS_SAMPLE_EXIT, child.pid, child.pid, 0, rps_clock_monotonic_ns());
    last = read_next(&test);
    running_us = (after[0] - before[0] + paused[0]) / 1000; /* each time range is rounded down */
    assert_in_range(sum_of(&test, RPS_TREE_RUNNING), running_us - 1, running_us + 1);
    assert_int_equal(sum_of(&test, RPS_TREE_UNSEEN), 0);
    assert_int_equal(last->length_us, PERIOD_NS / 1000);
    assert_true(has(last, RPS_TREE_RUNNING));
    assert_true(has(last, RPS_TREE_THREADS)); /* the thread was alive in this period */
    assert_int_equal(last->value[RPS_TREE_THREADS], 1);
    assert_false(has(last, RPS_TREE_RSS));
    last = read_next(&test);
    assert_false(has(last, RPS_TREE_THREADS)); /* no thread exists */
    assert_false(has(last, RPS_TREE_RSS));
    test.reader.close(test.reader.self);
    end(&child);
}

static void test_reasons(void **state)
{
    struct child child = start(sleep_variously);
    const struct rps_system_reading *reading;
    struct test test;

    (void)state;
    wait_for(&child);
    open_reader(&test, "", RPS_SYSTEM_TREE, &child.pid, 1, 0, 1000);
    do { /* repeat until all threads sleep */
        reading = read_next(&test);
        test.count = 0;
    } while (reading->value[RPS_TREE_THREADS] < 5 || reading->value[RPS_TREE_IN_OTHER] != 1 ||
             reading->value[RPS_TREE_IN_LOCK] + reading->value[RPS_TREE_IN_TIMER] +
                     reading->value[RPS_TREE_IN_CHILD] + reading->value[RPS_TREE_IN_MESSAGE] <
                 4);
    assert_int_equal(reading->value[RPS_TREE_THREADS], 5);
    assert_int_equal(reading->value[RPS_TREE_IN_MESSAGE], 1);
    assert_int_equal(reading->value[RPS_TREE_IN_LOCK], 1);
    assert_int_equal(reading->value[RPS_TREE_IN_TIMER], 1);
    assert_int_equal(reading->value[RPS_TREE_IN_CHILD], 1);
    assert_int_equal(reading->value[RPS_TREE_IN_IO], 0);
    assert_true(reading->value[RPS_TREE_RSS] > 0);
    assert_false(has(reading, RPS_TREE_UNSEEN)); /* no events report processes */
    test.reader.close(test.reader.self);
    end(&child);
}

/* Threads that wait for a mutex or a rwlock are in locks from the first reading on. Other threads
 * are idle. */
static void test_futex_waits(void **state)
{
    struct child child = start(sleep_in_futex);
    const struct rps_system_reading *reading;
    struct test test;
    char text[256];

    (void)state;
    wait_for(&child);
    read_proc(child.pid, "syscall", text, sizeof(text)); /* skips the test if the kernel hides
                                                            system calls */
    open_reader(&test, "", RPS_SYSTEM_TREE, &child.pid, 1, 0, 1000);
    do { /* repeat until all threads sleep */
        reading = read_next(&test);
        test.count = 0;
    } while (reading->value[RPS_TREE_IN_LOCK] + reading->value[RPS_TREE_IDLE] < 5);
    assert_int_equal(reading->value[RPS_TREE_THREADS], 6);
    assert_int_equal(reading->value[RPS_TREE_IN_LOCK], 3);
    assert_int_equal(reading->value[RPS_TREE_IDLE], 2);
    test.reader.close(test.reader.self);
    end(&child);
}

static void test_bytes(void **state)
{
    struct child child = start(move_in_steps);
    int64_t in, out;
    struct test test;

    (void)state;
    wait_for(&child);
    go_on(&child); /* runs before the reader knows the child */
    open_reader(&test, "", RPS_SYSTEM_TREE, &child.pid, 1, 1, 1000);
    in = io_of(child.pid, "rchar: ");
    out = io_of(child.pid, "wchar: ");
    for (int i = 0; i < 5; i++) {
        go_on(&child);
        read_next(&test);
    }
    in = io_of(child.pid, "rchar: ") - in;
    out = io_of(child.pid, "wchar: ") - out;
    assert_int_equal(sum_of(&test, RPS_TREE_READ), in / 1024);
    assert_int_equal(sum_of(&test, RPS_TREE_WRITTEN), out / 1024);
    assert_in_range(in, 5000000, 5000100);
    assert_in_range(out, 1500000, 1500100);
    test.reader.close(test.reader.self);
    end(&child);
}

static pid_t child_of(pid_t pid)
{
    char name[64], text[64];

    snprintf(name, sizeof(name), "task/%ld/children", (long)pid);
    read_proc(pid, name, text, sizeof(text));
    return (pid_t)atol(text);
}

/* Check that a child's bytes move to its parent when the parent waits for it, and count once. The
 * child's end may be recorded before or after. */
static void count_bytes_of_a_child(int is_late)
{
    struct child child = start(have_child);
    struct test test;
    char byte;
    pid_t made;
    int64_t in;

    wait_for(&child);
    open_reader(&test, "", RPS_SYSTEM_TREE, &child.pid, 1, 1, 1000);
    in = io_of(child.pid, "rchar: ");
    let_go(&child);
    assert_int_equal(read(child.said, &byte, 1), 1); /* the grandchild has moved its bytes */
    made = child_of(child.pid);
    hear(&test, RPS_SAMPLE_FORK, made, made, child.pid, rps_clock_monotonic_ns());
    read_next(&test);
    assert_in_range(sum_of(&test, RPS_TREE_READ), 1024, 1034);
    assert_int_equal(test.reading[0].value[RPS_TREE_THREADS], 2);
    kill(made, SIGKILL);
    wait_for(&child); /* the grandchild has ended, but its parent has not waited */
    if (!is_late)
        hear(&test, RPS_SAMPLE_EXIT, made, made, 0, rps_clock_monotonic_ns());
    read_next(&test);
    read_next(&test);
    assert_int_equal(test.reading[2].value[RPS_TREE_THREADS], 1); /* only living threads count */
    /* lets the parent wait for its child */
    go_on(&child);
    read_next(&test);
    if (is_late)
        hear(&test, RPS_SAMPLE_EXIT, made, made, 0, rps_clock_monotonic_ns());
    for (int i = 0; i < 3; i++) {
        read_next(&test);
        assert_int_equal(test.reading[4 + i].value[RPS_TREE_THREADS], 1);
    }
    in = io_of(child.pid, "rchar: ") - in;
    assert_true(in > 1 << 20);
    assert_int_equal(sum_of(&test, RPS_TREE_READ), in / 1024);
    test.reader.close(test.reader.self);
    end(&child);
}

static void test_bytes_of_a_child(void **state)
{
    (void)state;
    count_bytes_of_a_child(0);
    count_bytes_of_a_child(1);
}

/* Check that bytes count once if they move through several parents between two readings. An
 * orphan's bytes count, although no process of the workload waits for it. */
static void count_bytes_of_descendants(enum heir of_orphan)
{
    struct child child;
    struct test test;
    char byte;
    pid_t made[DESCENDANTS + 1];
    int64_t in;

    heir = of_orphan;
    prctl(PR_SET_CHILD_SUBREAPER, heir == THIS_TEST);
    child = start(have_descendants);
    made[0] = child.pid;
    wait_for(&child);
    open_reader(&test, "", RPS_SYSTEM_TREE, &child.pid, 1, 1, 1000);
    in = io_of(child.pid, "rchar: ");
    let_go(&child);
    assert_int_equal(read(child.said, &byte, 1), 1); /* the last generation has moved its bytes */
    for (int i = 1; i <= DESCENDANTS; i++) {
        made[i] = child_of(made[i - 1]);
        hear(&test, RPS_SAMPLE_FORK, made[i], made[i], made[i - 1], rps_clock_monotonic_ns());
    }
    read_next(&test);
    assert_int_equal(test.reading[0].value[RPS_TREE_THREADS], 1 + DESCENDANTS);
    assert_in_range(sum_of(&test, RPS_TREE_READ), 1024, 1034);
    if (heir != NO_ORPHAN) {
        kill(made[DESCENDANTS - 1], SIGKILL);
        while (child_of(child.pid) != (heir == FIRST_PROCESS ? made[DESCENDANTS] : 0))
            sched_yield();
        hear(&test, RPS_SAMPLE_EXIT, made[2], made[2], 0, rps_clock_monotonic_ns());
        hear(&test, RPS_SAMPLE_EXIT, made[1], made[1], 0, rps_clock_monotonic_ns());
        for (int i = 0; i < 2; i++) /* the orphan may be read before its parent is missing */
            read_next(&test);
    }
    if (heir == THIS_TEST) {
        wait_for(&child);
        kill(made[DESCENDANTS], SIGKILL);
        assert_int_equal(waitpid(made[DESCENDANTS], NULL, 0), made[DESCENDANTS]);
    }
    go_on(&child);
    for (int i = DESCENDANTS; i > 0; i--)
        hear(&test, RPS_SAMPLE_EXIT, made[i], made[i], 0, rps_clock_monotonic_ns());
    for (int i = 0; i < 3; i++)
        read_next(&test);
    in = io_of(child.pid, "rchar: ") - in;
    if (heir == THIS_TEST)
        in += 1 << 20;
    assert_true(in > 1 << 20);
    assert_in_range(sum_of(&test, RPS_TREE_READ), in / 1024, in / 1024 + 10 * (heir == THIS_TEST));
    test.reader.close(test.reader.self);
    end(&child);
}

static void test_bytes_of_descendants(void **state)
{
    (void)state;
    count_bytes_of_descendants(NO_ORPHAN);
    count_bytes_of_descendants(FIRST_PROCESS);
    count_bytes_of_descendants(THIS_TEST);
}

static void test_unseen(void **state)
{
    struct child child = start(spin_in_steps);
    const pid_t made = 1 << 29;
    int64_t from_ns, to_ns, end_ns, before[2], after[2];
    struct test test;

    (void)state;
    wait_for(&child);
    open_reader(&test, "", RPS_SYSTEM_TREE, &child.pid, 1, 1, 1000);
    to_ns = rps_clock_monotonic_ns();
    for (int i = 0; i < 3; i++) {
        hear(&test, RPS_SAMPLE_FORK, made + i, made + i, child.pid, to_ns + i * 1000);
        hear(&test, RPS_SAMPLE_EXIT, made + i, made + i, 0, to_ns + 5000000 + i * 2000);
    }
    read_next(&test);
    assert_int_equal(sum_of(&test, RPS_TREE_UNSEEN), 15003);
    assert_int_equal(test.reading[0].value[RPS_TREE_THREADS], 1);
    /* a process with a lost end, whose number is used again */
    hear(&test, RPS_SAMPLE_FORK, made, made, child.pid, to_ns + 10000000);
    hear(&test, RPS_SAMPLE_FORK, made, made, child.pid, to_ns + 12000000);
    hear(&test, RPS_SAMPLE_EXIT, made, made, 0, to_ns + 13000000);
    /* an event of a known process: its times continue */
    times_of(child.pid, &before[0], &before[1]);
    go_on(&child);
    times_of(child.pid, &after[0], &after[1]);
    hear(&test, RPS_SAMPLE_FORK, child.pid, child.pid, 0, to_ns - RPS_NS_PER_S);
    read_next(&test);
    assert_int_equal(sum_of(&test, RPS_TREE_UNSEEN), 18003);
    assert_int_equal(sum_of(&test, RPS_TREE_RUNNING), (after[0] - before[0]) / 1000);
    /* a process that ends after it was read */
    go_on(&child);
    from_ns = rps_clock_monotonic_ns();
    read_next(&test);
    to_ns = rps_clock_monotonic_ns();
    end(&child);
    end_ns = rps_clock_monotonic_ns();
    hear(&test, RPS_SAMPLE_EXIT, child.pid, child.pid, 0, end_ns);
    read_next(&test);
    assert_in_range(sum_of(&test, RPS_TREE_UNSEEN) - 18003, (end_ns - to_ns) / 1000,
                    (end_ns - from_ns) / 1000);
    test.reader.close(test.reader.self);
}

/* A thread's number is reused before the next reading. The new thread's time counts for the new
 * thread, and is not read from the old thread's open file. */
static void test_number_again(void **state)
{
    struct child child = start(spin_in_steps), other;
    const struct rps_system_reading *reading;
    int64_t times[2], seen_us;
    struct test test;

    (void)state;
    wait_for(&child);
    open_reader(&test, "", RPS_SYSTEM_TREE, &child.pid, 1, 1, 1000);
    go_on(&child);
    read_next(&test);
    seen_us = sum_of(&test, RPS_TREE_RUNNING);
    assert_true(seen_us > 10000);
    end(&child);
    other = start_as(spin_in_steps, child.pid);
    if (other.pid < 0) {
        test.reader.close(test.reader.self);
        print_message("no process can be started with a chosen number here\n");
        skip();
    }
    assert_int_equal(other.pid, child.pid);
    wait_for(&other);
    go_on(&other);
    go_on(&other);
    read_next(&test); /* no events were recorded yet */
    assert_int_equal(sum_of(&test, RPS_TREE_RUNNING), seen_us);
    hear(&test, RPS_SAMPLE_EXIT, child.pid, child.pid, 0, test.time_ns - 2);
    hear(&test, RPS_SAMPLE_FORK, other.pid, other.pid, getpid(), rps_clock_monotonic_ns());
    times_of(other.pid, &times[0], &times[1]);
    reading = read_next(&test);
    assert_in_range(sum_of(&test, RPS_TREE_RUNNING) - seen_us, times[0] / 1000 - 1,
                    times[0] / 1000 + 1);
    assert_int_equal(reading->value[RPS_TREE_THREADS], 1);
    test.reader.close(test.reader.self);
    end(&other);
}

/* A period is read once, when a reading is due. */
static void test_pace(void **state)
{
    struct child child = start(spin_in_steps);
    struct test test;

    (void)state;
    wait_for(&child);
    open_reader(&test, "", RPS_SYSTEM_TREE, &child.pid, 1, 1, 1000);
    read_period(&test, 1, 0);
    read_period(&test, 1, 1);
    assert_int_equal(test.count, 1);
    read_period(&test, 2, 0);
    assert_int_equal(test.count, 2);
    test.reader.close(test.reader.self);
    /* no reading meets this budget */
    open_reader(&test, "", RPS_SYSTEM_TREE, &child.pid, 1, 1, 1e-9);
    for (uint64_t period = 1; period < 10; period++)
        read_period(&test, period, 0);
    assert_int_equal(test.count, 3); /* the minimum to estimate the cost */
    read_period(&test, 10, 1);
    assert_int_equal(test.count, 4);
    assert_int_equal(test.reading[3].length_us, 7 * PERIOD_NS / 1000);
    assert_non_null(strstr(test.said, "system metrics are read every "));
    assert_non_null(strstr(test.said, ": 1 process, 1 thread"));
    test.reader.close(test.reader.self);
    end(&child);
}

/* --- folders that look like /proc ------------------------------------------------------------- */

static char root[64];

static int remove_one(const char *path, const struct stat *unused, int kind, struct FTW *place)
{
    (void)unused;
    (void)kind;
    (void)place;
    return remove(path);
}

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/rpistat-signals-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void write_file(const char *text, const char *format, ...)
{
    char name[128], path[256];
    va_list args;
    FILE *file;

    va_start(args, format);
    vsnprintf(name, sizeof(name), format, args);
    va_end(args);
    snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        mkdir(path, 0700);
    }
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void write_thread(pid_t pid, pid_t tid, const char *schedstat, const char *wchan,
                         const char *stat)
{
    if (schedstat)
        write_file(schedstat, "proc/%d/task/%d/schedstat", pid, tid);
    write_file(wchan, "proc/%d/task/%d/wchan", pid, tid);
    write_file(stat, "proc/%d/task/%d/stat", pid, tid);
    if (pid != tid)
        return;
    if (schedstat)
        write_file(schedstat, "proc/%d/schedstat", pid);
    write_file(wchan, "proc/%d/wchan", pid);
    write_file(stat, "proc/%d/stat", pid);
    write_file("100 50 9 9 0 9 0\n", "proc/%d/statm", pid);
    write_file("rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\n"
               "cancelled_write_bytes: 0\n",
               "proc/%d/io", pid);
    write_file("", "proc/%d/fd/0", pid);
}

static const pid_t seven = 7;

/* Return 1 if a thread is idle with this schedstat, wchan and system call. The thread had run 10
 * times, for 1 ms. */
static int is_idle_with(const char *schedstat, const char *wchan, const char *call)
{
    const struct rps_system_reading *reading;
    struct test test;

    write_file(call, "proc/7/task/7/syscall");
    write_thread(7, 7, "1000000 5000 10\n", wchan, "7 (a) S 1 7");
    open_reader(&test, root, RPS_SYSTEM_TREE, &seven, 1, 1, 1000);
    write_thread(7, 7, schedstat, wchan, "7 (a) S 1 7");
    reading = read_next(&test);
    assert_true(has(reading, RPS_TREE_IDLE));
    assert_int_equal(reading->value[RPS_TREE_THREADS], 1);
    assert_int_equal(reading->value[RPS_TREE_IN_LOCK] + reading->value[RPS_TREE_IDLE], 1);
    test.reader.close(test.reader.self);
    return (int)reading->value[RPS_TREE_IDLE];
}

/* Descriptors are counted again when a thread has run. */
static void test_fds(void **state)
{
    const struct rps_system_reading *reading;
    struct test test;

    (void)state;
    write_thread(7, 7, "1000000 5000 10\n", "do_sys_poll", "7 (a) S 1 7");
    write_file("", "proc/7/fd/%d", 1);
    open_reader(&test, root, RPS_SYSTEM_TREE, &seven, 1, 1, 1000);
    reading = read_next(&test);
    assert_true(has(reading, RPS_TREE_FDS));
    assert_int_equal(reading->value[RPS_TREE_FDS], 2);
    write_file("", "proc/7/fd/%d", 12);
    reading = read_next(&test);
    assert_int_equal(reading->value[RPS_TREE_FDS], 2);
    write_thread(7, 7, "2000000 5000 11\n", "do_sys_poll", "7 (a) S 1 7");
    reading = read_next(&test);
    assert_int_equal(reading->value[RPS_TREE_FDS], 3);
    test.reader.close(test.reader.self);
}

/* A thread is idle in futex if it has run at most twice, and for 50 ms, since the first reading. */
static void test_idle(void **state)
{
    (void)state;
    assert_true(is_idle_with("1000000 5000 10\n", "futex_wait", "running"));
    assert_true(is_idle_with("51000000 5000 12\n", "futex_wait_queue", "running"));
    assert_false(is_idle_with("51000001 5000 12\n", "futex_wait", "running"));
    assert_false(is_idle_with("1000000 5000 13\n", "futex_wait", "running"));
    assert_false(is_idle_with("1000000 5000 10\n", "rwsem_down_read_slowpath", "running"));
    assert_false(is_idle_with("1000000 5000 10\n", "__mutex_lock", "running"));
}

/* Two arguments of futex distinguish a lock from a condition: the operation, and the expected
 * value. */
static void test_lock_waits(void **state)
{
    static const struct {
        const char *arguments;
        int is_idle;
    } of[] = {
        {"0x80 0x2", 0},        /* mutex of glibc */
        {"0x0 0x2", 0},         /* mutex between processes */
        {"0x189 0x2", 0},       /* mutex of Rust, rwlock of glibc */
        {"0x189 0x3", 0},       /* rwlock of glibc */
        {"0x80 0x80001234", 0}, /* robust mutex, mutex of musl */
        {"0x86 0x0", 0},        /* priority inheritance */
        {"0x8d 0x0", 0},        /* priority inheritance, monotonic clock */
        {"0x189 0x0", 1},       /* condition, semaphore */
        {"0x80 0x0", 1},        /* parked thread of Go */
        {"0x80 0x3", 1},        /* third round of a barrier */
        {"0x109 0x1234", 1},    /* pthread_join() */
        {"0x100000080 0x2", 0}, /* the kernel uses only 32 bits */
    };
    char call[160];

    (void)state;
    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        snprintf(call, sizeof(call), "%ld 0x7f0012345678 %s 0x0 0x0 0x0 0x7ffc00 0x7f01\n",
                 (long)SYS_futex, of[i].arguments);
        assert_int_equal(is_idle_with("1000000 5000 10\n", "futex_wait", call), of[i].is_idle);
    }
    snprintf(call, sizeof(call), "%ld 0x7f0012345678 0x80 0x2 0x0 0x0 0x0 0x7ffc00 0x7f01\n",
             (long)SYS_read);
    assert_true(is_idle_with("1000000 5000 10\n", "futex_wait", call));
    assert_true(is_idle_with("1000000 5000 10\n", "futex_wait", "-1 0x7ffc00 0x7f01\n"));
}

/* A timeout of futex is a sleep in timers, except in threads such as those of a runtime: neither the
 * first one nor the one that it joins, in a process with a parked thread. Such a thread is idle even
 * if it wakes up often. All threads in futex that no timeout wakes may be in a deadlock. */
static void test_timeouts(void **state)
{
    enum { WAITV = 8 };
    static const struct {
        const char *first, *second, *third; /* operation, value and timeout of three threads */
        int runs, in_timer, in_lock, idle, in_futex;
    } of[] = {
        {"0x189 0x0 0x0", "0x189 0x0 0x0", "0x189 0x0 0x0", 0, 0, 0, 3, 3},
        {"0x89 0x0 0x7f00", "0x189 0x0 0x0", "0x189 0x0 0x0", 0, 1, 0, 2, 2},
        {"0x89 0x0 0x7f00", "0x189 0x0 0x0", "0x189 0x0 0x0", 64, 1, 0, 2, 2},
        {"0x89 0x0 0x7f00", "0x189 0x0 0x0", "0x189 0x0 0x0", 65, 0, 1, 2, 2}, /* busy */
        {"0x109 0x8 0x0", "0x89 0x0 0x7f00", "0x189 0x0 0x0", 0, 1, 0, 2, 2},
        {"0x189 0x0 0x0", "0x189 0x0 0x0", "0x89 0x0 0x7f00", 0, 0, 0, 3, 3}, /* of a runtime */
        {"0x189 0x0 0x0", "0x89 0x0 0x7f00", "0x89 0x0 0x7f00", 0, 2, 0, 1, 1},
        {"0x80 0x2 0x7f00", "0x189 0x0 0x0", "0x189 0x0 0x0", 0, 0, 1, 2, 2}, /* a mutex */
        [WAITV] = {"0x1 0x0 0x7f00", "0x189 0x0 0x0", "0x189 0x0 0x0", 0, 1, 0, 2, 2},
        {"0x189 0x0 0x0", "", "0x189 0x0 0x0", 0, 0, 0, 3, -1}, /* hidden */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        const char *const call[] = {of[i].first, of[i].second, of[i].third};
        const struct rps_system_reading *reading;
        char text[160];
        struct test test;

        for (int t = 0; t < 3; t++) {
            snprintf(text, sizeof(text), "%ld 0x7f0012345678 %s 0x0 0x0 0x7ffc00 0x7f01\n",
                     i == WAITV && t == 0 ? 449 : (long)SYS_futex, call[t]);
            write_file(call[t][0] ? text : "", "proc/7/task/%d/syscall", 7 + t);
            write_thread(7, 7 + t, "1000000 5000 10\n", "futex_wait", "7 (a) S 1 7");
        }
        open_reader(&test, root, RPS_SYSTEM_TREE, &seven, 1, 1, 1000);
        snprintf(text, sizeof(text), "1000000 5000 %d\n", 10 + of[i].runs);
        write_thread(7, 7, text, "futex_wait", "7 (a) S 1 7");
        reading = read_next(&test);
        assert_int_equal(reading->value[RPS_TREE_THREADS], 3);
        assert_int_equal(reading->value[RPS_TREE_IN_TIMER], of[i].in_timer);
        assert_int_equal(reading->value[RPS_TREE_IN_LOCK], of[i].in_lock);
        assert_int_equal(reading->value[RPS_TREE_IDLE], of[i].idle);
        assert_int_equal(has(reading, RPS_TREE_FUTEX), of[i].in_futex >= 0);
        if (of[i].in_futex >= 0)
            assert_int_equal(reading->value[RPS_TREE_FUTEX], of[i].in_futex);
        test.reader.close(test.reader.self);
    }
}

/* A timed wait after a busy time is a sleep in timers from the second reading of the wait on. At the
 * first one it may be one of many short waits, such as those for the lock of Python's interpreter. */
static void test_timeout_after_work(void **state)
{
    const struct rps_system_reading *reading;
    char text[160];
    struct test test;

    (void)state;
    snprintf(text, sizeof(text), "%ld 0x7f0012345678 0x89 0x0 0x7f00 0x0 0x0 0x7ffc00 0x7f01\n",
             (long)SYS_futex);
    for (int tid = 7; tid <= 8; tid++) {
        write_file(tid == 7 ? text : "running", "proc/7/task/%d/syscall", tid);
        write_thread(7, tid, "1000000 5000 10\n", tid == 7 ? "futex_wait" : "do_poll",
                     "7 (a) S 1 7");
    }
    open_reader(&test, root, RPS_SYSTEM_TREE, &seven, 1, 1, 1000);
    write_thread(7, 7, "91000000 5000 300\n", "futex_wait", "7 (a) S 1 7");
    reading = read_next(&test);
    assert_int_equal(reading->value[RPS_TREE_IN_LOCK], 1);
    assert_int_equal(reading->value[RPS_TREE_IN_TIMER], 0);
    reading = read_next(&test);
    assert_int_equal(reading->value[RPS_TREE_IN_LOCK], 0);
    assert_int_equal(reading->value[RPS_TREE_IN_TIMER], 1);
    test.reader.close(test.reader.self);
}

/* The first thread is idle from the first reading on while it waits for another thread of its
 * process. */
static void test_joins(void **state)
{
    static const struct {
        int joined, joins, is_idle;
    } of[] = {{8, 7, 1}, {9, 7, 0}, {7, 8, 0}};
    char call[160];

    (void)state;
    write_thread(7, 8, "1000000 5000 10\n", "futex_wait", "8 (a) S 1 7");
    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        const struct rps_system_reading *reading;
        struct test test;

        snprintf(call, sizeof(call), "%ld 0x7f0012345678 0x109 0x%x 0x0 0x0 0x0 0x7ffc00 0x7f01\n",
                 (long)SYS_futex, (unsigned)of[i].joined);
        for (int tid = 7; tid <= 8; tid++) {
            write_thread(7, tid, "1000000 5000 10\n", "do_poll", "7 (a) S 1 7");
            write_file(tid == of[i].joins ? call : "running", "proc/7/task/%d/syscall", tid);
        }
        open_reader(&test, root, RPS_SYSTEM_TREE, &seven, 1, 1, 1000);
        write_thread(7, of[i].joins, "91000000 5000 100\n", "futex_wait", "7 (a) S 1 7");
        reading = read_next(&test);
        assert_int_equal(reading->value[RPS_TREE_THREADS], 2);
        assert_int_equal(reading->value[RPS_TREE_IDLE], of[i].is_idle);
        assert_int_equal(reading->value[RPS_TREE_IN_LOCK], !of[i].is_idle);
        test.reader.close(test.reader.self);
    }
}

/* An idle thread that ends before the next reading stays idle. If its number is reused, the new
 * thread begins from zero. */
static void test_idle_ends(void **state)
{
    const struct rps_system_reading *reading;
    struct test test;

    (void)state;
    write_thread(7, 7, "900000000 5000 100\n", "futex_wait", "7 (a) S 1 7");
    open_reader(&test, root, RPS_SYSTEM_TREE, &seven, 1, 1, 1000);
    assert_int_equal(read_next(&test)->value[RPS_TREE_IDLE], 1);
    write_thread(7, 7, "1000000 5000 3\n", "futex_wait", "7 (b) S 1 7");
    read_next(&test);
    write_thread(7, 7, "2000000 5000 9\n", "futex_wait", "7 (b) S 1 7");
    reading = read_next(&test); /* the run count is not compared with the old thread's */
    assert_int_equal(reading->value[RPS_TREE_IN_LOCK], 1);
    test.reader.close(test.reader.self);
    open_reader(&test, root, RPS_SYSTEM_TREE, &seven, 1, 1, 1000);
    assert_int_equal(read_next(&test)->value[RPS_TREE_IDLE], 1);
    hear(&test, RPS_SAMPLE_EXIT, 7, 7, 0, test.time_ns + 1);
    reading = read_next(&test);
    assert_int_equal(reading->value[RPS_TREE_THREADS], 1); /* the thread counts until its end */
    assert_int_equal(reading->value[RPS_TREE_IDLE], 1);
    assert_int_equal(reading->value[RPS_TREE_IN_LOCK], 0);
    test.reader.close(test.reader.self);
}

/* If wchan reports 0, the kernel function in which a thread sleeps is unknown. */
static void test_hidden(void **state)
{
    const struct rps_system_reading *reading;
    struct rps_system_state can;
    struct test test;

    (void)state;
    write_thread(7, 7, "1000000 5000 10\n", "0", "7 (a) ) S 1 7");
    open_reader(&test, root, RPS_SYSTEM_TREE, &seven, 1, 1, 1000);
    assert_int_equal(test.reader.state(test.reader.self, RPS_SYSTEM_TREE, &can), 0);
    assert_int_equal(test.reader.state(test.reader.self, RPS_SYSTEM_MACHINE, &can), 1);
    assert_int_equal(test.reader.state(test.reader.self, RPS_SYSTEM_TREE, &can), 0);
    assert_false(can.supported >> RPS_TREE_IN_LOCK & 1);
    assert_string_equal(can.reason[RPS_TREE_IN_LOCK], "wchan reports nothing here");
    assert_true(can.supported >> RPS_TREE_RUNNING & 1);
    assert_string_equal(can.reason[RPS_TREE_RUNNING], "");
    reading = read_next(&test);
    assert_false(has(reading, RPS_TREE_IN_LOCK));
    assert_false(has(reading, RPS_TREE_IN_OTHER));
    assert_true(has(reading, RPS_TREE_THREADS));
    assert_int_equal(reading->value[RPS_TREE_THREADS], 1);
    assert_int_equal(reading->value[RPS_TREE_RSS], 50 * sysconf(_SC_PAGESIZE) / 1024);
    write_thread(7, 7, "1000000 5000 10\n", "0", "7 (a) ) R 1 7");
    reading = read_next(&test); /* the thread runs */
    assert_true(has(reading, RPS_TREE_IN_LOCK));
    assert_int_equal(reading->value[RPS_TREE_THREADS], 1);
    write_thread(7, 7, "3000999 7000 11\n", "blkdev_lock", "7 (a) ) D 1 7");
    reading = read_next(&test);
    assert_int_equal(reading->value[RPS_TREE_IN_IO], 1); /* recognised by the state letter D */
    assert_int_equal(reading->value[RPS_TREE_RUNNING], 2000);
    assert_int_equal(reading->value[RPS_TREE_WAIT], 2);
    write_thread(7, 7, "3000999 7000 11\n", "0", "7 (a) ) R 1 7");
    reading = read_next(&test); /* awake: state D is read again at each reading */
    assert_int_equal(reading->value[RPS_TREE_IN_IO], 0);
    write_thread(7, 7, "3000999 7000 12\n", "0", "7 (a) ) D 1 7");
    reading = read_next(&test); /* falls asleep in the queue of its CPU */
    assert_int_equal(reading->value[RPS_TREE_IN_IO], 1);
    write_thread(7, 7, "3000999 7000 13\n", "0", "7 (a) ) S 1 7");
    reading = read_next(&test);
    assert_int_equal(reading->value[RPS_TREE_IN_IO], 0);
    assert_true(has(reading, RPS_TREE_IN_LOCK));
    write_thread(7, 7, "3000999 7000 14\n", "spiral", "7 (a) ) S 1 7");
    reading = read_next(&test);
    assert_int_equal(reading->value[RPS_TREE_IN_OTHER], 1);
    write_thread(7, 7, "3000999 7000 15\n", "antipoll", "7 (a) ) S 1 7");
    reading = read_next(&test);
    assert_int_equal(reading->value[RPS_TREE_IN_OTHER], 1);
    write_thread(7, 7, "3000999 7000 16\n", "do_sys_poll", "7 (a) ) S 1 7");
    reading = read_next(&test);
    assert_int_equal(reading->value[RPS_TREE_IN_MESSAGE], 1);
    write_thread(7, 7, "3000999 7000 15\n", "wait_woken", "7 (a) ) S 1 7");
    reading = read_next(&test); /* this is recv() of TCP */
    assert_int_equal(reading->value[RPS_TREE_IN_MESSAGE], 1);
    write_thread(7, 7, "3000999 7000 16\n", "do_wait_intr_irq", "7 (a) ) S 1 7");
    reading = read_next(&test); /* read() of an eventfd or a timerfd, but no wait for children */
    assert_int_equal(reading->value[RPS_TREE_IN_OTHER], 1);
    write_thread(7, 7, "3000999 7000 17\n", "0", "7 (a) ) R 1 7");
    write_file("0 0 0 0 0 0 0\n", "proc/%d/statm", 7);
    reading = read_next(&test); /* the thread ends: its memory of 0 is ignored */
    assert_int_equal(reading->value[RPS_TREE_RSS], 50 * sysconf(_SC_PAGESIZE) / 1024);
    test.reader.close(test.reader.self);
}

static void test_lacking(void **state)
{
    const struct rps_system_reading *reading;
    struct rps_system_state can;
    struct test test;
    char path[128];

    (void)state;
    write_thread(7, 7, NULL, "futex_wait", "7 (a) S 1 7");
    snprintf(path, sizeof(path), "%s/proc/7/io", root);
    assert_int_equal(remove(path), 0);
    open_reader(&test, root, RPS_SYSTEM_TREE, &seven, 1, 1, 1000);
    assert_int_equal(test.reader.state(test.reader.self, RPS_SYSTEM_TREE, &can), 0);
    assert_string_equal(can.reason[RPS_TREE_WAIT], "this kernel has no schedstat");
    assert_string_equal(can.reason[RPS_TREE_READ], "this kernel counts no bytes of processes (io)");
    reading = read_next(&test);
    assert_false(has(reading, RPS_TREE_WAIT));
    assert_false(has(reading, RPS_TREE_DISK_WRITTEN));
    assert_int_equal(reading->value[RPS_TREE_IN_LOCK], 1);
    assert_false(has(reading, RPS_TREE_IDLE)); /* the number of runs is not available */
    assert_string_equal(can.reason[RPS_TREE_IDLE], "this kernel has no schedstat");
    assert_int_equal(reading->value[RPS_TREE_RSS], 50 * sysconf(_SC_PAGESIZE) / 1024);
    test.reader.close(test.reader.self);
    write_thread(9, 9, "1000000 5000 10\n", "futex_wait", "9 (a) S 1 9");
    snprintf(path, sizeof(path), "%s/proc/9/wchan", root);
    assert_int_equal(remove(path), 0);
    snprintf(path, sizeof(path), "%s/proc/9/task/9/wchan", root);
    assert_int_equal(remove(path), 0);
    open_reader(&test, root, RPS_SYSTEM_TREE, (const pid_t[]){9}, 1, 1, 1000);
    test.reader.state(test.reader.self, RPS_SYSTEM_TREE, &can);
    assert_string_equal(can.reason[RPS_TREE_IN_IO], "this kernel has no wchan");
    assert_string_equal(can.reason[RPS_TREE_IDLE], "this kernel has no wchan");
    reading = read_next(&test);
    assert_int_equal(reading->value[RPS_TREE_THREADS], 1);
    assert_true(has(reading, RPS_TREE_RUNNING));
    assert_false(has(reading, RPS_TREE_IN_IO));
    test.reader.close(test.reader.self);
    /* hidepid: the process is hidden */
    open_reader(&test, root, RPS_SYSTEM_TREE, (const pid_t[]){8}, 1, 1, 1000);
    test.reader.state(test.reader.self, RPS_SYSTEM_TREE, &can);
    assert_int_equal(can.supported & ~(UINT32_C(1) << RPS_TREE_UNSEEN), 0);
    assert_string_equal(can.reason[RPS_TREE_IN_IO], "its processes are not shown in /proc");
    assert_string_equal(can.reason[RPS_TREE_RSS], "its processes are not shown in /proc");
    test.reader.close(test.reader.self);
}

/* Read until at least `least_us` of waits for a CPU were counted. Returns their sum in us. */
static int64_t read_until_wait(struct test *test, int64_t least_us)
{
    int64_t sum = 0;

    while (sum < least_us) {
        test->count = 0;
        sum += read_next(test)->value[RPS_TREE_WAIT];
    }
    return sum;
}

/* A wait for a CPU counts while it continues, and no part counts twice. */
static void test_unfinished_wait(void **state)
{
    int64_t start_ns = rps_clock_monotonic_ns(), sum;
    struct test test;

    (void)state;
    write_thread(7, 7, "1000000 5000 10\n", "0", "7 (a) R 1 7");
    open_reader(&test, root, RPS_SYSTEM_TREE, &seven, 1, 1, 1000);
    sum = read_until_wait(&test, 1000);
    assert_true(sum <= (rps_clock_monotonic_ns() - start_ns) / 1000);
    write_thread(7, 7, "2000000 60000005000 11\n", "0", "7 (a) R 1 7");
    sum += read_next(&test)->value[RPS_TREE_WAIT];
    assert_int_equal(sum, 60000000);
    /* The thread sleeps, is woken up, and waits. The wait is counted within a second. */
    write_thread(7, 7, "3000000 60000005000 12\n", "futex_wait", "7 (a) S 1 7");
    assert_int_equal(read_next(&test)->value[RPS_TREE_WAIT], 0);
    start_ns = rps_clock_monotonic_ns();
    write_thread(7, 7, NULL, "0", "7 (a) R 1 7");
    sum = read_until_wait(&test, 1000);
    write_thread(7, 7, "4000000 90000005000 13\n", "0", "7 (a) R 1 7");
    sum += read_next(&test)->value[RPS_TREE_WAIT];
    assert_true(sum <= (rps_clock_monotonic_ns() - start_ns) / 1000);
    test.reader.close(test.reader.self);
}

/* A thread that calls exec gets the number of the first thread. The new program's times continue,
 * and the first thread's times do not count again. */
static void test_exec(void **state)
{
    const struct rps_system_reading *reading;
    struct test test;

    (void)state;
    write_thread(7, 7, "1000000 5000 10\n", "futex_wait", "7 (a) S 1 7");
    open_reader(&test, root, RPS_SYSTEM_TREE, &seven, 1, 1, 1000);
    write_thread(7, 7, "3000000 9000 11\n", "futex_wait", "7 (b) S 1 7");
    hear(&test, RPS_SAMPLE_NAME, 7, 7, 0, test.time_ns + 1);
    reading = read_next(&test);
    assert_int_equal(reading->value[RPS_TREE_RUNNING], 2000);
    assert_int_equal(reading->value[RPS_TREE_WAIT], 4);
    /* Add two threads. The last thread becomes the program. */
    write_thread(7, 8, "50000000 5000 10\n", "futex_wait", "8 (b) S 1 7");
    write_thread(7, 9, "70000000 5000 10\n", "futex_wait", "9 (b) S 1 7");
    hear(&test, RPS_SAMPLE_FORK, 7, 8, 7, test.time_ns + 1);
    hear(&test, RPS_SAMPLE_FORK, 7, 9, 7, test.time_ns + 2);
    reading = read_next(&test);
    assert_int_equal(reading->value[RPS_TREE_RUNNING], 120000);
    assert_int_equal(reading->value[RPS_TREE_THREADS], 3);
    write_thread(7, 7, "71000000 5000 10\n", "futex_wait", "7 (c) S 1 7 7 0 -1 0");
    hear(&test, RPS_SAMPLE_EXIT, 7, 8, 0, test.time_ns + 3);
    hear(&test, RPS_SAMPLE_EXIT, 7, 7, 0, test.time_ns + 4);
    hear(&test, RPS_SAMPLE_NAME, 7, 7, 0, test.time_ns + 5);
    reading = read_next(&test);
    assert_int_equal(reading->value[RPS_TREE_THREADS], 1);
    assert_int_equal(reading->value[RPS_TREE_RUNNING], 0);
    write_thread(7, 7, "75000000 8000 12\n", "futex_wait", "7 (c) S 1 7 7 0 -1 0");
    test.count = 0;
    reading = read_next(&test);
    assert_int_equal(reading->value[RPS_TREE_RUNNING], 4000);
    assert_int_equal(reading->value[RPS_TREE_WAIT], 3);
    assert_int_equal(reading->hidden_us, 0); /* Linux counts the new program */
    test.reader.close(test.reader.self);
    open_reader(&test, root, RPS_SYSTEM_TREE, &seven, 1, 0, 1000); /* its exec is not reported */
    write_thread(7, 7, "1000000 5000 13\n", "futex_wait", "7 (d) S 1 7");
    assert_int_equal(read_next(&test)->value[RPS_TREE_RUNNING], 0);
    write_thread(7, 7, "3000000 5000 13\n", "futex_wait", "7 (d) S 1 7");
    assert_int_equal(read_next(&test)->value[RPS_TREE_RUNNING], 2000);
    test.reader.close(test.reader.self);
}

/* Linux may count sleep as a wait when the sleep ends. The impossible part is cut off if the thread
 * slept at the previous reading. */
static void test_sleep_counted_as_wait(void **state)
{
    const int64_t hour_us = INT64_C(3600000000);
    const struct rps_system_reading *reading;
    struct test test;

    (void)state;
    write_thread(7, 7, "1000000 5000 10\n", "futex_wait", "7 (a) S 1 7");
    open_reader(&test, root, RPS_SYSTEM_TREE, &seven, 1, 1, 1000);
    read_next(&test);
    read_next(&test); /* the thread has not run, and sleeps */
    write_thread(7, 7, "3000000 3600000005000 11\n", "0", "7 (a) R 1 7");
    reading = read_next(&test);
    assert_true(has(reading, RPS_TREE_WAIT));
    assert_int_equal(reading->value[RPS_TREE_RUNNING], 2000);
    assert_true(reading->value[RPS_TREE_WAIT] < hour_us);
    write_thread(7, 7, "3000000 7200000005000 12\n", "futex_wait", "7 (a) S 1 7");
    reading = read_next(&test); /* the thread was ready to run, so the wait may be long */
    assert_int_equal(reading->value[RPS_TREE_WAIT], hour_us);
    test.reader.close(test.reader.self);
}

/* Give a file of the directory to an ordinary user. This process becomes the user, so that hidden
 * files cannot be read, and later becomes root again. */
static int own_one(const char *path, const struct stat *unused, int kind, struct FTW *place)
{
    (void)unused;
    (void)kind;
    (void)place;
    return chown(path, 65534, 65534);
}

static void lose_rights(void)
{
    if (geteuid() != 0)
        return;
    assert_int_equal(nftw(root, own_one, 16, FTW_PHYS), 0);
    assert_int_equal(setresuid(65534, 65534, 0), 0);
}

static void hide(const char *name, int hidden)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", root, name);
    assert_int_equal(chmod(path, hidden ? 0 : 0700), 0);
}

static void take_rights_again(void)
{
    if (setresuid(0, 0, 0) < 0)
        assert_int_not_equal(getuid(), 0);
}

/* While a child of another user lives, bytes of the tree are unknown, but other values are known.
 */
static void test_setuid_child(void **state)
{
    const struct rps_system_reading *reading;
    struct test test;

    (void)state;
    write_thread(7, 7, "1000000 5000 10\n", "futex_wait", "7 (a) S 1 7");
    write_thread(8, 8, "2000000 5000 10\n", "0", "8 (a) S 7 8");
    lose_rights();
    open_reader(&test, root, RPS_SYSTEM_TREE, &seven, 1, 1, 1000);
    assert_true(has(read_next(&test), RPS_TREE_READ));
    hear(&test, RPS_SAMPLE_FORK, 8, 8, 7, test.time_ns + 1);
    hide("proc/8/io", 1);
    for (int i = 0; i < 2; i++) {
        reading = read_next(&test);
        assert_false(has(reading, RPS_TREE_READ));
        assert_false(has(reading, RPS_TREE_DISK_WRITTEN));
        assert_false(has(reading, RPS_TREE_IN_LOCK));
        assert_true(has(reading, RPS_TREE_RUNNING));
        assert_int_equal(reading->value[RPS_TREE_THREADS], 2);
        assert_int_equal(reading->value[RPS_TREE_RSS], 100 * sysconf(_SC_PAGESIZE) / 1024);
    }
    assert_int_equal(sum_of(&test, RPS_TREE_RUNNING), 2000);
    write_thread(7, 7, "1500000 5000 11\n", "futex_wait", "7 (a) S 1 7");
    write_file("rchar: 10240\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\n"
               "cancelled_write_bytes: 0\n",
               "proc/7/io"); /* the parent has waited for the child */
    hear(&test, RPS_SAMPLE_EXIT, 8, 8, 0, test.time_ns + 1);
    reading = read_next(&test);
    assert_true(has(reading, RPS_TREE_READ));
    assert_int_equal(reading->value[RPS_TREE_READ], 10);
    assert_true(has(reading, RPS_TREE_IN_LOCK));
    test.reader.close(test.reader.self);
    take_rights_again();
}

/* With hidepid=1, only the existence of another user's process is visible. */
static void test_hidepid(void **state)
{
    struct rps_system_state can;
    struct test test;

    (void)state;
    write_thread(7, 7, "1000000 5000 10\n", "futex_wait", "7 (a) S 1 7");
    lose_rights();
    hide("proc/7", 1);
    open_reader(&test, root, RPS_SYSTEM_TREE, &seven, 1, 1, 1000);
    test.reader.state(test.reader.self, RPS_SYSTEM_TREE, &can);
    assert_int_equal(can.supported & ~(UINT32_C(1) << RPS_TREE_UNSEEN), 0);
    for (int s = 0; s < RPS_TREE_SLOTS; s++)
        assert_int_equal(can.reason[s][0] == '\0', s == RPS_TREE_UNSEEN);
    assert_string_equal(can.reason[RPS_TREE_WAIT], "its processes are not shown in /proc");
    test.reader.close(test.reader.self);
    hide("proc/7", 0);
    take_rights_again();
}

/* The bytes and system calls of a process are not visible to another user. */
static void test_other_user(void **state)
{
    struct child child;
    int status;
    pid_t pid;

    (void)state;
    if (geteuid() != 0) {
        print_message("only root can become another user\n");
        skip();
    }
    child = start(spin_in_steps);
    wait_for(&child);
    pid = fork();
    if (pid == 0) {
        const struct rps_system_reading *reading;
        struct rps_system_state can;
        struct test test;
        char byte;
        int wrong = setresuid(65534, 65534, 65534) < 0;

        open_reader(&test, "", RPS_SYSTEM_TREE, &child.pid, 1, 1, 1000);
        test.reader.state(test.reader.self, RPS_SYSTEM_TREE, &can);
        wrong |= strcmp(can.reason[RPS_TREE_READ], "io is another user's") != 0;
        wrong |= strcmp(can.reason[RPS_TREE_IN_LOCK], "wchan is another user's") != 0;
        wrong |= can.reason[RPS_TREE_WAIT][0] != '\0';
        reading = read_next(&test);
        wrong |= has(reading, RPS_TREE_READ) || has(reading, RPS_TREE_IN_MESSAGE);
        let_go(&child); /* the thread runs, and both values stay unknown */
        wrong |= read(child.said, &byte, 1) != 1;
        wait_until(child.pid, 'S');
        reading = read_next(&test);
        wrong |= has(reading, RPS_TREE_READ) || has(reading, RPS_TREE_IN_MESSAGE);
        wrong |= !has(reading, RPS_TREE_RUNNING) || reading->value[RPS_TREE_RUNNING] == 0;
        wrong |= !has(reading, RPS_TREE_RSS) || reading->value[RPS_TREE_THREADS] != 1;
        _exit(wrong);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    end(&child);
}

static int count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* Half of the allowed descriptors are left for other uses. */
static void test_descriptors(void **state)
{
    const int before = count_descriptors();
    struct rlimit was, limit;
    struct test test;

    (void)state;
    for (pid_t tid = 7; tid < 107; tid++)
        write_thread(7, tid, "1000000 5000 10\n", "futex_wait", "7 (a) S 1 7");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    limit = was;
    limit.rlim_cur = 100;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    open_reader(&test, root, RPS_SYSTEM_TREE, &seven, 1, 1, 1000);
    for (int i = 0; i < 3; i++) {
        read_next(&test);
        assert_in_range(count_descriptors() - before, 40, 51);
        assert_int_equal(test.reading[i].value[RPS_TREE_IDLE], 100);
    }
    test.reader.close(test.reader.self);
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
}

/* If there are many threads, a separate thread reads them. The result comes with the next period.
 */
static void test_own_thread(void **state)
{
    struct test test;

    (void)state;
    for (pid_t tid = 7; tid < 407; tid++)
        write_thread(7, tid, "1000000 5000 10\n", "0", "7 (a) S 1 7");
    open_reader(&test, root, RPS_SYSTEM_TREE, &seven, 1, 1, 1000);
    read_period(&test, 1, 0);
    assert_int_equal(test.count, 1);
    write_thread(7, 9, "9000000 5000 10\n", "0", "7 (a) S 1 7");
    read_period(&test, 2, 0);
    assert_int_equal(test.count, 1);
    read_period(&test, 3, 1);
    assert_int_equal(test.count, 3);
    assert_int_equal(test.reading[1].period, 2);
    assert_int_equal(test.reading[1].value[RPS_TREE_RUNNING], 8000);
    assert_int_equal(test.reading[1].value[RPS_TREE_THREADS], 400);
    assert_int_equal(test.reading[1].length_us, PERIOD_NS / 1000);
    assert_int_equal(test.reading[2].period, 3);
    assert_int_equal(test.reading[2].value[RPS_TREE_RUNNING], 0);
    read_period(&test, 4, 0); /* the reader is closed while it reads */
    test.reader.close(test.reader.self);
}

/* --- long files ------------------------------------------------------------------------------- */

enum { CHILDREN = 900 };

static void have_children(void)
{
    for (int i = 0; i < CHILDREN; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                pause();
        }
        if (pid < 0)
            _exit(1);
    }
    meet();
}

/* Without events, all children are found, although the kernel lists them in parts. */
static void test_many_children(void **state)
{
    struct child child = start(have_children);
    struct test test;
    char byte;

    (void)state;
    if (read(child.said, &byte, 1) != 1) { /* too many processes of this user */
        end(&child);
        print_message("this user may not start %d processes\n", CHILDREN);
        skip();
    }
    open_reader(&test, "", RPS_SYSTEM_TREE, &child.pid, 1, 0, 1000);
    assert_int_equal(read_next(&test)->value[RPS_TREE_THREADS], CHILDREN + 1);
    test.reader.close(test.reader.self);
    end(&child);
}

/* A file of /proc is read to its end, although the kernel returns one page at a time. */
static void test_long_file(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 1 << 20;
    static char text[1 << 20];
    struct rps_system_files files;
    char *apart, name[64];
    FILE *maps;
    pid_t pid;
    int fd = -1;

    (void)state;
    apart = mmap(NULL, 400 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(apart != MAP_FAILED);
    for (size_t i = 0; i < 400; i += 2) /* 400 mappings, one line each */
        assert_int_equal(mprotect(apart + i * page, page, PROT_NONE), 0);
    pid = fork();
    if (pid == 0) { /* the child's mappings do not change */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    snprintf(name, sizeof(name), "%ld/maps", (long)pid);
    assert_int_equal(rps_system_files_open(&files, "", "/proc"), 0);
    assert_true(rps_system_file_read(&files, &fd, name, text, size) > 400 * 40);
    snprintf(name, sizeof(name), "/proc/%ld/maps", (long)pid);
    maps = fopen(name, "re");
    for (char line[4096], *at = text; fgets(line, sizeof(line), maps); at += strlen(line))
        assert_memory_equal(at, line, strlen(line));
    fclose(maps);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    rps_system_file_close(&files, &fd);
    close(files.folder_fd);
    munmap(apart, 400 * page);
}

static void test_too_many(void **state)
{
    struct test test;

    (void)state;
    write_thread(7, 7, "1000000 5000 10\n", "futex_wait", "7 (a) S 1 7");
    open_reader(&test, root, RPS_SYSTEM_TREE, &seven, 1, 1, 1000);
    for (pid_t tid = 8; tid < 4200; tid++)
        hear(&test, RPS_SAMPLE_FORK, 7, tid, 7, test.time_ns + 1);
    read_period(&test, 1, 1);
    assert_int_equal(test.count, 0);
    assert_string_equal(
        test.note,
        "from here on, system metrics of the workload are not read: it has 4193 threads");
    read_period(&test, 2, 1);
    assert_string_equal(test.note, "");
    for (pid_t tid = 8; tid < 4200; tid++)
        hear(&test, RPS_SAMPLE_EXIT, 7, tid, 0, test.time_ns + 2);
    read_period(&test, 3, 1);
    assert_string_equal(test.note, "from here on, system metrics of the workload are read again");
    assert_int_equal(test.count, 1);
    assert_int_equal(test.reading[0].value[RPS_TREE_THREADS], 1);
    assert_int_equal(test.reading[0].length_us, 3 * PERIOD_NS / 1000);
    test.reader.close(test.reader.self);
}

/* --- the machine ------------------------------------------------------------------------------ */

static void write_machine(int cpus_and_more, int more, const char *disk)
{
    char text[512];

    snprintf(text, sizeof(text), "1.00 1.00 1.00 %d/99 100\n", cpus_and_more);
    write_file(text, "proc/loadavg");
    snprintf(text, sizeof(text), "cpu  1 2 3 4 %d 6 7 %d 9 10\ncpu0 1 2\n", 50 + more,
             80 + 2 * more);
    write_file(text, "proc/stat");
    snprintf(text, sizeof(text), "some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\nfull total=1\n",
             1000 + more);
    write_file(text, "proc/pressure/cpu");
    snprintf(text, sizeof(text), "MemTotal: 9 kB\nMemFree: 8 kB\nMemAvailable: %d kB\n", more);
    write_file(text, "proc/meminfo");
    snprintf(text, sizeof(text),
             "   8 0 %s 1 2 %d 4 5 6 %d 8\n   8 1 %s1 1 2 %d 4 5 6 %d 8\n   7 0 loop0 0 0 0 0 0 0 "
             "0 0\n",
             disk, 100 + 2 * more, 200 + 4 * more, disk, 100 + 2 * more, 200 + 4 * more);
    write_file(text, "proc/diskstats");
    snprintf(
        text, sizeof(text),
        "Inter-| Receive\n face |bytes\n  lo: %d000 0 0 0 0 0 0 0 5 0\neth0:%d 1 2 3 4 5 6 7 %d "
        "0\n eth1: %d 1 2 3 4 5 6 7 8 9\n",
        more, 1024 * more, 3 * 1024 * more, 1024 * more);
    write_file(text, "proc/net/dev");
}

static void test_machine(void **state)
{
    const int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    const int64_t tick_us = 1000000 / sysconf(_SC_CLK_TCK);
    const struct rps_system_reading *reading;
    struct rps_system_state can;
    struct test test;

    (void)state;
    write_file("", "sys/block/sd!a/device");
    write_machine(cpus, 0, "sd/a");
    open_reader(&test, root, RPS_SYSTEM_MACHINE, NULL, 0, 0, 1000);
    test.reader.state(test.reader.self, RPS_SYSTEM_MACHINE, &can);
    assert_false(can.supported >> RPS_MACHINE_PSI_IO & 1);
    assert_string_equal(can.reason[RPS_MACHINE_PSI_IO], "/proc/pressure/io cannot be read");
    assert_string_equal(can.reason[RPS_MACHINE_STEAL], "");
    read_period(&test, 1, 0); /* counting begins here */
    write_machine(cpus + 1 + 7, 10, "sd/a");
    for (uint64_t period = 2; period < 11; period++)
        read_period(&test, period, 0);
    assert_int_equal(test.count, 0); /* machine metrics are read once per second */
    write_machine(cpus - 1, 10, "sd/a");
    read_period(&test, 11, 0);
    assert_int_equal(test.count, 1);
    reading = &test.reading[0];
    assert_int_equal(reading->valid, can.supported);
    assert_int_equal(reading->length_us, 1000000);
    assert_int_equal(reading->value[RPS_MACHINE_WAIT], 6); /* the mean of nine times 7, and 0 */
    assert_int_equal(reading->value[RPS_MACHINE_IOWAIT], 10 * tick_us);
    assert_int_equal(reading->value[RPS_MACHINE_STEAL], 20 * tick_us);
    assert_int_equal(reading->value[RPS_MACHINE_PSI_CPU], 10);
    assert_int_equal(reading->value[RPS_MACHINE_AVAILABLE], 10);
    /* bytes of the partition are not added */
    assert_int_equal(reading->value[RPS_MACHINE_DISK_READ], 10);
    assert_int_equal(reading->value[RPS_MACHINE_DISK_WRITTEN], 20);
    assert_int_equal(reading->value[RPS_MACHINE_NET_IN], 20);
    assert_int_equal(reading->value[RPS_MACHINE_NET_OUT], 30);
    write_machine(cpus, 4, "sd/a"); /* a card was removed */
    reading = read_next(&test);
    assert_int_equal(reading->value[RPS_MACHINE_NET_IN], 0);
    assert_int_equal(reading->value[RPS_MACHINE_WAIT], 0);
    write_machine(cpus, 5, "sd/a");
    reading = read_next(&test);
    assert_int_equal(reading->value[RPS_MACHINE_NET_IN], 2);
    assert_int_equal(reading->value[RPS_MACHINE_PSI_CPU], 1);
    test.reader.close(test.reader.self);
}

/* The kernel's wait time per busy CPU is used if available, instead of the number of threads at a
 * moment. */
static void test_delay(void **state)
{
    struct test test;

    (void)state;
    write_machine(99, 0, "sd/a");
    write_file("version 15\ntimestamp 1\ncpu0 0 0 1 2 3 4 5 1000 6\ndomain0 3 1 2 3 4 5 6 7 8 9\n"
               "cpu1 0 0 1 2 3 4 5 2000 6\n",
               "proc/schedstat");
    open_reader(&test, root, RPS_SYSTEM_MACHINE, NULL, 0, 0, 1000);
    read_period(&test, 1, 0); /* counting begins here */
    write_file(
        "version 15\ntimestamp 1\ncpu0 0 0 1 2 3 4 5 600001000 6\ndomain0 3 1 2 3 4 5 6 7 8 9\n"
        "cpu1 0 0 1 2 3 4 5 1000002000 6\n",
        "proc/schedstat");
    for (uint64_t period = 2; period < 12; period++)
        read_period(&test, period, 0);
    assert_int_equal(test.count, 1);
    assert_int_equal(test.reading[0].value[RPS_MACHINE_WAIT], 2); /* 1.6 threads on average */
    assert_true(has(&test.reading[0], RPS_MACHINE_WAIT));
    assert_int_equal(read_next(&test)->value[RPS_MACHINE_WAIT], 0);
    test.reader.close(test.reader.self);
}

/* This machine has at least some metrics. */
static void test_real_machine(void **state)
{
    const struct rps_system_reading *reading;
    struct test test;

    (void)state;
    open_reader(&test, "", RPS_SYSTEM_MACHINE, NULL, 0, 0, 1000);
    read_period(&test, 0, 0);
    reading = read_next(&test);
    assert_true(has(reading, RPS_MACHINE_WAIT));
    assert_true(has(reading, RPS_MACHINE_STEAL));
    assert_true(reading->value[RPS_MACHINE_AVAILABLE] > 0);
    test.reader.close(test.reader.self);
}

/* --- control groups --------------------------------------------------------------------------- */

static int open_target(struct test *test, const struct rps_target *target)
{
    const struct rps_system_options options = {
        .tree = 1, .hears = 1, .period_ns = PERIOD_NS, .budget = 1000};
    struct rps_system_state can;
    struct rps_error err = {""};

    memset(test, 0, sizeof(*test));
    assert_int_equal(rps_system_open(root, &options, target, &test->reader, &err), 0);
    test->time_ns = rps_clock_monotonic_ns();
    test->reader.resume(test->reader.self, test->time_ns);
    return test->reader.state(test->reader.self, RPS_SYSTEM_GROUP, &can) == 0;
}

static int is_group_read(pid_t pid)
{
    const struct rps_target target = {.kind = RPS_TARGET_LAUNCH, .pid = &pid, .pid_count = 1};
    struct test test;
    int is_read = open_target(&test, &target);

    test.reader.close(test.reader.self);
    return is_read;
}

/* End a period, and return its last reading of a source. */
static const struct rps_system_reading *read_of(struct test *test, enum rps_system_source source)
{
    int i;

    read_period(test, test->period + 1, 1);
    for (i = test->count; i-- > 0 && test->reading[i].source != source;)
        ;
    assert_true(i >= 0 && test->reading[i].period == test->period);
    return &test->reading[i];
}

static int open_group(const char *name)
{
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", root, name);
    fd = open(path, O_RDONLY | O_DIRECTORY);
    assert_true(fd >= 0);
    return fd;
}

/* Version 2: the processes and files of a group are read, with the groups below. */
static void test_group(void **state)
{
    const struct rps_system_reading *reading;
    struct rps_target target = {.kind = RPS_TARGET_CGROUP};
    struct rps_system_state can;
    struct test test;

    (void)state;
    for (pid_t pid = 7; pid < 11; pid++)
        write_thread(pid, pid, "1000000 5000 10\n", "futex_wait", "7 (a) S 1 7");
    write_file("", "sys/dev/block/8:0/device");
    write_file("", "sys/fs/cgroup/cgroup.procs");
    write_file("7\n", "sys/fs/cgroup/a/cgroup.procs");
    write_file("0\n8\n", "sys/fs/cgroup/a/b/cgroup.procs");
    write_file("usage_usec 9\nthrottled_usec 100\n", "sys/fs/cgroup/a/cpu.stat");
    write_file("4096\n", "sys/fs/cgroup/a/memory.current");
    write_file("", "sys/fs/cgroup/a/io.stat"); /* the file has no values yet */
    target.cgroup_count = 1;
    target.cgroup_fd[0] = open_group("sys/fs/cgroup/a");
    assert_true(open_target(&test, &target));
    close(target.cgroup_fd[0]);
    reading = read_of(&test, RPS_SYSTEM_TREE);
    assert_int_equal(reading->value[RPS_TREE_THREADS], 2);
    assert_int_equal(reading->value[RPS_TREE_RUNNING], 0);
    write_file("usage_usec 9\nthrottled_usec 350\n", "sys/fs/cgroup/a/cpu.stat");
    write_file("8192\n", "sys/fs/cgroup/a/memory.current");
    write_file("8:0 rbytes=3072 wbytes=1024 rios=1\n253:0 rbytes=4096 wbytes=4096 rios=1\n",
               "sys/fs/cgroup/a/io.stat");
    reading = read_of(&test, RPS_SYSTEM_GROUP);
    assert_int_equal(reading->valid, 15);
    assert_int_equal(reading->value[RPS_GROUP_THROTTLED], 250);
    assert_int_equal(reading->value[RPS_GROUP_MEMORY], 8);
    assert_int_equal(reading->value[RPS_GROUP_READ], 3); /* devices that consist of disks are not
                                                            added */
    assert_int_equal(reading->value[RPS_GROUP_WRITTEN], 1);
    assert_int_equal(reading->length_us, PERIOD_NS / 1000);

    /* 8 leaves the group, 9 enters, and 9 has forked 10 */
    write_file("9\n10\n", "sys/fs/cgroup/a/b/cgroup.procs");
    write_thread(10, 10, "1000000 5000 10\n", "futex_wait", "10 (a) S 9 10");
    reading = read_of(&test, RPS_SYSTEM_TREE);
    assert_int_equal(reading->value[RPS_TREE_THREADS], 3);
    assert_int_equal(reading->value[RPS_TREE_RUNNING], 1000);
    assert_int_equal(reading->value[RPS_TREE_RSS], 150 * sysconf(_SC_PAGESIZE) / 1024);
    write_thread(8, 8, "3000000 5000 11\n", "futex_wait", "8 (a) S 1 8");
    write_file("rchar: 99999\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\n"
               "cancelled_write_bytes: 0\n",
               "proc/8/io");
    write_thread(9, 9, "3000000 5000 11\n", "futex_wait", "9 (a) S 1 9");
    reading = read_of(&test, RPS_SYSTEM_TREE);
    assert_int_equal(reading->value[RPS_TREE_RUNNING], 2000); /* only the time of process 9 */
    assert_int_equal(reading->value[RPS_TREE_READ], 0);
    assert_false(has(reading, RPS_TREE_UNSEEN));
    write_file("", "sys/fs/cgroup/a/cgroup.procs");
    write_file("", "sys/fs/cgroup/a/b/cgroup.procs");
    reading = read_of(&test, RPS_SYSTEM_TREE);
    assert_true(has(reading, RPS_TREE_THREADS));
    assert_int_equal(reading->value[RPS_TREE_THREADS], 0); /* 0 is a known number of threads */
    test.reader.close(test.reader.self);

    target.cgroup_fd[0] = open_group("sys/fs/cgroup/a/b"); /* this group has no controllers */
    write_file("usage_usec 9\n", "sys/fs/cgroup/a/b/cpu.stat");
    assert_true(open_target(&test, &target));
    close(target.cgroup_fd[0]);
    test.reader.state(test.reader.self, RPS_SYSTEM_GROUP, &can);
    assert_int_equal(can.supported, 0);
    assert_string_equal(can.reason[RPS_GROUP_THROTTLED],
                        "the control group does not report it (cpu.stat)");
    assert_string_equal(can.reason[RPS_GROUP_READ],
                        "the control group does not report it (io.stat)");
    assert_int_equal(read_of(&test, RPS_SYSTEM_GROUP)->valid, 0);
    test.reader.close(test.reader.self);
}

/* The control group of a command is read if it has a CPU limit. */
static void test_limit(void **state)
{
    (void)state;
    write_thread(7, 7, "1000000 5000 10\n", "futex_wait", "7 (a) S 1 7");
    assert_false(is_group_read(7));
    write_file("", "sys/fs/cgroup/cgroup.procs");
    write_file("0::/a\n", "proc/7/cgroup");
    write_file("throttled_usec 5\n", "sys/fs/cgroup/a/cpu.stat");
    assert_false(is_group_read(7));
    write_file("max 100000\n", "sys/fs/cgroup/a/cpu.max");
    assert_false(is_group_read(7));
    write_file("25000 100000\n", "sys/fs/cgroup/a/cpu.max");
    assert_true(is_group_read(7));
    write_file("0::/not/seen/here\n", "proc/7/cgroup"); /* a container's own group is the root */
    assert_false(is_group_read(7));
    write_file("25000 100000\n", "sys/fs/cgroup/cpu.max");
    write_file("throttled_usec 5\n", "sys/fs/cgroup/cpu.stat");
    assert_true(is_group_read(7));
}

/* A process moves into a group with a limit after its start. */
static void test_late_limit(void **state)
{
    const struct rps_target target = {.kind = RPS_TARGET_LAUNCH, .pid = &seven, .pid_count = 1};
    struct rps_system_state can;
    struct test test;

    (void)state;
    write_thread(7, 7, "1000000 5000 10\n", "futex_wait", "7 (a) S 1 7");
    write_file("", "sys/fs/cgroup/cgroup.procs");
    write_file("0::/\n", "proc/7/cgroup");
    write_file("25000 100000\n", "sys/fs/cgroup/a/cpu.max");
    write_file("throttled_usec 5\n", "sys/fs/cgroup/a/cpu.stat");
    assert_false(open_target(&test, &target));
    read_period(&test, 1, 1);
    assert_int_equal(test.reader.state(test.reader.self, RPS_SYSTEM_GROUP, &can), 1);
    write_file("0::/a\n", "proc/7/cgroup");
    test.time_ns += RPS_NS_PER_S;
    read_period(&test, 2, 1);
    assert_int_equal(test.reader.state(test.reader.self, RPS_SYSTEM_GROUP, &can), 0);
    assert_int_equal(can.supported, 1U << RPS_GROUP_THROTTLED);
    write_file("throttled_usec 705\n", "sys/fs/cgroup/a/cpu.stat");
    assert_int_equal(read_of(&test, RPS_SYSTEM_GROUP)->value[RPS_GROUP_THROTTLED], 700);
    /* then it moves into a group below, with a tighter limit */
    write_file("10000 100000\n", "sys/fs/cgroup/a/b/cpu.max");
    write_file("throttled_usec 90000\n", "sys/fs/cgroup/a/b/cpu.stat");
    write_file("0::/a/b\n", "proc/7/cgroup");
    read_period(&test, test.period + 1, 1);
    write_file("throttled_usec 90300\n", "sys/fs/cgroup/a/b/cpu.stat");
    assert_int_equal(read_of(&test, RPS_SYSTEM_GROUP)->value[RPS_GROUP_THROTTLED], 300);
    test.reader.close(test.reader.self);
}

static int64_t throttled_us(const struct rps_target *target)
{
    const struct rps_system_reading *reading;
    struct test test;
    int64_t us;

    write_file("throttled_usec 1\n", "sys/fs/cgroup/a/cpu.stat");
    write_file("throttled_usec 1\n", "sys/fs/cgroup/a/b/cpu.stat");
    write_file("throttled_usec 1\n", "sys/fs/cgroup/a/b/c/cpu.stat");
    assert_true(open_target(&test, target));
    write_file("throttled_usec 101\n", "sys/fs/cgroup/a/cpu.stat");
    write_file("throttled_usec 201\n", "sys/fs/cgroup/a/b/cpu.stat");
    write_file("throttled_usec 401\n", "sys/fs/cgroup/a/b/c/cpu.stat");
    reading = read_of(&test, RPS_SYSTEM_GROUP);
    assert_int_equal(reading->value[RPS_GROUP_MEMORY], 4); /* memory of the group itself */
    us = reading->value[RPS_GROUP_THROTTLED];
    test.reader.close(test.reader.self);
    return us;
}

/* The tightest limit of all groups above counts, in CPUs, not in microseconds. The same limit
 * applies to recorded groups. */
static void test_limit_above(void **state)
{
    const struct rps_target target = {.kind = RPS_TARGET_LAUNCH, .pid = &seven, .pid_count = 1};
    struct rps_target group = {.kind = RPS_TARGET_CGROUP, .cgroup_count = 1};

    (void)state;
    write_thread(7, 7, "1000000 5000 10\n", "futex_wait", "7 (a) S 1 7");
    write_file("", "sys/fs/cgroup/cgroup.procs");
    write_file("0::/a/b/c\n", "proc/7/cgroup");
    write_file("7\n", "sys/fs/cgroup/a/b/c/cgroup.procs");
    write_file("4096\n", "sys/fs/cgroup/a/b/c/memory.current");
    group.cgroup_fd[0] = open_group("sys/fs/cgroup/a/b/c");
    assert_int_equal(throttled_us(&group), 400); /* without a limit, the group's own time */
    write_file("max 100000\n", "sys/fs/cgroup/a/b/c/cpu.max");
    write_file("50000 100000\n", "sys/fs/cgroup/a/cpu.max");
    assert_int_equal(throttled_us(&target), 100);
    assert_int_equal(throttled_us(&group), 100);
    write_file("10000 10000\n", "sys/fs/cgroup/a/b/cpu.max"); /* this limit is higher */
    assert_int_equal(throttled_us(&target), 100);
    write_file("4000 10000\n", "sys/fs/cgroup/a/b/cpu.max");
    assert_int_equal(throttled_us(&target), 200);
    assert_int_equal(throttled_us(&group), 200);
    close(group.cgroup_fd[0]);
}

/* Version 1: each controller's hierarchy has a directory of the group. */
static void test_old_limit(void **state)
{
    const struct rps_target target = {.kind = RPS_TARGET_LAUNCH, .pid = &seven, .pid_count = 1};
    const struct rps_system_reading *reading;
    struct test test;

    (void)state;
    write_thread(7, 7, "1000000 5000 10\n", "futex_wait", "7 (a) S 1 7");
    write_file("5:memory:/m\n4:cpuset,cpu,cpuacct:/c/d\n3:blkio:/\n0::/\n", "proc/7/cgroup");
    write_file("", "sys/dev/block/8:0/device");
    write_file("nr_throttled 1\nthrottled_time 1999\n", "sys/fs/cgroup/cpu/c/d/cpu.stat");
    write_file("4096\n", "sys/fs/cgroup/memory/m/memory.usage_in_bytes");
    write_file("-1\n", "sys/fs/cgroup/cpu/c/d/cpu.cfs_quota_us");
    assert_false(is_group_read(7));
    write_file("20000\n", "sys/fs/cgroup/cpu/c/cpu.cfs_quota_us");
    write_file("10000\n", "sys/fs/cgroup/cpu/c/cpu.cfs_period_us");
    assert_true(is_group_read(7)); /* limit of the group above: two CPUs */
    write_file("50000\n", "sys/fs/cgroup/cpu/c/d/cpu.cfs_quota_us");
    write_file("100000\n", "sys/fs/cgroup/cpu/c/d/cpu.cfs_period_us");
    assert_true(open_target(&test, &target));
    write_file("nr_throttled 1\nthrottled_time 4000\n", "sys/fs/cgroup/cpu/c/d/cpu.stat");
    write_file("8:0 Read 2048\n8:0 Write 1024\n8:0 Sync 9999\nTotal 99999\n",
               "sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes_recursive");
    reading = read_of(&test, RPS_SYSTEM_GROUP);
    assert_int_equal(reading->value[RPS_GROUP_THROTTLED], 3);
    assert_int_equal(reading->value[RPS_GROUP_MEMORY], 4);
    assert_int_equal(reading->value[RPS_GROUP_READ], 2);
    assert_int_equal(reading->value[RPS_GROUP_WRITTEN], 1);
    for (int i = 0; i < 9; i++)
        read_period(&test, test.period + 1, 0);
    /* system metrics are read once per second */
    assert_int_equal(test.reading[test.count - 1].source, RPS_SYSTEM_TREE);
    read_period(&test, test.period + 1, 0);
    assert_int_equal(test.reading[test.count - 1].source, RPS_SYSTEM_GROUP);
    assert_int_equal(test.reading[test.count - 1].length_us, 1000000);
    test.reader.close(test.reader.self);
}

/* --- packages --------------------------------------------------------------------------------- */

/* Write a PMU of packages that uses the kernel's event `number`. Event 0 is the time of a CPU, and
 * event 9 never counts. */
static void write_package(const char *pmu, const char *event, int number, const char *scale,
                          const char *unit)
{
    write_file("1\n", "sys/bus/event_source/devices/%s/type", pmu);
    write_file("0\n", "sys/bus/event_source/devices/%s/cpumask", pmu);
    write_file("config:0-63\n", "sys/bus/event_source/devices/%s/format/event", pmu);
    write_file(number == 0 ? "event=0\n" : "event=9\n", "sys/bus/event_source/devices/%s/events/%s",
               pmu, event);
    write_file(scale, "sys/bus/event_source/devices/%s/events/%s.scale", pmu, event);
    write_file(unit, "sys/bus/event_source/devices/%s/events/%s.unit", pmu, event);
}

/* Open the package events on CPU 0. Returns 1 if opened, 0 if there are none. */
static int open_packages(struct test *test, struct rps_system_state *ret, int machine)
{
    static const int cpu = 0;
    const struct rps_system_options options = {
        .machine = machine, .package = 1, .period_ns = PERIOD_NS, .budget = 1000};
    const struct rps_target target = {.kind = RPS_TARGET_CPUS, .cpu = &cpu, .cpu_count = 1};
    struct rps_error err = {""};

    memset(test, 0, sizeof(*test));
    if (rps_system_open(root, &options, &target, &test->reader, &err) < 0) {
        assert_string_equal(err.message,
                            "no PMU of this machine counts whole packages; see `rpistat events`");
        return 0;
    }
    test->time_ns = rps_clock_monotonic_ns();
    test->reader.resume(test->reader.self, test->time_ns);
    test->reader.state(test->reader.self, RPS_SYSTEM_PACKAGE, ret);
    if (strncmp(ret->reason[RPS_PACKAGE_ENERGY], "not permitted", 13) == 0) {
        test->reader.close(test->reader.self);
        print_message("not permitted to count what packages take\n");
        skip();
    }
    return 1;
}

/* A sum needs all of its parts. An event without counts is 0, and a missing event has no value. */
static void test_packages(void **state)
{
    struct rps_system_state can;
    const struct rps_system_reading *reading;
    struct test test;

    (void)state;
    write_package("power", "energy-pkg", 0, "1e-9\n", "Joules\n");
    write_package("power", "energy-ram", 9, "2.3283064365386962890625e-10\n", "Joules\n");
    write_package("uncore_imc_0", "cas_count_read", 0, "6.103515625e-5\n", "MiB\n");
    write_package("uncore_imc_0", "cas_count_write", 0, "6.103515625e-5\n", "MiB\n");
    write_package("uncore_imc_1", "cas_count_read", 9, "6.103515625e-5\n", "MiB\n");
    write_package("uncore_imc_1", "cas_count_write", 9, "1\n", "KiB\n");
    assert_int_equal(open_packages(&test, &can, 0), 1);
    assert_int_equal(can.supported, 1 << RPS_PACKAGE_ENERGY | 1 << RPS_PACKAGE_ENERGY_RAM |
                                        1 << RPS_PACKAGE_READ | 1 << RPS_PACKAGE_COUNTERS);
    assert_string_equal(can.reason[RPS_PACKAGE_WRITTEN],
                        "uncore_imc_1/cas_count_write/ does not have the unit MiB");
    assert_string_equal(can.reason[RPS_PACKAGE_FREQUENCY], "no PMU here counts it");
    assert_string_equal(can.reason[RPS_PACKAGE_ENERGY], "");
    for (int i = 0; i < 3; i++) {
        reading = read_next(&test);
        assert_int_equal(reading->source, RPS_SYSTEM_PACKAGE);
        assert_int_equal(reading->valid, can.supported);
        assert_true(reading->length_us >= 0);
        assert_true(reading->value[RPS_PACKAGE_ENERGY] >= 0);
        assert_int_equal(reading->value[RPS_PACKAGE_ENERGY_RAM], 0);
        assert_int_equal(reading->value[RPS_PACKAGE_COUNTERS], 4);
        while (sum_of(&test, RPS_PACKAGE_READ) == 0) /* 64 bytes per ns occur sooner or later */
            read_next(&test);
    }
    test.reader.close(test.reader.self);
}

/* Missing package events are left out, and the machine's metrics continue. */
static void test_no_packages(void **state)
{
    struct rps_system_state can;
    struct test test;

    (void)state;
    write_machine(1, 0, "sda");
    assert_int_equal(open_packages(&test, &can, 0), 0);
    assert_int_equal(open_packages(&test, &can, 1), 1);
    assert_int_equal(can.supported, 0);
    assert_string_equal(can.reason[RPS_PACKAGE_ENERGY], "no PMU here counts it");
    read_period(&test, 1, 1);
    assert_int_equal(test.reader.state(test.reader.self, RPS_SYSTEM_PACKAGE, &can), 1);
    for (int i = 0; i < test.count; i++)
        assert_int_not_equal(test.reading[i].source, RPS_SYSTEM_PACKAGE);
    test.reader.close(test.reader.self);
}

static void test_frequency(void **state)
{
    static const double half[] = {1e9, 1.5e9, 4e9}, none[] = {0, 0, 2e9};

    (void)state;
    assert_int_equal(rps_system_mhz(half, 2e9), 3000); /* the clock runs at 1.5 times the nominal
                                                          2 GHz */
    assert_int_equal(rps_system_mhz(none, 1e9), -1);   /* the cycle counters never ran */
    assert_int_equal(rps_system_mhz(half, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_pause_and_end),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_futex_waits),
        cmocka_unit_test_setup_teardown(test_fds, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_idle, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_lock_waits, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_idle_ends, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_joins, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_timeouts, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_timeout_after_work, make_root, remove_root),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_bytes_of_a_child),
        cmocka_unit_test(test_bytes_of_descendants),
        cmocka_unit_test(test_unseen),
        cmocka_unit_test(test_number_again),
        cmocka_unit_test(test_pace),
        cmocka_unit_test_setup_teardown(test_hidden, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_lacking, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_exec, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_unfinished_wait, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_sleep_counted_as_wait, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_setuid_child, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_hidepid, make_root, remove_root),
        cmocka_unit_test(test_other_user),
        cmocka_unit_test_setup_teardown(test_descriptors, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_own_thread, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_too_many, make_root, remove_root),
        cmocka_unit_test(test_many_children),
        cmocka_unit_test(test_long_file),
        cmocka_unit_test_setup_teardown(test_machine, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_delay, make_root, remove_root),
        cmocka_unit_test(test_real_machine),
        cmocka_unit_test_setup_teardown(test_packages, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_no_packages, make_root, remove_root),
        cmocka_unit_test(test_frequency),
        cmocka_unit_test_setup_teardown(test_group, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_limit, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_late_limit, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_limit_above, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_old_limit, make_root, remove_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
