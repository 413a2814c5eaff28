/*
 * The PMU interface: counter backends as rows of a const table, one file per backend.
 *
 * A backend knows which events exist and which of them can be counted at the same time. It switches
 * event sets on and off, and reads them. Nothing above it names a perf_event_attr. Calls come in
 * this order: open; try_event for the clock and every event, and fits, while the plan is fitted
 * (rps_pmu_prepare does that). Then attach once; start, unless counting starts by itself at exec.
 * Then enable, disable and read; stop and start again for a pause; close.
 *
 * A target has one or more tracks: one for a workload as a whole, one per CPU for a machine. All
 * tracks switch together. Counters are cumulative from attach to close and never reset. A counter
 * of `width` bits wraps, and its readers take differences modulo 2^width (see mux.h).
 */
#ifndef RPISTAT_PMU_H
#define RPISTAT_PMU_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rpistat/error.h"
#include "rpistat/period.h"

struct rps_event;
struct rps_plan;

/* One reading of the clock event and one event set; all values are cumulative since attach. */
struct rps_reading {
    uint64_t clock;               /* clock event, modulo 2^(its width) */
    uint64_t enabled_ns;          /* time the clock event was enabled, summed over threads */
    uint64_t running_ns;          /* time the set was counting, summed over threads */
    uint64_t clock_running_ns;    /* time the clock event was counting, summed over threads */
    int64_t idle_ns;              /* of a whole CPU: time it was idle while the clock event was
                                     enabled; 0 for a workload; -1: unknown */
    uint64_t value[RPS_SLOT_MAX]; /* modulo 2^(the slot's width) */
    uint32_t valid;               /* bit s: value[s] could be read */
};

enum rps_target_kind {
    RPS_TARGET_LAUNCH, /* one process that waits before its exec, and its descendants */
    RPS_TARGET_ATTACH, /* running processes with all their threads, and their descendants */
    RPS_TARGET_CPUS,   /* everything on some CPUs, one track per CPU */
    RPS_TARGET_CGROUP, /* the processes of control groups, one track */
};

#define RPS_TARGET_CGROUPS_MAX 16

/* The target to count. Arrays are borrowed for the call. */
struct rps_target {
    enum rps_target_kind kind;
    const pid_t *pid; /* LAUNCH: one; ATTACH: processes */
    int pid_count;
    const int *cpu; /* CPUS, CGROUP: online CPUs */
    int cpu_count;
    int cgroup_fd[RPS_TARGET_CGROUPS_MAX]; /* CGROUP: directories, open; none is inside another */
    int cgroup_count;
    int start_at_exec; /* LAUNCH: clock event and first_set begin to count at the exec */
    int first_set;
};

struct rps_event_loop;
struct rps_sampler;
struct rps_sampling_options;
struct rps_system_options;
struct rps_system_reader;

struct rps_pmu {
    const char *name;         /* "hardware": the value for --pmu */
    const char *usage;        /* the same with its argument after a colon, for users; NULL: none */
    const char *summary;      /* one line for users */
    const char *default_plan; /* document recorded if the user names none */

    /* Open the backend. `argument` is the text after "NAME:", or NULL. RPS_FAILED with the likely
     * cause if this machine has no such counters (that is how `auto` finds the best backend). */
    int (*open)(void **ret, const char *argument, struct rps_error *err);

    /* Choose the clock event of this backend: fills *clock. */
    int (*choose_clock)(void *self, struct rps_event *clock, struct rps_error *err);

    /* Resolve the event and try to open it: fills its encoding, modifiers, state and reason.
     * RPS_USAGE if no event has that name. */
    int (*try_event)(void *self, struct rps_event *event, struct rps_error *err);

    /* Return 1 if the clock event and these events can all count at the same time, otherwise 0. */
    int (*fits)(void *self, const struct rps_event *const *event, int count);

    /* Open every counter of the plan on the target, stopped. First counts the descriptors and
     * raises the limit as far as permitted. RPS_FAILED reports the required limit if it is too low,
     * or why the target cannot be counted. The plan must outlive the backend. */
    int (*attach)(void *self, const struct rps_plan *plan, const struct rps_target *target,
                  struct rps_error *err);

    /* Number of tracks of the target, and the CPU of one (RPS_CPU_ALL: not of one CPU). */
    int (*track_count)(void *self);
    int (*track_cpu)(void *self, int track);

    /* Return the width in bits of a slot's counter; slot -1 is the clock event. */
    unsigned (*width)(void *self, int set, int slot);

    /* Return the time in which the fastest counter wraps, in ns. Two reads must be closer together,
     * or counts between them are lost. INT64_MAX: no limit. */
    int64_t (*read_within_ns)(void *self);

    /* Start or stop the clock event and the set: begin, and pause. */
    int (*start)(void *self, int set, struct rps_error *err);
    int (*stop)(void *self, int set, struct rps_error *err);

    /* Switch a set of all tracks on or off; the clock event continues. */
    int (*enable)(void *self, int set, struct rps_error *err);
    int (*disable)(void *self, int set, struct rps_error *err);

    /* Read one track. 1: the track no longer exists (its CPU went offline); *ret is untouched. */
    int (*read)(void *self, int track, int set, struct rps_reading *ret, struct rps_error *err);

    /* Open a sampler on the attached target; *ret is for its close, which comes before the
     * backend's. RPS_FAILED: why sampling is impossible here; RPS_USAGE: invalid options. The
     * function is NULL if the backend has none. */
    int (*open_sampler)(void *self, const struct rps_sampling_options *options,
                        const struct rps_target *target, struct rps_sampler *ret,
                        struct rps_error *err);

    /* Open a reader of system metrics on the attached target; *ret is for its close, which comes
     * before the backend's. RPS_FAILED: why reading is impossible here. The function is NULL if the
     * backend has none. */
    int (*open_signals)(void *self, const struct rps_system_options *options,
                        const struct rps_target *target, struct rps_system_reader *ret,
                        struct rps_error *err);

    /* Return the backend's own event loop (simulated time and workload), or NULL for the real one;
     * the function may also be NULL. It lives as long as the backend. */
    const struct rps_event_loop *(*event_loop)(void *self);

    /* Return how the simulated workload ended, like rps_workload_wait; NULL if `event_loop` is. */
    void (*outcome)(void *self, int *ret_status, int *ret_signal);

    void (*close)(void *self); /* NULL is harmless */
};

/* The machine's own counters, best first; the last row is NULL. */
extern const struct rps_pmu *const rps_pmus[];

extern const struct rps_pmu rps_pmu_hardware;
extern const struct rps_pmu rps_pmu_software;

/*
 * Open the backend that `choice` names: one of the machine's own, or of `others`, which end with
 * NULL (NULL: none). "auto" is the first of the machine's own that works here. *ret_pmu is the row,
 * *ret_self the backend, for (*ret_pmu)->close. RPS_USAGE: unknown name. RPS_FAILED with one
 * sentence: it cannot be used here, or, for auto, nothing can be counted at all. `note` (size
 * bytes) receives why auto skipped better backends; "": it did not.
 */
int rps_pmu_open(const char *choice, const struct rps_pmu *const *others,
                 const struct rps_pmu **ret_pmu, void **ret_self, char *note, size_t size,
                 struct rps_error *err);

/*
 * Load the document to count with this backend: the one named `sets` (see rps_plan_load). NULL: the
 * one for this machine's processor or the backend's own. *ret is for rps_plan_free. Errors: those
 * of rps_plan_load; RPS_FAILED if the document is for another processor than the hardware counters,
 * whose event numbers differ.
 */
int rps_pmu_load_plan(const struct rps_pmu *pmu, const char *sets, struct rps_plan **ret,
                      struct rps_error *err);

/* The result of fitting a plan to this machine's counters. */
struct rps_fitting {
    int counter_count; /* programmable counters in addition to the clock event; -1: no limit */
    char text[1024];   /* lines for users: which sets were merged or split, and why; "": none */
};

/*
 * Choose the clock event, try every event, drop uncountable ones (they keep their places with a
 * state and a reason), and fit the sets to the counters. With `merge`, sets are joined in order as
 * long as they can be counted together, and with the event for sampling. Sets that are too large
 * are split in any case. Formulas are compiled again. RPS_FAILED if no event of the plan can be
 * counted; its message has the first reason.
 */
int rps_pmu_prepare(const struct rps_pmu *pmu, void *self, struct rps_plan *plan, int merge,
                    struct rps_fitting *ret, struct rps_error *err);

/*
 * Measure how much counting an event costs the workload per occurrence here and now. Sets cost_ns
 * of those events of a fitted plan for which it is high: those that count system calls. Others stay
 * unchanged. Takes 0.1 to 0.2 s per such event, otherwise no time.
 */
void rps_pmu_measure_costs(struct rps_plan *plan);

#endif
