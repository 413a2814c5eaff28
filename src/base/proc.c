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

const char *rps_proc_stat_field(const char *text, int number)
{
    const char *at = strrchr(text, ')'); /* the name before it may contain any character */

    for (int field = 2; at && field < number; field++)
        at = (at = strchr(at, ' ')) ? at + 1 : NULL;
    return at ? at : "";
}

int rps_proc_is_own(void)
{
    char text[8192], *at;

    if (rps_proc_read(text, sizeof(text), "/proc/self/status") == 0)
        return access("/proc/version", F_OK) <
               0;                    /* no number in this /proc; or there is no /proc */
    at = strstr(text, "\nNSpid:\t"); /* the number in each namespace, /proc's first */
    return !at || !memchr(at + 8, '\t', strcspn(at + 8, "\n"));
}
