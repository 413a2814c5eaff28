/*
 * The tracker turns samples into numbered modules, frames, stacks and tasks. It knows the files
 * that each process has mapped. It has copied stacks unwound in a separate process, since the files
 * may be hostile. Its memory grows with the code that was seen, not with time.
 */
#ifndef RPISTAT_CODE_TRACKER_H
#define RPISTAT_CODE_TRACKER_H

#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/code.h"
#include "rpistat/error.h"
#include "rpistat/sample.h"

/*
 * Up to this number, frames are instructions. After that, frames are functions: an address counts
 * as the beginning of its function, which is known without names. It gets its own frame only when
 * it is innermost for the fourth time, so that lines with many samples stay known. Recursive
 * functions are one frame. The kernel has no lines, so its addresses never get their own frames.
 * Addresses are kept where functions are not known (code made by a process, files without the
 * table).
 */
#define RPS_TRACKER_EXACT_MAX   2048
#define RPS_TRACKER_OWN_SAMPLES 4

/* Maximum number of separate frames. Above it, an address without a known function counts as the
 * beginning of its page of code (4 KiB). */
#define RPS_TRACKER_FRAMES_MAX 200000

/* Receives each new item before the first that refers to it. Texts are borrowed. */
struct rps_tracker_sink {
    void *context;
    void (*module)(void *context, const struct rps_module *module);
    void (*frame)(void *context, const struct rps_frame *frame);
    void (*stack)(void *context, const struct rps_stack *stack);
    void (*cgroup)(void *context, const struct rps_cgroup *cgroup);
    /* Called again when the task has another name, or has ended. */
    void (*task)(void *context, const struct rps_task *task);
    /* The exact CPU time of a process that has ended, by a task that was reported before. */
    void (*process_time)(void *context, int64_t task, int64_t cpu_ns);
    /* Called by rps_tracker_tell_programs. */
    void (*program)(void *context, const struct rps_program *program);
    /* A sample at time_ns, on the clock of the samples, with its stack and task. */
    void (*count)(void *context, int64_t time_ns, int32_t cpu, int64_t stack, int64_t task);
    /* A thread was off the CPU in that stack, and was not preempted. Parts of a long wait come one
     * after another. */
    void (*blocked)(void *context, int64_t from_ns, int64_t to_ns, int32_t cpu, int64_t stack);
    /* Callers of this file's functions are missing from time_ns on, because the process that
     * unwinds has died of the file. Called once per file. */
    void (*incomplete)(void *context, int64_t time_ns, const char *path);
};

struct rps_tracker;

/* Create a tracker. start_ns: the run's start on the clock of the samples. RPS_FAILED: no
 * memory. */
int rps_tracker_new(struct rps_tracker **ret, int64_t start_ns, const struct rps_tracker_sink *sink,
                    struct rps_error *err);
void rps_tracker_free(struct rps_tracker *tracker);

/* Give tasks from now on the control groups of their processes, read below `proc` (/proc), which is
 * borrowed. A control group is read at the first sample of its process, and again after an exec. A
 * process that has ended by then gets its parent's. */
void rps_tracker_read_cgroups(struct rps_tracker *tracker, const char *proc);

/* Add a running process from /proc: maps, threads, names. Does nothing if it has ended. */
void rps_tracker_add_process(struct rps_tracker *tracker, pid_t pid);

/* Add the next sample, in order of time. Without memory it is counted as lost. */
void rps_tracker_add(struct rps_tracker *tracker, const struct rps_sample *sample);

/* Add the next sample. If control groups are read, first add its process, or its parent at a fork.
 * A process that moved into a control group after its exec has sent no record before. */
void rps_tracker_add_known(struct rps_tracker *tracker, const struct rps_sample *sample);

/* Read the process's control group now; -1: it has none. */
int rps_tracker_add_cgroup(struct rps_tracker *tracker, pid_t pid);

/* Pass on the waits that still last, up to until_ns. All samples before it must have been added. */
void rps_tracker_tell_waits(struct rps_tracker *tracker, int64_t until_ns);

/* Read the time on CPUs and in run queues of a workload that waits for its exec. */
void rps_tracker_add_workload(struct rps_tracker *tracker, const char *proc, pid_t pid);

/* Read from schedstat below `proc` how long threads that switched were on CPUs and in run queues.
 * Also read the stacks of threads that sleep in a wait without a stack. time_ns is now. Reads the
 * files of at most 64 threads; does nothing in a simulation. */
void rps_tracker_check_waits(struct rps_tracker *tracker, const char *proc, int64_t time_ns);

/* Read below `proc`, which is borrowed, how long the threads have waited for CPUs. RPS_SAMPLE_QUEUE
 * counts from time_ns, which is now. */
void rps_tracker_begin_queues(struct rps_tracker *tracker, const char *proc, int64_t time_ns);

/* Return the time that threads were off the CPU in unknown waits, ns. */
int64_t rps_tracker_unknown_waits(const struct rps_tracker *tracker);

/* Pass on the programs that have changed since the last call, and close files that were read. Call
 * it about once per second. */
void rps_tracker_tell_programs(struct rps_tracker *tracker);

/* End the process that unwinds, if there is one, after the last sample. Returns the CPU time that
 * it took, ns. */
int64_t rps_tracker_end(struct rps_tracker *tracker);

/* Set in *ret the samples: all, unmapped, and complete. A complete stack reaches to where the
 * thread began, as far as names show so far. Add the number of lost samples to `lost`. */
void rps_tracker_status(const struct rps_tracker *tracker, struct rps_sampling *ret);

/* Return 1 if names were requested for all frames, or a simulation provides them. */
int rps_tracker_is_named(const struct rps_tracker *tracker);

/* Return the modules and the frames that still need names, with their numbers (.frame). At the end
 * this includes frames that the just-in-time compiler had not named. Symbols of a simulation are
 * locations already. The result is in the arena, except for texts, which the tracker owns. */
struct rps_code rps_tracker_code(struct rps_arena *arena, const struct rps_tracker *tracker,
                                 int is_end);

/* Note that a frame's name was requested; its last location is the function that contains the code.
 * Returns 0 if the location is only a reason for a missing name that was already given for the
 * module. */
int rps_tracker_name(struct rps_tracker *tracker, const struct rps_location *outermost);

#endif
