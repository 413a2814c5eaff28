/*
 * The items of frames: what shares.c counts by and shares_calls.c makes trees of. An item is a
 * function, a line or a module.
 */
#ifndef RPISTAT_CODE_SHARES_INDEX_H
#define RPISTAT_CODE_SHARES_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/shares.h"

#define RPS_SHARE_NONE SIZE_MAX
#define RPS_SHARE_MADE "[JIT code]" /* without a map */

/* Groups of the kernel's hooks. */
#define RPS_SHARE_INTERRUPTS "kernel: interrupts"
#define RPS_SHARE_IDLE       "kernel: idle"

struct rps_share_key {
    const char *name, *file;
    size_t module; /* number of the first of its path; module_count: not known */
    int line;
    uint64_t hash;             /* of the key, by rps_share_items_number */
    enum rps_location_how how; /* beside the key; NONE: the name is an address or a module */
};

/* What keys are numbered by: the slots of a hash table hold number + 1. */
struct rps_share_items {
    size_t count, slots;
    struct rps_share_key *key;
    size_t *slot;
};

/* Behind the last frame stands one that is not known, for stacks of frame -1. */
struct rps_share_index {
    struct rps_arena *arena; /* of the index */
    struct rps_arena *texts; /* of the names of code without names */
    const struct rps_code *code;
    enum rps_shares_by by;
    enum rps_unnamed unnamed;
    int has_lines;  /* 0: lines take as long as functions, and are not wanted */
    size_t *module; /* of each module and the one that is not known: the first of its path */
    size_t *first;  /* of each frame, and one more: where its items are in `item` */
    size_t *item;   /* of a frame in order of depth */
    size_t *line;   /* the same places: numbers in `lines` */
    struct rps_share_items items, lines;
    size_t entries;
};

/* The number of the key. */
size_t rps_share_items_number(struct rps_arena *arena, struct rps_share_items *items,
                              const struct rps_share_key *key);

struct rps_share_index rps_share_index_make(struct rps_arena *arena, struct rps_arena *texts,
                                            const struct rps_code *code, enum rps_shares_by by,
                                            enum rps_unnamed unnamed, int has_lines);

/* Of each function the line that most of these samples of stacks were at, of those without any the
 * first that is known. */
const struct rps_share_key **rps_share_index_lines(const struct rps_share_index *index,
                                                   const uint64_t *samples);

/* As rps_shares_functions and rps_shares_place, of an index of functions that is there. */
int64_t *rps_share_index_functions(struct rps_arena *arena, const struct rps_share_index *index,
                                   int user, struct rps_share_name **ret_name, size_t *ret_count);
void rps_share_index_place(const struct rps_share_index *index, const uint64_t *samples,
                           struct rps_share_name *name);

/* The module of a frame, by its number; its path, or RPS_SHARE_UNKNOWN; is it the kernel? */
size_t rps_share_index_module(const struct rps_share_index *index, size_t frame);
const char *rps_share_index_path(const struct rps_code *code, size_t module);
int rps_share_index_is_kernel(const struct rps_code *code, size_t module);

/* The stack's frame; frame_count for one that is not known. Its caller; RPS_SHARE_NONE. */
size_t rps_share_frame_of(const struct rps_code *code, size_t stack);
size_t rps_share_parent_of(const struct rps_code *code, size_t stack);

/* Samples of each stack and all that it called. Counts of a store may be anything: sums end at the
 * largest number. */
uint64_t *rps_share_add_callees(struct rps_arena *arena, const struct rps_code *code,
                                const uint64_t *samples);

#endif
