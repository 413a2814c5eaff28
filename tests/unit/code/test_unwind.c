/* Tests of unwinding copied stacks: the stack of this program, copied by the handler of a signal.
 */
#ifdef RPS_HAS_ELFUTILS
#include <dwarf.h>
#endif
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "code/unwind.h"
#include "seen.h"

#define STACK_BYTES (256 << 10)
#define COPY_BYTES  (64 << 10)
#define CALLS       20

static unsigned char *thread_stack; /* stack of the sampled thread */
static uint64_t value[40], mask;
static unsigned char copy[COPY_BYTES];
static size_t copied;

#if defined(RPS_HAS_ELFUTILS) && defined(__x86_64__)
/* Store the registers in perf's order, without flags and segments. */
static void take_registers(const ucontext_t *context)
{
    static const int number[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
                                 REG_RBP, REG_RSP, REG_RIP, REG_R8,  REG_R9,  REG_R10,
                                 REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

    for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
        value[i] = (uint64_t)context->uc_mcontext.gregs[number[i]];
    mask = 0xff01ff;
}

static uint64_t stack_pointer(const ucontext_t *context)
{
    return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
}
#define CAN_UNWIND 1
#elif defined(RPS_HAS_ELFUTILS) && defined(__aarch64__)
static void take_registers(const ucontext_t *context)
{
    for (int i = 0; i < 31; i++)
        value[i] = context->uc_mcontext.regs[i];
    value[31] = context->uc_mcontext.sp;
    value[32] = context->uc_mcontext.pc;
    mask = UINT64_C(0x1ffffffff);
}

static uint64_t stack_pointer(const ucontext_t *context)
{
    return context->uc_mcontext.sp;
}
#define CAN_UNWIND 1
#else
static void take_registers(const ucontext_t *context)
{
    (void)context;
}

static uint64_t stack_pointer(const ucontext_t *context)
{
    (void)context;
    return 0;
}
#define CAN_UNWIND 0
#endif

static void need_unwinding(void)
{
    if (!CAN_UNWIND) {
        print_message("copied stacks are not unwound on this processor, or without elfutils\n");
        skip();
    }
}

/* Take a sample in a signal handler. The bytes that a sanitizer puts between variables are copied
 * too. */
__attribute__((no_sanitize("address"), aligned(512))) static void
take_sample(int signal, siginfo_t *info, void *context)
{
    uint64_t start = stack_pointer(context), end = (uint64_t)(uintptr_t)thread_stack + STACK_BYTES;
    const volatile unsigned char *from = (const unsigned char *)(uintptr_t)start;

    (void)signal;
    (void)info;
    take_registers(context);
    copied = end - start < COPY_BYTES ? end - start : COPY_BYTES;
    for (size_t i = 0; i < copied; i++)
        copy[i] = from[i];
}

__attribute__((noipa, aligned(512))) static int call(int depth)
{
    volatile int below = 0;

    if (depth == 0)
        raise(SIGUSR1);
    else
        below = call(depth - 1);
    return below + 1;
}

__attribute__((aligned(512))) static void call_from_signal(int signal)
{
    (void)signal;
    raise(SIGUSR1);
}

__attribute__((aligned(512))) static void *run(void *is_from_signal)
{
    if (is_from_signal)
        raise(SIGUSR2);
    else
        assert_int_equal(call(CALLS), CALLS + 1);
    return NULL;
}

/* Take a sample of a thread in call(), or in a signal handler. */
static void take(int is_from_signal)
{
    struct sigaction action = {.sa_sigaction = take_sample, .sa_flags = SA_SIGINFO};
    struct sigaction caller = {.sa_handler = call_from_signal};
    pthread_attr_t attributes;
    pthread_t thread;

    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &caller, NULL);
    free(thread_stack);
    thread_stack = aligned_alloc(4096, STACK_BYTES);
    assert_non_null(thread_stack);
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstack(&attributes, thread_stack, STACK_BYTES), 0);
    assert_int_equal(
        pthread_create(&thread, &attributes, run, is_from_signal ? thread_stack : NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

/* --- cases ------------------------------------------------------------------------------------ */

static struct seen seen;
static struct rps_tracker *tracker;

static int open_tracker(void **state)
{
    (void)state;
    tracker = seen_tracker(&seen, 0);
    return tracker ? 0 : -1;
}

static int close_tracker(void **state)
{
    (void)state;
    rps_tracker_free(tracker);
    free(thread_stack);
    thread_stack = NULL;
    return 0;
}

static void add_sample(size_t stack_bytes)
{
    struct rps_sample sample = {.kind = RPS_SAMPLE_STACK, .pid = getpid(), .tid = getpid()};

    sample.registers = (struct rps_sample_registers){value, mask, copy, stack_bytes};
    rps_tracker_add(tracker, &sample);
}

static uint64_t complete(void)
{
    struct rps_sampling status = {.lost = 0};

    rps_tracker_status(tracker, &status);
    return status.complete;
}

/* Return the number of frames of the last sample in `function` of this program. The function has
 * 512 bytes of its own. */
static int count_in(uintptr_t function)
{
    struct seen at = {.module_count = 0};
    uint64_t address = function;
    struct rps_sample sample = {.kind = RPS_SAMPLE_STACK,
                                .pid = getpid(),
                                .tid = getpid(),
                                .address = &address,
                                .address_count = 1};
    struct rps_tracker *other = seen_tracker(&at, 0);
    const struct rps_frame *frame;
    int count = 0;

    rps_tracker_add_process(other, getpid());
    rps_tracker_add(other, &sample);
    address = seen_frame(&at, 0)->address;
    for (int depth = 0; (frame = seen_frame(&seen, depth)) != NULL; depth++) {
        if (strcmp(seen_module(&seen, depth)->path, seen_module(&at, 0)->path) == 0)
            count += frame->address - address < 512;
    }
    rps_tracker_free(other);
    return count;
}

static void test_thread(void **state)
{
    (void)state;
    need_unwinding();
    take(0);
    rps_tracker_add_process(tracker, getpid());
    add_sample(copied);
    assert_int_equal(count_in((uintptr_t)call), CALLS + 1);
    assert_int_equal(count_in((uintptr_t)run), 1);
    assert_int_equal(complete(), 1);
}

static void test_signal(void **state)
{
    (void)state;
    need_unwinding();
    take(1);
    rps_tracker_add_process(tracker, getpid());
    add_sample(copied);
    assert_int_equal(count_in((uintptr_t)call_from_signal), 1);
    assert_int_equal(count_in((uintptr_t)run), 1);
    assert_int_equal(complete(), 1);
}

/* No frames are invented for memory that was not copied. */
static void test_short_copy(void **state)
{
    (void)state;
    need_unwinding();
    take(0);
    rps_tracker_add_process(tracker, getpid());
    add_sample(400);
    assert_in_range(count_in((uintptr_t)call), 1, CALLS);
    assert_int_equal(count_in((uintptr_t)run), 0);
    assert_int_equal(complete(), 0);
    add_sample(0);
    assert_null(seen_frame(&seen, 1));
    assert_int_equal(complete(), 0);
}

static void map_all(const char *path)
{
    struct rps_sample map = {.kind = RPS_SAMPLE_MAP,
                             .pid = getpid(),
                             .tid = getpid(),
                             .map_address = 4096,
                             .map_length = UINT64_C(1) << 62,
                             .path = path};

    rps_tracker_add(tracker, &map);
}

/* Without unwind rules, frame pointers are used, from the first function that has a frame. */
static void test_frame_pointers(void **state)
{
    uint64_t frame[] = {0, 0x5000, 0, 0};

    (void)state;
    need_unwinding();
    take(0);
    map_all("//anon");
    memset(value, 0, sizeof(value));
    frame[0] = 0x10010; /* the caller's frame pointer and the return address */
    memcpy(copy, frame, sizeof(frame));
#ifdef __x86_64__
    value[6] = value[7] = 0x10000;
    value[8] = 0x4000;
#else
    value[29] = value[31] = 0x10000;
    value[32] = 0x4000;
#endif
    add_sample(sizeof(frame));
    assert_int_equal(seen_frame(&seen, 0)->address, 0x4000);
    assert_int_equal(seen_frame(&seen, 1)->address, 0x4fff);
    assert_null(seen_frame(&seen, 2)); /* return address 0 ends the stack */
    assert_int_equal(complete(), 1);
}

/* A file that is missing, damaged, or not the mapped file, has no unwind information. */
static void test_odd_files(void **state)
{
    static const char *const odd[] = {"/nonexistent", "/",    "/dev/zero/",
                                      "/dev/null",    "fifo", "text"};
    char folder[] = "/tmp/rpistat-unwind-XXXXXX";
    FILE *file;

    (void)state;
    need_unwinding();
    take(0);
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    file = fopen("text", "w");
    assert_non_null(file);
    fputs("\177ELF\2\1\1 and no more", file);
    fclose(file);
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        map_all(odd[i]);
        add_sample(copied);
        assert_int_equal(complete(), 0);
    }
    unlink("fifo");
    unlink("text");
    assert_int_equal(chdir("/"), 0);
    rmdir(folder);
}

/* The files exist, but with another build-id than the mapped files. */
static void test_other_build(void **state)
{
    struct rps_sample map = {.kind = RPS_SAMPLE_MAP,
                             .pid = getpid(),
                             .tid = getpid(),
                             .build_id = {1, 2, 3},
                             .build_id_bytes = 3};
    char line[512], rights[5], path[256];
    uint64_t end;
    FILE *file;

    (void)state;
    need_unwinding();
    take(0);
    file = fopen("/proc/self/maps", "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %255s", &map.map_address,
                   &end, rights, &map.file_offset, path) < 5 ||
            rights[2] != 'x')
            continue;
        map.map_length = end - map.map_address;
        map.path = path;
        rps_tracker_add(tracker, &map);
    }
    fclose(file);
    add_sample(copied);
    assert_int_equal(complete(), 0);
    rps_tracker_add_process(tracker, getpid()); /* adds the correct mappings */
    add_sample(copied);
    assert_int_equal(complete(), 1);
}

#if CAN_UNWIND
/* A row is refused if it is for another place, or if its numbers do not fit together. */
static void test_hostile_rows(void **state)
{
    static const struct {
        size_t more_bytes;
        uint64_t start, end, function, offset;
        uint8_t return_register, op_count;
        struct rps_unwind_rule rule;
        int is_sound;
    } cases[] = {
        {0, 10, 20, 5, 10, 0, 3, {RPS_UNWIND_COMPUTED, 1, 2}, 1},
        {0, 10, 20, 5, 19, RPS_UNWIND_REGISTERS - 1, 0, {RPS_UNWIND_SAME, 200, 200}, 1},
        {1, 10, 20, 5, 10, 0, 3, {RPS_UNWIND_COMPUTED, 1, 2}, 0},
        {(size_t)-1, 10, 20, 5, 10, 0, 0, {RPS_UNWIND_SAME, 0, 0}, 0},
        {0, 10, 20, 5, 9, 0, 3, {RPS_UNWIND_COMPUTED, 1, 2}, 0},
        {0, 10, 20, 5, 20, 0, 3, {RPS_UNWIND_COMPUTED, 1, 2}, 0},
        {0, 10, 20, 11, 10, 0, 3, {RPS_UNWIND_COMPUTED, 1, 2}, 0},
        {0, 10, 20, 5, 10, RPS_UNWIND_REGISTERS, 3, {RPS_UNWIND_COMPUTED, 1, 2}, 0},
        {0, 10, 20, 5, 10, 0, 3, {RPS_UNWIND_COMPUTED, 1, 3}, 0},
        {0, 10, 20, 5, 10, 0, 3, {RPS_UNWIND_COMPUTED, 4, 255}, 0},
    };
    struct rps_unwind unwind = {.known = UINT64_MAX};
    struct rps_unwind_row row = {.is_known = 1, .op = {{0, DW_OP_breg31}}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t bytes = RPS_UNWIND_ROW_BYTES(cases[i].op_count) + cases[i].more_bytes;
        struct rps_unwind_row one = {.start = cases[i].start,
                                     .end = cases[i].end,
                                     .function = cases[i].function,
                                     .return_register = cases[i].return_register,
                                     .op_count = cases[i].op_count,
                                     .cfa = cases[i].rule};

        assert_int_equal(rps_unwind_row_is_sound(&one, bytes, cases[i].offset), cases[i].is_sound);
        one.cfa = one.value[0];
        one.value[RPS_UNWIND_REGISTERS - 1] = cases[i].rule;
        assert_int_equal(rps_unwind_row_is_sound(&one, bytes, cases[i].offset), cases[i].is_sound);
    }
    row.cfa = (struct rps_unwind_rule){RPS_UNWIND_COMPUTED, 0, 1};
    row.value[0].how = RPS_UNWIND_SAME;
    if (RPS_UNWIND_REGISTERS <= 31) /* the expression uses a register that this processor lacks */
        assert_int_equal(rps_unwind_step(&unwind, &row), RPS_UNWIND_LOST);
}
#endif

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_tracker, close_tracker)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_thread),
        CASE(test_signal),
        CASE(test_short_copy),
        CASE(test_frame_pointers),
        CASE(test_odd_files),
        CASE(test_other_build),
#if CAN_UNWIND
        CASE(test_hostile_rows),
#endif
    };

    return cmocka_run_group_tests_name("unwind", tests, NULL, NULL);
}
