/*
 * A run: one recording, with its place and settings. Both sides of the store share it. The recorder
 * fills it, the store keeps it as one row of `run`, and the reports show it.
 */
#ifndef RPISTAT_RUN_H
#define RPISTAT_RUN_H

#include <stddef.h>
#include <stdint.h>

#define RPS_RUN_TEXT_SIZE 256
#define RPS_FINE_START_NS INT64_C(10000000) /* the shortest period of record --fine-start: 10 ms */

/* The line of `fitting` for a workload that Linux lets only root count. It is the reason for
 * everything that is not counted then. */
#define RPS_RUN_NO_COUNTS                                                                          \
    "the command changes its user, group or capabilities, or may not be read: Linux stops "        \
    "counting at its start; record as that user instead"

/* The end of the line for a workload in which Linux stopped counting some processes. */
#define RPS_RUN_SOME_COUNTS                                                                        \
    "Linux stops counting a process that changes its user, group or capabilities, or that may "    \
    "not be read; its counts are missing"

enum rps_run_state {
    RPS_RUN_RECORDING,   /* its recorder is (or seems) at work */
    RPS_RUN_COMPLETE,    /* ended normally */
    RPS_RUN_INTERRUPTED, /* its recorder died or gave up; the recorded periods are valid */
};

/* Names of the states in the store and in output; the last is NULL. */
extern const char *const rps_run_states[];

struct rps_tag {
    char *key, *value;
};

/* Text arrays always hold a terminated string after rps_run_init; "", NULL and negative numbers
 * mean "not known". */
struct rps_run {
    int64_t run_id; /* assigned by the store */
    char uuid[40];
    char label[RPS_RUN_TEXT_SIZE];
    int tag_count;
    struct rps_tag *tag; /* owned */
    int argc;
    char **argv;  /* owned; the command, argv[argc] is NULL */
    char *folder; /* owned (malloc); working directory of the workload, or NULL */

    char host[RPS_RUN_TEXT_SIZE];
    char boot_id[40];
    char cpu_model[RPS_RUN_TEXT_SIZE];
    int cpu_count; /* online when the run started */
    char kernel[RPS_RUN_TEXT_SIZE];
    char architecture[64];
    char version[32]; /* of the recorder */
    int64_t recorder_pid;

    char target[RPS_RUN_TEXT_SIZE]; /* counted: "command", "process 12", "CPU 0-3", ... */
    char pmu[64];                   /* backend: "hardware", "software", "sim" */
    int counter_count;    /* usable programmable counters except the clock event's; -1 not known */
    char fitting[1024];   /* parts merged, split or left out, and why: lines of text */
    char clock_label[64]; /* "Cycles", "TSC cycles", "Task clock" */
    int paranoid;         /* kernel.perf_event_paranoid; -100 not known */
    int nmi_watchdog;     /* 1, 0, -1 not known */
    char governor[64];    /* CPU frequency governor */
    int64_t order_seed;   /* seed of each rotation's order of the sets; -1: by number */

    int64_t period_ns;          /* nominal measurement period */
    int64_t start_realtime_ns;  /* wall clock (UTC) at exec */
    int64_t start_monotonic_ns; /* CLOCK_MONOTONIC at exec: the zero of start_ns */
    int64_t elapsed_ns;         /* end of the last period since the start; -1 while recording */
    enum rps_run_state state;
    char end_reason[RPS_RUN_TEXT_SIZE]; /* why recording ended, if not by the workload's end */
    int exit_status;                    /* of the workload, -1 not known or ended by a signal */
    int exit_signal;                    /* that ended the workload, 0 none */
    int64_t user_ns, system_ns; /* CPU time of the workload and of all its children that were
                                           waited for, as the kernel counted it to its end */
    int64_t memory_bytes;       /* peak resident size of one of these */
    int64_t recorder_cpu_ns;    /* the recorder's own CPU time, while recording */
    int64_t recorder_after_ns;  /* and afterwards: symbols, the report */
};

/* Set all text to "", numbers to "not known", and state to RPS_RUN_RECORDING. Cannot fail. */
void rps_run_init(struct rps_run *run);

/* Return the reason why counts of some processes are missing, one of the texts above, or NULL. */
const char *rps_run_lacks_counts(const struct rps_run *run);

/* Return 1 if a target is CPUs or a cgroup, counted by CPU: the run has no workload of its own. */
int rps_run_is_of_machine(const char *target);

/* Return 1 for a recording of another program. A rotation has the columns of one row of its file,
 * so all its event sets were counted at the same time. */
int rps_run_is_import(const struct rps_run *run);
/* Return how many periods users see as one: the number of event sets for an import, otherwise 1. */
int rps_run_row_periods(const struct rps_run *run, int sets);

/* Copy argv (deep) into run in place of the old one. Return 0, or RPS_FAILED without memory. */
int rps_run_set_command(struct rps_run *run, int argc, char *const argv[]);

/* Add a tag (copied); an equal key is replaced. Return 0, or RPS_FAILED without memory. */
int rps_run_add_tag(struct rps_run *run, const char *key, const char *value);

/* Return how many consecutive periods contain each of `sets` event sets at least `times` times,
 * wherever they begin. Fewer suffice if the sets have the same order in every rotation. */
int rps_run_periods_with(const struct rps_run *run, int sets, int times);

/* Return how long so many periods take, at most limit_ns. */
int64_t rps_run_turns_ns(const struct rps_run *run, int sets, int times, int64_t limit_ns);

/*
 * Format a run's title for users: its command line as a shell user would type it. A recording
 * without a command, or of running processes, has its target in brackets: "(all 4 CPUs)", "sleep 9
 * (process 12)". Printable; returns ret.
 */
char *rps_run_title(char *ret, size_t size, const struct rps_run *run);

/* Release what the run owns and initialise it again. */
void rps_run_free(struct rps_run *run);

#endif
