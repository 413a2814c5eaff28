/* See rpistat/proc.h. */
#include "rpistat/proc.h"

#include <stdio.h>
#include <string.h>
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
