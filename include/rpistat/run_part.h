/*
 * A part of a run: segments of its periods. Each belongs to a group, as a phase to its label, and
 * each group counts for itself.
 */
#ifndef RPISTAT_RUN_PART_H
#define RPISTAT_RUN_PART_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/cpus.h"
#include "rpistat/error.h"
#include "rpistat/phase.h"

struct rps_reader;

struct rps_run_stretch {
    uint64_t first, last; /* numbers of its periods, both inclusive */
    size_t group;
};

struct rps_run_part {
    size_t count;
    struct rps_run_stretch *stretch; /* ascending, without overlap */
    size_t group_count;
};

/* The selected part: the intersection of all members that are set. All zero but to_ns: INT64_MAX,
 * the whole run. */
struct rps_part_choice {
    int64_t from_ns, to_ns;
    const char *phase;  /* "B": all occurrences; "B.2": the second one; "3", "2-4": by their
                           numbers, from 0; NULL: any */
    const char *region; /* periods wholly inside it; NULL: any */
    const struct rps_phases *phases; /* of the run, borrowed; NULL: rps_run_phases_get, if `phase`
                                        is set */
};

/*
 * Choose a part, as one group, in the arena; it is empty if it has no period. Errors: the store's;
 * no such phase or region; RPS_USAGE if `phase` has the wrong form.
 */
int rps_run_part_choose(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                        const struct rps_part_choice *choice, struct rps_run_part *ret,
                        struct rps_error *err);

/* Return the phases as a part, with one group per phase or per label, in the arena. */
struct rps_run_part rps_run_part_of_phases(struct rps_arena *arena, const struct rps_phases *phases,
                                           int by_label);

/* Return RPS_USAGE if the text does not have the form of a phase in rps_part_choice. */
int rps_run_part_check(const char *text, struct rps_error *err);

/* Return the intersection of both, in the groups of `part`, in the arena. */
struct rps_run_part rps_run_part_both(struct rps_arena *arena, const struct rps_run_part *part,
                                      const struct rps_run_part *other);

/* The time of a group; NaN if it has no periods. */
struct rps_part_time {
    double off_cpu; /* share of its time in which no thread of the run was on a CPU, 0 ... 1, from
                       its periods; by CPU: in which its CPUs were idle */
    double cpu_s;   /* CPU time of all threads, s */
    int is_least;   /* 1: off_cpu is a lower limit, since several threads may have run at once */
};

/* Find the time of each group, in the arena. `choice` selected the part, or limits it. Only its
 * times are used: no period outside them is read. Errors: the store's. */
int rps_run_part_time(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                      const struct rps_part_choice *choice, const struct rps_run_part *part,
                      const struct rps_cpus *cpus, struct rps_part_time **ret,
                      struct rps_error *err);

#endif
