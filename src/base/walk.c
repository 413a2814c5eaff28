#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MAX  40 /* limit of Linux for links in a path */
#define PROC_MAGIC 0x9fa0
#define FOLDER     (O_PATH | O_DIRECTORY | O_CLOEXEC)

int rps_walk_in_proc(int folder)
{
    struct statfs status;

    return fstatfs(folder, &status) == 0 && status.f_type == PROC_MAGIC;
}

/* Make fd the directory of the next name, or store -errno if fd is negative. */
static int enter(struct rps_walk *walk, int fd)
{
    int next = fd >= 0 ? fd : -errno;

    if (walk->folder >= 0)
        close(walk->folder);
    walk->folder = next;
    return fd >= 0 ? 0 : 1;
}

static int fail(struct rps_walk *walk, int number)
{
    errno = number;
    return enter(walk, -1);
}

/* Insert a link's target before the unwalked part of the path. Return 1 if the walk must end. */
static int follow(struct rps_walk *walk, int link, size_t before)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(link, "", target, sizeof(target) - 1);
    size_t rest = strlen(walk->rest);

    if (length <= 0)
        return fail(walk, ENOENT);
    if (++walk->links > LINKS_MAX)
        return fail(walk, ELOOP);
    if ((size_t)length + rest >= sizeof(walk->rest))
        return fail(walk, ENAMETOOLONG);
    memmove(walk->rest + length, walk->rest, rest + 1); /* `rest` begins with '/', or is empty */
    memcpy(walk->rest, target, (size_t)length);
    walk->done[before] = '\0';
    if (target[0] != '/')
        return 0;
    strcpy(walk->done, "/");
    return enter(walk, open("/", FOLDER));
}

/* Move the next name of the path from `rest` to `done`. Return the name (NULL: no space). */
static const char *take_name(struct rps_walk *walk)
{
    size_t length = strcspn(walk->rest, "/"), used = strlen(walk->done);
    int slash = used > 0 && walk->done[used - 1] != '/';

    if (used + (size_t)slash + length >= sizeof(walk->done))
        return NULL;
    sprintf(walk->done + used, "%s%.*s", slash ? "/" : "", (int)length, walk->rest);
    memmove(walk->rest, walk->rest + length, strlen(walk->rest + length) + 1);
    return walk->done + used + slash;
}

/* Open a name in the directory (-1: inaccessible). A directory that is not the last name is opened
 * again with O_DIRECTORY, because only O_DIRECTORY makes an automounter mount it. */
static int open_name(const struct rps_walk *walk, const char *name, int is_last, struct stat *ret)
{
    int fd = openat(walk->folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int failed = fd < 0 || fstat(fd, ret) < 0;

    if (!failed && !is_last && S_ISDIR(ret->st_mode)) {
        close(fd);
        fd = openat(walk->folder, name, FOLDER | O_NOFOLLOW);
        failed = fd < 0 || fstat(fd, ret) < 0;
    }
    if (!failed)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Follow the next name of the path. Return 1 if the walk must end here. */
static int step(struct rps_walk *walk, rps_walk_look look, void *context)
{
    size_t before = strlen(walk->done);
    const char *name = take_name(walk);
    int is_last = walk->rest[strspn(walk->rest, "/")] == '\0', fd, number, result;
    struct stat status;

    if (!name)
        return fail(walk, ENAMETOOLONG);
    fd = open_name(walk, name, is_last, &status);
    number = errno;
    result = look(walk, fd >= 0 ? &status : NULL, is_last, context);
    if (result != 0 || (fd < 0 && is_last))
        result = result != 0 ? result : 1;
    else if (fd < 0)
        result = fail(walk, number);
    else if (S_ISLNK(status.st_mode) && !walk->reads_proc && rps_walk_in_proc(walk->folder))
        /* the name is a link of /proc, whose text is not a path */
        result = is_last ? 1 : enter(walk, openat(walk->folder, name, FOLDER));
    else if (S_ISLNK(status.st_mode))
        result = follow(walk, fd, before);
    else if (!is_last)
        return enter(walk, fd);
    if (fd >= 0)
        close(fd);
    return result;
}

int rps_walk(struct rps_walk *walk, const char *path, rps_walk_look look, void *context)
{
    int result;

    walk->folder = -1;
    walk->links = 0;
    result = enter(walk, open(path[0] == '/' ? "/" : ".", FOLDER));
    snprintf(walk->done, sizeof(walk->done), "%s", path[0] == '/' ? "/" : "");
    if (snprintf(walk->rest, sizeof(walk->rest), "%s", path) >= (int)sizeof(walk->rest))
        result = fail(walk, ENAMETOOLONG);
    while (result == 0) {
        size_t slashes = strspn(walk->rest, "/");

        memmove(walk->rest, walk->rest + slashes, strlen(walk->rest + slashes) + 1);
        if (!walk->rest[0])
            break;
        result = step(walk, look, context);
    }
    return result;
}
