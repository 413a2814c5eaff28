/* Requests that come at a rate that is low, rises, is high, falls and is low; each takes .2 ms of CPU time. */
#include "program.h"

static unsigned page[1 << 12];

WORK answer(void)
{
    for (unsigned i = 0; i < 100000; i++)
        page[i * 40503U & 4095] += i;
}

static void phase(const char *label, double length_s, double first, double last)
{
    double begun = now_s(CLOCK_MONOTONIC), at = begun, part;

    mark(label, NULL);
    while ((part = (at - begun) / length_s) < 1) {
        rest(at - now_s(CLOCK_MONOTONIC));
        answer();
        at += 1 / (first + (last - first) * part);
    }
}

int main(void)
{
    phase("low", 10, 20, 20);
    phase("up", 14, 20, 220);
    phase("high", 10, 220, 220);
    phase("down", 12, 220, 20);
    phase("low", 9, 20, 20);
    return 0;
}
