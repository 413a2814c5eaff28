/* Tests of joining a copied stack with the kernel's call stack of frame pointers. The path of a
 * file contains the unwind rules of its functions. A function of this test reads the rules in place
 * of the library. */
#include "code/unwind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "code/record_tracker_parts.h"
#include "seen.h"

#define PID   100
#define MAP   0x10000 /* bytes of each file's mapping */
#define STACK UINT64_C(0x7fff00000000)
#define WORDS 512 /* largest number of copied words */

struct rps_cfi {
    char path[64];
};

struct rps_cfi *rps_cfi_open(enum rps_module_kind kind, int fd)
{
    struct rps_cfi *cfi = calloc(1, sizeof(*cfi));

    (void)kind;
    if (!cfi || pread(fd, cfi->path, sizeof(cfi->path) - 1, 0) < 0)
        _exit(1);
    return cfi;
}

void rps_cfi_close(struct rps_cfi *cfi)
{
    free(cfi);
}

static struct rps_unwind_rule add_ops(struct rps_unwind_row *row, size_t count,
                                      const struct rps_unwind_op *op)
{
    struct rps_unwind_rule rule = {RPS_UNWIND_COMPUTED, row->op_count, (uint8_t)count};

    memcpy(row->op + row->op_count, op, count * sizeof(*op));
    row->op_count = (uint8_t)(row->op_count + count);
    return rule;
}

/* Add a rule: the register is saved `below` bytes below the caller's stack. */
static struct rps_unwind_rule saved(struct rps_unwind_row *row, int64_t below)
{
    const struct rps_unwind_op op[] = {{0, DW_OP_call_frame_cfa},
                                       {(uint64_t)-below, DW_OP_plus_uconst}};

    return add_ops(row, 2, op);
}

/* Read the rules from the path. Path "/frame..." means a function that has set up a frame. Path
 * "/no frame WORDS" means a function without a frame, with WORDS words below the return address.
 * Path "/begin" means that threads begin here. A path with "signal" was called by a signal. Other
 * paths have no rules. */
size_t rps_cfi_find(struct rps_cfi *cfi, uint64_t offset, struct rps_unwind_row *ret)
{
    const uint64_t words = strtoul(cfi->path + strlen("/no frame "), NULL, 10);
    const int frames = strncmp(cfi->path, "/frame", 6) == 0;
    const struct rps_unwind_op cfa = {
        frames ? 16 : 8 * words + 8,
        (uint8_t)(DW_OP_breg0 + (frames ? RPS_UNWIND_FRAME_POINTER : RPS_UNWIND_STACK_POINTER))};

    memset(ret, 0, sizeof(*ret));
    ret->start = offset - offset % 256;
    ret->end = ret->start + 256;
    ret->is_known = frames || strncmp(cfi->path, "/no", 3) == 0 || cfi->path[1] == 'b';
    ret->is_signal = strstr(cfi->path, "signal") != NULL;
    ret->cfa = add_ops(ret, 1, &cfa);
    ret->value[RPS_UNWIND_FRAME_POINTER].how = RPS_UNWIND_SAME;
    if (frames)
        ret->value[RPS_UNWIND_FRAME_POINTER] = saved(ret, 16);
    if (cfi->path[1] != 'b')
        ret->value[0] = saved(ret, 8);
    return RPS_UNWIND_ROW_BYTES(ret->op_count);
}

/* --- a thread --------------------------------------------------------------------------------- */

static struct seen seen;
static struct rps_tracker *tracker;
static uint64_t word[WORDS + 64]; /* stack words, from the stack pointer on */
static uint64_t chain[16];
static size_t chain_count;

static void map_file(int number, const char *path)
{
    struct rps_sample map = {.kind = RPS_SAMPLE_MAP,
                             .pid = PID,
                             .tid = PID,
                             .map_address = (uint64_t)number * MAP,
                             .map_length = MAP,
                             .path = path};

    rps_tracker_add(tracker, &map);
}

/* Files 1 to 4 have frames, and 5 and 6 have none. Threads begin in file 7. Code 8 has no known
 * file. File 9 is the C library: it has frames, and threads begin in it too. */
static int open_tracker(void **state)
{
    (void)state;
    tracker = seen_tracker(&seen, 0);
    if (!tracker)
        return -1;
    map_file(1, "/frame 1");
    map_file(2, "/frame 2");
    map_file(3, "/frame 3");
    map_file(4, "/frame 4");
    map_file(5, "/no frame 4");
    map_file(6, "/no frame 600");
    map_file(7, "/begin");
    map_file(8, "//anon");
    map_file(9, "/frames/libc.so.6");
    memset(word, 0, sizeof(word));
    chain_count = 0;
    return 0;
}

static int close_tracker(void **state)
{
    (void)state;
    rps_tracker_free(tracker);
    return 0;
}

static uint64_t in_file(int number)
{
    return (uint64_t)number * MAP + 0x80;
}

/* Put a frame at word `at` of the stack, called from file `caller`. The caller's frame is at word
 * `above`. */
static void put_frame(size_t at, size_t above, int caller)
{
    word[at] = STACK + 8 * above;
    word[at + 1] = in_file(caller);
}

static void put_chain(size_t count, const int *file)
{
    chain_count = count;
    for (size_t i = 0; i < count; i++)
        chain[i] = in_file(file[i]);
}

/* Take a sample in `file`, with the frame pointer at word `frame` and `words` copied words. In the
 * rows, the return register has number 0. */
static void take_sample(int file, size_t frame, size_t words)
{
    struct rps_sample sample = {.kind = RPS_SAMPLE_STACK, .pid = PID, .tid = PID};
#ifdef __x86_64__
    const uint64_t value[] = {STACK + 8 * frame, STACK, in_file(file)};

    sample.registers.mask = 7 << 6;
#else
    const uint64_t value[] = {STACK + 8 * frame, STACK, in_file(file)};

    sample.registers.mask = UINT64_C(1) << 29 | UINT64_C(3) << 31;
#endif
    sample.registers.value = value;
    sample.registers.stack = word;
    sample.registers.stack_bytes = 8 * words;
    sample.address = chain;
    sample.address_count = chain_count;
    rps_tracker_add(tracker, &sample);
}

static void check_complete(uint64_t complete)
{
    struct rps_sampling status = {.lost = 0};

    rps_tracker_status(tracker, &status);
    assert_int_equal(status.lost, 0);
    assert_int_equal(status.complete, complete);
}

/* Check the files of the frames, innermost first, and the number of complete stacks so far. */
static void expect_frames(size_t count, const int *file, uint64_t complete)
{
    const struct rps_frame *frame;
    size_t depth = 0;

    for (; (frame = seen_frame(&seen, (int)depth)) != NULL && depth < count; depth++) {
        const char *path = seen_module(&seen, (int)depth)->path;
        static const char *const wanted[] = {
            NULL,          "/frame 1",      "/frame 2", "/frame 3",          "/frame 4",
            "/no frame 4", "/no frame 600", "/begin",   "/tmp/perf-100.map", "/frames/libc.so.6"};

        assert_string_equal(path, wanted[file[depth]]);
    }
    assert_int_equal(depth, count);
    assert_null(frame);
    check_complete(complete);
}

#define EXPECT_FRAMES(complete, ...)                                                               \
    expect_frames(sizeof((const int[]){__VA_ARGS__}) / sizeof(int), (const int[]){__VA_ARGS__},    \
                  complete)

/* --- cases ------------------------------------------------------------------------------------ */

/* The copy contains the caller of a leaf function without a frame, which the kernel's call stack
 * lacks. */
static void test_leaf(void **state)
{
    (void)state;
    word[4] = in_file(1);
    put_frame(10, 20, 2);
    put_frame(20, 0, 7);
    put_chain(3, (const int[]){5, 2, 7});
    take_sample(5, 10, 64);
    EXPECT_FRAMES(1, 5, 1, 2, 7);
}

/* The copy ends before the return address of the innermost frame. The second address of the
 * kernel's call stack is used. */
static void test_second_address(void **state)
{
    (void)state;
    put_chain(4, (const int[]){1, 2, 3, 9});
    put_frame(10, 500, 2);
    take_sample(1, 10, 8);
    EXPECT_FRAMES(1, 1, 2, 3, 9);
}

/* Unwinding fails at an outer frame, whose place in the kernel's call stack is known. */
static void test_further_out(void **state)
{
    (void)state;
    word[4] = in_file(1);
    put_frame(10, 20, 2);
    put_frame(20, 30, 3);
    put_frame(30, 500, 4);
    put_chain(5, (const int[]){5, 2, 3, 4, 9});
    take_sample(5, 10, 24);
    EXPECT_FRAMES(1, 5, 1, 2, 3, 4, 9);
}

/* A recursive function has the same return address each time. The function is counted once per
 * call. */
static void test_recursion(void **state)
{
    (void)state;
    word[4] = in_file(1);
    put_frame(10, 20, 1);
    put_frame(20, 30, 1);
    put_frame(30, 500, 1);
    put_chain(6, (const int[]){5, 1, 1, 1, 1, 9});
    take_sample(5, 10, 24);
    EXPECT_FRAMES(1, 5, 1, 1, 1, 1, 1, 9);
}

/* Unwinding stops at a function without a frame whose address is in the kernel's call stack. The
 * call stack continues after this address. The function's caller is missing. */
static void test_behind_last(void **state)
{
    (void)state;
    put_frame(10, 500, 6);
    put_chain(4, (const int[]){1, 6, 3, 9});
    take_sample(1, 10, 24);
    EXPECT_FRAMES(0, 1, 6, 3, 9);
}

/* No frame is invented if the last function is not in the kernel's call stack either. */
static void test_nothing(void **state)
{
    (void)state;
    word[4] = in_file(6);
    put_frame(100, 500, 2);
    put_chain(4, (const int[]){5, 2, 3, 9});
    take_sample(5, 100, 24);
    EXPECT_FRAMES(0, 5, 6);
}

/* The stack ends, but the frame pointers continue: the thread has changed stacks. */
static void test_changed_stacks(void **state)
{
    (void)state;
    put_frame(10, 500, 7);
    put_chain(4, (const int[]){1, 7, 3, 9});
    take_sample(1, 10, 24);
    EXPECT_FRAMES(1, 1, 7, 3, 9);
}

/* Without rules, a stack ends where the frame pointers end. */
static void test_end_of_pointers(void **state)
{
    (void)state;
    map_file(9, "/lib/libc.so.6");
    put_frame(10, 0, 9);
    word[10] = 0;
    put_chain(2, (const int[]){1, 9});
    take_sample(1, 10, 24);
    assert_non_null(seen_frame(&seen, 1));
    assert_null(seen_frame(&seen, 2));
    check_complete(1);
}

/* Unwinding cannot continue from an inner frame of the kernel's call stack. */
static void test_nothing_behind(void **state)
{
    (void)state;
    put_frame(10, 100, 5);
    word[16] = in_file(6);
    put_chain(4, (const int[]){1, 5, 2, 9});
    take_sample(1, 10, 24);
    EXPECT_FRAMES(0, 1, 5, 6);
}

/* A function interrupted by a signal has called nothing, so its address is the next instruction's.
 */
static void test_signal(void **state)
{
    (void)state;
    map_file(1, "/frame of a signal");
    put_frame(10, 20, 2);
    put_frame(20, 0, 7);
    take_sample(1, 10, 64);
    assert_int_equal(seen_frame(&seen, 1)->address, in_file(2) % MAP);
    assert_int_equal(seen_frame(&seen, 2)->address, in_file(7) % MAP - 1);
}

/* If the frame pointer register held another value, the next addresses of the kernel's call stack
 * are no callers. */
static void test_no_pointer(void **state)
{
    (void)state;
    word[4] = in_file(6);
    put_chain(3, (const int[]){5, 3, 9});
    take_sample(5, 7, 24);
    EXPECT_FRAMES(0, 5, 6);
    take_sample(6, 7, 24); /* file 6 is the innermost function */
    EXPECT_FRAMES(0, 6);
}

/* For code without a known file, as in interpreters, the kernel's call stack is used. */
static void test_no_file(void **state)
{
    (void)state;
    put_frame(10, 20, 8);
    put_frame(20, 500, 3);
    put_chain(4, (const int[]){8, 8, 3, 9});
    take_sample(8, 10, 64);
    EXPECT_FRAMES(1, 8, 8, 3, 9);
    take_sample(8, 10, 0);
    EXPECT_FRAMES(2, 8, 8, 3, 9);
}

/* A function without a frame is in the rest of the kernel's call stack. The function's caller is
 * missing. The stack is incomplete, although it ends where threads begin. */
static void test_gap_in_rest(void **state)
{
    (void)state;
    put_chain(4, (const int[]){1, 5, 3, 9});
    put_frame(10, 500, 5);
    take_sample(1, 10, 8);
    EXPECT_FRAMES(0, 1, 5, 3, 9);
}

/* A kernel call stack without registers is unchanged, because nothing shows what is missing. */
static void test_chain_alone(void **state)
{
    struct rps_sample sample = {.kind = RPS_SAMPLE_STACK, .pid = PID, .tid = PID};

    (void)state;
    put_chain(4, (const int[]){5, 2, 3, 9});
    sample.address = chain;
    sample.address_count = chain_count;
    rps_tracker_add(tracker, &sample);
    EXPECT_FRAMES(1, 5, 2, 3, 9);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_tracker, close_tracker)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_leaf),           CASE(test_second_address),
        CASE(test_further_out),    CASE(test_recursion),
        CASE(test_behind_last),    CASE(test_nothing),
        CASE(test_nothing_behind), CASE(test_signal),
        CASE(test_changed_stacks), CASE(test_end_of_pointers),
        CASE(test_no_pointer),     CASE(test_no_file),
        CASE(test_gap_in_rest),    CASE(test_chain_alone),
    };

    return cmocka_run_group_tests_name("joins", tests, NULL, NULL);
}
