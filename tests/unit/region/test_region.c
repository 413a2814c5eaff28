/* Tests of regions through the interface that programs use. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "rpistat/micro.h"
#include "rpistat/region.h"
#include "region/state.h"

#define PAGES   500
#define THREADS 4

static int forget(void **state)
{
    (void)state;
    rps_region_close();
    return 0;
}

/* Software events, which can be counted on nearly every machine. */
static void open_software(void)
{
    if (rps_region_open("software") < 0) {
        print_message("nothing can be counted here: %s\n", rps_region_problem());
        skip();
    }
}

static void touch_pages(int pages)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *memory = mmap(NULL, (size_t)pages * size, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(memory, MAP_FAILED);
    madvise((void *)(uintptr_t)memory, (size_t)pages * size, MADV_NOHUGEPAGE);
    for (int i = 0; i < pages; i++)
        memory[(size_t)i * size] = 1;
    munmap((void *)(uintptr_t)memory, (size_t)pages * size);
}

/* Expect a number of page faults. The thread sanitizer touches extra pages of its own for each
 * page. */
static void assert_about(double value, double expected, double more)
{
#ifdef __SANITIZE_THREAD__
    more += 4 * expected;
#endif
    if (!(value >= expected && value <= expected + more))
        fail_msg("%g is not from %g to %g", value, expected, expected + more);
}

/* Two successive regions inside a third region count separately. */
static void test_nested(void **state)
{
    struct rps_region_times times;

    (void)state;
    open_software();
    rps_region_begin("outer");
    touch_pages(PAGES);
    for (int i = 0; i < 3; i++) {
        rps_region_begin("inner");
        touch_pages(PAGES);
        rps_region_end("inner");
    }
    rps_region_end("outer");
    assert_int_equal(rps_region_count(), 2);
    assert_string_equal(rps_region_name(0), "outer");
    assert_string_equal(rps_region_name(1), "inner");
    assert_null(rps_region_name(2));
    assert_null(rps_region_name(-1));
    assert_about(rps_region_value("outer", "minor_faults"), 4 * PAGES, PAGES / 5.0);
    assert_about(rps_region_value("inner", "minor_faults"), 3 * PAGES, PAGES / 5.0);
    assert_int_equal(rps_region_get("inner", &times), 0);
    assert_int_equal(times.entered, 3);
    assert_true(times.elapsed_ns > 0);
    assert_true(times.enabled_ns > 0 && times.running_ns <= times.enabled_ns);
    assert_float_equal(rps_region_value("inner", "seconds"), (double)times.elapsed_ns / 1e9, 1e-9);
    assert_true(rps_region_value("inner", "clock") > 0);
}

/* A value is found by the name of its event, by role, and by the name of a metric. */
static void test_names(void **state)
{
    double faults, seconds;

    (void)state;
    open_software();
    rps_region_begin("r");
    touch_pages(PAGES);
    assert_true(isnan(rps_region_value("r", "seconds"))); /* A region that is still open has no
                                                             values. */
    assert_true(isnan(rps_region_value("r", "minor_faults")));
    rps_region_end("r");
    faults = rps_region_value("r", "minor_faults");
    seconds = rps_region_value("r", "seconds");
    assert_float_equal(rps_region_value("r", "minor-faults"), faults, 0);
    assert_true(isnan(rps_region_value("r", "no_such_event")));
    assert_true(isnan(rps_region_value("no such region", "minor_faults")));
    assert_float_equal(rps_region_value("r", "minor_fault_rate"), faults / seconds,
                       1e-6 * faults / seconds);
}

/* If a region begins again before it ends, only the outermost entry counts, once. */
static void test_recursive(void **state)
{
    struct rps_region_times times;

    (void)state;
    open_software();
    rps_region_end("r");
    rps_region_begin("r");
    rps_region_begin("r");
    touch_pages(PAGES);
    rps_region_end("r");
    touch_pages(PAGES);
    rps_region_end("r");
    rps_region_end("r");
    assert_int_equal(rps_region_get("r", &times), 0);
    assert_int_equal(times.entered, 1);
    assert_about(rps_region_value("r", "minor_faults"), 2 * PAGES, PAGES / 5.0);
}

static struct rps_region_times times_of(const char *name)
{
    struct rps_region_times times = {0};

    assert_int_equal(rps_region_get(name, &times), 0);
    return times;
}

/* Return the report of all regions. The caller frees the text. */
static char *report_text(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    rps_region_report(out);
    fclose(out);
    return text;
}

static void assert_reported(const char *expected)
{
    char *text = report_text();

    if (!strstr(text, expected))
        fail_msg("'%s' is not in:\n%s", expected, text);
    free(text);
}

/* Marks functions that the compiler must not inline, so that each has its own stack depth. */
#define APART __attribute__((noinline))

static jmp_buf back;

APART static void enter_or_leave(const char *name, int leave)
{
    rps_region_begin(name);
    touch_pages(PAGES);
    if (leave)
        longjmp(back, 1);
    rps_region_end(name);
}

APART static void enter_deeper(const char *name, int leave)
{
    volatile char room[1000];

    room[0] = (char)leave;
    enter_or_leave(name, room[0]);
    room[1] = room[0];
}

APART static void return_without_end(const char *name)
{
    rps_region_begin(name);
    touch_pages(PAGES);
}

/* A region is left by longjmp repeatedly and entered again at the same stack depth. All complete
 * entries of the region count. */
static void test_jump(void **state)
{
    (void)state;
    open_software();
    for (volatile int i = 0; i < 6; i++)
        if (setjmp(back) == 0)
            enter_or_leave("r", i % 3 == 0);
    assert_int_equal(times_of("r").entered, 4);
    assert_int_equal(times_of("r").left, 2);
    assert_int_equal(times_of("r").open, 0);
    assert_about(rps_region_value("r", "minor_faults"), 4 * PAGES, PAGES / 5.0);
    assert_reported("  Entered:                                 4\n"
                    "  2 entries were left without their end\n");
}

/* A region is left by longjmp deep in the stack and entered again less deep. */
static void test_jump_up(void **state)
{
    (void)state;
    open_software();
    if (setjmp(back) == 0)
        enter_deeper("r", 1);
    enter_or_leave("r", 0);
    assert_int_equal(times_of("r").entered, 1);
    assert_int_equal(times_of("r").left, 1);
    assert_about(rps_region_value("r", "minor_faults"), PAGES, PAGES / 5.0);
    assert_reported("  1 entry was left without its end\n");
}

/* A region is left by longjmp and entered again deeper in the stack, as if nested. Both entries
 * count. */
static void test_jump_down(void **state)
{
    (void)state;
    open_software();
    if (setjmp(back) == 0)
        enter_or_leave("r", 1);
    for (int i = 0; i < 3; i++)
        enter_deeper("r", 0);
    assert_int_equal(times_of("r").entered, 3);
    assert_int_equal(times_of("r").left + times_of("r").open, 1);
    assert_about(rps_region_value("r", "minor_faults"), 3 * PAGES, PAGES / 5.0);
    assert_reported("  Entered:                                 3\n"
                    "  1 entry has not ended\n");
    for (volatile int i = 0; i < 2; i++)
        if (setjmp(back) == 0)
            enter_deeper("r", i == 0); /* The second begin gives up an inner entry. */
    assert_int_equal(times_of("r").entered, 4);
    assert_int_equal(times_of("r").left, 1);
    enter_or_leave("r", 0);
    assert_int_equal(times_of("r").entered, 5);
    assert_int_equal(times_of("r").left, 2);
    assert_int_equal(times_of("r").open, 0);
    assert_about(rps_region_value("r", "minor_faults"), 5 * PAGES, PAGES / 5.0);
}

/* Leave a region by return, and at last by the end of the thread. */
static void *leave_thrice(void *context)
{
    (void)context;
    for (int i = 0; i < 3; i++)
        return_without_end("r");
    return NULL;
}

static void test_return(void **state)
{
    pthread_t thread;

    (void)state;
    open_software();
    assert_int_equal(pthread_create(&thread, NULL, leave_thrice, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(times_of("r").entered, 0);
    assert_int_equal(times_of("r").left, 3);
    assert_int_equal(times_of("r").open, 0);
    assert_reported("  3 entries were left without their end\n");
}

/* The report marks a region that is still open, and shows its earlier entries. */
static void test_open(void **state)
{
    char *text;

    (void)state;
    open_software();
    rps_region_begin("r");
    assert_int_equal(times_of("r").open, 1);
    text = report_text();
    assert_non_null(strstr(text, "\nRegion r\n  Entered:                         not ended\n"));
    assert_null(strstr(text, "   0\n"));
    free(text);
    rps_region_end("r");
    rps_region_begin("r");
    assert_reported("\nRegion r\n  Entered:                                 1\n"
                    "  1 entry has not ended\n");
    rps_region_end("r");
    assert_int_equal(times_of("r").entered, 2);
    assert_int_equal(times_of("r").open, 0);
}

APART static int descend(int depth)
{
    int result;

    rps_region_begin("r");
    touch_pages(PAGES);
    result = depth > 0 ? descend(depth - 1) + 1 : 0;
    rps_region_end("r");
    return result;
}

/* If a function with a region calls itself, only the outermost entry counts. */
static void test_recursive_function(void **state)
{
    (void)state;
    open_software();
    for (int i = 0; i < 2; i++)
        assert_int_equal(descend(4), 4);
    assert_int_equal(times_of("r").entered, 2);
    assert_int_equal(times_of("r").left, 0);
    assert_about(rps_region_value("r", "minor_faults"), 2 * 5 * PAGES, PAGES / 5.0);
    rps_region_begin("r"); /* The new entry of the region has no inner entry. */
    assert_int_equal(times_of("r").entered, 2);
    rps_region_end("r");
}

/* If measuring was not requested and the program is not recorded, nothing is opened or counted. The
 * report mentions the reason. */
static void test_nobody(void **state)
{
    struct rps_region_times times;
    int fd = dup(0), next;

    (void)state;
    rps_region_begin("before");
    rps_region_end("before");
    next = dup(0);
    close(next);
    close(fd);
    assert_int_equal(next, fd + 1);
    assert_int_equal(rps_region_quiet, 1);
    assert_int_equal(rps_region_count(), 0);
    assert_true(rps_region_get("before", &times) < 0);
    assert_true(isnan(rps_region_value(NULL, "seconds")));
    assert_string_equal(rps_region_way(), "not at all");
    assert_non_null(strstr(rps_region_problem(), "rps_region_open"));
    assert_reported("rps_region_open");
    rps_region_begin("across");
    open_software();
    rps_region_end("across");
    rps_region_begin("after");
    touch_pages(PAGES);
    rps_region_end("after");
    assert_int_equal(rps_region_count(), 1);
    assert_about(rps_region_value("after", "minor_faults"), PAGES, PAGES / 5.0);
}

static void *run_thread(void *context)
{
    rps_region_begin("r");
    touch_pages(PAGES);
    rps_region_end("r");
    if (context)
        pthread_barrier_wait(context);
    if (context)
        pthread_barrier_wait(context);
    return NULL;
}

/* Threads are counted separately. The counts of threads are added up while the threads run and
 * after their end. */
static void test_threads(void **state)
{
    pthread_t thread[THREADS];
    pthread_barrier_t barrier;
    struct rps_region_times times;

    (void)state;
    open_software();
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run_thread, &barrier), 0);
    pthread_barrier_wait(&barrier);
    for (int when = 0; when < 2; when++) {
        assert_int_equal(rps_region_get("r", &times), 0);
        assert_int_equal(times.entered, THREADS);
        assert_about(rps_region_value("r", "minor_faults"), THREADS * PAGES, THREADS * PAGES / 5.0);
        if (when == 0) {
            pthread_barrier_wait(&barrier);
            for (int i = 0; i < THREADS; i++)
                pthread_join(thread[i], NULL);
        }
    }
    pthread_barrier_destroy(&barrier);
}

/* A child starts from zero with its own counters. The counters of the parent continue. */
static void test_fork(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    open_software();
    rps_region_begin("r");
    touch_pages(PAGES);
    rps_region_end("r");
    pid = fork();
    if (pid == 0) {
        if (rps_region_count() != 0)
            _exit(1);
        rps_region_end("r");
        rps_region_begin("r");
        touch_pages(2 * PAGES);
        rps_region_end("r");
        _exit(rps_region_value("r", "minor_faults") >= 2 * PAGES ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    rps_region_begin("r");
    touch_pages(PAGES);
    rps_region_end("r");
    assert_about(rps_region_value("r", "minor_faults"), 2 * PAGES, PAGES / 5.0);
}

/* A program can end although a thread holds the lock and will never release it. */
static void test_end_while_locked(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        alarm(60); /* only a hang takes so long */
        rps_region_state_lock();
        exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* If nothing can be counted, times are still measured, and the reason is available. */
static void test_unknown_sets(void **state)
{
    struct rps_region_times times;
    struct rps_region_item item;

    (void)state;
    assert_true(rps_region_open("no-such-sets") < 0);
    assert_non_null(strstr(rps_region_problem(), "no-such-sets"));
    assert_string_equal(rps_region_way(), "not at all");
    rps_region_begin("r");
    rps_region_end("r");
    assert_int_equal(rps_region_get("r", &times), 0);
    assert_int_equal(times.entered, 1);
    assert_true(rps_region_value("r", "seconds") >= 0);
    assert_true(isnan(rps_region_value("r", "clock")));
    assert_true(isnan(rps_region_value("r", "instructions")));
    assert_true(rps_region_item(0, &item) < 0);
    assert_true(rps_region_open(NULL) < 0); /* The regions are already open. */
}

/* Misuse of the interface is harmless, and errno of the program does not change. */
static void test_harmless(void **state)
{
    char name[200];

    (void)state;
    errno = 4711;
    rps_region_open("no-such-sets");
    rps_region_end("r");
    rps_region_begin(NULL);
    rps_region_end(NULL);
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    rps_region_begin(name);
    name[100] = 'x'; /* The changed character is beyond the significant length. */
    rps_region_end(name);
    assert_int_equal(errno, 4711);
    assert_int_equal(rps_region_count(), 1);
    assert_int_equal(strlen(rps_region_name(0)), 79);
    rps_region_close();
    rps_region_close();
    rps_region_open("no-such-sets");
    rps_region_begin("again");
    rps_region_end("again");
    assert_int_equal(rps_region_count(), 1);
}

/* The report shows the values that the accessors return. */
static void test_report(void **state)
{
    char *text, line[64];
    struct rps_region_item item;
    int items = 0, metrics = 0;

    (void)state;
    open_software();
    for (int i = 0; i < 2; i++) {
        rps_region_begin("some\nregion");
        touch_pages(PAGES);
        rps_region_end("some\nregion");
    }
    text = report_text();
    assert_non_null(strstr(text, "\nRegion some\\nregion\n"));
    assert_non_null(strstr(text, "  Entered:                                 2\n"));
    snprintf(line, sizeof(line), "%18.0f", rps_region_value("some\nregion", "minor_faults"));
    assert_non_null(strstr(text, line));
    assert_non_null(strstr(text, rps_region_way()));
    for (; rps_region_item(items, &item) == 0; items++) {
        metrics += item.kind == RPS_REGION_METRIC;
        assert_int_equal(item.kind == RPS_REGION_CLOCK, items == 0);
        if (item.reason[0] == '\0' && item.kind != RPS_REGION_METRIC)
            assert_non_null(strstr(text, item.label));
    }
    assert_true(items - metrics >= 5 && metrics >= 3);
    free(text);
}

/* The hardware counters count a loop of known length. The cost of an entry is known. */
static void test_known_count(void **state)
{
    const struct rps_micro *micro = rps_micro_find("loop");
    struct rps_micro_prediction prediction[RPS_MICRO_PREDICTION_MAX];
    struct rps_micro_result nothing = {0};
    double counted, empty;

    (void)state;
    rps_region_open(NULL);
    empty = rps_region_value(NULL, "instructions");
    if (isnan(empty)) {
        print_message("instructions cannot be counted here\n");
        skip();
    }
    assert_true(rps_micro_predict(micro, 1000000, &nothing, prediction) > 0);
    if (strcmp(prediction[0].what, "instructions") != 0) {
        print_message("the loop of this processor has no known count of instructions\n");
        skip();
    }
    assert_about(empty, 1, 100000);
    for (int i = 0; i < 5; i++) { /* Interrupts are counted too, so the minimum is used. */
        char name[2] = {(char)('a' + i), '\0'};

        rps_region_begin(name);
        micro->run(NULL, 0, 1000000);
        rps_region_end(name);
        if (i == 0 || rps_region_value(name, "instructions") < counted)
            counted = rps_region_value(name, "instructions");
    }
    assert_about(counted, prediction[0].count, empty + 0.01 * prediction[0].count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_nested, forget),
        cmocka_unit_test_teardown(test_names, forget),
        cmocka_unit_test_teardown(test_recursive, forget),
        cmocka_unit_test_teardown(test_jump, forget),
        cmocka_unit_test_teardown(test_jump_up, forget),
        cmocka_unit_test_teardown(test_jump_down, forget),
        cmocka_unit_test_teardown(test_return, forget),
        cmocka_unit_test_teardown(test_open, forget),
        cmocka_unit_test_teardown(test_recursive_function, forget),
        cmocka_unit_test_teardown(test_nobody, forget),
        cmocka_unit_test_teardown(test_threads, forget),
        cmocka_unit_test_teardown(test_fork, forget),
        cmocka_unit_test_teardown(test_end_while_locked, forget),
        cmocka_unit_test_teardown(test_unknown_sets, forget),
        cmocka_unit_test_teardown(test_harmless, forget),
        cmocka_unit_test_teardown(test_report, forget),
        cmocka_unit_test_teardown(test_known_count, forget),
    };

    return cmocka_run_group_tests_name("region/region", tests, NULL, NULL);
}
