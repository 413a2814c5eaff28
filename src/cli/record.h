/* Declarations that record_*.c and cmd_record.c share: a recording, from command line to report. */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdint.h>

#include "cli.h"
#include "registry.h"
#include "rpistat/code_recorder.h"
#include "rpistat/error.h"
#include "rpistat/loop.h"
#include "rpistat/period.h"
#include "rpistat/pmu.h"
#include "rpistat/system_reader.h"
#include "rpistat/workload.h"

/* Marks in a recording for the regions that the workload itself measures (rpistat/region.h). */

struct rps_region_marks;

/* Start to listen for the regions of the process pid and of this process's descendants. `mark` is
 * called for each region, with the time on CLOCK_MONOTONIC. If the kernel does not support such
 * marks, *ret is NULL and the result is 0, because a recording without these marks is valid.
 * Returns RPS_FAILED only if there is no memory. */
int rps_region_marks_open(struct rps_region_marks **ret, pid_t pid,
                          void (*mark)(void *context, int64_t time_ns, const char *text),
                          void *context, struct rps_error *err);

/* Return the loop's watch for marks. If `marks` is NULL, the loop does not wait for marks. */
struct rps_watch rps_region_marks_watch(struct rps_region_marks *marks);

/* Receive the remaining marks after the workload's end, and report how many marks exceeded the
 * limits. NULL is harmless. */
void rps_region_marks_finish(struct rps_region_marks *marks);

/* Close the socket. NULL is harmless. */
void rps_region_marks_close(struct rps_region_marks *marks);

/* The status line of a running recording on a terminal (terminal_line.h). */

struct rps_status;

/* Show a recording's status on the terminal fd, with the time until the store has max_bytes (0: no
 * limit). Plan and writer must outlive the status. A thread is started: call after the fork. */
int rps_status_start(struct rps_status **ret, int fd, const struct rps_plan *plan,
                     struct rps_writer *writer, uint64_t max_bytes, struct rps_error *err);

/* Add a recorded period, of one CPU or of all CPUs together. `count` is the number of periods so
 * far. The call is fast. For NULL, this function and rps_status_stop do nothing. */
void rps_status_period(struct rps_status *status, const struct rps_period *period, uint64_t count);

/* Remove the line from the terminal and end the thread. */
void rps_status_stop(struct rps_status *status);

/* Control of a recording from outside: --control fifo:PATH.
 *
 * PATH and PATH.ack are named pipes. PATH receives commands, one per line. PATH.ack receives one
 * line per command: `ack` when the command is done, or `error: ...`. Commands: `enable`, `disable`,
 * `mark TEXT`, `stop`. Missing pipes are created, and removed at the end. */

struct rps_control;

/* Open the pipes of `text`, the argument of --control. Each command `mark TEXT` calls `mark`. */
int rps_control_open(struct rps_control **ret, const char *text,
                     void (*mark)(void *context, const char *text), void *context,
                     struct rps_error *err);

/* Return the loop's watch for commands. If `control` is NULL, the loop waits for no commands. */
struct rps_watch rps_control_watch(struct rps_control *control);

/* Close the pipes. NULL is harmless. */
void rps_control_close(struct rps_control *control);

/* --- from -p, -a, -C and -G to a target of measure -------------------------------------------- */

struct rps_record_target {
    struct rps_target target; /* target, whose arrays are the members below */
    pid_t *pid;               /* numbers of the processes of -p */
    int *cpu;                 /* numbers of the recorded CPUs; owned */
    int *pidfd;               /* pidfds of the processes of -p */
    int pidfd_count;
    char text[RPS_RUN_TEXT_SIZE]; /* text for run.target */
};

/* Find the target of the settings, open it and check it: processes exist, CPUs are online, the
 * control group exists. For a command (no -p, -a, -C, -G) the kind is RPS_TARGET_LAUNCH, and the
 * caller fills in the process. Free with rps_record_target_close. */
int rps_record_target_open(struct rps_arena *arena, const struct rps_record_settings *settings,
                           struct rps_record_target *ret, struct rps_error *err);

/* Store in the run the command line of the process of -p; for several processes, store one word per
 * process. A process without a command line adds nothing. */
void rps_record_target_command(struct rps_arena *arena, const struct rps_record_target *target,
                               struct rps_run *run);

void rps_record_target_close(struct rps_record_target *target);

/* --- a recording ------------------------------------------------------------------------------ */

/* One run of a --repeat series. */
struct rps_record_turn {
    uint64_t number; /* number of the run in its series, from 0 */
    int told_fd;     /* descriptor to which the run_id is written after the recording */
};

struct rps_recording {
    struct rps_cli *cli;
    const struct rps_record_settings *settings;
    const struct rps_pmu *pmu;
    void *pmu_self;
    struct rps_plan *plan;
    struct rps_fitting fitting;
    char note[1024]; /* reason why `auto` did not use better counters */
    struct rps_run run;
    struct rps_writer *writer;
    struct rps_registry registry;
    struct rps_code_recorder samples; /* recorder of samples; zeroed: no samples */
    struct rps_system_reader system;  /* reader of system metrics; zeroed: no metrics */
    uint32_t reported_sources;        /* bit mask of the system sources in the store */
    struct rps_sampler hearing;       /* sampler of thread events only; zeroed: not open */
    uint64_t sample_threshold;        /* N of --sample EVENT:N; 0: sample by frequency */
    int64_t children_cpu_ns;          /* CPU time for unwinding stacks and finding symbols */
    struct rps_record_target target;
    struct rps_workload workload;
    struct rps_control *control;
    struct rps_region_marks *region_marks;
    const struct rps_event_loop *event_loop;
    struct rps_event_loop simulated_loop; /* the simulation's event loop, with signals */
    struct rps_real_event_loop *real_event_loop;
    struct rps_status *status;
    char *report_path;
    const char *store; /* path of the store that has the run: the store of -o, or another store
                          if the store of -o was locked until the end */
    int no_report;     /* 1: neither store has the complete run */
    char **argv;       /* command line of the workload; NULL: rpistat starts no workload */
    int simulated;
    int is_damaged;  /* 1: the store was damaged; the run is in another file, or lost */
    int outlived;    /* 1: the workload continued after the end of the recording */
    int not_counted; /* 1: Linux removes the counters at the workload's start */

    const struct rps_record_turn *turn; /* argument `turn` of rps_record_once */
    int signal_fd;
    int sent;               /* number of signals sent to rpistat */
    int stop_signal;        /* signal that ended the recording while the workload continued */
    int is_over;            /* 1: counting has ended, and so has any workload that rpistat
                               started */
    int is_stop_command;    /* 1: stop_signal came from `rpistat stop` */
    struct rps_period held; /* period that waits for the next system reading */
    int has_held;
    int64_t hidden_us;       /* CPU time so far of processes that Linux stopped counting */
    int64_t task_ns, row_ns; /* CPU time counted so far; CPU time since the last system reading */
    uint64_t period_count;   /* number of periods, not multiplied by the recorded CPUs */
    uint64_t last_period;    /* number of the previous period */
    int64_t busy_ns;         /* busy time of the machine's CPUs in the loop, without the recorder */
    int64_t before_end_ns;   /* recorder's CPU time until the recording ended, without later
                                symbolization */

    pthread_mutex_t note_lock; /* lock for the members below */
    int keeps_notes;           /* 1: the workload uses the terminal, so notes wait for its end */
    size_t notes_size, notes_left_out;
    char notes[4096]; /* notes, each with a terminating 0 */
};

/* Record one run, alone (`turn` is NULL) or in a series. Returns the exit status, or negative. */
int rps_record_once(struct rps_cli *cli, int argc, char **argv, const struct rps_record_turn *turn);

/* Record the end of recording and workload: from now on a signal ends the wait for the store. */
void rps_record_set_over(struct rps_recording *r);

/* Return 1 if the user has sent a signal that ends the recorder at once. The context is r. */
int rps_record_ends_now(void *context);

/* Block the signals, and open a descriptor from which they are read. Signals that were ignored are
 * still ignored. If ret_before is not NULL, *ret_before is set to the previous mask. */
int rps_record_take_signals(int *ret_fd, sigset_t *ret_before, struct rps_error *err);

/* Return the name of a signal, such as "SIGINT". */
const char *rps_record_signal_name(int number);

/* Add a line to the run's `fitting`, for readers of the report. */
void rps_record_add_fitting(struct rps_recording *r, const char *before, const char *line);

/* Fork the workload, if any, and open the counters. */
int rps_record_attach(struct rps_recording *r, struct rps_error *err);

/* Add the run to the store, which is open, release the workload, and start counting. */
int rps_record_launch(struct rps_recording *r, struct rps_error *err);

/* Count until the recording ends; *ret_end is the reason. */
int rps_record_loop(struct rps_recording *r, enum rps_loop_end *ret_end, struct rps_error *err);

/* Return the path of a file next to the store: rpistat.txt for rpistat.data, other.txt for
 * other.data; any other name gets .txt appended. */
char *rps_record_path_beside(struct rps_arena *arena, const char *store, const char *ending);

/* Record that the recording is over. After this call, a lack of memory (rpistat/arena.h) ends the
 * process with the exit status of its workload. */
void rps_record_begin_reading(struct rps_recording *r);

/* Write the report of the run, and print a summary. If the report fails, the run is still complete
 * in the store. The errors are those of rps_record_without_report. */
int rps_record_report(struct rps_recording *r, struct rps_error *err);

/* Return the result for a run whose report fails with rc and err. */
int rps_record_without_report(const struct rps_recording *r, int rc, struct rps_error *err);

/* Return the workload's exit status, as a shell reports it. */
int rps_record_exit_status(const struct rps_recording *r);

/* Send the number of the run to the process that records the run's series. */
void rps_record_report_number(const struct rps_recording *r);

/* Wait for a workload that outlives its recording. The wait stops if a signal requests the end. */
void rps_record_wait(struct rps_recording *r);

/* Load the plan of the settings, or by default the plan for this machine and backend. Free the plan
 * with rps_plan_free. `note` is the reason why the processor's counters are not used; "" if the
 * counters are used or were not requested. Returns RPS_USAGE if the settings are invalid. Returns
 * RPS_FAILED if the event sets are for another processor than the counters. */
int rps_record_plan_load(const struct rps_record_settings *settings, const struct rps_pmu *pmu,
                         struct rps_plan **ret, const char *note, struct rps_error *err);

/* --- 'record --repeat': several runs in a row, also of two commands alternately --------------- */

/* A side of a series: a command and its runs. */
struct rps_series_side {
    int argc; /* number of arguments; 0: a simulation */
    char **argv;
    char label[RPS_RUN_TEXT_SIZE]; /* label of the side's runs, or "" */
    size_t count;
    int64_t *run_id; /* numbers of the recorded runs */
};

/* Record as often as the settings require, one run after the other, until a run fails or a signal
 * arrives. Returns the exit status of the last run. If that status is 0 and a signal arrived,
 * returns 128 + the signal's number. Returns a negative value with an error in cli->err. Like
 * rps_record_once, this function also returns in each run's own process. */
int rps_record_series(struct rps_cli *cli);

/* Print the numbers of the runs on standard error at the end of a series. For each side, print
 * times, variation, outliers and the CPU use of other processes. For a complete series, also print
 * the command that compares the runs. If the store cannot be read, print nothing. */
void rps_series_summary(struct rps_cli *cli, const struct rps_series_side *side, size_t count,
                        int is_whole);
