/* Keep the output of a tracker. Each item is checked to refer only to items before. */
#ifndef RPISTAT_TEST_SEEN_H
#define RPISTAT_TEST_SEEN_H

#include "code/record_tracker.h"

#define SEEN_MAX 3000

struct seen {
    /* total number of reported items */
    size_t module_count, frame_count, stack_count, task_count, count_count;
    struct seen_module {
        enum rps_module_kind kind;
        char path[128], build_id[2 * RPS_BUILD_ID_MAX + 1];
    } module[SEEN_MAX]; /* the first modules, up to SEEN_MAX */
    struct rps_frame frame[SEEN_MAX];
    struct rps_stack stack[SEEN_MAX];
    struct seen_task {
        struct rps_task task;
        char name[64];
    } task[SEEN_MAX];
    size_t cgroup_count;
    char cgroup[16][128]; /* paths of control groups */
    size_t program_count;
    struct seen_program {
        struct rps_program program;
        char name[64];
    } program[SEEN_MAX];
    struct {
        int64_t from_ns, to_ns, stack;
    } blocked[16];
    size_t blocked_count;
    size_t incomplete_count;
    char incomplete[128];                   /* last path reported as incomplete */
    int64_t time_ns, last_stack, last_task; /* values of the last sample */
    int32_t cpu;
};

/* Make a tracker of a run that starts at start_ns. *ret gets the tracker's output. Returns NULL
 * without memory. */
struct rps_tracker *seen_tracker(struct seen *ret, int64_t start_ns);

/* Return a frame of the last sample (depth 0: innermost; NULL: beyond the outermost). */
const struct rps_frame *seen_frame(const struct seen *seen, int depth);

/* Return the module of a frame of the last sample. */
const struct seen_module *seen_module(const struct seen *seen, int depth);

#endif
