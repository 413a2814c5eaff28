/* Shows the samples of several runs on one page, as if from one run. Functions are joined by their
 * name and the file name of their module, since builds are in different directories. The programs
 * that the runs' commands started are treated as one module. */
#include "page.h"

#include <string.h>

#include "rpistat/latency.h"
#include "rpistat/page_parts.h"
#include "rpistat/run_code.h"
#include "rpistat/text.h"
#include "hooks.h"

/* --- the code of all runs --------------------------------------------------------------------- */

static const char *program_name(const struct rps_run *run)
{
    return run->argc > 0 ? rps_text_file_name(run->argv[0]) : "";
}

/* Return the module name by which modules are joined, without directory or process number. The
 * program of the command has the same name in all versions. */
static const char *module_name(const struct rps_module *module, const struct rps_run *run,
                               const struct rps_run *named)
{
    const char *name = rps_text_file_name(module->path);

    if (module->kind == RPS_MODULE_JIT)
        return "[jit]";
    return named->argc > 0 && strcmp(name, program_name(run)) == 0 ? program_name(named) : name;
}

static int64_t moved(int64_t number, size_t by)
{
    return number < 0 ? number : number + (int64_t)by;
}

/* Append the code of a run to `all`. The numbers of the run's items begin after the highest numbers
 * that `all` already has. */
static void append(struct rps_code *all, const struct rps_code *code, const struct rps_run *run,
                   const struct rps_run *named)
{
    for (size_t i = 0; i < code->location_count; i++) {
        struct rps_location *location = &all->location[all->location_count++];

        *location = code->location[i];
        location->frame = moved(location->frame, all->frame_count);
    }
    for (size_t i = 0; i < code->stack_count; i++) {
        const struct rps_stack *stack = &code->stack[i];

        all->stack[all->stack_count + i] = (struct rps_stack){
            moved(stack->stack, all->stack_count), moved(stack->parent, all->stack_count),
            moved(stack->frame, all->frame_count)};
    }
    all->stack_count += code->stack_count;
    for (size_t i = 0; i < code->frame_count; i++) {
        struct rps_frame *frame = &all->frame[all->frame_count + i];

        *frame = code->frame[i];
        frame->frame = moved(frame->frame, all->frame_count);
        frame->module = moved(frame->module, all->module_count);
    }
    all->frame_count += code->frame_count;
    for (size_t i = 0; i < code->module_count; i++) {
        struct rps_module *module = &all->module[all->module_count + i];

        *module = code->module[i];
        module->module = moved(module->module, all->module_count);
        module->path = module_name(module, run, named);
    }
    all->module_count += code->module_count;
}

/* Read the code of each run, and append it with its texts to one joint code in the arena. */
static int join_code(struct rps_arena *arena, const struct rps_page_joint *joint,
                     struct rps_code *of, struct rps_code *ret, struct rps_error *err)
{
    struct rps_code all = {0};

    for (size_t i = 0; i < joint->count; i++) {
        if (rps_reader_code(arena, joint->run[i].reader, joint->run[i].run->run_id, &of[i], err) <
            0)
            return RPS_FAILED;
        all.module_count += of[i].module_count;
        all.frame_count += of[i].frame_count;
        all.location_count += of[i].location_count;
        all.stack_count += of[i].stack_count;
    }
    ret->module = rps_arena_get(arena, all.module_count, sizeof(*ret->module));
    ret->frame = rps_arena_get(arena, all.frame_count, sizeof(*ret->frame));
    ret->location = rps_arena_get(arena, all.location_count, sizeof(*ret->location));
    ret->stack = rps_arena_get(arena, all.stack_count, sizeof(*ret->stack));
    for (size_t i = 0; i < joint->count; i++)
        append(ret, &of[i], joint->run[i].run, joint->named);
    return 0;
}

/* --- counts ----------------------------------------------------------------------------------- */

struct counting {
    struct rps_arena *arena; /* Owner of the bins. */
    struct rps_code_bins *bins;
    size_t first_bin, first_stack, stack_count; /* First bin, first stack and number of stacks of
                                                   the current run. */
};

static int add_count(void *context, size_t group, int64_t id, struct rps_code_weight of,
                     struct rps_error *err)
{
    const struct counting *counting = context;
    struct rps_code_bins *bins = counting->bins;

    (void)err;
    if (id < 0 || (uint64_t)id >= counting->stack_count)
        return 0;
    bins->cell = rps_arena_grow(counting->arena, bins->cell, bins->cell_count, sizeof(*bins->cell));
    bins->cell[bins->cell_count++] =
        (struct rps_code_cell){(uint32_t)(counting->first_bin + group),
                               (uint32_t)(counting->first_stack + (size_t)id), of.weight};
    return 0;
}

/* Make bins that represent runs, not time, so they must never be merged. */
static struct rps_code_bins make_bins(struct rps_arena *arena, size_t count)
{
    struct rps_code_bins bins = {.bin_count = count,
                                 .edge_ns = rps_arena_get(arena, count + 1, sizeof(*bins.edge_ns)),
                                 .is_phase = rps_arena_get(arena, count + 1, 1)};

    memset(bins.is_phase, 1, count + 1);
    return bins;
}

static int count_all(const struct rps_page_joint *joint, const struct rps_code *of,
                     struct rps_page_code *code, struct rps_error *err)
{
    static const struct rps_cpus all = {0};
    struct counting counting = {.arena = code->arena, .bins = &code->bins};
    int result = 0;

    code->bins = make_bins(code->arena, joint->bin_count);
    for (size_t i = 0; i < joint->count && result == 0; i++) {
        const struct rps_page_joint_run *run = &joint->run[i];

        counting.first_bin = run->first_bin;
        counting.stack_count = of[i].stack_count;
        if (counting.stack_count > 0)
            result = rps_latency_read(code->arena, run->reader, run->run->run_id, &of[i], run->part,
                                      err);
        if (counting.stack_count > 0 && result == 0)
            result = rps_run_code_walk(run->reader, run->run->run_id, run->part, &all, 0, add_count,
                                       &counting, err);
        counting.first_stack += counting.stack_count;
    }
    return result;
}

static void put_code(struct rps_json *json, const struct rps_page_code *code,
                     const struct rps_code *of, size_t count)
{
    uint64_t samples = 0, complete = 0;

    for (size_t i = 0; i < count; i++) {
        samples += of[i].stack_count > 0 ? of[i].sampling.samples : 0;
        complete += of[i].stack_count > 0 ? of[i].sampling.complete : 0;
    }
    rps_json_object(json, "code");
    rps_json_uint64(json, "samples", samples);
    rps_json_uint64(json, "complete", complete);
    rps_page_put_calls(json, code);
    rps_json_end(json);
}

int rps_code_page_joint(struct rps_json *json, const struct rps_page_joint *joint,
                        struct rps_error *err)
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_code *of = rps_arena_get(arena, joint->count, sizeof(*of)); /* Code of each run. */
    struct rps_code all = {0};
    struct rps_page_code code = {.arena = arena, .code = &all};
    int result = join_code(arena, joint, of, &all, err);

    if (result == 0)
        result = count_all(joint, of, &code, err);
    if (result == 0)
        rps_page_make_code(&code);
    if (result == 0 && code.bins.cell_count > 0)
        put_code(json, &code, of, joint->count);
    rps_arena_free(arena);
    return result;
}
