/* A cache that is cold at first: most requests are computed, then fewer and fewer. It is flushed once. */
#include "program.h"

#define ENTRIES (1 << 12)

static double cached[ENTRIES];
volatile double result;

WORK compute_entry(void)
{
    double sum = 0;

    for (int i = 1; i < 30000; i++)
        sum += sin(i) / i;
    cached[rand() % ENTRIES] = sum;
}

WORK find_entry(void)
{
    double sum = 0;

    for (unsigned i = 0; i < 200000; i++)
        sum += cached[i * 2654435761U >> 20];
    result = sum;
}

static void serve(double length_s, double warm_after_s)
{
    double begun = now_s(CLOCK_MONOTONIC), at = 0;

    mark("cold", NULL);
    for (int warm = 0; at < length_s; at = now_s(CLOCK_MONOTONIC) - begun) {
        if (!warm && at >= warm_after_s) {
            mark("warm", NULL);
            warm = 1;
        }
        (drawn() < exp(-at / warm_after_s * 4) ? compute_entry : find_entry)();
    }
}

int main(void)
{
    serve(28, 9);
    serve(26, 9);
    return 0;
}
