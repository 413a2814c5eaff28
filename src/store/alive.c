/*
 * Is the recorder of a run still at work?
 *
 * A lock on the store would say so as well, but not once the machine was switched off, and SQLite's
 * own locks are released between transactions. A process id alone is not enough: it may have been
 * given to another process since, which is why its start time is compared too.
 */
#include "alive.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Read the first bytes of a small file; its length, or 0. */
static size_t read_file(const char *path, char *ret, size_t size)
{
    FILE *file = fopen(path, "re");
    size_t length = 0;

    ret[0] = '\0';
    if (!file)
        return 0;
    length = fread(ret, 1, size - 1, file);
    fclose(file);
    ret[length] = '\0';
    return length;
}

/* Field 22 of /proc/PID/stat; 0 when there is no such process, or only what its parent has not asked
 * for (the first process of a container may never ask), -1 when it cannot be read. */
static int64_t process_start_ticks(int64_t pid)
{
    char path[64], text[1024];
    const char *at;
    int64_t ticks = -1;

    snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
    if (access(path, F_OK) != 0)
        return access("/proc/self/stat", F_OK) == 0 ? 0 : -1;
    if (read_file(path, text, sizeof(text)) == 0)
        return 0;            /* it ended just now */
    at = strrchr(text, ')'); /* the name, field 2, may hold anything */
    if (at && (strncmp(at, ") Z", 3) == 0 || strncmp(at, ") X", 3) == 0))
        return 0;
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (!at || sscanf(at, "%" SCNd64, &ticks) != 1)
        return -1;
    return ticks;
}

int rps_recorder_is_dead(const char *host, const char *boot_id, int64_t pid, int64_t start_ticks)
{
    char here[256] = "", boot[64];
    int64_t ticks;

    if (gethostname(here, sizeof(here) - 1) != 0 || strcmp(here, host) != 0)
        return 0;
    read_file("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
    boot[strcspn(boot, "\n")] = '\0';
    if (boot_id[0] && boot[0] && strcmp(boot, boot_id) != 0)
        return 1;
    if (pid <= 0)
        return 0;
    ticks = process_start_ticks(pid);
    if (ticks < 0)
        return 0;
    return ticks == 0 || (start_ticks > 0 && ticks != start_ticks);
}
