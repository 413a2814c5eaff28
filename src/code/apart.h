/* The names that distinguish the groups of a part, from the samples in the store. */
#ifndef RPISTAT_CODE_APART_H
#define RPISTAT_CODE_APART_H

#include "sample_source.h"

/* Samples of names (functions, programs, control groups) in the groups of a part. */
struct rps_apart_names {
    enum rps_code_counted what; /* stacks, or tasks */
    size_t id_count;            /* of them */
    const int64_t *name_of;     /* the name of each stack, or task; -1: none */
    size_t name_count;
    const struct rps_share_name *name; /* addresses are never reported */
    int has_modules;                   /* 1: code without symbols is reported by its module */
    const uint64_t *seen;              /* seen[group * name_count + name] */
};

/* Find the name of each group, into the group's apart[kind]; texts are copied into the arena. A
 * part of one group has none. Errors: those of the store. */
int rps_code_apart(struct rps_arena *arena, struct rps_sample_source *source,
                   const struct rps_run_part *part, const struct rps_apart_names *names,
                   enum rps_apart_kind kind, struct rps_share_group *group, struct rps_error *err);

/* Distinguish groups that have most of their samples in the same function. Find the nearest caller
 * that separates each group from the others, into apart[RPS_APART_CALLER]. They are then no longer
 * alike. `name` has the functions of the source's index. Errors: those of the store. */
int rps_code_callers(struct rps_arena *arena, struct rps_sample_source *source,
                     const struct rps_run_part *part, const struct rps_share_name *name,
                     struct rps_share_group *group, struct rps_error *err);

#endif
