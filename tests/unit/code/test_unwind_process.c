/* Tests of the process that reads call frame information: its limits, and how the tracker handles
 * its end. The process acts by the file's path. Functions of this test replace the library's
 * reading of files and its unwind steps. */
#include "code/unwind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "code/child.h"
#include "code/record_tracker_parts.h"
#include "seen.h"

#define PID   100
#define START 0x10000 /* start of each file's mapping, and length of the mapping */

/* Memory shared with the process. */
static struct shared {
    sem_t go_on;          /* the file "late" waits for this semaphore */
    rlim_t core, data;    /* limits of the process */
    int64_t timer_ns;     /* time until the process's timer expires */
    int ignores_requests; /* 1 if the process ignores INT, TERM, HUP and QUIT */
    int questions;
    pid_t pid;
} * shared;

struct rps_cfi {
    char path[64];
};

static void eat(void)
{
    for (;;) {
        char *memory = malloc((size_t)1 << 20);

        if (!memory)
            abort();
        memset(memory, 1, (size_t)1 << 20);
    }
}

static void look_around(void)
{
    struct itimerval timer;
    struct rlimit limit;

    getrlimit(RLIMIT_CORE, &limit);
    shared->core = limit.rlim_max;
    getrlimit(RLIMIT_DATA, &limit);
    shared->data = limit.rlim_max;
    getitimer(ITIMER_PROF, &timer);
    shared->timer_ns = timer.it_value.tv_sec * INT64_C(1000000000) + timer.it_value.tv_usec * 1000;
    shared->ignores_requests = 1;
    for (int i = 0; i < 4; i++) {
        struct sigaction action;

        sigaction((const int[]){SIGINT, SIGTERM, SIGHUP, SIGQUIT}[i], NULL, &action);
        shared->ignores_requests &= action.sa_handler == SIG_IGN;
    }
}

struct rps_cfi *rps_cfi_open(enum rps_module_kind kind, int fd)
{
    struct rps_cfi *cfi = calloc(1, sizeof(*cfi));
    const char *path = cfi->path;

    (void)kind;
    if (!cfi || pread(fd, cfi->path, sizeof(cfi->path) - 1, 0) < 0)
        _exit(1);
    shared->pid = getpid();
    if (strcmp(path, "/look") == 0)
        look_around();
    if (strcmp(path, "/die") == 0)
        raise(SIGSEGV);
    if (strcmp(path, "/eat") == 0)
        eat();
    while (strcmp(path, "/late") == 0 && sem_wait(&shared->go_on) < 0)
        ;
    while (strcmp(path, "/timer") == 0)
        raise(SIGPROF); /* raised like the timer's signal, because five seconds are too long for
                           a test */
    return cfi;
}

void rps_cfi_close(struct rps_cfi *cfi)
{
    free(cfi);
}

/* Return a separate row for each place. */
size_t rps_cfi_find(struct rps_cfi *cfi, uint64_t offset, struct rps_unwind_row *ret)
{
    memset(ret, 0, sizeof(*ret));
    shared->questions++;
    if (cfi && strcmp(cfi->path, "/die in steps") == 0)
        abort();
    if (cfi && strcmp(cfi->path, "/nonsense") == 0)
        offset++;
    ret->start = offset;
    ret->end = offset + 1;
    ret->is_known = cfi != NULL;
    return RPS_UNWIND_ROW_BYTES(0);
}

int rps_unwind_row_is_sound(const struct rps_unwind_row *row, size_t bytes, uint64_t offset)
{
    return bytes == RPS_UNWIND_ROW_BYTES(0) && row->start == offset;
}

/* Begin to unwind. The stack is a list of addresses. */
int rps_unwind_start(struct rps_unwind *ret, const struct rps_sample_registers *registers)
{
    *ret = (struct rps_unwind){.pc = registers->value[0], .is_exact = 1};
    ret->stack = registers->stack;
    ret->stack_bytes = registers->stack_bytes;
    return 0;
}

/* Go to the next address on the stack. Address 0 means that unwinding failed, and 1 that the stack
 * is complete. */
enum rps_unwind_step rps_unwind_step(struct rps_unwind *unwind, const struct rps_unwind_row *row)
{
    if (!row->is_known || unwind->stack_bytes < 8)
        return RPS_UNWIND_LOST;
    memcpy(&unwind->pc, unwind->stack, 8);
    unwind->stack += 8;
    unwind->stack_bytes -= 8;
    unwind->is_exact = 0;
    return unwind->pc == 0 ? RPS_UNWIND_LOST : unwind->pc == 1 ? RPS_UNWIND_END : RPS_UNWIND_CALLER;
}

struct rps_unwind_chain rps_unwind_chain(const struct rps_unwind *unwind)
{
    (void)unwind;
    return (struct rps_unwind_chain){.next = 1};
}

size_t rps_unwind_find_in_chain(struct rps_unwind_chain *chain, const struct rps_unwind *unwind)
{
    (void)chain;
    (void)unwind;
    return 0;
}

int rps_unwind_makes_frame(const struct rps_unwind_row *row)
{
    return row->is_known;
}

/* --- the tracker ------------------------------------------------------------------------------ */

static struct seen seen;
static struct rps_tracker *tracker;
static int has_chain; /* 1 if samples have a kernel call stack */

static void map_file(int number, const char *path)
{
    struct rps_sample map = {.kind = RPS_SAMPLE_MAP,
                             .pid = PID,
                             .tid = PID,
                             .map_address = (uint64_t)number * START,
                             .map_length = START,
                             .path = path};

    rps_tracker_add(tracker, &map);
}

/* Add a sample with frames in the numbered maps, innermost first, all at `place` of the map. The
 * stack is complete. The kernel's call stack has the same frames. */
static void add_sample_at(size_t count, const int *map, uint64_t place)
{
    struct rps_sample sample = {.kind = RPS_SAMPLE_STACK, .pid = PID, .tid = PID, .time_ns = 7};
    uint64_t pc = (uint64_t)map[0] * START + place, stack[16] = {0}, chain[16] = {pc};

    for (size_t i = 1; i < count; i++)
        chain[i] = stack[i - 1] = (uint64_t)map[i] * START + place + 1;
    stack[count - 1] = 1;
    sample.registers = (struct rps_sample_registers){&pc, 1, stack, count * 8};
    sample.address = chain;
    sample.address_count = has_chain ? count : 1;
    rps_tracker_add(tracker, &sample);
}

/* Add a sample at a new place. */
static void add_sample(size_t count, const int *map)
{
    static uint64_t place;

    place = (place + 1) % START;
    add_sample_at(count, map, place);
}

static size_t depth(void)
{
    size_t depth = 0;

    while (seen_frame(&seen, (int)depth))
        depth++;
    return depth;
}

static uint64_t complete(void)
{
    struct rps_sampling status = {.lost = 0};

    rps_tracker_status(tracker, &status);
    assert_int_equal(status.lost, 0);
    return status.complete;
}

static int open_tracker(void **state)
{
    (void)state;
    has_chain = 0;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || sem_init(&shared->go_on, 1, 0) < 0)
        return -1;
    tracker = seen_tracker(&seen, 0);
    if (!tracker)
        return -1;
    map_file(1, "/sound");
    map_file(2, "/other");
    return 0;
}

static int close_tracker(void **state)
{
    (void)state;
    rps_tracker_free(tracker);
    munmap(shared, sizeof(*shared));
    /* no child process is left */
    return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : -1;
}

/* The call stack passes from file to file and back within one process. */
static void test_files(void **state)
{
    static const char *const path[] = {"/sound", "/sound", "/other", "/other", "/sound", "/other"};
    pid_t pid;

    (void)state;
    add_sample(6, (const int[]){1, 1, 2, 2, 1, 2});
    assert_int_equal(depth(), 6);
    for (int i = 0; i < 6; i++)
        assert_string_equal(seen_module(&seen, i)->path, path[i]);
    assert_int_equal(complete(), 1);
    pid = shared->pid;
    assert_true(pid > 0 && pid != getpid());
    add_sample(2, (const int[]){2, 1});
    assert_int_equal(depth(), 2);
    assert_int_equal(complete(), 2);
    assert_int_equal(shared->pid, pid);
    add_sample(3, (const int[]){1, 9, 1}); /* the second address is not mapped */
    assert_int_equal(depth(), 1);
    assert_int_equal(complete(), 2);
    assert_true(rps_tracker_end(tracker) >= 0);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(seen.incomplete_count, 0);
}

/* Rows are kept: other stacks through the same places need no request. */
static void test_rows(void **state)
{
    int asked;

    (void)state;
    add_sample_at(3, (const int[]){1, 2, 1}, 100);
    asked = shared->questions;
    assert_int_equal(asked, 2); /* the calls in both files are at the place of the innermost
                                   frame */
    add_sample_at(3, (const int[]){2, 2, 1}, 100);
    assert_int_equal(depth(), 3);
    assert_int_equal(shared->questions, asked);
    add_sample_at(3, (const int[]){2, 1, 1}, 101);
    assert_int_equal(depth(), 3);
    assert_int_equal(shared->questions, asked + 2);
    for (size_t i = 0; i <= RPS_UNWINDER_ROWS_MAX; i++) {
        add_sample_at(1, (const int[]){1}, 200 + i);
        assert_in_range(tracker->unwinder.row_count, 1, RPS_UNWINDER_ROWS_MAX);
    }
    assert_int_equal(complete(), 3 + RPS_UNWINDER_ROWS_MAX + 1);
}

static void test_limits(void **state)
{
    (void)state;
    map_file(3, "/look");
    add_sample(1, (const int[]){3});
    assert_int_equal(complete(), 1);
    assert_int_equal(shared->core, 0);
    assert_true(shared->data >= RPS_CHILD_MEMORY_BYTES && shared->data != RLIM_INFINITY);
    assert_in_range(shared->timer_ns, 1, (RPS_CHILD_CPU_S + 1) * INT64_C(1000000000));
    assert_true(shared->ignores_requests);
}

/* Check that a file that ends the process is reported once and not read again. The file's frame
 * remains, and so do frames of other files before and after. */
static void expect_death(const char *path)
{
    map_file(3, path);
    add_sample(3, (const int[]){1, 3, 1});
    assert_int_equal(depth(), 2);
    assert_string_equal(seen_module(&seen, 1)->path, path);
    assert_int_equal(complete(), 0);
    assert_int_equal(seen.incomplete_count, 1);
    assert_string_equal(seen.incomplete, path);

    add_sample(2, (const int[]){1, 2});
    assert_int_equal(depth(), 2);
    assert_int_equal(complete(), 1);
    add_sample(2, (const int[]){3, 1});
    assert_int_equal(depth(), 1);
    assert_int_equal(complete(), 1);
    assert_int_equal(seen.incomplete_count, 1);
}

static void test_death(void **state)
{
    (void)state;
    expect_death("/die");
}

static void test_death_in_steps(void **state)
{
    (void)state;
    expect_death("/die in steps");
}

/* An answer that is no row of the requested place is rejected. */
static void test_nonsense(void **state)
{
    (void)state;
    expect_death("/nonsense");
}

static void test_death_by_timer(void **state)
{
    (void)state;
    expect_death("/timer");
}

static void test_memory(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("a sanitizer reserves more memory than the limits allow\n");
    skip();
#endif
    expect_death("/eat");
}

/* If another program ends the process, no file is reported. */
static void test_killed(void **state)
{
    pid_t pid;

    (void)state;
    add_sample(2, (const int[]){1, 2});
    pid = shared->pid;
    kill(pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    add_sample(2, (const int[]){1, 2}); /* the first request fails, the second starts a new
                                           process */
    assert_int_equal(depth(), 2);
    add_sample(2, (const int[]){1, 2});
    assert_int_equal(depth(), 2);
    assert_int_equal(complete(), 3);
    assert_int_not_equal(shared->pid, pid);
    assert_int_equal(seen.incomplete_count, 0);
}

/* The total time of waiting for answers is limited, even if each answer comes in time. Requests
 * continue without waiting: an answer is used for later stacks. */
static void test_time(void **state)
{
    const int64_t long_ns = INT64_C(1) << 60;
    uint64_t whole;

    (void)state;
    add_sample(2, (const int[]){1, 2});
    assert_int_equal(depth(), 2);
    tracker->unwinder.waited_ns = long_ns;
    add_sample_at(2, (const int[]){1, 2}, 5000);
    whole = complete();
    do {
        sched_yield();
        add_sample_at(2, (const int[]){1, 2}, 5000);
    } while (complete() == whole);
    assert_int_equal(depth(), 2);
    assert_in_range(tracker->unwinder.waited_ns, long_ns / 2, long_ns);
    tracker->unwinder.waited_ns = 0;
    add_sample(2, (const int[]){1, 2});
    assert_int_equal(depth(), 2);
    assert_in_range(tracker->unwinder.waited_ns, 1, INT64_C(60000000000));
    tracker->unwinder.waited_ns = INT64_C(60000000000) + 1000;
    tracker->unwinder.asked_ns -= 20000; /* less than a tenth of the time was spent waiting */
    add_sample(2, (const int[]){1, 2});
    assert_int_equal(depth(), 2);
}

/* Add a process that is busy with a slow file. */
static void be_late(void)
{
    const struct timeval soon = {.tv_usec = 1}, long_after = {.tv_sec = 60};

    add_sample(2, (const int[]){1, 2});
    map_file(3, "/late");
    setsockopt(tracker->unwinder.fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
    add_sample(2, (const int[]){3, 1});
    setsockopt(tracker->unwinder.fd, SOL_SOCKET, SO_RCVTIMEO, &long_after, sizeof(long_after));
    assert_int_equal(depth(), 1);
}

/* The tracker does not wait for a busy process. Until the process answers, stacks have only their
 * innermost frames. */
static void test_late(void **state)
{
    pid_t pid;

    (void)state;
    add_sample_at(2, (const int[]){1, 2}, 5000);
    be_late();
    pid = shared->pid;
    for (int i = 0; i < 20; i++) {
        add_sample(2, (const int[]){1, 2});
        assert_int_equal(depth(), 1);
    }
    assert_int_equal(complete(), 2);
    add_sample_at(2, (const int[]){1, 2}, 5000); /* the rows of these places are known */
    assert_int_equal(depth(), 2);
    assert_int_equal(complete(), 3);
    has_chain = 1;
    add_sample(2, (const int[]){1, 2}); /* the kernel's call stack may lack callers */
    assert_int_equal(depth(), 2);
    assert_int_equal(complete(), 3);
    has_chain = 0;
    sem_post(&shared->go_on);
    do {
        sched_yield();
        add_sample(2, (const int[]){1, 2});
    } while (depth() == 1);
    add_sample(2, (const int[]){3, 1});
    assert_int_equal(depth(), 2);
    assert_int_equal(shared->pid, pid);
    assert_int_equal(seen.incomplete_count, 0);
}

/* A busy process that ends is handled like any other process. */
static void test_late_death(void **state)
{
    (void)state;
    be_late();
    kill(shared->pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)shared->pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    add_sample(2, (const int[]){1, 2});
    assert_int_equal(depth(), 1);
    assert_string_equal(seen.incomplete, "/late");
    add_sample(2, (const int[]){1, 2});
    assert_int_equal(depth(), 2);
    assert_int_equal(seen.incomplete_count, 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_tracker, close_tracker)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_files),  CASE(test_rows),   CASE(test_nonsense),       CASE(test_time),
        CASE(test_limits), CASE(test_death),  CASE(test_death_in_steps), CASE(test_death_by_timer),
        CASE(test_memory), CASE(test_killed), CASE(test_late),           CASE(test_late_death),
    };

    return cmocka_run_group_tests_name("unwinder", tests, NULL, NULL);
}
