/*
 * Following a path one name at a time.
 *
 * Linux refuses other people's links in sticky folders where fs.protected_symlinks is on, but to
 * whoever opens them; realpath, and SQLite in the same way, read links and open what they found,
 * and no kernel objects. The kernel's default is off besides.
 */
#include "rpistat/trust.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MAX  40 /* Linux's own limit */
#define PROC_MAGIC 0x9fa0

struct walk {
    char done[PATH_MAX]; /* without links; "" is the working folder */
    char rest[PATH_MAX]; /* still to be looked at */
    int links;
};

/* The folder of what is at `done`. */
static const char *folder_of(const char *done, char folder[PATH_MAX])
{
    const char *slash = strrchr(done, '/');

    snprintf(folder, PATH_MAX, "%.*s", slash && slash > done ? (int)(slash - done) : 1,
             slash ? done : ".");
    return folder;
}

static int is_in_proc(const char *done)
{
    char folder[PATH_MAX];
    struct statfs status;

    return statfs(folder_of(done, folder), &status) == 0 && status.f_type == PROC_MAGIC;
}

/* May what is at `done` be followed or written? */
static int check(const char *done, const struct stat *file, struct rps_error *err)
{
    char folder[PATH_MAX];
    struct stat status;

    if (file->st_uid == geteuid())
        return 0;
    if (stat(folder_of(done, folder), &status) < 0 || !(status.st_mode & S_ISVTX) ||
        !(status.st_mode & S_IWOTH) || file->st_uid == status.st_uid)
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "%s belongs to another user (%ld), in a folder where everybody may make "
                         "files; it is not written: choose another name",
                         done, (long)file->st_uid);
}

/* Put a link's target in front of the rest. 1: it stays as it is. */
static int follow(struct walk *walk, size_t before)
{
    char target[PATH_MAX];
    ssize_t length = readlink(walk->done, target, sizeof(target) - 1);
    size_t rest = strlen(walk->rest);

    if (length <= 0 || ++walk->links > LINKS_MAX || (size_t)length + rest >= PATH_MAX)
        return 1;
    walk->done[target[0] == '/' ? 0 : before] = '\0';
    if (target[0] == '/')
        strcpy(walk->done, "/");
    memmove(walk->rest + length, walk->rest, rest + 1); /* begins with a slash */
    memcpy(walk->rest, target, (size_t)length);
    return 0;
}

/* Move one name from the rest to what is done. Returns its length, 0 when there is no room. */
static size_t take(struct walk *walk)
{
    size_t length = strcspn(walk->rest, "/"), used = strlen(walk->done);
    int slash = used > 0 && walk->done[used - 1] != '/';

    if (used + (size_t)slash + length >= PATH_MAX)
        return 0;
    sprintf(walk->done + used, "%s%.*s", slash ? "/" : "", (int)length, walk->rest);
    memmove(walk->rest, walk->rest + length, strlen(walk->rest + length) + 1);
    return length;
}

/* One name further. 1: the rest is not looked at. */
static int step(struct walk *walk, struct rps_error *err)
{
    size_t before = strlen(walk->done);
    struct stat status;

    if (take(walk) == 0 || lstat(walk->done, &status) < 0)
        return 1;
    if (!S_ISLNK(status.st_mode)) {
        int is_last = walk->rest[strspn(walk->rest, "/")] == '\0';

        return is_last && !S_ISDIR(status.st_mode) ? check(walk->done, &status, err) : 0;
    }
    if (is_in_proc(walk->done))
        return 1;
    return check(walk->done, &status, err) < 0 ? RPS_FAILED : follow(walk, before);
}

int rps_trust_path(const char *path, char **ret, struct rps_error *err)
{
    struct walk *walk = malloc(sizeof(*walk));
    int result = 0;

    if (!walk)
        return rps_error_memory(err);
    walk->links = 0;
    snprintf(walk->done, sizeof(walk->done), "%s", path[0] == '/' ? "/" : "");
    if (snprintf(walk->rest, sizeof(walk->rest), "%s", path) >= (int)sizeof(walk->rest))
        result = 1;
    while (result == 0) {
        size_t slashes = strspn(walk->rest, "/");

        memmove(walk->rest, walk->rest + slashes, strlen(walk->rest + slashes) + 1);
        if (!walk->rest[0])
            break;
        result = step(walk, err);
    }
    if (result >= 0) {
        char *copy = NULL;
        size_t used = strlen(walk->done);
        int slash = walk->rest[0] && walk->rest[0] != '/' && used && walk->done[used - 1] != '/';

        result = 0;
        if (strlen(path) >= sizeof(walk->rest))
            copy = strdup(path);
        else if (asprintf(&copy, "%s%s%s", walk->done, slash ? "/" : "", walk->rest) < 0)
            copy = NULL;
        if (copy)
            *ret = copy;
        else
            result = rps_error_memory(err);
    }
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
