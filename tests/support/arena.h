/* An arena for each test case, made and freed by cmocka's setup and teardown. */
#ifndef RPISTAT_TESTS_ARENA_H
#define RPISTAT_TESTS_ARENA_H

#include "rpistat/arena.h"

static struct rps_arena *arena;

static int open_arena(void **state)
{
    (void)state;
    arena = rps_arena_new();
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    rps_arena_free(arena);
    return 0;
}

#endif
