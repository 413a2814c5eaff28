/*
 * What lies beside a store's file.
 *
 * A recorder that is killed leaves a log, which the next reader reads, or a rollback journal, which
 * somebody must undo before the file can be read at all; in another program's file that is not us.
 */
#include "beside.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database.h"

/* Where the numbers stand, big-endian: application_id in a database's header, the pages there were
 * before in a journal's. */
#define AT_APPLICATION_ID 68
#define AT_PAGES_BEFORE   16

/* 1 when a file of that name with that ending is there and holds something, or cannot be named. */
static int has_beside(const char *path, const char *end)
{
    char *name = NULL;
    struct stat status;
    int found = 1;

    if (asprintf(&name, "%s%s", path, end) < 0)
        return found;
    found = stat(name, &status) == 0 && status.st_size > 0;
    free(name);
    return found;
}

int rps_beside_has_log(const char *path)
{
    return has_beside(path, "-wal") || has_beside(path, "-journal");
}

ino_t rps_beside_log_inode(const char *path)
{
    char *name = NULL;
    struct stat status;
    ino_t inode = 0;

    if (asprintf(&name, "%s-wal", path) < 0)
        return 0;
    if (stat(name, &status) == 0)
        inode = status.st_ino;
    free(name);
    return inode;
}

void rps_beside_remove_log(const char *path, ino_t inode)
{
    static const char *const end[] = {"-wal", "-shm"};
    char *name = NULL;

    if (inode == 0 || rps_beside_log_inode(path) != inode)
        return;
    for (int i = 0; i < 2 && asprintf(&name, "%s%s", path, end[i]) >= 0; i++) {
        unlink(name);
        free(name);
    }
}

/* A number of four bytes in a file; -1 when it is not there. */
static int64_t number_at(const char *path, int offset)
{
    unsigned char b[4];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? pread(fd, b, sizeof(b), offset) : -1;

    if (fd >= 0)
        close(fd);
    return got == (ssize_t)sizeof(b) ? (int64_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3] : -1;
}

int rps_beside_is_unfinished(const char *path)
{
    char *journal = NULL;
    int64_t pages;

    if (number_at(path, AT_APPLICATION_ID) == RPS_STORE_APPLICATION_ID)
        return 1;
    if (asprintf(&journal, "%s-journal", path) < 0)
        return 0;
    pages = number_at(journal, AT_PAGES_BEFORE);
    free(journal);
    return pages == 0 || pages == 1;
}
