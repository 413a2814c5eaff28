/* Memory for one command that reads stores. The memory is allocated in small amounts. All of it is
 * released by one call. When memory runs out, a function that cli sets ends the program with one
 * sentence and status 1. Therefore, no function here fails. The region library, the store's writer
 * and the measurement loop use malloc instead, and return RPS_FAILED when memory runs out. */
#pragma once

#include <stdarg.h>

#include "rpistat/error.h"

struct rps_arena;

/* Set the function that ends the program and must not return (default: abort). cli sets the
 * function before it creates an arena. */
void rps_arena_on_exhaustion(void (*end)(const struct rps_error *why));

/* End the program, because memory outside an arena ran out, or (rps_arena_end) because of `why`. */
_Noreturn void rps_arena_exhausted(void);
_Noreturn void rps_arena_end(const struct rps_error *why);

struct rps_arena *rps_arena_new(void);
void rps_arena_free(struct rps_arena *arena); /* NULL has no effect. */

/* Return count * size zeroed bytes. If the product overflows, this counts as exhausted memory. */
void *rps_arena_get(struct rps_arena *arena, size_t count, size_t size);
char *rps_arena_text(struct rps_arena *arena, const char *text); /* Return NULL for NULL. */
char *rps_arena_print(struct rps_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *rps_arena_vprint(struct rps_arena *arena, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Return zeroed memory outside any arena, for data that outlives a command's steps. The caller
 * releases the memory with free(). The function never fails. */
void *rps_arena_loose(size_t count, size_t size);

/* Add one zeroed element after `count` elements that this function added. Return the address of the
 * array. The capacity doubles whenever `count` is a power of two. After the call, the caller must
 * use only the returned address. Memory of elements removed from the end is not reused. */
void *rps_arena_grow(struct rps_arena *arena, void *array, size_t count, size_t size);

/* Growth of arrays, and search in sorted arrays. */

/* Add a zeroed element of size bytes after `count` elements, and return its address. `array` is the
 * address of the pointer to the array, which the caller frees. An array that starts as NULL and
 * grows only here needs no capacity member: the capacity is `count` rounded up to a power of two.
 * If memory runs out, return NULL; the array is then unchanged. Commands that read stores use
 * rps_arena_grow instead, because they end if memory runs out. */
void *rps_array_add(void *array, size_t count, size_t size);

/* Do the same, but put the new element before the element at index `at`. */
void *rps_array_insert(void *array, size_t count, size_t at, size_t size);

/* Make room for `more` unset elements. Return the new address of the array, or NULL if memory runs
 * out. For more == 0, return the unchanged array (NULL if empty). */
void *rps_array_grow_by(void *array, size_t count, size_t more, size_t size);

/* Return how many elements at the start of a sorted array lie before the key, by binary search.
 * before(element, key) must be true for exactly these elements. Return `count` if all elements lie
 * before the key. */
size_t rps_array_find(const void *array, size_t count, size_t size,
                      int (*before)(const void *thing, const void *key), const void *key);

/* Define a static function for rps_array_find. The function returns whether an element's key
 * (.member of `type`, or the element) is OP (< or <=) the key that is sought. */
#define RPS_ARRAY_BEFORE(name, type, member, OP, key_type)                                         \
    static int name(const void *element, const void *key)                                          \
    {                                                                                              \
        return ((const type *)element)[0] member OP * (const key_type *)key;                       \
    }

/* Define a static function for qsort: sort in ascending order of a member or of the elements. */
#define RPS_ARRAY_ORDER(name, type, member)                                                        \
    static int name(const void *a, const void *b)                                                  \
    {                                                                                              \
        const type *x = a, *y = b;                                                                 \
                                                                                                   \
        return (x[0] member > y[0] member) - (x[0] member < y[0] member);                          \
    }
