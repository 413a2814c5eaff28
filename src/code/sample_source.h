/* The samples of a run. They are read from the store once, and counted for several parts of the
 * run. */
#pragma once

#include "rpistat/run_code.h"
#include "shares_index.h"

struct rps_kept_counts {
    int is_read, is_kept; /* is_kept 0: there are too many counts for memory; each part reads
                             them again. */
    size_t size;
    uint8_t *byte; /* Three numbers per count: the difference of its period to that of the count
                      before, its stack or task, and its samples. A byte has seven bits of a number,
                      and its highest bit is 1 if the number goes on. */
};

struct rps_sample_source {
    struct rps_arena *arena;        /* Owned; holds all members below. `reader` and `code` are
                                       borrowed. */
    struct rps_share_index index;   /* Index of functions. */
    struct rps_kept_counts kept[2]; /* Counts of stacks and of tasks. */
    uint64_t first, last;           /* Lowest and highest period of all parts. */
    struct rps_reader *reader;
    int64_t run_id;
    const struct rps_cpus *cpus;
    const struct rps_code *code;
};

/* Open the samples of the given parts; the caller frees the arena. */
struct rps_sample_source rps_sample_source_open(struct rps_reader *reader, int64_t run_id,
                                                const struct rps_cpus *cpus,
                                                const struct rps_code *code,
                                                const struct rps_run_part *part, size_t count);

/* The code (struct rps_code) and counts of the run in which rpistat most recently found phases. The
 * run's reader keeps them, because they are needed to compute the shares of these phases. */
struct rps_code_left {
    struct rps_arena *arena; /* Owned arena that holds all members. */
    int64_t run_id;
    struct rps_code code;
    struct rps_sample_source source;
};

void rps_code_left_free(void *left); /* `left` may be NULL. */

/* Call `each` for each count of stacks or tasks in a part. Errors: those of reading the store. */
int rps_sample_source_walk(struct rps_sample_source *source, const struct rps_run_part *part,
                           enum rps_code_counted what, rps_run_code_each *each, void *context,
                           struct rps_error *err);

/* Count the samples of a part, as rps_code_counts_read does. */
int rps_sample_source_count(struct rps_arena *arena, struct rps_code_counts *counts,
                            struct rps_sample_source *source, const struct rps_run_part *part,
                            enum rps_code_counted what, struct rps_error *err);

/* The names that distinguish the groups of a part, from the samples in the store. */

/* Samples of names (functions, programs, control groups) in the groups of a part. */
struct rps_apart_names {
    enum rps_code_counted what; /* Kind of the ids: stacks or tasks. */
    size_t id_count;            /* Number of stacks or tasks. */
    const int64_t *name_of;     /* Name of each stack or task; -1: none. */
    size_t name_count;
    const struct rps_share_name *name; /* Array of names. Addresses are never reported. */
    int has_modules;                   /* 1 if code without symbols is reported by its module. */
    const uint64_t *seen;              /* Number of samples, indexed by group * name_count +
                                          name. */
};

/* Cut each group into blocks of the same number of periods, without periods of other groups. */
struct rps_run_part rps_code_apart_blocks(struct rps_arena *arena, const struct rps_run_part *part);

/* Find the distinguishing name of each group, and put it into the group's apart[kind]. Texts are
 * copied into the arena. A part with one group has no distinguishing names. Errors are those of
 * reading the store. */
int rps_code_apart(struct rps_arena *arena, struct rps_sample_source *source,
                   const struct rps_run_part *part, const struct rps_apart_names *names,
                   enum rps_apart_kind kind, struct rps_share_group *group, struct rps_error *err);

/* Distinguish groups that have most of their samples in the same function. Put the nearest caller
 * that separates a group from the other groups into the group's apart[RPS_APART_CALLER]. Groups
 * with such a caller are no longer treated as alike. `name` has the functions of the source's
 * index. Errors are those of reading the store. */
int rps_code_callers(struct rps_arena *arena, struct rps_sample_source *source,
                     const struct rps_run_part *part, const struct rps_share_name *name,
                     struct rps_share_group *group, struct rps_error *err);

/* For each group without a function that has most of its samples, find the function that has most
 * samples in itself and its callees, and distinguishes the group. Put it into the group's
 * apart[RPS_APART_TOTAL]. Nothing is found if there are too many stacks. Errors are those of
 * reading the store. */
int rps_code_totals(struct rps_arena *arena, struct rps_sample_source *source,
                    const struct rps_run_part *part, const struct rps_share_name *name,
                    struct rps_share_group *group, struct rps_error *err);
