/* A program whose CPU time is spent in the C library. Of each 3 to 11 ms of CPU time, function
 * `asks` has three quarters, in strlen and similar functions, and `computes` has one quarter. The
 * lengths vary, so that they do not align with a sampler. Usage: calls MS */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile uint64_t sink;
static char text[1 << 14];
static char *volatile where = text; /* volatile, so that the compiler cannot assume the contents */

static int64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static __attribute__((noinline)) void asks(int64_t until_ns)
{
    while (cpu_ns() < until_ns) {
        for (unsigned i = 0; i < 100; i++)
            sink += strlen(where) + (memchr(where, 'y', sizeof(text)) != NULL);
    }
}

static __attribute__((noinline)) void computes(int64_t until_ns)
{
    while (cpu_ns() < until_ns) {
        for (unsigned i = 0; i < 20000; i++)
            sink = sink * 6364136223846793005u + 1442695041u;
    }
}

int main(int argc, char *argv[])
{
    int64_t now = cpu_ns(), end = now + (argc > 1 ? atoll(argv[1]) : 0) * 1000000;
    uint64_t random = 1;

    memset(text, 'x', sizeof(text) - 1);
    while (now < end) {
        int64_t length_ns = 3000000 + (int64_t)(random >> 41);

        random = random * 6364136223846793005u + 1442695040888963407u;
        asks(now + length_ns / 4 * 3);
        now += length_ns;
        computes(now);
    }
    return 0;
}
