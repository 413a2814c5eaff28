/* A program whose functions have known shares of its time. Of each 3 to 11 ms of CPU time, alpha
 * has 70 % and beta 30 %. All of beta's time is in an inlined part. The lengths vary, so that they
 * do not align with a sampler. Usage: known MS [LIBRARY]
 *
 * With LIBRARY, its function gamma_part runs for the first half of the time. The library is
 * unloaded at half time. */
#ifndef KNOWN_ALONE
#include <dlfcn.h>
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;

static int64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Work for some tens of microseconds, inlined into the caller. */
static inline __attribute__((always_inline)) void work_inlined(void)
{
    for (unsigned i = 0; i < 40000; i++)
        sink = sink * 2862933555777941757u + 3037000493u;
}

static __attribute__((noinline)) void alpha(int64_t until_ns)
{
    while (cpu_ns() < until_ns) {
        for (unsigned i = 0; i < 40000; i++)
            sink = sink * 6364136223846793005u + 1442695041u;
    }
}

static __attribute__((noinline)) void beta(int64_t until_ns)
{
    while (cpu_ns() < until_ns)
        work_inlined();
}

static __attribute__((noinline)) void rounds(int64_t until_ns)
{
    uint64_t random = 1;
    int64_t now = cpu_ns();

    while (now < until_ns) {
        int64_t length_ns = 3000000 + (int64_t)(random >> 41);

        random = random * 6364136223846793005u + 1442695040888963407u;
        alpha(now + length_ns / 10 * 7);
        now += length_ns;
        beta(now);
    }
}

#ifdef KNOWN_ALONE
static int run_library(const char *path, int64_t until_ns)
{
    (void)until_ns;
    fprintf(stderr, "known: %s: this one is static\n", path);
    return 1;
}
#else
static int run_library(const char *path, int64_t until_ns)
{
    void *library = dlopen(path, RTLD_NOW);
    void (*part)(int64_t) = NULL;

    if (library)
        *(void **)&part = dlsym(library, "gamma_part"); /* POSIX allows this conversion of a
                                                           pointer. */
    if (!part) {
        fprintf(stderr, "known: %s\n", dlerror());
        return 1;
    }
    part(until_ns);
    dlclose(library);
    return 0;
}
#endif

int main(int argc, char **argv)
{
    int64_t length_ns = (argc > 1 ? atoi(argv[1]) : 500) * INT64_C(1000000);
    int64_t start_ns = cpu_ns();

    if (argc > 2 && run_library(argv[2], start_ns + length_ns / 2) != 0)
        return 1;
    rounds(start_ns + length_ns);
    return 0;
}
