/* Tests of where functions begin: in this program's own file, in damaged copies, and in symbol
 * tables. Also tests how the tracker stores frames by function when there are many frames. */
#include "code/record_functions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "code/record_tracker_parts.h"
#include "seen.h"

#define MANY UINT64_C(0x100000000) /* address of code that a process generated */

static char folder[] = "/tmp/rpistat-functions-XXXXXX";
static char own[4096]; /* path of this program */
static struct seen seen;
static struct rps_tracker *tracker;
static volatile int sink;

/* Functions that the tests look up. Each function has more than a few bytes, with data between the
 * functions. */
__attribute__((noinline)) static int first(int x)
{
    for (int i = 0; i < x; i++)
        sink += i * x;
    return sink;
}

__attribute__((noinline)) static int second(int x)
{
    for (int i = 0; i < x; i++)
        sink -= i ^ x;
    return sink + first(x);
}

/* A function without unwind information, after a function with unwind information. */
int undescribed(int x);
__asm__(".text\n.balign 64\ndescribed: .cfi_startproc\nnop\nnop\n.cfi_endproc\n"
        ".globl undescribed\nundescribed: nop\nnop\nnop\nnop\n");

/* Return the function's offset in the file, as the tracker computes it. */
static uint64_t offset_of(int (*function)(int))
{
    struct seen at = {.module_count = 0};
    uint64_t address = (uint64_t)(uintptr_t)function;
    struct rps_sample sample = {.kind = RPS_SAMPLE_STACK,
                                .pid = getpid(),
                                .tid = getpid(),
                                .address = &address,
                                .address_count = 1};
    struct rps_tracker *other = seen_tracker(&at, 0);

    rps_tracker_add_process(other, getpid());
    rps_tracker_add(other, &sample);
    rps_tracker_free(other);
    return at.frame[0].address;
}

static void skip_elsewhere(void)
{
    if (sizeof(void *) != 8) {
        print_message("only tested on 64 bits\n");
        skip();
    }
}

/* --- files ------------------------------------------------------------------------------------ */

static uint64_t function_in(const char *path, uint64_t offset)
{
    struct rps_function_file file = {.fd = -1};
    uint64_t ret;

    rps_function_file_open(&file, open(path, O_RDONLY | O_CLOEXEC));
    ret = rps_function_in_file(&file, offset);
    rps_function_file_close(&file);
    assert_int_equal(rps_function_in_file(&file, offset), 0);
    return ret;
}

static void own_file(void **state)
{
    uint64_t one = offset_of(first), two = offset_of(second);

    (void)state;
    skip_elsewhere();
    for (uint64_t i = 0; i < 8; i++) {
        assert_int_equal(function_in(own, one + i), one);
        assert_int_equal(function_in(own, two + i), two);
    }
    assert_int_equal(function_in(own, offset_of(undescribed) + 1), 0);
    assert_int_equal(function_in(own, 0), 0); /* the file's headers belong to no function */
    assert_int_equal(function_in(own, UINT64_MAX), 0);
}

/* Files that are no ELF files, or are empty, have no functions. */
static void odd_files(void **state)
{
    (void)state;
    assert_int_equal(mkdir("folder", 0700), 0);
    assert_int_equal(system("printf '\\177ELF' > short; : > empty; head -c 5000 /dev/zero > zero"),
                     0);
    for (const char *const *path =
             (const char *const[]){"folder", "short", "empty", "zero", "none", NULL};
         *path; path++)
        assert_int_equal(function_in(*path, 0x1001), 0);
}

static char *read_own(size_t *ret_size)
{
    struct stat status;
    FILE *file = fopen(own, "r");
    char *data;

    assert_true(file && fstat(fileno(file), &status) == 0);
    *ret_size = (size_t)status.st_size;
    data = malloc(*ret_size);
    assert_int_equal(fread(data, 1, *ret_size, file), *ret_size);
    fclose(file);
    return data;
}

static uint64_t ask_changed(const char *data, size_t size, uint64_t offset)
{
    FILE *file = fopen("changed", "w");

    assert_true(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    return function_in("changed", offset);
}

/* A table that is incomplete, or unlike the tables of compilers, is ignored. */
static void damaged_tables(void **state)
{
    static const struct {
        size_t at; /* offset from the table's header */
        uint32_t value;
        int is_known;
    } changes[] = {
        {0, 0x3b031b01, 1}, /* an unchanged table */
        {0, 0x3b031b02, 0}, /* an unknown version is ignored */
        {0, 0x3b0b1b01, 0}, /* a signed count is ignored */
        {0, 0x1b031b01, 0}, /* addresses relative to each entry are ignored */
        {8, 0, 0},          /* a table without entries */
        {8, UINT32_MAX, 1}, /* a count beyond the section: the existing entries are used */
    };
    uint64_t one = offset_of(first);
    size_t size;
    char *data = read_own(&size);
    Elf64_Phdr *segment = NULL;
    Elf64_Ehdr header;

    (void)state;
    skip_elsewhere();
    memcpy(&header, data, sizeof(header));
    for (int i = 0; i < header.e_phnum && !segment; i++) {
        segment = (Elf64_Phdr *)(void *)(data + header.e_phoff) + i;
        segment = segment->p_type == PT_GNU_EH_FRAME ? segment : NULL;
    }
    assert_non_null(segment);
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        char *place = data + segment->p_offset + changes[i].at;
        uint32_t before;

        memcpy(&before, place, sizeof(before));
        memcpy(place, &changes[i].value, sizeof(before));
        assert_int_equal(ask_changed(data, size, one + 2), changes[i].is_known ? one : 0);
        memcpy(place, &before, sizeof(before));
    }
    assert_int_equal(ask_changed(data, segment->p_offset + 40, one + 2), 0);
    segment->p_offset = UINT64_MAX - 3;
    assert_int_equal(ask_changed(data, size, one + 2), 0);
    segment->p_filesz = 4;
    assert_int_equal(ask_changed(data, size, one + 2), 0);
    free(data);
}

/* --- the kernel ------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_true(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static uint64_t ask_kernel(const char *path, uint64_t address)
{
    struct rps_kernel_functions kernel = {.path = path};
    uint64_t ret;

    rps_function_in_kernel(&kernel, address); /* this call reads the table */
    ret = rps_function_in_kernel(&kernel, address);
    rps_kernel_functions_free(&kernel);
    return ret;
}

static void kernel_symbols(void **state)
{
    (void)state;
    write_file("symbols",
               "ffffffff81000100 T one\nffffffff81000200 t two\nffffffff81000800 D data\n"
               "ffffffff81000900 t three\nffffffff81000700 t late\t[module]\n");
    assert_int_equal(ask_kernel("symbols", 0xffffffff81000150), 0xffffffff81000100);
    assert_int_equal(ask_kernel("symbols", 0xffffffff81000200), 0xffffffff81000200);
    assert_int_equal(ask_kernel("symbols", 0xffffffff81000750), 0xffffffff81000700);
    assert_int_equal(ask_kernel("symbols", 0xffffffffffffffff), 0xffffffff81000900);
    assert_int_equal(ask_kernel("symbols", 0xffffffff810000ff), 0);
    write_file("hidden", "0000000000000000 T one\n0000000000000000 t two\n");
    assert_int_equal(ask_kernel("hidden", 0xffffffff81000150), 0);
    write_file("nothing", "");
    assert_int_equal(ask_kernel("nothing", 0xffffffff81000150), 0);
    assert_int_equal(ask_kernel("not there", 0xffffffff81000150), 0);
}

/* A symbol table of some megabytes is read in parts, and is available after the last part. */
static void long_kernel_table(void **state)
{
    struct rps_kernel_functions kernel = {.path = "long"};
    FILE *file = fopen("long", "w");
    int calls = 0;

    (void)state;
    for (unsigned i = 0; i < 10000; i++)
        fprintf(file, "ffffffff81%06x t symbol_%u\n", i * 16, i);
    fclose(file);
    while (rps_function_in_kernel(&kernel, 0xffffffff81000123) == 0)
        assert_true(++calls < 100);
    assert_true(calls > 2);
    assert_int_equal(rps_function_in_kernel(&kernel, 0xffffffff81000123), 0xffffffff81000120);
    rps_kernel_functions_free(&kernel);
}

/* --- the tracker ------------------------------------------------------------------------------ */

static void add(const uint64_t *address, size_t count, size_t kernel)
{
    const struct rps_sample sample = {.kind = RPS_SAMPLE_STACK,
                                      .pid = getpid(),
                                      .tid = getpid(),
                                      .address = address,
                                      .address_count = count,
                                      .kernel_count = kernel};

    rps_tracker_add(tracker, &sample);
}

static uint64_t frame_at(int depth)
{
    const struct rps_frame *frame = seen_frame(&seen, depth);

    return frame ? frame->address : 0;
}

/* Add frames outside of any file, until the tracker stores frames by function. */
static void add_many(void)
{
    for (uint64_t i = 0; seen.frame_count < RPS_TRACKER_EXACT_MAX; i++)
        add((const uint64_t[]){MANY + i}, 1, 0);
}

static uint64_t place(int (*function)(int), uint64_t offset)
{
    return (uint64_t)(uintptr_t)function + offset;
}

static void frames_are_functions(void **state)
{
    uint64_t one = offset_of(first), two = offset_of(second);

    (void)state;
    skip_elsewhere();
    rps_tracker_add_process(tracker, getpid());
    /* with few frames, exact addresses are stored */
    add((const uint64_t[]){place(first, 3), place(second, 6)}, 2, 0);
    assert_int_equal(frame_at(0), one + 3);
    assert_int_equal(frame_at(1), two + 5);
    add_many();

    add((const uint64_t[]){place(first, 5), place(second, 6), place(second, 8)}, 3, 0);
    assert_int_equal(frame_at(0), one);
    assert_int_equal(frame_at(1), two); /* recursion of a function: one frame */
    assert_int_equal(frame_at(2), 0);
    for (int i = 2; i <= RPS_TRACKER_OWN_SAMPLES; i++) {
        assert_int_equal(frame_at(0), one);
        add((const uint64_t[]){place(first, 5)}, 1, 0);
    }
    assert_int_equal(frame_at(0), one + 5); /* the fourth sample gets an exact frame */
    add((const uint64_t[]){place(first, 4)}, 1, 0);
    assert_int_equal(frame_at(0), one);
    add((const uint64_t[]){place(first, 3)}, 1, 0); /* this exact frame was already stored */
    assert_int_equal(frame_at(0), one + 3);
    for (int i = 0; i < 3; i++) /* callers are stored by function, however often they occur */
        add((const uint64_t[]){place(first, 5), place(second, 9)}, 2, 0);
    assert_int_equal(frame_at(0), one + 5);
    assert_int_equal(frame_at(1), two);
    /* a caller is stored by function, even if it has an exact frame */
    add((const uint64_t[]){place(second, 9), place(first, 6)}, 2, 0);
    assert_int_equal(frame_at(1), one);
    assert_int_equal(seen.frame_count, RPS_TRACKER_EXACT_MAX + 3);
    for (int i = 0; i < 3; i++) /* no function is known at this address */
        add((const uint64_t[]){MANY << 1}, 1, 0);
    assert_int_equal(frame_at(0), MANY << 1);
}

static void kernel_frames(void **state)
{
    (void)state;
    write_file("symbols", "ffffffff81000100 T one\nffffffff81000200 t two\n");
    tracker->kernel.path = "symbols";
    add_many();
    add((const uint64_t[]){0xffffffff81000140}, 1, 1); /* this sample starts to read the kernel's
                                                          table */
    for (int i = 0; i < 3; i++) {
        add((const uint64_t[]){0xffffffff81000150 + (uint64_t)i, 0xffffffff81000210}, 2, 2);
        assert_int_equal(frame_at(0), 0xffffffff81000100);
        assert_int_equal(frame_at(1), 0xffffffff81000200);
    }
}

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
    return 0;
}

static int make_folder(void **state)
{
    (void)state;
    return readlink("/proc/self/exe", own, sizeof(own) - 1) < 0 || !mkdtemp(folder) ||
           chdir(folder) < 0;
}

static int remove_folder(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return chdir("/") < 0 || system(command) != 0;
}

#define TRACKER_TEST(name) cmocka_unit_test_setup_teardown(name, open_tracker, close_tracker)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_file),          cmocka_unit_test(odd_files),
        cmocka_unit_test(damaged_tables),    cmocka_unit_test(kernel_symbols),
        cmocka_unit_test(long_kernel_table), TRACKER_TEST(frames_are_functions),
        TRACKER_TEST(kernel_frames),
    };

    second(1);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
