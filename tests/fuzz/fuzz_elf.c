/* Fuzz ELF files with debug information and call frame information. Child processes read the files,
 * and their answers must be complete. Function addresses are read in this process. */
#include "fuzz.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "code/child.h"
#include "code/record_functions.h"
#include "code/record_tracker.h"
#include "rpistat/code_output.h"

#define FRAMES 64
#define MAP    UINT64_C(0x400000) /* address of the file in memory */

static void expect_whole(const struct rps_code *code)
{
    int64_t frame = -1;
    int depth = 0;

    for (size_t i = 0; i < code->location_count; i++) {
        const struct rps_location *location = &code->location[i];

        depth = location->frame == frame ? depth + 1 : 0;
        fuzz_expect(location->frame == frame + (depth == 0), "a frame has no location");
        fuzz_expect(location->depth == depth, "depths are not in order");
        fuzz_expect(location->function[0] != '\0' && location->line >= 0, "a function has no name");
        frame = location->frame;
    }
    fuzz_expect(frame == FRAMES - 1, "the last frames have no location");
}

static void expect_limits(void)
{
    struct rusage children;

    fuzz_expect(getrusage(RUSAGE_CHILDREN, &children) == 0, "getrusage failed");
    fuzz_expect((uint64_t)children.ru_maxrss * 1024 < 8 * RPS_CHILD_MEMORY_BYTES,
                "a child took more memory than its limit and what it began with");
}

static void take_module(void *context, const struct rps_module *module)
{
    (void)context;
    (void)module;
}

static void take_frame(void *context, const struct rps_frame *frame)
{
    (void)context;
    (void)frame;
}

static void take_stack(void *context, const struct rps_stack *stack)
{
    (void)context;
    (void)stack;
}

static void take_task(void *context, const struct rps_task *task)
{
    (void)context;
    (void)task;
}

static void take_process_time(void *context, int64_t task, int64_t cpu_ns)
{
    (void)context;
    (void)task;
    (void)cpu_ns;
}

static void take_program(void *context, const struct rps_program *program)
{
    (void)context;
    (void)program;
}

static void take_count(void *context, int64_t time_ns, int32_t cpu, int64_t stack, int64_t task)
{
    (void)time_ns;
    (void)cpu;
    (void)stack;
    (void)task;
    ++*(int *)context;
}

static void take_incomplete(void *context, int64_t time_ns, const char *path)
{
    (void)context;
    (void)time_ns;
    fuzz_expect(path != NULL, "the process that unwinds has died of nothing");
}

/* Unwind stacks whose addresses cover the whole file. */
static void unwind(const char *path, const struct rps_module_origin *origin, size_t size)
{
    int counts = 0;
    const struct rps_tracker_sink sink = {
        .context = &counts,
        .module = take_module,
        .frame = take_frame,
        .stack = take_stack,
        .task = take_task,
        .process_time = take_process_time,
        .program = take_program,
        .count = take_count,
        .incomplete = take_incomplete,
    };
    struct rps_sample sample = {.kind = RPS_SAMPLE_MAP,
                                .pid = 100,
                                .tid = 100,
                                .map_address = MAP,
                                .map_length = size + 1,
                                .major = origin->major,
                                .minor = origin->minor,
                                .inode = origin->inode,
                                .path = path};
    struct rps_tracker *tracker;
    struct rps_error err;

    fuzz_expect(rps_tracker_new(&tracker, 0, &sink, &err) == 0, "out of memory");
    rps_tracker_add(tracker, &sample);
    sample.kind = RPS_SAMPLE_STACK;
    for (size_t i = 0; i < FRAMES; i++) {
        uint64_t value[64], stack[64];

        for (size_t k = 0; k < 64; k++) {
            value[k] = 0x7fff00000000 + 8 * i; /* Registers and frame pointers point to this
                                                  address. */
            stack[k] = k % 2 == 0 ? value[k] + 8 * k : MAP + size * k / 64;
        }
        value[8] = value[32] = MAP + size * i / FRAMES; /* the program counter */
        sample.registers =
            (struct rps_sample_registers){value, UINT64_MAX, stack, sizeof(stack) - 8 * i};
        rps_tracker_add(tracker, &sample);
    }
    fuzz_expect(counts == FRAMES, "samples were lost");
    rps_tracker_free(tracker);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rps_symbolize_options options = {.opens_paths = 1};
    struct rps_arena *arena = rps_arena_new();
    struct rps_module *module = rps_arena_get(arena, 1, sizeof(*module));
    struct rps_frame *frame = rps_arena_get(arena, FRAMES, sizeof(*frame));
    struct rps_function_file file = {.fd = -1};
    struct stat status;
    struct rps_module_origin origin;
    struct rps_code code = {.module = module, .frame = frame, .module_count = 1, .origin = &origin};
    struct rps_error err;

    unsetenv("DEBUGINFOD_URLS");
    *module = (struct rps_module){.kind = RPS_MODULE_FILE, .path = fuzz_file("elf", data, size)};
    fuzz_expect(stat(module->path, &status) == 0, "the file is not there");
    origin = (struct rps_module_origin){
        .major = major(status.st_dev), .minor = minor(status.st_dev), .inode = status.st_ino};
    rps_function_file_open(&file, open(module->path, O_RDONLY | O_CLOEXEC));
    code.frame_count = FRAMES;
    for (size_t i = 0; i < FRAMES; i++) {
        frame[i].address = size * i / FRAMES;
        fuzz_expect(rps_function_in_file(&file, frame[i].address) <= frame[i].address,
                    "a function begins behind its code");
    }
    rps_function_file_close(&file);
    fuzz_expect(rps_symbolize(arena, &code, &options, &err) == 0, "naming failed");
    expect_whole(&code);
    unwind(module->path, &origin, size);
    expect_limits();
    rps_arena_free(arena);
    return 0;
}
