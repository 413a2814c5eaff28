/* A run: one recording, with its machine, its settings and its results. The recorder fills the
 * struct, the store keeps it as a row of `run`, and reports show it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct rps_arena;

#define RPS_RUN_TEXT_SIZE 256
#define RPS_FINE_START_NS INT64_C(10000000) /* the shortest period of record --fine-start: 10 ms */

/* Line of `fitting` for a workload that only root may count, because Linux stops counting at its
 * start. This line then explains why all counts are missing. */
#define RPS_RUN_NO_COUNTS                                                                          \
    "the command changes its user, group or capabilities, or may not be read: Linux stops "        \
    "counting at its start; record as that user instead"

/* Last part of the line of `fitting` if Linux stopped counting some processes of the workload. */
#define RPS_RUN_SOME_COUNTS                                                                        \
    "Linux stops counting a process that changes its user, group or capabilities, or that may "    \
    "not be read; its counts are missing"

/* Words of the line of `fitting` if the CPU time of wait4 differs from the counted CPU time. */
#define RPS_RUN_OTHER_TIME "of CPU time were counted, but Linux reports"

/* First words of the line of `fitting` if hardware counters cannot be used. */
#define RPS_RUN_NO_COUNTERS "the processor's counters"

enum rps_run_state {
    RPS_RUN_RECORDING,   /* the run's recorder is running, or seems to be running */
    RPS_RUN_COMPLETE,    /* the recording ended normally */
    RPS_RUN_INTERRUPTED, /* the recorder died or gave up; recorded periods are valid */
};

/* Names of the states in the store and in output; the last is NULL. */
extern const char *const rps_run_states[];

struct rps_tag {
    char *key, *value;
};

/* The settings and results of a recording. After rps_run_init, text arrays always hold a terminated
 * string. "", NULL and negative numbers mean that the value is unknown. */
struct rps_run {
    struct rps_arena *arena; /* holds the tags, argv and folder; NULL: rps_run_arena creates it */
    int64_t run_id;          /* number of the run, assigned by the store */
    char uuid[40];
    char label[RPS_RUN_TEXT_SIZE];
    int tag_count;
    struct rps_tag *tag;
    int argc;
    char **argv;  /* command of the workload; argv[argc] is NULL */
    char *folder; /* working directory of the workload, or NULL */

    char host[RPS_RUN_TEXT_SIZE];
    char boot_id[40];
    char cpu_model[RPS_RUN_TEXT_SIZE];
    int cpu_count; /* number of CPUs that were online at the start */
    char kernel[RPS_RUN_TEXT_SIZE];
    char architecture[64];
    char version[32]; /* version of the recorder */
    int64_t recorder_pid;

    char target[RPS_RUN_TEXT_SIZE]; /* counted target, for example "command", "process 12" or
                                       "CPU 0-3" */
    char pmu[64];                   /* name of the counter backend: "hardware", "software", "sim" */
    int counter_count;    /* programmable counters, without the clock event's; -1: not known */
    char fitting[1024];   /* lines: merged, split or omitted parts of the plan, and reasons */
    char clock_label[64]; /* label of the clock event: "Cycles", "TSC cycles", "Task clock" */
    int paranoid;         /* value of kernel.perf_event_paranoid; -100: not known */
    int nmi_watchdog;     /* 1 if the NMI watchdog is active, 0 if not, -1: not known */
    char governor[64];    /* CPU frequency governor */
    int64_t order_seed;   /* seed of the random order of sets; -1: order by number */

    int64_t period_ns;          /* nominal measurement period */
    int64_t start_realtime_ns;  /* wall clock (UTC) at exec */
    int64_t start_monotonic_ns; /* CLOCK_MONOTONIC at exec, to which start_ns values are relative */
    int64_t elapsed_ns;         /* time from the start to the end of the last period, or -1 */
    enum rps_run_state state;
    char end_reason[RPS_RUN_TEXT_SIZE]; /* reason why recording ended before the workload ended */
    int exit_status;                    /* exit status; -1: not known, or ended by a signal */
    int exit_signal;                    /* signal that ended the workload; 0: none */
    int64_t user_ns, system_ns; /* CPU time that the kernel reported at the end, for the workload
                                   and those children for which it has waited */
    int64_t memory_bytes;       /* maximum resident memory of the largest of these processes */
    int64_t recorder_cpu_ns;    /* CPU time that the recorder used while recording */
    int64_t recorder_after_ns;  /* CPU time of the recorder after recording (symbols, report) */
    int64_t others_cpu_ns;      /* CPU time of other programs on the machine, while recording */
};

/* Set all texts to "", numbers to "not known", state to RPS_RUN_RECORDING. Cannot fail. */
void rps_run_init(struct rps_run *run);

/* Return the reason for missing counts of some processes (RPS_RUN_NO_COUNTS or _SOME_COUNTS) or
 * NULL. */
const char *rps_run_lacks_counts(const struct rps_run *run);

/* Return 1 if the target is CPUs or a control group, both by CPU. The run then has no workload. */
int rps_run_is_of_machine(const char *target);

/* Return 1 if rpistat started the command of a run with this target, and recorded nothing else. */
int rps_run_is_of_command(const char *target);

/* Return 1 if a run with this target recorded control groups. */
int rps_run_is_of_cgroup(const char *target);

/* Return 1 for a recording that was imported from another program. A rotation of an import has the
 * columns of one row of the file, and all its event sets were counted together. */
int rps_run_is_import(const struct rps_run *run);
/* Return how many periods users see as one row: an import's number of event sets, otherwise 1. */
int rps_run_row_periods(const struct rps_run *run, int sets);

/* Return how many CPUs other programs used on average, at most all CPUs. Return NaN if this is
 * unknown, also for a run of less than RPS_RUN_OTHERS_MIN_NS: Linux counts CPU time in ticks. */
#define RPS_RUN_OTHERS_MIN_NS INT64_C(1000000000)
double rps_run_others_cpus(const struct rps_run *run);

/* Replace the run's argv by a deep copy of `argv`. */
void rps_run_set_command(struct rps_run *run, int argc, char *const argv[]);

/* Return the tag with this key, or NULL. */
struct rps_tag *rps_run_tag(const struct rps_run *run, const char *key);

/* Add a copy of a tag; replace a tag with equal key. */
void rps_run_add_tag(struct rps_run *run, const char *key, const char *value);

/* Return the number of consecutive periods that always contains each of `sets` event sets at least
 * `times` times. The number is smaller if the order of sets is equal in all rotations. */
int rps_run_periods_with(const struct rps_run *run, int sets, int times);

/* Return the total length of the periods of rps_run_periods_with, at most limit_ns. */
int64_t rps_run_rotations_ns(const struct rps_run *run, int sets, int times, int64_t limit_ns);

/* Format a run's title for users: its command line as typed in a shell. If the run recorded
 * processes that were already running, or has no command, the title has the target in parentheses:
 * "(all 4 CPUs)", "sleep 9 (process 12)". The title is printable. Return ret. */
char *rps_run_title(char *ret, size_t size, const struct rps_run *run);

/* Return the run's arena; create it if there is none. */
struct rps_arena *rps_run_arena(struct rps_run *run);

/* Free the run's arena, and initialise the run again. Do not call this function for a run in an
 * arena of the caller. */
void rps_run_free(struct rps_run *run);
