/* Declarations that record_*.c and cmd_record.c share: a recording, from command line to report. */
#ifndef RPISTAT_CLI_RECORD_H
#define RPISTAT_CLI_RECORD_H

#include <pthread.h>
#include <signal.h>

#include "cli.h"
#include "control.h"
#include "region_marks.h"
#include "registry.h"
#include "rpistat/code_recorder.h"
#include "rpistat/loop.h"
#include "rpistat/plan.h"
#include "rpistat/pmu.h"
#include "rpistat/system_signals.h"
#include "rpistat/workload.h"
#include "status.h"

/* --- from -p, -a, -C and -G to a target of measure -------------------------------------------- */

struct rps_record_target {
    struct rps_target target; /* its arrays are those below */
    pid_t *pid;               /* owned */
    int *cpu;                 /* owned */
    int *pidfd;               /* owned, of the processes of -p */
    int pidfd_count;
    char text[RPS_RUN_TEXT_SIZE]; /* for run.target */
};

/*
 * Find the target of the settings. Everything is opened and checked: processes exist, CPUs are
 * online, the control group exists. For a command (no -p, -a, -C, -G) the kind is
 * RPS_TARGET_LAUNCH, and the caller fills in the process. Free with rps_record_target_close.
 */
int rps_record_target_open(const struct rps_record_settings *settings,
                           struct rps_record_target *ret, struct rps_error *err);

/* Give the run the command line of the process of -p; with several processes, one word each. A
 * process without one adds nothing. */
int rps_record_target_command(const struct rps_record_target *target, struct rps_run *run,
                              struct rps_error *err);

void rps_record_target_close(struct rps_record_target *target);

/* --- a recording ------------------------------------------------------------------------------ */

/* One run of a series: --repeat. */
struct rps_record_turn {
    uint64_t number; /* from 0 */
    int told_fd;     /* the run_id is written there after the recording */
};

struct rps_recording {
    struct rps_cli *cli;
    const struct rps_record_settings *settings;
    const struct rps_pmu *pmu;
    void *pmu_self;
    struct rps_plan *plan;
    struct rps_fitting fitting;
    char note[1024]; /* why `auto` did not use better counters */
    struct rps_run run;
    struct rps_writer *writer;
    struct rps_registry registry;
    struct rps_code_recorder samples; /* zeroed: none are taken */
    struct rps_system_reader system;  /* of system metrics; zeroed: none are read */
    struct rps_sampler hearing;       /* without samples: of threads only; zeroed: not open */
    uint64_t sample_threshold;        /* --sample EVENT:N; 0: by frequency */
    int64_t children_cpu_ns;          /* of processes that unwound stacks and found names */
    struct rps_record_target target;
    struct rps_workload workload;
    struct rps_control *control;
    struct rps_region_marks *region_marks;
    const struct rps_event_loop *event_loop;
    struct rps_real_event_loop *real_event_loop;
    struct rps_status *status;
    char *report_path;
    const char *store; /* that holds the run: that of -o, or another if that stayed locked */
    int no_report;     /* the run is complete in neither file */
    char **argv;       /* NULL: no workload of our own */
    int simulated;
    int is_damaged;  /* 1: the store was damaged; the run is in another file, or lost */
    int outlived;    /* the workload continued after the end of the recording */
    int not_counted; /* the workload's counters are removed at its start */

    const struct rps_record_turn *turn; /* as passed to rps_record_once */
    int signal_fd;
    int sent;               /* number of signals sent to rpistat */
    int stop_signal;        /* the one that ended the recording while the workload continued */
    int is_over;            /* 1: no workload of ours runs, and counting has ended */
    int is_stop_command;    /* 1: `rpistat stop` sent that signal */
    struct rps_period held; /* passed on after the next system reading */
    int has_held;
    int64_t hidden_us;       /* CPU time of processes that Linux stopped counting, so far */
    int64_t task_ns, row_ns; /* CPU time counted: so far; since the last system reading */
    uint64_t period_count;   /* not multiplied by the CPUs that have their own */
    uint64_t last_period;    /* number of the previous one */
    int64_t before_end_ns;   /* CPU time before the recording ended, minus symbolization since */

    pthread_mutex_t note_lock; /* of the three below */
    int keeps_notes;           /* the workload runs, and has the terminal: notes wait for its end */
    size_t notes_size, notes_left_out;
    char notes[4096]; /* each with its 0 */
};

/* Record one run, of a series or (NULL) alone. Returns the exit status, or negative. */
int rps_record_once(struct rps_cli *cli, int argc, char **argv, const struct rps_record_turn *turn);

/* Note that the recording and the workload have ended: later signals end the wait for the store. */
void rps_record_set_over(struct rps_recording *r);

/* Return 1 if the user has sent a signal that ends the recorder at once. The context is r. */
int rps_record_ends_now(void *context);

/* Read the signals from a descriptor from now on; ignored signals stay ignored. *ret_before (or
 * NULL): the previous mask. */
int rps_record_take_signals(int *ret_fd, sigset_t *ret_before, struct rps_error *err);

/* Return the name of a signal: "SIGINT". */
const char *rps_record_signal_name(int number);

/* Add a line to the run's `fitting`, for readers of the report. */
void rps_record_add_fitting(struct rps_recording *r, const char *before, const char *line);

/* Fork the workload, if any, and open the counters. */
int rps_record_attach(struct rps_recording *r, struct rps_error *err);

/* Add the run to the store, which is open, release the workload, and start counting. */
int rps_record_launch(struct rps_recording *r, struct rps_error *err);

/* Count until the recording ends; *ret_end is the reason. */
int rps_record_loop(struct rps_recording *r, enum rps_loop_end *ret_end, struct rps_error *err);

/* Return the path of a file next to the store: rpistat.data gives rpistat.txt, other.data
 * other.txt, any other name gets .txt appended. The caller frees it; NULL: no memory. */
char *rps_record_path_beside(const char *store, const char *ending);

/* Note that the recording is over: from now on a lack of memory (rpistat/arena.h) ends the process,
 * with the exit status of its workload. */
void rps_record_begin_reading(struct rps_recording *r);

/* Write the report of the run, and show what ran. The run is complete in the store and is kept even
 * if the report fails. Errors: those of rps_record_without_report. */
int rps_record_report(struct rps_recording *r, struct rps_error *err);

/* Return the result for a run whose report fails with rc and err. */
int rps_record_without_report(const struct rps_recording *r, int rc, struct rps_error *err);

/* Return the workload's exit status, as a shell reports it. */
int rps_record_exit_status(const struct rps_recording *r);

/* Send the number of the run to its series. */
void rps_record_tell_number(const struct rps_recording *r);

/* Wait for a workload that outlives its recording; a signal that requests the end stops it. */
void rps_record_wait(struct rps_recording *r);

/*
 * Load the plan of the settings; without one, the plan for this machine and backend. Free with
 * rps_plan_free. `note` is the reason why the processor's counters are not used; "" if they are
 * used or not wanted. RPS_USAGE: the settings are invalid; RPS_FAILED: the sets are for another
 * processor than the counters.
 */
int rps_record_plan_load(const struct rps_record_settings *settings, const struct rps_pmu *pmu,
                         struct rps_plan **ret, const char *note, struct rps_error *err);

/* --- 'record --repeat': several runs in a row, also of two commands alternately --------------- */

/* A command and its runs. */
struct rps_series_side {
    int argc; /* 0: a simulation */
    char **argv;
    char label[RPS_RUN_TEXT_SIZE]; /* label of its runs; "" */
    size_t count;
    int64_t *run_id; /* owned by the series; of recorded runs */
};

/*
 * Record as often as the settings require, one run after the other, until one fails or a signal
 * arrives. Returns the exit status of the last run, or of the signal if that is 0; negative with
 * cli->err. Returns in each run's own process too, as rps_record_once does.
 */
int rps_record_series(struct rps_cli *cli);

/*
 * Print the numbers of the runs at the end on standard error. For each side it adds times,
 * variation, outliers and the CPU use of other processes; for a complete series also how to
 * compare. A store that cannot be read prints nothing.
 */
void rps_series_summary(struct rps_cli *cli, const struct rps_series_side *side, size_t count,
                        int is_whole);

#endif
