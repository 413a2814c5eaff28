/*
 * Shares: the samples of a part of a run by function, line, module, process, thread, program or
 * control group, and as a call tree. Pure functions over data in the store.
 */
#ifndef RPISTAT_SHARES_H
#define RPISTAT_SHARES_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/code.h"
#include "rpistat/part_shares.h"

/* Kinds of rows. A program is all processes of one name; control groups of one container or unit
 * are one. */
#define RPS_SHARES_BY(BY)                                                                          \
    BY(FUNCTION, "function")                                                                       \
    BY(LINE, "line")                                                                               \
    BY(MODULE, "module")                                                                           \
    BY(PROCESS, "process")                                                                         \
    BY(THREAD, "thread")                                                                           \
    BY(PROGRAM, "program")                                                                         \
    BY(CGROUP, "cgroup")

enum rps_shares_by {
#define RPS_SHARES_BY_ENUM(by, name) RPS_SHARES_##by,
    RPS_SHARES_BY(RPS_SHARES_BY_ENUM)
};

/* How code without a name is divided into functions if the beginning of its function is not known.
 * By pages, inlined code belongs to the function that contains it. */
enum rps_unnamed {
    RPS_UNNAMED_ADDRESS,  /* "libm.so.6+0x1a2b" */
    RPS_UNNAMED_MODULE,   /* "[libm.so.6]": in call trees */
    RPS_UNNAMED_FUNCTION, /* likewise, but "libm.so.6+0x1a00" if its beginning is known */
    RPS_UNNAMED_PAGE,     /* of 4 KiB: "libm.so.6+0x1000" */
    RPS_UNNAMED_PLACE,    /* of 4 KiB; unnamed even if the beginning of its function is known */
};

/* A function has one name in modules of one path, inlined or not. Code without a name is a function
 * by its beginning; if that is not known, and for lines, by each address. */
struct rps_share {
    const char *name;   /* a function, a module's path, a process's name */
    const char *module; /* path, also of control groups; "" for tasks and programs */
    const char *file;   /* of functions and lines; "": not known */
    int line;           /* of a line; of a function, the one with most samples; 0: not known */
    int64_t pid, tid;   /* of tasks; otherwise -1 */
    int64_t cpu_ns;     /* of processes, exact; -1: not known */
    size_t processes;   /* of programs and control groups: with samples; 0 for others */
    size_t item;        /* number of the function, line or module, the same for all samples */
    int is_kernel;
    enum rps_location_how how;
    uint64_t self;  /* samples in which it was innermost */
    uint64_t total; /* samples with it in the stack, each counted once; of tasks, as self */
};

struct rps_shares {
    uint64_t samples; /* all */
    size_t count;
    struct rps_share
        *share; /* by self, then total (both descending), then name; none without samples */
};

/* Find the shares of samples: samples[i] belongs to stack i of the code (for PROCESS and THREAD, to
 * task i), stack_count (task_count) in all. Results, here and below, are in the arena and borrow
 * the code's texts. */
struct rps_shares rps_shares_find(struct rps_arena *arena, const struct rps_code *code,
                                  const uint64_t *samples, enum rps_shares_by by);

/* Find the places of the largest numbers above 0, largest first, `most` at most. Returns how many
 * there are. */
size_t rps_shares_largest(const uint64_t *number, size_t count, size_t most, size_t *ret);

/* Return the number of the innermost function of each of stack_count stacks; with `user`, that of
 * the workload; -1: none. Functions are numbered from 0 in order of appearance; *ret_name gets
 * their names, without lines. */
int64_t *rps_shares_functions(struct rps_arena *arena, const struct rps_code *code, int user,
                              enum rps_unnamed unnamed, struct rps_share_name **ret_name,
                              size_t *ret_count);

/* Set the lines with most of these samples in these functions, which were named with that
 * `unnamed`. */
void rps_shares_place(const struct rps_code *code, enum rps_unnamed unnamed,
                      const uint64_t *samples, struct rps_share_name *name);

/* Return 1 if several processes have samples. */
int rps_shares_has_processes(const struct rps_code *code);

/* Return 1 if programs are more informative than these functions of a part of a run. They are for a
 * machine, and for several processes if unnamed code has more samples than any function. */
int rps_shares_are_of_programs(const struct rps_code *code, const struct rps_share_name *function,
                               const uint64_t *samples, size_t count);

/* Find the process of each task, as a number lower than task_count. Linux reuses PIDs: a thread
 * belongs to the process whose first thread lived at that time. ret_first gets the task of that
 * first thread, plus 1; 0: never sampled. */
size_t *rps_shares_processes(struct rps_arena *arena, const struct rps_code *code,
                             size_t *ret_first);

#define RPS_SHARES_ONE_PROGRAM .9 /* share of samples from which functions are named instead */

/* Return for each of task_count tasks the number of its program or control group. Programs have the
 * names of processes' first threads. *ret_name gets the names, with the paths of groups as modules.
 * *ret_process, unless NULL, gets a number lower than task_count for each task's process, a
 * different one per owner. */
int64_t *rps_shares_owners(struct rps_arena *arena, const struct rps_code *code,
                           enum rps_shares_by by, struct rps_share_name **ret_name,
                           size_t *ret_count, size_t **ret_process);

/* A call tree: nodes in order, each after its parent. Node 0 is the root, with all samples. */
struct rps_call {
    size_t parent;        /* of the root: itself */
    size_t item;          /* number of the function, the same in all its nodes; 0 for the root */
    const char *function; /* of the root: "all" */
    const char *module, *file;
    int line;
    int is_kernel, is_inlined;
    uint64_t self, total;
};

struct rps_calls {
    size_t count;
    struct rps_call *call;
    size_t *node; /* the node where each stack ends; SIZE_MAX: no samples */
};

/* Make the tree of `samples` (of stacks, as above). Frames of one function below one caller are one
 * node. Only the root may have no samples. */
struct rps_calls rps_shares_calls(struct rps_arena *arena, const struct rps_code *code,
                                  const uint64_t *samples);

#endif
