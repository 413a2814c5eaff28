/*
 * Shares: where the samples of a part of a run were: by function, line, module, process, thread,
 * program or control group, and as a tree of calls. Pure functions over what the store holds.
 */
#ifndef RPISTAT_SHARES_H
#define RPISTAT_SHARES_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/code.h"
#include "rpistat/part_shares.h"

/* The kinds of rows of shares. A program is all processes of one name; control groups of one
 * container or unit are one. */
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

/* What code without a name is one function of, where it is not known where its function begins; by
 * pages, what is inlined belongs to the function that has it. */
enum rps_unnamed {
    RPS_UNNAMED_ADDRESS,  /* "libm.so.6+0x1a2b" */
    RPS_UNNAMED_MODULE,   /* "[libm.so.6]": in trees of calls */
    RPS_UNNAMED_FUNCTION, /* likewise, but "libm.so.6+0x1a00" where it is known where it begins */
    RPS_UNNAMED_PAGE,     /* of 4 KiB: "libm.so.6+0x1000" */
    RPS_UNNAMED_PLACE,    /* of 4 KiB; where it is known where a function begins, it has no name */
};

/* A function is what has one name in modules of one path, inlined or not. Code without a name is a
 * function by where it begins, and where that is not known, and as a line, for each address. */
struct rps_share {
    const char *name;   /* a function, a module's path, a process's name */
    const char *module; /* path, of control groups too; "" of tasks and programs */
    const char *file;   /* of functions and lines; "" not known */
    int line;         /* of a line; of a function the one that most samples were at; 0 not known */
    int64_t pid, tid; /* of tasks; -1 */
    int64_t cpu_ns;   /* of processes, exact; -1: not known */
    size_t processes; /* of programs and control groups: that were seen; 0 of others */
    size_t item;      /* number of the function, line or module, the same for all samples */
    int is_kernel;
    enum rps_location_how how;
    uint64_t self;  /* samples in which it was the innermost */
    uint64_t total; /* samples in whose stack it was, however often; of tasks as self */
};

struct rps_shares {
    uint64_t samples; /* all */
    size_t count;
    struct rps_share
        *share; /* most of self first, then total, then by name; none without samples */
};

/* Shares of samples: samples[i] is how often stack i of the code was seen (or task i: PROCESS and
 * THREAD), as long as the code's stack_count (task_count). What is found, here and below, lies in the
 * arena and borrows the code's texts. */
struct rps_shares rps_shares_find(struct rps_arena *arena, const struct rps_code *code,
                                  const uint64_t *samples, enum rps_shares_by by);

/* The places of the largest numbers above 0, the largest first, `most` of them at most. Returns how
 * many there are. */
size_t rps_shares_largest(const uint64_t *number, size_t count, size_t most, size_t *ret);

/* The number of the function that is innermost in each stack, the innermost of the workload with
 * `user`, as long as stack_count; -1: none. Functions are numbered from 0 as they come; *ret_name
 * gets their names, without lines. */
int64_t *rps_shares_functions(struct rps_arena *arena, const struct rps_code *code, int user,
                              enum rps_unnamed unnamed, struct rps_share_name **ret_name,
                              size_t *ret_count);

/* Give these functions, which were named with that `unnamed`, the lines that most of these samples of
 * stacks were at. */
void rps_shares_place(const struct rps_code *code, enum rps_unnamed unnamed,
                      const uint64_t *samples, struct rps_share_name *name);

/* Were several processes seen? */
int rps_shares_has_processes(const struct rps_code *code);

/* Do programs say more than these functions of a part of a run? Of a machine they do; and of several
 * processes, where code without a name has together more of the samples than any function. */
int rps_shares_are_of_programs(const struct rps_code *code, const struct rps_share_name *function,
                               const uint64_t *samples, size_t count);

/* Find the process of each task, as a number lower than task_count. Linux reuses PIDs: a thread
 * belongs to the process whose first thread lived at that time. ret_first gets the task of that
 * first thread, plus 1, or 0 if it was never sampled. */
size_t *rps_shares_processes(struct rps_arena *arena, const struct rps_code *code,
                             size_t *ret_first);

#define RPS_SHARES_ONE_PROGRAM .9 /* share of samples from which functions are named instead */

/* The number of the program, or control group, that each task is of, as long as task_count.
 * Programs are the names of processes, those of their first threads; *ret_name gets them, with the
 * paths of groups as modules. *ret_process gets a number, lower than task_count, of each task's
 * process, and another one where that is of another owner; unless it is NULL. */
int64_t *rps_shares_owners(struct rps_arena *arena, const struct rps_code *code,
                           enum rps_shares_by by, struct rps_share_name **ret_name,
                           size_t *ret_count, size_t **ret_process);

/* A tree of calls: nodes in order, each behind its parent; node 0 is the root, of all samples. */
struct rps_call {
    size_t parent;        /* of the root: itself */
    size_t item;          /* number of the function, the same in all its nodes; of the root: 0 */
    const char *function; /* of the root: "all" */
    const char *module, *file;
    int line;
    int is_kernel, is_inlined;
    uint64_t self, total;
};

struct rps_calls {
    size_t count;
    struct rps_call *call;
    size_t *node; /* of each stack where it ends; SIZE_MAX: it has no samples */
};

/* The tree of `samples` (of stacks, as above), frames of one function as one node; none without
 * samples but the root. */
struct rps_calls rps_shares_calls(struct rps_arena *arena, const struct rps_code *code,
                                  const uint64_t *samples);

#endif
