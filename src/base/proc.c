/* See rpistat/proc.h. */
#include "rpistat/proc.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int rps_proc_is_own(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    int is_own = 1;

    if (!file) /* a /proc in which this process has no number; or there is no /proc */
        return access("/proc/version", F_OK) < 0;
    while (fgets(line, sizeof(line), file))
        if (strncmp(line, "NSpid:\t", 7) == 0) /* the number in each namespace, /proc's first */
            is_own = !strchr(line + 7, '\t');
    fclose(file);
    return is_own;
}

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
