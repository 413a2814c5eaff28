/* ELF files with debug information, which are read in a child process: what comes back is whole. And
 * where functions begin, which is read in this one. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "code/child.h"
#include "code/functions.h"
#include "rpistat/naming.h"

#define FRAMES 64

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rps_naming_options options = {.opens_paths = 1};
    struct rps_module *module = calloc(1, sizeof(*module));
    struct rps_frame *frame = calloc(FRAMES, sizeof(*frame));
    struct rps_code code = {.module = module, .frame = frame, .module_count = 1};
    struct rps_error err;

    fuzz_expect(module && frame, "out of memory");
    unsetenv("DEBUGINFOD_URLS");
    *module = (struct rps_module){.kind = RPS_MODULE_FILE, .path = fuzz_file("elf", data, size)};
    code.frame_count = FRAMES;
    for (size_t i = 0; i < FRAMES; i++) {
        frame[i].address = size * i / FRAMES;
        fuzz_expect(rps_function_in_file(module->path, "", frame[i].address) <= frame[i].address,
                    "a function begins behind its code");
    }
    fuzz_expect(rps_naming_name(&code, &options, &err) == 0, "naming failed");
    expect_whole(&code);
    expect_limits();
    rps_code_free(&code);
    return 0;
}
