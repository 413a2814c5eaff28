/* Samples: records that a sampler takes while periods are counted. A sample is the call stack that
 * ran at one moment on one CPU. Other records (mapped files, forks, names of threads) are needed to
 * find the code at its addresses. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Maximum number of addresses in one sample. */
#define RPS_SAMPLE_DEPTH_MAX 128

#define RPS_BUILD_ID_MAX 20 /* maximum length of a build ID in bytes */

enum rps_sample_kind {
    RPS_SAMPLE_STACK, /* a sample of running code */
    RPS_SAMPLE_MAP,   /* executable memory: address, length, file_offset, path, build_id or inode */
    RPS_SAMPLE_FORK,  /* thread parent_tid of process parent_pid created thread tid of process
                         pid */
    RPS_SAMPLE_NAME,  /* Thread tid gets the name `path`. is_exec: 1 if an exec changed the name
                         and removed all mappings. */
    RPS_SAMPLE_EXIT,  /* thread tid of process pid has ended */
    RPS_SAMPLE_TIME,  /* Thread tid of process pid spent cpu_time_ns on `cpu` while the thread
                         could be sampled. After the thread's RPS_SAMPLE_EXIT, there is one
                         record per CPU. At the end of the recording, the record of a thread for
                         which a sampler was opened includes living threads that this thread
                         created. */
    RPS_SAMPLE_WAIT,  /* Thread tid leaves its CPU. The record has a call stack, as for a sample,
                         or `place`. */
    RPS_SAMPLE_ASLEEP, /* Thread tid leaves its CPU and waits. If the thread's stack was taken,
                          the previous record is the thread's RPS_SAMPLE_WAIT. tid 0: from now
                          on, all switches are recorded. */
    RPS_SAMPLE_AWAKE,  /* Thread tid no longer waits: the thread is on a CPU again, or did not
                         wait because another thread took its CPU. tid 0: records since since_ns
                         are missing for threads last seen on `cpu` (-1: any). */
    RPS_SAMPLE_SYMBOL, /* The simulation has a function `path` at map_address with map_length
                          bytes, from source_file and source_line. pid 0: in all processes. */
    RPS_SAMPLE_CGROUP, /* process pid is in the control group `path` */
    RPS_SAMPLE_QUEUE,  /* Thread tid, called `path`, has ended, and waited queue_ns for CPUs. tid
                          0: the recording ends, and the waits of all ended threads are known. */
};

/* Registers of a thread and the top of its stack, for unwinding. */
struct rps_sample_registers {
    const uint64_t *value; /* values of the registers in `mask`, in perf's order for the
                              architecture (asm/perf_regs.h) */
    uint64_t mask;         /* bit mask of the registers in `value`; 0: none */
    const void *stack;     /* copy of the stack, beginning at the stack pointer */
    size_t stack_bytes;    /* size of the copy of the stack */
};

/* A record of a sampler. The record's pointers are valid in the call that passes the record on. */
struct rps_sample {
    enum rps_sample_kind kind;
    int64_t time_ns; /* time by the clock of the event loop, CLOCK_MONOTONIC */
    int32_t cpu;     /* CPU on which the code ran */
    pid_t pid, tid;
    pid_t parent_pid, parent_tid;

    /* CPU time of a RPS_SAMPLE_TIME, and time waited for CPUs of a RPS_SAMPLE_QUEUE. */
    int64_t cpu_time_ns, queue_ns;

    /* Place of a RPS_SAMPLE_WAIT: a number computed from the kernel's addresses, the instruction
     * and the stack pointer; 0: unknown. For place_alike, only the stack pointer's offset in its
     * page is used, so that threads with equal calls have equal numbers. is_partial is 1 if the
     * callers of the instruction are missing. */
    uint64_t place, place_alike;
    int is_partial;

    /* For RPS_SAMPLE_AWAKE: 1 if another thread took the CPU, so the thread did not wait. With tid
     * 0: 1 if records are missing because of a pause. */
    int is_preempted;
    int64_t since_ns;

    /* Addresses of instructions for RPS_SAMPLE_STACK and RPS_SAMPLE_WAIT. The innermost address is
     * first, so that the kernel's addresses are before the workload's addresses. The addresses of
     * callers are return addresses, as on the stack. */
    const uint64_t *address;
    size_t address_count, kernel_count;
    int is_cut; /* 1 if the kernel had no space for the whole call stack */
    struct rps_sample_registers registers;

    /* Address range and file offset for RPS_SAMPLE_MAP and RPS_SAMPLE_SYMBOL. */
    uint64_t map_address, map_length, file_offset;
    uint8_t build_id[RPS_BUILD_ID_MAX];
    size_t build_id_bytes; /* length of the build ID; 0: not known */
    uint32_t major, minor; /* device numbers of the mapped file */
    uint64_t inode;        /* inode of the mapped file; 0: device and inode are unknown */
    int is_exec;
    const char *path; /* path of a file or control group, "[vdso]" or "//anon"; or name of a
                         thread or symbol */

    /* Source line of a RPS_SAMPLE_SYMBOL. A function of n source lines has n records. */
    const char *source_file; /* source file; NULL: not known */
    int source_line;
};

/* Settings and results of sampling. */
struct rps_sampling {
    char event[64];     /* sampled event: "cpu-clock", "cycles", "cache-misses" */
    uint64_t frequency; /* samples per second and CPU; 0: `threshold` is used */
    uint64_t threshold; /* number of events per sample; 0: `frequency` is used */
    int is_wide;        /* 1 if whole CPUs were sampled and the samples of other processes were
                           dropped, so that short processes are sampled, too. 0 if tasks and
                           their children were sampled, so that tasks shorter than an interval
                           are mostly missed. */
    int is_fixed;       /* 1 if samples were taken by time, at a constant interval per thread. If
                           the work repeats at the same interval, samples are then always at the
                           same place. 0: the interval varies. */
    int is_incomplete;  /* For readers: 1 if Linux stopped counting and sampling some processes. */
    int64_t user_ns,
        kernel_ns;       /* For readers: CPU time of the command in user mode and in the kernel,
                           which Linux reported at the end. -1: unknown. */
    char stacks[16];     /* Kind of call stacks: "auto" ("fp" if not available), "fp", "dwarf",
                           "lbr", or "none" (only the innermost frame). */
    uint64_t samples;    /* number of samples taken */
    uint64_t complete;   /* Samples with a complete call stack up to the thread's beginning. With
                           "fp", every stack that reaches the beginning is counted, although
                           callers may be missing in between. */
    uint64_t lost;       /* samples for which the kernel or the recorder had no space */
    uint64_t throttled;  /* number of pauses that the kernel made because there were too many
                           samples per second */
    uint64_t unmapped;   /* number of addresses without a known mapping */
    uint64_t lookups;    /* Number of losses of fork records. After each loss, the target's
                           processes are searched among the running processes; a process whose
                           parent has ended may be missed. */
    int has_waits;       /* 1 if stacks of threads that leave their CPU were taken, too */
    uint64_t blocked_us; /* total time off the CPU of threads whose stack was taken */
    uint64_t blocked_of; /* Stacks were taken in one of this many intervals of .1 s, because of
                            frequent switches (1: in all intervals; 0: in none). After the
                            recording, this is the maximum during the recording. */
    uint64_t
        blocked_off_us; /* time off the CPU in waits of unknown cause, in addition to blocked_us */
    uint64_t switches_lost; /* number of switches that were lost because there was no space */
    char no_wait[80];       /* Reason why rps_program.wait_ns is unknown or incomplete. "" if
                               wait_ns is complete or was not requested. */
};

/* A receiver of samples in order of time. The receiver must not wait, because the measurement loop
 * calls it. */
struct rps_sample_sink {
    void *context;
    void (*sample)(void *context, const struct rps_sample *sample);
};
