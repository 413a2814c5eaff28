/*
 * Lists for chasing pointers: each item is a cache line of its own, and the order of the items is
 * random, so that neither the hardware's prefetcher nor the compiler knows the next address before
 * it has been read.
 */
#ifndef EXAMPLES_LIST_H
#define EXAMPLES_LIST_H

#include <stddef.h>
#include <stdint.h>

struct list_item {
    struct list_item *next; /* the rest of the line is unused */
};

/* Bytes of a cache line of the first-level data cache; 64 where the system does not say. */
size_t list_line_size(void);

/*
 * A closed list of `size` bytes whose items stand `line` bytes apart: it visits every item once, in
 * the same random order every time. Its memory has small pages (huge ones would take most TLB
 * misses away on some machines and not on others) and has been touched. NULL without memory.
 */
struct list_item *list_new(size_t size, size_t line);

/* Item `index` of the memory, not of the order. */
struct list_item *list_at(struct list_item *list, size_t line, size_t index);

/* NULL is harmless. */
void list_free(struct list_item *list, size_t size);

/* Follow the list for so many steps; returns where it stopped. */
struct list_item *list_chase(struct list_item *item, uint64_t steps);

/* xorshift32 (Marsaglia 2003): the same numbers everywhere and every time; *state is never 0. */
uint32_t list_random(uint32_t *state);

#endif
