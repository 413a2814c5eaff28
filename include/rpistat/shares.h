/* Shares: the samples of a part of a run by function, line, module, process, thread, program or
 * control group, or as a call tree. All functions are pure functions over data from the store. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/code.h"
#include "rpistat/part_shares.h"

/* Kinds of rows of shares. All processes with the same name are one program. All control groups of
 * a container or unit are one row. */
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

/* How to divide code without a name into functions if the beginnings of functions are not known. If
 * code is divided by page, inlined code belongs to the function that contains the inlined code. */
enum rps_unnamed {
    RPS_UNNAMED_ADDRESS,  /* by address: "libm.so.6+0x1a2b" */
    RPS_UNNAMED_MODULE,   /* by module: "[libm.so.6]", for call trees */
    RPS_UNNAMED_FUNCTION, /* by module, or by the function's beginning if it is known:
                             "libm.so.6+0x1a00" */
    RPS_UNNAMED_PAGE,     /* by page of 4 KiB: "libm.so.6+0x1000" */
    RPS_UNNAMED_PLACE,    /* by page of 4 KiB, even if the function's beginning is known; all code
                             that a process made is one function */
};

/* The share of a row. A function in all modules with one path is one row, whether it was inlined or
 * not. Code without a name has one row per function whose beginning is known. If the beginning is
 * unknown, or if rows are lines, code without a name is one row per address. */
struct rps_share {
    const char *name;   /* name of a function or process, or path of a module */
    const char *module; /* path of the module or control group; "" for tasks and programs */
    const char *file;   /* source file of a function or line; "": not known */
    int line;           /* Line number; for a function, the line with most samples. 0: unknown. */
    int64_t pid, tid;   /* IDs of a task; otherwise -1 */
    int64_t cpu_ns;     /* exact CPU time of a process; -1: not known */
    size_t processes;   /* number of sampled processes of a program or control group; otherwise 0 */
    size_t item;        /* number of the row's function, thread, ..., equal for all results */
    int is_kernel;
    enum rps_location_how how;
    uint64_t self;  /* samples in which the row's code was innermost */
    uint64_t total; /* samples with the row's code in any frame; for tasks: equal to self */
};

struct rps_shares {
    uint64_t samples; /* number of all samples */
    size_t count;
    struct rps_share
        *share; /* Rows with samples, ordered by self, then total (both descending), then name. */
};

/* Find the shares of samples. samples[i] is the number of samples of stack i of the code, or of
 * task i if rows are processes or threads. The array has stack_count (or task_count) numbers. The
 * results are in the arena and borrow the code's texts, also in the functions below. */
struct rps_shares rps_shares_find(struct rps_arena *arena, const struct rps_code *code,
                                  const uint64_t *samples, enum rps_shares_by by);

/* Find the indices of the largest numbers above 0, at most `most`, with the largest number first.
 * Return how many were found. */
size_t rps_shares_largest(const uint64_t *number, size_t count, size_t most, size_t *ret);

/* Return the number of each stack's innermost function (-1: none). If `user` is 1, only functions
 * outside the kernel are considered. Functions are numbered from 0 in order of appearance.
 * *ret_name receives their names, without lines. */
int64_t *rps_shares_functions(struct rps_arena *arena, const struct rps_code *code, int user,
                              enum rps_unnamed unnamed, struct rps_share_name **ret_name,
                              size_t *ret_count);

/* Set the line of each function to the line in which the function has most samples. `unnamed` must
 * be the value that was used to name the functions. */
void rps_shares_place(const struct rps_code *code, enum rps_unnamed unnamed,
                      const uint64_t *samples, struct rps_share_name *name);

/* Return 1 if several processes have samples. */
int rps_shares_has_processes(const struct rps_code *code);

/* Return 1 if shares of programs are more informative than shares of these functions. Programs are
 * more informative if the run recorded a machine. They are also more informative if there are
 * several processes, and unnamed code has more samples than any function. */
int rps_shares_are_of_programs(const struct rps_code *code, const struct rps_share_name *function,
                               const uint64_t *samples, size_t count);

/* Find the process of each task, as a number lower than task_count. Because Linux reuses PIDs, a
 * thread belongs to the process whose first thread lived then. ret_first receives the task number
 * of the process's first thread plus 1, or 0 if the first thread was never sampled. */
size_t *rps_shares_processes(struct rps_arena *arena, const struct rps_code *code,
                             size_t *ret_first);

#define RPS_SHARES_ONE_PROGRAM .97 /* above this share of one program, functions are named */

/* Return the number of each task's program or control group. A program has the name of its
 * processes' first threads; of a process whose first thread has no samples, that of the sampled
 * thread with the lowest number. With RPS_SHARES_THREAD, such threads have their own names.
 * *ret_name receives the names; a control group has its path as its module. *ret_process (may be
 * NULL) receives a number lower than task_count for each task's process. Processes of different
 * owners have different numbers. */
int64_t *rps_shares_owners(struct rps_arena *arena, const struct rps_code *code,
                           enum rps_shares_by by, struct rps_share_name **ret_name,
                           size_t *ret_count, size_t **ret_process);

/* A node of a call tree. Each node comes after its parent. Node 0 is the root, with all samples. */
struct rps_call {
    size_t parent;        /* index of the parent; the root is its own parent */
    size_t item;          /* number of the function, equal in all its nodes; 0 for the root */
    const char *function; /* name of the function; "all" for the root */
    const char *module, *file;
    int line;
    int is_kernel, is_inlined;
    uint64_t self, total;
};

struct rps_calls {
    size_t count;
    struct rps_call *call;
    size_t *node; /* node at which each stack ends; SIZE_MAX: no samples */
};

/* Make the call tree of samples, numbered as for rps_shares_find. Frames of one function below the
 * same caller share a node. Every node except the root has samples. */
struct rps_calls rps_shares_calls(struct rps_arena *arena, const struct rps_code *code,
                                  const uint64_t *samples);
