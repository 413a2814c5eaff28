/* Loops in a loop: three runs, each of a preparation, seven steps of two parts, and a save. */
#include "program.h"

#define COUNT (1 << 15)

static double place[COUNT], force[COUNT];
static unsigned order[COUNT];
static int pipes[2];

WORK prepare(void)
{
    for (int i = 0; i < COUNT; i++)
        place[i] = drawn();
}

WORK step(void)
{
    for (int i = 2; i + 2 < COUNT; i++)
        force[i] = (place[i - 2] - place[i + 2]) / (1 + place[i - 1] * place[i + 1]);
    for (int i = 0; i < COUNT; i++)
        place[i] += force[i] * 1e-3;
}

WORK exchange(void)
{
    char part[4096];

    for (int i = 0; i < 300; i++) {
        memcpy(part, order + i % 16, sizeof part);
        if (write(pipes[1], part, sizeof part) < 0 || read(pipes[0], part, sizeof part) < 0)
            exit(1);
    }
}

WORK save(void)
{
    char line[64];

    for (int i = 0; i < 4000; i++)
        order[i] += (unsigned)snprintf(line, sizeof line, "%d %.9f\n", i, place[i]);
}

int main(void)
{
    if (pipe(pipes))
        return 1;
    for (int run = 0; run < 3; run++) {
        mark("prepare", NULL);
        during(2, prepare);
        for (int i = 0; i < 7; i++) {
            mark("steps", "step");
            during(.9, step);
            mark("steps", "exchange");
            during(.6, exchange);
        }
        mark("save", NULL);
        during(1.8, save);
    }
    return 0;
}
