/*
 * The samples of a part of a run: how often each stack, or each task, was seen in it. A part is
 * stretches of the run's periods; each belongs to a group, as a phase to its label, which counts
 * for itself.
 */
#ifndef RPISTAT_RUN_CODE_H
#define RPISTAT_RUN_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/code.h"
#include "rpistat/cpus.h"
#include "rpistat/error.h"
#include "rpistat/phase.h"
#include "rpistat/run.h"
#include "rpistat/shares.h"
#include "rpistat/code_store.h"

struct rps_code_stretch {
    uint64_t first, last; /* numbers of its periods, both inclusive */
    size_t group;
};

struct rps_code_part {
    size_t count;
    struct rps_code_stretch *stretch; /* owned; ascending, without overlap */
    size_t group_count;
};

/* Which part: what all members that are set have in common. All zero but to_ns: INT64_MAX, the
 * whole run. */
struct rps_code_choice {
    int64_t from_ns, to_ns;
    const char *phase;  /* "B": whenever it comes; "B.2": the second time; "3", "2-4": by their
                           numbers, from 0; NULL: any */
    const char *region; /* periods wholly inside it; NULL: any */
    const struct rps_phases *phases; /* of the run, borrowed; NULL: rps_run_phases_get, when a phase
                                        is asked for */
};

/*
 * The part that was chosen, as one group; without a period in it, it is empty. Errors: the store's;
 * no such phase or region; RPS_USAGE when `phase` is none.
 */
int rps_code_part_choose(struct rps_reader *reader, int64_t run_id,
                         const struct rps_code_choice *choice, struct rps_code_part *ret,
                         struct rps_error *err);

/* The phases, a group each, or a group each label. RPS_FAILED without memory. */
int rps_code_part_of_phases(const struct rps_phases *phases, int by_label,
                            struct rps_code_part *ret, struct rps_error *err);

/* RPS_USAGE when the text means no phase, as in rps_code_choice. */
int rps_code_phase_check(const char *text, struct rps_error *err);

/* Keep what both have, in the groups of `part`. RPS_FAILED without memory. */
int rps_code_part_keep(struct rps_code_part *part, const struct rps_code_part *other,
                       struct rps_error *err);

void rps_code_part_free(struct rps_code_part *part);

/* A number of samples of one stack, or task, in a group; the same one may come again. What is not 0
 * ends the walk, which returns it when it is negative. */
typedef int rps_run_code_each(void *context, size_t group, int64_t id, uint64_t samples,
                              struct rps_error *err);

/* Call `each` for all counts of stacks, or of tasks, in the part; of these CPUs alone where they
 * are listed. Where a run is thinned, a block counts where its first period lies. */
int rps_run_code_walk(struct rps_reader *reader, int64_t run_id, const struct rps_code_part *part,
                      const struct rps_cpus *cpus, int tasks, rps_run_code_each *each,
                      void *context, struct rps_error *err);

/* The counts of all groups together by number, in a new array (free()) as long as the code's
 * stack_count, or task_count, for rps_shares_find. */
int rps_run_code_counts(struct rps_reader *reader, int64_t run_id, const struct rps_code_part *part,
                        const struct rps_cpus *cpus, const struct rps_code *code, int tasks,
                        uint64_t **ret, struct rps_error *err);

/* The functions that a group's samples were in most: the innermost of the program, for which the
 * kernel's work counts. Where the run is of several processes, and code without names has more
 * of the group than any function, their programs: a library's name would say nothing of them. */
#define RPS_CODE_TOP 5

struct rps_code_group {
    uint64_t samples;
    int by_program; /* 1: top has programs */
    int count;      /* of top */
    struct rps_code_top {
        struct rps_function_name name; /* its line: where most samples were */
        double share; /* of the group's samples, 0 ... 1; NaN: these are too few to tell */
    } top[RPS_CODE_TOP];
};

struct rps_code_groups {
    size_t count;
    struct rps_code_group *group; /* owned; names borrow from the code and from these: */
    struct rps_function_name *name, *program; /* owned */
};

/* Those of each group of a part. Errors: the store's. */
int rps_code_groups_find(struct rps_reader *reader, int64_t run_id,
                         const struct rps_code_part *part, const struct rps_cpus *cpus,
                         const struct rps_code *code, struct rps_code_groups *ret,
                         struct rps_error *err);
void rps_code_groups_free(struct rps_code_groups *groups);

/* Give a function the line where most samples were, of shares by function. */
void rps_code_place_line(struct rps_function_name *name, const struct rps_shares *shares);

/* "solve (three.c:40)", without the line where it is not known; for a sentence. A name that `size`,
 * 128 or more, does not hold is cut, the line is not; returns ret. */
char *rps_code_function_text(char *ret, size_t size, const struct rps_function_name *name);

/* "in solve (three.c:40)", and where that has less than half of the samples its share: "34 % in
 * ..."; "" where samples are too few to tell. For a sentence; not longer than size; returns ret. */
char *rps_code_group_text(char *ret, size_t size, const struct rps_code_group *group);

/* Of a group; NaN where it has no periods. */
struct rps_code_time {
    double off_cpu; /* share of its time, 0 ... 1, in which nothing of the run was on a CPU, and so
                       nothing was sampled. Of a recording by CPU: in which its CPUs were idle */
    double cpu_s;   /* CPU time, s */
};

/* The time of each group, in a new array (free()). The part was chosen, or kept to what was, by
 * `choice`, of which the times alone are looked at: no period outside them is read. Errors: the
 * store's. */
int rps_run_code_time(struct rps_reader *reader, int64_t run_id,
                      const struct rps_code_choice *choice, const struct rps_code_part *part,
                      const struct rps_cpus *cpus, struct rps_code_time **ret,
                      struct rps_error *err);

/* Were samples taken, or should have been? The script of a simulation may have no code. */
int rps_code_is_sampled(const struct rps_run *run, const struct rps_code *code);

/* The samples that so much CPU time should have; at most so many where only a part of it may be
 * sampled ("cpu-clock:u"). NaN where that is not known: samples of other events, by a threshold. */
double rps_code_expected(const struct rps_sampling *sampling, double cpu_s);

/* Are there clearly fewer, below .8? Of a few samples that is chance. */
int rps_code_is_short(uint64_t samples, double expected);

/* Where they are, a sentence with the likely reason; else "". Returns ret. */
char *rps_code_short_text(char *ret, size_t size, const struct rps_sampling *sampling,
                          uint64_t samples, double cpu_s);

/* That the run has no samples, and how to get them: RPS_FAILED. */
int rps_run_code_none(int64_t run_id, struct rps_error *err);

#endif
