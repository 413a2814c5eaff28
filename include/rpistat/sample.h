/*
 * Samples: what a sampler hands over beside the periods. A sample is the call stack that ran at one
 * moment on one CPU; the other kinds tell what is needed to say later which code its addresses
 * were: which file was mapped where, which process came of which, what a thread is called.
 */
#ifndef RPISTAT_SAMPLE_H
#define RPISTAT_SAMPLE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Addresses of one sample at most. */
#define RPS_SAMPLE_DEPTH_MAX 128

#define RPS_BUILD_ID_MAX 20 /* bytes */

enum rps_sample_kind {
    RPS_SAMPLE_STACK, /* a sample */
    RPS_SAMPLE_MAP,   /* executable memory: address, length, file_offset, path, build_id or inode */
    RPS_SAMPLE_FORK,  /* thread tid of process pid was made by parent_pid, parent_tid */
    RPS_SAMPLE_NAME,  /* thread tid is called `path`; is_exec: by an exec, which empties memory */
    RPS_SAMPLE_EXIT,  /* thread tid of process pid has ended */
    RPS_SAMPLE_TIME,  /* thread tid of process pid had cpu_time_ns on `cpu` while it could be
                          sampled: once for each CPU that it was on, behind its RPS_SAMPLE_EXIT; of
                          threads that were opened when the recording ends, with what those that
                          they made, and that go on, have had */
    RPS_SAMPLE_WAIT,  /* thread tid leaves its CPU, in the stack of a sample, or at a place */
    RPS_SAMPLE_ASLEEP, /* thread tid leaves its CPU and waits; RPS_SAMPLE_WAIT just before it has the
                          stack, if one was taken. tid 0: from now on all switches are read */
    RPS_SAMPLE_AWAKE, /* thread tid waits no longer since then: it is on a CPU again, or left it for
                          another's turn. tid 0: records are missing from since_ns on, of the threads
                          that were seen on `cpu` last; cpu -1: of all threads */
    RPS_SAMPLE_SYMBOL, /* a simulation's code at map_address, map_length long: function `path`, of
                          source_file and source_line; pid 0: in all processes */
    RPS_SAMPLE_CGROUP, /* process pid is in the control group `path` */
    RPS_SAMPLE_QUEUE,  /* thread tid, called `path`, has ended, and waited queue_ns for CPUs. tid 0:
                          the recording ends, and this is known of all threads that ended */
};

/* What a thread's registers and the top of its stack were, for unwinding. */
struct rps_sample_registers {
    const uint64_t *value; /* in perf's order for the architecture (asm/perf_regs.h), those that
                              `mask` has */
    uint64_t mask;         /* 0: none */
    const void *stack;     /* copy of the stack from its pointer on */
    size_t stack_bytes;    /* that were copied */
};

/* Everything that is pointed to is borrowed for the call that hands it over. */
struct rps_sample {
    enum rps_sample_kind kind;
    int64_t time_ns; /* the event loop's clock: CLOCK_MONOTONIC */
    int32_t cpu;     /* that it ran on */
    pid_t pid, tid;
    pid_t parent_pid, parent_tid;

    /* RPS_SAMPLE_TIME; RPS_SAMPLE_QUEUE */
    int64_t cpu_time_ns, queue_ns;

    /* RPS_SAMPLE_WAIT: a number for the kernel's addresses, the instruction and the stack pointer; 0:
     * not known. place_alike: of the stack pointer its place in its page alone, which threads with the
     * same calls share. is_partial: addresses are those, without the callers of the instruction */
    uint64_t place, place_alike;
    int is_partial;

    /* RPS_SAMPLE_AWAKE: it left its CPU for another's turn, and has not waited at all. Of tid 0: a
     * pause */
    int is_preempted;
    int64_t since_ns;

    /* RPS_SAMPLE_STACK and RPS_SAMPLE_WAIT: addresses of instructions, the innermost first, the kernel's before the
     * workload's. Those that are behind a call are return addresses, as the stack has them. */
    const uint64_t *address;
    size_t address_count, kernel_count;
    int is_cut; /* the kernel had no room for the whole chain */
    struct rps_sample_registers registers;

    /* RPS_SAMPLE_MAP and RPS_SAMPLE_SYMBOL */
    uint64_t map_address, map_length, file_offset;
    uint8_t build_id[RPS_BUILD_ID_MAX];
    size_t build_id_bytes; /* 0: not known */
    uint32_t major, minor; /* of the file's device; */
    uint64_t inode;        /* 0: neither is known */
    int is_exec;
    const char *path; /* of a file, "[vdso]", "//anon", a group; the name of a thread, or symbol */

    /* RPS_SAMPLE_SYMBOL. A function of several lines is as many symbols. */
    const char *source_file; /* NULL: not known */
    int source_line;
};

/* What sampling was, and came to. */
struct rps_sampling {
    char event[64];     /* "cpu-clock", "cycles", "cache-misses" */
    uint64_t frequency; /* samples a second and CPU; 0: by threshold */
    uint64_t threshold; /* a sample each so many events; 0: by frequency */
    int is_wide;        /* whole CPUs were sampled, and what is not the target's was dropped: every
                           process has its share. 0: tasks, with their children: those that live for
                           less than an interval are hardly seen */
    int is_fixed;       /* by time, and each thread keeps the interval that it began with, so that
                           what repeats itself in this time is seen at one place. 0: it varies */
    int is_incomplete;  /* of readers: Linux stopped counting and sampling some processes */
    int64_t user_ns,
        kernel_ns;      /* of readers: a command's CPU time in its code and in the kernel, as
                                   Linux told when it had ended; -1: not known */
    char stacks[16];    /* "auto", "fp", "dwarf", "lbr", "none": innermost frames alone. What was
                           asked for as auto, and could not be had, is fp */
    uint64_t samples;   /* taken */
    uint64_t complete;  /* of them: whose stack reaches to where the thread began, and has all
                           callers; of "fp", which does not know, those that reach it */
    uint64_t lost;      /* the kernel had no room for, or the recorder */
    uint64_t throttled; /* times that the kernel stopped sampling for a moment: too many a second */
    uint64_t unmapped;  /* addresses for which no mapping was known */
    uint64_t lookups;   /* times that forks were lost, and the target's processes were looked up
                           among those that run: an orphan may be missing */
    int has_waits;      /* stacks of threads that leave their CPU were taken, too */
    uint64_t blocked_us; /* of them: time until they were on one again, */
    uint64_t blocked_of; /* stacks were taken in one of so many stretches of .1 s, while there were
                               many switches; 1: all; 0: in none, there are too many. At the end the most */
    uint64_t
        blocked_off_us; /* time that threads were off the CPU, too, and in which waits is not known */
    uint64_t switches_lost; /* and the switches for which there was no room */
    char no_wait[80];       /* why rps_program.wait_ns is not known, or not whole; "" it is, or it
                               was not asked for */
};

/* Who gets them, in order of time. Called on the measurement loop: must not wait. */
struct rps_sample_sink {
    void *context;
    void (*sample)(void *context, const struct rps_sample *sample);
};

#endif
