/*
 * Resolution: the small files of sysfs and tracefs, and the result for a missing event.
 */
#include "resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool rps_resolve_is_file_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "_-.";

    return *text && *text != '.' && strspn(text, allowed) == strlen(text);
}

bool rps_resolve_path(char path[RPS_RESOLVE_PATH_SIZE], const char *sys, const char *folder,
                      const char *name)
{
    int length =
        snprintf(path, RPS_RESOLVE_PATH_SIZE, "%s/%s%s%s", sys, folder, *name ? "/" : "", name);

    return length > 0 && length < RPS_RESOLVE_PATH_SIZE;
}

int rps_resolve_read_line(const char *path, char ret[RPS_RESOLVE_VALUE_SIZE])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length;
    int error = 0;

    if (fd < 0)
        return errno;
    length = read(fd, ret, RPS_RESOLVE_VALUE_SIZE);
    if (length < 0)
        error = errno;
    else if (length == RPS_RESOLVE_VALUE_SIZE)
        error = EFBIG;
    else
        ret[length] = '\0';
    close(fd);
    if (error == 0)
        ret[strcspn(ret, "\n")] = '\0';
    return error;
}

int rps_resolve_not_here(struct rps_event *event, enum rps_event_state state, const char *format,
                         ...)
{
    va_list arguments;

    event->state = state;
    va_start(arguments, format);
    vsnprintf(event->reason, sizeof(event->reason), format, arguments);
    va_end(arguments);
    return 0;
}
