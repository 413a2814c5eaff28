#include "rpistat/random.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

/* Number added to the state in each step: 2^64 divided by the golden ratio, made odd. */
#define STEP UINT64_C(0x9e3779b97f4a7c15)

uint64_t rps_random_next(uint64_t *state)
{
    uint64_t z = *state += STEP;

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

double rps_random_unit(uint64_t *state)
{
    return (double)(rps_random_next(state) >> 11) * 0x1p-53;
}

uint64_t rps_random_at(uint64_t seed, uint64_t n)
{
    uint64_t state = seed + n * STEP;

    return rps_random_next(&state);
}

int rps_random_bytes(void *ret, size_t size, struct rps_error *err)
{
    if (getrandom(ret, size, 0) != (ssize_t)size)
        return rps_error_set(err, RPS_FAILED, "cannot get random numbers from the kernel: %s",
                             strerror(errno));
    return 0;
}
