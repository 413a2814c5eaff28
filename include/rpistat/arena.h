/*
 * Memory of one reading command: allocated in pieces, released all at once. When it runs out, the
 * function that cli set ends the program with one sentence and status 1, so nothing here fails. The
 * recorder, the region library, the store's writer and servers use malloc instead, and return
 * RPS_FAILED when memory runs out.
 */
#ifndef RPISTAT_ARENA_H
#define RPISTAT_ARENA_H

#include <stddef.h>

#include "rpistat/error.h"

struct rps_arena;

/* Set the function that ends the program. It must not return; without it, abort is called. cli sets
 * it before it creates an arena. */
void rps_arena_on_exhaustion(void (*end)(const struct rps_error *why));

/* End the program because memory of another kind ran out, or for the reason in `why`. */
_Noreturn void rps_arena_exhausted(void);
_Noreturn void rps_arena_end(const struct rps_error *why);

struct rps_arena *rps_arena_new(void);
void rps_arena_free(struct rps_arena *arena); /* NULL is harmless */

/* Return count * size zeroed bytes. If the product overflows, memory is exhausted. */
void *rps_arena_get(struct rps_arena *arena, size_t count, size_t size);
char *rps_arena_text(struct rps_arena *arena, const char *text); /* NULL gives NULL */
char *rps_arena_print(struct rps_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Return zeroed memory for free(), for data that outlives a command's steps. It never fails. */
void *rps_arena_loose(size_t count, size_t size);

/* Add one zeroed element after `count` elements that were all added here. Return where the array is
 * now: it doubles at powers of two, after which the old memory must not be used. Elements removed
 * from its end cost their memory a second time. */
void *rps_arena_grow(struct rps_arena *arena, void *array, size_t count, size_t size);

#endif
