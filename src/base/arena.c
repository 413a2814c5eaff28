#include "rpistat/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_SIZE 65536
#define ALIGNMENT  16

/* A block from malloc, newest first. The memory that is handed out follows this head. */
struct piece {
    struct piece *next;
    size_t used, size; /* bytes after the piece's head */
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

/* Add a piece. A large request gets its own; the newest piece is still filled. */
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

char *rps_arena_print(struct rps_arena *arena, const char *format, ...)
{
    va_list arguments;
    char *text;
    int length;

    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        rps_arena_exhausted();
    text = rps_arena_get(arena, (size_t)length + 1, 1);
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

/* Return the pointer to the piece that holds only this array; NULL if it shares its piece. */
static struct piece **find_piece(struct rps_arena *arena, const void *array)
{
    for (struct piece **at = &arena->newest; *at; at = &(*at)->next) {
        if ((const char *)*at + HEAD_SIZE == array)
            return (*at)->size != PIECE_SIZE ? at : NULL;
    }
    return NULL;
}

/* Return the array with capacity for twice as many elements. Bytes after `count` are not set. */
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
    piece = bytes < SIZE_MAX / 2 - HEAD_SIZE ? realloc(*at, HEAD_SIZE + 2 * bytes) : NULL;
    if (!piece)
        rps_arena_exhausted();
    piece->used = piece->size = 2 * bytes;
    *at = piece;
    return (char *)piece + HEAD_SIZE;
}

void *rps_arena_grow(struct rps_arena *arena, void *array, size_t count, size_t size)
{
    if ((count & (count - 1)) == 0) /* between powers of two there is capacity */
        array = double_room(arena, array, count, size);
    memset((char *)array + count * size, 0, size);
    return array;
}
