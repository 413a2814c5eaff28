/* A master whose processes become more and fewer, of which some start others all the time. */
#include <sys/wait.h>

#include "program.h"

WORK compute(void)
{
    volatile unsigned sum = 1;

    for (int i = 0; i < 300000; i++)
        sum = sum * 1664525 + 1013904223;
}

WORK start_others(void)
{
    if (fork() == 0)
        _exit(0);
    wait(NULL);
}

WORK idle(void)
{
    usleep(20000);
}

/* `extra` more processes do the same, for as long. */
static void phase(const char *label, double length_s, int extra, void (*work)(void))
{
    mark(label, NULL);
    for (int i = 0; i < extra; i++) {
        if (fork() == 0) {
            during(length_s, work);
            _exit(0);
        }
    }
    during(length_s, work);
    while (wait(NULL) > 0)
        ;
}

int main(void)
{
    phase("one", 6, 0, compute);
    phase("three", 8, 2, compute);
    phase("idle", 5, 0, idle);
    phase("storm", 7, 0, start_others);
    phase("three", 7, 2, compute);
    phase("storm", 6, 0, start_others);
    phase("one", 6, 0, compute);
    return 0;
}
