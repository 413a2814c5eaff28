/*
 * Following a path one name at a time.
 *
 * Whoever may write a folder can put a link into it, and lead somebody else's output anywhere. Linux
 * refuses other people's links in sticky folders alone, where fs.protected_symlinks is on, and to
 * whoever opens them; realpath, and SQLite in the same way, read links and open what they found.
 *
 * Each folder is held by a descriptor, so that none can be exchanged after it was looked at.
 */
#include "rpistat/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MAX  40 /* Linux's own limit */
#define PROC_MAGIC 0x9fa0
#define FOLDER     (O_PATH | O_DIRECTORY | O_CLOEXEC)

struct walk {
    char done[PATH_MAX]; /* without links; "" is the working folder */
    char rest[PATH_MAX]; /* still to be looked at */
    int folder;          /* in which the next name stands, or -errno */
    int links;
};

int rps_trust_in_proc(int folder)
{
    struct statfs status;

    return fstatfs(folder, &status) == 0 && status.f_type == PROC_MAGIC;
}

/* The next folder is fd, or there is none. */
static int enter(struct walk *walk, int fd)
{
    int next = fd >= 0 ? fd : -errno;

    if (walk->folder >= 0)
        close(walk->folder);
    walk->folder = next;
    return fd >= 0 ? 0 : 1;
}

static int fail(struct walk *walk, int number)
{
    errno = number;
    return enter(walk, -1);
}

/* A link on the way may also be the folder owner's, who could put another folder in its place. */
static int check_link(const struct walk *walk, const struct stat *link, int is_last,
                      struct rps_error *err)
{
    struct stat folder;

    if (link->st_uid == geteuid() || link->st_uid == 0 ||
        (!is_last && fstat(walk->folder, &folder) == 0 && link->st_uid == folder.st_uid))
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "%s is a link that belongs to another user (%ld), who can lead it "
                         "anywhere; it is not followed: remove it, or choose another name",
                         walk->done, (long)link->st_uid);
}

/* May the file that the path leads to be written? */
static int check_file(const struct walk *walk, const struct stat *file, struct rps_error *err)
{
    struct stat folder;

    if (file->st_uid == geteuid() || fstat(walk->folder, &folder) < 0 ||
        !(folder.st_mode & S_ISVTX) || !(folder.st_mode & S_IWOTH) || file->st_uid == folder.st_uid)
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "%s belongs to another user (%ld), in a folder where everybody may make "
                         "files; it is not written: choose another name",
                         walk->done, (long)file->st_uid);
}

/* Put the target of a link in front of the rest. 1: it stays as it is. */
static int follow(struct walk *walk, int link, size_t before)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(link, "", target, sizeof(target) - 1);
    size_t rest = strlen(walk->rest);

    if (length <= 0)
        return fail(walk, ENOENT);
    if (++walk->links > LINKS_MAX)
        return fail(walk, ELOOP);
    if ((size_t)length + rest >= PATH_MAX)
        return fail(walk, ENAMETOOLONG);
    memmove(walk->rest + length, walk->rest, rest + 1); /* begins with a slash */
    memcpy(walk->rest, target, (size_t)length);
    walk->done[before] = '\0';
    if (target[0] != '/')
        return 0;
    strcpy(walk->done, "/");
    return enter(walk, open("/", FOLDER));
}

/* Move one name from the rest to what is done. Returns it, NULL when there is no room. */
static const char *take(struct walk *walk)
{
    size_t length = strcspn(walk->rest, "/"), used = strlen(walk->done);
    int slash = used > 0 && walk->done[used - 1] != '/';

    if (used + (size_t)slash + length >= PATH_MAX)
        return NULL;
    sprintf(walk->done + used, "%s%.*s", slash ? "/" : "", (int)length, walk->rest);
    memmove(walk->rest, walk->rest + length, strlen(walk->rest + length) + 1);
    return walk->done + used + slash;
}

/* One name further. 1: the rest is not looked at. */
static int step(struct walk *walk, struct rps_error *err)
{
    size_t before = strlen(walk->done);
    const char *name = take(walk);
    int is_last = walk->rest[strspn(walk->rest, "/")] == '\0', fd, result = 0;
    struct stat status;

    if (!name)
        return fail(walk, ENAMETOOLONG);
    fd = openat(walk->folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0)
        result = is_last ? 1 : enter(walk, -1);
    else if (S_ISLNK(status.st_mode) && rps_trust_in_proc(walk->folder)) /* is no path */
        result = is_last ? 1 : enter(walk, openat(walk->folder, name, FOLDER));
    else if (S_ISLNK(status.st_mode))
        result =
            check_link(walk, &status, is_last, err) < 0 ? RPS_FAILED : follow(walk, fd, before);
    else if (!is_last) /* opened anew: what is mounted on demand is mounted for O_DIRECTORY */
        result = enter(walk, openat(walk->folder, name, FOLDER | O_NOFOLLOW));
    else if (!S_ISDIR(status.st_mode))
        result = check_file(walk, &status, err);
    if (fd >= 0)
        close(fd);
    return result;
}

static int go(struct walk *walk, const char *path, struct rps_error *err)
{
    int result = enter(walk, open(path[0] == '/' ? "/" : ".", FOLDER));

    snprintf(walk->done, sizeof(walk->done), "%s", path[0] == '/' ? "/" : "");
    if (snprintf(walk->rest, sizeof(walk->rest), "%s", path) >= (int)sizeof(walk->rest))
        result = fail(walk, ENAMETOOLONG);
    while (result == 0) {
        size_t slashes = strspn(walk->rest, "/");

        memmove(walk->rest, walk->rest + slashes, strlen(walk->rest + slashes) + 1);
        if (!walk->rest[0])
            break;
        result = step(walk, err);
    }
    return result < 0 ? result : 0;
}

/* What was looked at and what was not, in one. */
static char *join(const struct walk *walk)
{
    size_t used = strlen(walk->done);
    int slash = walk->rest[0] && walk->rest[0] != '/' && used && walk->done[used - 1] != '/';
    char *path = NULL;

    return asprintf(&path, "%s%s%s", walk->done, slash ? "/" : "", walk->rest) < 0 ? NULL : path;
}

int rps_trust_path(const char *path, char **ret, int *ret_folder, struct rps_error *err)
{
    struct walk *walk = malloc(sizeof(*walk));
    char *resolved = NULL;
    int result;

    if (!walk)
        return rps_error_memory(err);
    walk->folder = -1;
    walk->links = 0;
    result = go(walk, path, err);
    if (result == 0) {
        resolved = strlen(path) >= sizeof(walk->rest) ? strdup(path) : join(walk);
        if (!resolved)
            result = rps_error_memory(err);
    }
    if (result == 0) {
        *ret = resolved;
        if (ret_folder)
            *ret_folder = walk->folder;
    }
    if (walk->folder >= 0 && (result < 0 || !ret_folder))
        close(walk->folder);
    free(walk);
    return result;
}

int rps_trust_own(const char *path, const struct stat *file, struct rps_error *err)
{
    if (geteuid() != 0 || (file->st_uid == 0 && !(file->st_mode & (S_IWGRP | S_IWOTH))))
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "%s can be written by others than root, and would tell root what to do; "
                         "give it to root alone (chown root, chmod go-w), or choose another folder "
                         "with XDG_CONFIG_HOME",
                         path);
}
