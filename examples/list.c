/* Linked lists for pointer chasing. */
#include "list.h"

#include <sys/mman.h>
#include <unistd.h>

size_t list_line_size(void)
{
    long size = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);

    return size >= (long)sizeof(struct list_item) ? (size_t)size : 64;
}

uint32_t list_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

struct list_item *list_at(struct list_item *list, size_t line, size_t index)
{
    return (struct list_item *)(void *)((char *)list + line * index);
}

/* Make a list by Sattolo's shuffle, which gives one cycle through all items. */
struct list_item *list_new(size_t size, size_t line)
{
    const uint32_t count = (uint32_t)(size / line);
    uint32_t random = 20130626;
    struct list_item *list =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (list == MAP_FAILED)
        return NULL;
#ifdef MADV_NOHUGEPAGE
    madvise(list, size, MADV_NOHUGEPAGE);
#endif
    for (uint32_t i = 0; i < count; i++)
        list_at(list, line, i)->next = list_at(list, line, i);
    for (uint32_t i = count - 1; i > 0; i--) {
        uint32_t j = (uint32_t)(((uint64_t)list_random(&random) * i) >> 32);
        struct list_item *next = list_at(list, line, i)->next;

        list_at(list, line, i)->next = list_at(list, line, j)->next;
        list_at(list, line, j)->next = next;
    }
    return list;
}

void list_free(struct list_item *list, size_t size)
{
    if (list)
        munmap(list, size);
}

struct list_item *list_chase(struct list_item *item, uint64_t steps)
{
    uint64_t eights = steps / 8;

    /* The loop is little more than the chase itself: nine instructions per eight steps. */
    while (eights-- > 0) {
        item = item->next->next->next->next;
        item = item->next->next->next->next;
    }
    for (steps %= 8; steps > 0; steps--)
        item = item->next;
    return item;
}
