/*
 * The phases of recorded runs: from the periods of their stores to a detection with times and
 * period numbers. Several runs are detected together, with their signals one after another. There
 * is always a boundary between runs, and labels mean the same in all of them.
 */
#ifndef RPISTAT_RUN_PHASES_H
#define RPISTAT_RUN_PHASES_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/collect.h"
#include "rpistat/components.h"
#include "rpistat/cpus.h"
#include "rpistat/detect.h"
#include "rpistat/error.h"
#include "rpistat/joint.h"
#include "rpistat/period.h"
#include "rpistat/phase.h"
#include "rpistat/phases.h"

struct rps_profile;
struct rps_reader;

/* Longer runs are analysed only if the user requests it (`rpistat phases`). */
#define RPS_RUN_PHASES_PERIODS_MAX 100000

/*
 * Find the phases of a run, for commands that only use them. They are those of its newest stored
 * detection, if that reaches to the end of the run. Otherwise they are detected now, with default
 * options, and not stored. Return 1 and *ret (for rps_phase_levels_free), 0 for none, negative on
 * error. None: no periods, or above RPS_RUN_PHASES_PERIODS_MAX without a stored detection. In *ret,
 * first, last and the outliers are period numbers; start_ns and end_ns are set. The remark on the
 * whole goes to remark (may be NULL), or "".
 */
int rps_run_phases_get(struct rps_reader *reader, int64_t run_id, struct rps_phase_levels *ret,
                       char remark[RPS_PHASE_REMARK_SIZE], struct rps_error *err);

/* A run, and its store. */
struct rps_run_at {
    struct rps_reader *reader; /* borrowed */
    int64_t run_id;
};

typedef char rps_signal_name[RPS_NAME_SIZE * 2]; /* "cpi", "cpi of CPU 2", "samples in solve" */

struct rps_run_phases_options {
    int64_t from_ns, to_ns; /* the part of the run; 0 and INT64_MAX for all of it */
    struct rps_cpus cpus;   /* of a recording by CPU: RPS_CPUS_EACH gives one signal per metric and
                               CPU; otherwise the CPUs are added up */
    const char *const *metric; /* borrowed: names of metrics to use; "samples" are those of the
                                  code, "samples in solve" the ones of a function */
    size_t metric_count;       /* 0: all that vary, samples too */
    int no_samples;            /* 1: whatever the names are, no samples are used */
    int64_t min_length_ns;     /* shortest phase as a time; used when find.detect.min_length is 0 */
    struct rps_phases_options find;
};

/* A detection, and its inputs. */
struct rps_run_phases {
    struct rps_arena *arena;       /* owned; arrays without an owner below are its */
    struct rps_found_phases found; /* of one run; first, last and the outliers are period numbers;
                                      with times */
    struct rps_joint joint;        /* of several: with period numbers and times of each run */
    int resolution; /* level at which all runs were read, rpistat/period.h; 0: as measured */
    int64_t periods_from_ns; /* from when on rows as measured remain, if the part begins before
                                that, so that all of it was read at that level; otherwise -1 */
    int64_t observation_ns;  /* usual length of an observation */
    size_t
        observation_count; /* periods, or blocks of that level; CPUs added up or side by side count
                              once */
    size_t min_length;     /* shortest phase of the detection, in periods; 0: chosen by the
                              detector. If event sets rotate, each was on twice in it */
    size_t signal_count;
    rps_signal_name *signal; /* of several runs: those that all have by name and formula */
    size_t missing_count;
    rps_signal_name *missing; /* of several: those that some lack, which were not used */
};

/*
 * Detect the phases of a run, or of several together, or of a part of each; nothing is stored. If
 * one of several is so long, or downsampled, that it is read at a level, all are. Samples of
 * several are used if all have some: functions that matter in any. Metrics of several cannot be
 * chosen. *ret is for rps_run_phases_free. Errors: the store's; an unknown metric, or a missing
 * level (RPS_USAGE); a run or part without periods; CPUs that were not recorded.
 */
int rps_run_phases_detect(const struct rps_run_at *run, size_t count,
                          const struct rps_run_phases_options *options, struct rps_run_phases *ret,
                          struct rps_error *err);
void rps_run_phases_free(struct rps_run_phases *found);

/*
 * Find the phases of a run, at the level that is shown, in a process of its own, which opens the
 * store itself. The caller survives its failure, and must have no database open. options: detect
 * with these, and ignore stored detections; NULL: as rps_run_phases_get. *ret is for
 * rps_phases_free. Returns as rps_run_phases_get.
 */
int rps_run_phases_apart(const char *path, int64_t run_id,
                         const struct rps_run_phases_options *options, struct rps_phases *ret,
                         struct rps_error *err);

/* Write the remark on the whole of a detection with these options, or "" (rps_profile_remark).
 * Errors: the store's. */
int rps_run_phases_remark(const struct rps_run_at *run,
                          const struct rps_run_phases_options *options,
                          const struct rps_run_phases *found, char ret[RPS_PHASE_REMARK_SIZE],
                          struct rps_error *err);

/*
 * Principal components of a run's metrics, with one observation per rotation of the event sets, in
 * order of time; all memory is the arena's. Errors: those of rps_components_find and of the store;
 * an unknown metric; a run without periods.
 */
struct rps_run_components {
    struct rps_components components;
    struct rps_collect_row *row; /* of each observation */
    rps_signal_name *name;       /* of each signal */
};

int rps_run_components_find(struct rps_arena *arena, const struct rps_run_at *run,
                            const struct rps_run_phases_options *options, size_t component_max,
                            struct rps_run_components *ret, struct rps_error *err);

#endif
