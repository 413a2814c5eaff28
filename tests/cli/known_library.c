/* The library that known.c loads. */
#include <stdint.h>
#include <time.h>

void gamma_part(int64_t until_ns);

static volatile uint64_t sink;

void gamma_part(int64_t until_ns)
{
    struct timespec now;

    do {
        for (unsigned i = 0; i < 40000; i++)
            sink = sink * 3202034522624059733u + 1;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_sec * INT64_C(1000000000) + now.tv_nsec < until_ns);
}
