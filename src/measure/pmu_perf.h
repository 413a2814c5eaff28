/*
 * What the files of the perf_event backends share: pmu_perf.c (the two backends), pmu_perf_event.c
 * (opening one event), pmu_perf_cores.c (kinds of core), pmu_perf_fit.c (what can be counted),
 * pmu_perf_cost.c (what that takes), pmu_perf_attach.c (the counters of a target),
 * pmu_perf_read.c (switching and reading them) and sampler_perf.c (sampling).
 *
 * What is counted is a number of places, each with the clock event and, for every event set, one
 * perf group, so that one read gives all of the set. pmu_perf_attach.c fills them, and
 * pmu_perf_read.c reads them.
 */
#ifndef RPISTAT_MEASURE_PMU_PERF_H
#define RPISTAT_MEASURE_PMU_PERF_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "idle.h"
#include "rpistat/plan.h"
#include "rpistat/pmu.h"

struct rps_system_reader;
struct rps_system_options;

/* Kinds of core that one machine may have. */
#define RPS_PERF_CORE_MAX 4

struct rps_perf_slot {
    int fd;       /* -1: not measured */
    int position; /* in the group's values; -1: read alone */
};

struct rps_perf_group {
    int leader_fd; /* of the group read; -1: none */
    int members;   /* values a group read gives */
    struct rps_perf_slot slot[RPS_SLOT_MAX];
    /* What was read last; what cannot be read stays as it was, so that totals never go back. */
    uint64_t running_ns;
    uint64_t value[RPS_SLOT_MAX];
    uint32_t valid; /* slots that the latest read gave */
};

/* Where counters are opened, with those counters. */
struct rps_perf_place {
    pid_t pid;           /* thread, -1: everything on the CPU, or a control group's descriptor */
    int cpu;             /* -1: wherever the thread runs */
    unsigned long flags; /* of perf_event_open */
    int kind;            /* of core, index into perf->core; 0 where there is one */
    int track;
    int gone; /* its CPU went offline */
    int clock_fd;
    uint64_t clock, enabled_ns, clock_running_ns; /* as last read */
    struct rps_perf_group *group;                 /* owned; a set each */
};

/* A kind of core on a hybrid processor. */
struct rps_perf_core {
    char name[64];   /* of its PMU: "cpu_atom" */
    uint32_t type;   /* of its PMU */
    char cpus[4096]; /* its CPUs, as sysfs lists them */
};

/* A backend. */
struct rps_perf {
    int hardware;
    int group_reads; /* PERF_FORMAT_GROUP works together with inherit */
    int limit;       /* events that really count beside the clock event; INT_MAX: no limit known */
    struct rps_event clock; /* the clock event that was chosen */
    const struct rps_plan *plan;
    int clock_leads; /* the clock event is the leader of the only group */
    int first_set;   /* that begins to count at the workload's exec */
    int core_count;  /* more than 1 on hybrid processors */
    struct rps_perf_core core[RPS_PERF_CORE_MAX];
    int track_count;
    int *track_cpu;       /* owned */
    struct rps_idle idle; /* of whole CPUs */
    int place_count;
    struct rps_perf_place *place; /* owned */
};

/* --- pmu_perf_event.c: one event -------------------------------------------------------------- */

enum rps_perf_flags {
    RPS_PERF_DISABLED = 1, /* count only when enabled */
    RPS_PERF_ON_EXEC = 2,  /* ... or at exec */
    RPS_PERF_PINNED = 4,   /* on a counter always, or never */
    RPS_PERF_GROUP = 8,    /* reads give the whole group */
    RPS_PERF_INHERIT = 16, /* children and threads are counted too */
};

struct perf_event_attr;

/* What perf_event_open takes to count the event. */
void rps_perf_fill_attr(struct perf_event_attr *attr, const struct rps_event *event,
                        unsigned flags);

/*
 * Open what attr says, as below; without the kernel's part where that is refused, which attr says
 * from then on (exclude_kernel).
 */
int rps_perf_open_attr(struct perf_event_attr *attr, const struct rps_perf_place *place,
                       int group_fd);

/*
 * Open the event at a place (NULL: this thread), in the group of group_fd (-1: one of its own). A
 * refusal is tried again without the kernel's part, which more users may count; *ret_user_only (may
 * be NULL) says so. Returns a descriptor or -errno, that of the first try.
 */
int rps_perf_open_event(const struct rps_event *event, const struct rps_perf_place *place,
                        int group_fd, unsigned flags, int *ret_user_only);

/* Close what is open, and forget it: *fd is -1 after it. */
void rps_perf_close_fd(int *fd);

/* Sort the errno of a failed open into a state, and say in words (size bytes) what it means
 * here. */
enum rps_event_state rps_perf_explain(int number, char *reason, size_t size);

/* The value of kernel.perf_event_paranoid; -100 where there is none. */
int rps_perf_paranoid(void);

/* 1 when this machine says that it is a virtual one. */
int rps_perf_is_virtual(void);

/* --- pmu_perf_cores.c: kinds of core ---------------------------------------------------------- */

/* Fill perf->core; `probe` is an event that every kind counts. No kinds are told apart where the
 * kernel cannot be told which one an event is for. */
void rps_perf_find_cores(struct rps_perf *perf, const struct rps_event *probe);

/* Kinds to ask in a loop: 1 where all cores are alike. */
int rps_perf_kinds(const struct rps_perf *perf);

/* The kind of core that a CPU is; 0 where all are alike. */
int rps_perf_kind_of_cpu(const struct rps_perf *perf, int cpu);

/* 1 when the event takes one of the processor's counters, else 0. */
int rps_perf_needs_counter(const struct rps_perf *perf, const struct rps_event *event);

/* 1 when the event can be counted on this kind of core, else 0. */
int rps_perf_counts_on(const struct rps_perf *perf, const struct rps_event *event, int kind);

/* The event as it is opened on one kind of core. */
struct rps_event rps_perf_event_on(const struct rps_perf *perf, const struct rps_event *event,
                                   int kind);

/* Move this thread to one kind of core; 0 when it may not go there. */
int rps_perf_go_to(const struct rps_perf_core *core);

/* --- pmu_perf_fit.c: what can be counted here ------------------------------------------------- */

/* As struct rps_pmu says. */
int rps_perf_try_event(void *self, struct rps_event *event, struct rps_error *err);
int rps_perf_fits(void *self, const struct rps_event *const *event, int count);

/* Does the event count on this thread, on any kind of core? (The thread is on one of them.) Returns
 * 0, or the errno of opening, or ENODATA for an event that opens and stands still. */
int rps_perf_counts_here(const struct rps_perf *perf, const struct rps_event *event);

/*
 * Grow a group of the clock event and copies of one event while it can be placed; all copies must
 * count alike. Returns how many do, or INT_MAX when every copy that was placed did. Not asked on
 * hybrid processors, where a generic event may be for the other kind of core.
 */
int rps_perf_find_limit(void);

/* --- pmu_perf_attach.c: the counters of a target ---------------------------------------------- */

/* As struct rps_pmu says. */
int rps_perf_attach(void *self, const struct rps_plan *plan, const struct rps_target *target,
                    struct rps_error *err);

/* Close all counters, and free places and tracks. Harmless where nothing was attached to. */
void rps_perf_detach(struct rps_perf *perf);

/* How a thread is opened. */
struct rps_perf_opener {
    void *context;
    int (*open)(void *context, pid_t tid, struct rps_error *err); /* 1: the thread has gone */
    void (*drop)(void *context); /* close all that was opened of this process */
};

/*
 * Open a running process: all its threads. `inherit` covers what a thread starts once it is open.
 * Of a thread that was started while its siblings were being opened nobody can tell whether it
 * inherited counters, all or a part of them; so everything is closed and opened again until no
 * thread was started meanwhile. With thousands of threads one in a hundred may be in doubt: it is
 * left out.
 */
int rps_perf_open_process(pid_t pid, const struct rps_perf_opener *opener, struct rps_error *err);

/* Threads that a target has now; 1 for a workload that is launched, 0 for CPUs. */
int rps_perf_count_threads(const struct rps_target *target, size_t *ret, struct rps_error *err);

/* Descriptors that stay free for everything else. */
#define RPS_PERF_DESCRIPTORS_FREE 64

/* Let this process have `need` descriptors. Returns 0, or how many it may have where that is
 * fewer. */
unsigned long long rps_perf_reserve_descriptors(unsigned long long need);

/* --- pmu_perf_read.c: switching and reading --------------------------------------------------- */

/* How often the start of counting, and its end, are asked for. */
#define RPS_PERF_SETTLE_TIMES 3

/* As struct rps_pmu says. */
int rps_perf_start(void *self, int set, struct rps_error *err);
int rps_perf_stop(void *self, int set, struct rps_error *err);
int rps_perf_enable(void *self, int set, struct rps_error *err);
int rps_perf_disable(void *self, int set, struct rps_error *err);
int rps_perf_read(void *self, int track, int set, struct rps_reading *ret, struct rps_error *err);

/* --- sampler_perf.c: sampling ----------------------------------------------------------------- */

/* As struct rps_pmu says. */
int rps_perf_open_sampler(void *self, const struct rps_sampling_options *options,
                          const struct rps_target *target, struct rps_sampler *ret,
                          struct rps_error *err);

/* --- signals_proc.c: system signals ----------------------------------------------------------- */

/* As struct rps_pmu says. */
int rps_perf_open_signals(void *self, const struct rps_system_options *options,
                          const struct rps_target *target, struct rps_system_reader *ret,
                          struct rps_error *err);

#endif
