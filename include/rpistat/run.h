/*
 * A run: what one recording was, where and with what. The third noun, shared by both sides of the
 * store: the recorder fills it, the store keeps it as one row of `run`, the reports show it.
 */
#ifndef RPISTAT_RUN_H
#define RPISTAT_RUN_H

#include <stddef.h>
#include <stdint.h>

#define RPS_RUN_TEXT_SIZE 256
#define RPS_FINE_START_NS INT64_C(10000000) /* the shortest period of record --fine-start: 10 ms */

/* The line of `fitting` for a workload whose counts Linux gives to nobody but root: it is the
 * reason for all that is not counted then. */
#define RPS_RUN_NO_COUNTS                                                                          \
    "the command changes its user, group or capabilities, or may not be read: Linux stops "        \
    "counting at its start; record as that user instead"

/* The end of the line for a workload in which Linux stopped counting some processes. */
#define RPS_RUN_SOME_COUNTS                                                                        \
    "Linux stops counting a process that changes its user, group or capabilities, or that may "    \
    "not be read; its counts are missing"

enum rps_run_state {
    RPS_RUN_RECORDING,   /* its recorder is (or seems) at work */
    RPS_RUN_COMPLETE,    /* ended as it should */
    RPS_RUN_INTERRUPTED, /* its recorder died or gave up; the periods it holds are good */
};

/* Their names in the store and in what is shown; the last is NULL. */
extern const char *const rps_run_states[];

struct rps_tag {
    char *key, *value;
};

/* Text arrays always hold a terminated string after rps_run_init; "", NULL and negative numbers
 * mean "not known". */
struct rps_run {
    int64_t run_id; /* given by the store */
    char uuid[40];
    char label[RPS_RUN_TEXT_SIZE];
    int tag_count;
    struct rps_tag *tag; /* owned */
    int argc;
    char **argv;  /* owned; the command, argv[argc] is NULL */
    char *folder; /* owned (malloc); working folder of the workload, or NULL */

    char host[RPS_RUN_TEXT_SIZE];
    char boot_id[40];
    char cpu_model[RPS_RUN_TEXT_SIZE];
    int cpu_count; /* online when the run started */
    char kernel[RPS_RUN_TEXT_SIZE];
    char architecture[64];
    char version[32]; /* of the recorder */
    int64_t recorder_pid;

    char target[RPS_RUN_TEXT_SIZE]; /* what was counted: "command", "process 12", "CPU 0-3", ... */
    char pmu[64];                   /* backend: "hardware", "software", "sim" */
    int counter_count;    /* usable programmable counters beside the clock event; -1 not known */
    char fitting[1024];   /* what was merged, split or left out, and why: lines of text */
    char clock_label[64]; /* "Cycles", "TSC cycles", "Task clock" */
    int paranoid;         /* kernel.perf_event_paranoid; -100 not known */
    int nmi_watchdog;     /* 1, 0, -1 not known */
    char governor[64];    /* CPU frequency governor */
    int64_t order_seed;   /* each rotation's order of the sets was drawn from it; -1: by number */

    int64_t period_ns;          /* nominal measurement period */
    int64_t start_realtime_ns;  /* wall clock (UTC) at exec */
    int64_t start_monotonic_ns; /* CLOCK_MONOTONIC at exec: the zero of start_ns */
    int64_t elapsed_ns;         /* end of the last period since the start; -1 while recording */
    enum rps_run_state state;
    char end_reason[RPS_RUN_TEXT_SIZE]; /* why recording ended, when not by the workload's end */
    int exit_status;                    /* of the workload, -1 not known or ended by a signal */
    int exit_signal;                    /* that ended the workload, 0 none */
    int64_t user_ns, system_ns; /* CPU time of the workload and of all its children that were
                                           waited for, as the kernel counted it to its end */
    int64_t memory_bytes;       /* most that one of these had resident at a time */
    int64_t recorder_cpu_ns;    /* the recorder's own CPU time, while recording */
    int64_t recorder_after_ns;  /* and afterwards: names, the report */
};

/* All text empty, numbers "not known", state RPS_RUN_RECORDING. Cannot fail. */
void rps_run_init(struct rps_run *run);

/* Return the reason why counts of some processes are missing, one of the texts above, or NULL. */
const char *rps_run_lacks_counts(const struct rps_run *run);

/* Whether a run of that target is of CPUs or a cgroup, counted by CPU: of no workload of its own. */
int rps_run_is_of_machine(const char *target);

/* 1 for what another program recorded. Of a row of its file a rotation has the columns: what its
 * event sets have, was there at the same time. */
int rps_run_is_import(const struct rps_run *run);
/* Periods of what people call one: of an import so many as event sets, else one. */
int rps_run_row_periods(const struct rps_run *run, int sets);

/* Copy argv (deep) into run, replacing what was there. Returns 0, or RPS_FAILED without memory. */
int rps_run_set_command(struct rps_run *run, int argc, char *const argv[]);

/* Add a tag (copied); an equal key is replaced. Returns 0, or RPS_FAILED without memory. */
int rps_run_add_tag(struct rps_run *run, const char *key, const char *value);

/* So many periods in a row have each of `sets` event sets at least `times` times, wherever they
 * begin: fewer where the sets follow one another in the same order every time. */
int rps_run_periods_with(const struct rps_run *run, int sets, int times);

/* How long so many periods take, at most limit_ns. */
int64_t rps_run_turns_ns(const struct rps_run *run, int sets, int times, int64_t limit_ns);

/*
 * What a run is called where people look: its command line as a shell user would type it, and, for
 * a recording without one or of running processes, what was counted in brackets: "(all 4 CPUs)",
 * "sleep 9 (process 12)". Printable; returns ret.
 */
char *rps_run_title(char *ret, size_t size, const struct rps_run *run);

/* Release what the run owns and initialise it again. */
void rps_run_free(struct rps_run *run);

#endif
