/* System metrics: read files of /proc. The files stay open, because opening, reading and closing a
 * file is three times as much work as only reading it. */
#include "system_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Maximum size of a file that is read with one system call. */
#define PAGE_BYTES 4096

int rps_system_files_open(struct rps_system_files *files, const char *root, const char *folder)
{
    struct rlimit limit;
    char path[4096];

    snprintf(path, sizeof(path), "%s%s", root, folder);
    *files = (struct rps_system_files){.folder_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        files->kept_max = limit.rlim_cur / 2 < INT32_MAX ? (int)(limit.rlim_cur / 2) : INT32_MAX;
    return files->folder_fd < 0 ? -1 : 0;
}

void rps_system_file_close(struct rps_system_files *files, int *fd)
{
    if (*fd < 0)
        return;
    close(*fd);
    files->kept--;
    *fd = -1;
}

ssize_t rps_system_file_read(struct rps_system_files *files, int *fd, const char *path, char *text,
                             size_t size)
{
    ssize_t got, more = 1;

    if (*fd < 0) {
        *fd = openat(files->folder_fd, path, O_RDONLY | O_CLOEXEC);
        if (*fd < 0)
            return -errno;
        files->kept++;
    }
    got = pread(*fd, text, size - 1, 0);
    if (got < 0)
        got = -errno;
    /* Linux returns most lists one page at a time, for any size of the buffer. */
    while (size > PAGE_BYTES && got > 0 && more > 0) {
        more = pread(*fd, text + got, size - 1 - (size_t)got, got);
        got += more > 0 ? more : 0;
    }
    if (got < 0 || files->kept > files->kept_max)
        rps_system_file_close(files, fd);
    text[got < 0 ? 0 : got] = '\0';
    return got;
}

ssize_t rps_system_task_read(struct rps_system_files *files, int *fd, pid_t pid, pid_t tid,
                             const char *name, char *text, size_t size)
{
    char path[64];

    if (*fd < 0 && tid > 0)
        snprintf(path, sizeof(path), "%ld/task/%ld/%s", (long)pid, (long)tid, name);
    else if (*fd < 0)
        snprintf(path, sizeof(path), "%ld/%s", (long)pid, name);
    return rps_system_file_read(files, fd, path, text, size);
}

uint64_t rps_system_number(const char **text)
{
    const char *at = *text;
    uint64_t value = 0;

    while (*at && (*at < '0' || *at > '9'))
        at++;
    for (; *at >= '0' && *at <= '9'; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    *text = at;
    return value;
}

int64_t rps_system_behind(const char *text, const char *word)
{
    const char *at = strstr(text, word);

    if (!at)
        return -1;
    at += strlen(word);
    return (int64_t)rps_system_number(&at);
}

void rps_signal_count(struct rps_system_file_sum *sum, int64_t total, int64_t unit)
{
    if (total < sum->total)
        sum->told -= (sum->total - total) / unit;
    sum->total = total;
}

int64_t rps_system_sum_read(struct rps_system_file_sum *sum, int64_t unit)
{
    int64_t value = sum->total / unit - sum->told;

    sum->told += value;
    return value;
}
