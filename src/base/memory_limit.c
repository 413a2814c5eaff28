/* See rpistat/memory_limit.h. */
#include "rpistat/memory_limit.h"

#include <stdint.h>
#include <sys/resource.h>

size_t rps_memory_limit(void)
{
    const int resources[] = {RLIMIT_AS, RLIMIT_DATA};
    size_t least = SIZE_MAX;

    for (int i = 0; i < 2; i++) {
        struct rlimit limit;

        if (getrlimit(resources[i], &limit) == 0 && limit.rlim_cur < least)
            least = (size_t)limit.rlim_cur;
    }
    return least;
}
