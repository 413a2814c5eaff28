/* The index that gives each frame its list of items. An item is a function, a line or a module.
 * shares.c counts the samples of items, and makes trees of items. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/shares.h"

#define RPS_SHARE_NONE SIZE_MAX

/* Names of the groups of kernel hooks. */
#define RPS_SHARE_INTERRUPTS "kernel: interrupts"
#define RPS_SHARE_IDLE       "kernel: idle"

struct rps_share_key {
    const char *name, *file;
    size_t module; /* First module with the path; module_count: unknown. */
    int line;
    uint64_t hash;             /* Hash of the key, set by rps_share_items_number. */
    enum rps_location_how how; /* Not part of the key. NONE: `name` is an address or a module. */
};

/* A numbering of keys. The slots of a hash table hold the number of a key + 1. */
struct rps_share_items {
    size_t count, slots;
    struct rps_share_key *key;
    size_t *slot;
};

/* The index of all frames, and at the end the unknown frame, for stacks whose frame is -1. */
struct rps_share_index {
    struct rps_arena *arena; /* Owner of the index. */
    struct rps_arena *texts; /* Owner of the names for code without symbols. */
    const struct rps_code *code;
    enum rps_shares_by by;
    enum rps_unnamed unnamed;
    int has_lines;  /* 1 to index lines, which takes as long as indexing functions. */
    size_t *module; /* For each module, including the unknown module: the first module with the
                       same path. */
    size_t *first;  /* For each frame, the index in `item` of its first item; the last element is
                       the end of `item`. */
    size_t *item;   /* Items of all frames; each frame's items are in order of depth. */
    size_t *line;   /* Numbers in `lines`, parallel to `item`. */
    struct rps_share_items items, lines;
    size_t entries;
};

/* Return the number of the key. If the key is new, add it. */
size_t rps_share_items_number(struct rps_arena *arena, struct rps_share_items *items,
                              const struct rps_share_key *key);

struct rps_share_index rps_share_index_make(struct rps_arena *arena, struct rps_arena *texts,
                                            const struct rps_code *code, enum rps_shares_by by,
                                            enum rps_unnamed unnamed, int has_lines);

/* Return for each function the line in which stacks have most samples. If a function has no
 * samples, return the first known line of the function. */
const struct rps_share_key **rps_share_index_lines(const struct rps_share_index *index,
                                                   const uint64_t *samples);

/* Like rps_shares_functions and rps_shares_place, but with an existing index of functions. */
int64_t *rps_share_index_functions(struct rps_arena *arena, const struct rps_share_index *index,
                                   int user, struct rps_share_name **ret_name, size_t *ret_count);
void rps_share_index_place(const struct rps_share_index *index, const uint64_t *samples,
                           struct rps_share_name *name);

/* Return the number of the line of each stack's innermost function, or -1: none. If `user` is 1,
 * functions of the kernel are left out, as in rps_share_index_functions. */
int64_t *rps_share_index_innermost_lines(struct rps_arena *arena,
                                         const struct rps_share_index *index, int user);

/* These three functions return the number of a frame's module, the path of the module (or
 * RPS_SHARE_UNKNOWN), and 1 if the module is the kernel. */
size_t rps_share_index_module(const struct rps_share_index *index, size_t frame);
const char *rps_share_index_path(const struct rps_code *code, size_t module);
int rps_share_index_is_kernel(const struct rps_code *code, size_t module);

/* Return 1 for functions in which threads begin, in the C library, Go or the kernel. */
int rps_share_is_beginning(const char *function);

/* Return 1 for the path of a shared library, such as "/lib/libm.so.6". */
int rps_share_is_library(const char *path);

/* Return the samples of each item with its callees. A stack's samples are added once to each of the
 * stack's items. */
uint64_t *rps_share_index_totals(struct rps_arena *arena, const struct rps_share_index *index,
                                 const uint64_t *samples);

/* Return the stack's frame (frame_count: unknown), or its caller (RPS_SHARE_NONE: none). */
size_t rps_share_frame_of(const struct rps_code *code, size_t stack);
size_t rps_share_parent_of(const struct rps_code *code, size_t stack);

/* Add up the samples of each stack and all of the stack's callees. A store may contain any counts,
 * so a sum that would overflow is set to the largest number of its type. */
uint64_t *rps_share_add_callees(struct rps_arena *arena, const struct rps_code *code,
                                const uint64_t *samples);
