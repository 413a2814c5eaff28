/* Phases of recorded runs, with times and period numbers. Several runs can be detected together,
 * with their signals one after another. There is always a boundary between two runs, and a label
 * has the same meaning in all runs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/collect.h"
#include "rpistat/cpus.h"
#include "rpistat/error.h"
#include "rpistat/joint.h"
#include "rpistat/period.h"
#include "rpistat/phase.h"
#include "rpistat/phases.h"

struct rps_reader;

/* If a run has more periods than this, phases are detected only by `rpistat phases`. */
#define RPS_RUN_PHASES_PERIODS_MAX 100000

/* Find the phases of a run, for commands that only use phases. If the newest stored detection
 * covers the run to its end, the phases of this detection are returned. Without such a detection,
 * phases are detected with default options, and not stored. Return 1 and *ret (in the arena), 0 for
 * no phases, or a negative value on error. There are no phases if the run has no periods. There are
 * also no phases if the run has more than RPS_RUN_PHASES_PERIODS_MAX periods and no stored
 * detection. In *ret, start_ns and end_ns are set; first, last and the
 * outliers are period numbers. `remark` (may be NULL) receives the remark on the whole run, or "".
 */
int rps_run_phases_get(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                       struct rps_phase_levels *ret, char remark[RPS_PHASE_REMARK_SIZE],
                       struct rps_error *err);

/* Read the newest stored detection, even if the recording has continued since the detection. In all
 * other respects, this function is like rps_run_phases_get. */
int rps_run_phases_stored(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                          struct rps_phase_levels *ret, struct rps_error *err);

/* A run in a store. */
struct rps_run_at {
    struct rps_reader *reader; /* reader of the run's store (borrowed) */
    int64_t run_id;
};

typedef char rps_signal_name[RPS_NAME_SIZE * 2]; /* name of a signal: "cpi", "cpi of CPU 2",
                                                    "samples in solve" */

struct rps_run_phases_options {
    int64_t from_ns, to_ns;    /* time range of the run; 0 and INT64_MAX: the whole run */
    struct rps_cpus cpus;      /* Selected CPUs in a recording by CPU. RPS_CPUS_EACH gives one
                               signal per metric and CPU; other choices add the CPUs up. */
    const char *const *metric; /* Names of metrics to use (borrowed). "samples" means the samples
                                  of all functions, "samples in solve" the samples of a function. */
    size_t metric_count;       /* number of names; 0: all metrics that vary, and samples */
    int no_samples;            /* 1 if no samples are used, even if a name requests samples */
    int64_t min_length_ns;     /* minimum duration of a phase if find.detect.min_length is 0 */
    struct rps_phases_options find;
};

/* The phases of one or several runs, and the inputs of the detection. */
struct rps_run_phases {
    struct rps_found_phases found; /* Phases of a single run, with times; first, last and the
                                      outliers are period numbers. */
    struct rps_joint joint;        /* phases of several runs, with periods and times of each run */
    int resolution;                /* level at which all runs were read; 0: periods as measured */
    int64_t periods_from_ns; /* Time from which the run still has periods as measured. Set only
                                if the part begins before this time, so that the part was read as
                                blocks; otherwise -1. */
    struct rps_observing observing;
    size_t observation_count; /* Number of periods, or of blocks of the level. Simultaneous
                                 periods of several CPUs are counted as one. */
    size_t min_length;        /* Minimum length of a phase in the detection, in periods. Such a
                                 phase counts each event set twice. 0: chosen by the detector. */
    size_t signal_count;
    rps_signal_name *signal; /* names of the signals; for several runs, those that all have */
    size_t missing_count;
    rps_signal_name *missing; /* names of unused signals, which only some of the runs have */
};

/* Detect the phases of a run, of several runs together, or of a part of each run. Nothing is
 * stored. If one run is read at a coarser level because it is long or downsampled, all runs are
 * read at this level. If all runs have samples, numbers of samples in functions are also used as
 * signals, if they are useful in any run. For several runs, metrics cannot be chosen. *ret is in
 * the arena. Errors come from the store. Other errors are an unknown metric or a missing
 * level (both RPS_USAGE), a run or part without periods, and CPUs that were not recorded. */
int rps_run_phases_detect(struct rps_arena *arena, const struct rps_run_at *run, size_t count,
                          const struct rps_run_phases_options *options, struct rps_run_phases *ret,
                          struct rps_error *err);

/* Find the phases of a run at its shown level, in a new process, which opens the store. The caller
 * survives a crash of that process, and must have no database open. If `options` is not NULL,
 * phases are detected with these options, and stored detections are ignored. If `options` is NULL,
 * rps_run_phases_get finds the phases. *ret is in the arena. The results are those of
 * rps_run_phases_get. */
int rps_run_phases_apart(struct rps_arena *arena, const char *path, int64_t run_id,
                         const struct rps_run_phases_options *options, struct rps_phases *ret,
                         struct rps_error *err);

/* Write the remark on the whole run, or "" (rps_profile_remark). `options` are those of the
 * detection. Errors are those of the store. */
int rps_run_phases_remark(struct rps_arena *arena, const struct rps_run_at *run,
                          const struct rps_run_phases_options *options,
                          const struct rps_run_phases *found, char ret[RPS_PHASE_REMARK_SIZE],
                          struct rps_error *err);

/* Principal components of a run's metrics. There is one observation per rotation of the event sets,
 * in order of time. All memory is in the arena. Errors come from rps_components_find, the store, an
 * unknown metric, or a run without periods. */
struct rps_run_components {
    struct rps_components components;
    struct rps_collect_row *row; /* numbers and times of each observation */
    rps_signal_name *name;       /* name of each signal */
};

int rps_run_components_find(struct rps_arena *arena, const struct rps_run_at *run,
                            const struct rps_run_phases_options *options, size_t component_max,
                            struct rps_run_components *ret, struct rps_error *err);
