/*
 * The items of frames, which shares.c counts and shares_calls.c makes trees of. An item is a
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
    enum rps_location_how how; /* not part of the key; NONE: the name is an address or a module */
};

/* Numbers keys. The slots of a hash table hold number + 1. */
struct rps_share_items {
    size_t count, slots;
    struct rps_share_key *key;
    size_t *slot;
};

/* After the last frame there is an unknown one, for stacks of frame -1. */
struct rps_share_index {
    struct rps_arena *arena; /* of the index */
    struct rps_arena *texts; /* of the names for code without symbols */
    const struct rps_code *code;
    enum rps_shares_by by;
    enum rps_unnamed unnamed;
    int has_lines;  /* 0: lines are not needed, and take as long as functions */
    size_t *module; /* of each module and the one that is not known: the first of its path */
    size_t *first;  /* of each frame, and one more: where its items are in `item` */
    size_t *item;   /* of a frame in order of depth */
    size_t *line;   /* the same places: numbers in `lines` */
    struct rps_share_items items, lines;
    size_t entries;
};

/* Return the number of the key, added if new. */
size_t rps_share_items_number(struct rps_arena *arena, struct rps_share_items *items,
                              const struct rps_share_key *key);

struct rps_share_index rps_share_index_make(struct rps_arena *arena, struct rps_arena *texts,
                                            const struct rps_code *code, enum rps_shares_by by,
                                            enum rps_unnamed unnamed, int has_lines);

/* Return for each function the line with most of these samples of stacks, or the first known line
 * if it has none. */
const struct rps_share_key **rps_share_index_lines(const struct rps_share_index *index,
                                                   const uint64_t *samples);

/* Do the same as rps_shares_functions and rps_shares_place, with an index of functions. */
int64_t *rps_share_index_functions(struct rps_arena *arena, const struct rps_share_index *index,
                                   int user, struct rps_share_name **ret_name, size_t *ret_count);
void rps_share_index_place(const struct rps_share_index *index, const uint64_t *samples,
                           struct rps_share_name *name);

/* Return a frame's module: its number; its path or RPS_SHARE_UNKNOWN; 1 for the kernel. */
size_t rps_share_index_module(const struct rps_share_index *index, size_t frame);
const char *rps_share_index_path(const struct rps_code *code, size_t module);
int rps_share_index_is_kernel(const struct rps_code *code, size_t module);

/* Return the stack's frame; frame_count: not known. Return its caller; RPS_SHARE_NONE: none. */
size_t rps_share_frame_of(const struct rps_code *code, size_t stack);
size_t rps_share_parent_of(const struct rps_code *code, size_t stack);

/* Add up the samples of each stack and all its callees. A store may have any counts, so sums end at
 * the largest number. */
uint64_t *rps_share_add_callees(struct rps_arena *arena, const struct rps_code *code,
                                const uint64_t *samples);

#endif
