/* A mapped file that is read in order, read at random, written and synchronised, and dropped from memory. */
#include "program.h"

#define SIZE (64L << 20)
#define PAGE 4096

static unsigned char *map;
static unsigned long sum, at;

WORK read_in_order(void)
{
    for (int i = 0; i < 1 << 20; i += 64, at = (at + 64) % SIZE)
        sum += map[at];
    for (int i = 0; i < 1 << 17; i++)
        sum = (sum ^ map[i]) * 31;
}

WORK read_at_random(void)
{
    for (int i = 0; i < 20000; i++) {
        at = (at * 6364136223846793005UL + 1442695040888963407UL) % SIZE;
        sum += map[at];
    }
}

WORK write_and_sync(void)
{
    size_t first = (size_t)(rand() % 1000) * PAGE;

    memset(map + first, rand(), 32 * PAGE);
    msync(map + first, 32 * PAGE, MS_SYNC);
}

WORK drop(void)
{
    madvise(map, SIZE / 64, MADV_DONTNEED);
    for (long i = 0; i < SIZE / 64; i += PAGE)
        sum += map[i];
}

int main(void)
{
    int file = open("pages", O_RDWR | O_CREAT, 0600);

    if (ftruncate(file, SIZE))
        return 1;
    map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    mark("fill", NULL);
    for (long i = 0; i < SIZE; i += PAGE)
        map[i] = (unsigned char)i;
    mark("order", NULL);
    during(8, read_in_order);
    mark("random", NULL);
    during(9, read_at_random);
    mark("write", NULL);
    during(8, write_and_sync);
    mark("drop", NULL);
    during(8, drop);
    mark("random", NULL);
    during(7, read_at_random);
    mark("write", NULL);
    during(7, write_and_sync);
    return 0;
}
