/* See rpistat/proc.h. */
#include "rpistat/proc.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

size_t rps_proc_read(char *ret, size_t size, const char *format, ...)
{
    size_t length = 0;
    char path[512];
    ssize_t got;
    va_list list;
    int fd;

    va_start(list, format);
    vsnprintf(path, sizeof(path), format, list);
    va_end(list);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (got = read(fd, ret + length, size - 1 - length)) > 0)
        length += (size_t)got;
    if (fd >= 0)
        close(fd);
    ret[length] = '\0';
    return length;
}

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
