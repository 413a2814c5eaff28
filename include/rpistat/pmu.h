/* The PMU interface: counter backends as rows of a constant table, one file per backend.
 *
 * A backend knows which events exist and which events can be counted at the same time. A backend
 * switches event sets on and off, and reads their counters. Only backends use perf_event_attr. The
 * functions are called in this order: open; try_event for the clock event and every event, and fits
 * (rps_pmu_prepare calls both). Then attach once; start, unless counting began by itself at the
 * exec of the workload. Then enable, disable and read; stop and start for a pause; close.
 *
 * A target has one or more tracks: one for a whole workload, one per CPU for a machine. All tracks
 * switch together. Counters are cumulative from attach to close and never reset. A counter of
 * `width` bits wraps, so that callers must take differences modulo 2^width (see mux.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rpistat/error.h"
#include "rpistat/period.h"

struct rps_event;
struct rps_plan;

/* A reading of the clock event and one event set. All values are cumulative since attach. */
struct rps_reading {
    uint64_t clock;               /* count of the clock event, modulo 2^(its width) */
    uint64_t enabled_ns;          /* time that the clock event was enabled, summed over threads */
    uint64_t running_ns;          /* time in which the set was counted, summed over threads */
    uint64_t clock_running_ns;    /* time that the clock event was counted, summed over threads */
    int64_t idle_ns;              /* Idle time of a whole CPU while the clock event was enabled
                                     (-1: unknown); 0 for a workload. */
    uint64_t value[RPS_SLOT_MAX]; /* count of each slot, modulo 2^(the slot's width) */
    uint32_t valid;               /* bit s is set if value[s] could be read */
};

enum rps_target_kind {
    RPS_TARGET_LAUNCH, /* one process that waits before its exec, and its descendants */
    RPS_TARGET_ATTACH, /* running processes with all their threads and descendants */
    RPS_TARGET_CPUS,   /* everything on some CPUs, one track per CPU */
    RPS_TARGET_CGROUP, /* processes of control groups, with one track */
};

#define RPS_TARGET_CGROUPS_MAX 16

/* The target whose events are counted. Arrays are borrowed for the call. */
struct rps_target {
    enum rps_target_kind kind;
    const pid_t *pid; /* for LAUNCH: a single process; for ATTACH: all processes */
    int pid_count;
    const int *cpu; /* for CPUS and CGROUP: the online CPUs */
    int cpu_count;
    int cgroup_fd[RPS_TARGET_CGROUPS_MAX]; /* CGROUP: open, separate directories of control
                                              groups */
    int cgroup_count;
    int start_at_exec; /* LAUNCH: 1 to count the clock event and first_set from the exec */
    int first_set;
};

struct rps_event_loop;
struct rps_sampler;
struct rps_sampling_options;
struct rps_system_options;
struct rps_system_reader;

struct rps_pmu {
    const char *name;         /* value of --pmu, for example "hardware" */
    const char *usage;        /* name with an argument, "NAME:ARGUMENT"; NULL: no argument */
    const char *summary;      /* description of the backend for users, one line */
    const char *default_plan; /* name of the set file that is recorded by default */

    /* Open the backend. `argument` is the text after "NAME:", or NULL. Return RPS_FAILED with the
     * likely cause if this machine lacks the backend's counters; `auto` then tries the next
     * backend. */
    int (*open)(void **ret, const char *argument, struct rps_error *err);

    /* Choose the clock event of this backend and fill *clock. */
    int (*choose_clock)(void *self, struct rps_event *clock, struct rps_error *err);

    /* Resolve the event and try to open it. Fill its encoding, modifiers, state and reason. Return
     * RPS_USAGE if no event has that name. */
    int (*try_event)(void *self, struct rps_event *event, struct rps_error *err);

    /* Return 1 if the clock event and all given events can count at the same time, otherwise 0. */
    int (*fits)(void *self, const struct rps_event *const *event, int count);

    /* Open every counter of the plan on the target, without starting it. First raise the limit of
     * open descriptors as far as needed and permitted. Return RPS_FAILED if this limit is still too
     * low (the message has the required limit), or if the target cannot be counted (the message has
     * the reason). The plan must outlive the backend. */
    int (*attach)(void *self, const struct rps_plan *plan, const struct rps_target *target,
                  struct rps_error *err);

    /* track_count returns the number of tracks of the target; track_cpu returns the CPU of a track
     * (RPS_CPU_ALL: several CPUs). */
    int (*track_count)(void *self);
    int (*track_cpu)(void *self, int track);

    /* Return the width in bits of a slot's counter; slot -1 is the clock event. */
    unsigned (*width)(void *self, int set, int slot);

    /* Return the time in ns in which the fastest counter wraps (INT64_MAX: never). Reads must be
     * less than this time apart, or counts are lost. */
    int64_t (*read_within_ns)(void *self);

    /* Start or stop counting of the clock event and a set, at the beginning and for pauses. */
    int (*start)(void *self, int set, struct rps_error *err);
    int (*stop)(void *self, int set, struct rps_error *err);

    /* Enable or disable a set on all tracks. The clock event is counted all the time. */
    int (*enable)(void *self, int set, struct rps_error *err);
    int (*disable)(void *self, int set, struct rps_error *err);

    /* Read one track. Return 1, with *ret untouched, if the track's CPU went offline. */
    int (*read)(void *self, int track, int set, struct rps_reading *ret, struct rps_error *err);

    /* Open a sampler on the attached target. Close *ret before the backend. Return RPS_FAILED with
     * the reason if sampling is impossible on this machine, or RPS_USAGE for invalid options. The
     * pointer is NULL if the backend cannot sample. */
    int (*open_sampler)(void *self, const struct rps_sampling_options *options,
                        const struct rps_target *target, struct rps_sampler *ret,
                        struct rps_error *err);

    /* Open a reader of system metrics on the attached target. Close *ret before the backend. Return
     * RPS_FAILED with the reason if system metrics cannot be read on this machine. The pointer is
     * NULL if the backend has no system metrics. */
    int (*open_system)(void *self, const struct rps_system_options *options,
                       const struct rps_target *target, struct rps_system_reader *ret,
                       struct rps_error *err);

    /* Return the backend's event loop for simulated time and workload, or NULL for the real loop.
     * The loop lives as long as the backend. The pointer may be NULL. */
    const struct rps_event_loop *(*event_loop)(void *self);

    /* Return how the simulated workload ended, like rps_workload_wait. The pointer is NULL if
     * `event_loop` is NULL. */
    void (*outcome)(void *self, int *ret_status, int *ret_signal);

    void (*close)(void *self); /* accepts NULL */
};

/* The backends for the machine's own counters, best first; the last row is NULL. */
extern const struct rps_pmu *const rps_pmus[];

extern const struct rps_pmu rps_pmu_hardware;
extern const struct rps_pmu rps_pmu_software;

/* Open the backend that `choice` names: a backend of the machine, or of the list `others` (NULL, or
 * terminated by NULL). "auto" is the first backend of the machine that works. *ret_pmu is the
 * backend's row; *ret_self is for (*ret_pmu)->close. Return RPS_USAGE for an unknown name. Return
 * RPS_FAILED with a reason if the backend, or with "auto" every backend, cannot be used. `note`
 * (`size` bytes) receives the reason why auto skipped better backends, or "". */
int rps_pmu_open(const char *choice, const struct rps_pmu *const *others,
                 const struct rps_pmu **ret_pmu, void **ret_self, char *note, size_t size,
                 struct rps_error *err);

/* Load the set file for counting with this backend. `sets` is the name of the set file (see
 * rps_plan_load). If `sets` is NULL, the backend's default set file, or the set file for this
 * machine's processor, is loaded. *ret is for rps_plan_free. Errors are those of rps_plan_load.
 * Also return RPS_FAILED if the backend uses hardware counters and the set file is for another
 * processor, because event numbers differ between processors. */
int rps_pmu_load_plan(const struct rps_pmu *pmu, const char *sets, struct rps_plan **ret,
                      struct rps_error *err);

/* The result of fitting a plan to the counters of the machine. */
struct rps_fitting {
    int counter_count; /* programmable counters, without the clock event's; -1: no limit */
    char text[1024];   /* lines for users that explain which sets were merged or split; "": none */
};

/* Choose the clock event, try every event, and fit the sets to the counters. Events that cannot be
 * counted are not removed from their slots, and have a state and a reason. With `merge`, sets are
 * joined in order if they can be counted together with each other and with the event for sampling.
 * Sets that are too large are always split. Formulas are compiled again. Return RPS_FAILED with the
 * first reason if no event of the plan can be counted. */
int rps_pmu_prepare(const struct rps_pmu *pmu, void *self, struct rps_plan *plan, int merge,
                    struct rps_fitting *ret, struct rps_error *err);

/* Measure, for events of a fitted plan that count system calls, the time that counting adds to each
 * occurrence on this machine. Set cost_ns of these events. For other events, the time is short.
 * Measuring takes 0.1 to 0.2 s per event that counts system calls. */
void rps_pmu_measure_costs(struct rps_plan *plan);
