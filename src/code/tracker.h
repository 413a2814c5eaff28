/*
 * The tracker: from samples to modules, frames, stacks and tasks with numbers of their own. It
 * knows which file each process has mapped where, and has stacks that were copied unwound, in a
 * process of its own, since the files may be hostile. Its memory grows with the code that was seen,
 * not with time.
 */
#ifndef RPISTAT_CODE_TRACKER_H
#define RPISTAT_CODE_TRACKER_H

#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/code.h"
#include "rpistat/error.h"
#include "rpistat/sample.h"

/*
 * So many frames are instructions. From then on frames are functions: an address counts as the
 * beginning of its function, which is known without names, and has a frame of its own only when it
 * is innermost for the fourth time, so that lines stay known of where most samples are; functions
 * that call themselves are one frame. The kernel has no lines: there an address never has a frame of
 * its own. Where functions are not known (code made by a process, files without the table)
 * addresses stay.
 */
#define RPS_TRACKER_EXACT_MAX   2048
#define RPS_TRACKER_OWN_SAMPLES 4

/* Frames that are told apart at all; above, what has no known function counts as the beginning of
 * its page of code (4 KiB). */
#define RPS_TRACKER_FRAMES_MAX 200000

/* Who gets what is new, each before the first that refers to it. Texts are borrowed. */
struct rps_tracker_sink {
    void *context;
    void (*module)(void *context, const struct rps_module *module);
    void (*frame)(void *context, const struct rps_frame *frame);
    void (*stack)(void *context, const struct rps_stack *stack);
    void (*cgroup)(void *context, const struct rps_cgroup *cgroup);
    /* Again when it has another name, or has ended. */
    void (*task)(void *context, const struct rps_task *task);
    /* Of the process of a task that was told, which has ended: its exact CPU time. */
    void (*process_time)(void *context, int64_t task, int64_t cpu_ns);
    /* rps_tracker_tell_programs. */
    void (*program)(void *context, const struct rps_program *program);
    /* A sample at time_ns, on the clock of the samples: who ran, and where. */
    void (*count)(void *context, int64_t time_ns, int32_t cpu, int64_t stack, int64_t task);
    /* A thread was off the CPU, in that stack, and not for another's turn. Parts of a long wait come
     * one after another. */
    void (*blocked)(void *context, int64_t from_ns, int64_t to_ns, int32_t cpu, int64_t stack);
    /* From now on, at time_ns, callers of this file's functions are missing: the process that
     * unwinds has died of it. Once a file. */
    void (*incomplete)(void *context, int64_t time_ns, const char *path);
};

struct rps_tracker;

/* start_ns: the run's start on the clock of the samples. RPS_FAILED without memory. */
int rps_tracker_new(struct rps_tracker **ret, int64_t start_ns, const struct rps_tracker_sink *sink,
                    struct rps_error *err);
void rps_tracker_free(struct rps_tracker *tracker);

/* From now on tasks have the control groups of their processes, below `proc`, which is borrowed, as
 * /proc. Each is read when a sample of it comes for the first time, and again after an exec; that of
 * a process that has ended by then is its parent's. */
void rps_tracker_read_cgroups(struct rps_tracker *tracker, const char *proc);

/* A process that runs already: its maps, threads and their names, from /proc. One that has ended
 * meanwhile has none. */
void rps_tracker_add_process(struct rps_tracker *tracker, pid_t pid);

/* The next sample, in order of time. Without memory it is counted as lost. */
void rps_tracker_add(struct rps_tracker *tracker, const struct rps_sample *sample);

/* Add the next sample; where control groups are read, first add its process, or the one that forks.
 * A process that moved into a control group after its exec has sent no record before. */
void rps_tracker_add_known(struct rps_tracker *tracker, const struct rps_sample *sample);

/* Read that of a process now; -1: it has none. */
int rps_tracker_add_cgroup(struct rps_tracker *tracker, pid_t pid);

/* Hand over how long threads wait that still do, until then. All samples before it came. */
void rps_tracker_tell_waits(struct rps_tracker *tracker, int64_t until_ns);

/* Read how long a workload that waits for its exec has been on CPUs and in their queues. */
void rps_tracker_add_workload(struct rps_tracker *tracker, const char *proc, pid_t pid);

/* Read from schedstat below `proc` how long threads that switched were on CPUs and in their queues.
 * Also read the stacks of threads that sleep in a wait without a stack. time_ns is now. Reads the
 * files of at most 64 threads; does nothing in a simulation. */
void rps_tracker_check_waits(struct rps_tracker *tracker, const char *proc, int64_t time_ns);

/* Read below `proc`, which is borrowed, how long the threads have waited for CPUs: RPS_SAMPLE_QUEUE
 * counts from here on, which is time_ns. */
void rps_tracker_begin_queues(struct rps_tracker *tracker, const char *proc, int64_t time_ns);

/* Time that threads were off the CPU in waits that are not known, ns. */
int64_t rps_tracker_unknown_waits(const struct rps_tracker *tracker);

/* Hand over the programs that have changed since the last call; files that were read are closed. Once
 * a second, or so. */
void rps_tracker_tell_programs(struct rps_tracker *tracker);

/* No sample comes any more: end the process that unwinds, if there is one. Returns the CPU time
 * that it took, ns. */
int64_t rps_tracker_end(struct rps_tracker *tracker);

/* Its part of *ret: samples, unmapped, and complete, those whose stack reaches to where the thread
 * began as far as it can be told by the names so far; adds what it lost to `lost`. */
void rps_tracker_status(const struct rps_tracker *tracker, struct rps_sampling *ret);

/* 1: there is no frame that has not been asked for, or a simulation tells the names. */
int rps_tracker_is_named(const struct rps_tracker *tracker);

/* What is to be named: its modules, and the frames that have not been asked for, with their numbers
 * (.frame); at the end those too whose just-in-time compiler had not told. Symbols of a simulation
 * are locations already. In the arena, but for texts, which are the tracker's. */
struct rps_code rps_tracker_code(struct rps_arena *arena, const struct rps_tracker *tracker,
                                 int is_end);

/* A frame was asked for: this is its last location, the function that has the code. 0: the location
 * is but the reason why there is no name, and was told of another frame of the module. */
int rps_tracker_name(struct rps_tracker *tracker, const struct rps_location *outermost);

#endif
