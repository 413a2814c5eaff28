/* The tracker turns samples into numbered modules, frames, stacks and tasks. The tracker knows the
 * files that each process has mapped. A separate process unwinds copied stacks, since the files may
 * be hostile. The tracker's memory grows with the code that was seen, not with time. */
#pragma once

#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/code.h"
#include "rpistat/error.h"
#include "rpistat/sample.h"

/* Up to this number of frames, each frame is one instruction. Above this number, frames are
 * functions: an address is replaced by the beginning of its function, which is found without names.
 * An address gets its own frame when it is innermost for the fourth time, so that lines with many
 * samples remain known. Consecutive frames of a recursive function are one frame. Kernel addresses
 * never get their own frames, because the kernel has no lines. An address is kept if its function
 * is unknown: in code made by a process, and in files without the table of functions. */
#define RPS_TRACKER_EXACT_MAX   2048
#define RPS_TRACKER_OWN_SAMPLES 4

/* Maximum number of separate frames. Above this number, an address without a known function is
 * replaced by the beginning of its page of code (4 KiB). */
#define RPS_TRACKER_FRAMES_MAX 200000

/* Receives each new item before any item that refers to it. Texts are borrowed. */
struct rps_tracker_sink {
    void *context;
    void (*module)(void *context, const struct rps_module *module);
    void (*frame)(void *context, const struct rps_frame *frame);
    void (*stack)(void *context, const struct rps_stack *stack);
    void (*cgroup)(void *context, const struct rps_cgroup *cgroup);
    /* Called for a new task, and again when the task is renamed or has ended. */
    void (*task)(void *context, const struct rps_task *task);
    /* Reports the exact CPU time of a process that has ended. `task` is a task of the process, and
     * was reported before. */
    void (*process_time)(void *context, int64_t task, int64_t cpu_ns);
    /* Called by rps_tracker_report_programs. */
    void (*program)(void *context, const struct rps_program *program);
    /* Reports a sample with its stack and task. time_ns is on the clock of the samples. */
    void (*count)(void *context, int64_t time_ns, int32_t cpu, int64_t stack, int64_t task);
    /* Reports that a thread waited off the CPU in `stack` without being preempted. A long wait is
     * reported in parts, one after another. */
    void (*blocked)(void *context, int64_t from_ns, int64_t to_ns, int32_t cpu, int64_t stack);
    /* Reports that callers of this file's functions are missing from time_ns on, because the file
     * crashed the process that unwinds. Called once per file. */
    void (*incomplete)(void *context, int64_t time_ns, const char *path);
};

struct rps_tracker;

/* start_ns: the run's start on the clock of the samples. RPS_FAILED: no memory. */
int rps_tracker_new(struct rps_tracker **ret, int64_t start_ns, const struct rps_tracker_sink *sink,
                    struct rps_error *err);
void rps_tracker_free(struct rps_tracker *tracker);

/* From now on, read the control group of each process below `proc` (/proc), and assign each task to
 * a control group. `proc` is borrowed. A control group is read at the first sample of its process,
 * and again after an exec. A process that has ended before the reading is assigned the control
 * group of its parent. */
void rps_tracker_read_cgroups(struct rps_tracker *tracker, const char *proc);

/* Add a process from /proc, with maps, threads and names, unless the process has ended. */
void rps_tracker_add_process(struct rps_tracker *tracker, pid_t pid);

/* Add the next sample, in order of time. If there is no memory, the sample is counted as lost. */
void rps_tracker_add(struct rps_tracker *tracker, const struct rps_sample *sample);

/* Add the next sample. If control groups are read, first add the sample's process, or the parent if
 * the sample is a fork. This is needed because a process that moved into a control group after its
 * exec has no earlier record. */
void rps_tracker_add_known(struct rps_tracker *tracker, const struct rps_sample *sample);

/* Read the control group of a process now. Returns -1 if the process has none. */
int rps_tracker_add_cgroup(struct rps_tracker *tracker, pid_t pid);

/* Pass on unended waits up to until_ns. All samples before until_ns must have been added. */
void rps_tracker_report_waits(struct rps_tracker *tracker, int64_t until_ns);

/* Read how long a workload that still waits for its exec was on CPUs and in run queues. */
void rps_tracker_add_workload(struct rps_tracker *tracker, const char *proc, pid_t pid);

/* Read how long threads that switched were on CPUs and in run queues, from schedstat below `proc`.
 * Also read the stacks of threads whose wait has no stack. time_ns is the current time. Reads the
 * files of at most 64 threads; does nothing in a simulation. */
void rps_tracker_check_waits(struct rps_tracker *tracker, const char *proc, int64_t time_ns);

/* Read below `proc`, which is borrowed, how long each thread has waited for CPUs so far. time_ns is
 * the current time. Later records RPS_SAMPLE_QUEUE add the waiting since time_ns. */
void rps_tracker_begin_queues(struct rps_tracker *tracker, const char *proc, int64_t time_ns);

/* Return the time that threads were off the CPU in unknown waits, ns. */
int64_t rps_tracker_unknown_waits(const struct rps_tracker *tracker);

/* Pass on the programs that have changed since the previous call, and close the files that the
 * unwinding process has open. Call this function about once per second. */
void rps_tracker_report_programs(struct rps_tracker *tracker);

/* After the last sample, end the process that unwinds, if any, and return its CPU time, ns. */
int64_t rps_tracker_end(struct rps_tracker *tracker);

/* Set the numbers of all, unmapped and complete samples in *ret. A complete stack reaches to where
 * the thread began, as far as the known names show. Add the number of lost samples to `lost`. */
void rps_tracker_status(const struct rps_tracker *tracker, struct rps_sampling *ret);

/* Return 1 if names were requested for all frames, or a simulation provides them. */
int rps_tracker_is_named(const struct rps_tracker *tracker);

/* Return the modules and the frames that still need names, with the frames' numbers (.frame). At
 * the end, also return frames that the just-in-time compiler had not yet named. Symbols of a
 * simulation are returned as locations. The result is in the arena, except for texts, which the
 * tracker owns. */
struct rps_code rps_tracker_code(struct rps_arena *arena, const struct rps_tracker *tracker,
                                 int is_end);

/* Note that a frame's name was requested. `outermost` is the frame's last location, which is the
 * function that contains the code. Returns 0 if the location only repeats the reason why the module
 * has no names. */
int rps_tracker_name(struct rps_tracker *tracker, const struct rps_location *outermost);
