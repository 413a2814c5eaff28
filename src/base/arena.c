#include "rpistat/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_SIZE 65536
#define ALIGNMENT  16

/* A block from malloc, in a list with the newest first. The callers' memory follows this struct. */
struct piece {
    struct piece *next;
    size_t used, size; /* number of used bytes and of all bytes after this struct */
};

struct rps_arena {
    struct piece *newest;
};

#define HEAD_SIZE ((sizeof(struct piece) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)

static void (*end_program)(const struct rps_error *why);

void rps_arena_on_exhaustion(void (*end)(const struct rps_error *why))
{
    end_program = end;
}

_Noreturn void rps_arena_end(const struct rps_error *why)
{
    if (end_program)
        end_program(why);
    abort();
}

_Noreturn void rps_arena_exhausted(void)
{
    struct rps_error err;

    rps_error_memory(&err);
    rps_arena_end(&err);
}

struct rps_arena *rps_arena_new(void)
{
    struct rps_arena *arena = calloc(1, sizeof(*arena));

    if (!arena)
        rps_arena_exhausted();
    return arena;
}

void rps_arena_free(struct rps_arena *arena)
{
    struct piece *next;

    if (!arena)
        return;
    for (struct piece *piece = arena->newest; piece; piece = next) {
        next = piece->next;
        free(piece);
    }
    free(arena);
}

/* Add a piece. A large request gets a separate piece; later requests use another piece. */
static void *add_piece(struct rps_arena *arena, size_t size)
{
    size_t room = size > PIECE_SIZE / 4 ? size : PIECE_SIZE;
    struct piece *piece = size <= SIZE_MAX - HEAD_SIZE ? calloc(1, HEAD_SIZE + room) : NULL;

    if (!piece)
        rps_arena_exhausted();
    piece->size = room;
    piece->used = size;
    if (room == size && arena->newest) {
        piece->next = arena->newest->next;
        arena->newest->next = piece;
    } else {
        piece->next = arena->newest;
        arena->newest = piece;
    }
    return (char *)piece + HEAD_SIZE;
}

void *rps_arena_get(struct rps_arena *arena, size_t count, size_t size)
{
    struct piece *piece = arena->newest;
    size_t bytes;
    void *found;

    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX - HEAD_SIZE - ALIGNMENT)
        rps_arena_exhausted();
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!piece || bytes > piece->size - piece->used)
        return add_piece(arena, bytes);
    found = (char *)piece + HEAD_SIZE + piece->used;
    piece->used += bytes;
    return found;
}

void *rps_arena_loose(size_t count, size_t size)
{
    void *ret = calloc(count ? count : 1, size);

    if (!ret)
        rps_arena_exhausted();
    return ret;
}

char *rps_arena_text(struct rps_arena *arena, const char *text)
{
    size_t size;

    if (!text)
        return NULL;
    size = strlen(text) + 1;
    return memcpy(rps_arena_get(arena, size, 1), text, size);
}

char *rps_arena_vprint(struct rps_arena *arena, const char *format, va_list arguments)
{
    va_list again;
    char *text;
    int length;

    va_copy(again, arguments);
    length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0)
        rps_arena_exhausted();
    text = rps_arena_get(arena, (size_t)length + 1, 1);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

char *rps_arena_print(struct rps_arena *arena, const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    text = rps_arena_vprint(arena, format, arguments);
    va_end(arguments);
    return text;
}

/* Return the pointer to the piece that contains this array and no other data; NULL: none. */
static struct piece **find_piece(struct rps_arena *arena, const void *array)
{
    for (struct piece **at = &arena->newest; *at; at = &(*at)->next) {
        if ((const char *)*at + HEAD_SIZE == array)
            return (*at)->size != PIECE_SIZE ? at : NULL;
    }
    return NULL;
}

/* Return the array, with capacity for twice as many elements. Only `count` elements are set. */
static void *double_room(struct rps_arena *arena, void *array, size_t count, size_t size)
{
    struct piece **at, *piece;
    size_t bytes;
    void *larger;

    if (count > SIZE_MAX / 2)
        rps_arena_exhausted();
    at = count > 0 && count * size > PIECE_SIZE / 4 ? find_piece(arena, array) : NULL;
    if (!at) {
        larger = rps_arena_get(arena, count ? 2 * count : 1, size);
        return count ? memcpy(larger, array, count * size) : larger;
    }
    bytes = (*at)->size;
    if (bytes / 2 / size >= count) /* the array had more elements before */
        return array;
    piece = bytes < SIZE_MAX / 2 - HEAD_SIZE ? realloc(*at, HEAD_SIZE + 2 * bytes) : NULL;
    if (!piece)
        rps_arena_exhausted();
    piece->used = piece->size = 2 * bytes;
    *at = piece;
    return (char *)piece + HEAD_SIZE;
}

void *rps_arena_grow(struct rps_arena *arena, void *array, size_t count, size_t size)
{
    if ((count & (count - 1)) == 0) /* the array has free capacity if count is not a power of two */
        array = double_room(arena, array, count, size);
    memset((char *)array + count * size, 0, size);
    return array;
}

/* Round count up to a power of two. Return 0 if count is 0, or if the result overflows. */
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

void *rps_array_insert(void *array, size_t count, size_t at, size_t size)
{
    char *items;

    memcpy(&items, array, sizeof(items));
    items = rps_array_grow_by(items, count, 1, size);
    if (!items)
        return NULL;
    memcpy(array, &items, sizeof(items));
    items += at * size;
    memmove(items + size, items, (count - at) * size);
    return memset(items, 0, size);
}

void *rps_array_add(void *array, size_t count, size_t size)
{
    return rps_array_insert(array, count, count, size);
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
