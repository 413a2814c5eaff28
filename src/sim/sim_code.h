/*
 * The code of a simulated workload: its functions and tasks, and its position during a phase. The
 * language is described in src/sim/README.md.
 */
#ifndef RPISTAT_SIM_CODE_H
#define RPISTAT_SIM_CODE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rpistat/error.h"
#include "rpistat/sample.h"

/* Functions from here on are the kernel's. */
#define SIM_KERNEL_ADDRESS (UINT64_C(1) << 63)

#define SIM_SHARE_ALL 1000000u /* parts per million */

struct sim_function {
    char *name, *file; /* owned; file NULL: unknown */
    uint64_t address, length;
    int line, line_count; /* line_count: at least 1; lines share the length evenly */
};

struct sim_task {
    char *name;   /* owned */
    char *cgroup; /* owned; of its process; NULL: not given */
    pid_t pid, tid;
};

/* The running task, and its position: functions, the outermost first. */
struct sim_stack {
    uint32_t share_ppm; /* of the samples of its mix */
    size_t task;
    size_t depth, kernel_count; /* functions; number of kernel functions, which are the last */
    size_t *function;           /* owned */
};

/* The position of the workload during a phase: stacks whose shares add up to SIM_SHARE_ALL. */
struct sim_mix {
    size_t first, count; /* of sim_code.stack */
};

struct sim_code {
    size_t function_count, task_count, stack_count, mix_count;
    struct sim_function *function; /* all owned */
    struct sim_task *task;
    struct sim_stack *stack;
    struct sim_mix *mix;
};

/* Add the words after `function` and `task`, or the text after `code=`, which is modified and whose
 * mix is added. Errors do not contain the position in the script. */
int rps_sim_code_add_function(struct sim_code *code, int count, char **word, struct rps_error *err);
int rps_sim_code_add_task(struct sim_code *code, int count, char **word, struct rps_error *err);
int rps_sim_code_add_mix(struct sim_code *code, char *text, struct rps_error *err);

/* Convert a percentage such as 2% or 0.5% to parts per million, at most max_ppm. */
int rps_sim_percent(const char *what, const char *text, uint32_t max_ppm, uint32_t *ret_ppm,
                    struct rps_error *err);

/* Return the address of line i of a function, from 0; for i == line_count its end. */
uint64_t rps_sim_code_line_address(const struct sim_function *function, int i);

void rps_sim_code_free(struct sim_code *code);

#endif
