/*
 * Internals of the perf_event backends, shared by their files: pmu_perf.c (the two backends),
 * pmu_perf_event.c (opening one event), pmu_perf_cores.c (kinds of core), pmu_perf_fit.c (finding
 * countable events), pmu_perf_cost.c (the cost of counting), pmu_perf_attach.c (the counters of a
 * target), pmu_perf_read.c (switching and reading them) and sampler_perf.c (sampling).
 *
 * A target has a number of places. Each has the clock event and one perf group per event set, so
 * that one read returns the whole set. pmu_perf_attach.c fills the places, and pmu_perf_read.c
 * reads them.
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
    int members;   /* number of values in a group read */
    struct rps_perf_slot slot[RPS_SLOT_MAX];
    /* Latest readings; after a failed read they stay unchanged, so that totals never decrease. */
    uint64_t running_ns;
    uint64_t value[RPS_SLOT_MAX];
    uint32_t valid; /* slots that the latest read returned */
};

/* A place where counters are open, with those counters. */
struct rps_perf_place {
    pid_t pid;           /* thread, -1: everything on the CPU, or a control group's descriptor */
    int cpu;             /* -1: wherever the thread runs */
    unsigned long flags; /* of perf_event_open */
    int kind;            /* of core, index into perf->core; 0 if there is one */
    int track;
    int gone; /* its CPU went offline */
    int clock_fd;
    uint64_t clock, enabled_ns, clock_running_ns; /* latest readings */
    struct rps_perf_group *group;                 /* owned; one per set */
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
    int limit;       /* events that really count with the clock event; INT_MAX: no limit known */
    struct rps_event clock; /* the clock event that was chosen */
    const struct rps_plan *plan;
    int clock_leads; /* the clock event is the leader of the only group */
    int first_set;   /* set that begins to count at the workload's exec */
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
    RPS_PERF_DISABLED = 1, /* count only if enabled */
    RPS_PERF_ON_EXEC = 2,  /* ... or at exec */
    RPS_PERF_PINNED = 4,   /* on a counter always, or never */
    RPS_PERF_GROUP = 8,    /* reads return the whole group */
    RPS_PERF_INHERIT = 16, /* children and threads are counted too */
};

struct perf_event_attr;

/* Fill the argument of perf_event_open to count the event. */
void rps_perf_fill_attr(struct perf_event_attr *attr, const struct rps_event *event,
                        unsigned flags);

/*
 * Open what attr describes, as below. If the kernel's part is refused, open without it, and set
 * exclude_kernel in attr.
 */
int rps_perf_open_attr(struct perf_event_attr *attr, const struct rps_perf_place *place,
                       int group_fd);

/*
 * Open the event at a place (NULL: this thread), in the group of group_fd (-1: its own group).
 * After a refusal, retry without the kernel's part, which more users may count; *ret_user_only (may
 * be NULL) reports that. Returns a descriptor, or -errno of the first try.
 */
int rps_perf_open_event(const struct rps_event *event, const struct rps_perf_place *place,
                        int group_fd, unsigned flags, int *ret_user_only);

/* Close *fd if it is open, and set it to -1. */
void rps_perf_close_fd(int *fd);

/* Convert the errno of a failed open to a state, and write its meaning to `reason` (size bytes). */
enum rps_event_state rps_perf_explain(int number, char *reason, size_t size);

/* Return the value of kernel.perf_event_paranoid; -100: it does not exist. */
int rps_perf_paranoid(void);

/* Return 1 if this machine reports that it is virtual. */
int rps_perf_is_virtual(void);

/* --- pmu_perf_cores.c: kinds of core ---------------------------------------------------------- */

/* Fill perf->core; `probe` is an event that every kind counts. Kinds are not distinguished if the
 * kernel has no way to select one for an event. */
void rps_perf_find_cores(struct rps_perf *perf, const struct rps_event *probe);

/* Return the number of kinds for a loop; 1 if all cores are alike. */
int rps_perf_kinds(const struct rps_perf *perf);

/* Return the kind of core of a CPU; 0 if all are alike. */
int rps_perf_kind_of_cpu(const struct rps_perf *perf, int cpu);

/* Return 1 if the event uses one of the processor's counters, otherwise 0. */
int rps_perf_needs_counter(const struct rps_perf *perf, const struct rps_event *event);

/* Return 1 if the event can be counted on this kind of core, otherwise 0. */
int rps_perf_counts_on(const struct rps_perf *perf, const struct rps_event *event, int kind);

/* Return the event for opening on one kind of core. */
struct rps_event rps_perf_event_on(const struct rps_perf *perf, const struct rps_event *event,
                                   int kind);

/* Move this thread to one kind of core; 0: that is not permitted. */
int rps_perf_go_to(const struct rps_perf_core *core);

/* --- pmu_perf_fit.c: what can be counted here ------------------------------------------------- */

/* Implements struct rps_pmu. */
int rps_perf_try_event(void *self, struct rps_event *event, struct rps_error *err);
int rps_perf_fits(void *self, const struct rps_event *const *event, int count);

/* Check that the event counts on this thread, on any kind of core. (The thread is on one of them.)
 * Returns 0, the errno of opening, or ENODATA for an event that opens but does not count. */
int rps_perf_counts_here(const struct rps_perf *perf, const struct rps_event *event);

/*
 * Grow a group of the clock event and copies of one event while it can be placed; all copies must
 * count alike. Returns how many do, or INT_MAX if every placed copy did. Not used on hybrid
 * processors, where a generic event may be for the other kind of core.
 */
int rps_perf_find_limit(void);

/* --- pmu_perf_attach.c: the counters of a target ---------------------------------------------- */

/* Implements struct rps_pmu. */
int rps_perf_attach(void *self, const struct rps_plan *plan, const struct rps_target *target,
                    struct rps_error *err);

/* Close all counters, and free places and tracks. Harmless if nothing was attached. */
void rps_perf_detach(struct rps_perf *perf);

/* Functions to open a thread. */
struct rps_perf_opener {
    void *context;
    int (*open)(void *context, pid_t tid, struct rps_error *err); /* 1: the thread has gone */
    void (*drop)(void *context); /* close everything that was opened for this process */
};

/*
 * Open a running process: all its threads. `inherit` covers threads that an opened thread starts.
 * If a thread starts while its siblings are being opened, it may have inherited all counters, some
 * or none. So everything is closed and opened again until no thread started in between. With
 * thousands of threads one in a hundred may be in doubt: it is left out.
 */
int rps_perf_open_process(pid_t pid, const struct rps_perf_opener *opener, struct rps_error *err);

/* Count the present threads of a target; 1 for a workload that is launched, 0 for CPUs. */
int rps_perf_count_threads(const struct rps_target *target, size_t *ret, struct rps_error *err);

/* Descriptors reserved for all other uses. */
#define RPS_PERF_DESCRIPTORS_FREE 64

/* Allow this process `need` descriptors. Returns 0, or the permitted number if that is lower. */
unsigned long long rps_perf_reserve_descriptors(unsigned long long need);

/* --- pmu_perf_read.c: switching and reading --------------------------------------------------- */

/* How often starting and stopping the counters are repeated. */
#define RPS_PERF_SETTLE_TIMES 3

/* Implements struct rps_pmu. */
int rps_perf_start(void *self, int set, struct rps_error *err);
int rps_perf_stop(void *self, int set, struct rps_error *err);
int rps_perf_enable(void *self, int set, struct rps_error *err);
int rps_perf_disable(void *self, int set, struct rps_error *err);
int rps_perf_read(void *self, int track, int set, struct rps_reading *ret, struct rps_error *err);

/* --- sampler_perf.c: sampling ----------------------------------------------------------------- */

/* Implements struct rps_pmu. */
int rps_perf_open_sampler(void *self, const struct rps_sampling_options *options,
                          const struct rps_target *target, struct rps_sampler *ret,
                          struct rps_error *err);

/* --- signals_proc.c: system signals ----------------------------------------------------------- */

/* Implements struct rps_pmu. */
int rps_perf_open_signals(void *self, const struct rps_system_options *options,
                          const struct rps_target *target, struct rps_system_reader *ret,
                          struct rps_error *err);

#endif
