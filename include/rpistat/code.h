/* The program code that a run sampled: modules, frames in modules, stacks of frames, names of
 * frames, and tasks. The recorder finds the code, the store keeps it, and readers use it. Each run
 * numbers the items from 0. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/sample.h"

/* Kinds of modules, with these names in the store: "file", "kernel", "vdso", "jit", "memory",
 * "simulated". */
enum rps_module_kind {
    RPS_MODULE_FILE,      /* ELF file; a frame's address is an offset in the file */
    RPS_MODULE_KERNEL,    /* Kernel and kernel modules; a frame's address is absolute */
    RPS_MODULE_VDSO,      /* vdso; a frame's address is an offset in it */
    RPS_MODULE_JIT,       /* Code that a process generated; addresses are absolute. Each process
                             has its own module, with the path of its map, /tmp/perf-PID.map. */
    RPS_MODULE_MEMORY,    /* Memory without a known mapping; addresses are absolute */
    RPS_MODULE_SIMULATED, /* Simulated processor; addresses are absolute */
    RPS_MODULE_KINDS,
};

const char *rps_module_kind_name(enum rps_module_kind kind);

/* Return the kind of module with the given name, or -1. */
int rps_module_kind_find(const char *name);

/* Origin of a module mapped in a process, known only while recording. */
struct rps_module_origin {
    pid_t pid;             /* Process ID (0: unknown) */
    uid_t user;            /* User of the process */
    int has_user;          /* 1 if the user is known, 0 if not */
    uint32_t major, minor; /* Device of the mapped file */
    uint64_t inode;        /* Inode as the kernel reports it in maps (0: unknown) */
    uint64_t start, end;   /* Addresses of the mapping */
};

struct rps_module {
    int64_t module;
    enum rps_module_kind kind;
    const char *path;                        /* Path as the workload saw it, or "[kernel]" */
    char build_id[2 * RPS_BUILD_ID_MAX + 1]; /* Build-id in hexadecimal ("": unknown) */
};

/* Format a build-id of `count` bytes as hexadecimal text, or "" if the build-id is too long. */
char *rps_code_build_id(char ret[2 * RPS_BUILD_ID_MAX + 1], const void *bytes, size_t count);

/* Return 1 if the path is the file of a C library or of its thread library. */
int rps_code_is_c_library(const char *path);

struct rps_frame {
    int64_t frame;
    int64_t module;
    uint64_t address;  /* Address of an instruction. A return address is stored minus one. If
                          there are many frames, the address is the start of the function
                          (code/record_tracker.h). */
    uint64_t function; /* Address at which the frame's function begins (0: unknown) */
};

/* The source of a frame's name. The store has "debug", "symbol", "map", "none". */
enum rps_location_how {
    RPS_LOCATION_DEBUG,  /* Name from debug information, with file, line, and inlined functions */
    RPS_LOCATION_SYMBOL, /* Name from a symbol table */
    RPS_LOCATION_MAP,    /* Name from the map of a just-in-time compiler or a simulation's script */
    RPS_LOCATION_NONE,   /* No name. `function` has the reason: "stripped", "another build now",
                            "not there any more", ... */
    RPS_LOCATION_HOWS,
};

const char *rps_location_how_name(enum rps_location_how how);
int rps_location_how_find(const char *name);

/* Reason of frames in JIT-compiled code without the map of its functions. */
#define RPS_LOCATION_NO_MAP "its compiler wrote no map"

/* A name of a frame. A frame in inlined functions has several names. Depth 0 is the innermost
 * function. The name with the largest depth is the function into which the others were inlined. */
struct rps_location {
    int64_t frame;
    int depth;
    const char *function; /* Demangled name of the function */
    const char *file;     /* Source file ("": unknown) */
    int line;             /* Line in the source file (0: unknown) */
    enum rps_location_how how;
};

/* A stack is a frame and the stack that called it. Stacks form a trie from the outermost frame. */
struct rps_stack {
    int64_t stack;
    int64_t parent; /* Stack of the caller, with a lower number (-1: none) */
    int64_t frame;
};

/* A thread that has samples. If an exec changes the thread's name, it becomes another task. */
struct rps_task {
    int64_t task;
    int64_t pid, tid;
    const char *name;
    int64_t start_ns;   /* Time at which the task was first seen, since the start of the run */
    int64_t end_ns;     /* Time at which the task ended (-1: unknown or after the recording) */
    int64_t process_ns; /* Exact CPU time of the process, in only one task per process (-1:
                           unknown, or in another task) */
    int64_t cgroup;     /* Control group of the process when first seen (-1: unknown) */
    const char *file;   /* Source file that the process works on ("": none or unknown) */
};

struct rps_cgroup {
    int64_t cgroup;
    const char *path; /* Path from the root of the hierarchy, such as "/a/b" */
};

#define RPS_TASK_FILE_SIZE 128

/* Read which source file a process works on, from its command line below `proc`. The file is the
 * first argument with a suffix of source code, except the value of -o or -main-file-name. Write the
 * last two components of the path to ret ("": none or unknown). */
void rps_task_file_read(char ret[RPS_TASK_FILE_SIZE], const char *proc, pid_t pid);

#define RPS_CGROUP_TEXT_SIZE 16384

/* Return a process's control group, from PID/cgroup below `proc` (/proc), which lists all
 * hierarchies. Prefer a path that names a container, then the path in cgroup version 2, then the
 * longest path. A hierarchy that has no group for the process has the path "/". The result points
 * into `text`, or is NULL. */
char *rps_cgroup_read(const char *proc, pid_t pid, char text[RPS_CGROUP_TEXT_SIZE]);

/* Return the part of a control group's path that is its name for users. The name is the container's
 * ID (12 characters), otherwise the systemd unit, otherwise the path. Set ret_end to the end of the
 * container's or unit's path, so that groups below this path belong to the container or unit. */
const char *rps_cgroup_name(const char *path, size_t *ret_length, size_t *ret_end);

/* The threads of a program. Only threads that ended during the recording and whose exact CPU time
 * is known (RPS_SAMPLE_TIME) are included. A program is named by the first thread of a process. */
struct rps_program {
    int64_t program;
    const char *name;
    int64_t cpu_ns;
    uint64_t samples;                                /* Samples of the program's threads */
    int64_t unsampled_ns;                            /* CPU time of threads without samples */
    uint64_t unsampled_processes, unsampled_threads; /* Unsampled processes and other threads */
    int64_t wait_ns; /* Time that threads waited for CPUs, if CPUs are recorded (-1: unknown) */
};

/* Columns of the store's table code_count. */
enum rps_code_counted {
    RPS_COUNT_STACKS,  /* Number of samples of each stack */
    RPS_COUNT_TASKS,   /* Number of samples of each task */
    RPS_COUNT_BLOCKED, /* Time in us that threads with each stack were off the CPU */
    RPS_COUNT_KINDS,
};

/* Count of a stack or task in a period, or in a block of periods if the run is downsampled. */
struct rps_code_count {
    int level; /* Level of the block (rpistat/period.h) */
    int32_t cpu;
    uint64_t period;  /* Number of the period, or of the first period in the block */
    int64_t id;       /* Number of the stack or task */
    uint64_t samples; /* Number of samples; for RPS_COUNT_BLOCKED, time in us */
};

/* The code of a run in a store, without code_count, in an arena. Items are numbered by their index:
 * element i is item i. Items that the store lacks are filled in. A missing module has kind MEMORY
 * and the path "". Missing frames have module -1, missing stacks have frame -1, and missing tasks
 * have pid -1. A missing program is empty. */
struct rps_code {
    struct rps_sampling sampling;
    int is_of_machine; /* 1 if the run recorded CPUs, so that programs are more informative than
                          functions */
    size_t module_count, frame_count, location_count, stack_count, task_count, program_count,
        cgroup_count;
    struct rps_module *module;
    struct rps_module_origin *origin; /* Origin of each module (NULL: unknown, as in stores) */
    struct rps_frame *frame;
    struct rps_location *location; /* Names of frames, in order of frame and depth */
    struct rps_stack *stack;
    struct rps_task *task;
    struct rps_program *program;
    struct rps_cgroup *cgroup;
    const struct rps_sample_source *source; /* Counts that were read before; NULL: none */
};
