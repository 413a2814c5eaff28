/* Growing arrays, and search in sorted arrays. */
#ifndef RPISTAT_ARRAY_H
#define RPISTAT_ARRAY_H

#include <stddef.h>

/* Add one element of size bytes after `count` elements. An array that starts as NULL and is grown
 * only here needs no member for its capacity: `count` rounded up to a power of two. Return where
 * the array is now, for free(); the new element is not set. NULL without memory: the array is
 * unchanged. Readers that end without memory use rps_arena_grow. */
void *rps_array_grow(void *array, size_t count, size_t size);

/* Add `more` elements at once. more == 0 returns the array as it is, NULL for an empty one. */
void *rps_array_grow_by(void *array, size_t count, size_t more, size_t size);

/* Return how many of the first elements of a sorted array lie before the key, by binary search.
 * These, and no others, must satisfy before(thing, key). Return `count` if all do. */
size_t rps_array_find(const void *array, size_t count, size_t size,
                      int (*before)(const void *thing, const void *key), const void *key);

#endif
