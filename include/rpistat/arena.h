/*
 * Memory of one reading command: given out in pieces, released all at once. When there is none left
 * the program ends through the function that cli set, with one sentence and status 1; so nothing
 * here fails. Not for the recorder, the region library, the store's writer, and servers: these get
 * memory that can run out from malloc, and answer RPS_FAILED.
 */
#ifndef RPISTAT_ARENA_H
#define RPISTAT_ARENA_H

#include <stddef.h>

#include "rpistat/error.h"

struct rps_arena;

/* Set the function that ends the program. It must not return; without it, abort. cli sets it before
 * it makes an arena. */
void rps_arena_on_exhaustion(void (*end)(const struct rps_error *why));

/* End the program because memory of another kind ran out, or for the reason in `why`. */
_Noreturn void rps_arena_exhausted(void);
_Noreturn void rps_arena_end(const struct rps_error *why);

struct rps_arena *rps_arena_new(void);
void rps_arena_free(struct rps_arena *arena); /* NULL is harmless */

/* Zeroed room for count things of size bytes; count * size may overflow: that is exhaustion. */
void *rps_arena_get(struct rps_arena *arena, size_t count, size_t size);
char *rps_arena_text(struct rps_arena *arena, const char *text); /* NULL gives NULL */
char *rps_arena_print(struct rps_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Zeroed room that free() releases, for what outlives a command's steps; it does not fail either. */
void *rps_arena_loose(size_t count, size_t size);

/* Room for one thing more behind `count` of them, which were made one by one through this function:
 * it doubles at powers of two, where the old room must not be used any more. Returns where the array
 * is now; the new thing is zero. What is taken off its end again costs its room a second time. */
void *rps_arena_grow(struct rps_arena *arena, void *array, size_t count, size_t size);

#endif
