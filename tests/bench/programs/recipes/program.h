/* The programs in C are short because they share this: marks of their phases, and work for a given time.
 *
 * A function that works takes about a millisecond. At 6 % of a CPU it takes 16 ms, or the rest of a
 * quota's period of 100 ms: phases still end where they are meant to. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define WORK __attribute__((noinline)) static void

static inline double now_s(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Mark the beginning of a phase, and of a part of it; NULL: there is no such level. */
static inline void mark(const char *coarse, const char *fine)
{
    FILE *truth = fopen("truth", "a");

    fprintf(truth, "%.6f", now_s(CLOCK_REALTIME));
    if (coarse)
        fprintf(truth, " coarse=%s", coarse);
    if (fine)
        fprintf(truth, " fine=%s", fine);
    fputc('\n', truth);
    fclose(truth);
}

static inline void during(double length_s, void (*work)(void))
{
    double end = now_s(CLOCK_MONOTONIC) + length_s;

    while (now_s(CLOCK_MONOTONIC) < end)
        work();
}

static inline void rest(double length_s)
{
    if (length_s > 0)
        usleep((useconds_t)(length_s * 1e6));
}

/* A number from 0 to 1, the next of a fixed sequence. */
static inline double drawn(void)
{
    return (double)rand() / RAND_MAX;
}
