/*
 * Code: modules, frames in them, stacks of frames, names of frames, and tasks. The recorder finds
 * them, the store keeps them, and readers see them. Numbers count from 0 in a run.
 */
#ifndef RPISTAT_CODE_H
#define RPISTAT_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/sample.h"

/* Kinds of modules. The store has the names: "file", "kernel", "vdso", "jit", "memory",
 * "simulated". */
enum rps_module_kind {
    RPS_MODULE_FILE,      /* an ELF file; a frame's address is an offset in the file */
    RPS_MODULE_KERNEL,    /* the kernel and its modules: the address itself */
    RPS_MODULE_VDSO,      /* offset in the vdso */
    RPS_MODULE_JIT,       /* code made by a process: the address itself; one per process, with the
                             path of its map, /tmp/perf-PID.map */
    RPS_MODULE_MEMORY,    /* no mapping known: the address itself */
    RPS_MODULE_SIMULATED, /* of the simulated processor: the address itself */
    RPS_MODULE_KINDS,
};

const char *rps_module_kind_name(enum rps_module_kind kind);

/* Return the kind of that name; -1: none. */
int rps_module_kind_find(const char *name);

/* Where a process has a module mapped; known only while recording. */
struct rps_module_origin {
    pid_t pid;             /* 0: unknown */
    uid_t user;            /* of the process */
    int has_user;          /* 0: the user is unknown */
    uint32_t major, minor; /* device and */
    uint64_t inode;        /* inode, as the kernel reports those of maps; inode 0: unknown */
    uint64_t start, end;   /* addresses */
};

struct rps_module {
    int64_t module;
    enum rps_module_kind kind;
    const char *path;                        /* as the workload saw it; "[kernel]" */
    char build_id[2 * RPS_BUILD_ID_MAX + 1]; /* in hexadecimal; "": not known */
};

/* Format a build-id of `count` bytes, as modules have it; "" if it is too long. */
char *rps_code_build_id(char ret[2 * RPS_BUILD_ID_MAX + 1], const void *bytes, size_t count);

/* Return 1 if it is the file of a C library, or of its threads. */
int rps_code_is_c_library(const char *path);

struct rps_frame {
    int64_t frame;
    int64_t module;
    uint64_t address;  /* of an instruction: return addresses are one less than on the stack. With
                          many frames, the beginning of a function that represents all of it
                          (code/tracker.h) */
    uint64_t function; /* where the function around it begins, likewise; 0: not known */
};

/* The source of a frame's name. The store has "debug", "symbol", "map", "none". */
enum rps_location_how {
    RPS_LOCATION_DEBUG,  /* debug information: file, line, and inlined functions */
    RPS_LOCATION_SYMBOL, /* a symbol table */
    RPS_LOCATION_MAP,    /* the map of a just-in-time compiler, or the simulation's script */
    RPS_LOCATION_NONE,   /* no name; `function` is the reason: "stripped", "another build now", "not
                            there any more", ... */
    RPS_LOCATION_HOWS,
};

const char *rps_location_how_name(enum rps_location_how how);
int rps_location_how_find(const char *name);

/* A name of a frame. With inlined functions a frame has several. Depth 0 is the innermost, and the
 * last is the function that contains the code. */
struct rps_location {
    int64_t frame;
    int depth;
    const char *function; /* demangled */
    const char *file;     /* of the source, "" not known */
    int line;             /* 0: not known */
    enum rps_location_how how;
};

/* A stack is a frame and the stack that called it: a trie from the outermost frame on. */
struct rps_stack {
    int64_t stack;
    int64_t parent; /* of the caller; -1: none. Lower than its own number */
    int64_t frame;
};

/* A thread that has samples. If an exec gives it another name, it becomes another task. */
struct rps_task {
    int64_t task;
    int64_t pid, tid;
    const char *name;
    int64_t start_ns;   /* first seen, since the start of the run */
    int64_t end_ns;     /* when it ended; -1: not before the recording did, or not known */
    int64_t process_ns; /* for one task of a process: the exact CPU time of the process; -1: not
                           known, or another task has it */
    int64_t cgroup;     /* of its process when the task was first seen; -1: not known */
    const char *file;   /* source file that its process works on; "": none, or not known */
};

struct rps_cgroup {
    int64_t cgroup;
    const char *path; /* from the root of its hierarchy, "/a/b" */
};

#define RPS_TASK_FILE_SIZE 128

/* Read which source file a process works on, from its command line below `proc`. It is the first
 * argument with a suffix of source code, except the value of -o or -main-file-name. ret gets its
 * path's last two components; "": none, or not known. */
void rps_task_file_read(char ret[RPS_TASK_FILE_SIZE], const char *proc, pid_t pid);

#define RPS_CGROUP_TEXT_SIZE 16384

/* Return a process's control group, from PID/cgroup below `proc` (/proc), which lists all
 * hierarchies. Prefer a path that names a container, then that of version 2, then the longest.
 * Hierarchies without the process have "/". The result is part of `text`; NULL: none. */
char *rps_cgroup_read(const char *proc, pid_t pid, char text[RPS_CGROUP_TEXT_SIZE]);

/* Return the name for users, which is a part of the path. It is the container's ID (12 characters),
 * otherwise the systemd unit, otherwise the path. ret_end: end of the container's or unit's path,
 * so that groups below it belong to it. */
const char *rps_cgroup_name(const char *path, size_t *ret_length, size_t *ret_end);

/* The threads of a program (by the name of a process's first thread) that ended while recording and
 * whose exact CPU time is known (RPS_SAMPLE_TIME). */
struct rps_program {
    int64_t program;
    const char *name;
    int64_t cpu_ns;
    uint64_t samples;                                /* of these threads */
    int64_t unsampled_ns;                            /* CPU time of those without samples, */
    uint64_t unsampled_processes, unsampled_threads; /* first threads, and others */
    int64_t wait_ns; /* wait of all its threads for CPUs, in a recording of CPUs; -1: not known */
};

/* The columns of code_count. */
enum rps_code_counted {
    RPS_COUNT_STACKS,  /* samples of each stack */
    RPS_COUNT_TASKS,   /* ... of each task */
    RPS_COUNT_BLOCKED, /* us that threads were off the CPU in each stack */
    RPS_COUNT_KINDS,
};

/* How often a stack or task was seen in a period, or in a block if the run is downsampled. */
struct rps_code_count {
    int level; /* rpistat/period.h */
    int32_t cpu;
    uint64_t period;  /* its number; of a block, the first one's */
    int64_t id;       /* of the stack, or the task */
    uint64_t samples; /* or us */
};

/* All that a store knows of a run's code except the counts, in an arena. Numbers are indices:
 * element i has number i. Missing elements are filled in. Modules have kind MEMORY and the path "",
 * frames have module -1, stacks frame -1, tasks pid -1; programs are empty. */
struct rps_code {
    struct rps_sampling sampling;
    int is_of_machine; /* the run is of CPUs: programs are more informative than functions */
    size_t module_count, frame_count, location_count, stack_count, task_count, program_count,
        cgroup_count;
    struct rps_module *module;
    struct rps_module_origin *origin; /* of each module; NULL: not known, as in stores */
    struct rps_frame *frame;
    struct rps_location *location; /* in order of frame and depth */
    struct rps_stack *stack;
    struct rps_task *task;
    struct rps_program *program;
    struct rps_cgroup *cgroup;
};

#endif
