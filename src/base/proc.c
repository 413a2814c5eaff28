#include "rpistat/proc.h"

#include <fcntl.h>
#include <inttypes.h>
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

int64_t rps_proc_busy_ns(void)
{
    int64_t user, nice, system, irq, softirq;
    char text[256];

    rps_proc_read(text, sizeof(text), "/proc/stat");
    if (sscanf(text, "cpu %" SCNd64 " %" SCNd64 " %" SCNd64 " %*d %*d %" SCNd64 " %" SCNd64, &user,
               &nice, &system, &irq, &softirq) != 5)
        return -1;
    return (user + nice + system + irq + softirq) * (1000000000 / sysconf(_SC_CLK_TCK));
}

const char *rps_proc_stat_field(const char *text, int number)
{
    const char *at = strrchr(text, ')'); /* the name may contain any character, also ')' */

    for (int field = 2; at && field < number; field++)
        at = (at = strchr(at, ' ')) ? at + 1 : NULL;
    return at ? at : "";
}

int rps_proc_is_own(void)
{
    char text[8192], *at;

    if (rps_proc_read(text, sizeof(text), "/proc/self/status") == 0)
        return access("/proc/version", F_OK) < 0; /* 1 if there is no /proc */
    at = strstr(text, "\nNSpid:\t");              /* the line has the PID of the process in each PID
                                        namespace; the first PID is the one that /proc uses */
    return !at || !memchr(at + 8, '\t', strcspn(at + 8, "\n"));
}
