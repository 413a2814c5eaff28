#include "rpistat/array.h"

#include <stdint.h>
#include <stdlib.h>

/* Round count up to a power of two. Return 0 for 0, or if no such size exists. */
static size_t room_for(size_t count)
{
    size_t room = count > 0;

    while (room && room < count)
        room *= 2;
    return room;
}

void *rps_array_grow_by(void *array, size_t count, size_t more, size_t size)
{
    size_t room = more <= SIZE_MAX - count ? room_for(count + more) : 0;

    if (more == 0 || (room && room == room_for(count)))
        return array;
    return room && room <= SIZE_MAX / 2 / size ? realloc(array, room * size) : NULL;
}

void *rps_array_grow(void *array, size_t count, size_t size)
{
    return rps_array_grow_by(array, count, 1, size);
}

size_t rps_array_find(const void *array, size_t count, size_t size,
                      int (*before)(const void *thing, const void *key), const void *key)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (before((const char *)array + middle * size, key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
