/* A part of a run is a list of segments. A segment is a range of periods of the run. Each segment
 * belongs to a group, and each group is counted separately. For example, a phase is a segment, and
 * its label is the group. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/cpus.h"
#include "rpistat/error.h"
#include "rpistat/phase.h"

struct rps_latency;
struct rps_reader;

struct rps_run_stretch {
    uint64_t first, last; /* numbers of the first and last period, both inclusive */
    size_t group;
};

struct rps_run_part {
    size_t count;
    struct rps_run_stretch *stretch; /* segments in ascending order, without overlap */
    size_t group_count;
    int is_latency; /* 1: each sample counts as the time for which it lengthens the run */
    const struct rps_latency *latency; /* Weights (rpistat/latency.h); NULL: not read, or all 1 */
};

/* A selection. The selected part is the intersection of all members that are set. For the whole
 * run, to_ns is INT64_MAX and all other members are 0. */
struct rps_part_choice {
    int64_t from_ns, to_ns;
    const char *phase;  /* Name of a phase: "B" is all occurrences, "B.2" the second occurrence,
                           "3" or "2-4" are numbers of phases from 0. NULL: any phase. */
    const char *region; /* name of a region; only periods inside are selected; NULL: all */
    const struct rps_phases *phases; /* Phases of the run (borrowed). NULL: if `phase` is set,
                                        rps_run_phases_get finds the phases. */
    int is_latency;                  /* as in struct rps_run_part */
    int is_wall; /* 1: exports have time on and off the CPU, in us, not samples */
};

/* Choose a part with one group, in the arena. The part is empty if it has no period. Errors come
 * from the store or from an unknown phase or region. A wrong form of `phase` is RPS_USAGE. */
int rps_run_part_choose(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                        const struct rps_part_choice *choice, struct rps_run_part *ret,
                        struct rps_error *err);

/* Convert the phases to a part with one group per phase, or per label, in the arena. */
struct rps_run_part rps_run_part_of_phases(struct rps_arena *arena, const struct rps_phases *phases,
                                           int by_label);

/* Return RPS_USAGE if the text does not have the form of `phase` in rps_part_choice. */
int rps_run_part_check(const char *text, struct rps_error *err);

/* Return the intersection of two parts, in the arena. The groups are those of `part`, and the
 * weights of samples those of `other`. */
struct rps_run_part rps_run_part_both(struct rps_arena *arena, const struct rps_run_part *part,
                                      const struct rps_run_part *other);

/* Times of a group; NaN if the group has no periods. */
struct rps_part_time {
    double off_cpu; /* Share (0 to 1) of the group's time in which no thread of the run was on a
                       CPU. In a recording by CPU: share in which the CPUs were idle. */
    double cpu_s;   /* CPU time of all threads in s */
    int is_least;   /* 1 if off_cpu is a lower limit, because threads may have run in parallel */
};

/* Find the times of each group, in the arena. `choice` is the selection from which the part was
 * made, or only a time range. Periods outside the time range of `choice` are not read. Errors are
 * those of the store. */
int rps_run_part_time(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                      const struct rps_part_choice *choice, const struct rps_run_part *part,
                      const struct rps_cpus *cpus, struct rps_part_time **ret,
                      struct rps_error *err);
