/*
 * SQLite opens what bears the right name: it reads another user's log as the store's own, writes
 * through a link, and waits for whoever may write into a pipe.
 */
#include "companion.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "path_check.h"
#include "rpistat/rights.h"

/* Where a journal's header has the pages there were before, big-endian. */
#define AT_PAGES_BEFORE 16

int rps_file_id_equal(const struct rps_file_id *a, const struct rps_file_id *b)
{
    return a->device == b->device && a->inode == b->inode;
}

struct rps_file_id rps_companion_id(const char *name)
{
    struct stat status;

    if (lstat(name, &status) != 0)
        return (struct rps_file_id){0};
    return (struct rps_file_id){.device = status.st_dev, .inode = status.st_ino};
}

/* --- before SQLite opens them ----------------------------------------------------------------- */

static const char *kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFLNK:
        return "a symbolic link";
    case S_IFDIR:
        return "a folder";
    case S_IFIFO:
        return "a named pipe";
    case S_IFSOCK:
        return "a socket";
    default:
        return "a device";
    }
}

/* The status of the folder that holds name; -1 when it cannot be looked at. */
static int stat_folder(const char *name, struct stat *ret)
{
    char *folder = rps_path_check_folder(name);
    int result = folder ? stat(folder, ret) : -1;

    free(folder);
    return result;
}

/* 1 when a group shares the folder and the file: its members let each other replace files. */
static int is_shared(const char *name, const struct stat *status)
{
    struct stat folder;

    return stat_folder(name, &folder) == 0 && (folder.st_mode & S_IWGRP) &&
           !(folder.st_mode & S_ISVTX) && status->st_gid == folder.st_gid;
}

int rps_companion_check(const char *name, const struct stat *store, struct rps_error *err)
{
    struct stat status;

    if (lstat(name, &status) != 0)
        return 0; /* none, or SQLite says why it cannot be opened */
    if (status.st_uid != store->st_uid && status.st_uid != rps_rights_user() &&
        status.st_uid != 0 && !is_shared(name, &status))
        return rps_error_set(err, RPS_FAILED,
                             "%s belongs to another user (%ld), and is not taken for a part of the "
                             "store: have it removed, or choose another store",
                             name, (long)status.st_uid);
    if (!S_ISREG(status.st_mode))
        return rps_error_set(err, RPS_FAILED,
                             "%s is %s, where the store has a file of its own: remove it, or "
                             "choose another store",
                             name, kind_of(status.st_mode));
    if (status.st_nlink > 1) /* 0: it is being deleted */
        return rps_error_set(err, RPS_FAILED,
                             "%s has %ld names, and is not written, since another file may be "
                             "meant: remove that name, or choose another store",
                             name, (long)status.st_nlink);
    return 0;
}

int rps_companion_check_all(const char *path, struct rps_error *err)
{
    static const char *const ends[] = {"-wal", "-journal", "-shm"};
    struct stat store = {.st_uid = rps_rights_user()};
    int result = 0;

    stat(path, &store); /* a new one will be this user's */
    for (size_t i = 0; result == 0 && i < sizeof(ends) / sizeof(ends[0]); i++) {
        char *name = NULL;

        if (asprintf(&name, "%s%s", path, ends[i]) < 0)
            return rps_error_memory(err);
        result = rps_companion_check(name, &store, err);
        free(name);
    }
    return result;
}

int rps_companion_make(const char *name, const struct stat *store)
{
    struct stat folder;
    int fd;

    if (rps_companion_id(name).inode != 0)
        return 0;
    if (rps_rights_user() != 0 && rps_rights_user() != store->st_uid &&
        stat_folder(name, &folder) == 0 && (folder.st_mode & S_ISVTX))
        return RPS_FAILED;
    fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, store->st_mode & 0777);
    if (fd >= 0)
        close(fd);
    return 0;
}

/* --- logs ------------------------------------------------------------------------------------- */

/* 1 when a file of that name with that ending is there and holds something, or cannot be named. */
static int has_companion(const char *path, const char *end)
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

const char *rps_companion_log(const char *path)
{
    return has_companion(path, "-wal")       ? "-wal"
           : has_companion(path, "-journal") ? "-journal"
                                             : NULL;
}

int64_t rps_companion_pages_before(const char *name)
{
    unsigned char b[4];
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    ssize_t got = fd >= 0 ? pread(fd, b, sizeof(b), AT_PAGES_BEFORE) : -1;

    if (fd >= 0)
        close(fd); /* SQLite has no locks on a journal */
    return got == (ssize_t)sizeof(b) ? (int64_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3] : -1;
}
