/* Arrays that grow, and places in arrays that are sorted. */
#ifndef RPISTAT_ARRAY_H
#define RPISTAT_ARRAY_H

#include <stddef.h>

/* Room for one thing more of size bytes behind `count` of them. An array that starts as NULL and is
 * grown only here needs no member for its room, which is `count` rounded up to a power of two.
 * Returns where the array is now, to be freed by the caller; what is new in it is not set. NULL
 * without memory: the array is as it was. Readers that end without memory use rps_arena_grow. */
void *rps_array_grow(void *array, size_t count, size_t size);

/* The same for `more` things at once. more == 0 gives the array back, NULL for an empty one. */
void *rps_array_grow_by(void *array, size_t count, size_t more, size_t size);

/* How many of the first things of a sorted array lie before the key, by binary search: before(thing,
 * key) must hold for these and not for the rest. `count`, where it holds for all. */
size_t rps_array_find(const void *array, size_t count, size_t size,
                      int (*before)(const void *thing, const void *key), const void *key);

#endif
