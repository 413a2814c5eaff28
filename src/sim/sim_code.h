/* The code of a simulated workload: functions, tasks and stacks (language: src/sim/README.md). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"
#include "rpistat/sample.h"

/* The first address of the kernel's functions. */
#define SIM_KERNEL_ADDRESS (UINT64_C(1) << 63)

#define SIM_SHARE_ALL 1000000u /* whole of a mix: shares are in parts per million */

struct sim_function {
    char *name, *file; /* name and source file; file NULL: unknown */
    uint64_t address, length;
    int line, line_count; /* first line; number of lines, which share the length equally */
};

struct sim_task {
    char *name;   /* name of the task */
    char *cgroup; /* control group of the task's process; NULL: not given */
    pid_t pid, tid;
};

/* A running task and its call stack. Functions are in order, the outermost first. */
struct sim_stack {
    uint32_t share_ppm; /* share of the mix's samples that have this stack */
    size_t task;
    size_t depth, kernel_count; /* number of functions; number of kernel functions at the end */
    size_t *function;           /* indexes of the functions */
};

/* The stacks of the workload during a phase. The shares of the stacks add up to SIM_SHARE_ALL. */
struct sim_mix {
    size_t first, count; /* first index in sim_code.stack, and number of stacks */
};

struct sim_code {
    struct rps_arena *arena; /* holds all arrays and names */
    size_t function_count, task_count, stack_count, mix_count;
    struct sim_function *function;
    struct sim_task *task;
    struct sim_stack *stack;
    struct sim_mix *mix;
};

/* Add a function, a task or a mix. The functions receive the words after `function` and `task`, or
 * the text after `code=`, which is modified. Errors do not contain the position in the script. */
int rps_sim_code_add_function(struct sim_code *code, int count, char **word, struct rps_error *err);
int rps_sim_code_add_task(struct sim_code *code, int count, char **word, struct rps_error *err);
int rps_sim_code_add_mix(struct sim_code *code, char *text, struct rps_error *err);

/* Convert a percentage such as 2% or 0.5% to parts per million. The maximum is max_ppm. */
int rps_sim_percent(const char *what, const char *text, uint32_t max_ppm, uint32_t *ret_ppm,
                    struct rps_error *err);

/* Return the address of line i of a function, from 0; for i == line_count, the function's end. */
uint64_t rps_sim_code_line_address(const struct sim_function *function, int i);
