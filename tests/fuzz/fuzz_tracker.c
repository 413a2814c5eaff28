/* Fuzz samples in any order, of processes that never existed. */
#include "fuzz.h"

#include <string.h>

#include "code/record_tracker.h"

struct told {
    int64_t modules, frames, stacks, tasks, counts;
};

static void take_module(void *context, const struct rps_module *module)
{
    struct told *told = context;

    fuzz_expect(module->module == told->modules++ && module->path, "a module out of order");
}

static void take_frame(void *context, const struct rps_frame *frame)
{
    struct told *told = context;

    fuzz_expect(frame->frame == told->frames++ && frame->module >= 0 &&
                    frame->module < told->modules,
                "a frame out of order");
}

static void take_stack(void *context, const struct rps_stack *stack)
{
    struct told *told = context;

    fuzz_expect(stack->stack == told->stacks++ && stack->parent >= -1 &&
                    stack->parent < stack->stack && stack->frame >= 0 &&
                    stack->frame < told->frames,
                "a stack out of order");
}

static void take_cgroup(void *context, const struct rps_cgroup *cgroup)
{
    (void)context;
    fuzz_expect(cgroup->cgroup >= 0 && cgroup->path, "a control group without a name");
}

static void take_task(void *context, const struct rps_task *task)
{
    struct told *told = context;

    fuzz_expect(task->task >= 0 && task->task <= told->tasks, "a task out of order");
    told->tasks += task->task == told->tasks;
}

static void take_process_time(void *context, int64_t task, int64_t cpu_ns)
{
    const struct told *told = context;

    fuzz_expect(task >= 0 && task < told->tasks && cpu_ns >= 0, "the time of no process");
}

static void take_program(void *context, const struct rps_program *program)
{
    const struct told *told = context;

    fuzz_expect(program->unsampled_ns <= program->cpu_ns &&
                    program->samples <= (uint64_t)told->counts,
                "a program has more than there is");
}

static void take_count(void *context, int64_t time_ns, int32_t cpu, int64_t stack, int64_t task)
{
    struct told *told = context;

    (void)time_ns;
    (void)cpu;
    fuzz_expect(stack >= 0 && stack < told->stacks && task >= 0 && task < told->tasks,
                "a sample of nothing");
    told->counts++;
}

static void take_blocked(void *context, int64_t from_ns, int64_t to_ns, int32_t cpu, int64_t stack)
{
    const struct told *told = context;

    (void)cpu;
    fuzz_expect(from_ns < to_ns && stack >= 0 && stack < told->stacks, "a wait of nothing");
}

static void take_incomplete(void *context, int64_t time_ns, const char *path)
{
    (void)context;
    (void)time_ns;
    (void)path;
    fuzz_expect(0, "the process that unwinds has died");
}

/* Return an address or a length. Most are in a few pages, so that they overlap. */
static uint64_t take_address(struct fuzz_bytes *bytes)
{
    uint64_t kind = fuzz_take(bytes, 1);

    return kind == 0xff ? fuzz_take(bytes, 8) : kind << 10 | (fuzz_take(bytes, 1) << 2);
}

static void add_one(struct rps_tracker *tracker, struct fuzz_bytes *bytes)
{
    static const char *const path[] = {"/proc/self/exe",
                                       "/lib/a",
                                       "[vdso]",
                                       "//anon",
                                       "",
                                       NULL,
                                       "a name that is longer than any that the kernel would let "
                                       "a thread have, by far, and then some"};
    uint64_t kind = fuzz_take(bytes, 1), pids = fuzz_take(bytes, 2);
    uint64_t address[RPS_SAMPLE_DEPTH_MAX + 8], value[64];
    unsigned char stack[256];
    struct rps_sample sample = {
        .kind = (enum rps_sample_kind)(kind % 10),
        .time_ns = (int64_t)fuzz_take(bytes, 2),
        .pid = (pid_t)(pids & 7) - 1,
        .tid = (pid_t)(pids >> 3 & 7) - 1,
        .parent_pid = (pid_t)(pids >> 6 & 7) - 1,
        .parent_tid = (pid_t)(pids >> 9 & 7) - 1,
        .cpu_time_ns = (int64_t)(pids & 0xff) * 10000,
        .is_exec = pids >> 12 & 1,
        .is_cut = pids >> 13 & 1,
        .path = path[(kind >> 4) % (sizeof(path) / sizeof(path[0]))],
    };

    if (sample.kind == RPS_SAMPLE_NAME && pids >> 14 & 1)
        sample.kind = RPS_SAMPLE_CGROUP;
    if (sample.kind == RPS_SAMPLE_STACK || sample.kind == RPS_SAMPLE_WAIT) {
        sample.place = kind >> 4;
        sample.is_partial = kind >> 3 & 1;
        sample.address = address;
        sample.address_count = fuzz_take(bytes, 1) % (RPS_SAMPLE_DEPTH_MAX + 9);
        sample.kernel_count = fuzz_take(bytes, 1) % 8;
        for (size_t i = 0; i < sample.address_count; i++)
            address[i] = take_address(bytes);
    }
    if (sample.address && kind & 0x80) {
        for (int i = 0; i < 64; i++)
            value[i] = take_address(bytes);
        for (size_t i = 0; i < sizeof(stack); i += 8)
            memcpy(stack + i, &(uint64_t){take_address(bytes)}, 8);
        sample.registers =
            (struct rps_sample_registers){value, kind & 0x40 ? fuzz_take(bytes, 8) : UINT64_MAX,
                                          stack, fuzz_take(bytes, 1) % (sizeof(stack) + 1)};
    }
    if (sample.kind == RPS_SAMPLE_MAP || sample.kind == RPS_SAMPLE_SYMBOL) {
        sample.map_address = take_address(bytes);
        sample.map_length = take_address(bytes);
        sample.file_offset = take_address(bytes);
        sample.build_id_bytes = kind & 8 ? fuzz_take(bytes, 1) % (RPS_BUILD_ID_MAX + 1) : 0;
    }
    rps_tracker_add(tracker, &sample);
    if (sample.kind == RPS_SAMPLE_AWAKE)
        rps_tracker_report_waits(tracker, sample.time_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct told told = {.modules = 0};
    struct rps_tracker_sink sink = {.context = &told,
                                    .module = take_module,
                                    .frame = take_frame,
                                    .stack = take_stack,
                                    .task = take_task,
                                    .cgroup = take_cgroup,
                                    .process_time = take_process_time,
                                    .program = take_program,
                                    .count = take_count,
                                    .blocked = take_blocked,
                                    .incomplete = take_incomplete};
    struct rps_sampling status = {.lost = 0};
    struct fuzz_bytes bytes = {data, size};
    struct rps_tracker *tracker;
    struct rps_arena *arena = rps_arena_new();
    struct rps_code code;
    struct rps_error err;

    fuzz_expect(rps_tracker_new(&tracker, 0, &sink, &err) == 0, "out of memory");
    while (bytes.left > 0)
        add_one(tracker, &bytes);
    rps_tracker_end(tracker);
    rps_tracker_report_programs(tracker);
    rps_tracker_status(tracker, &status);
    fuzz_expect(status.samples == (uint64_t)told.counts && status.lost == 0 &&
                    status.complete <= status.samples,
                "samples were lost");
    code = rps_tracker_code(arena, tracker, 0);
    fuzz_expect((int64_t)code.module_count == told.modules &&
                    (int64_t)code.frame_count == told.frames,
                "what it knows is not what it told");
    for (size_t i = 0; i < code.location_count; i++)
        rps_tracker_name(tracker, &code.location[i]);
    rps_tracker_status(tracker, &status);
    fuzz_expect(status.complete <= status.samples, "more than all complete");
    rps_arena_free(arena);
    rps_tracker_free(tracker);
    return 0;
}
