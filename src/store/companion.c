/*
 * What lies beside a store's file.
 *
 * A recorder that is killed leaves a log, which the next reader reads, or a rollback journal, which
 * somebody must undo before the file can be read at all; in another program's file that is not us.
 */
#include "companion.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "database.h"

/* Where SQLite locks a database file: PENDING_BYTE up to the end of the shared range. */
#define AT_LOCKS    0x40000000
#define LOCKS_BYTES 512

/* How often a folder's lock is tried, and the pause between. */
#define LOCK_TRIES    200
#define LOCK_PAUSE_NS 1000000

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

int rps_companion_has_log(const char *path)
{
    return has_beside(path, "-wal") || has_beside(path, "-journal");
}

ino_t rps_companion_log_inode(const char *path)
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

static void remove_log(const char *path)
{
    static const char *const end[] = {"-wal", "-shm"};
    char *name = NULL;

    for (int i = 0; i < 2 && asprintf(&name, "%s%s", path, end[i]) >= 0; i++) {
        unlink(name);
        free(name);
    }
}

/*
 * Names beside a store are looked at and then removed with its folder locked, so that they are not
 * another recorder's by then. Not waited for long: the lock may be held by whoever started us, as
 * flock(1) does. A descriptor, -1 without the lock.
 */
static int lock_folder(const char *path)
{
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int locked = 0;

    for (int i = 0; i < LOCK_TRIES && fd >= 0 && !locked; i++) {
        if (i > 0)
            nanosleep(&pause, NULL);
        locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
        if (!locked && errno != EWOULDBLOCK && errno != EINTR)
            break;
    }
    free(folder);
    if (!locked && fd >= 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void unlock_folder(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* An empty file under SQLite's exclusive lock: nobody who has it open has made a log for it, since
 * its first page is written before that. */
static int is_unused(int fd)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = AT_LOCKS, .l_len = LOCKS_BYTES};
    struct stat status;

    return fcntl(fd, F_SETLK, &lock) == 0 && fstat(fd, &status) == 0 && status.st_size == 0;
}

void rps_companion_begin(const char *path)
{
    int folder = lock_folder(path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);

    if (fd >= 0) {
        if (is_unused(fd))
            remove_log(path);
        close(fd);
    }
    unlock_folder(folder);
}

void rps_companion_remove_log(const char *path, ino_t inode)
{
    int folder;

    if (inode == 0)
        return;
    folder = lock_folder(path);
    if (rps_companion_log_inode(path) == inode)
        remove_log(path);
    unlock_folder(folder);
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

int rps_companion_is_unfinished(const char *path)
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
