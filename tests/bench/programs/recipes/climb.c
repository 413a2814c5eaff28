/* The share of work that needs fresh pages is low, rises, is high, falls and is low; CPU use is the same throughout. */
#include "program.h"

static unsigned table[1 << 14];

WORK look_up(void)
{
    for (unsigned i = 0; i < 400000; i++)
        table[i * 2654435761U >> 18] += i;
}

WORK touch_fresh(void)
{
    size_t size = 400 * 4096;
    char *fresh = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (fresh == MAP_FAILED)
        exit(1);
    for (size_t i = 0; i < size; i += 4096)
        fresh[i] = 1;
    munmap(fresh, size);
}

static void phase(const char *label, double length_s, double first, double last)
{
    double begun = now_s(CLOCK_MONOTONIC), part;

    mark(label, NULL);
    while ((part = (now_s(CLOCK_MONOTONIC) - begun) / length_s) < 1)
        (drawn() < first + (last - first) * part ? touch_fresh : look_up)();
}

int main(void)
{
    phase("low", 9, .05, .05);
    phase("up", 13, .05, .9);
    phase("high", 10, .9, .9);
    phase("down", 12, .9, .05);
    phase("low", 9, .05, .05);
    return 0;
}
