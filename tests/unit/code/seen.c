#include "seen.h"

#include "code/record_tracker_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void take_module(void *context, const struct rps_module *module)
{
    struct seen *seen = context;

    assert_int_equal(module->module, seen->module_count);
    if (seen->module_count < SEEN_MAX) {
        struct seen_module *to = &seen->module[seen->module_count];

        to->kind = module->kind;
        snprintf(to->path, sizeof(to->path), "%s", module->path);
        strcpy(to->build_id, module->build_id);
    }
    seen->module_count++;
}

static void take_frame(void *context, const struct rps_frame *frame)
{
    struct seen *seen = context;

    assert_int_equal(frame->frame, seen->frame_count);
    assert_true(frame->module >= 0 && (size_t)frame->module < seen->module_count);
    if (seen->frame_count < SEEN_MAX)
        seen->frame[seen->frame_count] = *frame;
    seen->frame_count++;
}

static void take_stack(void *context, const struct rps_stack *stack)
{
    struct seen *seen = context;

    assert_int_equal(stack->stack, seen->stack_count);
    assert_true(stack->parent >= -1 && stack->parent < stack->stack);
    assert_true(stack->frame >= 0 && (size_t)stack->frame < seen->frame_count);
    if (seen->stack_count < SEEN_MAX)
        seen->stack[seen->stack_count] = *stack;
    seen->stack_count++;
}

static void take_cgroup(void *context, const struct rps_cgroup *cgroup)
{
    struct seen *seen = context;

    assert_true(cgroup->cgroup >= 0 && cgroup->cgroup < 16);
    assert_string_equal(seen->cgroup[cgroup->cgroup], ""); /* each control group is reported once */
    snprintf(seen->cgroup[cgroup->cgroup], sizeof(seen->cgroup[0]), "%s", cgroup->path);
    seen->cgroup_count++;
}

static void take_task(void *context, const struct rps_task *task)
{
    struct seen *seen = context;

    assert_true(task->task >= 0 && (size_t)task->task <= seen->task_count);
    assert_true(task->cgroup >= -1 && task->cgroup < 16);
    assert_true(task->cgroup == -1 || seen->cgroup[task->cgroup][0]);
    if (task->task < SEEN_MAX) {
        struct seen_task *to = &seen->task[task->task];

        to->task = *task;
        snprintf(to->name, sizeof(to->name), "%s", task->name);
        to->task.name = to->name;
    }
    seen->task_count += (size_t)task->task == seen->task_count;
}

static void take_process_time(void *context, int64_t task, int64_t cpu_ns)
{
    struct seen *seen = context;

    assert_true(task >= 0 && (size_t)task < seen->task_count && task < SEEN_MAX);
    assert_int_equal(seen->task[task].task.process_ns, -1);
    seen->task[task].task.process_ns = cpu_ns;
}

static void take_program(void *context, const struct rps_program *program)
{
    struct seen *seen = context;
    struct seen_program *to = &seen->program[program->program];

    assert_true(program->program >= 0 && (size_t)program->program <= seen->program_count);
    assert_true(program->program < SEEN_MAX);
    to->program = *program;
    snprintf(to->name, sizeof(to->name), "%s", program->name);
    to->program.name = to->name;
    seen->program_count += (size_t)program->program == seen->program_count;
}

static void take_count(void *context, int64_t time_ns, int32_t cpu, int64_t stack, int64_t task)
{
    struct seen *seen = context;

    assert_true(stack >= 0 && (size_t)stack < seen->stack_count);
    assert_true(task >= 0 && (size_t)task < seen->task_count);
    seen->time_ns = time_ns;
    seen->cpu = cpu;
    seen->last_stack = stack;
    seen->last_task = task;
    seen->count_count++;
}

static void take_blocked(void *context, int64_t from_ns, int64_t to_ns, int32_t cpu, int64_t stack)
{
    struct seen *seen = context;
    size_t i = seen->blocked_count++ % 16;

    assert_true(from_ns < to_ns);
    assert_true(stack >= 0 && (size_t)stack < seen->stack_count);
    seen->cpu = cpu;
    seen->blocked[i].from_ns = from_ns;
    seen->blocked[i].to_ns = to_ns;
    seen->blocked[i].stack = stack;
}

static void take_incomplete(void *context, int64_t time_ns, const char *path)
{
    struct seen *seen = context;

    (void)time_ns;
    snprintf(seen->incomplete, sizeof(seen->incomplete), "%s", path);
    seen->incomplete_count++;
}

struct rps_tracker *seen_tracker(struct seen *ret, int64_t start_ns)
{
    struct rps_tracker_sink sink = {.context = ret,
                                    .module = take_module,
                                    .frame = take_frame,
                                    .stack = take_stack,
                                    .cgroup = take_cgroup,
                                    .task = take_task,
                                    .process_time = take_process_time,
                                    .program = take_program,
                                    .count = take_count,
                                    .blocked = take_blocked,
                                    .incomplete = take_incomplete};
    struct rps_tracker *tracker;

    memset(ret, 0, sizeof(*ret));
    if (rps_tracker_new(&tracker, start_ns, &sink, NULL) < 0)
        return NULL;
    tracker->unwinder.wait_us = 60000000; /* long enough for a busy machine */
    return tracker;
}

const struct rps_frame *seen_frame(const struct seen *seen, int depth)
{
    int64_t stack = seen->last_stack;

    while (stack >= 0 && depth-- > 0)
        stack = seen->stack[stack].parent;
    return stack < 0 ? NULL : &seen->frame[seen->stack[stack].frame];
}

const struct seen_module *seen_module(const struct seen *seen, int depth)
{
    const struct rps_frame *frame = seen_frame(seen, depth);

    assert_non_null(frame);
    return &seen->module[frame->module];
}
