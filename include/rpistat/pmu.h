/*
 * The PMU seam: counter backends as rows of a const table, a file each.
 *
 * A backend knows which events exist, which of them can be counted at the same time, and how to
 * switch an event set on, off and read it. Nothing above it names a perf_event_attr. The order of
 * calls: open; try_event for the clock and every event and fits while the plan is fitted
 * (rps_pmu_prepare does that); attach once; start, where counting does not start by itself at exec;
 * then enable, disable and read; stop and start again for a pause; close.
 *
 * What is counted is one or more tracks: one for a workload as a whole, one a CPU for a machine.
 * All tracks switch together. Counters are cumulative from attach to close and never reset; a
 * counter of `width` bits wraps, and whoever reads it takes differences modulo 2^width (see mux.h).
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

/* What one read of the clock event and one event set gives; all cumulative since attach. */
struct rps_reading {
    uint64_t clock;               /* clock event, modulo 2^(its width) */
    uint64_t enabled_ns;          /* time the clock event was enabled, summed over threads */
    uint64_t running_ns;          /* time the set was counting, summed over threads */
    uint64_t clock_running_ns;    /* time the clock event was counting, summed over threads */
    int64_t idle_ns;              /* of a whole CPU: time it was idle while the clock event was
                                     enabled; 0 for a workload; -1: not known */
    uint64_t value[RPS_SLOT_MAX]; /* modulo 2^(the slot's width) */
    uint32_t valid;               /* bit s: value[s] could be read */
};

enum rps_target_kind {
    RPS_TARGET_LAUNCH, /* one process that waits before its exec, and all that comes of it */
    RPS_TARGET_ATTACH, /* running processes with all their threads, and all that comes of them */
    RPS_TARGET_CPUS,   /* everything on some CPUs, a track each */
    RPS_TARGET_CGROUP, /* the processes of control groups, one track */
};

#define RPS_TARGET_CGROUPS_MAX 16

/* What is counted. Arrays are borrowed for the call. */
struct rps_target {
    enum rps_target_kind kind;
    const pid_t *pid; /* LAUNCH: one; ATTACH: processes */
    int pid_count;
    const int *cpu; /* CPUS, CGROUP: online CPUs */
    int cpu_count;
    int cgroup_fd[RPS_TARGET_CGROUPS_MAX]; /* CGROUP: folders, open; none lies in another */
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
    const char *name;         /* "hardware": what --pmu takes */
    const char *usage;        /* that with what stands behind a colon, for people; NULL: nothing */
    const char *summary;      /* one line for people */
    const char *default_plan; /* document recorded when the user names none */

    /* Begin. `argument` is what stood behind "NAME:", or NULL. RPS_FAILED with the likely cause
     * when this machine has nothing of the kind (that is how `auto` finds the best backend). */
    int (*open)(void **ret, const char *argument, struct rps_error *err);

    /* The clock event of this backend: fills *clock. */
    int (*choose_clock)(void *self, struct rps_event *clock, struct rps_error *err);

    /* Resolve the event and try to open it: fills its encoding, modifiers, state and reason.
     * RPS_USAGE when no event has such a name. */
    int (*try_event)(void *self, struct rps_event *event, struct rps_error *err);

    /* 1 when the clock event and these events can all count at the same time, else 0. */
    int (*fits)(void *self, const struct rps_event *const *event, int count);

    /* Open every counter of the plan on the target, standing still. Descriptors are counted first,
     * and the limit raised to what is allowed; RPS_FAILED says what it takes when that is too few,
     * or why the target cannot be counted. The plan must outlive the backend. */
    int (*attach)(void *self, const struct rps_plan *plan, const struct rps_target *target,
                  struct rps_error *err);

    /* Tracks of the target, and the CPU of one (RPS_CPU_ALL: not of one CPU). */
    int (*track_count)(void *self);
    int (*track_cpu)(void *self, int track);

    /* Width in bits of the counter behind a slot; slot -1 is the clock event. */
    unsigned (*width)(void *self, int set, int slot);

    /* Time in which the fastest counter can count through its whole width, ns: two reads must lie
     * closer together, or what was counted in between is lost. INT64_MAX: they need not. */
    int64_t (*read_within_ns)(void *self);

    /* Let the clock event and the set count, or both stand still: begin, and pause. */
    int (*start)(void *self, int set, struct rps_error *err);
    int (*stop)(void *self, int set, struct rps_error *err);

    /* Switch a set of all tracks on or off; the clock event goes on. */
    int (*enable)(void *self, int set, struct rps_error *err);
    int (*disable)(void *self, int set, struct rps_error *err);

    /* Read one track. 1: the track is no more (its CPU went offline), *ret is untouched. */
    int (*read)(void *self, int track, int set, struct rps_reading *ret, struct rps_error *err);

    /* Open a sampler on the target that was attached, in *ret for its close, which comes before the
     * backend's. RPS_FAILED says why nothing can be sampled here, RPS_USAGE what is wrong in the
     * options. NULL: this backend has none. */
    int (*open_sampler)(void *self, const struct rps_sampling_options *options,
                        const struct rps_target *target, struct rps_sampler *ret,
                        struct rps_error *err);

    /* Open a reader of system signals on the target that was attached, in *ret for its close, which
     * comes before the backend's. RPS_FAILED says why nothing can be read here. NULL: this backend
     * has none. */
    int (*open_signals)(void *self, const struct rps_system_options *options,
                        const struct rps_target *target, struct rps_system_reader *ret,
                        struct rps_error *err);

    /* The event loop the backend brings along (simulated time and workload), or NULL for the real
     * one; NULL may also stand for the function. Lives as long as the backend. */
    const struct rps_event_loop *(*event_loop)(void *self);

    /* How the simulated workload ended, as rps_workload_wait; NULL together with `event_loop`. */
    void (*outcome)(void *self, int *ret_status, int *ret_signal);

    void (*close)(void *self); /* NULL is harmless */
};

/* The machine's own counters, best first; the last row is NULL. */
extern const struct rps_pmu *const rps_pmus[];

extern const struct rps_pmu rps_pmu_hardware;
extern const struct rps_pmu rps_pmu_software;

/*
 * Open the backend that `choice` names: one of the machine's own, or of `others`, which end with
 * NULL (NULL: there are none), or "auto": the first of its own that this machine has. *ret_pmu is the row, *ret_self the backend, for (*ret_pmu)->close.
 * RPS_USAGE for an unknown name; RPS_FAILED with one sentence when it cannot be used here, or, for
 * auto, when nothing can be counted at all. `note` (size bytes) receives why auto passed over
 * better backends, "" if it did not.
 */
int rps_pmu_open(const char *choice, const struct rps_pmu *const *others,
                 const struct rps_pmu **ret_pmu, void **ret_self, char *note, size_t size,
                 struct rps_error *err);

/*
 * The document that is counted with this backend: the one called `sets` (see rps_plan_load), or,
 * for NULL, the one for this machine's processor or the backend's own. *ret is for rps_plan_free.
 * Errors: those of rps_plan_load; RPS_FAILED when hardware counters are to count a document of
 * another processor, whose numbers of events mean something else here.
 */
int rps_pmu_load_plan(const struct rps_pmu *pmu, const char *sets, struct rps_plan **ret,
                      struct rps_error *err);

/* What fitting a plan to this machine's counters came to. */
struct rps_fitting {
    int counter_count; /* programmable counters beside the clock event; -1: not limited */
    char text[1024];   /* lines for people: which sets were merged or split, and why; "" none */
};

/*
 * Choose the clock event, try every event, drop what cannot be counted (it keeps its place with a
 * state and a reason), and fit the sets to the counters: with `merge` sets are joined in order as
 * long as they can be counted together, and beside the event that samples are taken by; a set that
 * is too large is split either way. Formulas are compiled again. RPS_FAILED when no event of the
 * plan can be counted; its message gives the first reason.
 */
int rps_pmu_prepare(const struct rps_pmu *pmu, void *self, struct rps_plan *plan, int merge,
                    struct rps_fitting *ret, struct rps_error *err);

/*
 * Measure here and now what counting costs the workload each time that it occurs, for the events of
 * a fitted plan with which that is much: cost_ns of those that count system calls. Others are left
 * as they are. Takes 0.1 to 0.2 s for each such event, else nothing.
 */
void rps_pmu_measure_costs(struct rps_plan *plan);

#endif
